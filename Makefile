# SPDX-License-Identifier: GPL-2.0-only OR MIT
#
# The way in for people; Kbuild is the one for the kernel's build.

PREFIX ?= /usr/local
DESTDIR ?=
KERNELRELEASE ?= $(shell uname -r)
KDIR ?= /lib/modules/$(KERNELRELEASE)/build
DEPMOD ?= depmod
OUT := $(CURDIR)/out

# The kernel that is built for; with KDIR it may be another than runs.
release = $(or $(shell sed -n 's/^\#define UTS_RELEASE "\(.*\)"/\1/p' \
		 $(KDIR)/include/generated/utsrelease.h 2>/dev/null),\
	    $(KERNELRELEASE))

# As root these are nothing, else they ask for the password.
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)

export PREFIX DESTDIR

all: module userspace

help:
	@echo 'make            build the module for this kernel, library and command'
	@echo 'make demo       see ids: in this kernel if it loads modules, otherwise in a'
	@echo '                throw-away virtual machine; installs what is missing'
	@echo 'make check      run the tests in booted kernels; installs what is missing'
	@echo 'make check-all  that, fuzzers, valgrind, and all selftests on every kernel'
	@echo 'make check-mutants'
	@echo '                break the generator on purpose: the tests must see it'
	@echo 'make load       load the module, with WORKER_ID=N to mint at once'
	@echo 'make unload     unload it'
	@echo 'make install    install them (DESTDIR, PREFIX=$(PREFIX))'
	@echo 'make uninstall  remove them'
	@echo 'make install-module, make install-userspace, make uninstall-...'
	@echo '                one of the two; what is not the module needs no headers'
	@echo 'make clean      remove what was built'
	@echo
	@echo 'KDIR=FOLDER builds for another kernel, whose headers are there:'
	@echo '  $(KDIR)'

module: $(KDIR)/Makefile
	@$(MAKE) -C $(KDIR) M=$(CURDIR) modules

$(KDIR)/Makefile:
	@echo 'There are no headers for the kernel $(KERNELRELEASE) in $(KDIR).' >&2
	@echo 'Install them (Debian: apt install linux-headers-$(KERNELRELEASE)), name' >&2
	@echo 'others with KDIR=FOLDER, or try "make demo", which needs none.' >&2
	@false

userspace:
	@$(MAKE) -s -C userspace OUT=$(OUT)

install: install-module install-userspace

uninstall: uninstall-module uninstall-userspace

install-module: module
	$(MAKE) -C $(KDIR) M=$(CURDIR) INSTALL_MOD_DIR=updates \
		$(if $(DESTDIR),INSTALL_MOD_PATH=$(DESTDIR)) modules_install
	$(if $(DESTDIR),,$(DEPMOD) $(release))

uninstall-module:
	rm -f $(DESTDIR)/lib/modules/$(release)/updates/snowflake.ko*
	$(if $(DESTDIR),,$(DEPMOD) $(release))

install-userspace uninstall-userspace:
	$(MAKE) -s -C userspace OUT=$(OUT) $(@:%-userspace=%)

load: module
	$(SUDO) insmod snowflake.ko $(if $(WORKER_ID),worker_id=$(WORKER_ID))

unload:
	$(SUDO) rmmod snowflake

demo:
	@tests/setup demo
	@$(MAKE) -s userspace
	@userspace/demo/run $(OUT)

check:
	@tests/setup check
	@tests/check $(PARTS)

check-all:
	@tests/setup check
	@tests/check unit static cli lib bindings vm clone long selftests smp4 cost more

check-mutants:
	@tests/setup check
	@tests/mutants/run $(MUTANTS)

clean:
	rm -rf $(OUT)
	@if [ -e $(KDIR)/Makefile ]; then $(MAKE) -C $(KDIR) M=$(CURDIR) clean; fi

.PHONY: all help module userspace install uninstall install-module \
	install-userspace uninstall-module uninstall-userspace load unload demo \
	check check-all check-mutants clean
