/* SPDX-License-Identifier: Apache-2.0 */
/* One copy and the stages that it goes through; see copy.c for the order. */
#ifndef DND_COPY_H
#define DND_COPY_H

#include "copy/engine.h"
#include "gpu/gpu.h"
#include "join/join.h"

/*
 * What a copy moves between: a file or a memory, which somebody else opened and closes (struct dnd_ends).  @drive and @region
 * are the copy's own records of these, as of its begin; the descriptors in them, and what a drive is made of, are not.
 */
struct dnd_side {
	const char *label;
	bool is_region;			/* it is a memory */
	uint64_t offset;		/* where the copy begins */
	uint64_t size_bytes;
	struct dnd_drive drive;		/* of a file */
	struct dnd_generic generic;	/* of the drive, with PASSTHROUGH: the copy's own */
	struct dnd_join join;		/* of the drive and the copy's region */
	struct dnd_residency before;	/* of a file's range, when the copy began */
	uint32_t moves_before;		/* of the drive, when the copy began: dnd_blockdev_moves() */
	struct donard_memory *memory;	/* NULL: it is still to be allocated */
	struct dnd_region region;
	bool is_gpu;			/* that of a GPU */
	unsigned int gpu;		/* CUDA's number, while it is to be allocated */
	uint64_t at;			/* where in the memory the copy begins, once it has its bytes */
	uint64_t room_bytes;		/* so many from there on may be overwritten for a moment */
};

struct dnd_copy;

/*
 * Whose the ends are, and how they come to be.  After a failure only the claim may be tried again; close is called
 * in any case, when nothing is in flight.
 */
struct dnd_ends {
	int (*open)(struct dnd_ends *ends, struct dnd_copy *copy);
	/* Once the length is known: memory that is to be allocated has a region from now on. */
	int (*allocate)(struct dnd_ends *ends, struct dnd_copy *copy);
	/* Once there is a route, or again after a failure: each memory has its bytes from now on, and the side its room. */
	int (*claim)(struct dnd_ends *ends, struct dnd_copy *copy);
	void (*close)(struct dnd_ends *ends);
};

struct dnd_copy {
	struct donard_context *ctx;
	struct donard_copy_options options;	/* defaults filled in */
	struct donard_copy_result *result;
	struct dnd_ends *ends;
	struct dnd_side src, dst;
	int64_t shift_bytes;		/* of two memories of one region: the second begins so far behind the first */
	bool held;			/* the ends are handles of the program's */
	bool claimed;			/* by the ends */
	struct donard_memory *staging;	/* of drive to drive, the copy's own: two spare blocks, and the lanes' */
	struct dnd_region via;		/* its region; fd -1: none */
	struct dnd_spare spare;		/* two blocks beside the payload */
	const struct dnd_join *worst;	/* whose route the copy has; NULL: no drive has a part in it */
	bool bounced;
	bool cuts;			/* a file of the destination ends where the copy ends */
	bool tail_cached;		/* the last bytes went by way of the page cache */
	uint8_t *dram;			/* buffers of a bounced copy */
	uint8_t *buffers;		/* of the lanes, or NULL */
	uint64_t length;
	uint32_t align;
	struct dnd_plan plan;
	struct dnd_transfer transfer;
	struct dnd_engine *engine;	/* set up for it, or NULL */
	double looked_seconds;		/* when region_lost was last looked at */
	bool region_lost;		/* it is being taken away */
	uint32_t nvme_status;		/* of a failed command, or 0 */
};

static inline bool dnd_copy_flag(const struct dnd_copy *copy, uint32_t flag)
{
	return copy->options.flags & flag;
}

static inline bool dnd_copy_staged(const struct dnd_copy *copy)
{
	return !copy->src.is_region && !copy->dst.is_region;
}

/* The region that the devices reach: source, destination or staging. */
static inline struct dnd_region *dnd_copy_region(struct dnd_copy *copy)
{
	if (copy->src.is_region)
		return &copy->src.region;
	return copy->dst.is_region ? &copy->dst.region : &copy->via;
}

/* The destination is a file that was there before. */
static inline bool dnd_copy_into_old_file(const struct dnd_copy *copy)
{
	return !copy->dst.is_region && copy->dst.drive.is_file && !copy->dst.drive.unnamed;
}

/*
 * A partial last block is merged with what the destination holds behind it: of a drive, and within a file.  Where a
 * file ends, and where it is cut, the last bytes are written alone (tail.c).
 */
static inline bool dnd_copy_patches(const struct dnd_copy *copy)
{
	const struct dnd_side *dst = &copy->dst;

	if (dst->is_region || copy->length % copy->align == 0)
		return false;
	if (!dst->drive.is_file)
		return true;
	return !copy->cuts && dst->offset + dnd_round_up(copy->length, copy->align) <= dnd_drive_length(&dst->drive);
}

/* copy.c: all of it, from the checks of the arguments to the result that the caller gets */
int dnd_copy_ends(struct donard_context *ctx, struct dnd_ends *ends, const struct donard_copy_options *options,
		  struct donard_copy_result *result);
