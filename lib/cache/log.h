/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of a write cache: what was acknowledged and is not on the drive yet.
 *
 * Its order of steps is that of tests/model/log.pml, whose names stand in capitals
 * in the code:
 *
 *	DATA	a client's bytes come into its window
 *	APPEND	the record that names them is written
 *	BARRIER	both are durable; so are all records before
 *	ACK	the client is told
 *	DESTAGE	the newest bytes of each block are written to the drive, oldest records first
 *	FLUSH	the drive has them durably
 *	TAIL	the tail moves behind these records, and is made durable
 *	REUSE	their places and windows are free
 *
 * One thread at a time.  The log knows nothing of clients' connections or of the drive.
 */
#ifndef DND_CACHE_LOG_H
#define DND_CACHE_LOG_H

#include "base/base.h"
#include "cache/blocks.h"
#include "cache/layout.h"
#include "cache/store.h"

struct dnd_cache_window {
	uint64_t head;		/* where the next bytes go, from the window's start */
	uint64_t used_bytes;	/* up to head, with what was skipped at the window's end */
	uint64_t records;	/* that have bytes there; without any nothing is used */
};

struct dnd_cache_log {
	struct donard_context *ctx;
	struct dnd_cache_store *store;
	struct dnd_cache_super super;
	struct dnd_cache_record *records;	/* those from tail to next, at their places */
	struct dnd_cache_window *windows;
	struct dnd_cache_blocks blocks;		/* where the newest bytes of each block are */
	uint64_t tail;		/* sequence of the oldest record; next if there is none */
	uint64_t written;	/* of the newest that is in the NVRAM; it may lack a barrier */
	uint64_t durable;	/* of the newest that a barrier made durable; tail - 1 if none is */
	uint64_t next;		/* sequence of the next record */
	uint64_t voids;		/* records from the tail on that recovery passed over */
	uint32_t epoch;		/* of the records that are written now */
	uint64_t begun;		/* sequence of the first record of this epoch */
	unsigned int tail_copy;	/* which copy is written next */
	bool broken;		/* a barrier or a write failed: nothing is acknowledged any more */
};

struct dnd_cache_geometry {
	uint64_t length_bytes;	/* of the NVRAM */
	unsigned int windows;	/* as many clients at once */
	uint32_t block_bytes;
	uint64_t drive_bytes;
	const char *drive_id;
};

/* format.c: lays an empty log over whatever is there.  The caller has asked what that is. */
int dnd_cache_format(struct donard_context *ctx, struct dnd_cache_store *store,
		     const struct dnd_cache_geometry *geometry);

enum dnd_cache_found {
	DND_CACHE_FOUND_NOTHING,	/* zeros */
	DND_CACHE_FOUND_LOG,
	DND_CACHE_FOUND_DAMAGED,	/* a log once; no copy of its superblock is whole */
	DND_CACHE_FOUND_OTHER,		/* data of something else */
	DND_CACHE_FOUND_UNFINISHED,	/* a format was cut: another may go over it */
};

/* The superblock alone: whether a log lies there.  LOG also for another version's. */
int dnd_cache_look_for_log(struct dnd_cache_store *store, struct dnd_cache_super *super,
			   enum dnd_cache_found *found);
/* What lies in the NVRAM, all of it, before anything is written to it; negative errno if it cannot be read. */
int dnd_cache_look(struct donard_context *ctx, struct dnd_cache_store *store,
		   struct dnd_cache_super *super, enum dnd_cache_found *found);

/*
 * recover.c: the log as the last barrier, or a later moment, left it.  Writes nothing:
 * a power cut meanwhile changes nothing.  -EILSEQ with a text when an acknowledged record is
 * missing or damaged, -EPROTONOSUPPORT for a layout that is not known.
 */
int dnd_cache_open(struct donard_context *ctx, struct dnd_cache_store *store,
		   struct dnd_cache_log *log);
/*
 * The same, but acknowledged records whose bytes are damaged are passed over instead of refused:
 * they, and no others, are given up.  Their blocks have what they had before.
 */
int dnd_cache_open_giving_up(struct donard_context *ctx, struct dnd_cache_store *store,
			     struct dnd_cache_log *log);
void dnd_cache_close(struct dnd_cache_log *log);
/* The first record from @sequence on that was passed over: dnd_cache_record() has its range; log->next if none was. */
uint64_t dnd_cache_next_void(const struct dnd_cache_log *log, uint64_t sequence);
/*
 * Before the first record is appended: makes durable what was read, then a new epoch, and that what was
 * passed over is void.
 */
