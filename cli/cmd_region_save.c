// SPDX-License-Identifier: Apache-2.0
/*
 * region save: writes the regions that are there into the configuration, a file each.
 * Files that a person wrote are never changed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "errors.h"
#include "options.h"
#include "output.h"
#include "owndriver.h"
#include "regionwrite.h"
#include "udev.h"

struct save {
	struct cli *cli;
	const char *dir;
	struct region_config config;
	struct machine machine;
	struct json_object *rows;
	unsigned int undone;
	bool udev_works;	/* udev was told of at least one node */
};

static const struct cli_column columns[] = {
	{ "region", "REGION", false }, { "status", "STATUS", false }, { "name", "NAME", false },
	{ "file", "FILE", false }, { 0 },
};

static void note(struct save *save, const char *region, const char *status, const char *name,
		 const char *file, const char *message)
{
	struct json_object *row = json_object_new_object();
	char text[CLI_TEXT_BYTES];

	cli_add_text(row, "region", region);
	cli_add_text(row, "status", status);
	cli_add_text(row, "name", name);
	cli_add_text(row, "file", file);
	cli_add_text(row, "message", cli_printable(message, text));
	json_object_array_add(save->rows, row);
	if (message[0])
		cli_note(save->cli, "%s: %s", region, message);
}

static void fail(struct save *save, const char *region, const char *name, const char *file,
		 const char *message)
{
	save->undone++;
	note(save, region, "failed", name, file, message);
}

static bool is_udevs_folder(const char *dir)
{
	struct stat ours, udevs;

	return !stat(dir, &ours) && !stat(REGIONCONF_DIR, &udevs) && ours.st_dev == udevs.st_dev && ours.st_ino == udevs.st_ino;
}

/* Tells udev of the region's name and user, which it did not know. */
static void tell_udev(struct save *save, const char *region)
{
	if (is_udevs_folder(save->dir))
		save->udev_works |= cli_tell_udev(region);
}

/*
 * udev leaves a node to root alone if the region's section cannot be read or found.  An administrator may have chosen that,
 * too.
 */
static bool is_roots_alone(const struct stat *node)
{
	return !node->st_uid && !node->st_gid && (node->st_mode & 0777) == 0600;
}

/*
 * A region without its link never got the user, group and mode of its section, so its node's present ones are no change that
 * somebody made: the section's are kept.  Returns true if udev has to handle the node again.
 */
static bool heed_users(struct save *save, const char *region, const struct region_section *before, struct region_section *now)
{
	char path[64];
	struct stat node;

	snprintf(path, sizeof(path), "/dev/%s", region);
	if (!is_udevs_folder(save->dir) || !cli_udev_runs() || stat(path, &node) || !is_roots_alone(&node) ||
	    section_is_linked(before, &node))
		return false;
	strcpy(now->user, before->user);
	strcpy(now->group, before->group);
	now->mode = before->mode;
	return true;
}

/*
 * Keeps the section's user or group if udev did not give the node to it.  If root is to have the node, the note says what to
 * edit.
 */
static void keep_passed_over(const struct save *save, const char *region, const struct region_section *before,
			     struct region_section *now)
{
	char path[64], who[SECTION_WHO_BYTES];
	struct stat node;

	snprintf(path, sizeof(path), "/dev/%s", region);
	if (!is_udevs_folder(save->dir) || !cli_udev_runs() || stat(path, &node) || !section_is_passed_over(before, &node, who))
		return;
	if (section_user_is_passed_over(before, &node))
		strcpy(now->user, before->user);
	if (section_group_is_passed_over(before, &node))
		strcpy(now->group, before->group);
	cli_note(save->cli, "%s: its node is root's, and [%s] has the %s, which stays: udev of systemd 258 and 259 gives "
		 "nodes to system users and groups alone. If root is to have it, edit %s:%u.", region, before->name, who,
		 before->file, before->line);
}

/* Without a section it is unknown whether an administrator or udev left the region to root alone. */
static const char *say_roots_alone(const struct save *save, const struct region_section *section)
{
	bool alone = !strcmp(section->user, "root") && !strcmp(section->group, "root") && section->mode == 0600;

	return alone && is_udevs_folder(save->dir) && cli_udev_runs() ?
	       "root alone may use it, as now. If udev made it so because the configuration was wrong, take user, group and mode "
	       "out of the file that is written now, and run 'donard-cli region apply'" : "";
}

/* The unbind of the device's own driver does not outlast a boot. */
static const char *say_own_driver(const struct donard_region_info *info, char text[256])
{
	char driver[OWNDRIVER_BYTES];

	text[0] = '\0';
	if (info->kind == DONARD_KIND_PCI_BAR && owndriver_find(info->bdf, driver))
		snprintf(text, 256, "the driver %s may have its device first when the machine boots, and then the region does "
			 "not come back. docs/install.md, Keeping a device free, says what helps", driver);
	return text;
}

