// SPDX-License-Identifier: Apache-2.0
/* list: every region and every client. */
#include <stdio.h>
#include <string.h>

#include "donard/donard.h"
#include "errors.h"
#include "gpu.h"
#include "model.h"
#include "output.h"

static const struct cli_column region_columns[] = {
	{ "name", "REGION", false }, { "kind", "KIND", false }, { "bdf", "BDF", false },
	{ "bar", "BAR", false }, { "size", "SIZE", true }, { "available", "AVAILABLE", true },
	{ "page_type", "PAGES", false }, { "memtype", "MEMTYPE", false },
	{ "folio", "FOLIO", true },
	{ "persistent", "PERSISTENT", false }, { "state", "STATE", false }, { 0 },
};

static const struct cli_column client_columns[] = {
	{ "name", "CLIENT", false }, { "type", "TYPE", false }, { "bdf", "BDF", false },
	{ "model", "MODEL", false }, { "serial", "SERIAL", false },
	{ "namespaces", "NAMESPACES", false }, { 0 },
};

static int load_regions(struct cli *cli, struct json_object *rows, struct donard_region_list **list)
{
	int count = donard_region_list_parts(cli->ctx, DONARD_REGION_HOLDERS | DONARD_REGION_UNROUTED, list);

	for (int i = 0; i < count; i++)
		json_object_array_add(rows, cli_model_region(donard_region_get(*list, (size_t)i)));
	return count < 0 ? count : 0;
}

static int load_clients(struct cli *cli, struct json_object *rows, struct donard_client_list **list)
{
	int count = donard_client_list(cli->ctx, list);

	for (int i = 0; i < count; i++)
		json_object_array_add(rows, cli_model_client(donard_client_get(*list, (size_t)i)));
	return count < 0 ? count : 0;
}

static int load_gpus(struct cli *cli, struct json_object *rows)
{
	struct donard_gpu_list *list;
	int count = donard_gpu_list(cli->ctx, &list);

	for (int i = 0; i < count; i++)
		json_object_array_add(rows, cli_model_gpu(donard_gpu_get(list, (size_t)i)));
	if (count >= 0)
		donard_gpu_list_free(list);
	return count < 0 ? count : 0;
}

struct warning {
	const char *region;
	const struct donard_client_list *clients;	/* those that topo knows; the kernel names functions of other drivers, too */
};

static bool is_client(const struct donard_client_list *clients, const char *bdf)
{
	const struct donard_client_info *info;

	for (size_t i = 0; (info = donard_client_get(clients, i)); i++)
		if (!strcmp(info->bdf, bdf))
			return true;
	return false;
}

static void print_warning(void *user, char *line)
{
	const struct warning *warning = user;

	if (cli_is_function(line))
		printf("Warning: %s has no route to %s, and nothing in the kernel stops its transfers (%s).\n", line, warning->region,
		       is_client(warning->clients, line) ? "donard-cli topo says why" : "it has no driver that donard uses");
}

/* Warns of regions whose pages the kernel maps for functions that have no route to them. */
static void print_warnings(const struct donard_region_list *regions, const struct donard_client_list *clients)
{
	const struct donard_region_info *info;
	unsigned long more;

	for (size_t i = 0; (info = donard_region_get(regions, i)); i++) {
		struct warning warning = { .region = info->name, .clients = clients };

		cli_each_line(info->unrouted, print_warning, &warning);
		more = info->unrouted ? cli_lines_left_out(info->unrouted) : 0;
		if (more)
			printf("Warning: %lu more functions, which do not fit into the kernel's list, have no route to %s.\n",
			       more, info->name);
	}
}

struct lists {
	struct donard_region_list *regions;
	struct donard_client_list *clients;
};

static void print_tables(const struct lists *lists, struct json_object *regions, struct json_object *clients,
			 struct json_object *gpus)
{
	if (json_object_array_length(regions))
		cli_print_table(regions, region_columns);
	else
		puts("No regions. Add one with 'donard-cli region add'.");
	print_warnings(lists->regions, lists->clients);
	putchar('\n');
	if (json_object_array_length(clients))
		cli_print_table(clients, client_columns);
	else
		puts("No clients: no NVMe controller, RDMA NIC or GPU was found.");
	if (json_object_array_length(gpus)) {
		putchar('\n');
		cli_print_gpus(gpus);
	}
}

static int run(struct cli *cli)
{
	struct json_object *model = json_object_new_object();
	struct json_object *regions = json_object_new_array(), *clients = json_object_new_array();
	struct json_object *gpus = json_object_new_array();
	struct lists lists = { 0 };
	int rc;

	json_object_object_add(model, "regions", regions);
	json_object_object_add(model, "clients", clients);
	json_object_object_add(model, "gpus", gpus);
	rc = load_regions(cli, regions, &lists.regions);
	if (!rc)
		rc = load_clients(cli, clients, &lists.clients);
	if (!rc)
		rc = load_gpus(cli, gpus);
	if (rc)
		rc = cli_fail(cli, rc);
	else if (cli->json)
		cli_print_json(json_object_get(model));
	else
		print_tables(&lists, regions, clients, gpus);
	donard_client_list_free(lists.clients);
	donard_region_list_free(lists.regions);
	json_object_put(model);
	return rc;
}

static const struct cli_option options[] = {
	{ "json", NULL, "print JSON" },
	{ 0 },
};

const struct cli_command cmd_list = {
	.name = "list", .arguments = "", .needs_context = true,
	.summary = "List the regions of device memory, and the NVMe drives, RDMA NICs and GPUs",
	.options = options, .run = run,
};
