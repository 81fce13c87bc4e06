// SPDX-License-Identifier: Apache-2.0
/*
 * --passthrough: decides whether NVMe commands can move the sides, and keeps the
 * commands coherent with the page cache of the block device.
 *
 * Before a direct read of the block device the kernel writes back the dirty pages
 * of the range (mm/filemap.c, kiocb_write_and_wait()).  Before a direct write it
 * also drops the pages (kiocb_invalidate_pages()), and it drops them again
 * afterwards, in case somebody read them meanwhile.  Commands to the generic device
 * bypass the page cache, so this file does the same for the range on the block
 * device.  As in the kernel, a page stays if somebody maps or changes it.
 *
 * The proof of the route and a last, partial block are single direct reads
 * and writes of the block device, as without --passthrough.
 */
#include "copy/copy.h"

static int open_side(struct dnd_copy *copy, struct dnd_side *side)
{
	if (side->is_memory)
		return 0;
	return dnd_generic_open(copy->ctx, &side->drive, copy->align, &side->generic);
}

int dnd_copy_passthrough_open(struct dnd_copy *copy)
{
	int rc;

	if (!dnd_copy_flag(copy, DONARD_COPY_PASSTHROUGH))
		return 0;
	if (copy->src.is_memory && copy->dst.is_memory)
		return dnd_fail_member(copy->ctx, DND_E_BAD_OPTION, DND_AT("PASSTHROUGH"),
				       "PASSTHROUGH concerns the commands to "
				       "a drive, but here both ends are regions. Copy without it.");
	rc = open_side(copy, &copy->src);
	if (!rc)
		rc = open_side(copy, &copy->dst);
	copy->result->passthrough = !rc;
	return rc;
}

static int check_side(struct dnd_copy *copy, struct dnd_side *side)
{
	if (side->is_memory || copy->bounced)
		return 0;
	return dnd_join_check_commands(&side->join);
}

int dnd_copy_passthrough_check(struct dnd_copy *copy)
{
	int rc = check_side(copy, &copy->src);

	return rc ? rc : check_side(copy, &copy->dst);
}

static int write_back(struct dnd_copy *copy, const struct dnd_side *side)
{
	if (side->generic.fd < 0)
		return 0;
	return dnd_generic_write_back(copy->ctx, &side->drive, side->offset, copy->length);
}

static void drop_cached(const struct dnd_copy *copy, const struct dnd_side *side)
{
	if (side->generic.fd >= 0)
		dnd_generic_drop_cached(&side->drive, side->offset, copy->length);
}

int dnd_copy_passthrough_begin(struct dnd_copy *copy)
{
	int rc = write_back(copy, &copy->src);

	if (!rc)
		rc = write_back(copy, &copy->dst);
	if (!rc)
		drop_cached(copy, &copy->dst);
	return rc;
}

void dnd_copy_passthrough_end(struct dnd_copy *copy)
{
	drop_cached(copy, &copy->dst);
}
