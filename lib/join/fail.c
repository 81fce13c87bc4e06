// SPDX-License-Identifier: Apache-2.0
/*
 * Finds out what an errno of a read or write into device memory means.  Each errno has several causes, and this file
 * checks the others before it blames the usual one.  Is the region still there, and the drive, with its full size?  May
 * the file be written?  Was the route proven?  Can the drive deliver the block to DRAM?  The route is to blame only if
 * nothing else is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "join/join.h"

/*
 * A driver that stacks devices has to declare that P2PDMA pages may pass through it
 * (BLK_FEAT_PCI_P2PDMA).  md's raid0, raid1 and raid10 and the heads of NVMe multipath do so
 * in Linux 7.3, and did not when P2PDMA pages came (6.13); device-mapper
 * never does: dm_set_stacking_limits() in drivers/md/dm-table.c has the list.
 */
static int stops_p2pdma(struct dnd_join *join, const char *what, int error_number)
{
	char remedy[DND_GENERIC_REMEDY_BYTES];

	return dnd_fail(join->ctx, DND_E_UNREACHABLE, "%s: the kernel refused to %s it directly (%s): "
			"this kernel does not let P2PDMA pages, which %s has, pass through %s. %s, or pass ALLOW_BOUNCE.",
			join->drive->path, what, strerror(error_number), join->region->name,
			join->drive->blockdev.disk, dnd_region_generic_remedy(join->ctx, join->region, remedy));
}

/* Is the drive, or the device above any of its legs, one of device-mapper?  An array above it inherits its limits. */
static bool has_device_mapper(const struct dnd_blockdev *blockdev)
{
	const char *name, *under;

	if (!strncmp(blockdev->disk, "dm-", 3))
		return true;
	for (size_t i = 0; i < dnd_blockdev_leg_count(blockdev); i++) {
		dnd_blockdev_leg_names(blockdev, i, &name, &under);
		if (!strncmp(under, "dm-", 3))
			return true;
	}
	return false;
}

/*
 * May a layer of a stacked drive be what stops P2PDMA pages?  Through a bridge that is on no list, the kernel lets these pages
 * reach no drive at all, so that an array is not to blame.
 */
static bool may_stop_p2pdma(const struct dnd_join *join)
{
	const struct dnd_blockdev *blockdev = &join->drive->blockdev;

	if (join->region->info.page_type != P2PMEM_PAGES_P2PDMA)
		return false;
	return has_device_mapper(blockdev) || ((blockdev->stack || blockdev->multipath) && !join->route.unlisted_bridge);
}

static int refused(struct dnd_join *join, const char *what, int error_number)
{
	const struct donard_route *route = &join->route;
	char client[DND_JOIN_NAME_BYTES], region[DND_JOIN_NAME_BYTES];

	if (may_stop_p2pdma(join))
		return stops_p2pdma(join, what, error_number);
	return dnd_fail(join->ctx, DND_E_UNREACHABLE, "%s: the kernel refused to %s it directly "
			"(%s): %s and %s are joined %s%s%s. %s, or pass ALLOW_BOUNCE.",
			join->drive->path, what, strerror(error_number),
			dnd_join_client_text(join, client), dnd_join_region_text(join, region),
			route->bridge[0] ? "at bridge " : "", route->bridge[0] ? route->bridge :
			"by an unknown path", route->reason[0] ? " (see donard_route_probe())" : "",
			dnd_route_remedy(route));
}

/* The drive's own status, which is known for a command that bypassed the block layer. */
static const char *drive_said(uint32_t nvme_status, char *text, size_t text_bytes)
{
	text[0] = '\0';
	if (nvme_status)
		snprintf(text, text_bytes, " (NVMe status type %#x, code %#x: %s)",
			 nvme_status >> 8, nvme_status & 0xff, dnd_nvme_status_text(nvme_status));
	return text;
}

/* Can the drive deliver the block to DRAM, without any region? */
static bool dram_gets(const struct dnd_join *join, uint64_t offset)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	void *memory;
	ssize_t got;

	if (posix_memalign(&memory, dnd_max(page, join->align), join->align))
		return true;
	got = pread(join->drive->fd, memory, join->align, (off_t)offset);
	free(memory);
	return got >= 0;
}

