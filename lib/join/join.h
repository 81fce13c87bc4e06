/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the room join offers: a drive or file, and the region whose memory it is
 * to reach.  May it, by which route, did a block really arrive, and does the page
 * cache have a part in it?  Copies and queues ask the same of each pair.
 */
#ifndef DND_JOIN_H
#define DND_JOIN_H

#include "drive/drive.h"
#include "join/residency.h"

/* Was a block in the page cache after it had been read past it? */
enum dnd_cached {
	DND_CACHED_UNKNOWN,	/* not looked at, or it cannot be seen */
	DND_CACHED_SEEN,	/* it was, each time so far */
	DND_CACHED_NOT,		/* it was not, at least once: direct I/O is direct */
};

/* Can the block that failed be read into DRAM?  That waits for the drive. */
enum dnd_dram {
	DND_DRAM_ASK,
	DND_DRAM_ASK_LATER,	/* by the caller, who may not wait */
	DND_DRAM_GETS,		/* the caller has asked */
	DND_DRAM_FAILS,
};

#define DND_JOIN_BOUNCE		1U	/* the caller takes a way through DRAM */
#define DND_JOIN_UNLISTED	2U	/* and a host bridge that no list has */

/*
 * The legs of the drive (one of a drive itself), a bit each: those of which a
 * block was seen to arrive; those that a write was tried on, whatever came of it.
 */
struct dnd_join_legs {
	uint32_t read, written, tried;
	bool unknown;		/* something was written of which nobody knows the leg, as into a hole of a file */
	enum donard_route_type routes[DND_LEGS];
};

struct dnd_join {
	struct donard_context *ctx;
	const struct dnd_region *region;	/* the caller's */
	struct dnd_drive *drive;		/* the caller's */
	const struct dnd_generic *generic;	/* NULL: block requests */
	unsigned int leave;			/* DND_JOIN_* */
	uint32_t align;				/* a block of the proof; at least the drive's */
	struct donard_route route;		/* the worst of the drive's controllers */
	char client[DONARD_BDF_BYTES];		/* whose route that is */
	size_t leg;				/* which it serves */
	struct dnd_join_legs legs;
	bool bounced;				/* it was decided so */
	bool proven;				/* a block was seen to go the way that this is asked about */
	enum dnd_cached cached;			/* as last seen */
	enum dnd_dram dram;			/* of dnd_join_failed() */
};

/* route.c: asks the kernel, for each controller of the drive */
int dnd_join_probe(struct dnd_join *join);
/* 0, with @bounced set or not, or a refusal that says what helps; the route is probed. */
int dnd_join_decide(struct dnd_join *join);
/*
 * Of a drive that was opened long ago: is it made of what it was?  Refuses one that is not, unless the caller has leave:
 * then sets @bounced.
 */
int dnd_join_check_unchanged(struct dnd_join *join);
/* NVMe commands (generic) to memory that they cannot address are refused. */
int dnd_join_check_commands(struct dnd_join *join);
/* Both ends as the user typed them, with their addresses and the leg. */
#define DND_JOIN_NAME_BYTES	512
const char *dnd_join_client_text(const struct dnd_join *join, char text[DND_JOIN_NAME_BYTES]);
const char *dnd_join_region_text(const struct dnd_join *join, char text[DND_JOIN_NAME_BYTES]);

/* cache.c: the part of the page cache */
/* Refuses a file that goes through DRAM, unless the caller has leave: then sets @bounced. */
int dnd_join_check_file(struct dnd_join *join);
/* Before a direct read of one block: is it out of the page cache now? */
bool dnd_join_drop_cached(const struct dnd_join *join, uint64_t offset);
/* After the read, if it was: is it still? */
void dnd_join_note_cached(struct dnd_join *join, uint64_t offset);
int dnd_join_seen_to_bounce(struct dnd_join *join);
/* What of a range of a file is there, to compare with afterwards; nothing where there is nothing to see. */
void dnd_join_watch(struct dnd_join *join, uint64_t offset, uint64_t length,
		    struct dnd_residency *before);
/* Adds what came since to *grown_bytes; fails when the file system now says that the file bounces. */
int dnd_join_watched(struct dnd_join *join, const struct dnd_residency *before, uint64_t *grown_bytes);

/* spare.c: two blocks of a region for a moment; see there */
struct dnd_spare {
	struct dnd_place place;		/* two blocks; address NULL: none now; the caller may set its own for good */
	struct dnd_region region;	/* an open file of its own; fd -1: none are held */
	struct dnd_window window;
	uint8_t *kept;			/* what was in them */
};

#define DND_NO_SPARE	((struct dnd_spare){ .region = { .fd = -1 } })

uint64_t dnd_spare_bytes(uint32_t align);
/* Of the region of that name, unless there are blocks already. -errno without a text. */
int dnd_spare_take(struct donard_context *ctx, struct dnd_spare *spare, const char *region,
		   uint32_t align);
/* What was taken; the caller's own blocks stay. */
void dnd_spare_give(struct dnd_spare *spare);

/*
 * prove.c, and legs.c for each leg of what is made of drives: moves one block and compares it.  Each needs a place of one block in
 * the region; *proven stays as it is, or becomes false where the bytes say nothing.
 */
struct dnd_proof {
	uint64_t offset;	/* of the first block, on the drive */
	uint64_t blocks;	/* so many from there on may be looked at */
};

/* Reads into @place, over what is there. */
int dnd_join_prove_read(struct dnd_join *join, const struct dnd_proof *proof,
			const struct dnd_place *place, bool *proven);
/* Writes the block at @from, or a nonce where that would tell nothing, and reads it back; @spare: two blocks. */
int dnd_join_prove_write(struct dnd_join *join, const struct dnd_proof *proof,
			 const struct dnd_place *from, const struct dnd_place *spare, bool *proven);

/* The legs that a range is on, as bits; *all becomes false where it may be on others, too. */
uint32_t dnd_join_legs_of(const struct dnd_drive *drive, uint64_t offset, uint64_t length, bool *all);

/*
 * fail.c: what an errno of a read or write means: sets the text and returns it.  -EINPROGRESS, without a text, if that
 * is not known before the caller has asked (DND_DRAM_ASK_LATER), and calls again.
 */
int dnd_join_failed(struct dnd_join *join, bool writes, uint64_t offset, int error_number,
		    uint32_t nvme_status);

#endif /* DND_JOIN_H */
