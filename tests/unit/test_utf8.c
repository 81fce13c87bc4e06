// SPDX-License-Identifier: Apache-2.0
/* The command's JSON is UTF-8 whatever bytes a file name has. */
#include <stdlib.h>
#include <string.h>

#include "unit.h"
#include "tool/utf8.h"

static void becomes(const char *text, const char *expected)
{
	char *valid = cli_to_utf8(text);

	assert_non_null(valid);
	assert_string_equal(valid, expected);
	free(valid);
}

/* "a?b" for each byte: seven bits stay, no byte above them is a character alone. */
static void test_each_byte(void **state)
{
	char text[4] = "a?b";

	(void)state;
	for (int byte = 1; byte < 256; byte++) {
		text[1] = (char)byte;
		becomes(text, byte < 0x80 ? text : "a\xef\xbf\xbd" "b");
	}
}

/* Of all pairs of bytes, only those of U+0080 to U+07FF are kept. */
static void test_each_pair(void **state)
{
	char text[3] = { 0 };

	(void)state;
	for (int lead = 0x80; lead < 256; lead++)
		for (int next = 0x80; next < 256; next++) {
			text[0] = (char)lead;
			text[1] = (char)next;
			becomes(text, lead >= 0xc2 && lead <= 0xdf && next <= 0xbf ? text :
				"\xef\xbf\xbd\xef\xbf\xbd");
		}
}

static void test_characters(void **state)
{
	static const char *const good[] = {
		"", "plain", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xef\xbf\xbd",
		"\xed\x9f\xbf", "\xee\x80\x80", "\xf4\x8f\xbf\xbf", "\x01\x7f",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		becomes(good[i], good[i]);
}

/* Overlong, surrogate, past the last plane, cut off: no byte of them is a character. */
static void test_no_characters(void **state)
{
	static const struct {
		const char *text;
		size_t replaced;
	} bad[] = {
		{ "\xc0\x80", 2 }, { "\xe0\x9f\xbf", 3 }, { "\xf0\x8f\xbf\xbf", 4 },
		{ "\xed\xa0\x80", 3 }, { "\xf4\x90\x80\x80", 4 }, { "\xf5\x80\x80\x80", 4 },
		{ "\xe2\x82", 2 }, { "\xf0\x9f\x98", 3 },
	};
	char expected[16];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		expected[0] = '\0';
		for (size_t n = 0; n < bad[i].replaced; n++)
			strcat(expected, "\xef\xbf\xbd");
		becomes(bad[i].text, expected);
	}
}

/* The string as it leaves, with quotes and escapes. */
static void test_json_string(void **state)
{
	struct json_object *string = cli_json_string("a\"b\\\n\xff");

	(void)state;
	assert_string_equal(json_object_to_json_string(string), "\"a\\\"b\\\\\\n\xef\xbf\xbd\"");
	json_object_put(string);
	string = cli_json_string(NULL);
	assert_string_equal(json_object_to_json_string(string), "\"\"");
	json_object_put(string);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_byte),
		cmocka_unit_test(test_each_pair),
		cmocka_unit_test(test_characters),
		cmocka_unit_test(test_no_characters),
		cmocka_unit_test(test_json_string),
	};

	return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
