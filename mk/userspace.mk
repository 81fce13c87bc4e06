# SPDX-License-Identifier: Apache-2.0
# libdonard and libdonard-meter (static for the tests, shared for users), donard-cli, donard-bench.
LIB_PKGS  := liburing libpci libibverbs librdmacm libisal
PKGS      := $(LIB_PKGS) json-c inih
# See include/donard/version.h about the number.
SONAME    := libdonard.so.0
LIB_OBJS  := $(patsubst %.c,$(BUILD)/%.o,$(sort $(filter-out lib/cufile/% lib/meter/%,$(wildcard lib/*/*.c))))
# Libraries of their own, by the public calls of that one, and with files of it that know no context.
METER_SONAME := libdonard-meter.so.0
METER_OBJS := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard lib/meter/*.c)))
METER_SHARES := $(addprefix $(BUILD)/lib/base/,clock.o failure.o files.o handle.o misuse.o printable.o sized.o)
# The number is that of the ABI that it stands in for.
CUFILE_SONAME := libcufile.so.0
CUFILE_OBJS := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard lib/cufile/*.c)) lib/base/mounts.c lib/base/printable.c words/words.c)
# Both commands print names of others as the library does.
TOOL_OBJS := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard tool/*.c tool/rdma/*.c)) lib/base/printable.c words/words.c)
# The doctor predicts routes by the module's own rules, which are pure, and reads files as the library does.
CLI_OBJS  := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard cli/*.c cli/doctor/*.c)) kernel/path.c $(addprefix lib/base/,bdf.c files.c nodes.c pcibar.c pciconfig.c rights.c uring_refused.c))
# The links' registers are read as the library reads them.
BENCH_OBJS := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard bench/*.c)) $(addprefix lib/base/,files.c pciconfig.c))

# WERROR=1 (as make check sets it) makes errors of warnings: another compiler may have more of them.
# gcc alone has format-truncation, and only another compiler would complain of its absence.
WARNINGS   = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes $(WNO_FORMAT) \
	$(if $(WERROR),-Werror)
WNO_FORMAT = $(eval WNO_FORMAT := $(shell $(CC) -Werror -Wno-format-truncation -E -x c /dev/null \
	>/dev/null 2>&1 && echo -Wno-format-truncation))$(WNO_FORMAT)
PKG_CFLAGS = $(eval PKG_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(PKGS)))$(PKG_CFLAGS)
ALL_CFLAGS = -std=gnu11 -D_GNU_SOURCE $(if $(DEBUG),-DDONARD_DEBUG) -Iinclude $(WARNINGS) -fPIC -fvisibility=hidden -pthread \
	$(PKG_CFLAGS) $(CPPFLAGS) $(CFLAGS)
LIB_LIBS   = $(shell $(PKG_CONFIG) --libs $(LIB_PKGS))
CLI_LIBS   = $(shell $(PKG_CONFIG) --libs json-c inih libibverbs)
BENCH_LIBS = $(shell $(PKG_CONFIG) --libs json-c liburing libibverbs)

# The plugin is built where nbdkit's headers are: nothing else needs them.
NBD_OBJS  := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard nbd/*.c)) words/words.c)
NBD_PLUGIN := $(if $(shell $(PKG_CONFIG) --exists nbdkit 2>/dev/null && echo yes),$(BUILD)/nbdkit-donard-cache-plugin.so)
# Where nbdkit looks for plugins by their short names.  That folder belongs to the system, so an install with another PREFIX stays out.
NBD_ELSEWHERE := $(if $(NBD_PLUGIN),$(if $(filter /usr /usr/local,$(abspath $(PREFIX)))$(filter command environment,$(origin NBD_DIR)),,yes))
NBD_DIR   ?= $(eval NBD_DIR := $(if $(NBD_ELSEWHERE),$(LIBDIR)/nbdkit/plugins,$(shell \
	$(PKG_CONFIG) --variable=plugindir nbdkit)))$(NBD_DIR)

userspace: $(BUILD)/libdonard.so $(BUILD)/libdonard.a $(BUILD)/libdonard-meter.so $(BUILD)/libdonard-meter.a \
	$(BUILD)/donard-cli $(BUILD)/cufile/$(CUFILE_SONAME) $(NBD_PLUGIN) \
	$(BUILD)/donard-bench $(BUILD)/donard-stat \
	$(BUILD)/libdonard.pc $(BUILD)/libdonard-meter.pc $(BUILD)/header.ok

# The files of the library name each other by room: "base/base.h".  Nobody else sees them.
$(BUILD)/lib/%.o: ALL_CFLAGS += -iquote lib

# Checked before the first file is compiled: one line then says what hundreds of errors would.
DEBIAN_DEV = sed 's/\([^ ]\{1,\}\)/\1-dev/g; s/json-c/libjson-c/; s/inih/libinih/'
.PHONY: packages
packages:
	@command -v $(firstword $(PKG_CONFIG)) >/dev/null || { \
		echo "make: there is no $(firstword $(PKG_CONFIG)), which finds the libraries." \
			"On Debian: apt install pkg-config $$(echo $(PKGS) | $(DEBIAN_DEV))" >&2; exit 1; }
	@missing=; for p in $(PKGS); do $(PKG_CONFIG) --exists $$p || missing="$$missing $$p"; done; \
	[ -z "$$missing" ] || { \
		echo "make: $(firstword $(PKG_CONFIG)) does not find$$missing." \
			"On Debian: apt install $$(echo $$missing | $(DEBIAN_DEV))" >&2; exit 1; }
	@command -v $(firstword $(CC)) >/dev/null || { \
		echo "make: there is no compiler $(firstword $(CC)). On Debian: apt install build-essential;" \
			"or name another one: make CC=..." >&2; exit 1; }

$(BUILD)/%.o: %.c | packages
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# It stays loaded: a barrier's thread that was left alone ends in it (lib/rdma/settle.c).
$(BUILD)/$(SONAME): $(LIB_OBJS) lib/libdonard.map
	$(CC) -shared -Wl,-soname,$(SONAME) -Wl,--version-script=lib/libdonard.map -Wl,-z,defs \
		-Wl,-z,nodelete $(CFLAGS) $(LDFLAGS) -pthread -o $@ $(LIB_OBJS) $(LIB_LIBS)

$(BUILD)/libdonard.so: $(BUILD)/$(SONAME)
	ln -sf $(SONAME) $@

$(BUILD)/libdonard.a: $(LIB_OBJS)
	rm -f $@
	$(AR) qcs $@ $(LIB_OBJS)

# It finds the other beside itself.
METER_RPATH ?= '-Wl,-rpath,$$ORIGIN'
$(BUILD)/$(METER_SONAME): $(METER_OBJS) $(METER_SHARES) lib/meter/libdonard-meter.map $(BUILD)/libdonard.so
	$(CC) -shared -Wl,-soname,$(METER_SONAME) -Wl,--version-script=lib/meter/libdonard-meter.map -Wl,-z,defs \
		$(CFLAGS) $(LDFLAGS) -pthread $(METER_RPATH) -o $@ $(METER_OBJS) $(METER_SHARES) -L$(BUILD) -ldonard

$(BUILD)/libdonard-meter.so: $(BUILD)/$(METER_SONAME)
	ln -sf $(METER_SONAME) $@

# Static programs have the rest from libdonard.a.
$(BUILD)/libdonard-meter.a: $(METER_OBJS)
	rm -f $@
	$(AR) qcs $@ $(METER_OBJS)

# Lies in a folder of its own, so that only programs that ask for it find it: NVIDIA's library has the same name.  It stays loaded,
# because threads that end later still call it.
CUFILE_RPATH ?= '-Wl,-rpath,$$ORIGIN/..:$$ORIGIN/../..'
$(BUILD)/cufile/$(CUFILE_SONAME): $(CUFILE_OBJS) lib/cufile/libcufile.map $(BUILD)/libdonard.so
	@mkdir -p $(@D)
	$(CC) -shared -Wl,-soname,$(CUFILE_SONAME) -Wl,--version-script=lib/cufile/libcufile.map -Wl,-z,defs \
		-Wl,-z,nodelete $(CFLAGS) $(LDFLAGS) -pthread $(CUFILE_RPATH) -o $@ $(CUFILE_OBJS) -L$(BUILD) -ldonard \
		$(shell $(PKG_CONFIG) --libs json-c)

# A linked program finds the library beside itself in the build folder, or in LIBDIR relative to its own folder, even if both were
# moved, or by ld.so's own rules. Packages set no path, because ld.so finds their library.
# $(call library_from,FOLDER)
library_from = '-Wl,-rpath,$$ORIGIN:$$ORIGIN/$(shell realpath -sm --relative-to=$(1) $(LIBDIR))'

NBD_RPATH ?= $(call library_from,$(NBD_DIR))
$(BUILD)/nbdkit-donard-cache-plugin.so: $(NBD_OBJS) $(BUILD)/libdonard.so $(BUILD)/rpath
	$(CC) -shared $(CFLAGS) $(LDFLAGS) -pthread $(NBD_RPATH) -o $@ $(NBD_OBJS) -L$(BUILD) -ldonard

RPATH ?= $(call library_from,$(BINDIR))
LINK_PROGRAM = $(CC) $(CFLAGS) $(LDFLAGS) -pthread $(RPATH) -o $@ \
	$(filter %.o,$^) -L$(BUILD) -ldonard-meter -ldonard

$(CLI_OBJS) $(BENCH_OBJS): ALL_CFLAGS += -iquote tool
$(BUILD)/tool/rdma/%.o: ALL_CFLAGS += -iquote tool
$(BUILD)/cli/%.o $(BUILD)/tool/%.o $(BUILD)/bench/%.o $(BUILD)/nbd/%.o $(BUILD)/lib/cufile/%.o: ALL_CFLAGS += -iquote .
# Each request reads variables of its thread several times: so without a call that looks for them. For that dlopen() takes
# them from the room that the C library keeps for such libraries, and fails where none is left; so they have to stay few.
$(BUILD)/lib/cufile/%.o: ALL_CFLAGS += -ftls-model=initial-exec

$(BUILD)/donard-cli: $(CLI_OBJS) $(TOOL_OBJS) $(BUILD)/libdonard.so $(BUILD)/libdonard-meter.so $(BUILD)/rpath
	$(LINK_PROGRAM) $(CLI_LIBS)

$(BUILD)/donard-bench: $(BENCH_OBJS) $(TOOL_OBJS) $(BUILD)/libdonard.so $(BUILD)/libdonard-meter.so $(BUILD)/rpath
	$(LINK_PROGRAM) $(BENCH_LIBS)

# donard-bench looks for it beside itself.
$(BUILD)/donard-stat: bench/donard-stat
	@mkdir -p $(@D)
	ln -sf "$(CURDIR)/$<" $@

# A text that depends on PREFIX or LIBDIR, which are no files, is made each time, and replaces the old one if it differs. Several
# makes may run at the same time, so each uses a temporary name of its own, in one shell.
new = $@.$$$$.new
where_it_differs = { cmp -s $(new) $@ && rm $(new) || mv $(new) $@; }
define fill_in
@mkdir -p $(@D)
@sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@BIN@|$(BINDIR)|' \
	-e 's|@VERSION@|$(VERSION)|' $< >$(new) && $(where_it_differs)
endef

# A change of this file has the programs linked again.
$(BUILD)/rpath: FORCE
	@mkdir -p $(@D)
	@echo $(RPATH) $(if $(NBD_PLUGIN),$(NBD_RPATH)) >$(new) && $(where_it_differs)

$(BUILD)/libdonard.pc: lib/libdonard.pc.in FORCE
	$(fill_in)
$(BUILD)/libdonard-meter.pc: lib/meter/libdonard-meter.pc.in FORCE
	$(fill_in)

# The public headers compile alone, as C and (with a compiler for it) C++, and pad no structure:
# a hole is a member that nobody set.
PUBLIC_HEADERS := $(sort $(wildcard include/donard/*.h))
$(BUILD)/header.ok: $(PUBLIC_HEADERS) include/uapi/p2pmem.h
	@mkdir -p $(@D)
	for h in $^; do \
		$(CC) -std=c99 -Wall -Wextra -Wpadded $(if $(WERROR),-Werror) -fsyntax-only -x c $$h || exit 1; \
		if command -v $(CXX) >/dev/null; then \
			$(CXX) -Wall -Wextra -Wpadded $(if $(WERROR),-Werror) -fsyntax-only -x c++ $$h || exit 1; \
		fi; \
	done
	touch $@

-include $(LIB_OBJS:.o=.d) $(METER_OBJS:.o=.d) $(CUFILE_OBJS:.o=.d) $(TOOL_OBJS:.o=.d) $(CLI_OBJS:.o=.d) $(BENCH_OBJS:.o=.d) $(NBD_OBJS:.o=.d)
