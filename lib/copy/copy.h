/* SPDX-License-Identifier: Apache-2.0 */
/* One copy and the stages that it goes through; see copy.c for the order. */
#ifndef DONARD_COPY_H
#define DONARD_COPY_H

#include "copy/residency.h"
#include "copy/spare.h"
#include "drive/drive.h"

/* Was a block in the page cache after it had been read past it? */
enum dnd_cached {
	DND_CACHED_UNKNOWN,	/* not looked at, or it cannot be seen */
	DND_CACHED_SEEN,	/* it was, each time so far */
	DND_CACHED_NOT,		/* it was not, at least once: direct I/O is direct */
};

struct dnd_side {
	const char *label;
	bool is_region;
	struct dnd_drive drive;		/* if not */
	struct dnd_generic generic;	/* of the drive, with --passthrough */
	struct dnd_region region;	/* if so */
	struct dnd_window window;
	uint64_t offset;
	enum dnd_cached cached;		/* of a drive or file */
	struct dnd_residency before;	/* of its range, when the copy began */
};

/* The route that the topology and the kernel predict for the drives of a copy, to one region. */
struct dnd_choice {
	struct donard_route route;		/* the worst of those in use */
	char client[DONARD_BDF_BYTES];		/* whose route that is */
	const struct dnd_drive *drive;		/* the drive that it belongs to */
};

struct dnd_copy {
	struct donard_context *ctx;
	struct donard_copy_options options;	/* defaults filled in */
	struct donard_copy_result *result;
	struct dnd_side src, dst;
	bool one_region;		/* dst.region is src.region */
	struct dnd_region via;		/* staging of drive to drive */
	struct dnd_window scratch;	/* staging, with two spare blocks before it */
	struct dnd_spare spare;		/* two blocks beside the payload */
	struct dnd_choice chosen;
	bool bounced;
	bool cuts;			/* a file of the destination ends where the copy ends */
	uint8_t *dram;			/* buffers of a bounced copy */
	uint8_t *buffers;		/* of the lanes, or NULL */
	uint64_t length;
	uint32_t align;
	struct dnd_plan plan;
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

/* A partial last block that must keep what the destination holds behind it. */
static inline bool dnd_copy_patches(const struct dnd_copy *copy)
{
	const struct dnd_side *dst = &copy->dst;

	if (dst->is_region || copy->length % copy->align == 0)
		return false;
	if (!dst->drive.is_file)
		return true;
	return !copy->cuts && dst->offset + copy->length < dst->drive.size_bytes;
}

/* check.c: opens both sides and refuses what cannot or must not be done */
int dnd_copy_open(struct dnd_copy *copy, const char *src, const char *dst);
int dnd_copy_check(struct dnd_copy *copy);
/* passthrough.c: NVMe commands instead of block requests, if asked for */
int dnd_copy_passthrough_open(struct dnd_copy *copy);
int dnd_copy_passthrough_check(struct dnd_copy *copy);	/* once the region is known */
int dnd_copy_passthrough_begin(struct dnd_copy *copy);
void dnd_copy_passthrough_end(struct dnd_copy *copy);
/* route.c: chooses the route, and the staging region */
int dnd_copy_choose_route(struct dnd_copy *copy);
/* memory.c: maps regions, allocates buffers, makes the plan */
int dnd_copy_map(struct dnd_copy *copy);
int dnd_copy_map_bounce(struct dnd_copy *copy);
void dnd_copy_unmap(struct dnd_copy *copy);
/* spare.c: two blocks of the copy's region for a moment, if there are none already; -errno without a text */
static inline int dnd_copy_spare_take(struct dnd_copy *copy)
{
	return dnd_spare_take(copy->ctx, &copy->spare, dnd_copy_region(copy)->name, copy->align);
}

/* watch.c: what the page cache has to do with it */
int dnd_copy_check_files(struct dnd_copy *copy);	/* may set copy->bounced */
/* Before a direct read of one block: is it out of the page cache now? */
bool dnd_copy_drop_cached(const struct dnd_copy *copy, const struct dnd_side *side,
			  uint64_t offset);
/* After the read, if it was: is it still? */
void dnd_copy_note_cached(const struct dnd_copy *copy, struct dnd_side *side, uint64_t offset);
int dnd_copy_seen_to_bounce(struct dnd_copy *copy, const struct dnd_side *side);
void dnd_copy_watch_begin(struct dnd_copy *copy);
int dnd_copy_watch_end(struct dnd_copy *copy);
void dnd_copy_watch_free(struct dnd_copy *copy);
/* prove.c: moves one block and compares it */
int dnd_copy_prove(struct dnd_copy *copy);
bool dnd_copy_owns_block(const struct dnd_copy *copy, uint64_t at);
/* tail.c: the last, partial block */
int dnd_copy_tail(struct dnd_copy *copy);
/* route.c: both ends of the route as the user typed them, with their addresses */
#define DND_ROUTE_NAME_BYTES	320
const char *dnd_copy_route_client(const struct dnd_copy *copy, char text[DND_ROUTE_NAME_BYTES]);
const char *dnd_copy_route_region(struct dnd_copy *copy, char text[DND_ROUTE_NAME_BYTES]);
/* progress.c: tells the caller; nonzero when the copy is to stop */
int dnd_copy_progress(void *copy, enum donard_phase phase, uint64_t done_bytes,
		      uint64_t total_bytes);
bool dnd_copy_region_gone(struct dnd_copy *copy);
/* cpu.c: region to region */
int dnd_copy_cpu(struct dnd_copy *copy);
/* verify.c: reads both sides again */
int dnd_copy_verify(struct dnd_copy *copy);
/* fail.c: translates errno of a transfer into the route's verdict */
int dnd_copy_failed(struct dnd_copy *copy, enum dnd_step step, uint64_t offset,
		    int error_number);
int dnd_copy_no_spare(struct dnd_copy *copy);	/* fails for want of spare blocks */
/* The failure that the side's drive is not there any more, or 0 if it is. */
int dnd_copy_drive_lost(struct dnd_copy *copy, const struct dnd_side *side);

#endif /* DONARD_COPY_H */
