// SPDX-License-Identifier: Apache-2.0
/* Finds where a byte of a drive or file lies among its legs, and opens a leg alone. */
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drive/stack.h"

/*
 * The bytes of such extents are not at the reported place; a write to a shared extent (reflink) goes elsewhere.  XFS also
 * writes blocks elsewhere that are shared no more, and says nothing of that before, if it has reserved a place for their copy
 * (xfs_find_trim_cow_extent()).
 */
#define NOT_THERE (FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_ENCODED | FIEMAP_EXTENT_DATA_INLINE | \
		   FIEMAP_EXTENT_NOT_ALIGNED | FIEMAP_EXTENT_SHARED)

/*
 * Finds where a byte of a file lies on the device, and how many bytes are contiguous there.  If it has no place there,
 * returns false; *run_bytes says for how many bytes that holds, or is 0 if that is not known.
 */
static bool find_on_device(int fd, uint64_t offset, uint64_t *on_device, uint64_t *run_bytes)
{
	union {
		struct fiemap map;
		char room[sizeof(struct fiemap) + sizeof(struct fiemap_extent)];
	} ask = { .map = { .fm_start = offset, .fm_length = UINT64_MAX - offset, .fm_extent_count = 1 } };
	const struct fiemap_extent *extent = ask.map.fm_extents;

	*run_bytes = 0;
	if (ioctl(fd, FS_IOC_FIEMAP, &ask.map))
		return false;
	*run_bytes = UINT64_MAX;
	if (!ask.map.fm_mapped_extents)
		return false;
	*run_bytes = extent->fe_logical - offset;
	if (offset < extent->fe_logical)
		return false;
	*on_device = extent->fe_physical + offset - extent->fe_logical;
	*run_bytes = extent->fe_length - (offset - extent->fe_logical);
	return !(extent->fe_flags & NOT_THERE);
}

void dnd_drive_locate(const struct dnd_drive *drive, uint64_t offset_bytes, struct dnd_places *places)
{
	const struct dnd_stack *stack = drive->blockdev.stack;
	uint64_t run_bytes = UINT64_MAX;
	bool found = stack && stack->nodes[stack->top].layout != DND_LAYOUT_UNKNOWN;

	places->count = 0;
	places->run_bytes = UINT64_MAX;
	if (found && drive->is_file)
		found = find_on_device(drive->fd, offset_bytes, &offset_bytes, &run_bytes);
	if (found)
		dnd_stack_locate(stack, offset_bytes, places);
	places->run_bytes = dnd_min(places->run_bytes, run_bytes);
}

int dnd_drive_open_leg(const struct donard_context *ctx, const struct dnd_drive *drive, size_t leg,
		       const char *path, struct dnd_drive *leg_drive)
{
	const struct dnd_leg *found = &drive->blockdev.stack->legs[leg];
	char node[PATH_MAX];
	struct stat st;

	*leg_drive = (struct dnd_drive){
		.path = path,
		.blockdev = found->blockdev,
		.align_bytes = drive->align_bytes,
		.memory_align_bytes = drive->memory_align_bytes,
		.size_bytes = found->blockdev.length_bytes,
		.device = found->device,
	};
	snprintf(node, sizeof(node), "%s/%s", ctx->dev_root, found->name);
	leg_drive->fd = open(node, O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (leg_drive->fd < 0)
		return -errno;
	if (!fstat(leg_drive->fd, &st) && S_ISBLK(st.st_mode) && st.st_rdev == found->device)
		return 0;
	dnd_drive_close(leg_drive);
	return -ENODEV;
}
