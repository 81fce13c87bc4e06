// SPDX-License-Identifier: Apache-2.0
/*
 * See worker.h.  A queue and its cache belong to one thread and take no locks.  What the threads of
 * nbdkit and this one share is under worker->lock: the list of what is handed over, the free places, and
 * whether a request is done.
 */
#include "worker.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "words/words.h"

#define PLACE_BYTES	(256U << 10)	/* of registered memory; longer requests go piece by piece */
#define COMPLETIONS	64
#define TICK_MS		1000	/* how often the drive is asked for while requests are in flight */
#define GONE_NS		200000000	/* how often what waits asks for its NBD connection */
#define FORMER_US	1000		/* how often a new worker looks at those before it */

struct job {
	enum nbd_kind kind;
	uint64_t offset, length;
	unsigned int place;		/* of reads and writes: where in the memory */
	struct nbd_failure *failure;
	struct job *next;
	pthread_cond_t changed;
	bool done;
};

struct nbd_worker {
	struct donard_cache_options options;
	nbd_tell_fn tell;
	nbd_gone_fn gone;
	struct donard_cache_info info;
	struct donard_context *ctx;	/* the thread's, as all down to the memory */
	struct donard_queue *queue;
	struct donard_cache *cache;
	struct donard_memory *memory;
	uint8_t *bytes;			/* of it */
	pthread_t thread;
	int wake_fd;
	bool told_failing;		/* the thread's, as the next */
	struct job **begun;		/* by place: of which the completion has not come */
	pthread_mutex_t lock;
	pthread_cond_t place_free, changed;
	bool ready;
	unsigned int heard;		/* how many workers had begun when its NBD connection was last found alive */
	bool ended;			/* no request begins any more */
	bool stops;			/* nor is one of nbdkit's threads here */
	struct nbd_failure failure;	/* to connect */
	struct job *first, **last;	/* handed over */
	unsigned int *places;		/* that are free */
	unsigned int free_places;
	struct nbd_worker *next;	/* of all, under their lock */
};

/*
 * The log and the drive that this process serves.  A connection that is made later, also anew by a filter or by nbd-client,
 * must reach the same: what was written, and what a flush promises, is there.
 *
 * Nor may a connection that the client has ended undo what it writes by the next one.  So each worker first counts itself as begun,
 * and connects to the cache only when it has found each other worker either
 *
 *	- without a taken place.  A request keeps its place until it is completed, or until the worker's connection to the
 *	  cache is closed (give_up()), so none is unsent or unanswered.  Whatever is handed over later asks for the NBD
 *	  connection first, since the count has changed (hand_over()).  Or
 *	- with an NBD connection that was asked for after the count, and has not ended.
 *
 * So a worker whose NBD connection ended before has closed its queue pair by then, or sends no request any more.  What it had
 * sent has reached the server before the new client, whose requests wait until it is done or can never be
 * (may_replace_another() of lib/cache/commit.c).  Over iWARP it may still be on its way when the queue pair is closed, since
 * TCP sends lost packets again.  There donard_cache_close() waits until the server has it, but only for as long as the server
 * may be silent: a request that comes even later may be written over newer ones.
 */
static struct {
	pthread_mutex_t lock;			/* taken before that of a worker */
	struct donard_cache_info info;		/* size is 0 until the first connection */
	struct nbd_worker *workers;
	atomic_uint begun;			/* how many there have been */
} served = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool is_served(const struct donard_cache_info *info)
{
	bool same;

	pthread_mutex_lock(&served.lock);
	if (!served.info.size)
		served.info = *info;
	same = served.info.identity == info->identity && served.info.drive_bytes == info->drive_bytes &&
	       served.info.block_bytes == info->block_bytes;
	pthread_mutex_unlock(&served.lock);
	return same;
}

/* ---- in the worker's thread ---- */

