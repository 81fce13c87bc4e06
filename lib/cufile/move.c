// SPDX-License-Identifier: Apache-2.0
/*
 * Executes the requests of an engine by its queue, one at a time.  The first request opens
 * the queue, because compatibility mode needs none.  If waiting for a request fails, the
 * queue is closed, so that its completion is never mistaken for that of the next request.
 */
#include <errno.h>
#include <string.h>

#include "cufile/codes.h"
#include "cufile/engine_own.h"
#include "cufile/log.h"
#include "cufile/settings.h"

#define KIB	1024ULL

int cuf_engine_adopt(struct cuf_engine *engine, const struct donard_memory_info *info,
		     struct donard_memory **memory)
{
	if (info->fd < 0)	/* a stand-in of tests */
		return donard_memory_from_host(engine->ctx, info->address, info->length_bytes, memory);
	return donard_memory_adopt(engine->ctx, info->fd, info->file_offset_bytes, info->length_bytes, memory);
}

/* In poll mode, polls for short requests instead of sleeping. */
static int await(struct cuf_engine *engine, uint64_t bytes, struct donard_completion *done)
{
	int rc;

	if (cuf_flag(CUF_FLAG_POLL) && bytes <= cuf_size(CUF_SIZE_POLL_KIB) * KIB) {
		rc = donard_queue_submit(engine->queue);
		while (!rc)
			rc = donard_queue_poll(engine->queue, done, 1);
		return rc;
	}
	do {
		rc = donard_queue_wait(engine->queue, 1, -1, done, 1);
	} while (rc == -EINTR);
	return rc;
}

/*
 * Tells a refusal of donard, which compatibility mode may help, from the same errno of a file system: by its word.  EOPNOTSUPP and
 * EHOSTUNREACH have the same word either way, and count as refusals.
 */
static int64_t code_of(int64_t failure, const char *word)
{
	return cuf_is_unsupported(failure) && strcmp(word, "system") ? -CUF_IO_NOT_SUPPORTED : failure;
}

static int64_t finish(struct cuf_engine *engine, uint64_t bytes)
{
	struct donard_completion done;
	int rc = await(engine, bytes, &done);

	if (rc < 0) {
		cuf_log(CUF_LOG_ERROR, "%s", donard_error(engine->ctx));
		donard_queue_close(engine->queue);	/* cancels the request, and waits for the drive */
		engine->queue = NULL;
		return code_of(rc, donard_error_code(engine->ctx));
	}
	engine->bounced |= done.flags & DONARD_COMPLETION_BOUNCED;
	if (done.result >= 0)
		return done.result;
	cuf_log(CUF_LOG_ERROR, "%s", done.error);
	return code_of(done.result, done.error_code);
}

static int open_queue(struct cuf_engine *engine)
{
	struct donard_queue_info info = { .size = sizeof(info) };
	int rc = donard_queue_open(engine->ctx, NULL, &engine->queue);

	if (rc)
		cuf_log(CUF_LOG_ERROR, "this thread can neither read nor write straight: %s",
			donard_error(engine->ctx));
	else if (!donard_queue_info(engine->queue, &info) && *info.no_io_uring)
		cuf_log(CUF_LOG_WARN, "requests go by Linux AIO, as io_uring is refused: %s", info.no_io_uring);
	return rc;
}

static int need_queue(struct cuf_engine *engine)
{
	int rc = engine->queue ? 0 : open_queue(engine);

	return rc ? (int)code_of(rc, donard_error_code(engine->ctx)) : 0;
}

int64_t cuf_engine_move(struct cuf_engine *engine, bool writes, const struct cuf_use *use,
			uint64_t file_offset, struct donard_memory *memory, uint64_t offset, uint64_t bytes)
{
	int rc = need_queue(engine);

	if (rc)
		return rc;
	rc = writes ? donard_queue_write(engine->queue, use->donard, file_offset, memory, offset, bytes, NULL) :
		      donard_queue_read(engine->queue, use->donard, file_offset, memory, offset, bytes, NULL);
	if (!rc)
		return finish(engine, bytes);
	cuf_log(CUF_LOG_ERROR, "%s", donard_error(engine->ctx));
	return code_of(rc, donard_error_code(engine->ctx));
}

bool cuf_engine_bounced(struct cuf_engine *engine)
{
	bool bounced = engine->bounced;

	engine->bounced = false;
	return bounced;
}

int cuf_engine_flush(struct cuf_engine *engine, const struct cuf_use *use)
{
	int rc = need_queue(engine);

	if (rc)
		return rc;
	rc = donard_queue_flush(engine->queue, use->donard, NULL);
	if (!rc)
		return (int)finish(engine, 0);
	cuf_log(CUF_LOG_ERROR, "%s", donard_error(engine->ctx));
	return (int)code_of(rc, donard_error_code(engine->ctx));
}
