# SPDX-License-Identifier: Apache-2.0
# Unit tests: one program a file of tests/unit, linked with the library's objects.
UNIT_NAMES := $(patsubst tests/unit/%.c,%,$(sort $(wildcard tests/unit/test_*.c)))
UNIT_PROGS := $(addprefix $(BUILD)/tests/unit/,$(UNIT_NAMES))
UNIT_HELP  := $(BUILD)/tests/unit/fake_sysfs.o

$(BUILD)/tests/unit/%.o: ALL_CFLAGS += -iquote lib -iquote .

# What one of them needs beside the library.
$(BUILD)/tests/unit/test_utf8: $(BUILD)/tool/utf8.o
$(BUILD)/tests/unit/test_utf8: UNIT_LIBS := -ljson-c
$(BUILD)/tests/unit/test_progress: $(BUILD)/tool/progress.o

$(UNIT_PROGS): %: %.o $(UNIT_HELP) $(BUILD)/libdonard.a
	$(CC) $(CFLAGS) $(LDFLAGS) -pthread -o $@ $(filter %.o,$^) $(BUILD)/libdonard.a \
		$(LIB_LIBS) -lcmocka $(UNIT_LIBS)

.SECONDARY: $(addsuffix .o,$(UNIT_PROGS))

unit: $(UNIT_PROGS)
	@for t in $(UNIT_PROGS); do $(UNIT_RUNNER) $$t || exit 1; done

unit-asan:
	$(MAKE) BUILD=$(BUILD)/asan \
		CFLAGS='-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all' unit

unit-valgrind:
	$(MAKE) UNIT_RUNNER='valgrind -q --leak-check=full --error-exitcode=9' unit

-include $(addsuffix .d,$(UNIT_PROGS))
