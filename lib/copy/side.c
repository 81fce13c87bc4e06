// SPDX-License-Identifier: Apache-2.0
/* Makes an open file or memory a side of a copy. */
#include <stdio.h>

#include "copy/copy.h"

void dnd_side_of_file(struct dnd_side *side, struct donard_file *file)
{
	side->file = file;
	side->drive = file->drive;
	side->drive.reserved = false;
	side->size_bytes = file->drive.size_bytes;
}

/* CUDA's number of a GPU holds only in this program, so the result names the GPU by its PCI address. */
static void name_gpu(struct dnd_copy *copy, const struct dnd_side *side)
{
	char *name = side == &copy->src ? copy->result->src_gpu : copy->result->dst_gpu;

	snprintf(name, DONARD_BDF_BYTES, "%s", side->region.bdf);
}

void dnd_side_of_memory(struct dnd_copy *copy, struct dnd_side *side, struct donard_memory *memory)
{
	side->is_memory = true;
	side->memory = memory;
	side->region = memory->region;
	side->is_gpu = side->region.info.kind == P2PMEM_KIND_GPU_NVIDIA;
	if (side->is_gpu)
		name_gpu(copy, side);
}
