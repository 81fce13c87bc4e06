# SPDX-License-Identifier: Apache-2.0
# libdonard (static for the tests, shared for users), donard-cli, donard-bench.
LIB_PKGS  := liburing libpci libibverbs librdmacm
PKGS      := $(LIB_PKGS) json-c
# See include/donard/version.h about the number.
SONAME    := libdonard.so.0
LIB_OBJS  := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard lib/*/*.c)))
TOOL_OBJS := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard tool/*.c)))
CLI_OBJS  := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard cli/*.c)))
BENCH_OBJS := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard bench/*.c)))

# WERROR=1 (as make check sets it) makes errors of warnings: another compiler may have more of them.
# gcc alone has format-truncation, and only another compiler would complain of its absence.
WARNINGS   = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes $(WNO_FORMAT) \
	$(if $(WERROR),-Werror)
WNO_FORMAT = $(eval WNO_FORMAT := $(shell $(CC) -Werror -Wno-format-truncation -E -x c /dev/null \
	>/dev/null 2>&1 && echo -Wno-format-truncation))$(WNO_FORMAT)
PKG_CFLAGS = $(eval PKG_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(PKGS)))$(PKG_CFLAGS)
ALL_CFLAGS = -std=gnu11 -D_GNU_SOURCE -Iinclude $(WARNINGS) -fPIC -fvisibility=hidden -pthread \
	$(PKG_CFLAGS) $(CPPFLAGS) $(CFLAGS)
LIB_LIBS   = $(shell $(PKG_CONFIG) --libs $(LIB_PKGS))
CLI_LIBS   = $(shell $(PKG_CONFIG) --libs json-c)
BENCH_LIBS = $(shell $(PKG_CONFIG) --libs json-c liburing libibverbs)

userspace: $(BUILD)/completion.bash $(BUILD)/libdonard.so $(BUILD)/libdonard.a $(BUILD)/donard-cli \
	$(BUILD)/donard-bench $(BUILD)/donard-stat \
	$(BUILD)/libdonard.pc $(BUILD)/header.ok

# The files of the library name each other by room: "base/base.h".  Nobody else sees them.
$(BUILD)/lib/%.o: ALL_CFLAGS += -iquote lib

# Before the first file is compiled: else hundreds of lines say what one can.
DEBIAN_DEV = sed 's/\([^ ]\{1,\}\)/\1-dev/g; s/json-c/libjson-c/'
.PHONY: packages
packages:
	@command -v $(firstword $(PKG_CONFIG)) >/dev/null || { \
		echo "make: there is no $(firstword $(PKG_CONFIG)), which finds the libraries." \
			"On Debian: apt install pkg-config $$(echo $(PKGS) | $(DEBIAN_DEV))" >&2; exit 1; }
	@missing=; for p in $(PKGS); do $(PKG_CONFIG) --exists $$p || missing="$$missing $$p"; done; \
	[ -z "$$missing" ] || { \
		echo "make: $(firstword $(PKG_CONFIG)) does not find$$missing." \
			"On Debian: apt install $$(echo $$missing | $(DEBIAN_DEV))" >&2; exit 1; }

$(BUILD)/%.o: %.c | packages
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/$(SONAME): $(LIB_OBJS) lib/libdonard.map
	$(CC) -shared -Wl,-soname,$(SONAME) -Wl,--version-script=lib/libdonard.map -Wl,-z,defs \
		$(CFLAGS) $(LDFLAGS) -pthread -o $@ $(LIB_OBJS) $(LIB_LIBS)

$(BUILD)/libdonard.so: $(BUILD)/$(SONAME)
	ln -sf $(SONAME) $@

$(BUILD)/libdonard.a: $(LIB_OBJS)
	rm -f $@
	$(AR) qcs $@ $(LIB_OBJS)

# Finds the library beside itself in the build folder, and by ld.so's own
# rules or below ../lib when installed.
LINK_PROGRAM = $(CC) $(CFLAGS) $(LDFLAGS) -pthread '-Wl,-rpath,$$ORIGIN:$$ORIGIN/../lib' -o $@ \
	$(filter %.o,$^) -L$(BUILD) -ldonard

$(CLI_OBJS) $(BENCH_OBJS): ALL_CFLAGS += -iquote tool

$(BUILD)/donard-cli: $(CLI_OBJS) $(TOOL_OBJS) $(BUILD)/libdonard.so
	$(LINK_PROGRAM) $(CLI_LIBS)

$(BUILD)/donard-bench: $(BENCH_OBJS) $(TOOL_OBJS) $(BUILD)/libdonard.so
	$(LINK_PROGRAM) $(BENCH_LIBS)

# donard-bench looks for it beside itself.
$(BUILD)/donard-stat: bench/donard-stat
	@mkdir -p $(@D)
	ln -sf $(abspath $<) $@

$(BUILD)/completion.bash: cli/completion.bash.in cli/make-completion $(BUILD)/donard-cli $(BUILD)/donard-bench
	cli/make-completion $< $(BUILD)/donard-cli $(BUILD)/donard-bench > $@.new
	mv $@.new $@

# Its text depends on PREFIX, which is no file: made each time, and put in place where it differs.
.PHONY: FORCE
$(BUILD)/libdonard.pc: lib/libdonard.pc.in FORCE
	@mkdir -p $(@D)
	@sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' $< >$@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@

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

-include $(LIB_OBJS:.o=.d) $(TOOL_OBJS:.o=.d) $(CLI_OBJS:.o=.d) $(BENCH_OBJS:.o=.d)
