// SPDX-License-Identifier: Apache-2.0
/*
 * See batches.h.  The pool owns an entry from its submission until it is done; then the
 * batch owns it until its event is taken.  A destroyed batch is taken out of the table, and
 * freed when no entry of it is being worked on and no call uses it.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include "cufile/batches.h"
#include "cufile/buffers.h"
#include "cufile/calls.h"
#include "cufile/codes.h"
#include "cufile/driver.h"
#include "cufile/gpu.h"
#include "cufile/locks.h"
#include "cufile/map.h"
#include "cufile/pool.h"
#include "cufile/settings.h"
#include "cufile/transfer.h"

struct batch;

struct entry {
	struct cuf_job job;	/* first, so that the pool's job is the entry */
	struct entry *next;	/* in one of the batch's lists */
	struct batch *batch;
	struct cuf_transfer transfer;
	struct cuf_batch_event event;
	bool canceled;
};

struct list {
	struct entry *first, **last;
};

struct batch {
	pthread_mutex_t lock;
	pthread_cond_t change;
	unsigned int most, working, done_count, callers;
	struct list idle, done;
	struct entry entries[];
};

/* Batches by number; like handles of files, numbers are never used again. */
static struct cuf_map table;
static uint64_t last_number;

static void list_add(struct list *list, struct entry *entry)
{
	entry->next = NULL;
	*list->last = entry;
	list->last = &entry->next;
}

static struct entry *list_take(struct list *list)
{
	struct entry *entry = list->first;

	list->first = entry->next;
	if (!list->first)
		list->last = &list->first;
	return entry;
}

/* ---- the begin and the end ---- */

static void begin_change(struct batch *batch)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&batch->change, &attributes);
	pthread_condattr_destroy(&attributes);
}

static struct batch *new_batch(unsigned int most)
{
	struct batch *batch = calloc(1, sizeof(*batch) + most * sizeof(batch->entries[0]));

	if (!batch)
		return NULL;
	pthread_mutex_init(&batch->lock, NULL);
	begin_change(batch);
	batch->most = most;
	batch->idle.last = &batch->idle.first;
	batch->done.last = &batch->done.first;
	for (unsigned int i = 0; i < most; i++) {
		batch->entries[i].batch = batch;
		list_add(&batch->idle, &batch->entries[i]);
	}
	return batch;
}

static void free_batch(struct batch *batch)
{
	pthread_cond_destroy(&batch->change);
	pthread_mutex_destroy(&batch->lock);
	free(batch);
}

/* The caller holds the batch's lock.  Requests that have begun continue. */
static void cancel(struct batch *batch)
{
	for (unsigned int i = 0; i < batch->most; i++)
		if (batch->entries[i].event.status == CUF_WAITING)
			batch->entries[i].canceled = true;
}

/* No call can enter the batch: it was taken out of the table, or the caller holds the table's lock. */
static void end_batch(struct batch *batch)
{
	pthread_mutex_lock(&batch->lock);
	cancel(batch);
	pthread_cond_broadcast(&batch->change);
	while (batch->working || batch->callers)
		pthread_cond_wait(&batch->change, &batch->lock);
	pthread_mutex_unlock(&batch->lock);
	free_batch(batch);
}

/* Returns the batch locked; it is not freed, and the thread not canceled, until leave(). */
static struct batch *enter(void *number)
{
	struct batch *batch;

	cuf_lock(CUF_LOCK_BATCHES);
	batch = number ? cuf_map_get(&table, (uintptr_t)number) : NULL;
	if (batch) {
		pthread_mutex_lock(&batch->lock);
		batch->callers++;
		cuf_cancel_later();
	}
	cuf_unlock(CUF_LOCK_BATCHES);
	return batch;
}

static void leave(struct batch *batch)
{
	batch->callers--;
	pthread_cond_broadcast(&batch->change);
	pthread_mutex_unlock(&batch->lock);
	cuf_cancel_again();
}

static int add_batch(void **number, unsigned int most)
{
	struct batch *batch = new_batch(most);
	int rc;

	if (!batch)
		return CUF_INTERNAL_ERROR;
	cuf_lock(CUF_LOCK_BATCHES);
	rc = cuf_map_put(&table, ++last_number, batch) ? CUF_INTERNAL_ERROR : 0;
	*number = (void *)(uintptr_t)last_number;
	cuf_unlock(CUF_LOCK_BATCHES);
	if (rc)
		free_batch(batch);
	return rc;
}

CUF_PUBLIC struct cuf_error cuFileBatchIOSetUp(void **number, unsigned int most)
{
	int rc = number && most ? cuf_driver_need() : CUF_INVALID_VALUE;

	if (rc)
		return cuf_error(rc);
	rc = most > cuf_size(CUF_SIZE_BATCH) ? CUF_INVALID_VALUE : add_batch(number, most);
	cuf_driver_leave();
	return cuf_error(rc);
}

