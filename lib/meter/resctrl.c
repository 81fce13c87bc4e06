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

#include "meter/kind.h"
#include "meter/sysfs.h"

#define RESCTRL		"fs/resctrl"

struct sum {
	struct donard_context *ctx;
	const char *group;		/* folder below sysfs_root */
	uint64_t bytes;
	unsigned int files;
};

static int add_file(struct sum *sum, const char *domain)
{
	struct donard_context *ctx = sum->ctx;
	char text[64], *end;
	uint64_t bytes;
	int rc = dnd_meter_text(ctx, text, sizeof(text), "%s/mon_data/%s/mbm_total_bytes",
				sum->group, domain);

	if (rc == -ENOENT)
		return 0;
	if (rc)
		return dnd_meter_fail_access(ctx, rc, "Run as root", "%s/%s/mon_data/%s/mbm_total_bytes "
				       "cannot be read", donard_sysfs_root(ctx), sum->group, domain);
	bytes = strtoull(text, &end, 10);
	if (end == text || *end)
		return dnd_meter_fail(ctx, DND_E_UNSUPPORTED, "%s/%s/mon_data/%s/mbm_total_bytes says "
				"'%s': the processor has no count now.%s", donard_sysfs_root(ctx),
				sum->group, domain, text, strcmp(text, "Unassigned") ? "" :
				" Assign a counter: see mbm_L3_assignments there.");
	sum->bytes += bytes;
	sum->files++;
	return 0;
}

/* mon_L3_00 and so on; with sub-NUMA clusters each is the sum of the folders in it. */
static int add_domain(void *user, const char *name)
{
	return strncmp(name, "mon_L3_", 7) ? 0 : add_file(user, name);
}

static int add_group(struct sum *sum, const char *group)
{
	char folder[PATH_MAX / 4];

	snprintf(folder, sizeof(folder), "%s/mon_data", group);
	sum->group = group;
	return dnd_meter_each(sum->ctx, folder, add_domain, sum);
}

/* Adds the control groups; the counts of a monitoring group are part of its parent's. */
static int add_entry(void *user, const char *name)
{
	struct sum *sum = user;
	char group[PATH_MAX / 8];

	if (!strcmp(name, "info") || !strcmp(name, "mon_data") || !strcmp(name, "mon_groups"))
		return 0;
	snprintf(group, sizeof(group), RESCTRL "/%s", name);
	return dnd_meter_exists(sum->ctx, "%s/mon_data", group) ? add_group(sum, group) : 0;
}

static int add_all(struct donard_context *ctx, struct sum *sum)
{
	int rc;

	*sum = (struct sum){ .ctx = ctx };
	rc = add_group(sum, RESCTRL);
	return rc ? rc : dnd_meter_each(ctx, RESCTRL, add_entry, sum);
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
	struct sum sum;
	int rc = add_all(ctx, &sum);

	if (rc)
		return rc;
	if (!sum.files)
		return refuse(ctx);
	meter->state = calloc(1, sizeof(sum));
	return meter->state ? 0 : dnd_meter_fail_memory(ctx);
}

static int begin_resctrl(struct donard_context *ctx, struct donard_meter *meter)
{
	return add_all(ctx, meter->state);
}

static int end_resctrl(struct donard_context *ctx, struct donard_meter *meter,
		       struct donard_measurement *result)
{
	const struct sum *start = meter->state;
	struct sum sum;
	int rc = add_all(ctx, &sum);

	if (rc)
		dnd_missing(result, "%s", donard_error(ctx));
	else if (sum.files != start->files || sum.bytes < start->bytes)
		dnd_missing(result, "resctrl's groups changed while they were counted.");
	else if (sum.bytes == start->bytes)
		dnd_missing(result, "resctrl's mbm_total_bytes stood still, as on no running "
			    "machine.");
	else
		dnd_measured(result, DONARD_DRAM_CACHE, sum.bytes - start->bytes);
	dnd_missing(result, "resctrl counts what programs of the whole machine move between the "
		    "last caches and DRAM: it does not count DMA, sees no BARs, and cannot tell "
		    "reads from writes, nor payload from overhead.");
	return rc ? -EIO : 0;
}

static void close_resctrl(struct donard_meter *meter)
{
	free(meter->state);
}

const struct dnd_meter_kind dnd_meter_resctrl = {
	.name = "resctrl", .open = open_resctrl, .begin = begin_resctrl, .end = end_resctrl,
	.close = close_resctrl,
};
