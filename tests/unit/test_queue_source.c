// SPDX-License-Identifier: Apache-2.0
/* A queue that has a source: no device, no root. */
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engines.h"
#include "queue/queue.h"

#define REQUESTS 8

/* Its requests end, in order, as often as its descriptor is written to. */
struct fake_source {
	struct dnd_queue_source source;
	uintptr_t users[REQUESTS];
	int64_t results[REQUESTS];
	unsigned int began, ended, taken;
	unsigned int forgotten, ends;
	bool inherited;
};

struct scene {
	struct donard_context *ctx;
	struct donard_queue *queue;
	struct fake_source fake;
	struct donard_completion got[REQUESTS];
};

static struct scene *not_handed_over;

static void end_one(struct fake_source *fake, int64_t result);

/* Once, the kernel has no memory for what a reap hands over; the source's request ends with the next attempt. */
void __real_dnd_queue_reap(struct donard_queue *queue);
void __wrap_dnd_queue_reap(struct donard_queue *queue);
void __wrap_dnd_queue_reap(struct donard_queue *queue)
{
	__real_dnd_queue_reap(queue);
	if (!not_handed_over)
		return;
	if (queue->ring.failed) {
		queue->ring.failed = 0;
		end_one(&not_handed_over->fake, 4096);
		not_handed_over = NULL;
	} else {
		queue->ring.failed = -ENOMEM;
	}
}

static struct fake_source *fake_of(struct dnd_queue_source *source)
{
	return (struct fake_source *)source;
}

static void end_one(struct fake_source *fake, int64_t result)
{
	fake->results[fake->ended++] = result;
	fake->source.working--;
	fake->source.done++;
}

static void work(struct dnd_queue_source *source)
{
	eventfd_t events = 0;

	eventfd_read(source->fd, &events);
	while (events-- && source->working)
		end_one(fake_of(source), 4096);
}

static void take(struct dnd_queue_source *source, struct donard_completion *completion)
{
	struct fake_source *fake = fake_of(source);

	*completion = (struct donard_completion){
		.user = (void *)fake->users[fake->taken], .result = fake->results[fake->taken],
		.error_code = "", .error = "",
	};
	fake->taken++;
	source->done--;
}

static void forget(struct dnd_queue_source *source)
{
	fake_of(source)->forgotten++;
}

static unsigned int cancel(struct dnd_queue_source *source, const void *user)
{
	unsigned int found = 0;

	while (source->working && fake_of(source)->users[fake_of(source)->ended] == (uintptr_t)user) {
		end_one(fake_of(source), -ECANCELED);
		found++;
	}
	return found;
}

static void end(struct dnd_queue_source *source, bool inherited)
{
	fake_of(source)->ends++;
	fake_of(source)->inherited = inherited;
	source->working = source->done = 0;
}

static const struct dnd_queue_source_ops ops = { work, take, forget, cancel, end };

static void begin(struct scene *scene, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		scene->fake.users[scene->fake.began++] = 100 + i;
		scene->fake.source.working++;
	}
}

static void let_end(struct scene *scene, unsigned int count)
{
	eventfd_write(scene->fake.source.fd, count);
}

static int setup(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	*state = scene;
	not_handed_over = NULL;
	assert_int_equal(donard_open(&scene->ctx, NULL), 0);
	scene->fake.source.ops = &ops;
	scene->fake.source.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (donard_queue_open(scene->ctx, NULL, &scene->queue) == -EOPNOTSUPP)
		return 0;
	return dnd_queue_source_add(scene->queue, &scene->fake.source);
}

static int teardown(void **state)
{
	struct scene *scene = *state;

	donard_queue_close(scene->queue);
	close(scene->fake.source.fd);
	donard_close(scene->ctx);
	free(scene);
	return 0;
}

static struct scene *scene_of(void **state)
{
	struct scene *scene = *state;

	if (!scene->queue)
		skip();		/* neither io_uring nor Linux AIO is allowed here */
	return scene;
}

static int waits(struct scene *scene, unsigned int least, int64_t timeout_ns)
{
	return donard_queue_wait(scene->queue, least, timeout_ns, scene->got, REQUESTS);
}

static bool readable(struct scene *scene, int timeout_ms)
{
	struct pollfd polled = { .fd = donard_queue_descriptor(scene->queue), .events = POLLIN };

	return poll(&polled, 1, timeout_ms) == 1;
}

static struct donard_queue_info about(struct scene *scene)
{
	struct donard_queue_info info = { .size = sizeof(info) };

	assert_int_equal(donard_queue_info(scene->queue, &info), 0);
	return info;
}