CUF_PUBLIC void cuFileBatchIODestroy(void *number)
{
	struct batch *batch;

	cuf_cancel_later();
	cuf_lock(CUF_LOCK_BATCHES);
	batch = number ? cuf_map_take(&table, (uintptr_t)number) : NULL;
	cuf_unlock(CUF_LOCK_BATCHES);
	if (batch)
		end_batch(batch);
	cuf_cancel_again();
}

void cuf_batches_end(void)
{
	cuf_lock(CUF_LOCK_BATCHES);
	for (size_t i = 0; i < table.room; i++)
		if (table.entries[i].key)
			end_batch(table.entries[i].value);
	cuf_map_free(&table);
	cuf_unlock(CUF_LOCK_BATCHES);
}

/* ---- fork() ---- */

static void for_each_batch(void (*call)(struct batch *))
{
	for (size_t i = 0; i < table.room; i++)
		if (table.entries[i].key)
			call(table.entries[i].value);
}

static void lock_batch(struct batch *batch)
{
	pthread_mutex_lock(&batch->lock);
}

static void unlock_batch(struct batch *batch)
{
	pthread_mutex_unlock(&batch->lock);
}

/* The entries that the pool had are the parent's, and are canceled in the child. */
static void reset_batch(struct batch *batch)
{
	begin_change(batch);
	batch->working = batch->callers = 0;
	for (unsigned int i = 0; i < batch->most; i++) {
		struct entry *entry = &batch->entries[i];

		if (entry->event.status != CUF_WAITING && entry->event.status != CUF_PENDING)
			continue;
		entry->event.status = CUF_CANCELED;
		batch->done_count++;
		list_add(&batch->done, entry);
	}
	unlock_batch(batch);
}

void cuf_batches_before_fork(void)
{
	for_each_batch(lock_batch);
}

void cuf_batches_after_fork(bool child)
{
	for_each_batch(child ? reset_batch : unlock_batch);
}

/* ---- in a thread of the pool ---- */

static bool begin(struct entry *entry)
{
	bool begins;

	pthread_mutex_lock(&entry->batch->lock);
	begins = !entry->canceled;
	if (begins)
		entry->event.status = CUF_PENDING;
	pthread_mutex_unlock(&entry->batch->lock);
	return begins;
}

/* Tells a request that could not begin (INVALID) from one that failed. */
static int status_of(ssize_t result)
{
	if (result >= 0)
		return CUF_COMPLETE;
	return cuf_is_code(result) ? CUF_INVALID : CUF_FAILED;
}

static void finish(struct entry *entry, int status, ssize_t result)
{
	struct batch *batch = entry->batch;

	pthread_mutex_lock(&batch->lock);
	entry->event.status = status;
	entry->event.result = (size_t)result;
	batch->working--;
	batch->done_count++;
	list_add(&batch->done, entry);
	pthread_cond_broadcast(&batch->change);
	pthread_mutex_unlock(&batch->lock);
}

static void run(struct cuf_job *job)
{
	struct entry *entry = (struct entry *)job;
	ssize_t result;

	if (!begin(entry)) {
		finish(entry, CUF_CANCELED, 0);
		return;
	}
	result = cuf_transfer(&entry->transfer);
	finish(entry, status_of(result), result);
}

/* ---- submission ---- */

static bool is_valid(const struct cuf_batch_request *request)
{
	return request->mode == CUF_MODE_BATCH &&
	       (request->operation == CUF_READ || request->operation == CUF_WRITE);
}

static void submit(struct batch *batch, const struct cuf_batch_request *request)
{
	struct entry *entry = list_take(&batch->idle);

	entry->transfer = (struct cuf_transfer){
		.handle = (uintptr_t)request->handle,
		.base = (uintptr_t)request->base,
		.bytes = request->bytes,
		.file_offset = request->file_offset,
		.offset = request->offset,
		.writes = request->operation == CUF_WRITE,
	};
	entry->event = (struct cuf_batch_event){ .cookie = request->cookie, .status = CUF_WAITING };
	entry->canceled = false;
	entry->job.run = run;
	batch->working++;
	if (!cuf_pool_add(CUF_POOL_BATCHES, &entry->job))
		return;
	batch->working--;
	entry->event.status = CUF_INVALID;
	entry->event.result = (size_t)-CUF_BATCH_SUBMIT_FAILED;
	batch->done_count++;
	list_add(&batch->done, entry);
}

