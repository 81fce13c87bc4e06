// SPDX-License-Identifier: Apache-2.0
/* Scans every PCI function of the machine for memory behind its BARs. */
#include <stdlib.h>

#include "region/candidate_list.h"

/*
 * Bridges, whose windows belong to the devices below them.  "Other" ones (0680) are endpoints with
 * memory of their own, as those of non-transparent bridges are.
 */
static bool is_bridge(const struct donard_context *ctx, const char *bdf)
{
	uint64_t class = 0;

	dnd_sysfs_read_u64(ctx, &class, "bus/pci/devices/%s/class", bdf);
	return class >> 16 == 0x06 && (class >> 8 & 0xff) != 0x80;
}

static int scan_function(struct donard_context *ctx, const char *bdf, void *data)
{
	struct dnd_identity identity;
	struct dnd_function function = { .bdf = bdf, .identity = &identity };
	int rc;

	if (is_bridge(ctx, bdf))
		return 0;
	dnd_bars_read(ctx, bdf, function.bars);
	dnd_identity_read(ctx, bdf, &identity);
	rc = dnd_scan_controller(ctx, &function, data);
	if (!rc)
		rc = dnd_scan_nvidia(ctx, &function, data);
	return rc ? rc : dnd_scan_bars(ctx, &function, data);
}

DND_PUBLIC int donard_candidate_list(struct donard_context *ctx,
				     struct donard_candidate_list **out)
{
	DND_USES(CONTEXT, ctx);
	struct donard_candidate_list *list = calloc(1, sizeof(*list));
	unsigned int unread = dnd_sysfs_unread(ctx);
	int rc;

	if (!list)
		return dnd_fail_memory(ctx);
	rc = dnd_for_each_entry(ctx, "bus/pci/devices", scan_function, list);
	if (rc == -ENOMEM)
		dnd_fail_memory(ctx);
	rc = dnd_sysfs_check(ctx, unread, rc);
	if (rc) {
		donard_candidate_list_free(list);
		return rc;
	}
	dnd_handle_made(DND_A_CANDIDATE_LIST, list, ctx);
	*out = list;
	return (int)list->count;
}
