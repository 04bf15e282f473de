# SPDX-License-Identifier: GPL-2.0-only OR MIT
#
# The way in for people; Kbuild is the one for the kernel's build.

PREFIX ?= /usr/local
DESTDIR ?=
KERNELRELEASE ?= $(shell uname -r)
KDIR ?= /lib/modules/$(KERNELRELEASE)/build
DEPMOD ?= depmod
OUT := $(CURDIR)/out

# As root these are nothing, else they ask for the password.
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)

export PREFIX DESTDIR

all: module userspace

help:
	@echo 'make            build the module for this kernel, and the command'
	@echo 'make demo       see ids: in this kernel if it loads modules, otherwise in a'
	@echo '                throw-away virtual machine; installs what is missing'
	@echo 'make check      run the tests in booted kernels; installs what is missing'
	@echo 'make check-mutants'
	@echo '                break the generator on purpose: the tests must see it'
	@echo 'make load       load the module, with WORKER_ID=N to mint at once'
	@echo 'make unload     unload it'
	@echo 'make install    install module and command (DESTDIR, PREFIX=$(PREFIX))'
	@echo 'make uninstall  remove them'
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
	@$(MAKE) -s -C userspace/cli OUT=$(OUT)/cli

install: module userspace
	$(MAKE) -C $(KDIR) M=$(CURDIR) INSTALL_MOD_DIR=updates \
		$(if $(DESTDIR),INSTALL_MOD_PATH=$(DESTDIR)) modules_install
	$(if $(DESTDIR),,$(DEPMOD) $(KERNELRELEASE))
	$(MAKE) -s -C userspace/cli OUT=$(OUT)/cli install

uninstall:
	rm -f $(DESTDIR)/lib/modules/$(KERNELRELEASE)/updates/snowflake.ko*
	$(if $(DESTDIR),,$(DEPMOD) $(KERNELRELEASE))
	$(MAKE) -s -C userspace/cli OUT=$(OUT)/cli uninstall

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

check-mutants:
	@tests/setup check
	@tests/mutants/run $(MUTANTS)

clean:
	rm -rf $(OUT)
	@if [ -e $(KDIR)/Makefile ]; then $(MAKE) -C $(KDIR) M=$(CURDIR) clean; fi

.PHONY: all help module userspace install uninstall load unload demo check \
	check-mutants clean
