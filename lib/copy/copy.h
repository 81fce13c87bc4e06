/* SPDX-License-Identifier: Apache-2.0 */
/* One copy and its stages; copy.c says in which order they run. */
#ifndef DND_COPY_H
#define DND_COPY_H

#include "copy/engine.h"
#include "gpu/gpu.h"
#include "join/join.h"

/*
 * An end of a copy: a file or a memory.  Each side holds its handle until the copy ends.  If a copy by name opened the handle,
 * that hold is the only one, so dropping it closes the handle.  If the program passed the handle, the program has its own hold
 * beside it.  @drive and @region are the copy's own records, taken when it begins; the descriptors and the stack in them belong
 * to the handle.
 */
struct dnd_side {
	const char *label;		/* the name, the file's path or @memory_label */
	char memory_label[64];		/* of a memory that the program passed, which has no name */
	bool is_memory;			/* of a region or a GPU; else it is a file */
	struct donard_file *file;	/* held */
	struct donard_memory *memory;	/* held; NULL: not allocated yet.  It may get its bytes late: dnd_memory_own() */
	uint64_t offset;		/* where the copy begins */
	uint64_t size_bytes;
	struct dnd_drive drive;		/* if it is a file */
	struct dnd_generic generic;	/* the drive's generic device, with PASSTHROUGH; the copy opens and closes it */
	struct dnd_join join;		/* joins the drive to the copy's region */
	struct dnd_residency before;	/* the cached pages of the file's range when the copy began */
	bool changed;			/* the devices that the drive is made of changed during the copy */
	bool unseen;			/* the last check of these devices failed for want of descriptors or memory */
	uint32_t moves_before;		/* dnd_blockdev_moves() of the drive when the copy began */
	/* dnd_drive_write_mark() of the source when the copy began, or of the destination when all was flushed */
	uint64_t write_mark;
	struct dnd_region region;
	bool is_gpu;			/* the memory is a GPU's */
	unsigned int gpu;		/* CUDA's number of the GPU, until the memory is allocated */
	uint64_t at;			/* where the copy begins in the memory, once that has its bytes */
	uint64_t room_bytes;		/* the copy may overwrite this many bytes from @at on for a moment */
};

struct dnd_copy {
	struct donard_context *ctx;
	struct donard_copy_options options;	/* defaults filled in */
	struct donard_copy_result *result, found;	/* @result: @found, which the caller gets in the end */
	struct donard_copy_result *given;		/* the caller's */
	struct dnd_side src, dst;
	int64_t shift_bytes;		/* the two share memory: the destination begins this far behind the source; else 0 */
	uint64_t touched_from, touched_end;	/* offsets in the copy; outside of them the destination is as it was */
	bool held;			/* the program opened the ends and passed their handles */
	struct donard_memory *staging;	/* from drive to drive, the copy's own; holds spare blocks and lane buffers */
	struct dnd_region via;		/* the region of @staging; fd -1: none */
	struct dnd_spare spare;		/* two blocks outside the payload */
	const struct dnd_join *worst;	/* has the worst route, which is the copy's; NULL: no drive takes part */
	bool bounced;
	bool cuts;			/* the destination is a file that is to end where the copy ends */
	bool tail_cached;		/* the last bytes went through the page cache */
	uint8_t *dram;			/* memory of a bounced copy */
	uint8_t *buffers;		/* the lanes' buffers, or NULL */
	uint64_t length;
	uint32_t align;
	struct dnd_plan plan;
	struct dnd_transfer transfer;
	struct dnd_engine *engine;	/* set up for @transfer, or NULL */
	double looked_seconds, looked_at_drives_seconds;	/* when progress.c last looked */
	bool region_lost;		/* a region of the copy is being removed */
	bool stopped;			/* progress_fn asked for it */
	bool has_lost;			/* the device of a region of the copy was reset, and no bytes count */
	bool has_moved;			/* the last byte was moved; the source's device answered then, and had not been reset */
	bool has_settled;		/* all was moved and flushed */
	bool drive_failed;		/* what failed was a drive's alone, such as its flush: no region had a part in it */
	uint32_t nvme_status;		/* of the command that failed, or 0 */
};

