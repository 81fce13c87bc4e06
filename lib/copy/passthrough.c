// SPDX-License-Identifier: Apache-2.0
/*
 * --passthrough: which sides can be moved by NVMe commands, how long one may
 * be, and that they see what the page cache of the block device holds.
 *
 * For a direct read of the block device the kernel writes the dirty pages of
 * the range back (mm/filemap.c, kiocb_write_and_wait()); for a direct write it
 * does so, drops the pages (kiocb_invalidate_pages()), and drops them again
 * afterwards for whoever read meanwhile.  Commands to the generic device know
 * no page cache, so the same is done here, by the same range of the block
 * device.  As there, a page that someone has mapped or is changing stays.
 *
 * The proof of the route and a last, partial block are single direct reads
 * and writes of the block device, as without --passthrough.
 */
#include <fcntl.h>
#include <unistd.h>

#include "copy/copy.h"

static int refuse_file(struct dnd_copy *copy, const struct dnd_side *side)
{
	return dnd_fail(copy->ctx, DND_E_UNSUPPORTED, "%s: it is a file, and only the file system "
			"knows where its blocks are; --passthrough is for a whole NVMe namespace or "
			"a partition. Name one, or copy without --passthrough.", side->label);
}

static int open_side(struct dnd_copy *copy, struct dnd_side *side)
{
	int rc;

	if (side->is_region)
		return 0;
	if (side->drive.is_file)
		return refuse_file(copy, side);
	rc = dnd_generic_open(copy->ctx, &side->drive, &side->generic);
	if (rc)
		return rc;
	/* Memory of another alignment the kernel would bounce, and not say so. */
	if (side->generic.limit_bytes < copy->align ||
	    side->generic.memory_align_bytes > copy->align)
		return dnd_fail(copy->ctx, DND_E_UNSUPPORTED, "%s: one NVMe command cannot move a block "
				"of %u bytes. Copy without --passthrough.", side->label, copy->align);
	return 0;
}

int dnd_copy_passthrough_open(struct dnd_copy *copy)
{
	int rc;

	if (!dnd_copy_flag(copy, DONARD_COPY_PASSTHROUGH))
		return 0;
	if (copy->src.is_region && copy->dst.is_region)
		return dnd_fail(copy->ctx, DND_E_BAD_OPTION, "--passthrough is about the commands to "
				"a drive, and both ends are regions here. Copy without it.");
	rc = open_side(copy, &copy->src);
	if (!rc)
		rc = open_side(copy, &copy->dst);
	copy->result->passthrough = !rc;
	return rc;
}

/*
 * The kernel describes the memory of such a command by a scatter list, always
 * in DRAM, and a drive may want the list for data in its own memory to be there
 * too (CDPMLS of its register CMBLOC).
 */
static int check_own_memory(struct dnd_copy *copy, const struct dnd_side *side)
{
	const struct dnd_region *region = dnd_copy_region(copy);
	const struct dnd_blockdev *blockdev = &side->drive.blockdev;

	if (side->generic.fd < 0 || copy->bounced || region->info.kind == P2PMEM_KIND_PCI_BAR)
		return 0;
	for (size_t i = 0; i < blockdev->controller_count; i++)
		if (!strcmp(blockdev->controllers[i], region->bdf))
			return dnd_fail(copy->ctx, DND_E_UNSUPPORTED, "%s: %s is the drive's own "
					"memory, which the NVMe commands of --passthrough cannot "
					"address. Use another region, or copy without "
					"--passthrough.", side->label, region->name);
	return 0;
}

int dnd_copy_passthrough_check(struct dnd_copy *copy)
{
	int rc = check_own_memory(copy, &copy->src);

	return rc ? rc : check_own_memory(copy, &copy->dst);
}

static int write_back(struct dnd_copy *copy, const struct dnd_side *side)
{
	const unsigned int flags = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
				   SYNC_FILE_RANGE_WAIT_AFTER;

	if (side->generic.fd < 0 ||
	    !sync_file_range(side->drive.fd, (off_t)side->offset, (off_t)copy->length, flags))
		return 0;
	return dnd_fail_errno(copy->ctx, errno, "%s: its page cache cannot be written "
			      "back", side->label);
}

/* Whole pages: of a page that is partly in the range the rest is on the drive already. */
static void drop_cached(const struct dnd_copy *copy, const struct dnd_side *side)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t start = dnd_round_down(side->offset, page);
	uint64_t end = dnd_round_up(side->offset + copy->length, page);

	if (side->generic.fd >= 0)
		posix_fadvise(side->drive.fd, (off_t)start, (off_t)(end - start),
			      POSIX_FADV_DONTNEED);
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
