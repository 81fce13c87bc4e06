// SPDX-License-Identifier: Apache-2.0
/*
 * See transfer.h.  A transfer is cut into pieces: whole blocks between aligned places are
 * moved directly, and the rest through a stage.
 */
#include <errno.h>

#include "cufile/codes.h"
#include "cufile/compat.h"
#include "cufile/counts.h"
#include "cufile/locks.h"
#include "cufile/log.h"
#include "cufile/part.h"
#include "cufile/pool.h"
#include "cufile/settings.h"
#include "cufile/transfer.h"

#define REQUEST_BYTES_MAX	(1ULL << 30)	/* of a request to a queue */

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static bool is_aligned(const struct cuf_use *use, const struct cuf_target *target, uint64_t skip)
{
	return target->memory && ((uintptr_t)target->address + skip) % use->memory_align == 0;
}

/* How many of the @left bytes at @at can be moved directly next; if 0, *part of them have to go through the stage. */
static uint64_t straight_bytes(const struct cuf_use *use, const struct cuf_target *target, uint64_t at,
			       uint64_t done, uint64_t left, uint64_t *part)
{
	uint64_t skip = at % use->align ? use->align - at % use->align : 0;

	*part = left;
	if (!is_aligned(use, target, done + skip))
		return 0;
	if (skip || left < use->align) {
		*part = least(left, skip ? skip : left);
		return 0;
	}
	left = least(left, REQUEST_BYTES_MAX);
	return left - left % use->align;
}

static ssize_t straight(struct cuf_engine *engine, const struct cuf_transfer *transfer, const struct cuf_use *use,
			const struct cuf_target *target, uint64_t done, uint64_t bytes)
{
	uint64_t at = (uint64_t)transfer->file_offset + done;
	struct cuf_range range = { .start = at, .end = at + bytes };
	ssize_t moved;

	if (!transfer->writes)
		return cuf_part_read(engine, use, at, target->memory, target->place + done, bytes);
	cuf_inode_lock(use->file->lock, &range);
	moved = cuf_engine_move(engine, true, use, at, target->memory, target->place + done, bytes);
	cuf_inode_unlock(use->file->lock, &range);
	return moved;
}

/* Bytes that the file system led through its page cache did not go the way that was asked for. */
static void count_piece(struct cuf_engine *engine, const struct cuf_transfer *transfer, const struct cuf_use *use,
			const struct cuf_target *target, enum cuf_way way, ssize_t moved)
{
	bool bounced = cuf_engine_bounced(engine);

	if (moved <= 0)
		return;
	if (bounced)
		cuf_log(CUF_LOG_NOTICE, "%s: its file system stopped direct I/O while it was in use: %lld bytes may have gone "
			"through DRAM", use->file->name, (long long)moved);
	else if (way == CUF_WAY_DIRECT && target->context)
		cuf_file_note_reached(use->file, transfer->writes, target->context);
	cuf_count_bytes(transfer->writes, bounced ? CUF_WAY_COMPAT : way, (uint64_t)moved);
}

static ssize_t one_piece(struct cuf_engine *engine, const struct cuf_transfer *transfer, const struct cuf_use *use,
			 const struct cuf_target *target, uint64_t done, uint64_t *asked)
{
	uint64_t at = (uint64_t)transfer->file_offset + done, part;
	uint64_t bytes = straight_bytes(use, target, at, done, transfer->bytes - done, &part);
	ssize_t moved;

	*asked = bytes ? bytes : part;
	moved = bytes ? straight(engine, transfer, use, target, done, bytes) :
		cuf_part_move(engine, transfer->writes, use, at, target->context, target->address + done, asked);
	count_piece(engine, transfer, use, target, bytes ? CUF_WAY_DIRECT : CUF_WAY_STAGED, moved);
	return moved;
}