/* What the library says names calls and members; who reads it types commands, and has the plugin's parameters. */
static void set_failure(struct nbd_failure *failure, int64_t result, const char *text)
{
	static const struct cli_term parameters[] = {
		{ "options.address", "server=" },
		{ "FORMAT", "--format" },		/* these three, and the port beside one, are the server's */
		{ "options.clients", "--clients" },
		{ "options.listen and options.port", "--listen and --port" },
		{ "options.listen", "--listen" },
		{ "options.depth", "depth=" },
		{ "options.port", "port=" },
		{ "options.timeout_ms", "timeout=" },
		{ "register less at a time", "use a smaller depth=" },
		{ NULL, NULL },
	};

	failure->error_number = (int)-result;
	cli_in_words(text, parameters, failure->text, sizeof(failure->text));
}

static void set_ended(struct nbd_failure *failure)
{
	set_failure(failure, -ESHUTDOWN, "the NBD connection has ended");
}

static bool has_ended(struct nbd_worker *worker)
{
	bool ended;

	pthread_mutex_lock(&worker->lock);
	ended = worker->ended;
	pthread_mutex_unlock(&worker->lock);
	return ended;
}

/* Asked by the library while it connects. */
static int stop_connecting(void *user)
{
	return has_ended(user);
}

static bool may_undo(struct nbd_worker *former, unsigned int number)
{
	bool busy;

	pthread_mutex_lock(&former->lock);
	busy = former->free_places < former->options.depth && former->heard < number;
	pthread_mutex_unlock(&former->lock);
	return busy;
}

static bool any_may_undo(unsigned int number)
{
	bool may = false;

	pthread_mutex_lock(&served.lock);
	for (struct nbd_worker *former = served.workers; former && !may; former = former->next)
		may = may_undo(former, number);
	pthread_mutex_unlock(&served.lock);
	return may;
}

/* For about as long as a thread that waits takes to ask for its NBD connection. */
static void await_former(struct nbd_worker *worker)
{
	unsigned int number = atomic_fetch_add(&served.begun, 1) + 1;

	while (any_may_undo(number) && !has_ended(worker))
		usleep(FORMER_US);
}

static int open_memory(struct nbd_worker *worker)
{
	struct donard_memory_info info = { .size = sizeof(info) };
	int rc = donard_memory_dram(worker->ctx, (uint64_t)worker->options.depth * PLACE_BYTES, &worker->memory);

	if (!rc)
		rc = donard_memory_info(worker->memory, &info);
	worker->bytes = info.address;
	if (!rc)
		rc = donard_cache_register(worker->cache, worker->memory,
					   DONARD_CACHE_FOR_READS | DONARD_CACHE_FOR_WRITES);
	return rc;
}

static int refuse_another(struct nbd_worker *worker)
{
	char text[NBD_TEXT_BYTES];

	snprintf(text, sizeof(text), "%s: it serves the log %016llx for %s now, and this nbdkit began with the log %016llx for %s, which "
		 "may have what was written. Serve that log again; or start nbdkit anew, and mount anew what is on it.",
		 worker->options.address, (unsigned long long)worker->info.identity, worker->info.drive,
		 (unsigned long long)served.info.identity, served.info.drive);
	return donard_fail(worker->ctx, -ESHUTDOWN, "", text);
}

static int open_all(struct nbd_worker *worker)
{
	int rc;

	await_former(worker);
	rc = donard_open(&worker->ctx, NULL);
	if (rc)
		return rc;
	rc = donard_queue_open(worker->ctx, NULL, &worker->queue);
	if (!rc)
		rc = donard_cache_connect(worker->queue, &worker->options, &worker->cache);
	worker->info.size = sizeof(worker->info);
	if (!rc)
		rc = donard_cache_info(worker->cache, &worker->info);
	if (!rc)
		rc = open_memory(worker);
	return rc || is_served(&worker->info) ? rc : refuse_another(worker);
}

static void close_all(struct nbd_worker *worker)
{
	donard_cache_close(worker->cache);
	donard_queue_close(worker->queue);
	donard_memory_free(worker->memory);
	donard_close(worker->ctx);
}

static void finish(struct nbd_worker *worker, struct job *job)
{
	worker->begun[job->place] = NULL;
	pthread_mutex_lock(&worker->lock);
	job->done = true;
	pthread_cond_signal(&job->changed);
	pthread_mutex_unlock(&worker->lock);
}

