# SPDX-License-Identifier: Apache-2.0
# The kernel module: built and installed for KDIR, or given to DKMS. Module, udev rule and group belong to the system, whatever
# PREFIX is.
KDIR ?= /lib/modules/$(shell uname -r)/build

# The release that the modules of this kernel go by, which its "uname -r" says. Of Debian's 6.1 the kernel's own
# "make kernelrelease" and include/config/kernel.release say another one.
KVER = $(eval KVER := $(shell sed -n 's/^.define UTS_RELEASE "\(.*\)"$$/\1/p' \
	"$(KDIR)/include/generated/utsrelease.h" 2>/dev/null))$(KVER)

.PHONY: kernel-headers
kernel-headers:
	@[ -n "$(KVER)" ] || { echo "make: $(KDIR): no headers of this kernel. Install them (apt install" \
		"linux-headers-$$(uname -r)), name others with KDIR=, or build without the module: make userspace" >&2; exit 2; }

for_kernel = $(MAKE) -C kernel "KDIR=$(abspath $(KDIR))"

module: kernel-headers
	$(for_kernel) modules

install-module: module install-rules
	$(for_kernel) "INSTALL_MOD_PATH=$(abspath $(DESTDIR))" modules_install
	$(if $(DESTDIR),,depmod -a $(KVER))

# Wherever modules_install put it.
uninstall-module: kernel-headers uninstall-rules
	find "$(DESTDIR)/lib/modules/$(KVER)" -name 'p2pmem.ko*' -not -path '*/dkms/*' -delete
	$(if $(DESTDIR),,depmod -a $(KVER))

# First the group, then the rule that names it.
install-rules:
	install -d "$(DESTDIR)/usr/lib/sysusers.d"
	install -m 644 kernel/p2pmem.sysusers "$(DESTDIR)/usr/lib/sysusers.d/p2pmem.conf"
	$(if $(DESTDIR),,systemd-sysusers p2pmem.conf || groupadd --system --force p2pmem)
	$(call put,644,/usr/lib/udev/rules.d,kernel/60-p2pmem.rules)
	$(if $(DESTDIR),,-udevadm control --reload)

# The group stays: files may belong to it.
uninstall-rules:
	rm -f "$(DESTDIR)/usr/lib/udev/rules.d/60-p2pmem.rules" "$(DESTDIR)/usr/lib/sysusers.d/p2pmem.conf"
	$(if $(DESTDIR),,-udevadm control --reload)

# DKMS builds the module anew for each kernel that comes, from this copy.
DKMS_DIR = /usr/src/p2pmem-$(VERSION)
dkms-source:
	$(call put,644,$(DKMS_DIR)/kernel,kernel/Kbuild kernel/Makefile $(wildcard kernel/*.[ch]))
	$(call put,644,$(DKMS_DIR)/kernel/compat,$(wildcard kernel/compat/*.[ch]))
	$(call put,644,$(DKMS_DIR)/include/uapi,include/uapi/p2pmem.h)
	$(call put,644,$(DKMS_DIR)/include/donard,include/donard/version.h)
	sed 's|@VERSION@|$(VERSION)|' kernel/dkms.conf.in >"$(DESTDIR)$(DKMS_DIR)/dkms.conf"
	chmod 644 "$(DESTDIR)$(DKMS_DIR)/dkms.conf"

install-dkms: $(if $(DESTDIR),,kernel-headers) install-rules dkms-source
	$(if $(DESTDIR),,dkms install p2pmem/$(VERSION) -k $(KVER))

uninstall-dkms: uninstall-rules
	$(if $(DESTDIR),,-dkms remove p2pmem/$(VERSION) --all)
	rm -rf "$(DESTDIR)$(DKMS_DIR)"
