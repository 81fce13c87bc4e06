// SPDX-License-Identifier: Apache-2.0
/* The thread behind a connection of the nbdkit plugin, with a cache that is an array of this process. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "unit.h"
#include "nbd/worker.h"

#define DRIVE_BYTES	(4U << 20)
#define DEPTH		4
#define THREADS		16
#define BAD_OFFSET	(3U << 20)	/* writes there fail */

/* The requests that the played cache was sent, and which it completes when it is polled: the newest first. */
static struct {
	uint8_t drive[DRIVE_BYTES];
	uint8_t *memory;
	struct donard_completion waiting[DEPTH];
	unsigned int most, flushes, trims;
	atomic_uint count, closed;	/* workers are threads */
	int fd;
	int refuses;		/* to connect, with this */
	const char *refuses_because;	/* or NULL */
	bool full;		/* the server, which is asked again for as long as the worker likes */
	bool answers_late;	/* when the worker has heard that nobody waits */
	bool locks_less;	/* than is registered */
	struct donard_context *ctx;
	unsigned int another;	/* log than the first one */
	atomic_bool drive_fails;	/* and nothing completes */
	atomic_bool gone;	/* the NBD connection */
	unsigned int closed_before;	/* when the last worker connected */
} fake;

static _Thread_local bool is_workers;	/* this thread, which has opened a queue */

/* The worker's messages to the administrator. */
static struct {
	sem_t count;
	char text[NBD_TEXT_BYTES];
} told;

#define IS_WORKERS() assert_true(is_workers)

int __wrap_donard_queue_open(struct donard_context *ctx, const struct donard_queue_options *options,
			     struct donard_queue **queue);
void __wrap_donard_queue_close(struct donard_queue *queue);
int __wrap_donard_queue_descriptor(struct donard_queue *queue);
int __wrap_donard_queue_poll(struct donard_queue *queue, struct donard_completion *completions, unsigned int most);
int __wrap_donard_cache_connect(struct donard_queue *queue, const struct donard_cache_options *options,
				struct donard_cache **cache);
void __wrap_donard_cache_close(struct donard_cache *cache);
int __wrap_donard_cache_info(const struct donard_cache *cache, struct donard_cache_info *info);
int __wrap_donard_cache_register(struct donard_cache *cache, struct donard_memory *memory, unsigned int directions);
int __wrap_donard_cache_write(struct donard_cache *cache, uint64_t offset, struct donard_memory *memory, uint64_t at,
			      uint64_t length, void *user);
int __wrap_donard_cache_read(struct donard_cache *cache, uint64_t offset, struct donard_memory *memory, uint64_t at,
			     uint64_t length, void *user);
int __wrap_donard_cache_trim(struct donard_cache *cache, uint64_t offset, uint64_t length, void *user);
int __wrap_donard_cache_flush(struct donard_cache *cache, uint32_t flags, void *user);

int __wrap_donard_queue_open(struct donard_context *ctx, const struct donard_queue_options *options,
			     struct donard_queue **queue)
{
	(void)options;
	fake.ctx = ctx;
	is_workers = true;
	*queue = (struct donard_queue *)&fake;
	return 0;
}

void __wrap_donard_queue_close(struct donard_queue *queue)
{
	if (queue)
		IS_WORKERS();
}

int __wrap_donard_queue_descriptor(struct donard_queue *queue)
{
	(void)queue;
	return fake.fd;
}

int __wrap_donard_queue_poll(struct donard_queue *queue, struct donard_completion *completions, unsigned int most)
{
	unsigned int count = 0;
	eventfd_t ignored;

	(void)queue;
	IS_WORKERS();
	eventfd_read(fake.fd, &ignored);
	while (!fake.drive_fails && fake.count && count < most)
		completions[count++] = fake.waiting[--fake.count];
	return (int)count;
}

