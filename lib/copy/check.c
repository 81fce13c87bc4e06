// SPDX-License-Identifier: Apache-2.0
/* Refuses bad copies before anything changes. */
#include "copy/copy.h"

#define MAX_BLOCK_BYTES	(1ULL << 30)
#define MAX_QUEUE_DEPTH	4096
#define MIN_ALIGN_BYTES	512U
#define MAX_ALIGN_BYTES	(1U << 20)

int dnd_copy_check_options(struct dnd_copy *copy)
{
	if (copy->options.block_bytes > MAX_BLOCK_BYTES)
		return dnd_fail_member(copy->ctx, DND_E_BAD_OPTION,
				       DND_MOST("options.block_bytes", copy->options.block_bytes, MAX_BLOCK_BYTES),
				       "options.block_bytes is at most 1 GiB.");
	if (copy->options.block_bytes % MIN_ALIGN_BYTES)
		return dnd_fail_member(copy->ctx, DND_E_BAD_OPTION,
				       DND_MULTIPLE("options.block_bytes", copy->options.block_bytes, MIN_ALIGN_BYTES),
				       "options.block_bytes: %llu is not a multiple "
				       "of %u, the smallest logical block.",
				       (unsigned long long)copy->options.block_bytes, MIN_ALIGN_BYTES);
	if (copy->options.queue_depth > MAX_QUEUE_DEPTH)
		return dnd_fail_member(copy->ctx, DND_E_BAD_OPTION,
				       DND_MOST("options.queue_depth", copy->options.queue_depth, MAX_QUEUE_DEPTH),
				       "options.queue_depth is at most %d.",
				       MAX_QUEUE_DEPTH);
	if (dnd_copy_flag(copy, DONARD_COPY_FORCE_BOUNCE) && dnd_copy_flag(copy, DONARD_COPY_ALLOW_BOUNCE))
		return dnd_fail_member(copy->ctx, DND_E_BAD_OPTION, DND_AT("FORCE_BOUNCE"),
				       "FORCE_BOUNCE and ALLOW_BOUNCE exclude each other: one "
				       "always goes through DRAM, the other only where there is no route. Give one of them.");
	if (dnd_copy_flag(copy, DONARD_COPY_FORCE_BOUNCE) && copy->src.is_memory && copy->dst.is_memory)
		return dnd_fail_member(copy->ctx, DND_E_BAD_OPTION, DND_AT("FORCE_BOUNCE"),
				       "FORCE_BOUNCE is for copies of drives: between two memories the CPU moves the bytes, and "
				       "none of them goes through DRAM.");
	if (copy->options.via && !dnd_copy_staged(copy))
		return dnd_fail_member(copy->ctx, DND_E_BAD_OPTION, DND_AT("options.via"),
				       "options.via is for a copy from drive to "
				       "drive; here a region is an end of the copy already.");
	if (copy->options.via && dnd_copy_flag(copy, DONARD_COPY_FORCE_BOUNCE))
		return dnd_fail_member(copy->ctx, DND_E_BAD_OPTION, DND_AT("options.via"),
				       "options.via names a region, and a copy with "
				       "FORCE_BOUNCE goes through none. Give one of them.");
	return 0;
}

/* The member that sets it. */
static const char *offset_of(const struct dnd_copy *copy, const struct dnd_side *side)
{
	return side == &copy->src ? "options.src_offset_bytes" : "options.dst_offset_bytes";
}

static int too_long(struct dnd_copy *copy, uint64_t left)
{
	struct dnd_fault fault = DND_MOST("options.length_bytes", copy->length, left);

	if (!left)
		return dnd_fail_member(copy->ctx, DND_E_PAST_END, fault, "%s: %llu bytes are asked for, and it is empty. Leave "
				       "options.length_bytes out, or choose another source.", copy->src.label,
				       (unsigned long long)copy->length);
	return dnd_fail_member(copy->ctx, DND_E_PAST_END, fault, "%s: %llu bytes are asked for and %llu are there from offset "
			       "%llu. Use a smaller options.length_bytes.", copy->src.label, (unsigned long long)copy->length,
			       (unsigned long long)left, (unsigned long long)copy->src.offset);
}

static int check_source(struct dnd_copy *copy)
{
	uint64_t size = copy->src.size_bytes, left;

	if (copy->src.offset > size || (copy->src.offset == size && size))
		return dnd_fail_member(copy->ctx, DND_E_PAST_END,
				       DND_MOST(offset_of(copy, &copy->src), copy->src.offset, size ? size - 1 : 0),
				       "%s: offset %llu is past the end; it "
				       "holds %llu bytes. Choose a smaller offset.", copy->src.label,
				       (unsigned long long)copy->src.offset, (unsigned long long)size);
	left = size - copy->src.offset;
	copy->length = copy->options.length_bytes ? copy->options.length_bytes : left;
	return copy->length > left ? too_long(copy, left) : 0;
}

