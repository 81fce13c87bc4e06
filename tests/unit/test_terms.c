// SPDX-License-Identifier: Apache-2.0
/* The library's errors in the words of the command line. */
#include <string.h>

#include "unit.h"
#include "tool/terms.h"

static void becomes(const char *text, const char *expected)
{
	char out[CLI_ERROR_BYTES];

	assert_string_equal(cli_in_options(text, out, sizeof(out)), expected);
}

static void test_terms(void **state)
{
	(void)state;
	becomes("or pass ALLOW_BOUNCE.", "or pass --allow-bounce.");
	becomes("options.block_bytes is at most 1 GiB.", "--block-size is at most 1 GiB.");
	becomes("Use a smaller options.length_bytes or options.offset_bytes.", "Use a smaller --size or --offset.");
	becomes("VERIFY", "--verify");
	becomes("Format it (FORMAT).", "Format it (--format).");
	becomes("Create it (DONARD_FILE_CREATE), or name another.", "Create it (fallocate -l SIZE), or name another.");
	becomes("", "");
}

static void test_calls(void **state)
{
	(void)state;
	becomes("no such device. donard_client_list() shows the drives.", "no such device. 'donard-cli list' shows the drives.");
	becomes("Add it: donard_region_add(gpu-nvidia, 0000:03:00.0)",
		"Add it: donard-cli region add --kind gpu-nvidia --device 0000:03:00.0");
	becomes("Add one with donard_region_add(), or not.", "Add one with 'donard-cli region add', or not.");
	becomes("pages (donard_region_set_page_type(p2pmem0, generic)), or pass ALLOW_BOUNCE.",
		"pages ('donard-cli region set p2pmem0 --page-type generic'), or pass --allow-bounce.");
}

/* A member without an option gets none, and a command gets only its own options. */
static void test_options_of_members(void **state)
{
	static const struct cli_option of_copy[] = {
		{ "size", "SIZE", "" }, { "block-size", "SIZE", "" }, { "force-bounce", NULL, "" }, { 0 },
	};
	static const struct cli_option of_add[] = {
		{ "length", "SIZE", "" }, { "backing", "DRIVE", "" }, { "device", "BDF", "" }, { 0 },
	};
	const struct cli_command copy = { .options = of_copy }, add = { .options = of_add }, bare = { .options = NULL };

	(void)state;
	assert_string_equal(cli_option_of(&copy, "options.block_bytes"), "--block-size");
	assert_string_equal(cli_option_of(&copy, "FORCE_BOUNCE"), "--force-bounce");
	assert_string_equal(cli_option_of(&copy, "options.length_bytes"), "--size");
	assert_string_equal(cli_option_of(&add, "options.length_bytes"), "--length");
	assert_string_equal(cli_option_of(&bare, "options.length_bytes"), "");
	assert_string_equal(cli_option_of(&add, "backing"), "--backing");
	assert_string_equal(cli_option_of(&add, "options.bdf"), "--device");
	assert_string_equal(cli_option_of(&copy, "backing"), "");
	assert_string_equal(cli_option_of(&copy, "DONARD_FILE_CREATE"), "");
	assert_string_equal(cli_option_of(&copy, "options.block"), "");
	assert_string_equal(cli_option_of(&copy, ""), "");
}

/* For who has options of their own. */
static void test_calls_alone(void **state)
{
	static const struct cli_term own[] = { { "options.depth", "depth=" }, { NULL, NULL } };
	static const char text[] = "donard_region_list(), or ALLOW_BOUNCE (options.depth)";
	char out[128];

	(void)state;
	assert_string_equal(cli_in_words(text, own, out, sizeof(out)), "'donard-cli list', or ALLOW_BOUNCE (depth=)");
}

/* A call's text that is truncated or too short. */
static void test_parts_of_calls(void **state)
{
	(void)state;
	becomes("donard_region_add(gpu-nvidia, 0000:0", "donard_region_add(gpu-nvidia, 0000:0");
	becomes("donard_region_add(gpu-nvidia)", "donard-cli region add --kind gpu-nvidia --device ");
	becomes("donard_region_list", "donard_region_list");
	becomes("my_donard_region_list()", "my_donard_region_list()");
}

/* In a file's name such words are followed by something else, or have no end. */
static void test_names_like_calls(void **state)
{
	(void)state;
	becomes("/x donard_region_add(: no such file (or folder)", "/x donard_region_add(: no such file (or folder)");
	becomes("/x donard_region_add(/y: it is open (by another)", "/x donard_region_add(/y: it is open (by another)");
	becomes("donard_region_add(a, b: donard_region_list() shows it", "donard_region_add(a, b: 'donard-cli list' shows it");
}

/* Words that the user typed are repeated as they are, even if only a part of the text before was a name. */
static void test_names_given(void **state)
{
	char *const words[] = { "donard-cli", "copy", "/x VERIFY", "--via=/y (options.via", "VERIFY", NULL };

	(void)state;
	cli_names_given(words);
	becomes("/x VERIFY: it cannot be read. Leave VERIFY out", "/x VERIFY: it cannot be read. Leave --verify out");
	becomes("no /y (options.via) is there (options.via)", "no /y (options.via) is there (--via)");
	cli_names_given(NULL);
	becomes("/x VERIFY: no", "/x --verify: no");
}

/* No part of a longer word, or of a file's name, is replaced. */
static void test_parts_of_words(void **state)
{
	(void)state;
	becomes("/mnt/VERIFY: no", "/mnt/VERIFY: no");
	becomes("/mnt/VERIFY_ME: no", "/mnt/VERIFY_ME: no");
	becomes("DONARD_COPY_VERIFY", "DONARD_COPY_VERIFY");
	becomes("my.options.via", "my.options.via");
	becomes("options.viaduct", "options.viaduct");
}

/* However little room there is, the text ends with a NUL. */
static void test_room(void **state)
{
	char out[8];

	(void)state;
	for (size_t bytes = 1; bytes <= sizeof(out); bytes++) {
		memset(out, 'x', sizeof(out));
		cli_in_options("a ALLOW_BOUNCE", out, bytes);
		assert_int_equal(strlen(out), bytes - 1);
		assert_memory_equal(out, "a --allow", bytes - 1);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_terms),
		cmocka_unit_test(test_options_of_members),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_calls_alone),
		cmocka_unit_test(test_parts_of_calls),
		cmocka_unit_test(test_names_like_calls),
		cmocka_unit_test(test_names_given),
		cmocka_unit_test(test_parts_of_words),
		cmocka_unit_test(test_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
