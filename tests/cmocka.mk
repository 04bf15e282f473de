# SPDX-License-Identifier: GPL-2.0-only OR MIT
#
# How programs of cmocka are run; part of the Makefiles of unit and lib.
#
# programs holds them: each prints TAP, and one that fails makes the run fail.

# ThreadSanitizer gives up where the kernel puts mappings too far apart.
calm := $(shell setarch -R true 2>/dev/null && echo setarch -R)

# A test that hangs has failed; one that is only slow has time enough.
run = CMOCKA_MESSAGE_OUTPUT=TAP $(calm) timeout 300

check: $(programs)
	@failed=0; \
	for program in $(programs); do \
		echo "# $$program"; \
		$(run) $$program || { failed=1; echo "# $$program failed"; }; \
	done; \
	exit $$failed

clean:
	rm -rf $(OUT)

.PHONY: all check clean
.SECONDARY:
# A half-made program is not left behind.
.DELETE_ON_ERROR:

-include $(foreach flavour,$(flavours),$(wildcard $(OUT)/$(flavour)/*.d))