static inline bool dnd_copy_flag(const struct dnd_copy *copy, uint32_t flag)
{
	return copy->options.flags & flag;
}

static inline bool dnd_copy_staged(const struct dnd_copy *copy)
{
	return !copy->src.is_memory && !copy->dst.is_memory;
}

/* The region that the drives access: the source's, the destination's or the staging region. */
static inline struct dnd_region *dnd_copy_region(struct dnd_copy *copy)
{
	if (copy->src.is_memory)
		return &copy->src.region;
	return copy->dst.is_memory ? &copy->dst.region : &copy->via;
}

/* Is the destination a file that existed before the copy? */
static inline bool dnd_copy_into_old_file(const struct dnd_copy *copy)
{
	return !copy->dst.is_memory && copy->dst.drive.is_file && !copy->dst.drive.unnamed;
}

/*
 * copy.c: a copy by name (names.c) and one of handles (between.c) take the same four steps.  The first takes what the caller
 * passed, and leaves a copy without ends.  The caller then gives each side its handle, and with it the hold.  The third
 * does the rest.  The last comes after a failure of any of these, too: it closes everything, and fills in the caller's
 * result.  It returns @rc.
 */
int dnd_copy_begin(struct dnd_copy *copy, struct donard_context *ctx, const struct donard_copy_options *options,
		   struct donard_copy_result *result);
int dnd_copy_run(struct dnd_copy *copy);
int dnd_copy_end(struct dnd_copy *copy, int rc);
/* side.c: take over the caller's hold of a handle as a side of the copy */
void dnd_side_of_file(struct dnd_side *side, struct donard_file *file);
void dnd_side_of_memory(struct dnd_copy *copy, struct dnd_side *side, struct donard_memory *memory);
/*
 * Must the copy leave alone the memory behind its partial last block?  Those bytes are not the copy's: the program may
 * change them meanwhile, and a power cut would lose them in persistent memory.  The last bytes then go through DRAM.
 */
static inline bool dnd_copy_keeps_rest(const struct dnd_copy *copy)
{
	return copy->dst.is_memory && (copy->held || dnd_region_persistent(&copy->dst.region));
}

/* check.c: refuses a copy that cannot or must not be done */
int dnd_copy_check_options(struct dnd_copy *copy);
int dnd_copy_check(struct dnd_copy *copy);
/* Called once the alignment is known, unless the length is 0.  Refuses a last block that cannot be written. */
int dnd_copy_check_adopted(struct dnd_copy *copy);
bool dnd_copy_is_same_file(const struct dnd_copy *copy);
/* passthrough.c: NVMe commands instead of block requests, if asked for */
int dnd_copy_passthrough_open(struct dnd_copy *copy);
int dnd_copy_passthrough_check(struct dnd_copy *copy);	/* called once the region is known */
int dnd_copy_passthrough_begin(struct dnd_copy *copy);
void dnd_copy_passthrough_end(struct dnd_copy *copy);
/* route.c: chooses the route, and the staging region */
int dnd_copy_choose_route(struct dnd_copy *copy);
/* memory.c: gives the ends' memory its bytes, maps staging memory, allocates buffers, makes the plan */
int dnd_copy_map(struct dnd_copy *copy);
int dnd_copy_map_bounce(struct dnd_copy *copy);
void dnd_copy_unmap(struct dnd_copy *copy);
/* Borrows two blocks of the copy's region, unless it has spare blocks already.  Returns as dnd_spare_take(). */
static inline int dnd_copy_spare_take(struct dnd_copy *copy)
{
	/* A GPU's region has no free memory. */
	if (!copy->spare.place.address && dnd_copy_region(copy)->info.kind == P2PMEM_KIND_GPU_NVIDIA)
		return 1;
	return dnd_spare_take(copy->ctx, &copy->spare, dnd_copy_region(copy)->name, copy->align);
}

/* The place in the side's memory that lies @at bytes into the copy. */
static inline struct dnd_place dnd_copy_place(const struct dnd_side *side, uint64_t at)
{
	return dnd_memory_place(side->memory, side->at + at);
}

