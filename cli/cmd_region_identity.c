// SPDX-License-Identifier: Apache-2.0
/*
 * region identity: the names by which a region is recognized after a reboot, for the udev rule that makes its links
 * and gives its node to its user.  Text output is what udev's IMPORT{program} takes.
 */
#include <stdio.h>
#include <string.h>

#include "errors.h"
#include "fields.h"
#include "options.h"
#include "output.h"
#include "regionmatch.h"

/* Followed by the region's name: makes the rule run this command again. */
#define LOOK_AGAIN	"udevadm trigger -c change /sys/class/p2pmem/"

struct identity {
	char by_name[256], by_id[256], by_path[256], mode[8];
	const char *user, *group;
};

#define FIELD(member, ...) CLI_FIELD(#member, CLI_TEXT, struct identity, member, ##__VA_ARGS__)
static const struct cli_field fields[] = {
	FIELD(by_name, .unless_empty = true), FIELD(by_id, .unless_empty = true), FIELD(by_path, .unless_empty = true),
	FIELD(user), FIELD(group), FIELD(mode), { 0 },
};

static const char properties[] =
	"[DONARD_BY_NAME={by_name}\n]"
	"[DONARD_BY_ID={by_id}\n]"
	"[DONARD_BY_PATH={by_path}\n]"
	"[DONARD_USER={user}\n]"
	"[DONARD_GROUP={group}\n]"
	"DONARD_MODE={mode}\n";

/*
 * Regions that share the memory of one candidate are told apart by their place in it.  Parts of a pool have no fixed place:
 * after a removal or a boot, a link would lead to another of them.
 */
static bool has_place(const struct machine *machine, const struct donard_region_info *region,
		      const struct donard_candidate_info *candidate)
{
	return candidate && (!region_is_pooled(region) || machine_has_all_of_pool(machine, region, candidate));
}

static void set_name(char text[256], const char *folder, const char *name, uint64_t offset)
{
	if (!name[0])
		return;
	snprintf(text, 256, "p2pmem/%s/%s", folder, name);
	if (offset)
		snprintf(text + strlen(text), 256 - strlen(text), "+%lluM", (unsigned long long)offset >> 20);
}

/* Sets the user, group and mode that the configuration gives, or root's alone if the configuration cannot be read. */
static void set_permissions(struct identity *identity, const struct region_section *section, bool broken)
{
	snprintf(identity->mode, sizeof(identity->mode), "%04o", broken ? 0600 : section ? section->mode : REGIONCONF_MODE);
	identity->user = section && !broken ? section->user : "root";
	identity->group = broken ? "root" : section ? section->group : REGIONCONF_GROUP;
}

static void identify(const struct cli *cli, const struct machine *machine, const struct region_config *config,
		     const struct donard_region_info *region, struct identity *identity)
{
	const struct donard_candidate_info *candidate = machine_candidate_of(machine, region);
	const struct region_section *section = NULL, *doubt = NULL;

	if (!config->error[0])
		section = machine_section_of(machine, region);
	if (!config->error[0] && !section)
		doubt = machine_doubt(machine, config, region);
	if (section)
		set_name(identity->by_name, "by-name", section->name, 0);
	if (has_place(machine, region, candidate) && !machine_has_twin(machine, candidate))
		set_name(identity->by_id, "by-id", candidate->by_id, region_offset(candidate, region));
	if (has_place(machine, region, candidate))
		set_name(identity->by_path, "by-path", candidate->by_path, region_offset(candidate, region));
	/* If the device is not seen, or another one has its serial number, the region's section is unknown. */
	set_permissions(identity, section, config->error[0] || doubt || (!candidate && region->kind != DONARD_KIND_PCI_BAR));
	if (doubt)
		cli_note(cli, "%s:%u: [%s] fits several functions. Use path there, then run '" LOOK_AGAIN "%s'. Until then only root "
			 "may use it.", doubt->file, doubt->line, doubt->name, region->name);
}

static void show(const struct cli *cli, const struct machine *machine, const struct region_config *config,
		 const struct donard_region_info *region)
{
	struct identity identity = { 0 };

	identify(cli, machine, config, region, &identity);
	if (config->error[0])
		cli_note(cli, "%s Then run '" LOOK_AGAIN "%s'. Until then only root may use it.", config->error, region->name);
	if (cli->json)
		cli_print_json(cli_fields_json(fields, &identity, 0));
	else
		cli_fields_print(stdout, fields, properties, &identity);
}

static int run(struct cli *cli)
{
	const char *named = cli_value(cli, "config");
	const struct donard_region_info *region;
	struct region_config config;
	struct machine machine;
	int rc = machine_look(cli->ctx, &machine, true);

	if (rc)
		return cli_fail(cli, rc);
	(named ? regionconf_load_named : regionconf_load)(&config, named ? : REGIONCONF_DIR);
	rc = machine_match(cli->ctx, &machine, &config);
	if (!rc)
		rc = machine_named(cli->ctx, &machine, cli->arguments[0], &region);
	if (!rc)
		show(cli, &machine, &config, region);
	regionconf_free(&config);
	machine_forget(&machine);
	return rc ? cli_fail(cli, rc) : EXIT_DONE;
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
