// SPDX-License-Identifier: Apache-2.0
/* Finds the other block devices of a namespace (disk.h). */
#include <stdio.h>

#include "drive/blockdev.h"
#include "drive/disk.h"

struct visit {
	struct dnd_span span;
	const char *disk;	/* the twin whose partitions are looked at */
	int (*each)(struct donard_context *ctx, const char *folder, void *data);
	void *data;
};

static int look_at_partition(struct donard_context *ctx, const char *entry, void *data)
{
	const struct visit *visit = data;
	char folder[160];
	struct dnd_span span;
	dev_t device;

	snprintf(folder, sizeof(folder), "block/%s/%s", visit->disk, entry);
	if (!dnd_sysfs_exists(ctx, "%s/partition", folder) || dnd_disk_number(ctx, &device, "%s/dev", folder) ||
	    dnd_disk_span(ctx, device, &span) || !dnd_spans_meet(&visit->span, &span))
		return 0;
	return visit->each(ctx, folder, visit->data);
}

static int look_at_disk(struct donard_context *ctx, const char *disk, void *data)
{
	struct visit *visit = data;
	char folder[80];
	int rc;

	if (!dnd_disk_is_twin(ctx, disk, &visit->span))
		return 0;
	snprintf(folder, sizeof(folder), "block/%s", disk);
	rc = visit->each(ctx, folder, visit->data);
	visit->disk = disk;
	return rc ? rc : dnd_for_each_entry(ctx, folder, look_at_partition, visit);
}

int dnd_for_each_twin(struct donard_context *ctx, dev_t device,
		      int (*each)(struct donard_context *ctx, const char *folder, void *data), void *data)
{
	struct visit visit = { .each = each, .data = data };

	if (dnd_disk_span(ctx, device, &visit.span) || !visit.span.medium[0])
		return 0;
	return dnd_for_each_entry(ctx, "block", look_at_disk, &visit);
}
