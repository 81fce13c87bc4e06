// SPDX-License-Identifier: Apache-2.0
/* A cache is served from handles: wrong ones are refused, and the program has both as before when the call is over. */
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "copy_scene.h"
#include "donard/cache.h"
#include "donard/memory.h"
#include "drive/drive.h"
#include "memory/memory.h"
#include "rdma/rdma.h"
#include "says.h"

/* The listener of a machine with an RDMA device and no clients. */
static struct rdma_event_channel no_events = { .fd = -1 };
static struct rdma_cm_id listening;

int __wrap_dnd_listener_open(struct donard_context *ctx, struct dnd_listener *listener, const char *address, uint16_t port);
int __wrap_dnd_listener_open(struct donard_context *ctx, struct dnd_listener *listener, const char *address, uint16_t port)
{
	(void)ctx, (void)address, (void)port;
	listener->events = &no_events;
	listener->id = &listening;
	return 0;
}

int __wrap_dnd_listen(struct donard_context *ctx, struct dnd_listener *listener);
int __wrap_dnd_listen(struct donard_context *ctx, struct dnd_listener *listener)
{
	(void)ctx, (void)listener;
	return 0;
}

bool __wrap_dnd_listener_next(struct dnd_listener *listener, struct dnd_happening *happening);
bool __wrap_dnd_listener_next(struct dnd_listener *listener, struct dnd_happening *happening)
{
	(void)listener, (void)happening;
	return false;
}

void __wrap_dnd_listener_close(struct dnd_listener *listener);
void __wrap_dnd_listener_close(struct dnd_listener *listener)
{
	(void)listener;
}

static const struct donard_cache_serve_options options = { .size = sizeof(options) };

static void assert_refused(struct donard_memory *nvram, struct donard_file *backing, int rc, const char *text)
{
	assert_int_equal(donard_cache_serve_from(nvram, backing, &options), rc);
	assert_says(donard_error(nvram->ctx), text);
	assert_int_equal(dnd_handle_holders(&nvram->handle), 1);
	if (backing)
		assert_int_equal(dnd_handle_holders(&backing->handle), 1);
}

static void wrong_handles(void **state)
{
	struct scene *scene = *state;
	struct donard_config config = { .size = sizeof(config), .sysfs_root = scene->fake->root, .dev_root = scene->fake->root };
	struct donard_context *ctx = scene->fake->ctx, *other;
	struct donard_memory *nvram, *dram, *part;
	struct donard_file *backing, *read_only, *others, *adopted;
	int descriptor;

	write_file(scene->in, scene->data, REGION_BYTES);
	write_file(scene->out, scene->data, REGION_BYTES);
	assert_int_equal(donard_open(&other, &config), 0);
	assert_int_equal(donard_memory_claim(ctx, "p2pmem0", 0, 0, &nvram), 0);
	assert_int_equal(donard_memory_dram(ctx, 65536, &dram), 0);
	backing = open_file(scene, scene->out, DONARD_FILE_WRITE);
	read_only = open_file(scene, scene->in, 0);
	assert_int_equal(donard_file_open(other, scene->in, DONARD_FILE_WRITE, &others), 0);
	descriptor = open(scene->in, O_RDWR | O_DIRECT);
	assert_int_equal(donard_file_adopt(ctx, descriptor, &adopted), 0);
	assert_int_equal(donard_memory_claim(other, "p2pmem0", 65536, 65536, &part), 0);

	assert_int_equal(donard_cache_serve_from(NULL, backing, &options), -EINVAL);
	assert_refused(nvram, NULL, -EINVAL, "without a drive");
	assert_int_equal(donard_cache_serve(ctx, NULL, scene->out, &options), -EINVAL);
	assert_says(donard_error(ctx), "without a region");
	assert_refused(dram, backing, -EOPNOTSUPP, "dram: a cache keeps its log in a region");
	assert_refused(nvram, read_only, -EROFS, "opened for reading");
	assert_refused(nvram, others, -EINVAL, "another context");
	assert_refused(nvram, adopted, -EOPNOTSUPP, "it came as a descriptor");
	assert_refused(part, others, -EINVAL, "this memory is 65536 of its 1048576 bytes");
	dnd_handle_get(&backing->handle);
	assert_int_equal(donard_cache_serve_from(nvram, backing, &options), -EBUSY);
	assert_false(dnd_handle_put(&backing->handle));

	donard_memory_free(part);
	donard_file_close(adopted);
	close(descriptor);
	donard_file_close(others);
	donard_file_close(read_only);
	donard_file_close(backing);
	donard_memory_free(dram);
	donard_memory_free(nvram);
	donard_close(other);
}