int dnd_cache_begin(struct dnd_cache_log *log);

/* ---- what clients ask ---- */

struct dnd_cache_entry {
	enum dnd_cache_record_type type;
	uint64_t drive_offset;
	uint64_t length_bytes;
	unsigned int window;
	uint64_t at;		/* in the window */
	uint32_t checksum;	/* CRC-32C of the bytes, by the client */
};

/*
 * Takes a record for the next APPEND.  The bytes lie at the window's head, or at its start if they
 * do not fit before its end.  -EINVAL, with a text, for what the protocol forbids; -EAGAIN when
 * there is no place for a record: destage first.
 */
int dnd_cache_append(struct dnd_cache_log *log, const struct dnd_cache_entry *entry,
		     uint64_t *sequence);
/*
 * APPEND of all that were taken, at once, and BARRIER: when it returns 0, every one of them may be
 * acknowledged.
 */
int dnd_cache_commit(struct dnd_cache_log *log);
/* Contiguous bytes that a window can take at its head now. */
uint64_t dnd_cache_window_room(const struct dnd_cache_log *log, unsigned int window);
bool dnd_cache_window_empty(const struct dnd_cache_log *log, unsigned int window);
/* For another client: an empty window is filled from its start again.  One with bytes stays as it is. */
void dnd_cache_window_reset(struct dnd_cache_log *log, unsigned int window);
/* Whether a client's bytes lie where it is their turn; -EINVAL with a text if not. */
int dnd_cache_check_turn(struct dnd_cache_log *log, const struct dnd_cache_entry *entry);
/* The bytes of this entry, which are in turn, are refused: the next ones lie behind them all the same. */
void dnd_cache_skip(struct dnd_cache_log *log, const struct dnd_cache_entry *entry);
uint64_t dnd_cache_window_at(const struct dnd_cache_log *log, unsigned int window);

/* ---- destage ---- */

/* Bytes that lie together in the NVRAM and belong together on the drive. */
struct dnd_cache_run {
	uint64_t drive_offset;
	uint64_t data_at;
	uint64_t length_bytes;
};

struct dnd_cache_plan {
	uint64_t upto;			/* sequence of the last record of it */
	struct dnd_cache_run *trims;	/* first, in the order of the log */
	size_t trim_count;
	struct dnd_cache_run *writes;	/* then, in the order of the drive; none overlap */
	size_t write_count;
	uint64_t write_bytes;
	uint64_t coalesced_bytes;	/* overwritten by newer records, and never written */
};

/*
 * plan.c: DESTAGE of the records from the tail on, at most @records of them.  All records
 * are made durable first (BARRIER).  A plan without records has upto == tail - 1; so has
 * one of 0 records.
 */
int dnd_cache_plan(struct dnd_cache_log *log, uint64_t records, uint32_t run_bytes,
		   struct dnd_cache_plan *plan);
void dnd_cache_plan_free(struct dnd_cache_plan *plan);
/* TAIL and REUSE: after FLUSH, and only then.  -EINVAL for records that are not durable yet. */
int dnd_cache_retire(struct dnd_cache_log *log, uint64_t upto);

/* ---- shared by these files ---- */

uint32_t dnd_cache_checksum(uint32_t before, const void *bytes, size_t length_bytes);
uint32_t dnd_cache_super_checksum(const struct dnd_cache_super *super);
uint32_t dnd_cache_tail_checksum(const struct dnd_cache_tail *tail);
uint32_t dnd_cache_record_checksum(const struct dnd_cache_record *record);
uint64_t dnd_cache_record_at(const struct dnd_cache_super *super, uint64_t sequence);
/* TAIL: durable when it returns 0. */
int dnd_cache_write_tail(struct dnd_cache_store *store, const struct dnd_cache_super *super,
			 unsigned int copy, struct dnd_cache_tail tail);
/* Whether a write's bytes lie where those of an older record in the log do. */
bool dnd_cache_lies_over(const struct dnd_cache_log *log, const struct dnd_cache_record *record);
/* Takes a record that is in the NVRAM into the windows, the blocks and the list. */
void dnd_cache_take(struct dnd_cache_log *log, const struct dnd_cache_record *record);

static inline struct dnd_cache_record *dnd_cache_record(const struct dnd_cache_log *log,
							uint64_t sequence)
{
	return &log->records[sequence % log->super.records];
}

#endif /* DND_CACHE_LOG_H */