int __wrap_donard_cache_connect(struct donard_queue *queue, const struct donard_cache_options *options,
				struct donard_cache **cache)
{
	(void)queue;
	IS_WORKERS();
	fake.closed_before = fake.closed;
	assert_int_equal(options->depth, DEPTH);
	while ((fake.full || fake.answers_late) && !options->stop_fn(options->user))
		usleep(10000);
	if (fake.full)
		return donard_fail(fake.ctx, -ECANCELED, "", "stopped");
	*cache = (struct donard_cache *)&fake;
	return fake.refuses_because ? donard_fail(fake.ctx, fake.refuses, "", fake.refuses_because) : fake.refuses;
}

void __wrap_donard_cache_close(struct donard_cache *cache)
{
	if (cache)
		fake.closed++;
}

int __wrap_donard_cache_info(const struct donard_cache *cache, struct donard_cache_info *info)
{
	(void)cache;
	info->drive_bytes = DRIVE_BYTES;
	info->block_bytes = 512;
	info->identity = 0x4d19aca2b2c7c0a4 + fake.another;
	info->drive_fails = fake.drive_fails;
	info->in_flight = fake.count;
	strcpy(info->drive, "nvme1n1");
	strcpy(info->nvram, "p2pmem2");
	return 0;
}

int __wrap_donard_cache_register(struct donard_cache *cache, struct donard_memory *memory, unsigned int directions)
{
	struct donard_memory_info info = { .size = sizeof(info) };

	(void)cache;
	assert_int_equal(directions, DONARD_CACHE_FOR_READS | DONARD_CACHE_FOR_WRITES);
	assert_int_equal(donard_memory_info(memory, &info), 0);
	fake.memory = info.address;
	return fake.locks_less ? donard_fail(fake.ctx, -ENOMEM, "", "Raise 'ulimit -l', or register less at a time.") : 0;
}

/* Never more than it holds. */
static int complete(void *user, int64_t result, const char *error)
{
	IS_WORKERS();
	assert_true(fake.count < DEPTH);
	fake.waiting[fake.count++] = (struct donard_completion){
		.user = user, .result = result, .error = error, .error_code = "",
	};
	if (fake.count > fake.most)
		fake.most = fake.count;
	eventfd_write(fake.fd, 1);
	return 0;
}

int __wrap_donard_cache_write(struct donard_cache *cache, uint64_t offset, struct donard_memory *memory, uint64_t at,
			      uint64_t length, void *user)
{
	(void)cache;
	(void)memory;
	if (offset == BAD_OFFSET)
		return complete(user, -EIO, "the drive failed");
	memcpy(fake.drive + offset, fake.memory + at, length);
	return complete(user, (int64_t)length, "");
}

int __wrap_donard_cache_read(struct donard_cache *cache, uint64_t offset, struct donard_memory *memory, uint64_t at,
			     uint64_t length, void *user)
{
	(void)cache;
	(void)memory;
	memcpy(fake.memory + at, fake.drive + offset, length);
	return complete(user, (int64_t)length, "");
}

int __wrap_donard_cache_trim(struct donard_cache *cache, uint64_t offset, uint64_t length, void *user)
{
	(void)cache;
	memset(fake.drive + offset, 0, length);
	fake.trims++;
	return complete(user, 0, "");
}

int __wrap_donard_cache_flush(struct donard_cache *cache, uint32_t flags, void *user)
{
	(void)cache;
	(void)flags;
	fake.flushes++;
	return complete(user, 0, "");
}

static int setup(void **state)
{
	(void)state;
	memset(&fake, 0, sizeof(fake));
	fake.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	return sem_init(&told.count, 0, 0);
}

static int teardown(void **state)
{
	(void)state;
	return close(fake.fd);
}

static void tell(const char *text)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&lock);
	snprintf(told.text, sizeof(told.text), "%s", text);
	pthread_mutex_unlock(&lock);
	sem_post(&told.count);
}

static bool gone(void)
{
	return fake.gone;
}

static bool stays(void)
{
	return false;
}

static struct nbd_worker *start_as(nbd_gone_fn gone_fn)
{
	struct donard_cache_options options = { .size = sizeof(options), .address = "192.0.2.1", .depth = DEPTH };
	struct nbd_failure failure = { 0 };
	struct nbd_worker *worker = nbd_worker_start(&options, tell, gone_fn, &failure);

	assert_non_null(worker);
	return worker;
}