static void write_section(struct save *save, const struct donard_region_info *info,
			  const struct region_section *section)
{
	char path[PATH_MAX], text[512], why[REGIONWRITE_WHY_BYTES], own[256];
	const char *region = info->name, *alone = say_roots_alone(save, section);
	int error_number = regionwrite_file(section, save->dir, path, sizeof(path), why);

	if (!error_number) {
		say_own_driver(info, own);
		snprintf(text, sizeof(text), "%s%s%s", alone, alone[0] && own[0] ? ". And " : "", own);
		note(save, region, "saved", section->name, path, text);
		tell_udev(save, region);
		return;
	}
	if (why[0])
		snprintf(text, sizeof(text), "it would not come back as it is: %s", why);
	else
		snprintf(text, sizeof(text), "%.300s cannot be written (%s). %s give another folder by --config", path,
		 strerror(error_number), error_number == EACCES || error_number == EPERM ? "Run as root, or" :
		 error_number == ENOENT ? "Make the folder first, or" : "Mend that, or");
	fail(save, region, section->name, path, text);
}

static void save_again(struct save *save, const struct donard_region_info *info, const struct region_section *before,
		       struct region_section *now)
{
	const char *region = info->name;
	char path[PATH_MAX], text[512];
	bool is_new_to_udev;

	regionwrite_keep(before, info, now);
	is_new_to_udev = heed_users(save, region, before, now);
	if (!is_new_to_udev)
		keep_passed_over(save, region, before, now);
	if (regionwrite_equal(before, now)) {
		note(save, region, "unchanged", before->name, before->file, "");
		if (is_new_to_udev)
			tell_udev(save, region);
		return;
	}
	snprintf(now->name, sizeof(now->name), "%s", before->name);
	snprintf(path, sizeof(path), "%s/regions.d/%s.conf", save->dir, before->name);
	if (!strcmp(path, before->file) && regionwrite_owns(path)) {
		write_section(save, info, now);
		return;
	}
	snprintf(text, sizeof(text), "it differs from [%s] at %.300s:%u, which a person wrote, or made a link. Edit that file: "
		 "'donard-cli info %s' shows what the region is", before->name, before->file, before->line,
		 region);
	fail(save, region, before->name, before->file, text);
}

static void save_region(struct save *save, const struct donard_region_info *region)
{
	const struct donard_candidate_info *candidate = machine_candidate_of(&save->machine, region);
	const struct region_section *before;
	char why[REGIONWRITE_WHY_BYTES];
	struct region_section now;

	if (!candidate || region->state != DONARD_STATE_READY) {
		fail(save, region->name, "", "", candidate ? "the region is being removed" : geteuid() ?
		     "its device is not seen; run it as root, who sees all" : "its device is gone");
		return;
	}
	if (candidate->busy) {
		fail(save, region->name, "", "", candidate->obstacle);
		return;
	}
	before = machine_section_of(&save->machine, region);
	if (!regionwrite_describe(&save->machine, candidate, region, &now, why)) {
		fail(save, region->name, before ? before->name : "", before ? before->file : "", why);
		return;
	}
	if (before) {
		save_again(save, region, before, &now);
		return;
	}
	regionwrite_choose_name(&save->config, save->dir, candidate, &now);
	write_section(save, region, &now);
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

/* Several arguments may mean one region. */
static int mark_asked(const struct save *save, bool *asked)
{
	const struct donard_region_info *region, *listed;
	const struct cli *cli = save->cli;
	int rc;

	for (int i = 0; i < cli->argument_count; i++) {
		rc = machine_named(cli->ctx, &save->machine, cli->arguments[i], &region);
		if (rc)
			return rc;
		for (size_t r = 0; (listed = donard_region_get(save->machine.regions, r)); r++)
			asked[r] |= listed == region;
	}
	return 0;
}

static int save_all(struct save *save)
{
	const struct donard_region_info *region;
	const struct cli *cli = save->cli;
	bool *asked = calloc(donard_region_count(save->machine.regions) + 1, sizeof(bool));
	int rc = asked ? mark_asked(save, asked) : donard_fail(cli->ctx, -ENOMEM, "no-memory", "there is no memory left");

	if (!rc)
		rc = machine_match(cli->ctx, &save->machine, &save->config);
	for (size_t i = 0; !rc && (region = donard_region_get(save->machine.regions, i)); i++)
		if (asked[i] || !cli->argument_count)
			save_region(save, region);
	free(asked);
	return rc ? cli_fail(cli, rc) : finish(save);
}

static int look_and_save(struct save *save)
{
	int rc = machine_look(save->cli->ctx, &save->machine, true);

	if (rc)
		return cli_fail(save->cli, rc);
	save->rows = json_object_new_array();
	rc = save_all(save);
	json_object_put(save->rows);
	machine_forget(&save->machine);
	return rc;
}

static int run(struct cli *cli)
{
	struct save save = { .cli = cli, .dir = cli_value(cli, "config") ? : REGIONCONF_DIR };
	int fd = regionconf_lock(), rc;

	if (regionconf_load(&save.config, save.dir))
		rc = cli_fail_text(cli, save.config.exit_code, save.config.error_code, save.config.error);
	else
		rc = look_and_save(&save);
	regionconf_free(&save.config);
	if (fd >= 0)
		close(fd);
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