static int drive_failed(struct dnd_join *join, const char *what, uint64_t offset, int error_number, const char *said,
			const char *why_not_route)
{
	return dnd_fail(join->ctx, DND_E_DEVICE, "%s: %s at offset %llu failed: %s%s. %s: look at dmesg for a medium error, "
			"a namespace that was detached, or what else its drive reported.", join->drive->path, what, (unsigned long long)offset,
			strerror(error_number), said, why_not_route);
}

static int route_failed(struct dnd_join *join, const char *what, uint64_t offset, int error_number, const char *said)
{
	const struct donard_route *route = &join->route;

	join->blamed = true;
	return dnd_fail(join->ctx, DND_E_DEVICE, "%s: %s at offset %llu failed: %s%s. The route to "
			"%s is '%s'%s%s; if it drops peer-to-peer traffic, %s, "
			"else look at dmesg for a medium error.", join->drive->path, what,
			(unsigned long long)offset, strerror(error_number), said, join->region->name,
			donard_route_text(route->route),
			route->bridge[0] ? " through " : "", route->bridge,
			join->leave & DND_JOIN_BOUNCE ? "use FORCE_BOUNCE of a copy" : "pass ALLOW_BOUNCE");
}

bool dnd_join_bounce_helps(const struct dnd_join *join, int rc)
{
	return rc == -EHOSTUNREACH || rc == -EBADMSG || rc == -EOPNOTSUPP || (rc && join->blamed);
}

/*
 * A transfer between the drive and a region failed.  Even an error that the drive reports, such as ENODATA for its
 * medium, may come from the route.
 */
static int direct_failed(struct dnd_join *join, bool writes, uint64_t offset, int error_number, const char *said)
{
	const char *what = writes ? "write" : "read";
	bool refusal = error_number == EINVAL || error_number == EREMOTEIO;

	/* A proof of one path says nothing about the others.  That DRAM gets the block shows more than an old proof. */
	if (join->dram != DND_DRAM_GETS && join->proven && !dnd_blockdev_has_paths(&join->drive->blockdev))
		return drive_failed(join, what, offset, error_number, said, "Blocks went this way before");
	if (join->dram == DND_DRAM_ASK_LATER)
		return -EINPROGRESS;
	if (join->dram == DND_DRAM_FAILS || (join->dram == DND_DRAM_ASK && !dram_gets(join, offset)))
		return drive_failed(join, what, offset, error_number, said, "DRAM cannot get the block either");
	return refusal ? refused(join, what, error_number) : route_failed(join, what, offset, error_number, said);
}

/* A reset fails a command of PASSTHROUGH; the block layer would have waited, and tried again. */
static bool meets_reset(struct dnd_join *join)
{
	size_t leg;

	return join->generic &&
	       dnd_blockdev_health(join->ctx, &join->drive->blockdev, &leg) == DND_HEALTH_RESETTING;
}

static int failed_in_reset(struct dnd_join *join, const char *what, uint64_t offset)
{
	return dnd_fail(join->ctx, DND_E_DEVICE, "%s: %s at offset %llu failed: its controller is "
			"being reset, and with PASSTHROUGH a command that fails meanwhile is "
			"not tried again. Repeat it, or leave PASSTHROUGH out.",
			join->drive->path, what, (unsigned long long)offset);
}

/*
 * While the device of the region is being reset, a page that nobody has touched yet cannot be pinned: the module waits only
 * briefly for the end of the reset (kernel/mmap.c).
 */
static bool region_is_away(const struct dnd_join *join, int error_number)
{
	return error_number == EFAULT && join->region && !join->bounced && join->region->fd >= 0 &&
	       dnd_region_try_sync(join->region, false) == -EIO;
}

/* EINTR: the kernel cancelled the command (drivers/nvme/host/ioctl.c: NVME_REQ_CANCELLED). */
static int cancelled(struct dnd_join *join, const char *what, uint64_t offset)
{
	return dnd_fail(join->ctx, DND_E_DEVICE, "%s: %s at offset %llu was cancelled: the drive did not answer in time, or was "
			"reset. Look at dmesg, and repeat it.", join->drive->path, what, (unsigned long long)offset);
}

/*
 * dnd_generic_check() stopped the command; it does not stop commands in flight.  An open donard_file keeps the size that the
 * drive had when it was opened.
 */