static struct nbd_worker *start(void)
{
	return start_as(gone);
}

static void one_after_the_other(void **state)
{
	struct nbd_worker *worker = start();
	struct nbd_failure failure;
	uint8_t data[1024], back[1024], around[3 * 1024], left[3 * 1024];

	(void)state;
	memset(data, 'a', sizeof(data));
	memset(around, 'b', sizeof(around));
	assert_int_equal(nbd_worker_info(worker)->drive_bytes, DRIVE_BYTES);
	assert_int_equal(nbd_worker_do(worker, NBD_WRITE, 4096, data, sizeof(data), &failure), 0);
	assert_int_equal(nbd_worker_do(worker, NBD_FLUSH, 0, NULL, 0, &failure), 0);
	assert_int_equal(nbd_worker_do(worker, NBD_READ, 4096, back, sizeof(back), &failure), 0);
	assert_memory_equal(back, data, sizeof(data));
	assert_int_equal(nbd_worker_do(worker, NBD_WRITE, 4096 - 1024, around, sizeof(around), &failure), 0);
	assert_int_equal(nbd_worker_do(worker, NBD_TRIM, 4096, NULL, sizeof(data), &failure), 0);
	assert_int_equal(nbd_worker_do(worker, NBD_READ, 4096 - 1024, left, sizeof(left), &failure), 0);
	memset(around + 1024, 0, sizeof(data));		/* and neither neighbour */
	assert_memory_equal(left, around, sizeof(around));
	assert_int_equal(fake.flushes, 1);
	assert_int_equal(fake.trims, 1);
	nbd_worker_stop(worker);
	assert_int_equal(fake.closed, 1);
}

/* Longer than a place: piece by piece. */
static void longer_than_a_place(void **state)
{
	struct nbd_worker *worker = start();
	struct nbd_failure failure;
	size_t length = (1U << 20) + 512;
	uint8_t *data = malloc(length), *back = calloc(1, length);

	(void)state;
	for (size_t i = 0; i < length; i++)
		data[i] = (uint8_t)(i * 7 + (i >> 12));
	assert_int_equal(nbd_worker_do(worker, NBD_WRITE, 512, data, length, &failure), 0);
	assert_memory_equal(fake.drive + 512, data, length);
	assert_int_equal(nbd_worker_do(worker, NBD_READ, 512, back, length, &failure), 0);
	assert_memory_equal(back, data, length);
	nbd_worker_stop(worker);
	free(data);
	free(back);
}

static void failure_is_the_requests(void **state)
{
	struct nbd_worker *worker = start();
	struct nbd_failure failure;
	uint8_t data[512] = { 1 };

	(void)state;
	assert_int_equal(nbd_worker_do(worker, NBD_WRITE, BAD_OFFSET, data, sizeof(data), &failure), -1);
	assert_int_equal(failure.error_number, EIO);
	assert_string_equal(failure.text, "the drive failed");
	assert_int_equal(nbd_worker_do(worker, NBD_WRITE, 0, data, sizeof(data), &failure), 0);
	nbd_worker_stop(worker);
}

static void refused(void **state)
{
	struct donard_cache_options options = { .size = sizeof(options), .address = "192.0.2.1", .depth = DEPTH };
	struct nbd_failure failure = { 0 };

	(void)state;
	fake.refuses = -EBUSY;
	assert_null(nbd_worker_start(&options, tell, gone, &failure));
	assert_int_equal(failure.error_number, EBUSY);
	fake.refuses_because = "Format it anew for more (FORMAT, options.clients).";
	assert_null(nbd_worker_start(&options, tell, gone, &failure));
	assert_string_equal(failure.text, "Format it anew for more (--format, --clients).");
	fake.refuses_because = "Start it with options.listen and options.port of this address.";
	assert_null(nbd_worker_start(&options, tell, gone, &failure));
	assert_string_equal(failure.text, "Start it with --listen and --port of this address.");
	fake.refuses_because = NULL;
	fake.refuses = 0;
	fake.locks_less = true;
	assert_null(nbd_worker_start(&options, tell, gone, &failure));
	assert_int_equal(failure.error_number, ENOMEM);
	assert_string_equal(failure.text, "Raise 'ulimit -l', or use a smaller depth=.");
}

