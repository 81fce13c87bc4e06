// SPDX-License-Identifier: Apache-2.0
/*
 * region apply: adds the regions that are configured.  It leaves regions alone that exist
 * already, so it may run at any time.  A region that fails does not keep others from being added.
 */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device.h"
#include "errors.h"
#include "options.h"
#include "output.h"
#include "progress.h"
#include "regionkeys.h"
#include "regionmatch.h"
#include "terms.h"
#include "tool/place.h"
#include "udev.h"

#define BUSY_SECONDS	300	/* how long a drive may take until its driver is bound */

struct apply {
	struct cli *cli;
	struct region_config config;
	struct machine machine;
	struct json_object *rows;
	const char *device;	/* of --device, or NULL */
	bool dry_run;
	unsigned int undone;
	bool *given;		/* for each section: udev was told to give its region's node to the user */
	bool udev_works;	/* udev was told of at least one node */
};

static const struct cli_column columns[] = {
	{ "name", "NAME", false }, { "status", "STATUS", false }, { "region", "REGION", false },
	{ "bdf", "BDF", false }, { 0 },
};

/* Records the outcome for a section.  @message, if any, says what is wrong or worth knowing, and goes to stderr as well. */
static void note(struct apply *apply, const struct region_section *section, const char *status,
		 const char *region, const char *bdf, const char *message)
{
	struct json_object *row = json_object_new_object();
	char text[CLI_TEXT_BYTES];

	cli_add_text(row, "name", section->name);
	cli_add_text(row, "status", status);
	cli_add_text(row, "region", region);
	cli_add_text(row, "bdf", bdf);
	cli_add_text(row, "message", cli_printable(message, text));
	json_object_array_add(apply->rows, row);
	if (message[0])
		cli_note(apply->cli, "%s: %s", section->name, message);
}

/* Says how to see all devices that a section may mean, since the device may be present but invisible to this process. */
static const char *how_to_see(const struct apply *apply, const struct region_section *section)
{
	bool of_drive = section->kind == DONARD_KIND_NVME_PMR || section->kind == DONARD_KIND_NVME_CMB;

	if (geteuid())
		return "Plug it in, or run this as root, who sees all";
	if (!apply->machine.regions && of_drive)
		return "Plug it in, or load the module, which sees all memory of drives (modprobe p2pmem)";
	return "Plug it in";
}

static void note_missing(struct apply *apply, const struct region_section *section)
{
	char text[512];

	snprintf(text, sizeof(text), "no device that is seen here has %s with %s %s%s. %s, or correct %.200s:%u",
		 section->kind == DONARD_KIND_PCI_BAR ? "this memory BAR" :
		 section->kind == DONARD_KIND_NVME_CMB ? "a Controller Memory Buffer" :
		 section->kind == DONARD_KIND_NVME_PMR ? "a Persistent Memory Region" : "the memory of a GPU",
		 section->serial[0] ? "serial" : section->path[0] ? "path" : "slot",
		 section->serial[0] ? section->serial : section->path[0] ? section->path : section->slot,
		 section->function >= 0 ? " and that function" : "", how_to_see(apply, section), section->file, section->line);
	apply->undone++;
	note(apply, section, "missing", "", "", text);
}

static void note_ambiguous(struct apply *apply, const struct region_section *section)
{
	char text[512];

	snprintf(text, sizeof(text), "several functions fit it. Use path at %.200s:%u, or add 'function = N' if they are of one card",
		 section->file, section->line);
	apply->undone++;
	note(apply, section, "failed", "", "", text);
}

/* Does the node have the user, group and mode that the section says? */
static bool is_its_users(const struct region_section *section, const struct stat *node)
{
	const struct passwd *user = getpwnam(section->user);
	const struct group *group = getgrnam(section->group);

	return (!user || node->st_uid == user->pw_uid) && (!group || node->st_gid == group->gr_gid) &&
	       (node->st_mode & 0777) == section->mode;
}

static void note_given(struct apply *apply, const struct region_section *section)
{
	apply->given[section - apply->config.sections] = true;
	apply->udev_works = true;
}

