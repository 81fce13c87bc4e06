// SPDX-License-Identifier: Apache-2.0
/* A PCI function's files in sysfs: configuration space, BARs. */
#include "unit.h"
#include "base/pcibar.h"
#include "base/pciconfig.h"

#define RUNS		20000

static uint32_t seed;

static uint32_t draw(void)
{
	seed = seed * 1664525 + 1013904223;
	return seed >> 8;
}

/* An ordinary capability behind another one, and an extended one. */
static void capabilities(void **state)
{
	struct dnd_config config = { .count = DND_CONFIG_BYTES, .bytes = {
		[0x06] = 0x10, [0x34] = 0x50, [0x50] = 0x05, [0x51] = 0x60, [0x60] = 0x10, [0x68] = 0x5f, [0x69] = 0x29,
		[0x100] = 0x01, [0x102] = 0x02, [0x103] = 0x15, [0x150] = 0x03, [0x152] = 0x01, [0x15b] = 0x80,
	} };
	unsigned int word;
	uint32_t value;

	(void)state;
	assert_int_equal(dnd_config_capability(&config, 0x10), 0x60);
	assert_int_equal(dnd_config_capability(&config, 0x11), 0);
	assert_int_equal(dnd_config_extended(&config, 0x03, 12), 0x150);
	assert_int_equal(dnd_config_extended(&config, 0x0d, 8), 0);
	assert_true(dnd_config_16(&config, 0x68, &word));
	assert_int_equal(word, 0x295f);
	assert_true(dnd_config_32(&config, 0x158, &value));
	assert_int_equal(value, 0x80000000);
	assert_true(dnd_config_whole(&config));
	config.count = 0x15b;
	assert_int_equal(dnd_config_extended(&config, 0x03, 12), 0);
	assert_int_equal(dnd_config_extended(&config, 0x03, 11), 0x150);
	assert_false(dnd_config_32(&config, 0x158, &value));
	assert_int_equal(value, 0);
	config.bytes[0x06] = 0;
	assert_int_equal(dnd_config_capability(&config, 0x10), 0);
}

/* Lists of capabilities that go in circles, or beyond the end; whatever a broken device answers. */
static void garbage(void **state)
{
	unsigned int word;
	uint32_t value;

	(void)state;
	for (seed = 0; seed < RUNS; seed++) {
		uint32_t kept = seed, id = seed % 0x20;
		size_t at, count = draw() % (DND_CONFIG_BYTES + 1);
		/* The readable bytes end with the allocation, so that sanitizers see a read past them. */
		struct dnd_config *config = malloc(offsetof(struct dnd_config, bytes) + count);

		config->count = count;
		for (size_t i = 0; i < count; i++)
			config->bytes[i] = (uint8_t)(draw() % 3 ? draw() : 0);
		at = dnd_config_capability(config, id);
		assert_true(!at || (at >= 64 && dnd_config_16(config, at, &word) && (word & 0xff) == id));
		at = dnd_config_extended(config, id, 8);
		assert_true(!at || (at >= 0x100 && dnd_config_32(config, at + 4, &value)));
		assert_true(!dnd_config_whole(config) || count > 64);
		for (size_t beyond = 0; beyond < 4; beyond++)
			assert_false(dnd_config_32(config, count - beyond, &value));
		free(config);
		seed = kept;
	}
}

static void bars(void **state)
{
	struct dnd_bar found[DND_BARS] = { 0 };

	(void)state;
	dnd_bars_parse("0x0000000000000000 0x0000000000000000 0x0000000000000000\nno resource\n"
		       "0x0000000800000000 0x0000000803ffffff 0x000000000014220c\n"
		       "0x0000000000000000 0x00000000ffffffff 0x000000002014220c\n"
		       "0x0000000000000000 0xffffffffffffffff 0x000000000014220c", found);
	for (int i = 0; i < DND_BARS; i++)
		assert_int_equal(found[i].flags != 0, i == 2 || i == 3);
	assert_int_equal(found[2].bytes, 64 << 20);
	assert_int_equal(found[2].flags & (DND_BAR_MEM | DND_BAR_PREFETCH | DND_BAR_64),
			 DND_BAR_MEM | DND_BAR_PREFETCH | DND_BAR_64);
	assert_false(dnd_bar_unset(&found[2]));
	assert_true(dnd_bar_unset(&found[3]));
	assert_int_equal(dnd_bar_largest_of("000000000000ffc0"), 32ULL << 30);
	assert_int_equal(dnd_bar_largest_of(""), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(capabilities), cmocka_unit_test(garbage), cmocka_unit_test(bars),
	};

	return cmocka_run_group_tests_name("pciconfig", tests, NULL, NULL);
}
