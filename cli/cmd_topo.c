// SPDX-License-Identifier: Apache-2.0
/* topo: how each client reaches each region. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "donard/donard.h"
#include "errors.h"
#include "output.h"
#include "terms.h"
#include "utf8.h"

static const struct cli_column columns[] = {
	{ "client", "CLIENT", false }, { "client_bdf", "BDF", false },
	{ "region", "REGION", false }, { "route", "ROUTE", false },
	{ "bridge", "BRIDGE", false }, { "reason", "REASON", false }, { 0 },
};

/* The verdict of one pair. */
struct answer {
	struct donard_route route;
	bool known;		/* else @reason says why not */
	char reason[CLI_ERROR_BYTES];
};

/* In text, a client's route to its own memory has its own name, since it crosses no switch.  JSON has the kernel's word. */
static const char *route_text(const struct cli *cli, const struct donard_route *route)
{
	if (!route)
		return "unknown";
	if (!cli->json && route->same_device && route->route != DONARD_ROUTE_NONE)
		return "own memory";
	return donard_route_text(route->route);
}

static struct json_object *build(const struct cli *cli, const struct donard_client_info *client,
				 const struct donard_region_info *region, const struct answer *answer)
{
	const struct donard_route *route = answer->known ? &answer->route : NULL;
	struct json_object *model = json_object_new_object();

	json_object_object_add(model, "client", cli_json_string(client->name));
	json_object_object_add(model, "client_bdf", cli_json_string(client->bdf));
	json_object_object_add(model, "region", cli_json_string(region->name));
	json_object_object_add(model, "region_bdf", cli_json_string(region->bdf));
	json_object_object_add(model, "route", cli_json_string(route_text(cli, route)));
	json_object_object_add(model, "route_evidence", cli_json_string("predicted"));
	json_object_object_add(model, "bridge", cli_json_string(route ? route->bridge : ""));
	json_object_object_add(model, "distance", route ? json_object_new_int((int)route->distance) : NULL);
	json_object_object_add(model, "unlisted_bridge", route ? json_object_new_boolean(route->unlisted_bridge) : NULL);
	json_object_object_add(model, "same_device", route ? json_object_new_boolean(route->same_device) : NULL);
	json_object_object_add(model, "translated", route ? json_object_new_boolean(route->translated) : NULL);
	json_object_object_add(model, "reason", cli_json_string(answer->reason));
	return model;
}

/*
 * Does this error concern one pair alone?  So do a region that this user may not open, and a device that goes away or is bound
 * meanwhile.
 */
static bool is_of_one_pair(int rc)
{
	return rc == -EACCES || rc == -EPERM || rc == -ENODEV || rc == -EBUSY;
}

/* No client reaches a region that is being removed, so the kernel is not asked about one. */
static int probe(struct cli *cli, const struct donard_region_info *region,
		 const struct donard_client_info *client, struct answer *answer)
{
	int rc = 0;

	memset(answer, 0, sizeof(*answer));
	answer->route.size = sizeof(answer->route);
	if (region->state == DONARD_STATE_READY)
		rc = donard_route_probe(cli->ctx, region->name, client->bdf, &answer->route);
	else
		snprintf(answer->route.reason, sizeof(answer->route.reason), "the region is being taken away (%s)",
			 donard_region_state_text(region->state));
	answer->known = !rc;
	if (rc)
		cli_error(cli, answer->reason);
	else
		snprintf(answer->reason, sizeof(answer->reason), "%s", answer->route.reason);
	return is_of_one_pair(rc) ? 0 : rc;
}

static int probe_all(struct cli *cli, struct json_object *rows,
		     const struct donard_region_list *regions,
		     const struct donard_client_list *clients)
{
	struct answer answer;
	int rc;

	for (size_t c = 0; c < donard_client_count(clients); c++) {
		const struct donard_client_info *client = donard_client_get(clients, c);

		for (size_t r = 0; r < donard_region_count(regions); r++) {
			const struct donard_region_info *region = donard_region_get(regions, r);

			rc = probe(cli, region, client, &answer);
			if (rc)
				return rc;
			json_object_array_add(rows, build(cli, client, region, &answer));
		}
	}
	return 0;
}

static int load(struct cli *cli, struct json_object *rows)
{
	struct donard_region_list *regions;
	struct donard_client_list *clients;
	int rc = donard_region_list_parts(cli->ctx, 0, &regions);

	if (rc < 0)
		return rc;
	rc = donard_client_list(cli->ctx, &clients);
	if (rc >= 0) {
		rc = probe_all(cli, rows, regions, clients);
		donard_client_list_free(clients);
	}
	donard_region_list_free(regions);
	return rc;
}

static void print_text(struct json_object *rows)
{
	if (!json_object_array_length(rows)) {
		puts("No pair of a client and a region; 'donard-cli list' shows what exists.");
		return;
	}
	cli_print_table(rows, columns);
}

static int run(struct cli *cli)
{
	struct json_object *model = json_object_new_object(), *rows = json_object_new_array();
	int rc;

	json_object_object_add(model, "routes", rows);
	rc = load(cli, rows);
	if (!rc && cli->json) {
		cli_print_json(model);
		return EXIT_DONE;
	}
	if (!rc)
		print_text(rows);
	json_object_put(model);
	return rc ? cli_fail(cli, rc) : EXIT_DONE;
}

static const struct cli_option options[] = {
	{ "json", NULL, "print JSON" },
	{ 0 },
};

const struct cli_command cmd_topo = {
	.name = "topo", .arguments = "", .needs_context = true,
	.summary = "Show by which route each client reaches each region",
	.options = options, .run = run,
};
