// SPDX-License-Identifier: Apache-2.0
/*
 * region identity: how a region is known again, for the udev rule that makes its links and
 * gives it to its user.  Text output is what udev's IMPORT{program} takes.
 */
#include <stdio.h>
#include <string.h>

#include "errors.h"
#include "options.h"
#include "output.h"
#include "regionmatch.h"

/* Regions may share the memory of one candidate: then the place tells them apart. */
static void add_name(struct json_object *model, const char *key, const char *folder, const char *name,
		     uint64_t offset)
{
	char text[256];

	if (!name[0])
		return;
	snprintf(text, sizeof(text), "p2pmem/%s/%s", folder, name);
	if (offset)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "+%lluM",
			 (unsigned long long)offset >> 20);
	cli_add_text(model, key, text);
}

/* Who may use it by the configuration; nobody but root while that cannot be read. */
static void add_permissions(struct json_object *model, const struct region_section *section,
			    bool broken)
{
	char mode[8];

	snprintf(mode, sizeof(mode), "%04o", broken ? 0600 : section ? section->mode : REGIONCONF_MODE);
	cli_add_text(model, "user", section && !broken ? section->user : "root");
	cli_add_text(model, "group", broken ? "root" : section ? section->group : REGIONCONF_GROUP);
	cli_add_text(model, "mode", mode);
}

static struct json_object *build(const struct machine *machine, const struct region_config *config,
				 const struct donard_region_info *region)
{
	const struct donard_candidate_info *candidate = machine_candidate_of(machine, region);
	const struct region_section *section = NULL;
	struct json_object *model = json_object_new_object();

	if (!config->error[0])
		section = machine_section_of(machine, config, region);
	if (section)
		add_name(model, "by_name", "by-name", section->name, 0);
	if (candidate) {
		add_name(model, "by_id", "by-id", candidate->by_id, region_offset(candidate, region));
		add_name(model, "by_path", "by-path", candidate->by_path, region_offset(candidate, region));
	}
	add_permissions(model, section, config->error[0]);
	return model;
}

static void print_properties(struct json_object *model)
{
	static const char *const keys[][2] = {
		{ "by_name", "DONARD_BY_NAME" }, { "by_id", "DONARD_BY_ID" },
		{ "by_path", "DONARD_BY_PATH" }, { "user", "DONARD_USER" },
		{ "group", "DONARD_GROUP" }, { "mode", "DONARD_MODE" },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (cli_text_of(model, keys[i][0])[0])
			printf("%s=%s\n", keys[i][1], cli_text_of(model, keys[i][0]));
}

static int show(struct cli *cli, const struct region_config *config,
		const struct donard_region_info *region)
{
	struct json_object *model;
	struct machine machine;
	int rc = machine_look(cli->ctx, &machine, true);

	if (rc)
		return cli_fail(cli, rc);
	model = build(&machine, config, region);
	machine_forget(&machine);
	if (config->error[0])
		fprintf(stderr, "%s: %s Until then only root may use %s.\n", cli_name, config->error,
			region->name);
	if (cli->json) {
		cli_print_json(model);
		return EXIT_DONE;
	}
	print_properties(model);
	json_object_put(model);
	return EXIT_DONE;
}

static int run(struct cli *cli)
{
	struct donard_region_list *list;
	struct region_config config;
	int rc = donard_region_find(cli->ctx, cli->arguments[0], &list);

	if (rc)
		return cli_fail(cli, rc);
	regionconf_load(&config, cli_value(cli, "config") ? : REGIONCONF_DIR);
	rc = show(cli, &config, donard_region_get(list, 0));
	regionconf_free(&config);
	donard_region_list_free(list);
	return rc;
}

static const struct cli_option options[] = {
	{ "config", "DIR", "instead of " REGIONCONF_DIR },
	{ "json", NULL, "print JSON" },
	{ 0 },
};

const struct cli_command cmd_region_identity = {
	.name = "region identity", .arguments = "REGION", .min_arguments = 1, .max_arguments = 1,
	.needs_context = true, .summary = "Print the stable names and the permissions of a region, for udev",
	.options = options, .run = run,
};
