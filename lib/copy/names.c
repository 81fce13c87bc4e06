// SPDX-License-Identifier: Apache-2.0
/*
 * donard_copy(): the caller names the ends.  Each name becomes a handle that only the copy has, and closes.  A name has no
 * length, so a region's memory is opened here and gets its bytes later (memory.c), and a GPU's memory is allocated later
 * (gpu.c).
 */
#include "copy/copy.h"

static int parse(struct dnd_copy *copy, const char *name, struct dnd_spec *spec)
{
	int rc = dnd_spec_parse(copy->ctx, name, spec);

	return rc ? rc : dnd_spec_check_path(copy->ctx, spec);
}

static int open_region(struct dnd_copy *copy, struct dnd_side *side, const char *name)
{
	struct donard_memory *memory;
	int rc = dnd_memory_open(copy->ctx, name, &memory);

	if (rc)
		return rc;
	dnd_side_of_memory(copy, side, memory);
	side->size_bytes = side->region.info.region_bytes;
	return 0;
}

static int open_file(struct dnd_copy *copy, struct dnd_side *side, const char *path)
{
	struct donard_file *file;
	int rc = dnd_file_open(copy->ctx, path, side == &copy->dst, &file);

	if (!rc)
		dnd_side_of_file(side, file);
	else if (rc == -ENOTBLK)
		dnd_fail_more(copy->ctx, " A copy also takes regions and GPUs, by their names (p2pmem0, gpu:0).");
	return rc;
}

static int open_end(struct dnd_copy *copy, struct dnd_side *side, const char *name, const struct dnd_spec *spec)
{
	side->label = name;
	if (spec->is_gpu)
		return dnd_copy_gpu_open(copy, side, spec);
	return spec->is_region ? open_region(copy, side, spec->region) : open_file(copy, side, spec->path);
}

static int open_ends(struct dnd_copy *copy, const char *src_name, const char *dst_name)
{
	struct dnd_spec src, dst;
	int rc = parse(copy, src_name, &src);

	if (!rc)
		rc = parse(copy, dst_name, &dst);
	if (rc)
		return rc;
	copy->src.is_memory = src.is_region || src.is_gpu;
	copy->dst.is_memory = dst.is_region || dst.is_gpu;
	rc = dnd_copy_check_options(copy);
	/* Report a missing module before anything else that may be wrong. */
	if (!rc && (copy->src.is_memory || copy->dst.is_memory))
		rc = dnd_require_module(copy->ctx);
	if (!rc)
		rc = open_end(copy, &copy->src, src_name, &src);
	return rc ? rc : open_end(copy, &copy->dst, dst_name, &dst);
}

DND_PUBLIC int donard_copy(struct donard_context *ctx, const char *src, const char *dst,
			   const struct donard_copy_options *options, struct donard_copy_result *result)
{
	DND_USES(CONTEXT, ctx);
	struct dnd_copy copy;
	int rc = dnd_copy_begin(&copy, ctx, options, result);

	if (!rc)
		rc = open_ends(&copy, src, dst);
	if (!rc)
		rc = dnd_copy_run(&copy);
	return dnd_copy_end(&copy, rc);
}
