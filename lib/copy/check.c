// SPDX-License-Identifier: Apache-2.0
/* Opens both sides of a copy and refuses bad ones before anything changes. */
#include <stdio.h>

#include "copy/copy.h"

#define MAX_BLOCK_BYTES	(1ULL << 30)
#define MAX_QUEUE_DEPTH	4096
#define MIN_ALIGN_BYTES	512U
#define MAX_ALIGN_BYTES	(1U << 20)

/* That of the name, "p2pmem0+64M", comes to that of the options. */
static int add_offset(struct dnd_copy *copy, struct dnd_side *side, const struct dnd_spec *spec)
{
	if (!__builtin_add_overflow(side->offset, spec->offset_bytes, &side->offset))
		return 0;
	return dnd_fail(copy->ctx, DND_E_PAST_END, "%s: its offset and the one in the options add up to more than any device holds. "
			"Choose smaller ones.", spec->path);
}

static int open_region_side(struct dnd_copy *copy, struct dnd_side *side,
			    const struct dnd_spec *spec)
{
	side->is_region = true;
	/* Both sides in one region share the open file, which owns the memory. */
	if (side == &copy->dst && copy->src.is_region &&
	    !strcmp(copy->src.region.name, spec->region)) {
		copy->one_region = true;
		side->region = copy->src.region;
		return 0;
	}
	return dnd_region_open(copy->ctx, spec->region, &side->region);
}

static int open_side(struct dnd_copy *copy, struct dnd_side *side, const struct dnd_spec *spec)
{
	int rc = add_offset(copy, side, spec);

	side->label = spec->path;
	if (rc)
		return rc;
	if (spec->is_gpu)
		return dnd_copy_gpu_open(copy, side, spec);
	if (spec->is_region)
		return open_region_side(copy, side, spec);
	if (side == &copy->src)
		return dnd_drive_open_source(copy->ctx, spec->path, &side->drive);
	return dnd_drive_open_target(copy->ctx, spec->path, &side->drive);
}

static int check_limits(struct dnd_copy *copy)
{
	if (copy->options.block_bytes > MAX_BLOCK_BYTES)
		return dnd_fail(copy->ctx, DND_E_BAD_OPTION, "options.block_bytes is at most 1 GiB.");
	if (copy->options.block_bytes % MIN_ALIGN_BYTES)
		return dnd_fail(copy->ctx, DND_E_BAD_OPTION, "options.block_bytes: %llu is not a multiple "
				"of %u, the smallest logical block.",
				(unsigned long long)copy->options.block_bytes, MIN_ALIGN_BYTES);
	if (copy->options.queue_depth > MAX_QUEUE_DEPTH)
		return dnd_fail(copy->ctx, DND_E_BAD_OPTION, "options.queue_depth is at most %d.",
				MAX_QUEUE_DEPTH);
	if (dnd_copy_flag(copy, DONARD_COPY_FORCE_BOUNCE) && dnd_copy_flag(copy, DONARD_COPY_ALLOW_BOUNCE))
		return dnd_fail(copy->ctx, DND_E_BAD_OPTION, "FORCE_BOUNCE and ALLOW_BOUNCE exclude each other: one "
				"always goes through DRAM, the other only where there is no route. Give one of them.");
	if (copy->options.via && !dnd_copy_staged(copy))
		return dnd_fail(copy->ctx, DND_E_BAD_OPTION, "options.via is for a copy from drive to "
				"drive; here a region is an end of the copy already.");
	if (copy->options.via && dnd_copy_flag(copy, DONARD_COPY_FORCE_BOUNCE))
		return dnd_fail(copy->ctx, DND_E_BAD_OPTION, "options.via names a region, and a copy with "
				"FORCE_BOUNCE goes through none. Give one of them.");
	return 0;
}

int dnd_copy_open(struct dnd_copy *copy, const char *src, const char *dst)
{
	struct dnd_spec from, to;
	int rc = dnd_spec_parse(copy->ctx, src, &from);

	if (!rc)
		rc = dnd_spec_check_path(copy->ctx, &from);
	if (!rc)
		rc = dnd_spec_parse(copy->ctx, dst, &to);
	if (!rc)
		rc = dnd_spec_check_path(copy->ctx, &to);
	if (rc)
		return rc;
	copy->src.is_region = from.is_region || from.is_gpu;
	copy->dst.is_region = to.is_region || to.is_gpu;
	rc = check_limits(copy);
	/* Without the module nothing else that is wrong matters yet. */
	if (!rc && (copy->src.is_region || copy->dst.is_region))
		rc = dnd_require_module(copy->ctx);
	if (rc)
		return rc;
	copy->src.offset = copy->options.src_offset_bytes;
	copy->dst.offset = copy->options.dst_offset_bytes;
	rc = open_side(copy, &copy->src, &from);
	return rc ? rc : open_side(copy, &copy->dst, &to);
}

static uint64_t side_bytes(const struct dnd_side *side)
{
	if (side->is_gpu)
		return side->gpu_bytes;
	return side->is_region ? side->region.info.region_bytes : side->drive.size_bytes;
}