static void completions_are_polled(void **state)
{
	struct scene *scene = scene_of(state);

	begin(scene, 3);
	assert_int_equal(donard_queue_poll(scene->queue, scene->got, REQUESTS), 0);
	assert_int_equal(about(scene).in_flight, 3);
	let_end(scene, 2);
	assert_int_equal(donard_queue_poll(scene->queue, scene->got, REQUESTS), 2);
	assert_int_equal((uintptr_t)scene->got[0].user, 100);
	assert_int_equal((uintptr_t)scene->got[1].user, 101);
	assert_int_equal(about(scene).in_flight, 1);
	assert_int_equal(about(scene).requests, 2);
	assert_int_equal(about(scene).bytes, 8192);
}

/* Level-triggered: as long as a completion is left, and not longer. */
static void descriptor_shows_the_source(void **state)
{
	struct scene *scene = scene_of(state);

	begin(scene, 3);
	donard_queue_poll(scene->queue, scene->got, 1);
	assert_false(readable(scene, 0));
	let_end(scene, 2);
	for (int i = 0; i < 2; i++) {
		assert_true(readable(scene, 0));
		assert_int_equal(donard_queue_poll(scene->queue, scene->got, 1), 1);
	}
	assert_int_equal(donard_queue_poll(scene->queue, scene->got, 1), 0);
	assert_false(readable(scene, 0));
	let_end(scene, 1);
	assert_true(readable(scene, 0));
}

static void *let_two_end(void *user)
{
	struct scene *scene = user;

	for (int i = 0; i < 2; i++) {
		usleep(2000);
		let_end(scene, 1);
	}
	return NULL;
}

static void wait_sleeps_until_the_source_is_done(void **state)
{
	struct scene *scene = scene_of(state);
	pthread_t thread;

	begin(scene, 3);
	assert_int_equal(pthread_create(&thread, NULL, let_two_end, scene), 0);
	assert_int_equal(waits(scene, 2, -1), 2);
	pthread_join(thread, NULL);
	assert_int_equal(waits(scene, 1, 1000000), 0);	/* the time is over */
	assert_int_equal(about(scene).in_flight, 1);
	let_end(scene, 1);
	assert_int_equal(waits(scene, REQUESTS, -1), 1);	/* nothing more is in flight */
	assert_int_equal(waits(scene, 1, -1), 0);
}

/* The texts of completions live until the next are taken. */
static void texts_are_kept_until_the_next_call(void **state)
{
	struct scene *scene = scene_of(state);
	unsigned int before;

	begin(scene, 1);
	let_end(scene, 1);
	assert_int_equal(waits(scene, 1, -1), 1);
	before = scene->fake.forgotten;
	assert_int_equal(donard_queue_submit(scene->queue), 0);
	assert_int_equal(scene->fake.forgotten, before);
	donard_queue_poll(scene->queue, scene->got, 1);
	assert_int_equal(scene->fake.forgotten, before + 1);
}

static void requests_of_the_source_are_canceled(void **state)
{
	struct scene *scene = scene_of(state);

	begin(scene, 2);
	assert_int_equal(donard_queue_cancel(scene->queue, (void *)7), 0);
	assert_int_equal(donard_queue_cancel(scene->queue, (void *)100), 1);
	assert_int_equal(waits(scene, 1, -1), 1);
	assert_int_equal(scene->got[0].result, -ECANCELED);
	assert_int_equal(about(scene).in_flight, 1);
}

/* The descriptor wakes the program for canceled requests, so that a loop does not go back to sleep. */
static void canceled_ones_are_told(void **state)
{
	struct scene *scene = scene_of(state);

	begin(scene, 2);
	donard_queue_poll(scene->queue, scene->got, 1);
	assert_false(readable(scene, 0));
	assert_int_equal(donard_queue_cancel(scene->queue, (void *)100), 1);
	assert_true(readable(scene, 0));
}

static void source_says_that_it_has_something(void **state)
{
	struct scene *scene = scene_of(state);

	donard_queue_poll(scene->queue, scene->got, 1);
	assert_false(readable(scene, 0));
	dnd_queue_source_tell(&scene->fake.source);
	assert_true(readable(scene, 0));
}

/* Two ends of a connection: urgent data show as a region's call does. */
static void make_pair(int fds[2])
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(listener, (struct sockaddr *)&address, length), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &length), 0);
	fds[0] = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(fds[0], (struct sockaddr *)&address, length), 0);
	fds[1] = accept(listener, NULL, NULL);
	assert_true(fds[1] >= 0);
	close(listener);
}

/* The region of registered memory goes away before the queue waits for a request that does not end. */
static void region_goes_away(struct scene *scene, struct donard_memory *memory, unsigned int slots, int64_t timeout_ns)
{
	struct dnd_queue_registration *registration = &scene->queue->registrations[0];
	int fds[2], rc;

	make_pair(fds);
	memory->region.fd = fds[0];
	registration->memory = memory;
	registration->buffers.count = slots;
	scene->queue->registration_count = 1;
	dnd_queue_watch(scene->queue, memory, true);
	donard_queue_poll(scene->queue, scene->got, 1);
	assert_int_equal(send(fds[1], "!", 1, MSG_OOB), 1);
	rc = waits(scene, 1, timeout_ns);
	scene->queue->working = 0;	/* the ring has nothing that could end */
	assert_int_equal(rc, 0);
	assert_null(registration->memory);
	assert_int_equal(memory->handle.holders, 1);
	close(fds[0]);
	close(fds[1]);
}