/* Tells udev of a change, so that it gives the node to its user and makes its links. */
static void renew_node(struct apply *apply, const struct region_section *section, const struct donard_region_info *region)
{
	char path[128];
	struct stat node;

	snprintf(path, sizeof(path), "/dev/%s", region->name);
	if (stat(path, &node) || (is_its_users(section, &node) && section_is_linked(section, &node)))
		return;
	if (cli_tell_udev(region->name))
		note_given(apply, section);
}

/* What @region has instead of what the section wants, and the command that changes it. */
struct difference {
	const char *what, *is, *wanted;
	char command[128];
};

/* region remove, then region apply: what a region keeps for its life */
static void say_anew(char command[128], const struct donard_region_info *region)
{
	snprintf(command, 128, "donard-cli region remove %s, then region apply", region->name);
}

static bool differs_in_pages(const struct region_section *section, const struct donard_region_info *region,
			     struct difference *is)
{
	if (!section->page_type || section->page_type == region->page_type)
		return false;
	is->what = "page type";
	is->is = donard_page_type_text(region->page_type);
	is->wanted = donard_page_type_text(section->page_type);
	if (section->page_type == DONARD_PAGES_PMEM || region->page_type == DONARD_PAGES_PMEM)
		say_anew(is->command, region);
	else
		snprintf(is->command, sizeof(is->command), "donard-cli region set %s --page-type %s", region->name, is->wanted);
	return true;
}

/* A section without a length wants all of the memory; a CMB may end within a unit, and its region ends before that.  Of a pool that is what was free, and of a GPU what CUDA has not. */
static bool is_shorter(const struct region_section *section, const struct donard_candidate_info *candidate,
		       const struct donard_region_info *region)
{
	return !section->length_bytes && !region_is_pooled(region) && region->kind != DONARD_KIND_GPU_NVIDIA &&
	       section->offset_bytes + region->size_bytes < regionkeys_whole(candidate->size_bytes);
}

static bool differs_in_size(const struct region_section *section, const struct donard_candidate_info *candidate,
			    const struct donard_region_info *region, struct difference *is, char sizes[2][64])
{
	bool folios = section->folio_bytes && section->folio_bytes != region->folio_bytes;

	if (!folios && !is_shorter(section, candidate, region))
		return false;
	is->what = folios ? "folios of" : "a length of";
	is->is = donard_format_size(sizes[0], sizeof(sizes[0]), folios ? region->folio_bytes : region->size_bytes);
	is->wanted = donard_format_size(sizes[1], sizeof(sizes[1]), folios ? section->folio_bytes :
					regionkeys_whole(candidate->size_bytes) - section->offset_bytes);
	say_anew(is->command, region);
	return true;
}

static bool differs(const struct region_section *section, const struct donard_candidate_info *candidate,
		    const struct donard_region_info *region, struct difference *is, char sizes[2][64])
{
	if (differs_in_pages(section, region, is) || differs_in_size(section, candidate, region, is, sizes))
		return true;
	if (section->memtype && section->memtype != region->memtype) {
		is->what = "memory type";
		is->is = donard_memtype_text(region->memtype);
		is->wanted = donard_memtype_text(section->memtype);
		say_anew(is->command, region);
		return true;
	}
	is->what = "pinned importers";
	is->is = region->pinned_importers ? "accepted" : "refused";
	is->wanted = section->pinned_importers ? "accepted" : "refused";
	snprintf(is->command, sizeof(is->command), "echo %d | sudo tee /sys/class/p2pmem/%s/pinned_importers",
		 section->pinned_importers, region->name);
	return section->pinned_importers != region->pinned_importers;
}

static void note_present(struct apply *apply, const struct region_section *section,
			 const struct donard_candidate_info *candidate, const struct donard_region_info *region)
{
	char text[384] = "", sizes[2][64];
	struct difference is;

	if (differs(section, candidate, region, &is, sizes))
		snprintf(text, sizeof(text), "%s is there, with %s %s instead of %s, and is left alone. To change it: %s",
			 region->name, is.what, is.is, is.wanted, is.command);
	if (!apply->dry_run)
		renew_node(apply, section, region);
	note(apply, section, "present", region->name, region->bdf, text);
}