/* *done counts the bytes that were moved, even if a later piece fails. */
static ssize_t pieces(struct cuf_engine *engine, const struct cuf_transfer *transfer, const struct cuf_use *use,
		      const struct cuf_target *target, uint64_t *done)
{
	uint64_t asked;
	ssize_t moved;

	while (*done < transfer->bytes) {
		moved = one_piece(engine, transfer, use, target, *done, &asked);
		if (moved < 0)
			return moved;
		*done += (uint64_t)moved;
		if ((uint64_t)moved < asked)
			break;		/* the end of the file */
	}
	return 0;
}

static bool has_compat(const struct cuf_file *file)
{
	return cuf_flag(CUF_FLAG_ALLOW_COMPAT) && file->plain_fd >= 0;
}

/* An errno comes from the file system, so compatibility mode would not help: see cuf_engine_move(). */
static bool may_fall_back(const struct cuf_file *file, ssize_t failure)
{
	return cuf_is_code(failure) && cuf_is_unsupported(failure) && has_compat(file);
}

/*
 * Copies of memory that is not pinned must come after the calls of CUDA that the caller made before.  Those of compatibility
 * mode do so by themselves.  For the others this waits, while the request holds no lock.  It need not wait for a batch, for
 * which the wait was made at its submission, nor in a stream, which has an order of its own.
 *
 * For pinned memory the program has to wait.  Its synchronous calls are complete when they return, but whether its kernels are
 * can be found out only by a wait, which costs more than a small request.
 */
static void settle(const struct cuf_use *use, const struct cuf_target *target)
{
	if (use->donard && target->context && !target->memory && !cuf_pool_is_own())
		cuf_gpu->settle_calls(target->context);
}

/* Fails for memory that a drive cannot reach.  In compatibility mode, the CPU reads and writes managed memory. */
static ssize_t not_straight(const struct cuf_file *file, const struct cuf_target *target)
{
	if (target->kind == CUF_KIND_MANAGED && !has_compat(file))
		cuf_log(CUF_LOG_ERROR, "%p is managed memory, which moves between host and GPU, and cannot be read or written straight: "
			"use memory of cudaMalloc(), or set properties.allow_compat_mode", (void *)target->address);
	return -CUF_CUDA_MEMORY_TYPE_INVALID;
}

static ssize_t run(struct cuf_engine *engine, const struct cuf_transfer *transfer, const struct cuf_use *use,
		   const struct cuf_target *target)
{
	uint64_t done = 0;
	ssize_t rc = 0;
	int failed = 0;

	settle(use, target);
	if (!use->donard)
		return cuf_compat(engine, transfer, use->file, target, 0);
	if (target->kind == CUF_KIND_MANAGED || target->kind == CUF_KIND_FOREIGN)
		rc = not_straight(use->file, target);
	else
		rc = pieces(engine, transfer, use, target, &done);
	/* With O_SYNC or O_DSYNC, bytes count as written only if they are durable. */
	if (done && transfer->writes && use->file->durable)
		failed = cuf_engine_flush(engine, use);
	if (failed)
		return failed;
	if (may_fall_back(use->file, rc)) {
		cuf_log(CUF_LOG_NOTICE, "%s: compatibility mode, which is allowed", use->file->name);
		rc = cuf_compat(engine, transfer, use->file, target, done);
		done += rc > 0 ? (uint64_t)rc : 0;
	}
	return done || rc >= 0 ? (ssize_t)done : rc;
}

/* Logs a line for a request whose handle is registered.  @asked: how many bytes it asked for. */
static void tell_ways(const struct cuf_transfer *transfer, const struct cuf_use *use, uint64_t asked, ssize_t result)
{
	const uint64_t *bytes = cuf_counts_of_thread();

	cuf_log(CUF_LOG_TRACE, "%s: %s %lld of %llu bytes at %lld: %llu straight, %llu staged, %llu in compatibility mode%s",
		use->file->name, transfer->writes ? "wrote" : "read", result < 0 ? 0LL : (long long)result,
		(unsigned long long)asked, (long long)transfer->file_offset,
		(unsigned long long)bytes[CUF_WAY_DIRECT], (unsigned long long)bytes[CUF_WAY_STAGED],
		(unsigned long long)bytes[CUF_WAY_COMPAT], result < 0 ? "; the request failed" : "");
}

