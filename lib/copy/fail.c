// SPDX-License-Identifier: Apache-2.0
/* What an errno of a read or write into device memory means. */
#include <stdio.h>

#include "copy/copy.h"

static int refused(struct dnd_copy *copy, const char *what, const char *label, int error_number)
{
	const struct donard_route *route = &copy->chosen.route;
	char client[DND_ROUTE_NAME_BYTES], region[DND_ROUTE_NAME_BYTES];

	return dnd_fail(copy->ctx, DND_E_UNREACHABLE, "%s: the kernel refused to %s it directly "
			"(%s): %s and %s are joined %s%s%s. Put both below one PCIe switch, or "
			"pass --allow-bounce.", label, what, strerror(error_number),
			dnd_copy_route_client(copy, client), dnd_copy_route_region(copy, region),
			route->bridge[0] ? "at bridge " : "", route->bridge[0] ? route->bridge :
			"by an unknown path", route->reason[0] ? " (see 'donard-cli topo')" : "");
}

/* Without the block layer the drive's own word is known. */
static const char *drive_said(const struct dnd_copy *copy, char *text, size_t text_bytes)
{
	text[0] = '\0';
	if (copy->nvme_status)
		snprintf(text, text_bytes, " (NVMe status type %#x, code %#x: %s)",
			 copy->nvme_status >> 8, copy->nvme_status & 0xff,
			 dnd_nvme_status_text(copy->nvme_status));
	return text;
}

static int device_failed(struct dnd_copy *copy, const char *what, const char *label,
			 uint64_t offset, int error_number)
{
	const struct donard_route *route = &copy->chosen.route;
	char said[128];

	return dnd_fail(copy->ctx, DND_E_DEVICE, "%s: %s at offset %llu failed: %s%s. The route to "
			"%s is '%s'%s%s; if it drops peer-to-peer traffic, pass --allow-bounce, "
			"else look at dmesg for a medium error.", label, what,
			(unsigned long long)offset, strerror(error_number),
			drive_said(copy, said, sizeof(said)), dnd_copy_region(copy)->name,
			donard_route_text(route->route),
			route->bridge[0] ? " through " : "", route->bridge);
}

static int gone(struct dnd_copy *copy)
{
	const char *name = dnd_copy_region(copy)->name;

	return dnd_fail(copy->ctx, DND_E_REGION_GONE, "%s: the region went away during the copy. "
			"Add it again, and repeat the copy.", name);
}

int dnd_copy_drive_lost(struct dnd_copy *copy, const struct dnd_side *side)
{
	const struct dnd_blockdev *blockdev = &side->drive.blockdev;

	if (side->is_region || dnd_blockdev_health(copy->ctx, blockdev) != DND_HEALTH_GONE)
		return 0;
	return dnd_fail(copy->ctx, DND_E_DRIVE_GONE, "%s: the drive went away during the copy: its "
			"controller %s was unplugged or unbound, or has died. Bring it back, and "
			"repeat the copy.", side->label, blockdev->controllers[0]);
}

/* The block layer would have waited, and tried again. */
static bool meets_reset(struct dnd_copy *copy, const struct dnd_side *side)
{
	return side->generic.fd >= 0 &&
	       dnd_blockdev_health(copy->ctx, &side->drive.blockdev) == DND_HEALTH_RESETTING;
}

static int failed_in_reset(struct dnd_copy *copy, const char *what, const char *label,
			   uint64_t offset)
{
	return dnd_fail(copy->ctx, DND_E_DEVICE, "%s: %s at offset %llu failed: its controller is "
			"being reset, and with --passthrough a command that fails meanwhile is "
			"not tried again. Repeat the copy, or copy without --passthrough.", label,
			what, (unsigned long long)offset);
}

int dnd_copy_failed(struct dnd_copy *copy, enum dnd_step step, uint64_t offset,
		    int error_number)
{
	const struct dnd_side *side = step == DND_STEP_WRITE ? &copy->dst : &copy->src;
	const char *what = step == DND_STEP_WRITE ? "write" : "read";
	char said[128];
	int rc;

	offset += side->offset;
	if (error_number == ECANCELED && copy->region_lost)
		return gone(copy);
	if (error_number == ECANCELED)
		return dnd_fail(copy->ctx, DND_E_CANCELED, "stopped");
	if (step == DND_STEP_SETUP)
		return dnd_fail_errno(copy->ctx, error_number, "io_uring cannot be used (see "
				      "kernel.io_uring_disabled)");
	if (step == DND_STEP_CPU || dnd_copy_region_gone(copy))
		return gone(copy);
	rc = dnd_copy_drive_lost(copy, side);
	if (rc)
		return rc;
	if (meets_reset(copy, side))
		return failed_in_reset(copy, what, side->label, offset);
	if (!copy->bounced && (error_number == EINVAL || error_number == EREMOTEIO))
		return refused(copy, what, side->label, error_number);
	if (error_number == EIO && !copy->bounced)
		return device_failed(copy, what, side->label, offset, error_number);
	return dnd_fail_errno(copy->ctx, error_number, "%s: %s at offset %llu failed%s", side->label,
			      what, (unsigned long long)offset,
			      drive_said(copy, said, sizeof(said)));
}

int dnd_copy_no_spare(struct dnd_copy *copy)
{
	if (dnd_copy_region_gone(copy))
		return dnd_copy_failed(copy, DND_STEP_CPU, 0, ENODEV);
	if (dnd_region_persistent(dnd_copy_region(copy)))
		return dnd_fail(copy->ctx, DND_E_NO_SPACE, "%s: the last block of the copy is "
				"partial, and no block of %s, which is persistent memory, is used to "
				"merge it with what %s holds. Use a --size that is a multiple of %u.",
				copy->dst.label, dnd_copy_region(copy)->name, copy->dst.label,
				copy->align);
	return dnd_fail(copy->ctx, DND_E_NO_SPACE, "%s: the last block of the copy is partial, "
			"and %s has no spare block in which to merge it with what %s holds. Use a "
			"--size that is a multiple of %u, or free some of the region.",
			copy->dst.label, dnd_copy_region(copy)->name, copy->dst.label,
			copy->align);
}
