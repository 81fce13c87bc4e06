// SPDX-License-Identifier: Apache-2.0
/* list: every region and every client. */
#include <stdio.h>

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

static int load_regions(struct cli *cli, struct json_object *rows)
{
	struct donard_region_list *list;
	int count = donard_region_list_parts(cli->ctx, DONARD_REGION_HOLDERS, &list);

	for (int i = 0; i < count; i++)
		json_object_array_add(rows, cli_model_region(donard_region_get(list, (size_t)i)));
	if (count >= 0)
		donard_region_list_free(list);
	return count < 0 ? count : 0;
}

static int load_clients(struct cli *cli, struct json_object *rows)
{
	struct donard_client_list *list;
	int count = donard_client_list(cli->ctx, &list);

	for (int i = 0; i < count; i++)
		json_object_array_add(rows, cli_model_client(donard_client_get(list, (size_t)i)));
	if (count >= 0)
		donard_client_list_free(list);
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

/* Of regions whose pages the kernel maps for functions that have no route to them. */
static void print_warnings(struct json_object *regions)
{
	for (size_t i = 0; i < json_object_array_length(regions); i++) {
		struct json_object *region = json_object_array_get_idx(regions, i);
		struct json_object *unrouted = json_object_object_get(region, "unrouted");
		size_t count = unrouted ? json_object_array_length(unrouted) : 0;
		unsigned long long more = cli_number_of(region, "unrouted_left_out");

		for (size_t u = 0; u < count; u++)
			printf("Warning: %s has no route to %s, and nothing in the kernel stops its transfers "
			       "(donard-cli topo says why).\n",
			       json_object_get_string(json_object_array_get_idx(unrouted, u)),
			       json_object_get_string(json_object_object_get(region, "name")));
		if (more)
			printf("Warning: %llu more functions, which do not fit into the kernel's list, have no route to %s.\n",
			       more, cli_text_of(region, "name"));
	}
}

static void print_tables(struct json_object *regions, struct json_object *clients, struct json_object *gpus)
{
	if (json_object_array_length(regions))
		cli_print_table(regions, region_columns);
	else
		puts("No regions. Add one with 'donard-cli region add'.");
	print_warnings(regions);
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
	int rc;

	json_object_object_add(model, "regions", regions);
	json_object_object_add(model, "clients", clients);
	json_object_object_add(model, "gpus", gpus);
	rc = load_regions(cli, regions);
	if (!rc)
		rc = load_clients(cli, clients);
	if (!rc)
		rc = load_gpus(cli, gpus);
	if (!rc && cli->json) {
		cli_print_json(model);
		return EXIT_DONE;
	}
	if (!rc)
		print_tables(regions, clients, gpus);
	json_object_put(model);
	return rc ? cli_fail(cli, rc) : EXIT_DONE;
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