/* Cuts the transfer at the end of a drive, which does not grow by a write, but may have grown by LVM or the like. */
static int end_at(struct cuf_engine *engine, struct cuf_transfer *transfer, struct cuf_use *use)
{
	uint64_t at = (uint64_t)transfer->file_offset;
	int code;

	if (use->end == UINT64_MAX || at + transfer->bytes <= use->end)
		return 0;
	code = cuf_engine_look_again(engine, use);
	if (code)
		return -code;
	if (at >= use->end && transfer->writes && transfer->bytes) {
		cuf_log(CUF_LOG_ERROR, "%s ends at %llu: nothing can be written at %llu", use->file->name,
			(unsigned long long)use->end, (unsigned long long)at);
		return -ENOSPC;
	}
	transfer->bytes = at >= use->end ? 0 : least(transfer->bytes, use->end - at);
	return 0;
}

static struct cuf_use *find(struct cuf_engine *engine, const struct cuf_transfer *transfer,
			    struct cuf_place **place, int *code)
{
	struct cuf_use *use = cuf_engine_file(engine, transfer->handle, code);

	if (use)
		*place = cuf_engine_buffer(engine, transfer->base, code);
	cuf_engine_unlock(engine);
	return use;
}

static int wrong_mode(const struct cuf_transfer *transfer, const struct cuf_file *file)
{
	cuf_log(CUF_LOG_ERROR, "%s was not opened for %s: register a descriptor that was", file->name,
		transfer->writes ? "writing" : "reading");
	return -EBADF;
}

/* @code: 0, or why @place could not be found. */
static ssize_t begin_on(struct cuf_engine *engine, struct cuf_transfer *transfer, struct cuf_use *use,
			struct cuf_place *place, int code)
{
	struct cuf_target target;

	if (transfer->bytes > INT64_MAX - (uint64_t)transfer->file_offset)
		return -CUF_INVALID_VALUE;
	if (!(transfer->writes ? use->file->writable : use->file->readable))
		return wrong_mode(transfer, use->file);
	code = code ? -code : cuf_target_find(engine, transfer, place, &target);
	if (!code)
		code = end_at(engine, transfer, use);
	return code || !transfer->bytes ? code : run(engine, transfer, use, &target);
}

static ssize_t begin(struct cuf_engine *engine, struct cuf_transfer *transfer)
{
	const bool is_told = cuf_log_has(CUF_LOG_TRACE);
	uint64_t asked = transfer->bytes;
	struct cuf_place *place = NULL;
	struct cuf_use *use;
	ssize_t result;
	int code;

	use = find(engine, transfer, &place, &code);
	if (!use)
		return -code;
	if (is_told)
		cuf_count_forget();
	result = begin_on(engine, transfer, use, place, code);
	if (is_told)
		tell_ways(transfer, use, asked, result);
	return result;
}

static ssize_t transfer_now(struct cuf_transfer transfer)
{
	struct cuf_engine *engine;
	ssize_t result;
	int code;

	engine = cuf_engine_enter(&code);
	if (!engine) {
		cuf_count_request(transfer.writes, true);
		return -code;
	}
	result = begin(engine, &transfer);
	cuf_count_request(transfer.writes, result < 0);
	cuf_engine_leave(engine);
	return result;
}

/* A thread that was canceled meanwhile would leave the engine busy and the file locked. */
ssize_t cuf_transfer(const struct cuf_transfer *transfer)
{
	ssize_t result;

	cuf_cancel_later();
	result = transfer_now(*transfer);
	cuf_cancel_again();
	return result;
}
