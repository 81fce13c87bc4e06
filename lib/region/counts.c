// SPDX-License-Identifier: Apache-2.0
/* The module's counts for a region. */
#include <stddef.h>

#include "donard/counts.h"
#include "region/region.h"

static const struct {
	const char *name;
	size_t offset;
} counts[] = {
	{ "maps", offsetof(struct donard_region_counts, maps) },
	{ "faults", offsetof(struct donard_region_counts, faults) },
	{ "pins", offsetof(struct donard_region_counts, pins) },
	{ "routes", offsetof(struct donard_region_counts, routes) },
	{ "read_bytes", offsetof(struct donard_region_counts, read_bytes) },
	{ "written_bytes", offsetof(struct donard_region_counts, written_bytes) },
	{ "taken_bytes", offsetof(struct donard_region_counts, taken_bytes) },
	{ "peak_bytes", offsetof(struct donard_region_counts, peak_bytes) },
};

/*
 * Tells, after a count could not be read, whether the region is absent.  A region that is being added
 * has its counts before its state, and one that is removed loses both.  If both are there, the region
 * went away, and another one of that name has come meanwhile.
 */
static bool is_away(struct donard_context *ctx, const char *name, const char *count)
{
	return !dnd_sysfs_exists(ctx, "class/p2pmem/%s/state", name) ||
	       dnd_sysfs_exists(ctx, "class/p2pmem/%s/statistics/%s", name, count);
}

static int read_all(struct donard_context *ctx, const char *name, struct donard_region_counts *found)
{
	unsigned int unread = dnd_sysfs_unread(ctx);

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		uint64_t *value = (uint64_t *)((uint8_t *)found + counts[i].offset);
		int rc = dnd_sysfs_read_u64(ctx, value, "class/p2pmem/%s/statistics/%s", name,
					    counts[i].name);

		if (rc && is_away(ctx, name, counts[i].name))
			rc = dnd_fail(ctx, DND_E_NO_SUCH_REGION, "%s: there is no such region", name);
		else if (rc)
			rc = dnd_fail(ctx, DND_E_UNSUPPORTED, "%s: the module that is loaded does not count "
				      "%s. Load the one of this release.", name, counts[i].name);
		if (rc)
			return dnd_sysfs_check(ctx, unread, rc);
	}
	return 0;
}

DND_PUBLIC int donard_region_counts(struct donard_context *ctx, const char *region,
				    struct donard_region_counts *out)
{
	DND_USES(CONTEXT, ctx);
	struct donard_region_counts found = { .size = sizeof(found) };
	char name[P2PMEM_NAME_BYTES];
	int rc = dnd_struct_check(ctx, out, "donard_region_counts");

	if (!rc)
		rc = dnd_region_name(ctx, region, name);
	if (!rc)
		rc = dnd_require_module(ctx);
	if (!rc)
		rc = read_all(ctx, name, &found);
	if (rc)
		return rc;
	dnd_struct_give(out, &found, sizeof(found));
	return 0;
}