/* Its removal does not wait for what the source waits for. */
static void region_is_let_go_while_waiting(void **state)
{
	struct donard_memory memory = { .handle.holders = 2, .dmabuf.fd = -1 };
	struct scene *scene = scene_of(state);

	begin(scene, 1);
	region_goes_away(scene, &memory, 0, 200000000);
}

/* A drive that hangs does not keep a region from being released, without a source either.  Linux AIO pins nothing. */
static void region_is_let_go_while_a_drive_hangs(void **state)
{
	struct donard_memory memory = { .handle.holders = 2, .dmabuf.fd = -1 };
	struct scene *scene = scene_of(state);

	if (scene->queue->ring.aio)
		return;
	dnd_queue_source_remove(&scene->fake.source);
	scene->queue->working = 1;
	region_goes_away(scene, &memory, 1, 500000000);
}

/* Requests that the kernel did not take end no sleep, so the wait submits them again. */
static void wait_does_not_sleep_on_what_was_not_handed_over(void **state)
{
	struct scene *scene = scene_of(state);

	begin(scene, 1);
	not_handed_over = scene;
	assert_int_equal(waits(scene, 1, 0), 1);
}

static void removed_source_is_left_alone(void **state)
{
	struct scene *scene = scene_of(state);

	begin(scene, 1);
	dnd_queue_source_remove(&scene->fake.source);
	dnd_queue_source_remove(&scene->fake.source);
	let_end(scene, 1);
	assert_int_equal(donard_queue_poll(scene->queue, scene->got, 1), 0);
	assert_false(readable(scene, 0));
	assert_int_equal(waits(scene, 1, -1), 0);
	donard_queue_close(scene->queue);
	scene->queue = NULL;
	assert_int_equal(scene->fake.ends, 0);
}

static void closed_queue_ends_the_source(void **state)
{
	struct scene *scene = scene_of(state);

	begin(scene, 2);
	donard_queue_close(scene->queue);
	scene->queue = NULL;
	assert_int_equal(scene->fake.ends, 1);
	assert_false(scene->fake.inherited);
	assert_null(scene->fake.source.queue);
	dnd_queue_source_remove(&scene->fake.source);
}

/* The parent's requests are not the child's to end. */
static void child_of_a_fork_leaves_the_source(void **state)
{
	struct scene *scene = scene_of(state);
	int status;
	pid_t child;

	begin(scene, 1);
	child = fork();
	if (!child) {
		bool refused = waits(scene, 0, 0) == -EPERM;

		donard_queue_close(scene->queue);
		_exit(refused && scene->fake.ends == 1 && scene->fake.inherited ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	let_end(scene, 1);
	assert_int_equal(waits(scene, 1, -1), 1);
	assert_int_equal(scene->fake.ends, 0);
}

static void ignore(int number)
{
	(void)number;
}

struct interruption {
	pthread_t thread;
	atomic_bool over;
};

/* Again and again: a signal that comes before the wait begins ends none. */
static void *interrupt(void *user)
{
	struct interruption *it = user;

	while (!atomic_load(&it->over)) {
		usleep(20000);
		pthread_kill(it->thread, SIGUSR1);
	}
	return NULL;
}

static void signal_ends_the_wait(void **state)
{
	struct sigaction action = { .sa_handler = ignore };
	struct scene *scene = scene_of(state);
	struct interruption it = { .thread = pthread_self() };
	pthread_t thread;
	int rc;

	sigaction(SIGUSR1, &action, NULL);
	begin(scene, 1);
	assert_int_equal(pthread_create(&thread, NULL, interrupt, &it), 0);
	rc = waits(scene, 1, -1);
	atomic_store(&it.over, true);
	pthread_join(thread, NULL);
	assert_int_equal(rc, -EINTR);
}

int main(void)
{
#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		test(completions_are_polled),
		test(descriptor_shows_the_source),
		test(wait_sleeps_until_the_source_is_done),
		test(texts_are_kept_until_the_next_call),
		test(requests_of_the_source_are_canceled),
		test(canceled_ones_are_told),
		test(source_says_that_it_has_something),
		test(region_is_let_go_while_waiting),
		test(region_is_let_go_while_a_drive_hangs),
		test(wait_does_not_sleep_on_what_was_not_handed_over),
		test(removed_source_is_left_alone),
		test(closed_queue_ends_the_source),
		test(child_of_a_fork_leaves_the_source),
		test(signal_ends_the_wait),
	};

	return run_by_both_engines(tests);
}