static int check_all(const struct batch *batch, unsigned int count, const struct cuf_batch_request *requests)
{
	if (!count || count > batch->most)
		return CUF_INVALID_VALUE;
	if (count > batch->most - batch->working - batch->done_count)
		return CUF_BATCH_FULL;
	for (unsigned int i = 0; i < count; i++)
		if (!is_valid(&requests[i]))
			return CUF_INVALID_VALUE;
	return 0;
}

/* The context in which CUDA may still be working on the entry's memory, for all that its calls tell; NULL if none is. */
static void *unsettled(const struct cuf_batch_request *request)
{
	uint64_t base = (uintptr_t)request->base;
	struct cuf_pointer found;

	if (cuf_buffer_is_pinned(base, request->offset, request->bytes, NULL) ||
	    cuf_gpu->look_up((void *)(uintptr_t)(base + (uint64_t)request->offset), &found))
		return NULL;
	return found.context;
}

/*
 * The pool's copies are ordered with no stream, so this waits for what the caller's calls of CUDA began.  For pinned memory
 * the program waits, as settle() of transfer.c says.  This does so without the batch's lock: a stream for which CUDA waits
 * may need the threads that end entries of this batch.
 */
static void settle(struct batch *batch, unsigned int count, const struct cuf_batch_request *requests)
{
	void *context, *settled = NULL;

	pthread_mutex_unlock(&batch->lock);
	for (unsigned int i = 0; i < count; i++) {
		context = unsettled(&requests[i]);
		if (context && context != settled)
			cuf_gpu->settle_calls(context);
		settled = context ? context : settled;
	}
	pthread_mutex_lock(&batch->lock);
}

static int submit_all(struct batch *batch, unsigned int count, const struct cuf_batch_request *requests)
{
	int rc = check_all(batch, count, requests);

	if (rc)
		return rc;
	settle(batch, count, requests);
	rc = check_all(batch, count, requests);
	for (unsigned int i = 0; i < count && !rc; i++)
		submit(batch, &requests[i]);
	return rc;
}

CUF_PUBLIC struct cuf_error cuFileBatchIOSubmit(void *number, unsigned int count,
						struct cuf_batch_request *requests, unsigned int flags)
{
	struct batch *batch = requests && !flags ? enter(number) : NULL;
	int rc;

	if (!batch)
		return cuf_error(CUF_INVALID_VALUE);
	rc = submit_all(batch, count, requests);
	leave(batch);
	return cuf_error(rc);
}

CUF_PUBLIC struct cuf_error cuFileBatchIOCancel(void *number)
{
	struct batch *batch = enter(number);

	if (!batch)
		return cuf_error(CUF_INVALID_VALUE);
	cancel(batch);
	leave(batch);
	return cuf_error(CUF_SUCCESS);
}

/* ---- events ---- */

static struct timespec end_of(const struct timespec *timeout)
{
	struct timespec end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	if (__builtin_add_overflow(end.tv_sec, timeout->tv_sec, &end.tv_sec) || end.tv_sec == LONG_MAX) {
		end.tv_sec = LONG_MAX;	/* never; a carry would overflow it, so return here */
		return end;
	}
	end.tv_nsec += timeout->tv_nsec;
	if (end.tv_nsec >= 1000000000) {
		end.tv_sec++;
		end.tv_nsec -= 1000000000;
	}
	return end;
}

/* Waits for @least events, or for fewer if no more are to come. */
static void await(struct batch *batch, unsigned int least, const struct timespec *timeout)
{
	struct timespec end = timeout ? end_of(timeout) : (struct timespec){ 0 };
	int rc = 0;

	while (!rc && batch->done_count < least && batch->working)
		rc = timeout ? pthread_cond_timedwait(&batch->change, &batch->lock, &end) :
			       pthread_cond_wait(&batch->change, &batch->lock);
}

static unsigned int take(struct batch *batch, struct cuf_batch_event *events, unsigned int most)
{
	unsigned int count = 0;

	while (count < most && batch->done_count) {
		struct entry *entry = list_take(&batch->done);

		batch->done_count--;
		events[count++] = entry->event;
		entry->event.status = 0;
		list_add(&batch->idle, entry);
	}
	return count;
}

CUF_PUBLIC struct cuf_error cuFileBatchIOGetStatus(void *number, unsigned int least, unsigned int *count,
						   struct cuf_batch_event *events, struct timespec *timeout)
{
	bool valid = count && events && least <= *count &&
		     (!timeout || (timeout->tv_sec >= 0 && timeout->tv_nsec >= 0 && timeout->tv_nsec < 1000000000));
	struct batch *batch = valid ? enter(number) : NULL;

	if (!batch)
		return cuf_error(CUF_INVALID_VALUE);
	await(batch, least, timeout);
	*count = take(batch, events, *count);
	leave(batch);
	return cuf_error(CUF_SUCCESS);
}
