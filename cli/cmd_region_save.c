// SPDX-License-Identifier: Apache-2.0
/*
 * region save: writes the regions that are there into the configuration, a file each.
 * Files that a person wrote are never changed.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "errors.h"
#include "options.h"
#include "output.h"
#include "regionwrite.h"
#include "udev.h"

struct save {
	struct cli *cli;
	const char *dir;
	struct region_config config;
	struct machine machine;
	struct json_object *rows;
	unsigned int undone;
	bool udev_works;	/* it has nodes to look at again */
};

static const struct cli_column columns[] = {
	{ "region", "REGION", false }, { "status", "STATUS", false }, { "name", "NAME", false },
	{ "file", "FILE", false }, { 0 },
};

static void note(struct save *save, const char *region, const char *status, const char *name,
		 const char *file, const char *message)
{
	struct json_object *row = json_object_new_object();

	cli_add_text(row, "region", region);
	cli_add_text(row, "status", status);
	cli_add_text(row, "name", name);
	cli_add_text(row, "file", file);
	cli_add_text(row, "message", message);
	json_object_array_add(save->rows, row);
	if (message[0])
		fprintf(stderr, "%s: region save: %s: %s\n", cli_name, region, message);
}

static void fail(struct save *save, const char *region, const char *name, const char *file,
		 const char *message)
{
	save->undone++;
	note(save, region, "failed", name, file, message);
}

/* Its name and its user are new to udev. */
static void tell_udev(struct save *save, const char *region)
{
	if (!strcmp(save->dir, REGIONCONF_DIR))
		save->udev_works |= cli_tell_udev(region);
}

static void write_section(struct save *save, const char *region,
			  const struct region_section *section)
{
	char path[PATH_MAX], text[512];
	int error_number = regionwrite_file(section, save->dir, path, sizeof(path));

	if (!error_number) {
		note(save, region, "saved", section->name, path, "");
		/* So that the next region finds its name taken. */
		regionconf_load_file(&save->config, path);
		tell_udev(save, region);
		return;
	}
	snprintf(text, sizeof(text), "%.300s cannot be written (%s). %s give another folder by --config", path,
		 strerror(error_number), error_number == EACCES || error_number == EPERM ? "Run as root, or" :
		 error_number == ENOENT ? "Make the folder first, or" : "Mend that, or");
	fail(save, region, section->name, path, text);
}

static void save_again(struct save *save, const char *region, const struct region_section *before,
		       struct region_section *now)
{
	char path[PATH_MAX], text[512];

	if (regionwrite_equal(before, now)) {
		note(save, region, "unchanged", before->name, before->file, "");
		return;
	}
	snprintf(now->name, sizeof(now->name), "%s", before->name);
	snprintf(path, sizeof(path), "%s/regions.d/%s.conf", save->dir, before->name);
	if (!strcmp(path, before->file) && regionwrite_owns(path)) {
		write_section(save, region, now);
		return;
	}
	snprintf(text, sizeof(text), "it differs from [%s] at %.300s:%u, which a person wrote. Edit that file: "
		 "'donard-cli info %s' shows what the region is", before->name, before->file, before->line,
		 region);
	fail(save, region, before->name, before->file, text);
}

static void save_region(struct save *save, const struct donard_region_info *region)
{
	const struct donard_candidate_info *candidate = machine_candidate_of(&save->machine, region);
	const struct region_section *before;
	struct region_section now;

	if (!candidate || region->state != DONARD_STATE_READY) {
		fail(save, region->name, "", "", candidate ? "the region is being removed" : geteuid() ?
		     "its device is not seen; run it as root, who sees all" : "its device is gone");
		return;
	}
	before = machine_section_of(&save->machine, &save->config, region);
	regionwrite_describe(&save->machine, candidate, region, &now);
	if (before) {
		save_again(save, region->name, before, &now);
		return;
	}
	regionwrite_choose_name(&save->config, save->dir, &now);
	write_section(save, region->name, &now);
}

/* "/dev/p2pmem0" means p2pmem0. */
static const char *node_name(const char *argument)
{
	return strncmp(argument, "/dev/", 5) ? argument : argument + 5;
}

static const struct donard_region_info *find_region(const struct save *save, const char *name)
{
	const struct donard_region_info *region;

	for (size_t i = 0; (region = donard_region_get(save->machine.regions, i)); i++)
		if (!strcmp(region->name, name))
			return region;
	return NULL;
}

static int finish(struct save *save)
{
	struct json_object *model = json_object_new_object();

	json_object_object_add(model, "regions", json_object_get(save->rows));
	if (!save->cli->json && json_object_array_length(save->rows))
		cli_print_table(save->rows, columns);
	if (save->cli->json)
		cli_print_json(model);
	else
		json_object_put(model);
	return save->undone ? EXIT_FAILED : EXIT_DONE;
}

static int save_all(struct save *save)
{
	const struct donard_region_info *region;
	const struct cli *cli = save->cli;
	char text[320];

	for (int i = 0; i < cli->argument_count; i++) {
		if (find_region(save, node_name(cli->arguments[i])))
			continue;
		snprintf(text, sizeof(text), "%.200s: there is no such region; 'donard-cli list' shows what exists.",
			 cli->arguments[i]);
		return cli_fail_text(cli, EXIT_FAILED, "no-such-region", text);
	}
	for (int i = 0; i < cli->argument_count; i++)
		save_region(save, find_region(save, node_name(cli->arguments[i])));
	for (size_t i = 0; !cli->argument_count &&
	     (region = donard_region_get(save->machine.regions, i)); i++)
		save_region(save, region);
	return finish(save);
}

static int run(struct cli *cli)
{
	struct save save = { .cli = cli, .dir = cli_value(cli, "config") ? : REGIONCONF_DIR };
	int rc;

	if (regionconf_load(&save.config, save.dir)) {
		rc = cli_fail_text(cli, EXIT_USAGE, "bad-configuration", save.config.error);
		regionconf_free(&save.config);
		return rc;
	}
	rc = machine_look(cli->ctx, &save.machine, true);
	if (rc) {
		rc = cli_fail(cli, rc);
	} else {
		save.rows = json_object_new_array();
		rc = save_all(&save);
		json_object_put(save.rows);
		machine_forget(&save.machine);
	}
	regionconf_free(&save.config);
	if (save.udev_works)
		cli_await_udev();
	return rc;
}

static const struct cli_option options[] = {
	{ "config", "DIR", "instead of " REGIONCONF_DIR },
	{ "json", NULL, "print JSON" },
	{ 0 },
};

const struct cli_command cmd_region_save = {
	.name = "region save", .arguments = "[REGION]...", .max_arguments = CLI_ANY_ARGUMENTS,
	.needs_context = true, .summary = "Write the regions that are there into the configuration",
	.options = options, .run = run,
};