bool dnd_copy_is_same_file(const struct dnd_copy *copy)
{
	const struct dnd_drive *src = &copy->src.drive, *dst = &copy->dst.drive;

	return !copy->src.is_memory && !copy->dst.is_memory && src->is_file && dst->is_file && src->device == dst->device && src->inode == dst->inode;
}

static int check_target(struct dnd_copy *copy)
{
	struct dnd_side *dst = &copy->dst;
	uint64_t size = dst->size_bytes;
	bool grows = !dst->is_memory && dst->drive.is_file;

	/*
	 * Truncates as cp and dd do, but not if the caller named a part and so keeps the rest, or if the source is in the same
	 * file.
	 */
	copy->cuts = grows && !copy->options.length_bytes && !dst->offset && !dnd_copy_flag(copy, DONARD_COPY_KEEP_REST) &&
		     !dnd_copy_is_same_file(copy);
	if (dst->offset > size || (dst->offset == size && size && !grows))
		return dnd_fail_member(copy->ctx, DND_E_PAST_END,
				       DND_MOST(offset_of(copy, dst), dst->offset, grows || !size ? size : size - 1),
				       "%s: offset %llu is past the end; it "
				       "holds %llu bytes. Choose a smaller offset.", dst->label, (unsigned long long)dst->offset,
				       (unsigned long long)size);
	if (grows || copy->length <= size - dst->offset)
		return 0;
	return dnd_fail_member(copy->ctx, DND_E_NO_SPACE, DND_MOST("options.length_bytes", copy->length, size - dst->offset),
			       "%s: the copy would be truncated: %llu bytes "
			       "do not fit into the %llu from offset %llu. Use options.length_bytes, or a larger "
			       "destination.", dst->label, (unsigned long long)copy->length,
			       (unsigned long long)(size - dst->offset),
			       (unsigned long long)dst->offset);
}

/* Does the alignment of the copy come from the side's file system, because that asks for more than its drive? */
static bool file_system_decides(const struct dnd_copy *copy, const struct dnd_side *side)
{
	return !side->is_memory && side->drive.is_file && side->drive.align_bytes == copy->align &&
	       side->drive.align_bytes > side->drive.blockdev.block_bytes;
}

/* Returns the name of the copy's alignment for error texts. */
static const char *align_text(const struct dnd_copy *copy)
{
	return file_system_decides(copy, &copy->src) || file_system_decides(copy, &copy->dst) ? "block size of the file system" :
	       "logical block size";
}

static int check_block(struct dnd_copy *copy)
{
	uint64_t value = copy->options.block_bytes;

	if (value % copy->align == 0)
		return 0;
	return dnd_fail_member(copy->ctx, DND_E_ALIGNMENT, DND_MULTIPLE("options.block_bytes", value, copy->align),
			       "options.block_bytes: value %llu is not a multiple of %u, the %s. Use a multiple.",
			       (unsigned long long)value, copy->align, align_text(copy));
}

static uint32_t side_align(const struct dnd_side *side)
{
	return side->is_memory ? 1 : side->drive.align_bytes;
}

/* The program's memory may begin anywhere, and the drive asks only for an aligned address. */
static int check_address(struct dnd_copy *copy, const struct dnd_side *side, const struct dnd_side *other)
{
	uintptr_t address = (uintptr_t)(side->memory->window.data + side->at);

	if (other->is_memory || address % other->drive.memory_align_bytes == 0)
		return 0;
	return dnd_fail_member(copy->ctx, DND_E_ALIGNMENT, DND_VALUE(offset_of(copy, side), side->offset),
			       "%s: the address of its byte %llu, %p, is not a multiple of %u, which %s asks for. "
			       "Choose another offset.", side->label, (unsigned long long)side->offset, (void *)address,
			       other->drive.memory_align_bytes, other->label);
}

static int check_offset(struct dnd_copy *copy, const struct dnd_side *side, const struct dnd_side *other)
{
	if (copy->held && side->is_memory)
		return check_address(copy, side, other);
	if (side->offset % copy->align == 0)
		return 0;
	return dnd_fail_member(copy->ctx, DND_E_ALIGNMENT, DND_MULTIPLE(offset_of(copy, side), side->offset, copy->align),
			       "%s: offset %llu is not a multiple of %u, the %s. Use a multiple.", side->label,
			       (unsigned long long)side->offset, copy->align, align_text(copy));
}

