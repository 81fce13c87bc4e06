// SPDX-License-Identifier: Apache-2.0
/* One table of fields makes JSON and text. */
#include <stdlib.h>

#include "unit.h"
#include "tool/fields.h"
#include "tool/output.h"

struct part {
	char name[8];
	uint16_t number;
};

struct result {
	uint64_t bytes, time_ns, identity;
	double seconds, rate;
	uint32_t count;
	bool flag;
	unsigned int colour;
	const char *name;
	char *message;
	struct part part, list[2];
};

static const char *colour_word(unsigned int colour)
{
	return colour ? "red" : "";
}

static const struct cli_field part_fields[] = {
	CLI_FIELD("name", CLI_TEXT, struct part, name),
	CLI_FIELD("number", CLI_COUNT, struct part, number),
	{ 0 },
};

#define FIELD(name, unit, member, ...) CLI_FIELD(name, unit, struct result, member, ##__VA_ARGS__)
static const struct cli_field group_fields[] = { FIELD("flag", CLI_FLAG, flag), { 0 } };
static const struct cli_field fields[] = {
	FIELD("bytes", CLI_BYTES, bytes),
	FIELD("time", CLI_NANOSECONDS, time_ns),
	FIELD("identity", CLI_IDENTITY, identity),
	FIELD("seconds", CLI_SECONDS, seconds),
	FIELD("rate", CLI_RATE, rate, .only_in_text = true),
	FIELD("colour", CLI_WORD, colour, .word_of = colour_word),
	FIELD("name", CLI_TEXT, name, .unless_empty = true),
	FIELD("message", CLI_MESSAGE, message, .kinds = 1U << 3),
	FIELD("part", CLI_PART, part, .fields = part_fields, .text = "{name}"),
	FIELD("list", CLI_LIST, list[0], .count_at = offsetof(struct result, count), .fields = part_fields,
	      .text = "<{name} {number}>"),
	CLI_GROUP("group", group_fields, "[{?flag}set][{!flag}unset]"),
	{ 0 },
};

static const struct result full = {
	.bytes = 2 << 20, .time_ns = 12345, .identity = 0xbeef, .seconds = 0.5, .rate = 3 << 20, .count = 2, .flag = true,
	.colour = 1, .name = "a\xff", .message = (char *)"options.block_bytes is 3", .part = { "p", 1 }, .list = { { "x", 7 }, { "y", 8 } },
}, empty = { .name = "", .message = (char *)"" };

static void in_json(const struct result *result, unsigned int kind, const char *expected)
{
	struct json_object *model = cli_fields_json(fields, result, kind);

	assert_string_equal(json_object_to_json_string_ext(model, JSON_C_TO_STRING_PLAIN), expected);
	json_object_put(model);
}

static void in_text(const struct result *result, const char *text, const char *expected)
{
	char *printed = NULL;
	size_t bytes;
	FILE *out = open_memstream(&printed, &bytes);

	cli_fields_print(out, fields, text, result);
	fclose(out);
	assert_string_equal(printed, expected);
	free(printed);
}

/* JSON has the fields in the table's order, and texts as far as they are UTF-8. */
static void json(void **state)
{
	(void)state;
	in_json(&full, 3, "{\"bytes\":2097152,\"time\":12345,\"identity\":\"000000000000beef\",\"seconds\":0.5,\"colour\":\"red\","
		"\"name\":\"a\xef\xbf\xbd\",\"message\":\"--block-size is 3\",\"part\":{\"name\":\"p\",\"number\":1},"
		"\"list\":[{\"name\":\"x\",\"number\":7},{\"name\":\"y\",\"number\":8}],\"group\":{\"flag\":true}}");
	in_json(&empty, 0, "{\"bytes\":0,\"time\":0,\"identity\":\"0000000000000000\",\"seconds\":0.0,\"colour\":\"\","
		"\"part\":{\"name\":\"\",\"number\":0},\"list\":[],\"group\":{\"flag\":false}}");
}