/* The memory that the drives access: source, destination or staging.  NULL: there is none yet. */
static inline const struct donard_memory *dnd_copy_memory(const struct dnd_copy *copy)
{
	if (copy->src.is_memory)
		return copy->src.memory;
	return copy->dst.is_memory ? copy->dst.memory : copy->staging;
}

/* gpu.c: gpu:N, for which the copy allocates and pins memory */
int dnd_copy_gpu_open(struct dnd_copy *copy, struct dnd_side *side, const struct dnd_spec *spec);
/* Called once length and alignment are known.  Does nothing for a side that is no GPU, or has its memory. */
int dnd_copy_gpu_alloc(struct dnd_copy *copy, struct dnd_side *side);

/* watch.c: counts the pages of the files that the page cache gets during the copy */
int dnd_copy_check_files(struct dnd_copy *copy);	/* may set copy->bounced */
void dnd_copy_watch_begin(struct dnd_copy *copy);
int dnd_copy_watch_end(struct dnd_copy *copy);
/* Called between begin and end: looks whether the side's drive is made of other devices than before. */
void dnd_copy_watch(struct dnd_copy *copy, struct dnd_side *side);
/* Looks again.  Did any look so far find the side's bytes on other devices than when the copy began, or at unknown places? */
bool dnd_copy_has_changed(struct dnd_copy *copy, struct dnd_side *side);
void dnd_copy_watch_free(struct dnd_copy *copy);
/*
 * reset.c: fails if a region's device was reset since the region was opened, else returns @rc, the result so far.  Another
 * failure stays, and says that no bytes count.
 */
int dnd_copy_check_resets(struct dnd_copy *copy, int rc);
/* Do the devices of the regions that the bytes came from answer, and is none of them being reset? */
bool dnd_copy_regions_answer(const struct dnd_copy *copy);
/* prove.c: proves the routes of both sides */
int dnd_copy_prove(struct dnd_copy *copy);
bool dnd_copy_owns_block(const struct dnd_copy *copy, uint64_t at);
/* settle.c: gives a written file its length and name, and flushes; fails if bytes are missing afterwards */
int dnd_copy_settle(struct dnd_copy *copy);
/*
 * judge.c: says in the result whether the destination keeps what was flushed.  @doubt: that of the destination's drive, read
 * after the flush.  To read it takes dozens of files of sysfs, so the time in the result leaves that out
 */
void dnd_copy_judge(struct dnd_copy *copy, const struct dnd_doubt *doubt);
/* Settles and judges a copy of no bytes. */
int dnd_copy_settle_nothing(struct dnd_copy *copy);
/* At the end of a copy by name: fails if another program has removed or replaced the destination file. */
int dnd_copy_check_name(struct dnd_copy *copy);
/* After a failure: names a new file if it has a gapless part, and frees what was reserved behind an old file. */
void dnd_copy_settle_failed(struct dnd_copy *copy);
/* After a proof that returned @rc: restores the length of a file if the proof wrote a block behind its end. */
int dnd_copy_settle_proof(struct dnd_copy *copy, int rc);
/* tail.c: moves the last, partial block */
int dnd_copy_tail(struct dnd_copy *copy);
/* progress.c: tells the caller how far the copy is; returns nonzero if the phase is to stop before its end */
int dnd_copy_progress(void *copy, enum donard_phase phase, uint64_t done_bytes,
		      uint64_t total_bytes);
/* cpu.c: copies from region to region */
int dnd_copy_cpu(struct dnd_copy *copy);
/* verify.c: reads both sides again and compares them */
int dnd_copy_verify(struct dnd_copy *copy);
/* fail.c: says which side failed, and why */
int dnd_copy_failed(struct dnd_copy *copy, enum dnd_step step, uint64_t offset,
		    int error_number);
bool dnd_copy_region_gone(const struct dnd_copy *copy);	/* is any region of the copy being removed? */
/* left.c: after a failure of any kind, says what became of the destination behind result->bytes, and of the source */
void dnd_copy_tell_left(struct dnd_copy *copy);
/* What must separate another sentence from the failure's text: ".", or "" if the text has its full stop. */
const char *dnd_copy_full_stop(const struct dnd_copy *copy);

#endif /* DND_COPY_H */
