// SPDX-License-Identifier: Apache-2.0
/* See fields.h. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "donard/donard.h"
#include "fields.h"
#include "output.h"
#include "terms.h"
#include "utf8.h"

/* ---- values ---- */

static const void *place_of(const struct cli_field *field, const void *result)
{
	return (const char *)result + field->at;
}

uint64_t cli_field_number(const struct cli_field *field, const void *result)
{
	const void *at = place_of(field, result);

	switch (field->bytes) {
	case 1:
		return *(const uint8_t *)at;
	case 2:
		return *(const uint16_t *)at;
	case 4:
		return *(const uint32_t *)at;
	default:
		return *(const uint64_t *)at;
	}
}

static double double_of(const struct cli_field *field, const void *result)
{
	return *(const double *)place_of(field, result);
}

/* The text of a field that is a text in JSON, too; @room may hold it. */
static const char *text_of(const struct cli_field *field, const void *result, char room[CLI_ERROR_BYTES])
{
	const void *at = place_of(field, result);
	const char *text = field->type == CLI_POINTER ? *(const char *const *)at ?: "" : at;

	switch (field->unit) {
	case CLI_WORD:
		return field->word_of((unsigned int)cli_field_number(field, result));
	case CLI_IDENTITY:
		snprintf(room, CLI_ERROR_BYTES, "%016" PRIx64, cli_field_number(field, result));
		return room;
	case CLI_ADDRESS:
		snprintf(room, CLI_ERROR_BYTES, "0x%" PRIx64, cli_field_number(field, result));
		return room;
	case CLI_MESSAGE:
		return cli_in_options(text, room, CLI_ERROR_BYTES);
	default:
		return text;
	}
}

static bool is_text(const struct cli_field *field)
{
	return field->unit == CLI_WORD || field->unit == CLI_TEXT || field->unit == CLI_MESSAGE;
}

/* Neither 0, false nor "". */
static bool has_value(const struct cli_field *field, const void *result)
{
	char room[CLI_ERROR_BYTES];

	if (is_text(field))
		return text_of(field, result, room)[0];
	return field->type == CLI_DOUBLE ? double_of(field, result) != 0 : cli_field_number(field, result) != 0;
}

/* How many elements a list has. */
static uint32_t length_of(const struct cli_field *field, const void *result)
{
	return *(const uint32_t *)((const char *)result + field->count_at);
}

static const void *element_of(const struct cli_field *field, const void *result, uint32_t index)
{
	return (const char *)place_of(field, result) + index * field->bytes;
}

/* ---- JSON ---- */

static struct json_object *list_of(const struct cli_field *field, const void *result)
{
	struct json_object *list = json_object_new_array();

	for (uint32_t i = 0; i < length_of(field, result); i++)
		json_object_array_add(list, cli_fields_json(field->fields, element_of(field, result, i), 0));
	return list;
}

static struct json_object *set_of(const struct cli_field *field, uint64_t bits)
{
	struct json_object *set = json_object_new_array();

	for (unsigned int bit = 1; bit; bit <<= 1)
		if (bits & bit)
			json_object_array_add(set, cli_json_string(field->word_of(bit)));
	return set;
}

static void add(struct json_object *model, const struct cli_field *field, const void *result)
{
	char room[CLI_ERROR_BYTES];

	switch (field->unit) {
	case CLI_COUNT:
	case CLI_BYTES:
	case CLI_NANOSECONDS:
		cli_add_number(model, field->name, cli_field_number(field, result));
		break;
	case CLI_SECONDS:
	case CLI_RATE:
		cli_add_double(model, field->name, double_of(field, result));
		break;
	case CLI_FLAG:
		json_object_object_add(model, field->name, json_object_new_boolean(cli_field_number(field, result) != 0));
		break;
	case CLI_PART:
		json_object_object_add(model, field->name, cli_fields_json(field->fields, place_of(field, result), 0));
		break;
	case CLI_LIST:
		json_object_object_add(model, field->name, list_of(field, result));
		break;
	case CLI_SET:
		json_object_object_add(model, field->name, set_of(field, cli_field_number(field, result)));
		break;
	default:
		cli_add_text(model, field->name, text_of(field, result, room));
	}
}

void cli_fields_add(struct json_object *model, const struct cli_field *fields, const void *result, unsigned int kind)
{
	for (const struct cli_field *field = fields; field->name; field++)
		if (!field->only_in_text && (!field->kinds || field->kinds & 1U << kind) &&
		    (!field->unless_empty || has_value(field, result)))
			add(model, field, result);
}

struct json_object *cli_fields_json(const struct cli_field *fields, const void *result, unsigned int kind)
{
	struct json_object *model = json_object_new_object();

	cli_fields_add(model, fields, result, kind);
	return model;
}

/* ---- text ---- */

static void print_set(FILE *out, const struct cli_field *field, uint64_t bits)
{
	const char *between = "";

	for (unsigned int bit = 1; bit; bit <<= 1) {
		if (!(bits & bit))
			continue;
		fprintf(out, "%s%s", between, field->word_of(bit));
		between = field->text;
	}
}

static void print_value(FILE *out, const struct cli_field *field, const void *result)
{
	char room[CLI_ERROR_BYTES];

	switch (field->unit) {
	case CLI_COUNT:
		fprintf(out, "%" PRIu64, cli_field_number(field, result));
		break;
	case CLI_BYTES:
		fputs(donard_format_size(room, DONARD_SIZE_TEXT_BYTES, cli_field_number(field, result)), out);
		break;
	case CLI_NANOSECONDS:
		fprintf(out, "%" PRIu64 " us", cli_field_number(field, result) / 1000);
		break;
	case CLI_SECONDS:
		fprintf(out, "%.3f s", double_of(field, result));
		break;
	case CLI_RATE:
		fprintf(out, "%.1f MiB/s", double_of(field, result) / 1048576);
		break;
	case CLI_FLAG:
		break;
	case CLI_SET:
		print_set(out, field, cli_field_number(field, result));
		break;
	case CLI_PART:
		cli_fields_print(out, field->fields, field->text, place_of(field, result));
		break;
	case CLI_LIST:
		for (uint32_t i = 0; i < length_of(field, result); i++)
			cli_fields_print(out, field->fields, field->text, element_of(field, result, i));
		break;
	default:
		cli_print_utf8(out, text_of(field, result, room));
	}
}

/* The field whose name is at @name, up to a brace.  A text that names none is wrong. */
static const struct cli_field *field_at(const struct cli_field *fields, const char *name)
{
	size_t length = strcspn(name, "}");

	while (fields->name && (strncmp(fields->name, name, length) || fields->name[length]))
		fields++;
	assert(fields->name);
	return fields;
}

/* Do all fields named from @at to @end allow it? */
static bool is_wanted(const struct cli_field *fields, const char *at, const char *end, const void *result)
{
	bool wanted = true, opposite;

	while ((at = memchr(at, '{', (size_t)(end - at)))) {
		opposite = at[1] == '!';
		at += 1 + strspn(at + 1, "?!");
		wanted &= has_value(field_at(fields, at), result) != opposite;
	}
	return wanted;
}

void cli_fields_print(FILE *out, const struct cli_field *fields, const char *text, const void *result)
{
	for (const char *at = text; *at; at++) {
		if (*at == '[' && !is_wanted(fields, at, strchr(at, ']'), result)) {
			at = strchr(at, ']');
		} else if (*at == '{') {
			if (at[1] != '?' && at[1] != '!')
				print_value(out, field_at(fields, at + 1), result);
			at = strchr(at, '}');
		} else if (*at != '[' && *at != ']') {
			fputc(*at, out);
		}
	}
}