static void begin(struct nbd_worker *worker, struct job *job)
{
	uint64_t at = (uint64_t)job->place * PLACE_BYTES;
	int rc = 0;

	worker->begun[job->place] = job;
	switch (job->kind) {
	case NBD_READ:
		rc = donard_cache_read(worker->cache, job->offset, worker->memory, at, job->length, job);
		break;
	case NBD_WRITE:
		rc = donard_cache_write(worker->cache, job->offset, worker->memory, at, job->length, job);
		break;
	case NBD_TRIM:
		rc = donard_cache_trim(worker->cache, job->offset, job->length, job);
		break;
	case NBD_FLUSH:
		rc = donard_cache_flush(worker->cache, 0, job);
		break;
	}
	if (!rc)
		return;
	set_failure(job->failure, rc, donard_error(worker->ctx));
	finish(worker, job);
}

static struct job *next_job(struct nbd_worker *worker)
{
	struct job *job;

	pthread_mutex_lock(&worker->lock);
	job = worker->first;
	if (job)
		worker->first = job->next;
	if (!worker->first)
		worker->last = &worker->first;
	pthread_mutex_unlock(&worker->lock);
	return job;
}

/* Never more than the cache holds: each of the jobs has one of as many places. */
static void begin_jobs(struct nbd_worker *worker)
{
	eventfd_t ignored;
	struct job *job;

	eventfd_read(worker->wake_fd, &ignored);
	while ((job = next_job(worker)))
		begin(worker, job);
}

static void take_completions(struct nbd_worker *worker)
{
	struct donard_completion completions[COMPLETIONS];
	int count;

	while ((count = donard_queue_poll(worker->queue, completions, COMPLETIONS)) > 0)
		for (int i = 0; i < count; i++) {
			struct job *job = completions[i].user;

			if (completions[i].result < 0)
				set_failure(job->failure, completions[i].result, completions[i].error);
			finish(worker, job);
		}
}

/* NBD has no word for it: a write that finds the log full, or a flush to the drive, waits for as long as the drive fails. */
static void tell_drive(struct nbd_worker *worker, const struct donard_cache_info *info)
{
	char text[NBD_TEXT_BYTES];

	if (info->drive_fails == worker->told_failing || (info->drive_fails && !info->in_flight))
		return;
	worker->told_failing = info->drive_fails;
	if (info->drive_fails)
		snprintf(text, sizeof(text), "%s: requests may wait: the server's drive %s fails what is written to it, and is tried "
			 "again. What was acknowledged is in %s. 'donard-cli cache status %s' on the server says why",
			 worker->options.address, info->drive, info->nvram, info->nvram);
	else
		snprintf(text, sizeof(text), "%s: the server's drive %s works again", worker->options.address, info->drive);
	worker->tell(text);
}

/* Are requests in flight? */
static bool look(struct nbd_worker *worker)
{
	struct donard_cache_info info = { .size = sizeof(info) };

	if (donard_cache_info(worker->cache, &info))
		return false;
	tell_drive(worker, &info);
	return info.in_flight;
}

/*
 * The cache's connection is closed first: what waits in it is never sent, and cannot replace what the client writes by
 * its next NBD connection.
 */
static void give_up(struct nbd_worker *worker)
{
	struct job *job;

	donard_cache_close(worker->cache);
	worker->cache = NULL;
	while ((job = next_job(worker)))
		worker->begun[job->place] = job;
	for (unsigned int i = 0; i < worker->options.depth; i++) {
		job = worker->begun[i];
		if (!job)
			continue;
		set_ended(job->failure);
		finish(worker, job);
	}
}

/* Until then nbdkit's threads use the memory. */
static void await_stop(struct nbd_worker *worker)
{
	pthread_mutex_lock(&worker->lock);
	while (!worker->stops)
		pthread_cond_wait(&worker->changed, &worker->lock);
	pthread_mutex_unlock(&worker->lock);
}

