// SPDX-License-Identifier: Apache-2.0
/*
 * donard_copy(): the caller names the ends, and the copy opens and closes them.  A name has no length, so the copy
 * claims memory of a region, and allocates memory of a GPU, once it knows how much it needs.
 */
#include "copy/copy.h"

struct end {
	const char *name;
	struct dnd_spec spec;
	struct donard_file *file;
	struct donard_memory *memory;
};

struct names {
	struct dnd_ends ends;		/* first */
	struct end src, dst;
};

static int parse(struct dnd_copy *copy, struct end *end)
{
	int rc = dnd_spec_parse(copy->ctx, end->name, &end->spec);

	return rc ? rc : dnd_spec_check_path(copy->ctx, &end->spec);
}

static int open_region(struct dnd_copy *copy, struct dnd_side *side, struct end *end)
{
	int rc = dnd_memory_open(copy->ctx, end->spec.region, &end->memory);

	if (rc)
		return rc;
	dnd_side_of_memory(copy, side, end->memory);
	side->size_bytes = side->region.info.region_bytes;
	return 0;
}

static int open_file(struct dnd_copy *copy, struct dnd_side *side, struct end *end)
{
	int rc = dnd_file_open(copy->ctx, end->spec.path, side == &copy->dst, &end->file);

	if (!rc)
		dnd_side_of_file(side, end->file);
	return rc;
}

static int open_end(struct dnd_copy *copy, struct dnd_side *side, struct end *end, uint64_t offset)
{
	side->label = end->name;
	side->offset = offset;
	if (end->spec.is_gpu)
		return dnd_copy_gpu_open(copy, side, &end->spec);
	return end->spec.is_region ? open_region(copy, side, end) : open_file(copy, side, end);
}

static int open_ends(struct dnd_ends *ends, struct dnd_copy *copy)
{
	struct names *names = (struct names *)ends;
	int rc = parse(copy, &names->src);

	if (!rc)
		rc = parse(copy, &names->dst);
	if (rc)
		return rc;
	copy->src.is_memory = names->src.spec.is_region || names->src.spec.is_gpu;
	copy->dst.is_memory = names->dst.spec.is_region || names->dst.spec.is_gpu;
	rc = dnd_copy_check_options(copy);
	/* Report a missing module before anything else that may be wrong. */
	if (!rc && (copy->src.is_memory || copy->dst.is_memory))
		rc = dnd_require_module(copy->ctx);
	if (!rc)
		rc = open_end(copy, &copy->src, &names->src, copy->options.src_offset_bytes);
	return rc ? rc : open_end(copy, &copy->dst, &names->dst, copy->options.dst_offset_bytes);
}

static int allocate(struct dnd_ends *ends, struct dnd_copy *copy)
{
	struct names *names = (struct names *)ends;
	int rc = names->src.spec.is_gpu ? dnd_copy_gpu_alloc(copy, &copy->src, &names->src.memory) : 0;

	return rc || !names->dst.spec.is_gpu ? rc : dnd_copy_gpu_alloc(copy, &copy->dst, &names->dst.memory);
}

/* Claims to the end of the last block if that lies in one granule, which has one owner anyway. */
static int claim_side(struct dnd_copy *copy, struct dnd_side *side)
{
	uint64_t bytes = side->region.info.granule_bytes % copy->align ? copy->length :
			 dnd_round_up(copy->length, copy->align);

	return side->memory->window.map ? 0 : dnd_memory_own(side->memory, side->offset, bytes);
}

/* Claims both ranges at once if they share a granule or a folio, because each of these has one owner. */
static int claim_both(struct dnd_copy *copy)
{
	struct dnd_side *low = &copy->src, *high = &copy->dst;
	const struct p2pmem_info *info = &copy->src.region.info;
	uint64_t unit = dnd_max(info->granule_bytes, info->folio_bytes);
	int rc;

	if (copy->src.offset > copy->dst.offset) {
		low = &copy->dst;
		high = &copy->src;
	}
	if (dnd_round_up(low->offset + copy->length, unit) <= dnd_round_down(high->offset, unit)) {
		rc = claim_side(copy, low);
		return rc ? rc : claim_side(copy, high);
	}
	rc = dnd_memory_own(low->memory, low->offset, high->offset + copy->length - low->offset);
	high->memory = low->memory;
	high->at = high->offset - low->offset;
	return rc;
}

static int claim_each(struct dnd_copy *copy, const struct names *names)
{
	int rc = names->src.spec.is_region ? claim_side(copy, &copy->src) : 0;

	return rc || !names->dst.spec.is_region ? rc : claim_side(copy, &copy->dst);
}

static int claim(struct dnd_ends *ends, struct dnd_copy *copy)
{
	struct names *names = (struct names *)ends;
	bool one_region = names->src.spec.is_region && names->dst.spec.is_region &&
			  !strcmp(names->src.spec.region, names->dst.spec.region);
	int rc = one_region ? claim_both(copy) : claim_each(copy, names);

	if (!rc && copy->src.is_memory)
		copy->src.room_bytes = dnd_side_room(&copy->src);
	if (!rc && copy->dst.is_memory)
		copy->dst.room_bytes = dnd_side_room(&copy->dst);
	return rc;
}

static void close_ends(struct dnd_ends *ends)
{
	struct names *names = (struct names *)ends;

	donard_memory_free(names->dst.memory);
	donard_file_close(names->dst.file);
	donard_memory_free(names->src.memory);
	donard_file_close(names->src.file);
}

DND_PUBLIC int donard_copy(struct donard_context *ctx, const char *src, const char *dst,
			   const struct donard_copy_options *options, struct donard_copy_result *result)
{
	struct names names = {
		.ends = { open_ends, allocate, claim, close_ends },
		.src.name = src,
		.dst.name = dst,
	};

	return dnd_copy_ends(ctx, &names.ends, options, result);
}