static int changed_below(struct dnd_join *join, const char *what, uint64_t offset, int error_number)
{
	if (error_number == EROFS)
		return dnd_fail(join->ctx, DND_E_READ_ONLY, "%s: it was made read-only after it was opened, and the %s at "
				"offset %llu was not sent. Make it writable (blockdev --setrw), and repeat it.",
				join->drive->path, what, (unsigned long long)offset);
	return dnd_fail(join->ctx, DND_E_DEVICE, "%s: its size or its format was changed since it was opened, and the %s at "
			"offset %llu was not sent: commands of PASSTHROUGH do not stop at the end of a partition. Those in "
			"flight at that moment went to the old place. Look at the partition table, open the drive again if your "
			"program has it open, and repeat it.", join->drive->path, what, (unsigned long long)offset);
}

/* EILSEQ: the drive or the block layer found the mismatch. */
static int protection_failed(struct dnd_join *join, const char *what, uint64_t offset)
{
	return dnd_fail(join->ctx, DND_E_DEVICE, "%s: %s at offset %llu failed: a block does not match its protection "
			"information. It was not written since the drive was formatted, or is damaged: write it, or "
			"use other blocks.", join->drive->path, what, (unsigned long long)offset);
}

static int cut_short(struct dnd_join *join, bool writes, uint64_t offset)
{
	if (writes && join->drive->is_file)
		return dnd_fail(join->ctx, DND_E_SYSTEM, "%s: write at offset %llu ended early: its file system is full, or "
				"another program changes its length. Make room, or wait for that to end, and repeat it.",
				join->drive->path, (unsigned long long)offset);
	return dnd_fail(join->ctx, DND_E_SYSTEM, "%s: %s at offset %llu ended early: another program changes its length, or "
			"its size. Wait for that to end, and repeat it.", join->drive->path, writes ? "write" : "read",
			(unsigned long long)offset);
}

static int forbidden(struct dnd_join *join, uint64_t offset, int error_number)
{
	const char *cause = dnd_drive_forbidden(join->drive, error_number);
	enum dnd_error code = error_number == ETXTBSY ? DND_E_BUSY : DND_E_PERMISSION;

	if (error_number == EPERM && dnd_drive_is_read_only(join->drive))
		return changed_below(join, "write", offset, EROFS);
	return cause ? dnd_fail(join->ctx, code, "%s: write at offset %llu failed: %s, and repeat it.",
				join->drive->path, (unsigned long long)offset, cause) : 0;
}

/* The failure that the file or drive has changed since it was opened, or 0. */
static int changed(struct dnd_join *join, bool writes, uint64_t offset, int error_number)
{
	const struct dnd_drive *drive = join->drive;
	int rc = 0;

	/* A file grows as it is written, so a failed write does not come from its being too short. */
	if (!writes || !drive->is_file)
		rc = dnd_drive_shrank(join->ctx, drive, error_number == DND_CUT_SHORT ? drive->size_bytes :
				      dnd_min(offset + join->align, drive->size_bytes));
	return !rc && writes ? forbidden(join, offset, error_number) : rc;
}

int dnd_join_failed(struct dnd_join *join, bool writes, uint64_t offset, int error_number,
		    uint32_t nvme_status)
{
	const char *what = writes ? "write" : "read";
	char text[128];
	const char *said = drive_said(nvme_status, text, sizeof(text));
	int rc;

	if (join->region && dnd_region_called_back(join->region))
		return dnd_region_access_failed(join->ctx, join->region, ENODEV);
	rc = dnd_drive_lost(join->ctx, join->drive);
	if (rc)
		return rc;
	if (meets_reset(join))
		return failed_in_reset(join, what, offset);
	if (region_is_away(join, error_number))
		return dnd_region_access_failed(join->ctx, join->region, EIO);
	if ((error_number == ESTALE || error_number == EROFS) && join->generic)
		return changed_below(join, what, offset, error_number);
	rc = changed(join, writes, offset, error_number);
	if (rc)
		return rc;
	if (error_number == DND_CUT_SHORT)
		return cut_short(join, writes, offset);
	if (error_number == EINTR && join->generic)
		return cancelled(join, what, offset);
	if (writes && (error_number == ENOSPC || error_number == EDQUOT))
		return dnd_drive_is_full(join->ctx, join->drive, offset, error_number);
	if (error_number == EILSEQ)
		return protection_failed(join, what, offset);
	if (join->region && !join->bounced && (error_number == EINVAL || error_number == EREMOTEIO ||
					       error_number == EIO || error_number == ENODATA))
		return direct_failed(join, writes, offset, error_number, said);
	return dnd_fail_errno(join->ctx, error_number, "%s: %s at offset %llu failed%s",
			      join->drive->path, what, (unsigned long long)offset, said);
}