static void say_ready(struct nbd_worker *worker, int rc)
{
	pthread_mutex_lock(&worker->lock);
	if (worker->ended)
		set_ended(&worker->failure);
	else if (rc)
		set_failure(&worker->failure, rc, worker->ctx ? donard_error(worker->ctx) : strerror(-rc));
	worker->ready = true;
	pthread_cond_signal(&worker->changed);
	pthread_mutex_unlock(&worker->lock);
}

static void *run(void *user)
{
	struct nbd_worker *worker = user;
	int rc = open_all(worker);
	struct pollfd fds[2] = {
		{ .fd = worker->wake_fd, .events = POLLIN },
		{ .fd = rc ? -1 : donard_queue_descriptor(worker->queue), .events = POLLIN },
	};

	say_ready(worker, rc);
	while (!rc && !has_ended(worker)) {
		poll(fds, 2, look(worker) ? TICK_MS : -1);
		begin_jobs(worker);
		take_completions(worker);
	}
	give_up(worker);
	await_stop(worker);
	close_all(worker);
	return NULL;
}

/* ---- in nbdkit's threads ---- */

/* Signals are for nbdkit's own threads. */
static int start_thread(struct nbd_worker *worker)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&worker->thread, NULL, run, worker);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

static void enlist(struct nbd_worker *worker)
{
	pthread_mutex_lock(&served.lock);
	worker->next = served.workers;
	served.workers = worker;
	pthread_mutex_unlock(&served.lock);
}

static void delist(const struct nbd_worker *worker)
{
	struct nbd_worker **place = &served.workers;

	pthread_mutex_lock(&served.lock);
	while (*place && *place != worker)
		place = &(*place)->next;
	if (*place)
		*place = worker->next;
	pthread_mutex_unlock(&served.lock);
}

static void free_worker(struct nbd_worker *worker)
{
	delist(worker);
	if (worker->wake_fd >= 0)
		close(worker->wake_fd);
	pthread_cond_destroy(&worker->changed);
	pthread_cond_destroy(&worker->place_free);
	pthread_mutex_destroy(&worker->lock);
	free(worker->places);
	free(worker->begun);
	free(worker);
}

static struct nbd_worker *new_worker(const struct donard_cache_options *options, nbd_tell_fn tell, nbd_gone_fn gone)
{
	struct nbd_worker *worker = calloc(1, sizeof(*worker));

	if (!worker)
		return NULL;
	worker->options = *options;
	worker->options.stop_fn = stop_connecting;
	worker->options.user = worker;
	worker->tell = tell;
	worker->gone = gone;
	worker->last = &worker->first;
	pthread_mutex_init(&worker->lock, NULL);
	pthread_cond_init(&worker->place_free, NULL);
	pthread_cond_init(&worker->changed, NULL);
	worker->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	worker->places = calloc(options->depth, sizeof(*worker->places));
	worker->begun = calloc(options->depth, sizeof(*worker->begun));
	for (unsigned int i = 0; worker->places && i < options->depth; i++)
		worker->places[worker->free_places++] = i;
	if (worker->wake_fd >= 0 && worker->places && worker->begun)
		return worker;
	free_worker(worker);
	return NULL;
}

/* Under the lock */
static void end(struct nbd_worker *worker)
{
	worker->ended = true;
	pthread_cond_broadcast(&worker->place_free);
	eventfd_write(worker->wake_fd, 1);
}

/* Has the NBD connection ended?  Under the lock, which it gives up meanwhile. */
static void ask(struct nbd_worker *worker)
{
	unsigned int begun = atomic_load(&served.begun);
	bool gone;

	pthread_mutex_unlock(&worker->lock);
	gone = worker->gone();
	pthread_mutex_lock(&worker->lock);
	if (gone)
		end(worker);
	else
		worker->heard = begun;
}

/* For a while, under the lock.  Nobody else would see that an NBD connection ends while all its threads wait here. */
static void await(struct nbd_worker *worker, pthread_cond_t *changed)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += GONE_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	if (pthread_cond_clockwait(changed, &worker->lock, CLOCK_MONOTONIC, &until) == ETIMEDOUT && !worker->ended)
		ask(worker);
}

