// SPDX-License-Identifier: Apache-2.0
/* No name of others reaches a terminal as more than a name. */
#include <stdio.h>
#include <string.h>

#include "unit.h"
#include "base/printable.h"

static void becomes(const char *raw, const char *expected)
{
	char text[64];

	snprintf(text, sizeof(text), "%s", raw);
	dnd_make_printable(text, sizeof(text));
	assert_string_equal(text, expected);
	dnd_make_printable(text, sizeof(text));	/* once is enough */
	assert_string_equal(text, expected);
}

static void test_each_byte(void **state)
{
	char text[4] = "a?b", escaped[16];

	(void)state;
	for (int byte = 1; byte < 256; byte++) {
		text[1] = (char)byte;
		snprintf(escaped, sizeof(escaped), "a\\x%02xb", byte);
		becomes(text, byte >= ' ' && byte < 0x7f ? text : escaped);
	}
}

static void test_characters(void **state)
{
	(void)state;
	becomes("", "");
	becomes("M\xc3\xbcller \xe2\x82\xac \xf0\x9f\x98\x80", "M\xc3\xbcller \xe2\x82\xac \xf0\x9f\x98\x80");
	becomes("\xc2\x9b" "2J", "\\xc2\\x9b2J");			/* a control of 8 bits */
	becomes("a\xe2\x80\xae" "b", "a\\xe2\\x80\\xaeb");		/* what follows runs to the left */
	becomes("a\xe2\x80\xa8" "b", "a\\xe2\\x80\\xa8b");		/* a separator of lines */
	becomes("a\xe2\x81\xa7" "b", "a\\xe2\\x81\\xa7b");
	becomes("\xed\xa0\x80", "\\xed\\xa0\\x80");			/* a surrogate */
	becomes("\xc3", "\\xc3");					/* cut off */
}

static void test_lines(void **state)
{
	char text[32] = "a\tb\nc\rd\x1b";

	(void)state;
	dnd_make_lines_printable(text, sizeof(text));
	assert_string_equal(text, "a\tb\nc\\x0dd\\x1b");
}

/* Text that does not fit is cut between characters and escapes, and nothing is written past the room. */
static void test_no_room(void **state)
{
	char text[16];

	(void)state;
	for (size_t room = 1; room < sizeof(text); room++) {
		memset(text, '!', sizeof(text));
		snprintf(text, room, "\x01\xe2\x82\xac\x02z");
		dnd_make_printable(text, room);
		assert_true(strlen(text) < room);
		if (room == 12)
			assert_string_equal(text, "\\x01\xe2\x82\xac\\x02");
		for (size_t at = room; at < sizeof(text); at++)
			assert_int_equal(text[at], '!');
	}
}

static void test_quotes(void **state)
{
	(void)state;
	assert_string_equal(dnd_quote_of("fio"), "");
	assert_string_equal(dnd_quote_of("kworker/u8:1"), "");
	assert_string_equal(dnd_quote_of("systemd (pid 1)"), "\"");
	assert_string_equal(dnd_quote_of("a,b"), "\"");
	assert_string_equal(dnd_quote_of(""), "\"");
}

static void shortens(const char *text, size_t room, const char *expected)
{
	char line[512];

	snprintf(line, sizeof(line), "%s", text);
	dnd_shorten(line, room);
	assert_string_equal(line, expected);
}

/* Names give way, and the sentence about them stays. */
static void test_shorten(void **state)
{
	char name[256], text[1024], seen[1024];

	(void)state;
	shortens("short: it stays. So does this.", 31, "short: it stays. So does this.");
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	memcpy(name, "/first", 6);
	memcpy(name + sizeof(name) - 6, "/last", 5);
	for (size_t room = 128; room < 300; room++) {
		snprintf(seen, sizeof(seen), "%s: the cause. The remedy.", name);
		dnd_shorten(seen, room);
		assert_true(strlen(seen) < room);
		assert_true(strlen(seen) >= (room < 280 ? room - 4 : 279));
		assert_memory_equal(seen, "/first", 6);
		assert_non_null(strstr(seen, "/last: the cause. The remedy."));
		assert_int_equal(strstr(seen, "...") != NULL, room <= 279);
	}
	/* Two names share what there is. */
	snprintf(text, sizeof(text), "%s: it is a link to %s, which does not exist. Remove it.", name, name);
	dnd_shorten(text, 200);
	assert_true(strlen(text) < 200);
	assert_non_null(strstr(text, "/last: it is a link to /first"));
	assert_non_null(strstr(text, "/last, which does not exist. Remove it."));
	/* No character is halved. */
	for (size_t at = 0; at + 3 <= sizeof(name) - 1; at += 3)
		memcpy(name + at, "\xe2\x82\xac", 3);
	name[sizeof(name) - 1] = '\0';
	for (size_t room = 100; room < 250; room++) {
		snprintf(text, sizeof(text), "%s", name);
		dnd_shorten(text, room);
		assert_true(strlen(text) < room);
		memcpy(seen, text, sizeof(seen));
		dnd_make_printable(seen, sizeof(seen));
		assert_string_equal(seen, text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_byte), cmocka_unit_test(test_characters), cmocka_unit_test(test_lines),
		cmocka_unit_test(test_no_room), cmocka_unit_test(test_shorten), cmocka_unit_test(test_quotes),
	};

	return cmocka_run_group_tests_name("printable", tests, NULL, NULL);
}
