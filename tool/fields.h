/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints a result, which is a C struct.  One table says which fields it has, what they are called and in which unit; JSON
 * and text are both made from it.
 */
#ifndef DONARD_FIELDS_H
#define DONARD_FIELDS_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What a field is, and how the text shows it.  JSON has plain numbers, true and false, and words. */
enum cli_unit {
	CLI_COUNT,	/* 4096 */
	CLI_BYTES,	/* 4 KiB */
	CLI_NANOSECONDS,	/* 4 us */
	CLI_SECONDS,	/* 0.004 s */
	CLI_RATE,	/* bytes per second: 4.0 MiB/s */
	CLI_FLAG,	/* JSON: true or false; of the text, only a condition */
	CLI_IDENTITY,	/* 16 hexadecimal digits */
	CLI_ADDRESS,	/* 0x8000000 */
	CLI_WORD,	/* what @word_of says of the number */
	CLI_SET,	/* what it says of each bit; JSON: an array, text: with @text between the words */
	CLI_TEXT,
	CLI_MESSAGE,	/* a text of the library: names of options become those of the command line */
	CLI_PART,	/* an object, with @fields of its own */
	CLI_LIST,	/* an array of such objects */
};

/* What C calls it: the compiler says so. */
enum cli_type {
	CLI_INTEGER, CLI_DOUBLE, CLI_ARRAY, CLI_POINTER,
};

struct cli_field {
	const char *name;	/* in JSON, and in braces in a text; NULL ends the table */
	enum cli_unit unit;
	enum cli_type type;
	size_t at, bytes;	/* its place in the struct; of a list, that of the first element */
	const char *(*word_of)(unsigned int number);
	const struct cli_field *fields;	/* of a part or of each element of a list */
	const char *text;		/* theirs */
	size_t count_at;	/* of a list: the place of a uint32_t, the number of its elements */
	unsigned int kinds;	/* the kinds of result whose JSON has this field, a bit each; 0: all */
	bool unless_empty;	/* JSON has it only if it is not "" */
	bool only_in_text;
};

/* To _Generic an array is a pointer. */
#define CLI_TYPE_OF(member) \
	(__builtin_types_compatible_p(__typeof__(member), char *) ? CLI_POINTER : \
	 _Generic(member, double: CLI_DOUBLE, char *: CLI_ARRAY, const char *: CLI_POINTER, default: CLI_INTEGER))
#define CLI_AT(of, member)	.at = offsetof(of, member), .bytes = sizeof(((of *)0)->member)
#define CLI_FIELD(json_name, in, of, member, ...) \
	{ .name = json_name, .unit = in, .type = CLI_TYPE_OF(((of *)0)->member), CLI_AT(of, member), ##__VA_ARGS__ }
/* An object whose fields lie in the same struct */
#define CLI_GROUP(json_name, its_fields, its_text) \
	{ .name = json_name, .unit = CLI_PART, .fields = its_fields, .text = its_text }

/* A count, bytes, a flag or the like, as the number that it is. */
uint64_t cli_field_number(const struct cli_field *field, const void *result);
/* @kind: of result, for fields that not all have; else 0. */
struct json_object *cli_fields_json(const struct cli_field *fields, const void *result, unsigned int kind);
/* Adds the fields to a model that has others. */
void cli_fields_add(struct json_object *model, const struct cli_field *fields, const void *result, unsigned int kind);
/*
 * Prints @text with each "{name}" replaced by that field.  A part in brackets is left out if any field named in it is 0, false
 * or "".  "{?name}" prints nothing, and so is a condition alone; "{!name}" is the opposite one.  A part or a list
 * prints its own text, for each of its elements.
 */
void cli_fields_print(FILE *out, const struct cli_field *fields, const char *text, const void *result);

#endif /* DONARD_FIELDS_H */
