/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lies in the NVRAM: two superblocks, two tails, the records, the windows.
 *
 *	0		superblock, the first copy
 *	4096		superblock, the second
 *	8192		tail, the first copy
 *	12288		tail, the second
 *	16384		records: a ring, record S at place S % records
 *	data_at		windows: each a ring of blocks that one client fills
 *
 * Numbers are little-endian.  Each structure has a checksum of its own (CRC-32C),
 * taken with the checksum's field zero, and the identity of the log: what an
 * older log left behind is never taken for one's own.
 *
 * A record is written after the data it names and made durable together with
 * them; a power cut may leave any part of both, in any order, in pieces of 8 bytes.
 * So a record counts only if its own checksum is right, if it continues the sequence, and
 * if its epoch is that of its place: from the tail's `begun` on the present one, before it a
 * former one.  Behind the end of the log a record may lie that was written before a power
 * cut and never acknowledged.  It must not come back once the places before it are written
 * anew, nor when another write's bytes in the place of its own happen to be the same.
 *
 * Where only the bytes are not what the record says, it is passed over, and what follows counts:
 * a client may write over what it sent, and that must not take the others' records with it.  The
 * record becomes void by its first 8 bytes, which a cut leaves whole.
 */
#ifndef DND_CACHE_LAYOUT_H
#define DND_CACHE_LAYOUT_H

#include <stdint.h>

#define DND_CACHE_MAGIC		"donardWC"
#define DND_CACHE_UNFINISHED	"donardWF"	/* in its place while a log is laid out */
#define DND_CACHE_VERSION	1U
#define DND_CACHE_PAGE_BYTES	4096U
#define DND_CACHE_SUPER_AT(copy) ((uint64_t)(copy) * DND_CACHE_PAGE_BYTES)
/* A page each: what spoils one copy, a page of a file or a unit of error correction, leaves the other. */
#define DND_CACHE_TAIL_AT(copy)	((2 + (uint64_t)(copy)) * DND_CACHE_PAGE_BYTES)
#define DND_CACHE_RECORDS_AT	(4 * DND_CACHE_PAGE_BYTES)
#define DND_CACHE_COPIES	2
#define DND_CACHE_DRIVE_ID_BYTES 128

/* Written when the log is formatted, and never after. */
struct dnd_cache_super {
	char magic[8];			/* DND_CACHE_MAGIC */
	uint32_t version;
	uint32_t checksum;
	uint64_t identity;		/* random, of this log */
	uint64_t length_bytes;		/* of the part of the NVRAM that the log has */
	uint64_t records;
	uint64_t data_at;
	uint64_t window_bytes;
	uint32_t windows;
	uint32_t block_bytes;		/* the drive's: data are whole blocks of it */
	uint64_t drive_bytes;
	char drive_id[DND_CACHE_DRIVE_ID_BYTES];	/* as the kernel names it (wwid), with a 0 behind */
};

/* The oldest record that is not on the drive yet; the copies are written in turns. */
struct dnd_cache_tail {
	uint64_t identity;
	uint64_t sequence;
	uint32_t checksum;
	uint32_t epoch;			/* goes up each time that the log is opened to be written */
	uint64_t begun;			/* sequence of the first record of this epoch */
};

enum dnd_cache_record_type {
	DND_CACHE_WRITE = 1,
	DND_CACHE_TRIM,
	DND_CACHE_VOID,		/* a write whose bytes were not what its checksum says when the log was recovered */
};

struct dnd_cache_record {
	uint32_t checksum;
	uint32_t type;
	uint64_t identity;
	uint64_t sequence;		/* from 1 */
	uint64_t durable;		/* every record up to this one was acknowledged, or might be */
	uint64_t drive_offset;		/* bytes */
	uint64_t length_bytes;
	uint64_t data_at;		/* in the log; 0 of a trim */
	uint32_t data_checksum;
	uint32_t epoch;
};

/* Structures are written as they lie, and their checksums run over all their bytes. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the log's numbers are little-endian");
_Static_assert(sizeof(struct dnd_cache_super) == 200, "no padding");
_Static_assert(sizeof(struct dnd_cache_tail) == 32, "no padding");
_Static_assert(sizeof(struct dnd_cache_record) == 64, "no padding");

#endif /* DND_CACHE_LAYOUT_H */
