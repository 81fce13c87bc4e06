// SPDX-License-Identifier: Apache-2.0
/* Models are JSON objects; tables are printed from the same objects. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

#define CELL_BYTES 192

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

static void join(struct json_object *array, char cell[CELL_BYTES])
{
	size_t used = 0;

	cell[0] = '\0';
	for (size_t i = 0; i < json_object_array_length(array) && used < CELL_BYTES; i++)
		used += (size_t)snprintf(cell + used, CELL_BYTES - used, "%s%s", i ? "," : "",
			json_object_get_string(json_object_array_get_idx(array, i)));
}

static void format_cell(struct json_object *row, const struct cli_column *column,
			char cell[CELL_BYTES])
{
	struct json_object *value = NULL;
	const char *text = "";

	if (json_object_object_get_ex(row, column->key, &value))
		text = json_object_get_string(value);
	if (column->is_size)
		donard_format_size(cell, CELL_BYTES, (uint64_t)json_object_get_int64(value));
	else if (json_object_is_type(value, json_type_array))
		join(value, cell);
	else if (json_object_is_type(value, json_type_boolean))
		snprintf(cell, CELL_BYTES, "%s", json_object_get_boolean(value) ? "yes" : "no");
	else
		snprintf(cell, CELL_BYTES, "%s", text && text[0] ? text : "-");
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

static void print_row(struct json_object *rows, struct json_object *row,
		      const struct cli_column *columns)
{
	char cell[CELL_BYTES];

	for (size_t i = 0; columns[i].key; i++) {
		if (row)
			format_cell(row, &columns[i], cell);
		else
			snprintf(cell, sizeof(cell), "%s", columns[i].title);
		if (columns[i + 1].key)
			printf("%-*s  ", column_width(rows, &columns[i]), cell);
		else
			puts(cell);
	}
}

void cli_print_table(struct json_object *rows, const struct cli_column *columns)
{
	print_row(rows, NULL, columns);
	for (size_t i = 0; i < json_object_array_length(rows); i++)
		print_row(rows, json_object_array_get_idx(rows, i), columns);
}

void cli_add_text(struct json_object *model, const char *key, const char *value)
{
	json_object_object_add(model, key, cli_json_string(value));
}

void cli_add_number(struct json_object *model, const char *key, uint64_t value)
{
	json_object_object_add(model, key, json_object_new_int64((int64_t)value));
}

const char *cli_text_of(struct json_object *model, const char *key)
{
	const char *text = json_object_get_string(json_object_object_get(model, key));

	return text ? text : "";
}

uint64_t cli_number_of(struct json_object *model, const char *key)
{
	return (uint64_t)json_object_get_int64(json_object_object_get(model, key));
}

bool cli_true(struct json_object *model, const char *key)
{
	return json_object_get_boolean(json_object_object_get(model, key));
}

const char *cli_size_of(struct json_object *model, const char *key, char text[DONARD_SIZE_TEXT_BYTES])
{
	return donard_format_size(text, DONARD_SIZE_TEXT_BYTES, cli_number_of(model, key));
}

/* Cuts the last word, a number, off @text. */
static bool cut_number(char *text, uint64_t *number)
{
	char *space = strrchr(text, ' '), *end;

	if (!space || space[1] < '0' || space[1] > '9')
		return false;
	*number = strtoull(space + 1, &end, 10);
	*space = '\0';
	return !*end;
}

/* Cuts the importing device, "0000:01:00.0", off the end of the line; NULL if there is none. */
static const char *cut_device(char *line)
{
	char *space = strrchr(line, ' ');

	if (!space || !strchr(space, ':'))
		return NULL;
	*space = '\0';
	return space + 1;
}

/* "pid comm bytes pinned_pages [device]", where comm may hold spaces */
static struct json_object *model_holder(char *line)
{
	struct json_object *model;
	uint64_t bytes, pages;
	const char *device;
	char *command;
	long pid = strtol(line, &command, 10);

	if (command == line || *command != ' ')
		return NULL;
	command++;
	device = cut_device(command);
	if (!cut_number(command, &pages) || !cut_number(command, &bytes))
		return NULL;
	model = json_object_new_object();
	cli_add_number(model, "pid", (uint64_t)pid);
	cli_add_text(model, "command", command);
	cli_add_number(model, "bytes", bytes);
	cli_add_number(model, "pinned_pages", pages);
	if (device)
		cli_add_text(model, "device", device);
	return model;
}

/* NULL, which JSON shows as null, if the caller may not see them. */
static struct json_object *model_holders(const char *lines)
{
	struct json_object *holders = json_object_new_array(), *holder;
	char *copy, *line, *next = NULL;

	if (!lines) {
		json_object_put(holders);
		return NULL;
	}
	copy = strdup(lines);
	for (line = copy ? strtok_r(copy, "\n", &next) : NULL; line;
	     line = strtok_r(NULL, "\n", &next)) {
		holder = model_holder(line);
		if (holder)
			json_object_array_add(holders, holder);
	}
	free(copy);
	return holders;
}

static struct json_object *model_lines(const char *lines)
{
	struct json_object *array = json_object_new_array();
	char *copy = strdup(lines ? lines : ""), *line, *next = NULL;

	for (line = copy ? strtok_r(copy, "\n", &next) : NULL; line;
	     line = strtok_r(NULL, "\n", &next))
		json_object_array_add(array, cli_json_string(line));
	free(copy);
	return array;
}

struct json_object *cli_model_region(const struct donard_region_info *info)
{
	struct json_object *model = json_object_new_object();

	cli_add_text(model, "name", info->name);
	cli_add_text(model, "kind", donard_region_kind_text(info->kind));
	cli_add_text(model, "bdf", info->bdf);
	cli_add_number(model, "bar", info->bar);
	cli_add_number(model, "size", info->size_bytes);
	cli_add_number(model, "available", info->available_bytes);
	cli_add_text(model, "page_type", donard_page_type_text(info->page_type));
	cli_add_text(model, "memtype", donard_memtype_text(info->memtype));
	json_object_object_add(model, "persistent", json_object_new_boolean(info->persistent));
	json_object_object_add(model, "pinned_importers",
			       json_object_new_boolean(info->pinned_importers));
	cli_add_text(model, "state", donard_region_state_text(info->state));
	json_object_object_add(model, "holders", model_holders(info->holders));
	json_object_object_add(model, "unrouted", model_lines(info->unrouted));
	return model;
}

struct json_object *cli_model_client(const struct donard_client_info *info)
{
	struct json_object *model = json_object_new_object(), *names = json_object_new_array();

	cli_add_text(model, "name", info->name);
	cli_add_text(model, "type", donard_client_type_text(info->type));
	cli_add_text(model, "bdf", info->bdf);
	cli_add_text(model, "model", info->model);
	cli_add_text(model, "serial", info->serial);
	for (size_t i = 0; i < info->namespace_count; i++)
		json_object_array_add(names, cli_json_string(info->namespaces[i]));
	json_object_object_add(model, "namespaces", names);
	return model;
}
