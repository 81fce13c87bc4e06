// SPDX-License-Identifier: Apache-2.0
/* One table of fields makes JSON and text. */
#include <stdlib.h>

#include "unit.h"
#include "tool/fields.h"

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

/* In the table's order; of texts what is UTF-8. */
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

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(json), cmocka_unit_test(text), cmocka_unit_test(conditions) };

	return cmocka_run_group_tests_name("fields", tests, NULL, NULL);
}