static int check_alignment(struct dnd_copy *copy)
{
	int rc;

	copy->align = (uint32_t)dnd_max(side_align(&copy->src), side_align(&copy->dst));
	if (copy->align > MAX_ALIGN_BYTES || (copy->align & (copy->align - 1)))
		return dnd_fail(copy->ctx, DND_E_UNSUPPORTED, "a logical block of %u bytes is not "
				"supported.", copy->align);
	rc = check_offset(copy, &copy->src, &copy->dst);
	if (!rc)
		rc = check_offset(copy, &copy->dst, &copy->src);
	return rc ? rc : check_block(copy);
}

/*
 * Do source and destination overlap?  Returns 1, 0, or -errno with a text.  The copy has not claimed the memory of
 * named ends yet, so it compares their offsets in the region.
 */
static int memories_overlap(struct dnd_copy *copy)
{
	const struct dnd_side *src = &copy->src, *dst = &copy->dst;
	int64_t shift = (int64_t)(dst->offset - src->offset);
	int overlap = src->offset < dst->offset + copy->length && dst->offset < src->offset + copy->length;

	if (!src->memory || !dst->memory || strcmp(src->region.name, dst->region.name))
		return 0;
	if (copy->held)
		overlap = dnd_memory_overlap(src->memory, src->at, dst->memory, dst->at, copy->length, &shift);
	if (overlap > 0)
		copy->shift_bytes = shift;
	return overlap;
}

static int shares_bytes(struct dnd_copy *copy)
{
	return dnd_fail(copy->ctx, DND_E_OVERLAP, "%s and %s: source and destination share bytes. Choose ranges that do not overlap.",
			copy->src.label, copy->dst.label);
}

/* The memories overlap.  The copy then works like memmove(), and overwrites bytes of the source that it has read. */
static int check_shift(struct dnd_copy *copy)
{
	const char *src = copy->src.label, *dst = copy->dst.label;

	if (!copy->shift_bytes && copy->held)
		return shares_bytes(copy);
	if (!copy->shift_bytes)
		return dnd_fail(copy->ctx, DND_E_OVERLAP, "%s: source and destination are the "
				"same bytes. Choose another place for one of them.", src);
	if (!dnd_copy_flag(copy, DONARD_COPY_VERIFY))
		return 0;
	return dnd_fail(copy->ctx, DND_E_OVERLAP, "%s and %s overlap: the copy changes its "
			"source, so that VERIFY has nothing to compare with. Leave VERIFY out, or choose "
			"places that do not overlap.", src, dst);
}

static int check_overlap(struct dnd_copy *copy)
{
	const struct dnd_side *src = &copy->src, *dst = &copy->dst;
	enum dnd_sharing sharing = dnd_copy_staged(copy) ?
		dnd_drive_overlap(&src->drive, src->offset, &dst->drive, dst->offset, copy->length) : DND_APART;
	int overlap;

	if (sharing == DND_MAY_SHARE)
		return dnd_fail(copy->ctx, DND_E_OVERLAP, "%s and %s: both lie on one drive, and it is not "
				"known whether they share bytes of it (a device-mapper table that only root can read, "
				"raid0 of legs of different sizes, or a far layout of raid10). Copy as root, or by way of "
				"another drive.", src->label, dst->label);
	if (sharing == DND_SHARE)
		return shares_bytes(copy);
	overlap = memories_overlap(copy);
	return overlap > 0 ? check_shift(copy) : overlap;
}

int dnd_copy_check(struct dnd_copy *copy)
{
	int rc = check_source(copy);

	if (!rc)
		rc = check_target(copy);
	if (!rc)
		rc = check_alignment(copy);
	return rc ? rc : check_overlap(copy);
}

/* Somebody else shares an adopted descriptor, and taking O_DIRECT off it would affect them. */
int dnd_copy_check_adopted(struct dnd_copy *copy)
{
	const struct dnd_side *dst = &copy->dst;

	if (dst->is_memory || !dst->drive.is_file || !dst->drive.shared || copy->length % copy->align == 0)
		return 0;
	return dnd_fail_member(copy->ctx, DND_E_ALIGNMENT, DND_MULTIPLE("options.length_bytes", copy->length, copy->align),
			       "%s: the copy ends within a block, and the adopted "
			       "descriptor cannot be opened again to write that without O_DIRECT. Make options.length_bytes a "
			       "multiple of %u, or open the file by its path.", dst->label, copy->align);
}
