# SPDX-License-Identifier: Apache-2.0
# Each list of files is written once: what "install" puts there, "uninstall" removes.
# A multiarch system has its libraries in lib/x86_64-linux-gnu: LIBDIR.
LIBDIR  ?= $(PREFIX)/lib
BINDIR  := $(PREFIX)/bin
MANDIR  := $(PREFIX)/share/man
COMPDIR := $(PREFIX)/share/bash-completion/completions
STATDIR := $(PREFIX)/share/donard/donardstat
# Messages and man pages name docs/X.md: below this folder, as in a checkout. Man pages, CONTRIBUTING.md and the
# sources that the documents link to lie elsewhere, or are in a checkout alone.
DOCDIR  := $(PREFIX)/share/doc/donard
EXAMPLEDIR := $(DOCDIR)/docs/examples
FIGUREDIR := $(DOCDIR)/docs/benchmarks
# A folder that the loader does not search, so that only programs that ask for the library get it: docs/cufile.md.
CUFILEDIR = $(LIBDIR)/donard/cufile
# systemd and udev look below /usr/local, too.
UNITDIR ?= $(PREFIX)/lib/systemd/system
RULESDIR ?= $(PREFIX)/lib/udev/rules.d

# Units, rules and the lists below would take a path with a space for two.
PLACES := PREFIX LIBDIR UNITDIR RULESDIR $(if $(filter command environment,$(origin NBD_DIR)),NBD_DIR)
$(foreach place,$(PLACES),$(if $(word 2,$($(place))),$(error $(place) may have no space: $($(place)))))
# Behind DESTDIR, one without / in front would be beside that folder, and systemd takes no such path.
$(foreach place,$(PLACES) $(if $(filter command environment,$(origin PYTHONDIR)),PYTHONDIR),$(if $(filter-out /%,$(firstword $($(place)))),$(error $(place) is no path from /: $($(place)). Give the whole path)))

