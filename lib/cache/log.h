/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of a write cache: data that were acknowledged and are not on the drive yet.
 *
 * The order of its steps is that of tests/model/log.pml.  The code names the steps in
 * capitals:
 *
 *	DATA	a client's bytes arrive in its window
 *	APPEND	the record that names them is written
 *	BARRIER	both become durable, as do all records before
 *	ACK	the client is told
 *	DESTAGE	the newest bytes of each block are written to the drive, oldest records first
 *	FLUSH	they become durable on the drive
 *	TAIL	the tail moves behind these records, and is made durable
 *	REUSE	their places and their bytes in the windows become free
 *
 * Only one thread uses a log at a time.  The log knows nothing about connections or the drive.
 */
#ifndef DND_CACHE_LOG_H
#define DND_CACHE_LOG_H

#include "base/base.h"
#include "cache/blocks.h"
#include "cache/layout.h"
#include "cache/store.h"

struct dnd_cache_window {
	uint64_t head;		/* where the next bytes go, counted from the window's start */
	uint64_t used_bytes;	/* how many bytes before head are in use, those skipped at the window's end included */
	uint64_t records;	/* how many records have bytes there; if none, nothing is in use */
};

struct dnd_cache_log {
	struct donard_context *ctx;
	struct dnd_cache_store *store;
	struct dnd_cache_super super;
	struct dnd_cache_record *records;	/* a copy of the records from tail to next, at the same places */
	struct dnd_cache_window *windows;
	struct dnd_cache_blocks blocks;		/* which record has the newest bytes of each block */
	uint64_t tail;		/* sequence of the oldest record; equal to next if there is none */
	uint64_t written;	/* sequence of the newest record in the NVRAM; it may lack a barrier */
	uint64_t durable;	/* sequence of the newest record that is durable; tail - 1 if none is */
	uint64_t next;		/* sequence of the next record */
	uint64_t voids;		/* how many records from the tail on recovery passed over */
	uint64_t given_up;	/* how many of them had certainly been acknowledged, and were given up now */
	uint32_t epoch;		/* the epoch of the records that are written now */
	uint64_t begun;		/* sequence of the first record of this epoch */
	unsigned int tail_copy;	/* which copy of the tail is written next */
	bool broken;		/* a barrier or a write failed: nothing is acknowledged any more */
};

#define DND_CACHE_WINDOW_REQUESTS	4	/* a window takes so many of the largest requests */

struct dnd_cache_geometry {
	uint64_t length_bytes;	/* of the NVRAM */
	unsigned int windows;	/* how many clients there can be at once */
	uint32_t block_bytes;
	uint64_t drive_bytes;
	const char *drive_id;
};

/* format.c: refuses, with a text, a geometry for which no log can be laid out. */
int dnd_cache_check_geometry(struct donard_context *ctx, const struct dnd_cache_geometry *geometry);
/*
 * With @begun, notes in empty NVRAM that a format has begun: if this one is killed, another format may overwrite whatever it
 * left.  Without @begun, removes that note from NVRAM that holds nothing else.
 */
int dnd_cache_note_format(struct donard_context *ctx, struct dnd_cache_store *store, bool begun);
/* Lays out an empty log over whatever is there.  The caller has checked what that is. */
int dnd_cache_format(struct donard_context *ctx, struct dnd_cache_store *store,
		     const struct dnd_cache_geometry *geometry);

enum dnd_cache_found {
	DND_CACHE_FOUND_NOTHING,	/* only zeros */
	DND_CACHE_FOUND_LOG,
	DND_CACHE_FOUND_DAMAGED,	/* it was a log, but no copy of its superblock is whole */
	DND_CACHE_FOUND_OTHER,		/* data of something else */
	DND_CACHE_FOUND_UNFINISHED,	/* a format was interrupted: another may overwrite it */
};

/* Looks only at the superblock: is there a log?  A log of another version is LOG, too.  Returns 0 or -errno. */
int dnd_cache_look_for_log(struct dnd_cache_store *store, struct dnd_cache_super *super,
			   enum dnd_cache_found *found);
/* Looks at all of the NVRAM, before anything is written to it; returns -errno with a text if it cannot be read. */
int dnd_cache_look(struct donard_context *ctx, struct dnd_cache_store *store,
		   struct dnd_cache_super *super, enum dnd_cache_found *found);

/*
 * recover.c: opens the log as the last barrier, or a later moment, left it.  Writes nothing,
 * so that a power cut meanwhile changes nothing.  Fails with a text: -EILSEQ if an acknowledged
 * record is missing or damaged, -EPROTONOSUPPORT if the layout is of another version, or other errors.
 */
int dnd_cache_open(struct donard_context *ctx, struct dnd_cache_store *store,
		   struct dnd_cache_log *log);
/*
 * Does the same, but gives up the acknowledged records whose bytes are damaged, and no others, instead
 * of refusing the log.  Their blocks have the bytes of older records that are still in the log, or else those of the drive:
 * what a record has replaced may never have been written there.
 */
int dnd_cache_open_giving_up(struct donard_context *ctx, struct dnd_cache_store *store,
			     struct dnd_cache_log *log);
void dnd_cache_close(struct dnd_cache_log *log);
/* Says what recovery passed over, and why; "" for nothing. */
void dnd_cache_say_voids(const struct dnd_cache_log *log, char *text, size_t size);
/* The first void record from @sequence on, or log->next; dnd_cache_record() has its range. */
uint64_t dnd_cache_next_void(const struct dnd_cache_log *log, uint64_t sequence);
/*
 * To be called before the first record is appended.  Makes durable what recovery has read.  Then rewrites a copy of the
 * superblock that is not whole, marks as void the records that recovery passed over, and begins a new epoch.
 */