struct nbd_worker *nbd_worker_start(const struct donard_cache_options *options, nbd_tell_fn tell, nbd_gone_fn gone,
				    struct nbd_failure *failure)
{
	struct nbd_worker *worker = new_worker(options, tell, gone);
	int rc = ENOMEM;

	if (worker) {
		enlist(worker);
		rc = start_thread(worker);
	}
	if (rc) {
		set_failure(failure, -rc, strerror(rc));
		if (worker)
			free_worker(worker);
		return NULL;
	}
	pthread_mutex_lock(&worker->lock);
	while (!worker->ready)
		await(worker, &worker->changed);
	*failure = worker->failure;
	pthread_mutex_unlock(&worker->lock);
	if (!failure->error_number)
		return worker;
	nbd_worker_stop(worker);
	return NULL;
}

void nbd_worker_stop(struct nbd_worker *worker)
{
	pthread_mutex_lock(&worker->lock);
	worker->stops = true;
	pthread_cond_signal(&worker->changed);
	end(worker);
	pthread_mutex_unlock(&worker->lock);
	pthread_join(worker->thread, NULL);
	free_worker(worker);
}

const struct donard_cache_info *nbd_worker_info(const struct nbd_worker *worker)
{
	return &worker->info;
}

/* -1 if the connection has ended. */
static int take_place(struct nbd_worker *worker, struct job *job)
{
	int rc = -1;

	pthread_mutex_lock(&worker->lock);
	while (!worker->free_places && !worker->ended)
		await(worker, &worker->place_free);
	if (!worker->ended) {
		job->place = worker->places[--worker->free_places];
		rc = 0;
	}
	pthread_mutex_unlock(&worker->lock);
	return rc;
}

static void hand_over(struct nbd_worker *worker, struct job *job)
{
	pthread_mutex_lock(&worker->lock);
	while (!worker->ended && worker->heard != atomic_load(&served.begun))
		ask(worker);
	if (worker->ended) {
		set_ended(job->failure);
		job->done = true;
	} else {
		*worker->last = job;
		worker->last = &job->next;
		eventfd_write(worker->wake_fd, 1);
	}
	while (!job->done)
		await(worker, &job->changed);
	pthread_mutex_unlock(&worker->lock);
}

static void give_place_back(struct nbd_worker *worker, const struct job *job)
{
	pthread_mutex_lock(&worker->lock);
	worker->places[worker->free_places++] = job->place;
	pthread_cond_signal(&worker->place_free);
	pthread_mutex_unlock(&worker->lock);
}

static void move(struct nbd_worker *worker, struct job *job, void *buffer)
{
	uint8_t *place = worker->bytes + (uint64_t)job->place * PLACE_BYTES;

	if (job->kind == NBD_WRITE)
		memcpy(place, buffer, job->length);
	hand_over(worker, job);
	if (job->kind == NBD_READ && !job->failure->error_number)
		memcpy(buffer, place, job->length);
	give_place_back(worker, job);
}

/* A piece that one place holds; all of a trim or flush. */
static int do_piece(struct nbd_worker *worker, enum nbd_kind kind, uint64_t offset, void *buffer, uint64_t length,
		    struct nbd_failure *failure)
{
	struct job job = { .kind = kind, .offset = offset, .length = length, .failure = failure };

	pthread_cond_init(&job.changed, NULL);
	if (take_place(worker, &job))
		set_ended(failure);
	else
		move(worker, &job, buffer);
	pthread_cond_destroy(&job.changed);
	return failure->error_number ? -1 : 0;
}

int nbd_worker_do(struct nbd_worker *worker, enum nbd_kind kind, uint64_t offset, void *buffer, uint64_t length,
		  struct nbd_failure *failure)
{
	uint64_t step;
	int rc = 0;

	failure->error_number = 0;
	if (kind == NBD_FLUSH || kind == NBD_TRIM)
		return do_piece(worker, kind, offset, NULL, length, failure);
	for (uint64_t at = 0; at < length && !rc; at += step) {
		step = length - at < PLACE_BYTES ? length - at : PLACE_BYTES;
		rc = do_piece(worker, kind, offset + at, (uint8_t *)buffer + at, step, failure);
	}
	return rc;
}