SERVICE_FILES := $(addprefix $(BUILD)/,donard-regions.service donard-regions@.service 61-donard.rules)
MAN1_FILES := $(sort $(wildcard docs/*.1))
MAN5_FILES := docs/donard-regions.conf.5
DOC_FILES := $(sort $(wildcard docs/*.md))

# $(call put,MODE,FOLDER,FILES)
put = install -d "$(DESTDIR)$(2)" && install -m $(1) $(3) "$(DESTDIR)$(2)/"

# The folders below which udev and systemd look.
READ_BELOW := /etc /run /usr/lib /lib /usr/local/lib

# $(call told_unread,VARIABLE,WHO,FOLDER,TEXT) - where the variable names no such FOLDER.
told_unread = $(if $(filter $(abspath $($(1))),$(addsuffix /$(3),$(READ_BELOW))),,@echo "make: $(2) does not look into" \
	"$($(1)): $(4). Give $(1)=/usr/local/lib/$(3) as well" >&2)

# A part of "all", so that the user who builds makes these: a user's "make clean" could not remove root's files.
all: $(BUILD)/man3.ok $(SERVICE_FILES)

install: $(BUILD)/man3.ok userspace $(SERVICE_FILES)
	$(call put,755,$(BINDIR),$(BUILD)/donard-cli $(BUILD)/donard-bench bench/donard-stat)
	$(call put,644,$(STATDIR),bench/donardstat/*.py)
	$(call put,644,$(STATDIR)/words,bench/donardstat/words/*)
	$(call put,644,$(LIBDIR),$(addprefix $(BUILD)/,$(SONAME) libdonard.a $(METER_SONAME) libdonard-meter.a))
	ln -sf $(SONAME) "$(DESTDIR)$(LIBDIR)/libdonard.so"
	ln -sf $(METER_SONAME) "$(DESTDIR)$(LIBDIR)/libdonard-meter.so"
	$(call put,644,$(CUFILEDIR),$(BUILD)/cufile/$(CUFILE_SONAME))
	$(if $(NBD_PLUGIN),$(call put,644,$(NBD_DIR),$(NBD_PLUGIN)))
	$(call put,644,$(PREFIX)/include,lib/cufile/donard-cufile.h)
	$(call put,644,$(LIBDIR)/pkgconfig,$(BUILD)/libdonard.pc $(BUILD)/libdonard-meter.pc)
	$(call put,644,$(PREFIX)/include/donard,$(PUBLIC_HEADERS) include/uapi/p2pmem.h)
	$(call put,644,$(MANDIR)/man1,$(MAN1_FILES))
	$(call put,644,$(MANDIR)/man3,$(BUILD)/man3/*.3)
	$(call put,644,$(MANDIR)/man5,$(MAN5_FILES))
	$(call put,644,$(DOCDIR),README.md)
	$(call put,644,$(DOCDIR)/docs,$(DOC_FILES))
	$(call put,644,$(EXAMPLEDIR),docs/examples/*)
	$(call put,644,$(FIGUREDIR),docs/benchmarks/*.svg)
	$(call put,644,$(FIGUREDIR)/data,docs/benchmarks/data/*.json)
	install -d "$(DESTDIR)$(COMPDIR)"
	install -m 644 cli/completion.bash "$(DESTDIR)$(COMPDIR)/donard-cli"
	install -m 644 cli/completion.bash "$(DESTDIR)$(COMPDIR)/donard-bench"
	$(call put,644,$(UNITDIR),$(filter %.service,$(SERVICE_FILES)))
	$(call put,644,$(RULESDIR),$(filter %.rules,$(SERVICE_FILES)))
	$(if $(DESTDIR),,-ldconfig)
	$(if $(DESTDIR),,-$(tell_udev); $(tell_systemd))
	$(if $(DESTDIR),,$(call told_without,systemctl,nothing brings regions back at boot unless it runs 'donard-cli region apply'))
	$(if $(DESTDIR),,$(call told_unread,RULESDIR,udev,udev/rules.d,no region gets the user and mode of its configuration))
	$(if $(DESTDIR),,$(call told_unread,UNITDIR,systemd,systemd/system,nothing brings regions back at boot))
	$(if $(NBD_ELSEWHERE),@[ "$(abspath $(NBD_DIR))" = "$$($(PKG_CONFIG) --variable=plugindir nbdkit)" ] || echo "make: nbdkit does not look into $(NBD_DIR). Name the plugin by its path: nbdkit" \
		"$(NBD_INSTALLED)" >&2)

# The files of "install", and the folders that are ours alone.
INSTALLED = $(addprefix $(BINDIR)/,donard-cli donard-bench donard-stat) \
	$(addprefix $(STATDIR)/,$(notdir $(wildcard bench/donardstat/*.py))) \
	$(addprefix $(STATDIR)/words/,$(notdir $(wildcard bench/donardstat/words/*))) \
	$(addprefix $(LIBDIR)/,$(SONAME) libdonard.a libdonard.so pkgconfig/libdonard.pc) \
	$(addprefix $(LIBDIR)/,$(METER_SONAME) libdonard-meter.a libdonard-meter.so pkgconfig/libdonard-meter.pc) \
	$(CUFILEDIR)/$(CUFILE_SONAME) $(PREFIX)/include/donard-cufile.h \
	$(NBD_INSTALLED) \
	$(addprefix $(PREFIX)/include/donard/,$(notdir $(PUBLIC_HEADERS)) p2pmem.h) \
	$(addprefix $(MANDIR)/man1/,$(notdir $(MAN1_FILES))) \
	$(addprefix $(MANDIR)/man3/,$(shell mk/manpages.py --names $(PUBLIC_HEADERS))) \
	$(addprefix $(MANDIR)/man5/,$(notdir $(MAN5_FILES))) \
	$(DOCDIR)/README.md $(addprefix $(DOCDIR)/,$(DOC_FILES)) \
	$(addprefix $(DOCDIR)/,$(wildcard docs/examples/* docs/benchmarks/*.svg docs/benchmarks/data/*.json)) \
	$(addprefix $(COMPDIR)/,donard-cli donard-bench) \
	$(addprefix $(UNITDIR)/,$(notdir $(filter %.service,$(SERVICE_FILES)))) \
	$(addprefix $(RULESDIR)/,$(notdir $(filter %.rules,$(SERVICE_FILES))))
NBD_INSTALLED = $(if $(NBD_PLUGIN),$(NBD_DIR)/$(notdir $(NBD_PLUGIN)))
OWN_FOLDERS = $(EXAMPLEDIR) $(FIGUREDIR)/data $(FIGUREDIR) $(DOCDIR)/docs $(DOCDIR) $(STATDIR)/words $(STATDIR) $(PREFIX)/share/donard $(PREFIX)/include/donard \
	$(CUFILEDIR) $(LIBDIR)/donard

# $(call remove_unowned,FILES) - Debian's packages put some files where an installation from source does, whatever PREFIX is.
remove_unowned = @for file in $(foreach file,$(1),"$(DESTDIR)$(file)"); do \
	if package=$$(dpkg-query -S "$$file" 2>/dev/null); then \
		echo "make: $$file belongs to the package $${package%%:*}, and stays" >&2; else rm -f "$$file" || exit; fi; done

# An enabled service would leave a link to nothing.
disable = if [ -e "$(UNITDIR)/$(1)" ] && command -v systemctl >/dev/null; then systemctl --quiet disable $(1); fi

# Takes the same PLACES as "install". Keeps folders that hold files of others. It builds nothing: see "all".
uninstall:
	$(call require,python3)
	$(if $(DESTDIR),,-$(call disable,donard-regions.service))
	rm -f $(foreach file,$(filter-out $(NBD_INSTALLED),$(INSTALLED)),"$(DESTDIR)$(file)")
	$(call remove_unowned,$(NBD_INSTALLED))
	rm -rf "$(DESTDIR)$(STATDIR)/__pycache__"
	$(if $(NBD_PLUGIN),,@echo "make: pkg-config does not find nbdkit: its plugin stays, if it was installed" >&2)
	-for folder in $(OWN_FOLDERS); do rmdir "$(DESTDIR)$$folder" 2>/dev/null; done; true
	$(if $(DESTDIR),,-ldconfig)
	$(if $(DESTDIR),,-$(tell_udev); $(tell_systemd))

$(BUILD)/%.rules: service/%.rules.in FORCE
	$(fill_in)
$(BUILD)/%.service: service/%.service.in FORCE
	$(fill_in)

# A page for each function of the libraries, from the comments of its headers.
man3: $(BUILD)/man3.ok
$(BUILD)/man3.ok: mk/manpages.py $(PUBLIC_HEADERS)
	$(call require,python3)
	rm -rf $(BUILD)/man3
	mk/manpages.py --version $(VERSION) --into $(BUILD)/man3 $(PUBLIC_HEADERS)
	touch $@
