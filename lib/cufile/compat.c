// SPDX-License-Identifier: Apache-2.0
/* See compat.h.  It is used only if the settings allow it, and all its bytes are counted. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cufile/codes.h"
#include "cufile/compat.h"
#include "cufile/counts.h"
#include "cufile/log.h"

struct step {
	int fd;
	struct cuf_inode *lock;
	off_t at;
	uint8_t *address;
	size_t bytes;
};

static ssize_t read_step(const struct step *step, void *to)
{
	ssize_t got;

	do {
		got = pread(step->fd, to, step->bytes, step->at);
	} while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

static ssize_t write_step(const struct step *step, const void *from)
{
	struct cuf_range range = cuf_inode_cached(step->lock, (uint64_t)step->at, (uint64_t)step->at + step->bytes);
	ssize_t got;

	cuf_inode_lock(step->lock, &range);
	do {
		got = pwrite(step->fd, from, step->bytes, step->at);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		got = -errno;
	cuf_inode_unlock(step->lock, &range);
	return got;
}

static ssize_t through_stage(const struct cuf_stage *stage, const struct step *step, bool writes)
{
	ssize_t got;
	int code;

	if (writes) {
		code = cuf_stage_copy(stage, stage->address, step->address, step->bytes);
		return code ? -code : write_step(step, stage->address);
	}
	got = read_step(step, stage->address);
	code = got > 0 ? cuf_stage_copy(stage, step->address, stage->address, (size_t)got) : 0;
	return code ? -code : got;
}

/* The CPU can access all memory but that of a device directly, managed memory included. */
static ssize_t one_step(struct cuf_engine *engine, struct step *step, bool writes, const struct cuf_target *target)
{
	struct cuf_stage *stage;
	int code;

	if (target->kind != CUF_KIND_DEVICE)
		return writes ? write_step(step, step->address) : read_step(step, step->address);
	stage = cuf_engine_bounce(engine, target->context, &code);
	if (!stage)
		return -code;
	if (step->bytes > stage->bytes)
		step->bytes = stage->bytes;
	return through_stage(stage, step, writes);
}

/* Logs a failure with an errno.  One with a cuFile code was logged where it arose. */
static void tell(const struct cuf_transfer *transfer, const struct cuf_file *file, const struct step *step, ssize_t failure)
{
	if (!cuf_is_code(failure))
		cuf_log(CUF_LOG_ERROR, "%s: %s %zu bytes at %lld failed in compatibility mode: %s", file->name,
			transfer->writes ? "writing" : "reading", step->bytes, (long long)step->at, strerror((int)-failure));
}

ssize_t cuf_compat(struct cuf_engine *engine, const struct cuf_transfer *transfer, const struct cuf_file *file,
		   const struct cuf_target *target, uint64_t done)
{
	uint64_t begin = done;
	struct step step;
	ssize_t got = 1;

	while (done < transfer->bytes && got > 0) {
		step = (struct step){
			.fd = file->plain_fd,
			.lock = file->lock,
			.at = (off_t)((uint64_t)transfer->file_offset + done),
			.address = target->address + done,
			.bytes = transfer->bytes - done,
		};
		got = one_step(engine, &step, transfer->writes, target);
		if (got > 0) {
			cuf_count_bytes(transfer->writes, CUF_WAY_COMPAT, (uint64_t)got);
			done += (uint64_t)got;
		}
	}
	if (got < 0)
		tell(transfer, file, &step, got);
	return done > begin ? (ssize_t)(done - begin) : got < 0 ? got : 0;
}
