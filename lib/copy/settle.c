// SPDX-License-Identifier: Apache-2.0
/*
 * Finishes the destination: runs the barrier of a region, flushes a drive, gives a file its length and name.
 *
 * A new file gets its name only when it is complete (drive/length.c), or when a failed copy adds nothing more to it.
 * The copy never sets the length of an old file to one that it read earlier, because another program or another copy
 * may have added to the file.  The file grows as its bytes are written in order (engine.c), and only a copy of a whole
 * source cuts what lies behind.
 */
#include <stdio.h>
#include <unistd.h>

#include "copy/copy.h"

static uint64_t end_of(const struct dnd_copy *copy)
{
	return copy->dst.offset + copy->result->bytes;
}

/* Cuts the file as cp does, but never bytes that another program has added meanwhile. */
static int cut(struct dnd_copy *copy)
{
	struct dnd_drive *drive = &copy->dst.drive;
	uint64_t end = end_of(copy);
	int rc = 0;

	/* check_kept() says it if the file is shorter than the copy. */
	if (dnd_drive_length(drive) > end)
		rc = dnd_drive_cut(copy->ctx, drive, dnd_max(end, drive->size_bytes), end);
	if (rc || dnd_drive_length(drive) <= end)
		return rc;
	return dnd_fail(copy->ctx, DND_E_BUSY, "%s: another program changed its length during the copy. All was copied, and "
			"nothing was cut from the file, which is longer than the source. Wait for that program, and "
			"copy again.", drive->path);
}

/*
 * Bytes that went through the page cache of the file: a tail that was written there, and the file system's last block, which
 * it fills up in DRAM where the file ends within it.  The tail is the longer one where the source has the larger blocks.
 */
static uint64_t through_cache(const struct dnd_copy *copy, bool halved)
{
	uint32_t block_bytes = copy->dst.drive.fs_block_bytes;
	uint64_t tail = copy->tail_cached ? copy->plan.tail_bytes : 0;
	uint64_t rest = halved && block_bytes ? end_of(copy) % block_bytes : 0;

	return dnd_min(dnd_max(tail, rest), copy->result->bytes);
}

static int set_length(struct dnd_copy *copy)
{
	struct dnd_drive *drive = &copy->dst.drive;
	uint64_t end = end_of(copy);
	bool halved = copy->tail_cached;
	int rc = 0;

	if (!drive->is_file)
		return 0;
	if (copy->cuts) {
		halved |= dnd_drive_length(drive) != end;
		rc = cut(copy);
	}
	if (rc)
		return rc;
	if (!copy->bounced)
		copy->result->bounced_bytes += through_cache(copy, halved);
	copy->result->kept_bytes = dnd_max(dnd_drive_length(drive), end) - end;
	return 0;
}

static int flush(struct dnd_copy *copy)
{
	const struct dnd_drive *drive = &copy->dst.drive;

	return fsync(drive->fd) ? dnd_drive_flush_failed(copy->ctx, drive, errno) : 0;
}

/* Flushes the name as well. */
static int name_file(struct dnd_copy *copy)
{
	int rc = dnd_drive_name(copy->ctx, &copy->dst.drive);

	return rc ? rc : flush(copy);
}

/* Checks after the flush that no other program has removed the bytes from the file. */
static int check_kept(struct dnd_copy *copy)
{
	struct donard_copy_result *result = copy->result;
	uint64_t kept_end;
	int rc = dnd_drive_check_kept(copy->ctx, &copy->dst.drive, copy->dst.offset, end_of(copy), &kept_end);

	result->bytes = kept_end - copy->dst.offset;
	result->bounced_bytes = dnd_min(result->bounced_bytes, result->bytes);
	return rc;
}

/* The bytes are flushed before the file gets its name, so that no name of an incomplete file survives a power cut. */
static int settle_drive(struct dnd_copy *copy)
{
	int rc = set_length(copy);

	if (!rc)
		rc = flush(copy);
	if (!rc)
		rc = check_kept(copy);
	if (!rc && copy->dst.drive.unnamed)
		rc = name_file(copy);
	copy->drive_failed = rc;
	if (!rc)
		copy->dst.write_mark = dnd_drive_write_mark(copy->ctx, &copy->dst.drive);
	return rc;
}

/* Makes the data survive a power cut, if the destination is able to keep it. */
int dnd_copy_settle(struct dnd_copy *copy)
{
	dnd_copy_progress(copy, DONARD_PHASE_FLUSH, copy->result->bytes, copy->length);
	if (!copy->dst.is_memory)
		return settle_drive(copy);
	return dnd_memory_barrier(copy->dst.memory, dnd_region_persistent(&copy->dst.region));
}

int dnd_copy_check_name(struct dnd_copy *copy)
{
	struct donard_copy_result *result = copy->result;
	struct dnd_drive *drive = &copy->dst.drive;

	/* The program that has a handle has the file, whatever its name leads to. */
	if (copy->dst.is_memory || copy->held)
		return 0;
	/* A new file got its name when it was complete, and a program that waited for it may have renamed it since. */
	if (drive->made ? dnd_drive_has_name(drive) : !dnd_drive_check_path(copy->ctx, drive))
		return 0;
	result->durable = false;
	snprintf(result->durable_reason, sizeof(result->durable_reason), "its name does not lead to it any more");
	if (drive->made)
		return 0;
	if (!dnd_drive_has_name(drive))
		result->bytes = result->bounced_bytes = copy->touched_end = 0;
	return -EBUSY;
}

int dnd_copy_settle_nothing(struct dnd_copy *copy)
{
	struct dnd_doubt doubt = { .certain = false };
	int rc = 0;

	if (!copy->dst.is_memory) {
		rc = settle_drive(copy);
		if (!rc)
			dnd_drive_is_durable_now(copy->ctx, &copy->dst.drive, &doubt);
	}
	if (!rc)
		dnd_copy_judge(copy, &doubt);
	return rc;
}

int dnd_copy_settle_proof(struct dnd_copy *copy, int rc)
{
	struct dnd_drive *drive = &copy->dst.drive;
	struct dnd_failure failure = dnd_failure_keep(copy->ctx);
	uint64_t end = copy->dst.offset + copy->align;
	int back;

	if (!dnd_copy_into_old_file(copy) || end <= drive->size_bytes)
		return rc;
	back = dnd_drive_cut(copy->ctx, drive, end, drive->size_bytes);
	if (rc)
		dnd_failure_put_back(copy->ctx, &failure);
	return rc ? rc : back;
}

/* Setting the length that the file has already frees the blocks that were reserved behind its end. */
static void leave_file(struct dnd_copy *copy)
{
	struct dnd_drive *drive = &copy->dst.drive;
	uint64_t end = end_of(copy), length = drive->unnamed ? dnd_drive_length(drive) : drive->size_bytes;

	if (!drive->unnamed && copy->result->bytes)
		length = dnd_max(length, end);
	if (drive->reserved)
		dnd_drive_cut(copy->ctx, drive, length, length);
	if (drive->unnamed && copy->result->bytes && !dnd_drive_cut(copy->ctx, drive, length, end))
		dnd_drive_name(copy->ctx, drive);
	/* A file without a name is gone when it is closed. */
	if (drive->unnamed)
		copy->result->bytes = copy->result->bounced_bytes = 0;
}

void dnd_copy_settle_failed(struct dnd_copy *copy)
{
	struct dnd_failure failure = dnd_failure_keep(copy->ctx);

	if (!copy->dst.is_memory && copy->dst.drive.is_file && copy->dst.drive.fd >= 0)
		leave_file(copy);
	dnd_failure_put_back(copy->ctx, &failure);
}
