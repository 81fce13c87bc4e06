/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins a drive or file to the region whose memory it is to reach.  May it reach that
 * memory, by which route, did a block really arrive, and does the page cache take part?
 * Copies and queues ask the same questions about each pair.
 */
#ifndef DND_JOIN_H
#define DND_JOIN_H

#include "drive/drive.h"
#include "join/residency.h"
#include "memory/memory.h"

/* Was a block in the page cache after a direct read? */
enum dnd_cached {
	DND_CACHED_UNKNOWN,	/* nobody has looked, or it cannot be seen */
	DND_CACHED_SEEN,	/* it was, each time so far */
	DND_CACHED_NOT,		/* at least once it was not, so direct I/O is direct */
};

/* Can the block that failed be read into DRAM?  Asking means waiting for the drive. */
enum dnd_dram {
	DND_DRAM_ASK,
	DND_DRAM_ASK_LATER,	/* the caller asks, because it must not wait here */
	DND_DRAM_GETS,		/* the caller has asked: it can */
	DND_DRAM_FAILS,		/* the caller has asked: it cannot */
};

#define DND_JOIN_BOUNCE		1U	/* the caller accepts a way through DRAM */
#define DND_JOIN_UNLISTED	2U	/* the caller accepts a host bridge that is on no list */

/*
 * The legs of the drive, a bit each; a plain drive counts as one leg.  From legs @read, and
 * on legs @written, a block was seen to arrive.  On legs @tried a write was tried, with any
 * result.
 */
struct dnd_join_legs {
	uint32_t read, written, tried;
	bool unknown;		/* a write went to an unknown leg, as one into a hole of a file may */
	enum donard_route_type routes[DND_LEGS];
};

struct dnd_join {
	struct donard_context *ctx;
	const struct dnd_region *region;	/* belongs to the caller */
	struct dnd_drive *drive;		/* belongs to the caller */
	const struct dnd_generic *generic;	/* NULL: block requests */
	unsigned int leave;			/* DND_JOIN_*: what the caller accepts */
	uint32_t align;				/* block size of the proof; at least the drive's */
	struct donard_route route;		/* the worst route of the drive's controllers */
	char client[DONARD_BDF_BYTES];		/* the controller that has this route */
	size_t leg;				/* the leg that this controller serves */
	struct dnd_join_legs legs;
	bool bounced;				/* the transfer was decided to go through DRAM */
	bool proven;				/* a block was seen to arrive in the direction in question */
	enum dnd_cached cached;			/* as last seen */
	enum dnd_dram dram;			/* for dnd_join_failed() */
	bool blamed;				/* dnd_join_failed() suspects the route */
	uint64_t spoilt_end;			/* 0, or where a block of the drive ends that a proof may have left overwritten */
};

/* route.c: asks the kernel for the route of each controller of the drive */
int dnd_join_probe(struct dnd_join *join);
/* Once the route is probed: returns 0, and may set @bounced; or refuses, and says what helps. */
int dnd_join_decide(struct dnd_join *join);
/*
 * Does a drive that was opened long ago still consist of the same devices?  If not, refuses it, or sets @bounced if the
 * caller accepts that.
 */
int dnd_join_check_unchanged(struct dnd_join *join);
/* Refuses NVMe commands (@generic) to memory that they cannot address. */
int dnd_join_check_commands(struct dnd_join *join);
/* The names of both ends as the user typed them, with their addresses and the leg. */
#define DND_JOIN_NAME_BYTES	512
const char *dnd_join_client_text(const struct dnd_join *join, char text[DND_JOIN_NAME_BYTES]);
const char *dnd_join_region_text(const struct dnd_join *join, char text[DND_JOIN_NAME_BYTES]);

/* cache.c: does the page cache take part? */
/* Refuses a file that goes through DRAM, or sets @bounced if the caller accepts that. */
int dnd_join_check_file(struct dnd_join *join);
/* Before a direct read of one block: drops it from the page cache.  Returns whether it is gone. */
bool dnd_join_drop_cached(const struct dnd_join *join, uint64_t offset);
/* After the read, if it was gone: notes in @cached whether it still is. */
void dnd_join_note_cached(struct dnd_join *join, uint64_t offset);
/* Refuses a drive whose block was in the page cache after each direct read. */
int dnd_join_seen_to_bounce(struct dnd_join *join);
/*
 * Notes which pages of a file's range are cached now and may stay so during a direct transfer: none if it @writes.  Notes
 * nothing if that cannot be seen.
 */
void dnd_join_watch(struct dnd_join *join, uint64_t offset, uint64_t length, bool writes,
		    struct dnd_residency *before);
/*
 * After a transfer of @length bytes that was to be direct: adds the bytes cached since then to *cached_bytes.  If the file
 * system now says that the file bounces, adds all of them, and fails unless the caller accepts that.
 */
int dnd_join_watched(struct dnd_join *join, const struct dnd_residency *before, uint64_t length, uint64_t *cached_bytes);

/* spare.c: borrows two blocks of a region for a moment; zeroed: there are none */
struct dnd_spare {
	struct dnd_place place;		/* two blocks; address NULL: none now.  The caller may set blocks of its own. */
	struct donard_memory *memory;	/* has the borrowed blocks, and an open file of its own; NULL: none are borrowed */
	uint8_t *kept;			/* what the blocks held */
};

uint64_t dnd_spare_bytes(uint32_t align);
/*
 * Borrows blocks of the region with that name, unless there are blocks already.  Returns 0; 1 when there are none to borrow,
 * and then sets no text; -errno for want of descriptors or memory.
 */
int dnd_spare_take(struct donard_context *ctx, struct dnd_spare *spare, const char *region,
		   uint32_t align);
/* Gives back borrowed blocks; blocks of the caller's own stay. */
void dnd_spare_give(struct dnd_spare *spare);

/*
 * prove.c, and legs.c for each leg of a stack: moves one block and compares it.  Each proof needs a place of one block
 * in the region.  *proven stays as it is, or becomes false if the bytes prove nothing.
 */
struct dnd_proof {
	uint64_t offset;	/* of the first block, on the drive */
	uint64_t blocks;	/* how many from there on the proof may use */
};

/* Reads into @place, and overwrites what is there. */
int dnd_join_prove_read(struct dnd_join *join, const struct dnd_proof *proof,
			const struct dnd_place *place, bool *proven);
/* Writes the block at @from, or a nonce if that would prove nothing, and reads it back.  @spare: two blocks. */
int dnd_join_prove_write(struct dnd_join *join, const struct dnd_proof *proof,
			 const struct dnd_place *from, const struct dnd_place *spare, bool *proven);

/* The legs that a range lies on, as bits; *all becomes false if it may lie on others, too. */
uint32_t dnd_join_legs_of(const struct dnd_drive *drive, uint64_t offset, uint64_t length, bool *all);

/*
 * fail.c: finds out what an errno of a read or write means; sets the text, and returns -errno.  Returns -EINPROGRESS
 * without a text if the caller has to ask the drive first (DND_DRAM_ASK_LATER) and call again.
 */
int dnd_join_failed(struct dnd_join *join, bool writes, uint64_t offset, int error_number,
		    uint32_t nvme_status);
/* After a probe or a proof returned @rc: would the bytes arrive through DRAM? */
bool dnd_join_bounce_helps(const struct dnd_join *join, int rc);

#endif /* DND_JOIN_H */
