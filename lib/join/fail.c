// SPDX-License-Identifier: Apache-2.0
/* What an errno of a read or write into device memory means. */
#include <stdio.h>

#include "join/join.h"

/*
 * Who stacks devices has to say that P2PDMA pages may pass (BLK_FEAT_PCI_P2PDMA):
 * md's raid0, raid1 and raid10 do in Linux 7.3; device-mapper never does.
 * dm_set_stacking_limits() in drivers/md/dm-table.c has the list.
 */
static int stops_p2pdma(struct dnd_join *join, const char *what, int error_number)
{
	const char *region = join->region->name;

	return dnd_fail(join->ctx, DND_E_UNREACHABLE, "%s: the kernel refused to %s it directly (%s): "
			"this kernel lets no P2PDMA pages, which %s has, pass through %s. Give the region "
			"generic pages (donard-cli region set %s --page-type generic), or pass "
			"ALLOW_BOUNCE.", join->drive->path, what, strerror(error_number), region,
			join->drive->blockdev.disk, region);
}

/* An array of such devices says no more than they do. */
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

static int refused(struct dnd_join *join, const char *what, int error_number)
{
	const struct donard_route *route = &join->route;
	char client[DND_JOIN_NAME_BYTES], region[DND_JOIN_NAME_BYTES];

	if (has_device_mapper(&join->drive->blockdev) && join->region->info.page_type == P2PMEM_PAGES_P2PDMA)
		return stops_p2pdma(join, what, error_number);
	return dnd_fail(join->ctx, DND_E_UNREACHABLE, "%s: the kernel refused to %s it directly "
			"(%s): %s and %s are joined %s%s%s. Put both below one PCIe switch, or "
			"pass ALLOW_BOUNCE.", join->drive->path, what, strerror(error_number),
			dnd_join_client_text(join, client), dnd_join_region_text(join, region),
			route->bridge[0] ? "at bridge " : "", route->bridge[0] ? route->bridge :
			"by an unknown path", route->reason[0] ? " (see 'donard-cli topo')" : "");
}

/* Without the block layer the drive's own word is known. */
static const char *drive_said(uint32_t nvme_status, char *text, size_t text_bytes)
{
	text[0] = '\0';
	if (nvme_status)
		snprintf(text, text_bytes, " (NVMe status type %#x, code %#x: %s)",
			 nvme_status >> 8, nvme_status & 0xff, dnd_nvme_status_text(nvme_status));
	return text;
}

static int device_failed(struct dnd_join *join, const char *what, uint64_t offset,
			 int error_number, const char *said)
{
	const struct donard_route *route = &join->route;

	return dnd_fail(join->ctx, DND_E_DEVICE, "%s: %s at offset %llu failed: %s%s. The route to "
			"%s is '%s'%s%s; if it drops peer-to-peer traffic, pass ALLOW_BOUNCE, "
			"else look at dmesg for a medium error.", join->drive->path, what,
			(unsigned long long)offset, strerror(error_number), said, join->region->name,
			donard_route_text(route->route),
			route->bridge[0] ? " through " : "", route->bridge);
}

/* The block layer would have waited, and tried again. */
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
			"not tried again. Repeat the copy, or copy without PASSTHROUGH.",
			join->drive->path, what, (unsigned long long)offset);
}

/* The kernel's own word for it (drivers/nvme/host/ioctl.c: NVME_REQ_CANCELLED). */
static int cancelled(struct dnd_join *join, const char *what, uint64_t offset)
{
	return dnd_fail(join->ctx, DND_E_DEVICE, "%s: %s at offset %llu was cancelled: the drive did not answer in time, or was "
			"reset. Look at dmesg, and repeat the copy.", join->drive->path, what, (unsigned long long)offset);
}

/* What was in flight at that moment is past the question. */
static int changed_below(struct dnd_join *join, const char *what, uint64_t offset, int error_number)
{
	if (error_number == EROFS)
		return dnd_fail(join->ctx, DND_E_READ_ONLY, "%s: it was made read-only during the copy, and the %s at offset "
				"%llu was not sent. Make it writable (blockdev --setrw), and copy again.", join->drive->path,
				what, (unsigned long long)offset);
	return dnd_fail(join->ctx, DND_E_DEVICE, "%s: its size or its format was changed during the copy, and the %s at "
			"offset %llu was not sent: PASSTHROUGH's commands know no partition, and would reach what lies behind "
			"it. Those in flight at that moment went where it had been. Look at the partition table, and copy again.",
			join->drive->path, what, (unsigned long long)offset);
}

/* EILSEQ: the drive found it out, or the block layer. */
static int protection_failed(struct dnd_join *join, const char *what, uint64_t offset)
{
	return dnd_fail(join->ctx, DND_E_DEVICE, "%s: %s at offset %llu failed: a block does not go with its protection "
			"information. It was not written since the drive was formatted, or is damaged: write it, or "
			"copy other blocks.", join->drive->path, what, (unsigned long long)offset);
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
	if ((error_number == ESTALE || error_number == EROFS) && join->generic)
		return changed_below(join, what, offset, error_number);
	if (error_number == EINTR && join->generic)
		return cancelled(join, what, offset);
	if (error_number == EILSEQ)
		return protection_failed(join, what, offset);
	if (join->region && !join->bounced && (error_number == EINVAL || error_number == EREMOTEIO))
		return refused(join, what, error_number);
	/* ENODATA: the drive said that its medium failed. */
	if (join->region && !join->bounced && (error_number == EIO || error_number == ENODATA))
		return device_failed(join, what, offset, error_number, said);
	return dnd_fail_errno(join->ctx, error_number, "%s: %s at offset %llu failed%s",
			      join->drive->path, what, (unsigned long long)offset, said);
}