/* A server that was started anew may serve something else, which a client that connects again must not take for its disk. */
static void another_log(void **state)
{
	struct donard_cache_options options = { .size = sizeof(options), .address = "192.0.2.1", .depth = DEPTH };
	struct nbd_failure failure = { 0 };

	(void)state;
	nbd_worker_stop(start());
	fake.another = 1;
	assert_null(nbd_worker_start(&options, tell, gone, &failure));
	assert_int_equal(failure.error_number, ESHUTDOWN);
	assert_string_equal(failure.text, "192.0.2.1: it serves the log 4d19aca2b2c7c0a5 for nvme1n1 now, and this nbdkit began with the log "
			    "4d19aca2b2c7c0a4 for nvme1n1, which may have what was written. Serve that log again; or start nbdkit anew, and "
			    "mount anew what is on it.");
	fake.another = 0;
	nbd_worker_stop(start());
}

struct writer {
	pthread_t thread;
	struct nbd_worker *worker;
	uint64_t offset;
	bool differs;
};

static void *write_and_read(void *user)
{
	struct writer *writer = user;
	struct nbd_failure failure;
	uint8_t data[512], back[512];

	for (int round = 0; round < 200 && !writer->differs; round++) {
		memset(data, round + (int)(writer->offset >> 9), sizeof(data));
		writer->differs = nbd_worker_do(writer->worker, NBD_WRITE, writer->offset, data, sizeof(data), &failure) ||
				  nbd_worker_do(writer->worker, NBD_READ, writer->offset, back, sizeof(back), &failure) ||
				  memcmp(data, back, sizeof(data));
	}
	return NULL;
}

/* More threads than places: each waits for one, and gets its own bytes. */
static void many_threads(void **state)
{
	struct writer writers[THREADS];
	struct nbd_worker *worker = start();

	(void)state;
	for (unsigned int i = 0; i < THREADS; i++) {
		writers[i] = (struct writer){ .worker = worker, .offset = i * 512 };
		assert_int_equal(pthread_create(&writers[i].thread, NULL, write_and_read, &writers[i]), 0);
	}
	for (unsigned int i = 0; i < THREADS; i++) {
		pthread_join(writers[i].thread, NULL);
		assert_false(writers[i].differs);
	}
	nbd_worker_stop(worker);
	assert_in_range(fake.most, 1, DEPTH);
}

/* NBD's clients see only a request that does not end, so the administrator of nbdkit is told why, once. */
static void drive_that_fails(void **state)
{
	struct nbd_worker *worker = start();
	struct writer writer = { .worker = worker };

	(void)state;
	fake.drive_fails = true;
	assert_int_equal(pthread_create(&writer.thread, NULL, write_and_read, &writer), 0);
	sem_wait(&told.count);
	assert_string_equal(told.text, "192.0.2.1: requests may wait: the server's drive nvme1n1 fails what is written to it, and is "
			    "tried again. What was acknowledged is in p2pmem2. 'donard-cli cache status p2pmem2' on the server says why");
	fake.drive_fails = false;
	eventfd_write(fake.fd, 1);
	sem_wait(&told.count);
	assert_string_equal(told.text, "192.0.2.1: the server's drive nvme1n1 works again");
	pthread_join(writer.thread, NULL);
	assert_false(writer.differs);
	nbd_worker_stop(worker);
	assert_int_equal(sem_trywait(&told.count), -1);
}

static void *write_long(void *user)
{
	static uint8_t data[1U << 20] = { [0] = 'a', [sizeof(data) - 1] = 'a' };
	struct writer *writer = user;
	struct nbd_failure failure;

	writer->differs = nbd_worker_do(writer->worker, NBD_WRITE, writer->offset, data, sizeof(data), &failure) != -1 ||
			  failure.error_number != ESHUTDOWN;
	return NULL;
}

/*
 * Requests that wait when the connection ends are given up, and no further piece of them begins: a client that connects again
 * writes newer bytes.  There is one request more than there are places, so that one waits for a place.
 */
