# SPDX-License-Identifier: Apache-2.0
install: userspace
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/pkgconfig \
		$(DESTDIR)$(PREFIX)/include/donard $(DESTDIR)$(PREFIX)/share/man/man1 \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions
	install -m 755 $(BUILD)/donard-cli $(BUILD)/donard-bench $(DESTDIR)$(PREFIX)/bin/
	install -m 644 $(BUILD)/$(SONAME) $(BUILD)/libdonard.a $(DESTDIR)$(PREFIX)/lib/
	ln -sf $(SONAME) $(DESTDIR)$(PREFIX)/lib/libdonard.so
	install -m 644 $(BUILD)/libdonard.pc $(DESTDIR)$(PREFIX)/lib/pkgconfig/
	install -m 644 include/donard/donard.h include/donard/meter.h $(DESTDIR)$(PREFIX)/include/donard/
	install -m 644 include/uapi/p2pmem.h $(DESTDIR)$(PREFIX)/include/donard/
	install -m 644 docs/donard-cli.1 $(DESTDIR)$(PREFIX)/share/man/man1/
	install -m 644 $(BUILD)/completion.bash \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/donard-cli
	ln -sf donard-cli $(DESTDIR)$(PREFIX)/share/bash-completion/completions/donard-bench
	$(if $(DESTDIR),,-ldconfig)

install-module: module
	$(MAKE) -C $(KDIR) M=$(CURDIR)/kernel INSTALL_MOD_PATH=$(DESTDIR) modules_install
	$(if $(DESTDIR),,depmod -a)
	install -d $(DESTDIR)/lib/udev/rules.d
	install -m 644 kernel/60-p2pmem.rules $(DESTDIR)/lib/udev/rules.d/
