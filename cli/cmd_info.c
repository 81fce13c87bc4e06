// SPDX-License-Identifier: Apache-2.0
/* info: everything about one region. */
#include <stdio.h>

#include "donard/donard.h"
#include "errors.h"
#include "lib/base/printable.h"
#include "model.h"
#include "output.h"

static struct json_object *build(const struct donard_region_info *info)
{
	struct json_object *model = cli_model_region(info);
	char address[32];

	if (info->unknown[0]) {
		json_object_object_add(model, "granule", NULL);
		json_object_object_add(model, "bus_address", NULL);
		cli_add_text(model, "unknown", info->unknown);
		return model;
	}
	snprintf(address, sizeof(address), "0x%llx", (unsigned long long)info->bus_address);
	cli_add_number(model, "granule", info->granule_bytes);
	cli_add_text(model, "bus_address", address);
	return model;
}

/* A name that might be more is quoted. */
static void print_holder(const char *title, struct json_object *holder)
{
	struct json_object *device = json_object_object_get(holder, "device");
	const char *command = cli_text_of(holder, "command"), *quote = dnd_quote_of(command);
	char text[DONARD_SIZE_TEXT_BYTES], pid[32] = "no pid";

	if (cli_number_of(holder, "pid"))
		snprintf(pid, sizeof(pid), "pid %llu", (unsigned long long)cli_number_of(holder, "pid"));
	printf("%-12s %s%s%s (%s): %s, %llu pinned pages%s%s\n", title, quote, command, quote, pid,
	       cli_size_of(holder, "bytes", text), (unsigned long long)cli_number_of(holder, "pinned_pages"),
	       device ? ", dma-buf mapped for " : "", device ? json_object_get_string(device) : "");
}

/* What the list @key has no room for, and whether it is empty. */
static void print_rest(const char *key, size_t count, uint64_t left_out)
{
	if (left_out)
		printf("%-12s and %llu more\n", count ? "" : key, (unsigned long long)left_out);
	else if (!count)
		printf("%-12s none\n", key);
}

static void print_holders(struct json_object *holders, uint64_t left_out)
{
	for (size_t i = 0; i < json_object_array_length(holders); i++)
		print_holder(i ? "" : "holders", json_object_array_get_idx(holders, i));
	print_rest("holders", json_object_array_length(holders), left_out);
}

static void print_list(const char *key, struct json_object *list, uint64_t left_out)
{
	for (size_t i = 0; i < json_object_array_length(list); i++)
		printf("%-12s %s\n", i ? "" : key,
		       json_object_get_string(json_object_array_get_idx(list, i)));
	print_rest(key, json_object_array_length(list), left_out);
}

/* ---- text: a line for each field ---- */

static void show_word(const char *key, struct json_object *value, struct json_object *model)
{
	const char *word = value ? json_object_get_string(value) : "not known";

	(void)model;
	printf("%-12s %s\n", key, word[0] ? word : "-");
}

static void show_size(const char *key, struct json_object *value, struct json_object *model)
{
	char text[DONARD_SIZE_TEXT_BYTES];

	printf("%-12s %s\n", key, value ? cli_size_of(model, key, text) : "not known");
}

static void show_flag(const char *key, struct json_object *value, struct json_object *model)
{
	(void)model;
	printf("%-12s %s\n", key, json_object_get_boolean(value) ? "yes" : "no");
}

static void show_nobody(const char *key)
{
	printf("%-12s not shown: only root and the group p2pmem may see them\n", key);
}

static void show_unrouted(const char *key, struct json_object *value, struct json_object *model)
{
	if (value)
		print_list(key, value, cli_number_of(model, "unrouted_left_out"));
	else
		show_nobody(key);
}

static void show_holders(const char *key, struct json_object *value, struct json_object *model)
{
	if (value)
		print_holders(value, cli_number_of(model, "holders_left_out"));
	else
		show_nobody(key);
}

static const struct {
	const char *key;
	void (*show)(const char *key, struct json_object *value, struct json_object *model);
} fields[] = {
	{ "name", show_word }, { "kind", show_word }, { "bdf", show_word }, { "bar", show_word }, { "offset", show_word },
	{ "size", show_size }, { "available", show_size }, { "page_type", show_word }, { "pmem", show_word },
	{ "memtype", show_word }, { "folio", show_size }, { "persistent", show_flag },
	{ "pinned_importers", show_flag }, { "state", show_word }, { "holders", show_holders },
	{ "unrouted", show_unrouted }, { "granule", show_size }, { "bus_address", show_word }, { "unknown", show_word },
};

static void print_text(struct json_object *model)
{
	struct json_object *value;

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (json_object_object_get_ex(model, fields[i].key, &value))
			fields[i].show(fields[i].key, value, model);
	json_object_put(model);
}

static int run(struct cli *cli)
{
	struct donard_region_list *list;
	struct json_object *model;
	int rc = donard_region_find(cli->ctx, cli->arguments[0], &list);

	if (rc)
		return cli_fail(cli, rc);
	model = build(donard_region_get(list, 0));
	donard_region_list_free(list);
	if (cli->json)
		cli_print_json(model);
	else
		print_text(model);
	return EXIT_DONE;
}

static const struct cli_option options[] = {
	{ "json", NULL, "print JSON" },
	{ 0 },
};

const struct cli_command cmd_info = {
	.name = "info", .arguments = "REGION", .min_arguments = 1, .max_arguments = 1,
	.needs_context = true, .summary = "Show everything about one region",
	.options = options, .run = run,
};
