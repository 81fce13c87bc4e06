# SPDX-License-Identifier: Apache-2.0
# donard: kernel module, library, command.  'make help' lists the targets.
# One place has the version.
VERSION   := $(shell sed -n "s/^\#define DONARD_VERSION_[MP][^[:space:]]*[[:space:]]*//p" include/donard/version.h | paste -sd.)
# DEBUG=1 builds a library that detects the use of freed handles: docs/library.md, Debugging.
DEBUG     :=
BUILD     ?= build$(if $(DEBUG),/debug)
PREFIX    ?= /usr/local
DESTDIR   ?=
CC        ?= gcc
CFLAGS    ?= -O2 -g
PKG_CONFIG ?= pkg-config

# Deletes the target of a failed recipe: on a full disk install(1) leaves half a file, which the next run would take for a whole one.
.DELETE_ON_ERROR:

# Recipes use sed as GNU has it.
unexport POSIXLY_CORRECT

all: userspace module

include mk/tools.mk mk/userspace.mk mk/install.mk mk/module.mk mk/unit.mk mk/python.mk

check:
	tests/check

check-long:
	tests/check --long

check-debug:
	tests/check --debug

# Needs a machine with an NVIDIA GPU and its driver.
check-gpu: userspace
	tests/gpu/check

demo:
	tests/demo

bench:
	bench/run

clean:
	rm -rf $(BUILD)

help:
	@echo 'all             userspace and module (default)'
	@echo 'DEBUG=1         with userspace: below build/debug, and the library finds handles that were freed'
	@echo 'userspace       $(BUILD)/donard-cli, $(BUILD)/donard-bench, $(BUILD)/libdonard.so and $(BUILD)/libdonard-meter.so'
	@echo 'python          $(BUILD)/python, the Python binding; needs python3-cffi'
	@echo 'module          the kernel module for KDIR=$(KDIR)'
	@echo 'install         userspace below DESTDIR/PREFIX ($(PREFIX))'
	@echo 'uninstall       removes what install put there; also uninstall-python, -module, -dkms'
	@echo 'install-python  the Python binding, for $(PYTHON)'
	@echo 'install-module  the module for KDIR, the group p2pmem, and the udev rule'
	@echo 'install-dkms    the same by DKMS, which builds it for later kernels, too'
	@echo 'demo            boot the lab and show one copy, end to end'
	@echo 'check           that everything works, in some fifteen minutes; installs what it needs'
	@echo 'check-long      every test, for hours; tests/matrix says which rings there are'
	@echo 'check-debug     the module on kernels that check themselves, and every failure tried'
	@echo 'check-gpu       on a machine with an NVIDIA GPU: what donard relies on of CUDA, and its libcufile'
	@echo 'unit            unit tests; also unit-asan, unit-tsan, unit-valgrind, unit-python'
	@echo 'bench           the benchmarks of bench/'
	@echo 'clean           remove $(BUILD)'

.PHONY: all userspace python module install uninstall install-python uninstall-python man3 install-module uninstall-module \
	install-dkms uninstall-dkms dkms-source install-rules uninstall-rules unit unit-asan unit-tsan unit-valgrind \
	unit-python check check-long check-debug check-gpu demo bench clean help