/* Says that @region is still being removed: until it has ended, its memory may be refused to another region. */
static const char *say_leaving(char text[256], const struct donard_region_info *region)
{
	snprintf(text, 256, "%s is %s: 'donard-cli info %s' names its holders. Run this again when it is gone", region->name,
		 donard_region_state_text(region->state), region->name);
	return text;
}

/*
 * Did the device's own driver bind first, so that an unbind would not outlast the next boot?  Drivers of bridges and drives do
 * not count: they stay bound.
 */
static bool is_driver_first(const struct apply *apply, const char *driver)
{
	return !strcmp(donard_error_code(apply->cli->ctx), "other-driver") && strcmp(driver, "nvme") && strcmp(driver, "pcieport");
}

/* @leaving: the region that is still being removed there, or NULL. */
static void note_failed(struct apply *apply, const struct region_section *section,
			const struct donard_candidate_info *candidate, const struct donard_region_info *leaving)
{
	char error[CLI_ERROR_BYTES], held[256] = "", text[CLI_ERROR_BYTES + 256];

	snprintf(text, sizeof(text), "%s%s%s%s", cli_error(apply->cli, error), leaving ? " " : "",
		 leaving ? say_leaving(held, leaving) : "",
		 is_driver_first(apply, candidate->driver) ? " (docs/install.md, Keeping a device free, says how that lasts)" : "");
	apply->undone++;
	note(apply, section, "failed", "", candidate->bdf, text);
}

static void add(struct apply *apply, const struct region_section *section,
		const struct donard_candidate_info *candidate, const struct donard_region_info *leaving)
{
	char reason[DONARD_REASON_BYTES] = "", name[32];
	struct donard_region_add what = {
		.size = sizeof(what), .bdf = candidate->bdf, .kind = section->kind,
		.bar = section->bar, .page_type = section->page_type, .memtype = section->memtype,
		.offset_bytes = section->offset_bytes, .length_bytes = section->length_bytes,
		.folio_bytes = section->folio_bytes, .note = reason,
	};
	int rc = donard_region_add(apply->cli->ctx, &what);

	if (rc < 0) {
		note_failed(apply, section, candidate, leaving);
		return;
	}
	note_given(apply, section);
	snprintf(name, sizeof(name), "p2pmem%d", rc);
	if (section->pinned_importers)
		rc = donard_region_set_pinned_importers(apply->cli->ctx, name, true);
	if (rc < 0)
		note_failed(apply, section, candidate, NULL);
	else
		note(apply, section, "added", name, candidate->bdf, reason);
}

static void note_absent(struct apply *apply, const struct region_section *section,
			const struct donard_candidate_info *candidate)
{
	apply->undone += candidate->obstacle[0] != '\0';
	note(apply, section, "absent", "", candidate->bdf, candidate->obstacle);
}

/*
 * Returns the region that an add would wait for while it keeps the configuration locked, or NULL.  That is the section's own
 * region, or any region of a function that is being unbound, since an unbind holds the function's lock until the holders let
 * go.
 */
static const struct donard_region_info *draining_on(const struct machine *machine, const struct donard_candidate_info *candidate,
						    const struct donard_region_info *own)
{
	const struct donard_region_info *region;

	for (size_t i = 0; (region = donard_region_get(machine->regions, i)); i++)
		if (region->state == DONARD_STATE_DRAINING && !strcmp(region->bdf, candidate->bdf) &&
		    (region == own || !candidate->driver[0]))
			return region;
	return NULL;
}

static void note_draining(struct apply *apply, const struct region_section *section, const struct donard_region_info *region)
{
	char text[256];

	apply->undone++;
	note(apply, section, "failed", "", region->bdf, say_leaving(text, region));
}