static void refuses_backing(struct scene *scene, const char *backing, int rc, const char *code)
{
	assert_int_equal(donard_cache_serve(scene->fake->ctx, "p2pmem0", backing, &options), rc);
	assert_string_equal(donard_error_code(scene->fake->ctx), code);
}

/* Each as the header of donard_cache_serve() has it. */
static void wrong_backings(void **state)
{
	struct scene *scene = *state;
	char none[160];

	snprintf(none, sizeof(none), "%s/none", scene->fake->files);
	refuses_backing(scene, scene->fake->files, -ENOTBLK, "not-nvme");
	refuses_backing(scene, "/proc/version", -EMEDIUMTYPE, "file-system");
	refuses_backing(scene, none, -ENODEV, "no-such-device");
}

/* Clients would refuse the offer. */
static void timeout_that_no_client_takes(void **state)
{
	struct scene *scene = *state;
	struct donard_cache_serve_options quick = { .size = sizeof(quick), .timeout_ms = 99 };
	struct donard_failure failure = { .size = sizeof(failure) };

	assert_int_equal(donard_cache_serve(scene->fake->ctx, "p2pmem0", scene->out, &quick), -EINVAL);
	assert_int_equal(donard_failure_get(scene->fake->ctx, &failure), 0);
	assert_string_equal(failure.member, "options.timeout_ms");
	assert_int_equal(failure.limit, 100);
}

/* Past the handles: the region is volatile.  The program goes on with its memory and its file. */
static void given_back(void **state)
{
	struct scene *scene = *state;
	struct donard_memory *nvram;
	struct donard_file *backing;
	uint8_t byte = 7;
	int other;

	write_file(scene->out, scene->data, REGION_BYTES);
	assert_int_equal(donard_memory_claim(scene->fake->ctx, "p2pmem0", 0, 0, &nvram), 0);
	backing = open_file(scene, scene->out, DONARD_FILE_WRITE);
	assert_refused(nvram, backing, -EOPNOTSUPP, "p2pmem0: a power cut empties it");
	assert_int_equal(donard_memory_write(nvram, 0, &byte, 1), 0);
	other = open(scene->out, O_RDWR);
	assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
	close(other);
	donard_file_close(backing);
	donard_memory_free(nvram);
}

struct told {
	unsigned int formatted, recovered, listening, draining;
};

static void note(void *user, const struct donard_cache_event *event)
{
	struct told *told = user;

	told->formatted += event->type == DONARD_CACHE_FORMATTED;
	told->recovered += event->type == DONARD_CACHE_RECOVERED;
	told->listening += event->type == DONARD_CACHE_LISTENING;
	told->draining += event->type == DONARD_CACHE_DRAINING;
}

static int stop_at_once(void *user)
{
	const struct told *told = user;

	return told->listening != 0;
}

/* A file that a cache can be served in front of, and a name for its status socket. */
static void prepare_backing(struct scene *scene, char *status, size_t status_bytes)
{
	needs_supported_file_system(scene->fake->files);
	snprintf(status, status_bytes, "%s/status", scene->fake->files);
	fake_file(scene->fake, "class/block/nvme7n1/wwid", "eui.1");
	fake_file(scene->fake, "block/nvme7n1/queue/write_cache", "write back");
	fake_file(scene->fake, "block/nvme7n1/queue/fua", "1");
	write_file(scene->out, scene->data, REGION_BYTES);
}