static void text(void **state)
{
	(void)state;
	in_text(&full, "{bytes} in {seconds}, {rate}; {time} {identity}\n", "2 MiB in 0.500 s, 3.0 MiB/s; 12 us 000000000000beef\n");
	in_text(&full, "{colour} {name}: {message} {part}{list}", "red a\xef\xbf\xbd: --block-size is 3 p<x 7><y 8>");
	in_text(&empty, "{bytes} {colour}{name}|{part}{list}", "0 B |");
}

/* A part is left out if any of its fields has no value. */
static void conditions(void **state)
{
	static const char parts[] = "[{bytes} of {rate}][{?colour}, coloured][{!seconds}; at once]{group}[ ({name})]";

	(void)state;
	in_text(&full, parts, "2 MiB of 3.0 MiB/s, colouredset (a\xef\xbf\xbd)");
	in_text(&empty, parts, "; at onceunset");
	in_text(&(struct result){ .bytes = 1, .name = "b", .message = (char *)"" }, parts, "; at onceunset (b)");
}

#define NAMES	400

/* A row with NAMES names and a reason of @length characters. */
static struct json_object *wide_rows(size_t length)
{
	struct json_object *rows = json_object_new_array(), *row = json_object_new_object(), *names = json_object_new_array();
	char reason[2048];

	memset(reason, 'r', sizeof(reason));
	reason[length] = '\0';
	for (unsigned int i = 0; i < NAMES; i++)
		json_object_array_add(names, json_object_new_string("nvme0n123"));
	json_object_object_add(row, "names", names);
	json_object_object_add(row, "reason", json_object_new_string(reason));
	json_object_array_add(rows, row);
	return rows;
}

/* A cell has room for a reason, with the remedy at its end; of a list no name is cut, since a part may be another's. */
static void wide_table(void **state)
{
	static const struct cli_column columns[] = { { "names", "NAMES", false }, { "reason", "REASON", false }, { 0 } };
	struct json_object *rows = wide_rows(1023);
	char *written = NULL, *end;
	size_t bytes;
	FILE *out = open_memstream(&written, &bytes);

	(void)state;
	cli_print_table_to(out, rows, columns);
	fclose(out);
	json_object_put(rows);
	end = strstr(written, ",...");
	assert_non_null(end);
	assert_memory_equal(end - strlen(",nvme0n123"), ",nvme0n123", strlen(",nvme0n123"));
	assert_int_equal(strspn(strchr(end, 'r'), "r"), 1023);
	free(written);
}

static size_t cells_made;

void __real_dnd_make_printable(char *text, size_t text_bytes);
void __wrap_dnd_make_printable(char *text, size_t text_bytes);
void __wrap_dnd_make_printable(char *text, size_t text_bytes)
{
	cells_made++;
	__real_dnd_make_printable(text, text_bytes);
}

/* However many rows there are, each cell is made once for its column's width and once for its line. */
static void long_table(void **state)
{
	static const struct cli_column columns[] = { { "a", "A", false }, { "b", "B", false }, { "c", "C", false }, { 0 } };
	struct json_object *rows = json_object_new_array();
	char *written = NULL;
	size_t bytes;
	FILE *out = open_memstream(&written, &bytes);

	(void)state;
	for (int i = 0; i < 500; i++)
		json_object_array_add(rows, json_object_new_object());
	cells_made = 0;
	cli_print_table_to(out, rows, columns);
	fclose(out);
	json_object_put(rows);
	assert_int_equal(cells_made, 500 * (3 + 2));	/* the last one has no width */
	free(written);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json), cmocka_unit_test(text), cmocka_unit_test(conditions), cmocka_unit_test(wide_table),
		cmocka_unit_test(long_table),
	};

	return cmocka_run_group_tests_name("fields", tests, NULL, NULL);
}
