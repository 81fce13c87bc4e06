// SPDX-License-Identifier: Apache-2.0
/* Regions and clients as JSON objects. */
#include <stdlib.h>
#include <string.h>

#include "donard/donard.h"
#include "lib/base/printable.h"
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

/* Cuts the importing device, "0000:01:00.0", off the end of the line; "" if there is none. */
static const char *cut_device(char *line)
{
	char *space = strrchr(line, ' ');

	if (!space || !strchr(space, ':'))
		return "";
	*space = '\0';
	return space + 1;
}

/* "pid comm bytes pinned_pages [device]", where comm may hold spaces */
bool cli_parse_holder(char *line, struct cli_holder *holder)
{
	char *command;

	holder->pid = (uint64_t)strtol(line, &command, 10);
	if (command == line || *command != ' ')
		return false;
	holder->command = ++command;
	holder->device = cut_device(command);
	if (!cut_number(command, &holder->pinned_pages) || !cut_number(command, &holder->bytes))
		return false;
	holder->quote = dnd_quote_of(command);
	return true;
}

bool cli_is_function(const char *line)
{
	return !strchr(line, ' ');
}

void cli_each_line(const char *lines, void (*see)(void *user, char *line), void *user)
{
	char *copy = lines ? strdup(lines) : NULL, *line, *next = NULL;

	for (line = copy ? strtok_r(copy, "\n", &next) : NULL; line; line = strtok_r(NULL, "\n", &next))
		see(user, line);
	free(copy);
}

const struct cli_field cli_holder_fields[] = {
	CLI_FIELD("pid", CLI_COUNT, struct cli_holder, pid),
	CLI_FIELD("command", CLI_TEXT, struct cli_holder, command),
	CLI_FIELD("quote", CLI_TEXT, struct cli_holder, quote, .only_in_text = true),
	CLI_FIELD("bytes", CLI_BYTES, struct cli_holder, bytes),
	CLI_FIELD("pinned_pages", CLI_COUNT, struct cli_holder, pinned_pages),
	CLI_FIELD("device", CLI_TEXT, struct cli_holder, device, .unless_empty = true),
	{ 0 },
};

#define FIELD(name, unit, member, ...) CLI_FIELD(name, unit, struct donard_region_info, member, ##__VA_ARGS__)
const struct cli_field cli_region_fields[] = {
	FIELD("name", CLI_TEXT, name),
	FIELD("kind", CLI_WORD, kind, .word_of = donard_region_kind_text),
	FIELD("bdf", CLI_TEXT, bdf),
	FIELD("bar", CLI_COUNT, bar),
	FIELD("offset", CLI_COUNT, offset_bytes),
	FIELD("size", CLI_BYTES, size_bytes),
	FIELD("available", CLI_BYTES, available_bytes),
	FIELD("page_type", CLI_WORD, page_type, .word_of = donard_page_type_text),
	FIELD("pmem", CLI_TEXT, pmem),
	FIELD("memtype", CLI_WORD, memtype, .word_of = donard_memtype_text),
	FIELD("folio", CLI_BYTES, folio_bytes),
	FIELD("persistent", CLI_FLAG, persistent),
	FIELD("pinned_importers", CLI_FLAG, pinned_importers),
	FIELD("state", CLI_WORD, state, .word_of = donard_region_state_text),
	{ 0 },
};

static void add_holder(void *array, char *line)
{
	struct cli_holder holder;

	if (cli_parse_holder(line, &holder))
		json_object_array_add(array, cli_fields_json(cli_holder_fields, &holder, 0));
}

static void add_function(void *array, char *line)
{
	if (cli_is_function(line))
		json_object_array_add(array, cli_json_string(line));
}

/* Adds a list, and how many more entries there are.  Both are null if the caller may not see them. */
static void add_list(struct json_object *model, const char *key, const char *left_out_key, const char *lines,
		     void (*add)(void *array, char *line))
{
	struct json_object *array = lines ? json_object_new_array() : NULL;

	cli_each_line(lines, add, array);
	json_object_object_add(model, key, array);
	if (lines)
		cli_add_number(model, left_out_key, cli_lines_left_out(lines));
	else
		json_object_object_add(model, left_out_key, NULL);
}

struct json_object *cli_model_region(const struct donard_region_info *info)
{
	struct json_object *model = cli_fields_json(cli_region_fields, info, 0);

	add_list(model, "holders", "holders_left_out", info->holders, add_holder);
	add_list(model, "unrouted", "unrouted_left_out", info->unrouted, add_function);
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
