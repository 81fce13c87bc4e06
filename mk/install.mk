# SPDX-License-Identifier: Apache-2.0
install: userspace $(BUILD)/man3.ok
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/pkgconfig \
		$(DESTDIR)$(PREFIX)/include/donard $(DESTDIR)$(PREFIX)/share/man/man1 \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions
	install -m 755 $(BUILD)/donard-cli $(BUILD)/donard-bench bench/donard-stat $(DESTDIR)$(PREFIX)/bin/
	install -d $(DESTDIR)$(PREFIX)/share/donard/donardstat/words
	install -m 644 bench/donardstat/*.py $(DESTDIR)$(PREFIX)/share/donard/donardstat/
	install -m 644 bench/donardstat/words/* $(DESTDIR)$(PREFIX)/share/donard/donardstat/words/
	install -m 644 $(BUILD)/$(SONAME) $(BUILD)/libdonard.a $(DESTDIR)$(PREFIX)/lib/
	ln -sf $(SONAME) $(DESTDIR)$(PREFIX)/lib/libdonard.so
	install -m 644 $(BUILD)/libdonard.pc $(DESTDIR)$(PREFIX)/lib/pkgconfig/
	install -m 644 $(PUBLIC_HEADERS) $(DESTDIR)$(PREFIX)/include/donard/
	install -m 644 include/uapi/p2pmem.h $(DESTDIR)$(PREFIX)/include/donard/
	install -d $(DESTDIR)$(PREFIX)/share/man/man3
	install -m 644 $(BUILD)/man3/*.3 $(DESTDIR)$(PREFIX)/share/man/man3/
	install -m 644 docs/donard-cli.1 docs/donard-bench.1 $(DESTDIR)$(PREFIX)/share/man/man1/
	install -m 644 $(BUILD)/completion.bash \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/donard-cli
	ln -sf donard-cli $(DESTDIR)$(PREFIX)/share/bash-completion/completions/donard-bench
	$(if $(DESTDIR),,-ldconfig)

# The kernel that KDIR builds for; of a tree that says so itself, or by its own make.
KVER = $(or $(shell cat $(KDIR)/include/config/kernel.release 2>/dev/null),$(shell $(MAKE) -s -C $(KDIR) kernelrelease))

# First the group, then the rule that names it.
install-rules:
	install -d $(DESTDIR)/usr/lib/sysusers.d $(DESTDIR)/lib/udev/rules.d
	install -m 644 kernel/p2pmem.sysusers $(DESTDIR)/usr/lib/sysusers.d/p2pmem.conf
	$(if $(DESTDIR),,systemd-sysusers p2pmem.conf || groupadd --system --force p2pmem)
	install -m 644 kernel/60-p2pmem.rules $(DESTDIR)/lib/udev/rules.d/
	$(if $(DESTDIR),,-udevadm control --reload)

# A page for each function of the library, from the comments of its headers.
man3: $(BUILD)/man3.ok
$(BUILD)/man3.ok: mk/manpages.py $(PUBLIC_HEADERS)
	mk/manpages.py --version $(VERSION) --into $(BUILD)/man3 $(PUBLIC_HEADERS)
	touch $@

install-module: module install-rules
	$(MAKE) -C $(KDIR) M=$(CURDIR)/kernel INSTALL_MOD_PATH=$(DESTDIR) modules_install
	$(if $(DESTDIR),,depmod -a $(KVER))

# DKMS builds the module anew for each kernel that comes, from this copy.
DKMS_DIR = $(DESTDIR)/usr/src/p2pmem-$(VERSION)
install-dkms: install-rules
	install -d $(DKMS_DIR)/kernel/compat $(DKMS_DIR)/include/uapi $(DKMS_DIR)/include/donard
	install -m 644 kernel/Kbuild $(wildcard kernel/*.[ch]) $(DKMS_DIR)/kernel/
	install -m 644 $(wildcard kernel/compat/*.[ch]) $(DKMS_DIR)/kernel/compat/
	install -m 644 include/uapi/p2pmem.h $(DKMS_DIR)/include/uapi/
	install -m 644 include/donard/version.h $(DKMS_DIR)/include/donard/
	sed 's|@VERSION@|$(VERSION)|' kernel/dkms.conf.in >$(DKMS_DIR)/dkms.conf
	$(if $(DESTDIR),,dkms install p2pmem/$(VERSION) -k $(KVER))