/* A log is made in the program's memory, and found there; between the two calls the program has both handles to itself. */
static void served_from_both(void **state)
{
	struct scene *scene = *state;
	struct donard_context *ctx = scene->fake->ctx;
	char status[160];
	struct told told = { 0 };
	struct donard_cache_serve_options how = {
		.size = sizeof(how), .flags = DONARD_CACHE_FORMAT | DONARD_CACHE_VOLATILE_OK, .clients = 1, .event_fn = note,
		.stop_fn = stop_at_once, .user = &told, .status_path = status,
	};
	struct donard_memory *nvram;
	struct donard_file *backing;
	uint8_t byte = 0;

	prepare_backing(scene, status, sizeof(status));
	assert_int_equal(donard_memory_claim(ctx, "p2pmem0", 0, 0, &nvram), 0);
	backing = open_file(scene, scene->out, DONARD_FILE_WRITE);
	if (donard_cache_serve_from(nvram, backing, &how))
		fail_msg("%.900s", donard_error(ctx));
	assert_int_equal(told.formatted + told.listening + told.draining, 3);
	assert_int_equal(dnd_handle_holders(&nvram->handle), 1);
	assert_int_equal(dnd_handle_holders(&backing->handle), 1);
	assert_int_equal(donard_memory_read(nvram, 0, &byte, 1), 0);
	assert_int_not_equal(byte, 0);
	told = (struct told){ 0 };
	how.flags = DONARD_CACHE_VOLATILE_OK;
	how.clients = 0;
	assert_int_equal(donard_cache_serve_from(nvram, backing, &how), 0);
	assert_int_equal(told.recovered + told.listening + told.draining, 3);
	assert_file(scene->out, scene->data, REGION_BYTES);
	donard_file_close(backing);
	donard_memory_free(nvram);
}

static void is_served_of(struct scene *scene, uint64_t bytes, const struct donard_cache_serve_options *how)
{
	played_region_bytes = bytes;
	if (donard_cache_serve(scene->fake->ctx, "p2pmem0", scene->out, how))
		fail_msg("%.900s", donard_error(scene->fake->ctx));
}

static void is_damaged_of(struct scene *scene, uint64_t bytes, const struct donard_cache_serve_options *how, const char *text)
{
	struct told *told = how->user;

	*told = (struct told){ 0 };
	played_region_bytes = bytes;
	assert_int_equal(donard_cache_serve(scene->fake->ctx, "p2pmem0", scene->out, how), -EILSEQ);
	assert_string_equal(donard_error_code(scene->fake->ctx), "damaged");
	assert_says(donard_error(scene->fake->ctx), text);
	assert_says(donard_error(scene->fake->ctx), "Give it all of the NVRAM");
	assert_int_equal(told->recovered, 0);
}

/* The region comes back smaller: without a part of the log, and without what lies behind it only. */
static void smaller_region(void **state)
{
	struct scene *scene = *state;
	char status[160];
	struct told told = { 0 };
	struct donard_cache_serve_options how = {
		.size = sizeof(how), .flags = DONARD_CACHE_FORMAT | DONARD_CACHE_VOLATILE_OK, .clients = 1, .event_fn = note,
		.stop_fn = stop_at_once, .user = &told, .status_path = status,
	};
	struct donard_file_info info = { .size = sizeof(info) };
	uint64_t log_bytes = REGION_BYTES - REGION_BYTES / 16, staging_bytes;	/* as of format() */
	struct donard_file *backing;

	prepare_backing(scene, status, sizeof(status));
	backing = open_file(scene, scene->out, DONARD_FILE_WRITE);
	assert_int_equal(donard_file_info(backing, &info), 0);
	donard_file_close(backing);
	staging_bytes = 8ULL * info.align_bytes;

	is_served_of(scene, REGION_BYTES, &how);
	how.flags = DONARD_CACHE_VOLATILE_OK;
	how.clients = 0;
	is_damaged_of(scene, log_bytes - 4096, &how, "a part of the log is missing");
	is_damaged_of(scene, log_bytes, &how, "a part of the NVRAM is missing");
	is_damaged_of(scene, log_bytes + staging_bytes - 4096, &how, "a part of the NVRAM is missing");
	is_served_of(scene, log_bytes + staging_bytes, &how);
	is_served_of(scene, REGION_BYTES, &how);
}

