/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of the NVRAM: two superblocks, two tails, the records, the windows.
 *
 *	0		superblock, the first copy
 *	4096		superblock, the second
 *	8192		tail, the first copy
 *	12288		tail, the second
 *	16384		records: a ring, record S at place S % records
 *	data_at		windows: each a ring of blocks that one client fills
 *
 * Numbers are little-endian.  Each structure has its own checksum (CRC-32C), which is
 * computed with the checksum field zero, and the identity of the log, so that what an
 * older log left behind is never mistaken for a part of this one.
 *
 * A record is written after the data that it names, and made durable together with
 * them.  A power cut may leave any part of both, in any order, in pieces of 8 bytes.  So
 * a record counts only if its checksum is right, if it continues the sequence, and if it
 * has the right epoch: the present one for sequences from the tail's `begun` on, a former
 * one before.  Behind the end of the log there may be a record that was written before a
 * power cut and never acknowledged.  It must not become valid again when the places before
 * it are written anew, nor when another write puts the same bytes in the place of its data.
 *
 * If a record is right except for the bytes that it names, it is passed over, and the
 * records behind it count: a client may overwrite what it sent, and the records of other
 * clients must survive that.  The record becomes void by a change of its first 8 bytes, which
 * a power cut cannot tear.
 */
#ifndef DND_CACHE_LAYOUT_H
#define DND_CACHE_LAYOUT_H

#include <stdint.h>

#define DND_CACHE_MAGIC		"donardWC"
#define DND_CACHE_UNFINISHED	"donardWF"	/* stands in its place while a log is being laid out */
#define DND_CACHE_VERSION	1U
#define DND_CACHE_PAGE_BYTES	4096U
#define DND_CACHE_SUPER_AT(copy) ((uint64_t)(copy) * DND_CACHE_PAGE_BYTES)
/* Each has a page of its own, so that the damage of a page or of a unit of error correction spares the other copy. */
#define DND_CACHE_TAIL_AT(copy)	((2 + (uint64_t)(copy)) * DND_CACHE_PAGE_BYTES)
#define DND_CACHE_RECORDS_AT	(4 * DND_CACHE_PAGE_BYTES)
#define DND_CACHE_COPIES	2
#define DND_CACHE_DRIVE_ID_BYTES 128

/* The superblock is written when the log is formatted.  Later only a copy that is not whole is rewritten, from the other. */
struct dnd_cache_super {
	char magic[8];			/* DND_CACHE_MAGIC */
	uint32_t version;
	uint32_t checksum;
	uint64_t identity;		/* random number that identifies this log */
	uint64_t length_bytes;		/* how much of the NVRAM the log uses */
	uint64_t records;
	uint64_t data_at;
	uint64_t window_bytes;
	uint32_t windows;
	uint32_t block_bytes;		/* of the drive; data are whole blocks */
	uint64_t drive_bytes;
	char drive_id[DND_CACHE_DRIVE_ID_BYTES];	/* from dnd_backing_identity(); ends with a 0 */
};

/* The tail names the oldest record that is not on the drive yet.  The two copies are written in turns. */
struct dnd_cache_tail {
	uint64_t identity;
	uint64_t sequence;
	uint32_t checksum;
	uint32_t epoch;			/* incremented each time that the log is opened for writing */
	uint64_t begun;			/* sequence of the first record of this epoch */
};

enum dnd_cache_record_type {
	DND_CACHE_WRITE = 1,
	DND_CACHE_TRIM,
	DND_CACHE_VOID,		/* a write whose bytes did not match its checksum when the log was recovered */
};

struct dnd_cache_record {
	uint32_t checksum;
	uint32_t type;
	uint64_t identity;
	uint64_t sequence;		/* the first record has 1 */
	uint64_t durable;		/* all records up to this one were durable, and may have been acknowledged */
	uint64_t drive_offset;		/* bytes */
	uint64_t length_bytes;
	uint64_t data_at;		/* where the data lie in the log; 0 for a trim */
	uint32_t data_checksum;
	uint32_t epoch;
};

/* Structures are written as they are in memory, and their checksums cover all their bytes. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the log's numbers are little-endian");
_Static_assert(sizeof(struct dnd_cache_super) == 200, "no padding");
_Static_assert(sizeof(struct dnd_cache_tail) == 32, "no padding");
_Static_assert(sizeof(struct dnd_cache_record) == 64, "no padding");

#endif /* DND_CACHE_LAYOUT_H */
