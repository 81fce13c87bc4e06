// SPDX-License-Identifier: Apache-2.0
/* region candidates: what could be a region, and the command that makes it one. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "errors.h"
#include "output.h"
#include "regionmatch.h"

#define NAMES_BYTES	(256 * sizeof("p2pmem255"))	/* of all regions that the module has room for */

static const struct cli_column columns[] = {
	{ "kind", "KIND", false }, { "bdf", "BDF", false }, { "bar", "BAR", false },
	{ "size", "SIZE", true }, { "driver", "DRIVER", false }, { "serial", "SERIAL", false },
	{ "path", "PATH", false }, { "region", "REGION", false }, { 0 },
};

static const char *command_of(const struct donard_candidate_info *info, char text[128])
{
	if (info->kind == DONARD_KIND_PCI_BAR)
		snprintf(text, 128, "donard-cli region add --kind pci-bar --device %s --bar %u", info->bdf, info->bar);
	else
		snprintf(text, 128, "donard-cli region add --kind %s --device %s", donard_region_kind_text(info->kind), info->bdf);
	return text;
}

/* A BAR may hold several regions.  No name is truncated, since a part of it may be another region's name. */
static const char *regions_of(const struct machine *machine, const struct donard_candidate_info *candidate,
			      char names[NAMES_BYTES])
{
	const struct donard_region_info *region;

	names[0] = '\0';
	for (size_t i = 0; (region = donard_region_get(machine->regions, i)); i++)
		if (machine_candidate_of(machine, region) == candidate)
			snprintf(names + strlen(names), NAMES_BYTES - strlen(names), "%s%s", names[0] ? " " : "", region->name);
	return names;
}

static bool has_ready_region(const struct machine *machine, const struct donard_candidate_info *candidate)
{
	const struct donard_region_info *region;

	for (size_t i = 0; (region = donard_region_get(machine->regions, i)); i++)
		if (region->state == DONARD_STATE_READY && machine_candidate_of(machine, region) == candidate)
			return true;
	return false;
}

/* The values are null if only the device could report them, and it did not. */
static void add_place(struct json_object *model, const struct donard_candidate_info *info)
{
	static const char *const keys[] = { "bar", "offset", "size" };
	const uint64_t values[] = { info->bar, info->offset_bytes, info->size_bytes };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (info->size_bytes)
			cli_add_number(model, keys[i], values[i]);
		else
			json_object_object_add(model, keys[i], NULL);
}

/* A CMB that is not enabled reports only that it exists. */
static const char *note_of(const struct donard_candidate_info *info)
{
	if (info->obstacle[0])
		return info->obstacle;
	return info->size_bytes ? "" : "its size and place show once this is typed; it is refused if the buffer takes no data";
}

static struct json_object *build(const struct machine *machine,
				 const struct donard_candidate_info *info)
{
	struct json_object *model = json_object_new_object();
	char text[128], names[NAMES_BYTES];

	cli_add_text(model, "kind", donard_region_kind_text(info->kind));
	cli_add_text(model, "bdf", info->bdf);
	add_place(model, info);
	cli_add_text(model, "driver", info->driver);
	cli_add_text(model, "serial", info->serial);
	cli_add_text(model, "path", info->path);
	cli_add_text(model, "slot", info->slot);
	cli_add_text(model, "by_id", info->by_id);
	cli_add_text(model, "by_path", info->by_path);
	cli_add_text(model, "region", regions_of(machine, info, names));
	cli_add_text(model, "obstacle", info->obstacle);
	cli_add_text(model, "note", note_of(info));
	cli_add_text(model, "command", command_of(info, text));
	return model;
}

static void print_leaving(const struct machine *machine, const struct donard_candidate_info *candidate)
{
	const struct donard_region_info *region;

	for (size_t i = 0; (region = donard_region_get(machine->regions, i)); i++)
		if (machine_candidate_of(machine, region) == candidate)
			printf("# %s is %s: until its holders let go ('donard-cli info %s' names them), this may wait or be "
			       "refused\n", region->name, donard_region_state_text(region->state), region->name);
}

/* Prints, for each candidate without a ready region, the command that makes it one and what has to be done before. */
static void print_commands(const struct machine *machine)
{
	const struct donard_candidate_info *info;
	char text[128];

	for (size_t i = 0; (info = donard_candidate_get(machine->candidates, i)); i++) {
		if (has_ready_region(machine, info))
			continue;
		putchar('\n');
		if (note_of(info)[0])
			printf("# %s\n", note_of(info));
		print_leaving(machine, info);
		puts(command_of(info, text));
	}
}

static void print(const struct cli *cli, const struct machine *machine)
{
	struct json_object *model = json_object_new_object(), *rows = json_object_new_array();
	const struct donard_candidate_info *info;

	json_object_object_add(model, "candidates", rows);
	for (size_t i = 0; (info = donard_candidate_get(machine->candidates, i)); i++)
		json_object_array_add(rows, build(machine, info));
	if (cli->json) {
		cli_print_json(model);
		return;
	}
	if (json_object_array_length(rows))
		cli_print_table(rows, columns);
	else
		puts("No candidates: no function has a memory BAR of 2 MiB or more, a CMB or a PMR.");
	print_commands(machine);
	json_object_put(model);
}

static int run(struct cli *cli)
{
	struct machine machine;
	int rc = machine_look(cli->ctx, &machine, false);

	if (rc)
		return cli_fail(cli, rc);
	if (geteuid())
		fprintf(stderr, "%s: only root sees Persistent Memory Regions and the serial numbers of "
			"PCI functions.\n", cli_name);
	else if (!machine.regions)
		fprintf(stderr, "%s: Persistent Memory Regions show only while the module is loaded: "
			"modprobe p2pmem.\n", cli_name);
	print(cli, &machine);
	machine_forget(&machine);
	return EXIT_DONE;
}

static const struct cli_option options[] = {
	{ "json", NULL, "print JSON" },
	{ 0 },
};

const struct cli_command cmd_region_candidates = {
	.name = "region candidates", .arguments = "", .needs_context = true,
	.summary = "List the memory that could be a region, and how to offer it",
	.options = options, .run = run,
};
