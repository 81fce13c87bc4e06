# SPDX-License-Identifier: Apache-2.0
# The kernel module: built and installed for KDIR, or given to DKMS. Module, udev rule and group belong to the system, whatever
# PREFIX is.
KDIR ?= /lib/modules/$(shell uname -r)/build

# The release for which this kernel's modules are installed, as its "uname -r" prints it. For Debian's 6.1, "make kernelrelease" of
# the kernel and include/config/kernel.release have another one.
KVER = $(eval KVER := $(shell sed -n 's/^.define UTS_RELEASE "\(.*\)"$$/\1/p' \
	"$(KDIR)/include/generated/utsrelease.h" 2>/dev/null))$(KVER)

.PHONY: kernel-headers kernel-fits
kernel-headers:
	@[ -n "$(KVER)" ] || { echo "make: $(KDIR): no headers of this kernel. Install them (apt install" \
		"linux-headers-$$(uname -r)), name others with KDIR=, or build without the module: make userspace" >&2; exit 2; }

# $(call dkms_words,KERNEL|CONFIG) - the kernels that the module is for, and what they have: one list for DKMS and make.
dkms_words = $(shell sed -n 's/^BUILD_EXCLUSIVE_$(1)="\(.*\)"$$/\1/p' kernel/dkms.conf.in)

kernel-fits: kernel-headers
	@echo "$(KVER)" | grep -qE "$(call dkms_words,KERNEL)" || { \
		echo "make: $(KDIR): Linux $(KVER): p2pmem is for Linux 6.1 and later 6.x, and 7.x." \
			"Name the headers of such a kernel with KDIR=, or build without the module: make userspace" >&2; exit 2; }
	@missing=; for c in $(call dkms_words,CONFIG); do \
		grep -qsx "$$c=[ym]" "$(KDIR)/include/config/auto.conf" || missing="$$missing $$c"; done; \
	[ -z "$$missing" ] || { \
		echo "make: $(KDIR): Linux $(KVER) was built without$$missing, which p2pmem needs." \
			"Name the headers of another kernel with KDIR=, or build without the module: make userspace" >&2; exit 2; }

for_kernel = $(MAKE) -C kernel "KDIR=$(abspath $(KDIR))"

module: kernel-fits
	$(for_kernel) modules

# Requires the program with which the kernel's "make modules_install" compresses modules, if it does.
.PHONY: needs-compressor
needs-compressor: kernel-headers
	@by=$$(LC_ALL=C sed -n 's/^CONFIG_MODULE_COMPRESS_\(XZ\|ZSTD\|GZIP\)=y$$/\L\1/p' "$(KDIR)/include/config/auto.conf" 2>/dev/null); \
	[ -z "$$by" ] || $(MAKE) -s "needs-$$by"

# Kbuild takes it for several: its own rules do not quote it.
.PHONY: module-path
module-path:
	@[ $(words $(DESTDIR)) -le 1 ] || { \
		echo "make: Kbuild installs modules to no path with a space: DESTDIR=$(DESTDIR)" >&2; exit 2; }

install-module: module-path $(if $(DESTDIR),,needs-depmod) needs-compressor module install-rules
	$(for_kernel) "INSTALL_MOD_PATH=$(abspath $(DESTDIR))" modules_install
	$(if $(DESTDIR),,depmod -a $(KVER))
	$(if $(DESTDIR),,$(told_of_dkms))

