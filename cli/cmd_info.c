// SPDX-License-Identifier: Apache-2.0
/* info: everything about one region. */
#include <stdio.h>

#include "donard/donard.h"
#include "errors.h"
#include "fields.h"
#include "model.h"
#include "output.h"

#define FIELD(name, unit, member) CLI_FIELD(name, unit, struct donard_region_info, member)
static const struct cli_field node_fields[] = {
	FIELD("granule", CLI_BYTES, granule_bytes), FIELD("bus_address", CLI_ADDRESS, bus_address), { 0 },
};

/* Why the node could not be asked. */
static const struct cli_field unknown_fields[] = { FIELD("unknown", CLI_MESSAGE, unknown), { 0 } };

static struct json_object *build(const struct donard_region_info *info)
{
	struct json_object *model = cli_model_region(info);

	if (!info->unknown[0]) {
		cli_fields_add(model, node_fields, info, 0);
		return model;
	}
	json_object_object_add(model, "granule", NULL);
	json_object_object_add(model, "bus_address", NULL);
	cli_fields_add(model, unknown_fields, info, 0);
	return model;
}

/* ---- text: a line for each field ---- */

#define WORD(label, name) label "[{" name "}][{!" name "}-]\n"
#define FLAG(label, name) label "[{?" name "}yes][{!" name "}no]\n"
static const char region_text[] =
	WORD("name         ", "name")
	WORD("kind         ", "kind")
	WORD("bdf          ", "bdf")
	"bar          {bar}\n"
	"offset       {offset}\n"
	"size         {size}\n"
	"available    {available}\n"
	WORD("page_type    ", "page_type")
	WORD("pmem         ", "pmem")
	WORD("memtype      ", "memtype")
	"folio        {folio}\n"
	FLAG("persistent   ", "persistent")
	FLAG("pinned_importers ", "pinned_importers")
	WORD("state        ", "state");

static const char node_text[] =
	"granule      {granule}\n"
	"bus_address  {bus_address}\n";

static const char unknown_text[] =
	"granule      not known\n"
	"bus_address  not known\n"
	"unknown      {unknown}\n";

/* A list of lines: only the first has a title. */
struct lines {
	const char *title;
	size_t count;
};

static void print_holder(void *user, char *line)
{
	struct lines *lines = user;
	struct cli_holder holder;

	if (!cli_parse_holder(line, &holder))
		return;
	printf("%-12s ", lines->count++ ? "" : lines->title);
	cli_fields_print(stdout, cli_holder_fields, "{quote}{command}{quote} ([{?pid}pid {pid}][{!pid}no pid]): {bytes}, "
			 "{pinned_pages} pinned pages[, dma-buf mapped for {device}]\n", &holder);
}

static void print_function(void *user, char *line)
{
	struct lines *lines = user;

	if (cli_is_function(line))
		printf("%-12s %s\n", lines->count++ ? "" : lines->title, line);
}

/* Prints the lines, and how many more there are that the kernel had no room for. */
static void print_list(const char *title, const char *from, void (*print)(void *user, char *line))
{
	struct lines lines = { .title = title };
	unsigned long more = from ? cli_lines_left_out(from) : 0;

	cli_each_line(from, print, &lines);
	if (!from)
		printf("%-12s not shown: only root and the region's group may see them\n", title);
	else if (more)
		printf("%-12s and %lu more\n", lines.count ? "" : title, more);
	else if (!lines.count)
		printf("%-12s none\n", title);
}

static void print_text(const struct donard_region_info *info)
{
	cli_fields_print(stdout, cli_region_fields, region_text, info);
	print_list("holders", info->holders, print_holder);
	print_list("unrouted", info->unrouted, print_function);
	if (info->unknown[0])
		cli_fields_print(stdout, unknown_fields, unknown_text, info);
	else
		cli_fields_print(stdout, node_fields, node_text, info);
}

static int run(struct cli *cli)
{
	struct donard_region_list *list;
	const struct donard_region_info *info;
	int rc = donard_region_find(cli->ctx, cli->arguments[0], &list);

	if (rc)
		return cli_fail(cli, rc);
	info = donard_region_get(list, 0);
	if (cli->json)
		cli_print_json(build(info));
	else
		print_text(info);
	donard_region_list_free(list);
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
