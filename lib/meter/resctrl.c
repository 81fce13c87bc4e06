// SPDX-License-Identifier: Apache-2.0
/*
 * The bytes that programs move between the last-level caches and DRAM, by resctrl's
 * memory bandwidth monitoring (the kernel's Documentation/filesystems/resctrl.rst).
 *
 * mbm_total_bytes counts the reads and writebacks of each group of tasks; the sum
 * over all groups and caches is that of the machine.  DMA of a device belongs to no
 * task, so it is not counted.  But no document says which task pays for the eviction
 * of a cache line that a device wrote.  Reads and writes are not told apart.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "meter/kind.h"
#include "meter/sysfs.h"

#define RESCTRL		"fs/resctrl"

/* The count of one group and cache.  A group that was deleted and created again has other files, though the same name. */
struct counter {
	ino_t file;
	uint64_t bytes;
};

/* All that there are, in the order of dnd_meter_each(). */
struct counters {
	struct donard_context *ctx;
	const char *group;		/* folder below sysfs_root */
	struct counter *list;
	size_t count;
};

static int add_counter(struct counters *counters, const char *domain, uint64_t bytes)
{
	struct donard_context *ctx = counters->ctx;
	char path[PATH_MAX];
	struct stat status;
	struct counter *list;

	/* The group has gone meanwhile; the measurement's missing text says that the groups changed. */
	if (dnd_meter_path(ctx, path, "%s/mon_data/%s/mbm_total_bytes", counters->group, domain) || stat(path, &status))
		return 0;
	list = reallocarray(counters->list, counters->count + 1, sizeof(*list));
	if (!list)
		return dnd_meter_fail_memory(ctx);
	counters->list = list;
	list[counters->count++] = (struct counter){ .file = status.st_ino, .bytes = bytes };
	return 0;
}

static int add_file(struct counters *counters, const char *domain)
{
	struct donard_context *ctx = counters->ctx;
	char text[64], *end;
	uint64_t bytes;
	int rc = dnd_meter_text(ctx, text, sizeof(text), "%s/mon_data/%s/mbm_total_bytes",
				counters->group, domain);

	if (rc == -ENOENT)
		return 0;
	if (rc)
		return dnd_meter_fail_access(ctx, rc, "Run as root", "%s/%s/mon_data/%s/mbm_total_bytes "
				       "cannot be read", donard_sysfs_root(ctx), counters->group, domain);
	bytes = strtoull(text, &end, 10);
	if (end == text || *end)
		return dnd_meter_fail(ctx, DND_E_UNSUPPORTED, "%s/%s/mon_data/%s/mbm_total_bytes says "
				"'%s': the processor has no count now.%s", donard_sysfs_root(ctx),
				counters->group, domain, text, strcmp(text, "Unassigned") ? "" :
				" Assign a counter: see mbm_L3_assignments there.");
	return add_counter(counters, domain, bytes);
}

/* mon_L3_00 and so on; with sub-NUMA clusters each is the sum of the folders in it. */
static int add_domain(void *user, const char *name)
{
	return strncmp(name, "mon_L3_", 7) ? 0 : add_file(user, name);
}

static int add_group(struct counters *counters, const char *group)
{
	char folder[PATH_MAX / 4];

	snprintf(folder, sizeof(folder), "%s/mon_data", group);
	counters->group = group;
	return dnd_meter_each(counters->ctx, folder, add_domain, counters);
}

/* Adds the control groups; the counts of a monitoring group are part of its parent's. */
static int add_entry(void *user, const char *name)
{
	struct counters *counters = user;
	char group[PATH_MAX / 8];

	if (!strcmp(name, "info") || !strcmp(name, "mon_data") || !strcmp(name, "mon_groups"))
		return 0;
	snprintf(group, sizeof(group), RESCTRL "/%s", name);
	return dnd_meter_exists(counters->ctx, "%s/mon_data", group) ? add_group(counters, group) : 0;
}

/* @counters: the old ones, or nothing. */
static int read_all(struct donard_context *ctx, struct counters *counters)
{
	int rc;

	free(counters->list);
	*counters = (struct counters){ .ctx = ctx };
	rc = add_group(counters, RESCTRL);
	return rc ? rc : dnd_meter_each(ctx, RESCTRL, add_entry, counters);
}

/* The sum of what each counter rose by; false if they are not the same ones, or one fell. */
static bool are_same(const struct counters *start, const struct counters *now, uint64_t *bytes)
{
	*bytes = 0;
	if (now->count != start->count)
		return false;
	for (size_t i = 0; i < now->count; i++) {
		if (now->list[i].file != start->list[i].file || now->list[i].bytes < start->list[i].bytes)
			return false;
		*bytes += now->list[i].bytes - start->list[i].bytes;
	}
	return true;
}

static int refuse(struct donard_context *ctx)
{
	if (!dnd_meter_exists(ctx, RESCTRL))
		return dnd_meter_fail(ctx, DND_E_UNSUPPORTED, "this kernel or processor has no resctrl: "
				"%s/" RESCTRL " does not exist.", donard_sysfs_root(ctx));
	if (!dnd_meter_exists(ctx, RESCTRL "/info"))
		return dnd_meter_fail(ctx, DND_E_UNSUPPORTED, "%s/" RESCTRL " is not mounted. Mount it "
				"with: mount -t resctrl resctrl /sys/fs/resctrl", donard_sysfs_root(ctx));
	return dnd_meter_fail(ctx, DND_E_UNSUPPORTED, "this processor does not monitor memory bandwidth: "
			"%s/" RESCTRL "/mon_data has no mbm_total_bytes.", donard_sysfs_root(ctx));
}

static int open_resctrl(struct donard_context *ctx, struct donard_meter *meter)
{
	struct counters counters = { 0 };
	int rc = read_all(ctx, &counters);
	bool none = !counters.count;

	free(counters.list);
	if (rc)
		return rc;
	if (none)
		return refuse(ctx);
	meter->state = calloc(1, sizeof(counters));
	return meter->state ? 0 : dnd_meter_fail_memory(ctx);
}

static int begin_resctrl(struct donard_context *ctx, struct donard_meter *meter)
{
	return read_all(ctx, meter->state);
}

static int end_resctrl(struct donard_context *ctx, struct donard_meter *meter,
		       struct donard_measurement *result)
{
	struct counters now = { 0 };
	uint64_t bytes;
	int rc = read_all(ctx, &now);

	if (rc)
		dnd_missing(result, "%s", donard_error(ctx));
	else if (!are_same(meter->state, &now, &bytes))
		dnd_missing(result, "resctrl's groups changed while they were counted.");
	else if (!bytes)
		dnd_missing(result, "resctrl's mbm_total_bytes stood still, as on no running "
			    "machine.");
	else
		dnd_measured(result, DONARD_DRAM_CACHE, bytes);
	dnd_missing(result, "resctrl counts what programs of the whole machine move between the "
		    "last caches and DRAM: it does not count DMA, sees no BARs, and cannot tell "
		    "reads from writes, nor payload from overhead.");
	free(now.list);
	return rc ? -EIO : 0;
}

static void close_resctrl(struct donard_meter *meter)
{
	struct counters *start = meter->state;

	if (start)
		free(start->list);
	free(start);
}

const struct dnd_meter_kind dnd_meter_resctrl = {
	.name = "resctrl", .open = open_resctrl, .begin = begin_resctrl, .end = end_resctrl,
	.close = close_resctrl,
};
