# SPDX-License-Identifier: Apache-2.0
# Each list of files is written once: what "install" puts there, "uninstall" removes.
# A multiarch system has its libraries in lib/x86_64-linux-gnu: LIBDIR.
LIBDIR  ?= $(PREFIX)/lib
BINDIR  := $(PREFIX)/bin
MANDIR  := $(PREFIX)/share/man
COMPDIR := $(PREFIX)/share/bash-completion/completions
STATDIR := $(PREFIX)/share/donard/donardstat
EXAMPLEDIR := $(PREFIX)/share/doc/donard/examples
# Where nobody finds it who does not ask for it: docs/cufile.md.
CUFILEDIR = $(LIBDIR)/donard/cufile
# systemd and udev look below /usr/local, too.
UNITDIR ?= $(PREFIX)/lib/systemd/system
RULESDIR ?= $(PREFIX)/lib/udev/rules.d

SERVICE_FILES := $(addprefix $(BUILD)/,donard-regions.service donard-regions@.service 61-donard.rules)
MAN1_FILES := $(sort $(wildcard docs/*.1))
MAN5_FILES := docs/donard-regions.conf.5

# $(call put,MODE,FOLDER,FILES)
put = install -d "$(DESTDIR)$(2)" && install -m $(1) $(3) "$(DESTDIR)$(2)/"

install: userspace $(BUILD)/man3.ok $(SERVICE_FILES)
	$(call put,755,$(BINDIR),$(BUILD)/donard-cli $(BUILD)/donard-bench bench/donard-stat)
	$(call put,644,$(STATDIR),bench/donardstat/*.py)
	$(call put,644,$(STATDIR)/words,bench/donardstat/words/*)
	$(call put,644,$(LIBDIR),$(BUILD)/$(SONAME) $(BUILD)/libdonard.a)
	ln -sf $(SONAME) $(DESTDIR)$(LIBDIR)/libdonard.so
	$(call put,644,$(CUFILEDIR),$(BUILD)/cufile/$(CUFILE_SONAME))
	$(if $(NBD_PLUGIN),$(call put,644,$(NBD_DIR),$(NBD_PLUGIN)))
	$(call put,644,$(PREFIX)/include,lib/cufile/donard-cufile.h)
	$(call put,644,$(LIBDIR)/pkgconfig,$(BUILD)/libdonard.pc)
	$(call put,644,$(PREFIX)/include/donard,$(PUBLIC_HEADERS) include/uapi/p2pmem.h)
	$(call put,644,$(MANDIR)/man1,$(MAN1_FILES))
	$(call put,644,$(MANDIR)/man3,$(BUILD)/man3/*.3)
	$(call put,644,$(MANDIR)/man5,$(MAN5_FILES))
	$(call put,644,$(EXAMPLEDIR),docs/examples/*)
	install -d $(DESTDIR)$(COMPDIR)
	install -m 644 $(BUILD)/completion.bash $(DESTDIR)$(COMPDIR)/donard-cli
	ln -sf donard-cli $(DESTDIR)$(COMPDIR)/donard-bench
	$(call put,644,$(UNITDIR),$(filter %.service,$(SERVICE_FILES)))
	$(call put,644,$(RULESDIR),$(filter %.rules,$(SERVICE_FILES)))
	$(if $(DESTDIR),,-ldconfig)
	$(if $(DESTDIR),,-udevadm control --reload)

# The files of "install", and the folders that are ours alone.
INSTALLED = $(addprefix $(BINDIR)/,donard-cli donard-bench donard-stat) \
	$(addprefix $(STATDIR)/,$(notdir $(wildcard bench/donardstat/*.py))) \
	$(addprefix $(STATDIR)/words/,$(notdir $(wildcard bench/donardstat/words/*))) \
	$(addprefix $(LIBDIR)/,$(SONAME) libdonard.a libdonard.so pkgconfig/libdonard.pc) \
	$(CUFILEDIR)/$(CUFILE_SONAME) $(PREFIX)/include/donard-cufile.h \
	$(if $(NBD_PLUGIN),$(NBD_DIR)/$(notdir $(NBD_PLUGIN))) \
	$(addprefix $(PREFIX)/include/donard/,$(notdir $(PUBLIC_HEADERS)) p2pmem.h) \
	$(addprefix $(MANDIR)/man1/,$(notdir $(MAN1_FILES))) \
	$(addprefix $(MANDIR)/man3/,$(notdir $(wildcard $(BUILD)/man3/*.3))) \
	$(addprefix $(MANDIR)/man5/,$(notdir $(MAN5_FILES))) \
	$(addprefix $(EXAMPLEDIR)/,$(notdir $(wildcard docs/examples/*))) \
	$(addprefix $(COMPDIR)/,donard-cli donard-bench) \
	$(addprefix $(UNITDIR)/,$(notdir $(filter %.service,$(SERVICE_FILES)))) \
	$(addprefix $(RULESDIR)/,$(notdir $(filter %.rules,$(SERVICE_FILES))))
OWN_FOLDERS = $(EXAMPLEDIR) $(PREFIX)/share/doc/donard $(STATDIR)/words $(STATDIR) $(PREFIX)/share/donard $(PREFIX)/include/donard \
	$(CUFILEDIR) $(LIBDIR)/donard

# With the PREFIX and LIBDIR of "install". Folders that hold what others put there stay.
uninstall: $(BUILD)/man3.ok
	rm -f $(addprefix $(DESTDIR),$(INSTALLED))
	rm -rf $(DESTDIR)$(STATDIR)/__pycache__
	-for folder in $(OWN_FOLDERS); do rmdir "$(DESTDIR)$$folder" 2>/dev/null; done; true
	$(if $(DESTDIR),,-ldconfig)
	$(if $(DESTDIR),,-udevadm control --reload)

$(BUILD)/%.rules: service/%.rules.in FORCE
	$(fill_in)
$(BUILD)/%.service: service/%.service.in FORCE
	$(fill_in)

# The kernel that KDIR builds for; of a tree that says so itself, or by its own make.
KVER = $(or $(shell cat $(KDIR)/include/config/kernel.release 2>/dev/null),$(shell $(MAKE) -s -C $(KDIR) kernelrelease))

# First the group, then the rule that names it. Both belong to the system, as the module does.
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

# A page for each function of the library, from the comments of its headers.
man3: $(BUILD)/man3.ok
$(BUILD)/man3.ok: mk/manpages.py $(PUBLIC_HEADERS)
	rm -rf $(BUILD)/man3
	mk/manpages.py --version $(VERSION) --into $(BUILD)/man3 $(PUBLIC_HEADERS)
	touch $@

install-module: module install-rules
	$(MAKE) -C $(KDIR) M=$(CURDIR)/kernel INSTALL_MOD_PATH=$(DESTDIR) modules_install
	$(if $(DESTDIR),,depmod -a $(KVER))

# Wherever modules_install put it.
uninstall-module: uninstall-rules
	find "$(DESTDIR)/lib/modules/$(KVER)" -name 'p2pmem.ko*' -not -path '*/dkms/*' -delete
	$(if $(DESTDIR),,depmod -a $(KVER))

# DKMS builds the module anew for each kernel that comes, from this copy.
DKMS_DIR = $(DESTDIR)/usr/src/p2pmem-$(VERSION)
dkms-source:
	install -d $(DKMS_DIR)/kernel/compat $(DKMS_DIR)/include/uapi $(DKMS_DIR)/include/donard
	install -m 644 kernel/Kbuild $(wildcard kernel/*.[ch]) $(DKMS_DIR)/kernel/
	install -m 644 $(wildcard kernel/compat/*.[ch]) $(DKMS_DIR)/kernel/compat/
	install -m 644 include/uapi/p2pmem.h $(DKMS_DIR)/include/uapi/
	install -m 644 include/donard/version.h $(DKMS_DIR)/include/donard/
	sed 's|@VERSION@|$(VERSION)|' kernel/dkms.conf.in >$(DKMS_DIR)/dkms.conf

install-dkms: install-rules dkms-source
	$(if $(DESTDIR),,dkms install p2pmem/$(VERSION) -k $(KVER))

uninstall-dkms: uninstall-rules
	$(if $(DESTDIR),,-dkms remove p2pmem/$(VERSION) --all)
	rm -rf $(DKMS_DIR)