/* side.c: an end that somebody opened */
void dnd_side_of_file(struct dnd_side *side, const struct donard_file *file);
void dnd_side_of_memory(struct dnd_copy *copy, struct dnd_side *side, struct donard_memory *memory);
/* So much of its memory lies behind the copy's first byte. */
uint64_t dnd_side_room(const struct dnd_side *side);
/*
 * What lies behind a partial last block is not the copy's, and may change or get lost meanwhile: it is not touched, though
 * the last bytes go by way of DRAM for that.
 */
static inline bool dnd_copy_keeps_rest(const struct dnd_copy *copy)
{
	return copy->dst.is_region && (copy->held || dnd_region_persistent(&copy->dst.region));
}

/* check.c: refuses what cannot or must not be done; the options, before anything is opened */
int dnd_copy_check_options(struct dnd_copy *copy);
int dnd_copy_check(struct dnd_copy *copy);
/* passthrough.c: NVMe commands instead of block requests, if asked for */
int dnd_copy_passthrough_open(struct dnd_copy *copy);
int dnd_copy_passthrough_check(struct dnd_copy *copy);	/* once the region is known */
int dnd_copy_passthrough_begin(struct dnd_copy *copy);
void dnd_copy_passthrough_end(struct dnd_copy *copy);
/* route.c: chooses the route, and the staging region */
int dnd_copy_choose_route(struct dnd_copy *copy);
/* memory.c: has the ends' memory claimed, stages, allocates buffers, makes the plan */
int dnd_copy_map(struct dnd_copy *copy);
int dnd_copy_map_bounce(struct dnd_copy *copy);
void dnd_copy_unmap(struct dnd_copy *copy);
/* Two blocks of the copy's region for a moment, if there are none already; -errno without a text */
static inline int dnd_copy_spare_take(struct dnd_copy *copy)
{
	/* Of a GPU's no memory is free. */
	if (!copy->spare.place.address && dnd_copy_region(copy)->info.kind == P2PMEM_KIND_GPU_NVIDIA)
		return -ENOSPC;
	return dnd_spare_take(copy->ctx, &copy->spare, dnd_copy_region(copy)->name, copy->align);
}

/* The memory of that side, @at bytes into the copy. */
static inline struct dnd_place dnd_copy_place(const struct dnd_side *side, uint64_t at)
{
	return dnd_memory_place(side->memory, side->at + at);
}

/* The memory that the devices reach: source, destination or staging; NULL: none, or it is still to be allocated. */
static inline const struct donard_memory *dnd_copy_memory(const struct dnd_copy *copy)
{
	if (copy->src.is_region)
		return copy->src.memory;
	return copy->dst.is_region ? copy->dst.memory : copy->staging;
}

/* gpu.c: gpu:N, whose memory is allocated and pinned for this copy */
int dnd_copy_gpu_open(struct dnd_copy *copy, struct dnd_side *side, const struct dnd_spec *spec);
/* Once length and alignment are known; the caller's, also where the call fails. */
int dnd_copy_gpu_alloc(struct dnd_copy *copy, struct dnd_side *side, struct donard_memory **memory);

/* watch.c: what of a file the page cache got meanwhile */
int dnd_copy_check_files(struct dnd_copy *copy);	/* may set copy->bounced */
void dnd_copy_watch_begin(struct dnd_copy *copy);
int dnd_copy_watch_end(struct dnd_copy *copy);
void dnd_copy_watch_free(struct dnd_copy *copy);
/* reset.c: after work that came to @rc: the failure that a region was reset since it was opened, or @rc */
int dnd_copy_check_resets(struct dnd_copy *copy, int rc);
/* prove.c: chooses the places for the proofs of both sides */
int dnd_copy_prove(struct dnd_copy *copy);
bool dnd_copy_owns_block(const struct dnd_copy *copy, uint64_t at);
/* settle.c: the length and name of the file that is written, and the flush */
int dnd_copy_settle(struct dnd_copy *copy);
/* After a copy of no bytes, which leaves nothing to flush. */
int dnd_copy_settle_nothing(struct dnd_copy *copy);
/* After a failure: a new file has the gapless part, if any, and one that was there keeps its length. */
void dnd_copy_settle_failed(struct dnd_copy *copy);
/* After a proof that came to @rc, whose block may have been behind the end of a file: that has its length again. */
int dnd_copy_settle_proof(struct dnd_copy *copy, int rc);
/* tail.c: the last, partial block */
int dnd_copy_tail(struct dnd_copy *copy);
/* progress.c: tells the caller; nonzero when the copy is to stop */
int dnd_copy_progress(void *copy, enum donard_phase phase, uint64_t done_bytes,
		      uint64_t total_bytes);
/* cpu.c: region to region */
int dnd_copy_cpu(struct dnd_copy *copy);
/* verify.c: reads both sides again */
int dnd_copy_verify(struct dnd_copy *copy);
/* fail.c: names the side that failed, and why */
int dnd_copy_failed(struct dnd_copy *copy, enum dnd_step step, uint64_t offset,
		    int error_number);
bool dnd_copy_region_gone(const struct dnd_copy *copy);	/* any that takes part is being taken away */
int dnd_copy_no_spare(struct dnd_copy *copy);	/* fails for want of spare blocks */

#endif /* DND_COPY_H */
