// SPDX-License-Identifier: Apache-2.0
/*
 * See part.h.  Within the process, a write that covers part of a block excludes other
 * writes to its blocks (inodes.h).  Between processes, programs have to lock, as with cuFile.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cufile/codes.h"
#include "cufile/log.h"
#include "cufile/part.h"

#define KIB		1024

/* The blocks around the bytes. */
struct span {
	uint64_t start, end;	/* in the file */
	uint64_t skip;		/* how far behind start the bytes begin */
	uint64_t bytes;
};

static struct span span_of(const struct cuf_use *use, uint64_t at, uint64_t bytes)
{
	uint64_t end = at + bytes + use->align - 1;

	return (struct span){
		.start = at - at % use->align,
		.end = end - end % use->align,
		.skip = at % use->align,
		.bytes = bytes,
	};
}

/* How many of the bytes that a request moved were asked for. */
static ssize_t of_span(const struct span *span, int64_t moved)
{
	if (moved < 0)
		return moved;
	if ((uint64_t)moved <= span->skip)
		return 0;
	moved -= (int64_t)span->skip;
	return (uint64_t)moved < span->bytes ? moved : (ssize_t)span->bytes;
}

static void note_settled(struct cuf_file *file, uint64_t end)
{
	uint64_t before = __atomic_load_n(&file->settled, __ATOMIC_RELAXED);

	while (before < end && !__atomic_compare_exchange_n(&file->settled, &before, end, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* Most reads take no range: threads that read one file would meet at its lock. */
int64_t cuf_part_read(struct cuf_engine *engine, const struct cuf_use *use, uint64_t at, struct donard_memory *memory,
		      uint64_t offset, uint64_t bytes)
{
	struct cuf_range range = { .start = at, .end = at + bytes };
	int64_t moved;

	if (range.end <= __atomic_load_n(&use->file->settled, __ATOMIC_RELAXED))
		return cuf_engine_move(engine, false, use, at, memory, offset, bytes);
	cuf_inode_lock(use->file->lock, &range);
	moved = cuf_engine_move(engine, false, use, at, memory, offset, bytes);
	if (moved > 0)
		note_settled(use->file, at + (uint64_t)moved);
	cuf_inode_unlock(use->file->lock, &range);
	return moved;
}

static ssize_t read_span(struct cuf_engine *engine, const struct cuf_use *use, const struct span *span,
			 struct cuf_stage *stage, uint8_t *address)
{
	int64_t moved = cuf_part_read(engine, use, span->start, stage->memory, 0, span->end - span->start);
	ssize_t got = of_span(span, moved);
	int code = 0;

	if (got > 0)
		code = cuf_stage_copy(stage, address, (uint8_t *)stage->address + span->skip, (size_t)got);
	return code ? -code : got;
}

/* Reads a block into the stage, and zeros the part behind the end of the file. */
static int read_block(struct cuf_engine *engine, const struct cuf_use *use, const struct span *span,
		      struct cuf_stage *stage, uint64_t block)
{
	static const uint8_t zeros[CUF_BLOCK_BYTES_MAX];
	uint64_t place = block - span->start;
	int64_t got;
	int code;

	if (use->align > sizeof(zeros))
		return -CUF_INTERNAL_ERROR;
	got = cuf_engine_move(engine, false, use, block, stage->memory, place, use->align);
	if (got < 0 || (uint64_t)got >= use->align)
		return got < 0 ? (int)got : 0;
	code = cuf_stage_copy(stage, (uint8_t *)stage->address + place + got, zeros, use->align - (uint64_t)got);
	return -code;
}

static int read_ends(struct cuf_engine *engine, const struct cuf_use *use, const struct span *span,
		     struct cuf_stage *stage)
{
	uint64_t last = span->end - use->align;
	bool tail = span->start + span->skip + span->bytes < span->end;
	int rc = 0;

	if (span->skip || (tail && last == span->start))
		rc = read_block(engine, use, span, stage, span->start);
	if (!rc && tail && last != span->start)
		rc = read_block(engine, use, span, stage, last);
	return rc;
}

static uint64_t size_of(const struct cuf_file *file)
{
	struct stat st;

	return fstat(file->direct_fd, &st) ? UINT64_MAX : (uint64_t)st.st_size;
}

/*
 * The write wrote whole blocks.  So this truncates the file to the end of the bytes, or to
 * its former end if that lies behind them; but not if another process made it longer.  The
 * caller has all of the file from the span on alone, if this may happen (lock_span()).
 */
static int settle(const struct cuf_use *use, const struct span *span, uint64_t size_before)
{
	uint64_t end = span->start + span->skip + span->bytes;
	uint64_t size = size_before > end ? size_before : end;

	if (!use->file->is_regular || size >= span->end || size_of(use->file) != span->end)
		return 0;
	return ftruncate(use->file->direct_fd, (off_t)size) ? -errno : 0;
}

/* Could this write make the file longer, and then cut it? */
static bool may_cut(const struct cuf_use *use, const struct span *span)
{
	return use->file->is_regular && span->start + span->skip + span->bytes < span->end && size_of(use->file) < span->end;
}

/*
 * Locks all units of the page cache that hold the span, since the kernel drops those that a direct write changes.  Asks for the
 * file's size again once the range is locked, because other requests may have cut the file meanwhile.  A later cut leaves the
 * file longer than this range: its own range would overlap this one otherwise, and it would wait.
 */
static void lock_span(const struct cuf_use *use, const struct span *span, struct cuf_range *range)
{
	*range = cuf_inode_cached(use->file->lock, span->start, span->end);
	if (may_cut(use, span))
		range->end = UINT64_MAX;
	cuf_inode_lock(use->file->lock, range);
	if (range->end == UINT64_MAX || !may_cut(use, span))
		return;
	cuf_inode_unlock(use->file->lock, range);
	range->end = UINT64_MAX;
	cuf_inode_lock(use->file->lock, range);
}

static ssize_t write_span(struct cuf_engine *engine, const struct cuf_use *use, const struct span *span,
			  struct cuf_stage *stage, const uint8_t *address)
{
	uint64_t size_before = size_of(use->file);
	int rc = read_ends(engine, use, span, stage);
	int64_t moved;

	if (rc)
		return rc;
	rc = cuf_stage_copy(stage, (uint8_t *)stage->address + span->skip, address, span->bytes);
	if (rc)
		return -rc;
	moved = cuf_engine_move(engine, true, use, span->start, stage->memory, 0, span->end - span->start);
	/* This is needed even if the write failed: a queue splits it, and the part with the end may have been written. */
	rc = settle(use, span, size_before);
	return rc ? rc : of_span(span, moved);
}

static int too_small(const struct cuf_stage *stage, const struct cuf_use *use)
{
	if (stage->bytes >= 2 * use->align)
		return 0;
	cuf_log(CUF_LOG_ERROR, "%s: what is not aligned to its blocks of %llu bytes needs memory for two of them, and "
		"properties.per_buffer_cache_size_kb of cufile.json allows %llu KiB: raise it to %llu", use->file->name,
		(unsigned long long)use->align, (unsigned long long)stage->bytes / KIB, (unsigned long long)(2 * use->align / KIB));
	return -CUF_INTERNAL_ERROR;
}

static ssize_t move_span(struct cuf_engine *engine, bool writes, const struct cuf_use *use, const struct span *span,
			 struct cuf_stage *stage, uint8_t *address)
{
	struct cuf_range range;
	ssize_t moved;

	if (!writes)
		return read_span(engine, use, span, stage, address);
	lock_span(use, span, &range);
	moved = write_span(engine, use, span, stage, address);
	cuf_inode_unlock(use->file->lock, &range);
	return moved;
}

static ssize_t move_by_stage(struct cuf_engine *engine, bool writes, const struct cuf_use *use, uint64_t at,
			     void *context, uint8_t *address, uint64_t *bytes)
{
	struct cuf_stage *stage;
	struct span span;
	uint64_t room;
	ssize_t moved;
	int code;

	stage = cuf_engine_stage(engine, context, &code);
	if (!stage)
		return -code;
	code = too_small(stage, use);
	if (code)
		return code;
	/* End at a block border, so that the remaining bytes begin with a whole block. */
	room = stage->bytes - stage->bytes % use->align - at % use->align;
	if (*bytes > room)
		*bytes = room;
	span = span_of(use, at, *bytes);
	moved = move_span(engine, writes, use, &span, stage, address);
	if (moved == -ENODEV && context)
		cuf_engine_unpin(engine, stage);
	return moved;
}

/*
 * ENODEV may be the region's: it was removed since the stage was pinned.  The program has no part in the stage, so it is
 * pinned anew, as for the first request.  Bytes that were written already are written once more.
 */
ssize_t cuf_part_move(struct cuf_engine *engine, bool writes, const struct cuf_use *use, uint64_t at,
		      void *context, uint8_t *address, uint64_t *bytes)
{
	ssize_t moved = move_by_stage(engine, writes, use, at, context, address, bytes);

	return moved == -ENODEV && context ? move_by_stage(engine, writes, use, at, context, address, bytes) : moved;
}