static int check_source(struct dnd_copy *copy)
{
	uint64_t size = side_bytes(&copy->src), left;

	if (copy->src.offset > size || (copy->src.offset == size && size))
		return dnd_fail(copy->ctx, DND_E_PAST_END, "%s: offset %llu is past the end; it "
				"holds %llu bytes. Choose a smaller offset.", copy->src.label,
				(unsigned long long)copy->src.offset, (unsigned long long)size);
	left = size - copy->src.offset;
	copy->length = copy->options.length_bytes ? copy->options.length_bytes : left;
	if (copy->length > left)
		return dnd_fail(copy->ctx, DND_E_PAST_END, "%s: %llu bytes are asked for and %llu "
				"are there from offset %llu. Use a smaller options.length_bytes.",
				copy->src.label, (unsigned long long)copy->length,
				(unsigned long long)left, (unsigned long long)copy->src.offset);
	return 0;
}

static int check_target(struct dnd_copy *copy)
{
	struct dnd_side *dst = &copy->dst;
	uint64_t size = side_bytes(dst);
	bool grows = !dst->is_region && dst->drive.is_file;

	/* As cp and dd do; who names a part means to keep the rest. */
	copy->cuts = grows && !copy->options.length_bytes && !dst->offset;
	if (dst->offset > size || (dst->offset == size && size && !grows))
		return dnd_fail(copy->ctx, DND_E_PAST_END, "%s: offset %llu is past the end; it "
				"holds %llu bytes. Choose a smaller offset.", dst->label, (unsigned long long)dst->offset,
				(unsigned long long)size);
	if (grows || copy->length <= size - dst->offset)
		return 0;
	return dnd_fail(copy->ctx, DND_E_NO_SPACE, "%s: the copy would be truncated: %llu bytes "
			"do not fit into the %llu from offset %llu. Use options.length_bytes, or a larger "
			"destination.", dst->label, (unsigned long long)copy->length,
			(unsigned long long)(size - dst->offset),
			(unsigned long long)dst->offset);
}

/* The file system of the side asks for more than its drive does, and for as much as the copy keeps to. */
static bool file_system_decides(const struct dnd_copy *copy, const struct dnd_side *side)
{
	return !side->is_region && side->drive.is_file && side->drive.align_bytes == copy->align &&
	       side->drive.align_bytes > side->drive.blockdev.block_bytes;
}

static int check_aligned(struct dnd_copy *copy, const char *label, const char *what,
			 uint64_t value)
{
	bool file_system = file_system_decides(copy, &copy->src) ||
			   file_system_decides(copy, &copy->dst);

	if (value % copy->align == 0)
		return 0;
	return dnd_fail(copy->ctx, DND_E_ALIGNMENT, "%s: %s %llu is not a multiple of %u, the %s. "
			"Use a multiple.", label, what, (unsigned long long)value, copy->align,
			file_system ? "block size of the file system" : "logical block size");
}

static uint32_t side_align(const struct dnd_side *side)
{
	return side->is_region ? 1 : side->drive.align_bytes;
}

static int check_alignment(struct dnd_copy *copy)
{
	int rc;

	copy->align = (uint32_t)dnd_max(side_align(&copy->src), side_align(&copy->dst));
	if (copy->align > MAX_ALIGN_BYTES || (copy->align & (copy->align - 1)))
		return dnd_fail(copy->ctx, DND_E_UNSUPPORTED, "a logical block of %u bytes is not "
				"supported.", copy->align);
	rc = check_aligned(copy, copy->src.label, "offset", copy->src.offset);
	if (!rc)
		rc = check_aligned(copy, copy->dst.label, "offset", copy->dst.offset);
	if (!rc)
		rc = check_aligned(copy, "options.block_bytes", "value", copy->options.block_bytes);
	return rc;
}

static bool regions_overlap(const struct dnd_copy *copy)
{
	return copy->one_region && copy->src.offset < copy->dst.offset + copy->length &&
	       copy->dst.offset < copy->src.offset + copy->length;
}

static int check_overlap(struct dnd_copy *copy)
{
	const struct dnd_side *src = &copy->src, *dst = &copy->dst;
	enum dnd_sharing sharing = dnd_copy_staged(copy) ?
		dnd_drive_overlap(&src->drive, src->offset, &dst->drive, dst->offset, copy->length) : DND_APART;

	if (sharing == DND_MAY_SHARE)
		return dnd_fail(copy->ctx, DND_E_OVERLAP, "%s and %s: both lie on one drive, and it is not "
				"known whether they share bytes of it (a device-mapper table that only root can read, "
				"raid0 of legs of different sizes, or a far layout of raid10). Copy as root, or by way of "
				"another drive.", src->label, dst->label);
	if (sharing == DND_SHARE)
		return dnd_fail(copy->ctx, DND_E_OVERLAP, "%s and %s: source and destination "
				"share bytes. Choose ranges that do not overlap.", src->label,
				dst->label);
	if (!regions_overlap(copy))
		return 0;
	if (src->offset == dst->offset)
		return dnd_fail(copy->ctx, DND_E_OVERLAP, "%s: source and destination are the "
				"same bytes. Choose another place for one of them.", src->label);
	if (dnd_copy_flag(copy, DONARD_COPY_VERIFY))
		return dnd_fail(copy->ctx, DND_E_OVERLAP, "%s and %s overlap: the copy changes its "
				"source, so that VERIFY has nothing to compare with. Leave VERIFY out, or choose "
				"places that do not overlap.",
				src->label, dst->label);
	return 0;
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