int dnd_cache_begin(struct dnd_cache_log *log);

/* ---- requests of clients ---- */

struct dnd_cache_entry {
	enum dnd_cache_record_type type;
	uint64_t drive_offset;
	uint64_t length_bytes;
	unsigned int window;
	uint64_t at;		/* where its bytes lie in the window */
	uint32_t checksum;	/* CRC-32C of the bytes, which the client computed */
};

/*
 * Takes a record for the next APPEND.  Its bytes lie at the window's head, or at its start if they
 * do not fit before its end.  Returns -EAGAIN, without a text, if there is no place for a record until
 * some are destaged; another -errno with a text if the protocol forbids the entry, or the log is broken.
 */
int dnd_cache_append(struct dnd_cache_log *log, const struct dnd_cache_entry *entry,
		     uint64_t *sequence);
/*
 * APPEND of all records that were taken, at once, and BARRIER.  When it returns 0, all of them may be
 * acknowledged.
 */
int dnd_cache_commit(struct dnd_cache_log *log);
/*
 * BARRIER without APPEND: does the NVRAM still hold what was written to it?  Its device may have been reset; only the first
 * barrier after a reset reports it.  Returns 0, or -EIO with a text, after which the log is broken.
 */
int dnd_cache_ask(struct dnd_cache_log *log);
/* The NVRAM failed: nothing is acknowledged from now on.  Returns -EIO with a text. */
int dnd_cache_break(struct dnd_cache_log *log);
/* How many contiguous bytes the window can take now, at its head or at its start. */
uint64_t dnd_cache_window_room(const struct dnd_cache_log *log, unsigned int window);
bool dnd_cache_window_empty(const struct dnd_cache_log *log, unsigned int window);
/* Prepares the window for another client: an empty one is filled from its start again, others stay as they are. */
void dnd_cache_window_reset(struct dnd_cache_log *log, unsigned int window);
/* Checks that a client's bytes lie where the next ones have to.  Returns 0, or -EPROTO with a text. */
int dnd_cache_check_turn(struct dnd_cache_log *log, const struct dnd_cache_entry *entry);
/* Refuses this entry, whose bytes lie in the right place; the bytes of the next entry still go behind them. */
void dnd_cache_skip(struct dnd_cache_log *log, const struct dnd_cache_entry *entry);
uint64_t dnd_cache_window_at(const struct dnd_cache_log *log, unsigned int window);
/* The number of the window that has the bytes at @data_at. */
unsigned int dnd_cache_window_of(const struct dnd_cache_log *log, uint64_t data_at);

/* ---- destage ---- */

/* Bytes that are contiguous in the NVRAM and on the drive. */
struct dnd_cache_run {
	uint64_t drive_offset;
	uint64_t data_at;
	uint64_t length_bytes;
};

struct dnd_cache_plan {
	uint64_t upto;			/* sequence of its last record */
	struct dnd_cache_run *trims;	/* done first, in the order of the drive; none overlap or are adjacent */
	size_t trim_count;
	struct dnd_cache_run *writes;	/* done next, in the order of the drive; none overlap */
	size_t write_count;
	uint64_t write_bytes;
	uint64_t coalesced_bytes;	/* not written, because newer records overwrite or trim them */
};

/*
 * plan.c: plans DESTAGE of at most @records records from the tail on.  Makes all records
 * durable first (BARRIER).  A plan without records has upto == tail - 1.  The plan leaves out
 * bytes that a newer record in the log overwrites or trims.  A plan for a flush looks only at the
 * plan's own records for that: afterwards the drive has each block at least as new as they do.
 */
int dnd_cache_plan(struct dnd_cache_log *log, uint64_t records, uint32_t run_bytes, bool for_flush,
		   struct dnd_cache_plan *plan);
void dnd_cache_plan_free(struct dnd_cache_plan *plan);
/* TAIL and REUSE.  To be called only after FLUSH.  Returns -EINVAL for records that are not durable yet. */
int dnd_cache_retire(struct dnd_cache_log *log, uint64_t upto);

/* ---- shared by these files ---- */

uint32_t dnd_cache_checksum(uint32_t before, const void *bytes, size_t length_bytes);
uint32_t dnd_cache_super_checksum(const struct dnd_cache_super *super);
uint32_t dnd_cache_tail_checksum(const struct dnd_cache_tail *tail);
uint32_t dnd_cache_record_checksum(const struct dnd_cache_record *record);
uint64_t dnd_cache_record_at(const struct dnd_cache_super *super, uint64_t sequence);
/* TAIL: the tail is durable when this returns 0. */
int dnd_cache_write_tail(struct dnd_cache_store *store, const struct dnd_cache_super *super,
			 unsigned int copy, struct dnd_cache_tail tail);
/* Do the bytes of this write lie in a part of the window that an older record in the log uses? */
bool dnd_cache_lies_over(const struct dnd_cache_log *log, const struct dnd_cache_record *record);
/* Adds the next record to the list, the windows and the blocks. */
void dnd_cache_take(struct dnd_cache_log *log, const struct dnd_cache_record *record);

static inline struct dnd_cache_record *dnd_cache_record(const struct dnd_cache_log *log,
							uint64_t sequence)
{
	return &log->records[sequence % log->super.records];
}

#endif /* DND_CACHE_LOG_H */