/* Reports a busy drive instead of adding its region, which would wait for the drive while it keeps the configuration locked. */
static void note_busy(struct apply *apply, const struct region_section *section, const struct donard_candidate_info *busy)
{
	apply->undone++;
	note(apply, section, "failed", "", busy->bdf, busy->obstacle);
}

/* Is the section about the device of --device?  If several devices fit the section, each of them counts. */
static bool is_of_device(const struct apply *apply, const struct region_section *section,
			 const struct donard_candidate_info *busy)
{
	return !apply->device || machine_means(&apply->machine, section, apply->device) ||
	       (busy && !strcmp(busy->bdf, apply->device));
}

static void apply_section(struct apply *apply, const struct region_section *section)
{
	const struct donard_region_info *region = machine_region_of(&apply->machine, section);
	bool present = region && region->state == DONARD_STATE_READY;
	const struct donard_candidate_info *candidate, *busy = present ? NULL : machine_busy(&apply->machine, section);
	const struct donard_region_info *draining;
	unsigned int count = machine_find(&apply->machine, section, &candidate);

	if (!is_of_device(apply, section, busy))
		return;
	if (count > 1)
		note_ambiguous(apply, section);
	else if (busy)
		note_busy(apply, section, busy);
	else if (!candidate)
		note_missing(apply, section);
	else if (present)
		note_present(apply, section, candidate, region);
	else if ((draining = draining_on(&apply->machine, candidate, region)))
		note_draining(apply, section, draining);
	else if (apply->dry_run)
		note_absent(apply, section, candidate);
	else
		add(apply, section, candidate, region);
}

static bool is_asked_for(const struct cli *cli, const char *name)
{
	for (int i = 0; i < cli->argument_count; i++)
		if (!strcmp(cli->arguments[i], name))
			return true;
	return !cli->argument_count;
}

static int check_names(struct apply *apply, const char *dir)
{
	const struct cli *cli = apply->cli;
	const char *named = cli_value(cli, "config");
	char text[768];

	for (int i = 0; i < cli->argument_count; i++) {
		if (regionconf_find(&apply->config, cli->arguments[i]))
			continue;
		snprintf(text, sizeof(text), "%.200s: %.200s configures no region of that name; 'donard-cli region "
			 "apply --dry-run%s%.200s' shows those that it does.", cli->arguments[i], dir, named ? " --config " : "",
			 named ? : "");
		return cli_fail_text(cli, EXIT_FAILED, "no-such-region", text);
	}
	return 0;
}

static int finish(struct apply *apply)
{
	struct json_object *model = json_object_new_object();

	json_object_object_add(model, "regions", json_object_get(apply->rows));
	if (!apply->cli->json && json_object_array_length(apply->rows))
		cli_print_table(apply->rows, columns);
	if (apply->cli->json)
		cli_print_json(model);
	else
		json_object_put(model);
	return apply->undone ? EXIT_FAILED : EXIT_DONE;
}

/* Sections with a length come first, and those that take whatever is free last, as in machine_match(). */
static void apply_sections(struct apply *apply, bool without_length)
{
	const struct region_section *sections = apply->config.sections;

	for (size_t i = 0; i < apply->config.count; i++)
		if (!sections[i].length_bytes == without_length && is_asked_for(apply->cli, sections[i].name))
			apply_section(apply, &sections[i]);
}

static bool is_busy(const struct donard_candidate_list *list, const char *bdf)
{
	const struct donard_candidate_info *candidate;

	for (size_t i = 0; (candidate = donard_candidate_get(list, i)); i++)
		if (candidate->busy && !strcmp(candidate->bdf, bdf))
			return true;
	return false;
}

/*
 * The event for a drive that is plugged in comes while its driver is still being bound, and no event comes when the drive
 * answers. So the drive's systemd unit waits here, before it locks the configuration.  This is no busy loop: the module tries
 * for ten seconds before it reports a drive as busy.
 */