static void connection_that_ends(void **state)
{
	struct writer writers[DEPTH + 1];
	struct nbd_worker *worker = start();
	struct timespec limit;

	(void)state;
	fake.drive_fails = true;
	for (unsigned int i = 0; i <= DEPTH; i++) {
		writers[i] = (struct writer){ .worker = worker, .offset = i % 2 ? 1U << 20 : 0 };
		assert_int_equal(pthread_create(&writers[i].thread, NULL, write_long, &writers[i]), 0);
	}
	sem_wait(&told.count);
	fake.gone = true;
	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += HANG_SECONDS;
	for (unsigned int i = 0; i <= DEPTH; i++) {
		assert_int_equal(pthread_timedjoin_np(writers[i].thread, NULL, &limit), 0);
		assert_false(writers[i].differs);
	}
	assert_int_equal(fake.closed, 1);
	write_long(&writers[0]);
	assert_false(writers[0].differs);
	assert_in_range(fake.count, 1, DEPTH);
	assert_int_equal(fake.drive[(1U << 20) - 1] | fake.drive[(2U << 20) - 1], 0);
	nbd_worker_stop(worker);
	assert_int_equal(fake.closed, 1);
}

/*
 * A write waits in the cache of a connection that the client ends: it is given up before the client's next connection
 * begins.  Until then it holds up nobody.
 */
static void next_connection_comes_after_the_former(void **state)
{
	struct nbd_worker *worker = start(), *beside, *next;
	struct writer writer = { .worker = worker };

	(void)state;
	fake.drive_fails = true;
	assert_int_equal(pthread_create(&writer.thread, NULL, write_long, &writer), 0);
	sem_wait(&told.count);
	beside = start_as(stays);
	assert_int_equal(fake.closed_before, 0);
	fake.gone = true;
	next = start_as(stays);
	assert_int_equal(fake.closed_before, 1);
	pthread_join(writer.thread, NULL);
	assert_false(writer.differs);
	nbd_worker_stop(next);
	nbd_worker_stop(beside);
	nbd_worker_stop(worker);
}

/* One of nbdkit's threads has read it before the client ended the connection, and comes only now. */
static void request_of_a_former_connection(void **state)
{
	struct nbd_worker *worker = start(), *next;
	struct nbd_failure failure;
	uint8_t data[512] = { 1 };

	(void)state;
	assert_int_equal(nbd_worker_do(worker, NBD_FLUSH, 0, NULL, 0, &failure), 0);
	fake.gone = true;
	next = start_as(stays);
	assert_int_equal(nbd_worker_do(worker, NBD_WRITE, 0, data, sizeof(data), &failure), -1);
	assert_int_equal(failure.error_number, ESHUTDOWN);
	assert_int_equal(fake.drive[0], 0);
	nbd_worker_stop(next);
	nbd_worker_stop(worker);
}

/* A connection that ends while it waits for a window of the cache, which may take an hour, stops waiting. */
static void connection_that_ends_before_it_begins(void **state)
{
	struct donard_cache_options options = { .size = sizeof(options), .address = "192.0.2.1", .depth = DEPTH };
	struct nbd_failure failure = { 0 };

	(void)state;
	fake.gone = true;
	fake.full = true;
	assert_null(nbd_worker_start(&options, tell, gone, &failure));
	assert_int_equal(failure.error_number, ESHUTDOWN);
	assert_string_equal(failure.text, "the NBD connection has ended");
	assert_int_equal(fake.closed, 0);
	fake.full = false;
	fake.answers_late = true;
	assert_null(nbd_worker_start(&options, tell, gone, &failure));
	assert_int_equal(failure.error_number, ESHUTDOWN);
	assert_int_equal(fake.closed, 1);
}

int main(void)
{
#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		test(one_after_the_other),
		test(longer_than_a_place),
		test(failure_is_the_requests),
		test(refused),
		test(another_log),
		test(many_threads),
		test(drive_that_fails),
		test(connection_that_ends),
		test(next_connection_comes_after_the_former),
		test(request_of_a_former_connection),
		test(connection_that_ends_before_it_begins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
