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

module: kernel-headers
	$(MAKE) -C $(KDIR) M=$(CURDIR)/kernel modules

install-module: module install-rules
	$(MAKE) -C $(KDIR) M=$(CURDIR)/kernel INSTALL_MOD_PATH=$(DESTDIR) modules_install
	$(if $(DESTDIR),,depmod -a $(KVER))

# Wherever modules_install put it.
uninstall-module: kernel-headers uninstall-rules
	find "$(DESTDIR)/lib/modules/$(KVER)" -name 'p2pmem.ko*' -not -path '*/dkms/*' -delete
	$(if $(DESTDIR),,depmod -a $(KVER))

# First the group, then the rule that names it.
install-rules:
	install -d $(DESTDIR)/usr/lib/sysusers.d
	install -m 644 kernel/p2pmem.sysusers $(DESTDIR)/usr/lib/sysusers.d/p2pmem.conf
	$(if $(DESTDIR),,systemd-sysusers p2pmem.conf || groupadd --system --force p2pmem)
	$(call put,644,/usr/lib/udev/rules.d,kernel/60-p2pmem.rules)
	$(if $(DESTDIR),,-udevadm control --reload)

# The group stays: files may belong to it.
uninstall-rules:
	rm -f $(DESTDIR)/usr/lib/udev/rules.d/60-p2pmem.rules $(DESTDIR)/usr/lib/sysusers.d/p2pmem.conf
	$(if $(DESTDIR),,-udevadm control --reload)

# DKMS builds the module anew for each kernel that comes, from this copy.
DKMS_DIR = $(DESTDIR)/usr/src/p2pmem-$(VERSION)
dkms-source:
	install -d $(DKMS_DIR)/kernel/compat $(DKMS_DIR)/include/uapi $(DKMS_DIR)/include/donard
	install -m 644 kernel/Kbuild $(wildcard kernel/*.[ch]) $(DKMS_DIR)/kernel/
	install -m 644 $(wildcard kernel/compat/*.[ch]) $(DKMS_DIR)/kernel/compat/
	install -m 644 include/uapi/p2pmem.h $(DKMS_DIR)/include/uapi/
	install -m 644 include/donard/version.h $(DKMS_DIR)/include/donard/
	sed 's|@VERSION@|$(VERSION)|' kernel/dkms.conf.in >$(DKMS_DIR)/dkms.conf

install-dkms: $(if $(DESTDIR),,kernel-headers) install-rules dkms-source
	$(if $(DESTDIR),,dkms install p2pmem/$(VERSION) -k $(KVER))

uninstall-dkms: uninstall-rules
	$(if $(DESTDIR),,-dkms remove p2pmem/$(VERSION) --all)
	rm -rf $(DKMS_DIR)
