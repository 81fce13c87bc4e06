// SPDX-License-Identifier: Apache-2.0
/* The rows of a list's table are the objects of its JSON.  Results: see fields.h. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "donard/donard.h"
#include "lib/base/printable.h"
#include "output.h"
#include "terms.h"
#include "utf8.h"

#define CELL_BYTES	CLI_ERROR_BYTES	/* the longest text: a reason of the library, which ends with the remedy */

unsigned long cli_lines_left_out(const char *lines)
{
	const char *last = strrchr(lines, '\n');
	unsigned long left_out = 0;

	sscanf(last ? last + 1 : lines, "and %lu more", &left_out);
	return left_out;
}

void cli_print_json(struct json_object *model)
{
	puts(json_object_to_json_string_ext(model, JSON_C_TO_STRING_PRETTY |
					    JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(model);
}

void cli_print_json_line(struct json_object *model)
{
	puts(json_object_to_json_string_ext(model, JSON_C_TO_STRING_NOSLASHESCAPE));
	fflush(stdout);
	json_object_put(model);
}

/* "a,b", and "a,b,..." if there is no room for all: none is cut, since a part may be another's name. */
static void join(struct json_object *array, char cell[CELL_BYTES])
{
	static const char more[] = "...";
	size_t used = 0;

	cell[0] = '\0';
	for (size_t i = 0; i < json_object_array_length(array); i++) {
		const char *word = json_object_get_string(json_object_array_get_idx(array, i));

		if (used + strlen(word) + 2 + sizeof(more) > CELL_BYTES)
			word = more;
		used += (size_t)snprintf(cell + used, CELL_BYTES - used, "%s%s", i ? "," : "", word);
		if (word == more)
			return;
	}
}

static void format_cell(struct json_object *row, const struct cli_column *column,
			char cell[CELL_BYTES])
{
	struct json_object *value = NULL;
	const char *text = "";

	if (json_object_object_get_ex(row, column->key, &value))
		text = json_object_get_string(value);
	if (column->is_size && value)
		donard_format_size(cell, CELL_BYTES, (uint64_t)json_object_get_int64(value));
	else if (json_object_is_type(value, json_type_array))
		join(value, cell);
	else if (json_object_is_type(value, json_type_boolean))
		snprintf(cell, CELL_BYTES, "%s", json_object_get_boolean(value) ? "yes" : "no");
	else
		snprintf(cell, CELL_BYTES, "%s", text && text[0] ? text : "-");
	dnd_make_printable(cell, CELL_BYTES);
	if (!cell[0])
		strcpy(cell, "-");
}

static int column_width(struct json_object *rows, const struct cli_column *column)
{
	size_t width = strlen(column->title);
	char cell[CELL_BYTES];

	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		format_cell(json_object_array_get_idx(rows, i), column, cell);
		if (strlen(cell) > width)
			width = strlen(cell);
	}
	return (int)width;
}

static void print_row(FILE *out, struct json_object *row, const struct cli_column *columns, const int *widths)
{
	char cell[CELL_BYTES];

	for (size_t i = 0; columns[i].key; i++) {
		if (row)
			format_cell(row, &columns[i], cell);
		else
			snprintf(cell, sizeof(cell), "%s", columns[i].title);
		if (columns[i + 1].key)
			fprintf(out, "%-*s  ", widths[i], cell);
		else
			fprintf(out, "%s\n", cell);
	}
}

/* A large machine has tens of thousands of rows, and each width looks at all of them. */
void cli_print_table_to(FILE *out, struct json_object *rows, const struct cli_column *columns)
{
	int widths[CLI_COLUMNS_MAX];
	size_t count = 0;

	for (; columns[count].key; count++) {
		assert(count < CLI_COLUMNS_MAX);
		widths[count] = columns[count + 1].key ? column_width(rows, &columns[count]) : 0;
	}
	print_row(out, NULL, columns, widths);
	for (size_t i = 0; i < json_object_array_length(rows); i++)
		print_row(out, json_object_array_get_idx(rows, i), columns, widths);
}

void cli_print_table(struct json_object *rows, const struct cli_column *columns)
{
	cli_print_table_to(stdout, rows, columns);
}

void cli_add_text(struct json_object *model, const char *key, const char *value)
{
	json_object_object_add(model, key, cli_json_string(value));
}

void cli_add_number(struct json_object *model, const char *key, uint64_t value)
{
	json_object_object_add(model, key, json_object_new_int64((int64_t)value));
}

void cli_add_double(struct json_object *model, const char *key, double value)
{
	struct json_object *number = isfinite(value) ? json_object_new_double(value) : NULL;

	if (number)
		json_object_set_serializer(number, json_object_double_to_json_string, (void *)"%.9g",
					   NULL);
	json_object_object_add(model, key, number);
}
