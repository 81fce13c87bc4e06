// SPDX-License-Identifier: Apache-2.0
/* Regions and clients as JSON objects. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "donard/donard.h"
#include "model.h"
#include "output.h"
#include "utf8.h"

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

/* A function's BDF */
static struct json_object *model_function(char *line)
{
	return strchr(line, ' ') ? NULL : cli_json_string(line);
}

/* What @model_of makes of each line; NULL, which is null, if the caller may not see them. */
static struct json_object *model_lines(const char *lines, struct json_object *(*model_of)(char *line))
{
	struct json_object *array = lines ? json_object_new_array() : NULL, *item;
	char *copy = lines ? strdup(lines) : NULL, *line, *next = NULL;

	for (line = copy ? strtok_r(copy, "\n", &next) : NULL; line; line = strtok_r(NULL, "\n", &next)) {
		item = model_of(line);
		if (item)
			json_object_array_add(array, item);
	}
	free(copy);
	return array;
}

/* And how many more there are. */
static void add_left_out(struct json_object *model, const char *key, const char *lines)
{
	if (lines)
		cli_add_number(model, key, cli_lines_left_out(lines));
	else
		json_object_object_add(model, key, NULL);
}

struct json_object *cli_model_holders(const char *holders)
{
	return model_lines(holders, model_holder);
}

struct json_object *cli_model_region(const struct donard_region_info *info)
{
	struct json_object *model = json_object_new_object();

	cli_add_text(model, "name", info->name);
	cli_add_text(model, "kind", donard_region_kind_text(info->kind));
	cli_add_text(model, "bdf", info->bdf);
	cli_add_number(model, "bar", info->bar);
	cli_add_number(model, "offset", info->offset_bytes);
	cli_add_number(model, "size", info->size_bytes);
	cli_add_number(model, "available", info->available_bytes);
	cli_add_text(model, "page_type", donard_page_type_text(info->page_type));
	cli_add_text(model, "pmem", info->pmem);
	cli_add_text(model, "memtype", donard_memtype_text(info->memtype));
	cli_add_number(model, "folio", info->folio_bytes);
	json_object_object_add(model, "persistent", json_object_new_boolean(info->persistent));
	json_object_object_add(model, "pinned_importers",
			       json_object_new_boolean(info->pinned_importers));
	cli_add_text(model, "state", donard_region_state_text(info->state));
	json_object_object_add(model, "holders", cli_model_holders(info->holders));
	add_left_out(model, "holders_left_out", info->holders);
	json_object_object_add(model, "unrouted", model_lines(info->unrouted, model_function));
	add_left_out(model, "unrouted_left_out", info->unrouted);
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