told_of_dkms = @case "$$(modinfo -k $(KVER) -n p2pmem)" in (*/dkms/*) \
	echo "make: modprobe takes the module that DKMS built, and not this one, until that is gone:" \
		"dkms remove p2pmem/VERSION --all ('dkms status p2pmem' says which)" >&2;; esac

# Removing a module needs no headers: without them the kernel's release comes from the path.
installed_for = $(or $(KVER),$(patsubst linux-headers-%,%,$(notdir $(patsubst %/build,%,$(abspath $(KDIR))))))
modules_dir = $(DESTDIR)/lib/modules/$(installed_for)

# Wherever modules_install put it.
remove_own_module = find "$(modules_dir)" -name 'p2pmem.ko*' -not -path '*/dkms/*' -delete

uninstall-module: uninstall-rules
	if [ -d "$(modules_dir)" ]; then $(remove_own_module); else echo "make: there is no $(modules_dir), and no module in it" >&2; fi
	$(if $(DESTDIR),,if [ -d "$(modules_dir)" ] && command -v depmod >/dev/null; then depmod -a $(installed_for); fi)

BY_HAND = nobody gives regions to the group p2pmem. Install it (on Debian: apt install udev), or type after each \
	'region add': chgrp p2pmem /dev/p2pmemN && chmod 660 /dev/p2pmemN

# First the group, then the rule that names it.
install-rules: $(if $(DESTDIR),,needs-group)
	install -d "$(DESTDIR)/usr/lib/sysusers.d"
	install -m 644 kernel/p2pmem.sysusers "$(DESTDIR)/usr/lib/sysusers.d/p2pmem.conf"
	$(if $(DESTDIR),,systemd-sysusers p2pmem.conf 2>/dev/null || groupadd --system --force p2pmem)
	$(call put,644,/usr/lib/udev/rules.d,kernel/60-p2pmem.rules)
	$(if $(DESTDIR),,$(tell_udev))
	$(if $(DESTDIR),,$(call told_without,udevadm,$(BY_HAND)))

# The group stays: files may belong to it.
uninstall-rules:
	$(call remove_unowned,/usr/lib/udev/rules.d/60-p2pmem.rules /usr/lib/sysusers.d/p2pmem.conf)
	$(if $(DESTDIR),,$(tell_udev))

# DKMS builds the module anew for each kernel that comes, from this copy.
DKMS_DIR = /usr/src/p2pmem-$(VERSION)
dkms-source:
	$(call put,644,$(DKMS_DIR)/kernel,kernel/Kbuild kernel/Makefile $(wildcard kernel/*.[ch]))
	$(call put,644,$(DKMS_DIR)/kernel/compat,$(wildcard kernel/compat/*.[ch]))
	$(call put,644,$(DKMS_DIR)/include/uapi,include/uapi/p2pmem.h)
	$(call put,644,$(DKMS_DIR)/include/donard,include/donard/version.h)
	sed 's|@VERSION@|$(VERSION)|' kernel/dkms.conf.in >"$(DESTDIR)$(DKMS_DIR)/dkms.conf"
	chmod 644 "$(DESTDIR)$(DKMS_DIR)/dkms.conf"

# The versions of p2pmem that DKMS has, and the kernels that it has the module for. All lines of a recipe are expanded before the
# first runs, so these are the state before the recipe.
dkms_versions = $(shell PATH="$(PATH)" dkms status p2pmem 2>/dev/null | sed -n 's|^p2pmem/\([^,:]*\).*|\1|p' | sort -u)
dkms_kernels = $(shell { cat $(KERNELS_TO_BUILD); PATH="$(PATH)" dkms status p2pmem | \
	sed -n 's|^p2pmem/[^,]*, \([^,]*\), .*|\1|p'; } 2>/dev/null | sort -u)
# The kernels of an "install-dkms" that was interrupted after DKMS had forgotten them.
KERNELS_TO_BUILD = $(DKMS_DIR)/kernels-to-build

# DKMS takes one version for another's, and this one's source may have changed: all go, but for the source that was just put there.
forget_dkms = for version in $(dkms_versions); do dkms remove "p2pmem/$$version" --all || exit; done; \
	rm -rf $(filter-out $(1),$(patsubst %,/usr/src/p2pmem-%,$(dkms_versions)))

# For this kernel, and for the others that had it, also where DKMS fails for this one. Nobody builds for them later: DKMS does
# when a kernel or its headers are installed.
dkms_install = @failed=; for kernel in $(KVER) $(filter-out $(KVER),$(dkms_kernels)); do \
	dkms install p2pmem/$(VERSION) -k "$$kernel" || { [ "$$kernel" != "$(KVER)" ] || failed=2; \
		echo "make: Linux $$kernel has no module now. DKMS says why; then type:" \
			"dkms install p2pmem/$(VERSION) -k $$kernel" >&2; }; done; rm -f $(KERNELS_TO_BUILD); exit $${failed:-0}

# KDIR may be a tree that was only built: of it DKMS knows nothing.
.PHONY: dkms-kernel
dkms-kernel: kernel-headers
	@[ -e "$(modules_dir)/build" ] || { \
		echo "make: $(KDIR): Linux $(KVER) is not installed: there is no $(modules_dir)/build, by which DKMS builds." \
			"Install that kernel first, or name the headers of another one with KDIR=" >&2; exit 2; }

# The module is built before what works is replaced or removed, also by "make -j": what fails here would fail there.
install-dkms: $(if $(DESTDIR),,needs-dkms dkms-kernel module) install-rules
	$(MAKE) dkms-source
	$(if $(DESTDIR),,printf '%s\n' $(dkms_kernels) >$(KERNELS_TO_BUILD))
	$(if $(DESTDIR),,$(call forget_dkms,$(DKMS_DIR)))
	$(if $(DESTDIR),,$(remove_own_module))
	$(if $(DESTDIR),,$(dkms_install))

# The package's source has the same place, and the same name for DKMS, which forgets all versions.
.PHONY: not-packaged
not-packaged:
	@! package=$$(dpkg-query -S "$(DESTDIR)/usr/src/p2pmem-*/dkms.conf" 2>/dev/null) || { package=$${package%%:*}; \
		echo "make: what DKMS has of p2pmem belongs to the package $$package. Remove that instead: apt remove $$package" >&2; exit 2; }

uninstall-dkms: not-packaged uninstall-rules
	$(if $(DESTDIR),,-if command -v dkms >/dev/null; then $(forget_dkms); fi)
	$(if $(DESTDIR),,$(call told_without,dkms,what it built stays in /lib/modules/*/updates/dkms))
	rm -rf "$(DESTDIR)$(DKMS_DIR)"