static void await_device(struct apply *apply)
{
	struct donard_candidate_list *list;
	double end = cli_now_seconds() + BUSY_SECONDS;
	bool busy = true;

	while (busy && cli_now_seconds() < end && donard_candidate_list(apply->cli->ctx, &list) >= 0) {
		busy = is_busy(list, apply->device);
		donard_candidate_list_free(list);
	}
}

static int apply_all(struct apply *apply)
{
	int rc = machine_look(apply->cli->ctx, &apply->machine, !apply->dry_run);

	if (rc)
		return cli_fail(apply->cli, rc);
	rc = machine_match(apply->cli->ctx, &apply->machine, &apply->config);
	if (!rc) {
		apply_sections(apply, false);
		apply_sections(apply, true);
	}
	machine_forget(&apply->machine);
	return rc ? cli_fail(apply->cli, rc) : finish(apply);
}

/* Names the sections whose user or group udev was told of, but did not give the node to. */
static void note_passed_over(const struct apply *apply)
{
	char path[sizeof(CLI_REGION_LINKS "by-name/") + REGIONCONF_NAME_BYTES], who[SECTION_WHO_BYTES];
	const struct region_section *section;
	struct stat node;

	for (size_t i = 0; i < apply->config.count; i++) {
		section = &apply->config.sections[i];
		snprintf(path, sizeof(path), CLI_REGION_LINKS "by-name/%s", section->name);
		if (apply->given[i] && !stat(path, &node) && section_is_passed_over(section, &node, who))
			cli_note(apply->cli, "%s: udev left it to root in the place of %s: udev of systemd 258 and 259 gives "
				 "nodes to system users and groups alone. Take a system group at %s:%u, and make who uses it "
				 "a member.", section->name, who, section->file, section->line);
	}
}

static int load(struct region_config *config, const char *named)
{
	return named ? regionconf_load_named(config, named) : regionconf_load(config, REGIONCONF_DIR);
}

/* Without a valid configuration there is nothing to wait for, and the devices need not be examined. */
static bool is_worth_waiting(const char *named)
{
	struct region_config config;
	bool worth = !load(&config, named) && config.count;

	regionconf_free(&config);
	return worth;
}

static int run(struct cli *cli)
{
	const char *named = cli_value(cli, "config"), *dir = named ? : REGIONCONF_DIR;
	char device[DONARD_BDF_BYTES];
	struct apply apply = { .cli = cli, .dry_run = cli_given(cli, "dry-run") };
	int rc = cli_device(cli, device), fd;

	if (rc)
		return rc;
	apply.device = device[0] ? device : NULL;
	if (apply.device && !apply.dry_run && is_worth_waiting(named))
		await_device(&apply);
	fd = apply.dry_run ? -1 : regionconf_lock();
	rc = load(&apply.config, named) ?
		cli_fail_text(cli, apply.config.exit_code, apply.config.error_code, apply.config.error) :
		check_names(&apply, dir);
	if (!rc && !apply.config.count && !cli->json)
		cli_note(cli, "%s configures no region.", dir);
	apply.given = calloc(apply.config.count + 1, sizeof(bool));
	if (!rc && !apply.given)
		rc = cli_fail(cli, donard_fail(cli->ctx, -ENOMEM, "no-memory", "there is no memory left"));
	if (!rc) {
		apply.rows = json_object_new_array();
		rc = apply_all(&apply);
		json_object_put(apply.rows);
	}
	if (fd >= 0)
		close(fd);
	if (apply.udev_works && cli_await_udev())
		note_passed_over(&apply);
	free(apply.given);
	regionconf_free(&apply.config);
	return rc;
}

static const struct cli_option options[] = {
	{ "dry-run", NULL, "say what would be done" },
	{ "device", "BDF", "only what this device has" },
	{ "config", "DIR", "instead of " REGIONCONF_DIR },
	{ "json", NULL, "print JSON" },
	{ 0 },
};

const struct cli_command cmd_region_apply = {
	.name = "region apply", .arguments = "[NAME]...", .max_arguments = CLI_ANY_ARGUMENTS,
	.needs_context = true, .summary = "Bring back the regions that are configured",
	.options = options, .run = run,
};
