// SPDX-License-Identifier: Apache-2.0
#include "unit.h"
#include "base/base.h"
#include "comma.h"

/* strcasecmp() depends on the program's locale: in a Turkish one "MIB" is not "MiB". */
int __wrap_strcasecmp(const char *a, const char *b);
int __wrap_strcasecmp(const char *a, const char *b)
{
	fail_msg("'%s' and '%s' are compared by the program's locale", a, b);
	return 0;
}

static void accepts(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} cases[] = {
		{ "0", 0 }, { "1", 1 }, { "4096", 4096 }, { "4096B", 4096 }, { "64K", 65536 },
		{ "64KiB", 65536 }, { "64k", 65536 }, { "64kB", 64000 }, { "1M", 1048576 },
		{ "1MiB", 1048576 }, { "1MB", 1000000 }, { "2G", 2147483648ULL },
		{ "1T", 1ULL << 40 }, { "010", 10 }, { "0x1000", 4096 }, { "0x10K", 16384 },
		{ "9223372036854775807", INT64_MAX }, { "64MIB", 64 << 20 }, { "1gIb", 1 << 30 },
	};
	uint64_t bytes;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(donard_parse_size(cases[i].text, &bytes), 0);
		assert_int_equal(bytes, cases[i].bytes);
	}
}

static void refuses(void **state)
{
	static const char *const garbage[] = { "", "-1", "+1", " 1", "1 ", "K", "1X", "1.5G", "0x",
					       "1KK", "1 M", "abc", "0xK" };
	static const char *const large[] = { "9223372036854775808", "18446744073709551616",
					     "99999999T", "99999999999999999999999" };
	uint64_t bytes;

	(void)state;
	assert_int_equal(donard_parse_size(NULL, &bytes), -EINVAL);
	for (size_t i = 0; i < sizeof(garbage) / sizeof(garbage[0]); i++)
		assert_int_equal(donard_parse_size(garbage[i], &bytes), -EINVAL);
	for (size_t i = 0; i < sizeof(large) / sizeof(large[0]); i++)
		assert_int_equal(donard_parse_size(large[i], &bytes), -ERANGE);
}

static void formats(void **state)
{
	char text[DONARD_SIZE_TEXT_BYTES];

	(void)state;
	assert_string_equal(donard_format_size(text, sizeof(text), 0), "0 B");
	assert_string_equal(donard_format_size(text, sizeof(text), 1023), "1023 B");
	assert_string_equal(donard_format_size(text, sizeof(text), 268435456), "256 MiB");
	assert_string_equal(donard_format_size(text, sizeof(text), 1536), "1.50 KiB (1536 B)");
	assert_string_equal(donard_format_size(text, sizeof(text), 268435457), "256.00 MiB (268435457 B)");
	assert_string_equal(donard_format_size(text, sizeof(text), UINT64_MAX),
			    "16.00 EiB (18446744073709551615 B)");
	assert_string_equal(donard_format_size(text, sizeof(text), 3ULL << 40), "3 TiB");
	assert_string_equal(donard_format_size(text, sizeof(text), 1ULL << 63), "8 EiB");
	assert_string_equal(donard_format_size(text, sizeof(text), 1025), "1.00 KiB (1025 B)");
	assert_string_equal(donard_format_size(text, sizeof(text), 1100), "1.07 KiB (1100 B)");
	assert_string_equal(donard_format_size(text, sizeof(text), 2047), "2.00 KiB (2047 B)");
	assert_string_equal(donard_format_size(text, sizeof(text), (5ULL << 58) + 1), "1.25 EiB (1441151880758558721 B)");
}

static void addresses(void **state)
{
	char text[DONARD_BDF_BYTES];
	struct dnd_bdf bdf;

	(void)state;
	assert_int_equal(dnd_bdf_parse("0001:03:1f.7", &bdf), 0);
	dnd_bdf_format(text, bdf);
	assert_string_equal(text, "0001:03:1f.7");
	assert_int_equal(dnd_bdf_parse("03:00.0", &bdf), 0);
	assert_int_equal(bdf.bus, 3);
	assert_int_equal(dnd_bdf_parse("03:00", &bdf), -EINVAL);
	assert_int_equal(dnd_bdf_parse("0000:03:20.0", &bdf), -EINVAL);
	assert_int_equal(dnd_bdf_parse("0000:03:00.8", &bdf), -EINVAL);
	assert_int_equal(dnd_bdf_parse("0000:03:00.0x", &bdf), -EINVAL);
	assert_int_equal(dnd_bdf_parse("\n0000:03:00.0", &bdf), -EINVAL);
	assert_int_equal(dnd_bdf_parse("0x00:03:00.0", &bdf), -EINVAL);
	assert_int_equal(dnd_bdf_parse("0000:03: 0.0", &bdf), -EINVAL);
	assert_true(dnd_is_bdf("0000:03:1F.0"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accepts), cmocka_unit_test(refuses), cmocka_unit_test(formats),
		cmocka_unit_test_setup_teardown(formats, comma_setup, comma_teardown), cmocka_unit_test(addresses),
	};

	return cmocka_run_group_tests_name("size", tests, NULL, NULL);
}