struct starved {
	struct told told;	/* first, so that note() takes it */
	const char *status;
	int asks;
	struct rlimit limit;
	uint64_t until_ns;
	unsigned int rounds;
};

/* From now on a program asks for the status, and no descriptor is left to answer it with. */
static void starve_while_served(void *user, const struct donard_cache_event *event)
{
	struct starved *starved = user;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct rlimit none;

	note(&starved->told, event);
	if (event->type != DONARD_CACHE_LISTENING)
		return;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", starved->status);
	starved->asks = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(connect(starved->asks, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &starved->limit), 0);
	none = starved->limit;
	none.rlim_cur = (rlim_t)dup(starved->asks);
	close((int)none.rlim_cur);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	starved->until_ns = dnd_now_ns() + 500000000;
}

static int stop_after_a_while(void *user)
{
	struct starved *starved = user;

	starved->rounds++;
	if (dnd_now_ns() < starved->until_ns)
		return 0;
	setrlimit(RLIMIT_NOFILE, &starved->limit);
	return 1;
}

/* It waits as ever, and does not try to answer as fast as it can. */
static void no_descriptor_for_the_status(void **state)
{
	struct scene *scene = *state;
	char status[160];
	struct starved starved = { .status = status };
	struct donard_cache_serve_options how = {
		.size = sizeof(how), .flags = DONARD_CACHE_FORMAT | DONARD_CACHE_VOLATILE_OK, .clients = 1,
		.event_fn = starve_while_served, .stop_fn = stop_after_a_while, .user = &starved, .status_path = status,
	};

	prepare_backing(scene, status, sizeof(status));
	is_served_of(scene, REGION_BYTES, &how);
	close(starved.asks);
	if (starved.rounds > 100)
		fail_msg("%u rounds in half a second", starved.rounds);
}

static pid_t child;

/* It has the descriptors of this moment until the test ends it. */
static void fork_while_served(void *user, const struct donard_cache_event *event)
{
	note(user, event);
	if (event->type != DONARD_CACHE_LISTENING)
		return;
	child = fork();
	if (child)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(60);
	for (;;)
		pause();
}

/* Another server may have the file as soon as this one has ended. */
static void unlocked_despite_a_child(void **state)
{
	struct scene *scene = *state;
	char status[160];
	struct told told = { 0 };
	struct donard_cache_serve_options how = {
		.size = sizeof(how), .flags = DONARD_CACHE_FORMAT | DONARD_CACHE_VOLATILE_OK, .clients = 1,
		.event_fn = fork_while_served, .stop_fn = stop_at_once, .user = &told, .status_path = status,
	};
	int other, rc;

	prepare_backing(scene, status, sizeof(status));
	child = -1;
	is_served_of(scene, REGION_BYTES, &how);
	assert_true(child > 0);
	other = open(scene->out, O_RDWR);
	rc = flock(other, LOCK_EX | LOCK_NB);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	close(other);
	assert_int_equal(rc, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(wrong_handles), CASE(wrong_backings), CASE(given_back), CASE(timeout_that_no_client_takes), CASE(served_from_both),
		CASE(smaller_region), CASE(no_descriptor_for_the_status), CASE(unlocked_despite_a_child),
	};

	return cmocka_run_group_tests_name("cache_handles", tests, NULL, NULL);
}
