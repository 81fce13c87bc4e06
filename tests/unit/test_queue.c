// SPDX-License-Identifier: Apache-2.0
/* Queues between files and plain memory: no device, no root.  Needs ext4 or xfs under /tmp. */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engines.h"
#include "queue_scene.h"
#include "says.h"

static double played_seconds;		/* 0: the clock's */
static unsigned int asks;

double __real_dnd_now_seconds(void);
double __wrap_dnd_now_seconds(void);
double __wrap_dnd_now_seconds(void)
{
	return played_seconds ? played_seconds : __real_dnd_now_seconds();
}

int __real_dnd_drive_ask_again(struct donard_context *ctx, struct dnd_drive *drive);
int __wrap_dnd_drive_ask_again(struct donard_context *ctx, struct dnd_drive *drive);
int __wrap_dnd_drive_ask_again(struct donard_context *ctx, struct dnd_drive *drive)
{
	asks++;
	return __real_dnd_drive_ask_again(ctx, drive);
}

/* 1 MiB in eight commands of 128 KiB is one request with one completion. */
static void one_long_request(void **state)
{
	struct scene *scene = scene_of(state, 1, 0);

	assert_int_equal(reads(scene, 0, 0, BYTES, 7), 0);
	assert_int_equal(waits(scene, 1), 1);
	assert_int_equal(scene->got[0].result, BYTES);
	assert_int_equal((uintptr_t)scene->got[0].user, 7);
	assert_int_equal(scene->got[0].route, DONARD_ROUTE_DRAM);
	assert_memory_equal(scene->bytes, scene->data, BYTES);
	assert_int_equal(about(scene).bytes, BYTES);
	assert_int_equal(about(scene).in_flight, 0);
}

static void many_each_once(void **state)
{
	struct scene *scene = scene_of(state, 32, 0);
	uint64_t seen = 0;
	int got = 0;

	for (uintptr_t i = 0; i < 32; i++)
		assert_int_equal(reads(scene, i * 32768, (31 - i) * 32768, 32768, i), 0);
	assert_refused(scene, reads(scene, 0, 0, 4096, 99), EAGAIN, "queue-full");
	while (got < 32) {
		int more = waits(scene, 1);

		assert_true(more > 0);
		for (int i = 0; i < more; i++)
			seen |= 1ULL << (uintptr_t)scene->got[i].user;
		got += more;
	}
	assert_int_equal(seen, 0xffffffff);
	for (size_t i = 0; i < 32; i++)
		assert_memory_equal(scene->bytes + (31 - i) * 32768, scene->data + i * 32768, 32768);
	assert_int_equal(waits(scene, 1), 0);	/* nothing is in flight: no wait for ever */
}

static void writes_and_grows(void **state)
{
	struct scene *scene = scene_of(state, 8, 0);
	uint8_t *seen = malloc(BYTES);
	int fd;

	memcpy(scene->bytes, scene->data, BYTES);
	assert_int_equal(writes(scene, BYTES, 0, 65536, 1), 0);
	assert_int_equal(writes(scene, 0, 65536, 65536, 2), 0);
	assert_int_equal(waits(scene, 2), 2);
	assert_int_equal(donard_queue_flush(scene->queue, scene->file, (void *)3), 0);
	assert_int_equal(waits(scene, 1), 1);
	assert_int_equal(scene->got[0].result, 0);
	assert_int_equal(scene->got[0].route, DONARD_ROUTE_NONE);
	fd = open(scene->path, O_RDONLY);
	assert_int_equal(lseek(fd, 0, SEEK_END), BYTES + 65536);
	assert_int_equal(pread(fd, seen, 65536, BYTES), 65536);
	assert_memory_equal(seen, scene->data, 65536);
	assert_int_equal(pread(fd, seen, 65536, 0), 65536);
	assert_memory_equal(seen, scene->data + 65536, 65536);
	close(fd);
	free(seen);
}

static uint32_t flags_of_flush(struct scene *scene, struct donard_file *file)
{
	assert_int_equal(donard_queue_flush(scene->queue, file, NULL), 0);
	assert_int_equal(donard_queue_wait(scene->queue, 1, -1, scene->got, 1), 1);
	assert_int_equal(scene->got[0].result, 0);
	return scene->got[0].flags;
}

/* It succeeds all the same where the kernel was told to send the drive none. */
static void flush_says_what_it_is_worth(void **state)
{
	struct donard_file_info info = { .size = sizeof(info) };
	struct scene *scene = scene_of(state, 8, 0);
	struct donard_file *unflushed;

	assert_int_equal(flags_of_flush(scene, scene->file) & DONARD_COMPLETION_VOLATILE, 0);
	assert_int_equal(donard_file_info(scene->file, &info), 0);
	assert_string_equal(info.not_flushed, "");
	fake_file(scene->fake, "block/nvme7n1/queue/write_cache", "write through");
	assert_int_equal(donard_file_open(scene->ctx, scene->path, DONARD_FILE_WRITE, &unflushed), 0);
	assert_int_equal(flags_of_flush(scene, unflushed), DONARD_COMPLETION_VOLATILE);
	assert_int_equal(donard_file_info(unflushed, &info), 0);
	assert_non_null(strstr(info.not_flushed, "nvme7n1 has a volatile write cache"));
	donard_file_close(unflushed);
}

/* The first batch after a sleep asks again, and not only the next one: the file may have changed while the program slept. */
static void asks_again_after_a_sleep(void **state)
{
	struct scene *scene = scene_of(state, 8, 0);

	assert_int_equal(reads(scene, 0, 0, 65536, 1), 0);
	assert_int_equal(waits(scene, 1), 1);
	played_seconds = __real_dnd_now_seconds() + 60;
	scene->queue->latest->route.route = DONARD_ROUTE_SWITCH;
	assert_int_equal(reads(scene, 0, 0, 65536, 1), 0);
	assert_int_equal(waits(scene, 1), 1);
	asks = 0;
	assert_int_equal(reads(scene, 0, 0, 65536, 1), 0);
	assert_int_equal(waits(scene, 1), 1);
	assert_int_equal(asks, 0);
	assert_int_equal(reads(scene, 0, 0, 0, 1), -EINVAL);	/* begins no batch */
	played_seconds += 3600;
	assert_int_equal(reads(scene, 0, 0, 65536, 1), 0);
	assert_int_equal(asks, 1);
	assert_int_equal(reads(scene, 65536, 65536, 65536, 2), 0);
	assert_int_equal(waits(scene, 2), 2);
	assert_int_equal(asks, 1);
	played_seconds = 0;
}

/* The errno with which a file's way to a region is refused, or 0; no unit test has a region. */
static int played_refusal;
static unsigned int refusals;

int __real_dnd_join_check_file(struct dnd_join *join);
int __wrap_dnd_join_check_file(struct dnd_join *join);
int __wrap_dnd_join_check_file(struct dnd_join *join)
{
	refusals += !!played_refusal;
	return played_refusal ? -played_refusal : __real_dnd_join_check_file(join);
}

/* The way was predicted some time ago, as by the read of a hole. */
static void refuse_from_now_on(struct scene *scene, int error)
{
	struct dnd_pair *pair = scene->queue->latest;

	pair->read_proven = pair->write_proven = false;
	pair->tried_seconds = -60;
	refusals = 0;
	played_refusal = error;
}

/* A write that waited for those which disturbed its proof is proven afterwards. */
static void refusal_is_no_prediction(void **state)
{
	struct scene *scene = scene_of(state, 8, 0);

	assert_int_equal(reads(scene, 0, 0, 65536, 1), 0);
	scene->memory->region.fd = 0;
	refuse_from_now_on(scene, EBADMSG);
	for (int i = 0; i < 2; i++)
		assert_int_equal(reads(scene, 0, 65536, 4096, 2), -EBADMSG);
	refuse_from_now_on(scene, EBUSY);
	assert_int_equal(writes(scene, 65536, 65536, 4096, 2), -EBUSY);
	assert_int_equal(refusals, 2);
	played_refusal = 0;
	scene->memory->region.fd = -1;
	assert_int_equal(waits(scene, 1), 1);
}

static void ends_with_the_file(void **state)
{
	struct scene *scene = scene_of(state, 8, 0);

	assert_int_equal(truncate(scene->path, 200001), 0);
	assert_int_equal(reads(scene, 0, 0, BYTES, 0), 0);
	assert_int_equal(reads(scene, 262144, 0, 65536, 1), 0);
	assert_int_equal(waits(scene, 2), 2);
	for (int i = 0; i < 2; i++)
		assert_int_equal(scene->got[i].result, scene->got[i].user ? 0 : 200001);
	assert_memory_equal(scene->bytes, scene->data, 200001);
}

/* Half of a transfer came, and only polling follows: it goes on by itself. */
static void goes_on_when_polled(void **state)
{
	struct scene *scene = scene_of(state, 8, 0);
	struct pollfd polled = { .fd = donard_queue_descriptor(scene->queue), .events = POLLIN };
	int got = 0;

	assert_int_equal(truncate(scene->path, 8192), 0);
	assert_int_equal(reads(scene, 0, 0, 65536, 0), 0);
	assert_int_equal(donard_queue_submit(scene->queue), 0);
	while (!got) {
		assert_int_equal(poll(&polled, 1, HANG_SECONDS * 1000), 1);
		got = donard_queue_poll(scene->queue, scene->got, 8);
	}
	assert_int_equal(got, 1);
	assert_int_equal(scene->got[0].result, 8192);
}

/* Unaligned requests work if the caller allows bounces, move exactly their bytes, and are counted. */
static void unaligned(void **state)
{
	struct scene *scene = scene_of(state, 8, 0);
	struct stat st;

	assert_refused(scene, reads(scene, 1, 0, 4096, 0), EINVAL, "alignment");
	assert_non_null(strstr(donard_error(scene->ctx), "multiples of"));
	assert_refused(scene, reads(scene, 0, 3, 4096, 0), EINVAL, "alignment");
	open_queue(scene, 8, DONARD_QUEUE_ALLOW_BOUNCE);
	assert_int_equal(reads(scene, 1, 3, 100001, 0), 0);
	assert_int_equal(waits(scene, 1), 1);
	assert_int_equal(scene->got[0].result, 100001);
	assert_int_equal(scene->got[0].route, DONARD_ROUTE_BOUNCED);
	assert_int_equal(scene->got[0].flags, DONARD_COMPLETION_BOUNCED);
	assert_memory_equal(scene->bytes + 3, scene->data + 1, 100001);
	assert_int_equal(about(scene).bounced_bytes, 100001);
	memset(scene->bytes, 0x5a, 77);
	assert_int_equal(writes(scene, BYTES - 7, 0, 77, 0), 0);	/* over the end */
	assert_int_equal(waits(scene, 1), 1);
	assert_int_equal(scene->got[0].result, 77);
	assert_int_equal(stat(scene->path, &st), 0);
	assert_int_equal(st.st_size, BYTES + 70);
	assert_int_equal(reads(scene, BYTES - 4096, 8192, 8192, 0), 0);	/* a direct read finds it */
	assert_int_equal(waits(scene, 1), 1);
	assert_int_equal(scene->got[0].result, 4096 + 70);
	assert_memory_equal(scene->bytes + 8192, scene->data + BYTES - 4096, 4096 - 7);
	assert_memory_equal(scene->bytes + 8192 + 4089, scene->bytes, 77);
}

static void refuses(void **state)
{
	struct scene *scene = scene_of(state, 2, 0);
	struct donard_file *other;
	struct donard_queue_options options = { .size = sizeof(options), .depth = 5000 };

	assert_refused(scene, donard_queue_open(scene->ctx, &options, &scene->queue), EINVAL, "bad-option");
	options = (struct donard_queue_options){ .size = sizeof(options), .flags = 0x80 };
	assert_refused(scene, donard_queue_open(scene->ctx, &options, &scene->queue), EINVAL, "bad-option");
	assert_refused(scene, reads(scene, 0, 0, 0, 0), EINVAL, "bad-option");
	assert_refused(scene, donard_queue_read(scene->queue, NULL, 0, scene->memory, 0, 4096, NULL), EINVAL,
		       "bad-option");
	assert_refused(scene, donard_queue_read(scene->queue, scene->file, 0, NULL, 0, 4096, NULL), EINVAL,
		       "bad-option");
	assert_refused(scene, donard_queue_flush(scene->queue, NULL, NULL), EINVAL, "bad-option");
	assert_refused(scene, reads(scene, 0, 0, 2ULL << 30, 0), EINVAL, "bad-option");
	assert_refused(scene, reads(scene, 1ULL << 63, 0, 4096, 0), EINVAL, "bad-option");
	assert_refused(scene, reads(scene, 0, BYTES, 4096, 0), ENXIO, "past-end");
	assert_refused(scene, donard_queue_wait(scene->queue, 3, 0, scene->got, 2), EINVAL, "bad-option");
	assert_int_equal(donard_file_open(scene->ctx, scene->path, 0, &other), 0);
	assert_refused(scene, donard_queue_write(scene->queue, other, 0, scene->memory, 0, 4096, NULL), EROFS,
		       "read-only");
	assert_refused(scene, donard_queue_flush(scene->queue, other, NULL), EROFS, "read-only");
	donard_file_close(other);
	assert_int_equal(about(scene).in_flight, 0);
	assert_int_equal(waits(scene, 1), 0);
}

/* The kernel would end the process by a signal. */
static void limit_of_file_size(void **state)
{
	struct scene *scene = scene_of(state, 2, 0);
	struct rlimit before, less;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	less = (struct rlimit){ .rlim_cur = 8192, .rlim_max = before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
	assert_refused(scene, writes(scene, 4096, 0, 8192, 0), ENOSPC, "no-space");
	assert_says(donard_error(scene->ctx), "ulimit -f");
	assert_int_equal(writes(scene, 4096, 0, 4096, 0), 0);
	assert_int_equal(reads(scene, 4096, 4096, 8192, 0), 0);
	assert_int_equal(waits(scene, 2), 2);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(scene->got[0].result + scene->got[1].result, 4096 + 8192);
}

static void files(void **state)
{
	struct scene *scene = scene_of(state, 2, 0);
	struct donard_file_info info = { .size = sizeof(info) };
	struct donard_file *file;
	char path[160];
	int fd;

	assert_refused(scene, donard_file_open(scene->ctx, scene->path, DONARD_FILE_CREATE, &file), EINVAL,
		       "bad-option");
	snprintf(path, sizeof(path), "%s.new", scene->path);
	assert_int_equal(donard_file_open(scene->ctx, path, 0, &file), -ENOENT);
	assert_refused(scene, donard_file_open(scene->ctx, path, DONARD_FILE_WRITE, &file), ENODEV,
		       "no-such-device");
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(donard_file_open(scene->ctx, path, DONARD_FILE_WRITE | DONARD_FILE_CREATE, &file), 0);
	assert_int_equal(donard_file_info(file, &info), 0);
	assert_int_equal(info.kind, DONARD_FILE_KIND_REGULAR);
	assert_int_equal(info.size_bytes, 0);
	assert_string_equal(info.path, path);
	assert_string_equal(info.disk, "nvme7n1");
	assert_string_equal(donard_file_client(file, 0), "0000:01:00.0");
	assert_null(donard_file_client(file, 1));
	donard_file_close(file);
	assert_int_equal(access(path, F_OK), 0);
	fd = open(scene->path, O_RDONLY);
	assert_refused(scene, donard_file_adopt(scene->ctx, fd, &file), EINVAL, "bad-option");
	close(fd);
	assert_refused(scene, donard_file_adopt(scene->ctx, fd, &file), EINVAL, "bad-option");
	fd = open(scene->path, O_RDWR | O_DIRECT | O_APPEND);
	assert_refused(scene, donard_file_adopt(scene->ctx, fd, &file), EINVAL, "bad-option");
	close(fd);
	fd = open(scene->path, O_RDONLY | O_DIRECT);
	assert_int_equal(lseek(fd, 8192, SEEK_SET), 8192);
	assert_int_equal(donard_file_adopt(scene->ctx, fd, &file), 0);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 8192);	/* the program's position is its own */
	close(fd);
	assert_int_equal(donard_queue_read(scene->queue, file, 0, scene->memory, 0, 65536, NULL), 0);
	donard_file_close(file);	/* the request has it still */
	assert_int_equal(waits(scene, 1), 1);
	assert_int_equal(scene->got[0].result, 65536);
	assert_memory_equal(scene->bytes, scene->data, 65536);
}

static void registered_again_and_again(void **state)
{
	struct scene *scene = scene_of(state, 8, 0);
	int registered = donard_queue_register(scene->queue, scene->memory);

	assert_in_range(registered, 0, 1);
	assert_int_equal(donard_queue_register(scene->queue, scene->memory), registered);
	for (int round = 0; round < 3; round++) {
		memset(scene->bytes, 0, BYTES);
		for (uintptr_t i = 0; i < 8; i++)
			assert_int_equal(reads(scene, i * 131072, i * 131072, 131072, i), 0);
		assert_int_equal(waits(scene, 8), 8);
		assert_memory_equal(scene->bytes, scene->data, BYTES);
		for (int i = 0; i < 8; i++)
			assert_int_equal(scene->got[i].flags, registered ? DONARD_COMPLETION_REGISTERED : 0);
	}
	assert_int_equal(about(scene).registered_requests, registered ? 24 : 0);
	assert_int_equal(donard_queue_unregister(scene->queue, scene->memory), 0);
	assert_int_equal(donard_queue_unregister(scene->queue, scene->memory), 0);
	assert_int_equal(reads(scene, 0, 0, 4096, 0), 0);
	assert_int_equal(waits(scene, 1), 1);
	assert_int_equal(scene->got[0].flags, 0);
}

static bool readable(int fd, int timeout_ms)
{
	struct pollfd polled = { .fd = fd, .events = POLLIN };

	return poll(&polled, 1, timeout_ms) == 1;
}

/* The event of a completion may come a moment after the completion can be taken. */
static void assert_silent(struct scene *scene, int fd)
{
	for (int i = 0; i < 100 && readable(fd, 0); i++)
		assert_int_equal(donard_queue_poll(scene->queue, scene->got, 8), 0);
	assert_false(readable(fd, 0));
}

/* Readable as long as there is something to take, and not longer. */
static void event_loop(void **state)
{
	struct scene *scene = scene_of(state, 8, 0);
	int fd = donard_queue_descriptor(scene->queue);

	assert_true(fd >= 0);
	assert_int_equal(donard_queue_descriptor(scene->queue), fd);
	assert_int_equal(donard_queue_poll(scene->queue, scene->got, 1), 0);
	for (int round = 0; round < 3; round++) {
		assert_silent(scene, fd);
		for (uintptr_t i = 0; i < 8; i++)
			assert_int_equal(reads(scene, i * 4096, i * 4096, 4096, i), 0);
		assert_int_equal(donard_queue_submit(scene->queue), 0);
		for (int got = 0; got < 8;) {
			int more;

			assert_true(readable(fd, HANG_SECONDS * 1000));
			more = donard_queue_poll(scene->queue, scene->got, 1);
			assert_in_range(more, 0, 1);
			got += more;
		}
		assert_int_equal(donard_queue_poll(scene->queue, scene->got, 8), 0);
	}
	assert_silent(scene, fd);
}

/* Takes @count completions as a program does that sleeps on the descriptor alone. */
static void sleeps_for(struct scene *scene, int count)
{
	int fd = donard_queue_descriptor(scene->queue);

	for (int got = 0; got < count;) {
		int more;

		assert_true(readable(fd, HANG_SECONDS * 1000));
		more = donard_queue_poll(scene->queue, scene->got + got, (unsigned int)(count - got));
		assert_true(more >= 0);
		got += more;
	}
}

/* Eight commands of a queue of one, and nothing but the descriptor to go by. */
static void more_commands_than_requests(void **state)
{
	struct scene *scene = scene_of(state, 1, 0);

	assert_int_equal(reads(scene, 0, 0, BYTES, 7), 0);
	assert_int_equal(donard_queue_submit(scene->queue), 0);
	sleeps_for(scene, 1);
	assert_int_equal(scene->got[0].result, BYTES);
	assert_memory_equal(scene->bytes, scene->data, BYTES);
}

/* Requests that the kernel refuses at once wake a program, too, and so do those that were canceled before they began. */
static void refused_ones_are_told(void **state)
{
	struct scene *scene = scene_of(state, 4, 0);
	int unreadable = open(scene->path, O_WRONLY | O_DIRECT);

	assert_int_equal(donard_queue_poll(scene->queue, scene->got, 4), 0);
	assert_int_equal(dup2(unreadable, scene->file->drive.fd), scene->file->drive.fd);
	close(unreadable);
	for (uintptr_t i = 0; i < 3; i++)
		assert_int_equal(reads(scene, 0, i * 4096, 4096, i), 0);
	assert_int_equal(donard_queue_submit(scene->queue), 0);
	sleeps_for(scene, 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(scene->got[i].result, -EBADF);
	assert_int_equal(reads(scene, 0, 0, 4096, 9), 0);
	assert_int_equal(donard_queue_cancel(scene->queue, (void *)9), 1);
	sleeps_for(scene, 1);
	assert_int_equal(scene->got[0].result, -ECANCELED);
}

static void says_by_which_engine(void **state)
{
	struct scene *scene = scene_of(state, 4, 0);
	struct donard_queue_options options = { .size = sizeof(options), .flags = DONARD_QUEUE_PASSTHROUGH };
	struct donard_queue *queue;

	if (!refused_with) {
		assert_string_equal(about(scene).no_io_uring, "");
		return;
	}
	assert_says(about(scene).no_io_uring, "forbid");
	assert_int_equal(donard_queue_register(scene->queue, scene->memory), 0);
	assert_refused(scene, donard_queue_open(scene->ctx, &options, &queue), EOPNOTSUPP, "unsupported");
	assert_says(donard_error(scene->ctx), "io_uring is refused (Operation not permitted)");
	assert_says(donard_error(scene->ctx), "PASSTHROUGH needs io_uring");
}

static void forbid_registrations(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_register, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(77);
}

/* io_uring without io_uring_register() has no descriptor for an event loop: Linux AIO has one. */
static void registrations_are_forbidden(void **state)
{
	struct scene *scene = scene_of(state, 4, 0);
	int status;
	pid_t child = fork();

	if (!child) {
		forbid_registrations();
		open_queue(scene, 4, 0);
		if (!about(scene).no_io_uring[0] || donard_queue_descriptor(scene->queue) < 0)
			_exit(1);
		_exit(reads(scene, 0, 0, 4096, 7) || waits(scene, 1) != 1 || scene->got[0].result != 4096);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();		/* no filter can be set here */
	assert_int_equal(status, 0);
}

static void time_runs_out(void **state)
{
	struct scene *scene = scene_of(state, 8, 0);

	assert_int_equal(donard_queue_wait(scene->queue, 1, 0, scene->got, 8), 0);
	assert_int_equal(donard_queue_wait(scene->queue, 1, 1000000, scene->got, 8), 0);
	assert_int_equal(reads(scene, 0, 0, 4096, 0), 0);
	assert_int_equal(donard_queue_wait(scene->queue, 8, 10000000000, scene->got, 8), 1);
	assert_int_equal(reads(scene, 0, 0, 4096, 0), 0);
	assert_int_equal(donard_queue_wait(scene->queue, 1, INT64_MAX, scene->got, 8), 1);
}

static void closed_with_requests_in_flight(void **state)
{
	struct scene *scene = scene_of(state, 16, 0);

	for (uintptr_t i = 0; i < 16; i++)
		assert_int_equal(reads(scene, i * 65536, i * 65536, 65536, i), 0);
	assert_int_equal(donard_queue_submit(scene->queue), 0);
	donard_memory_free(scene->memory);
	donard_file_close(scene->file);
	donard_queue_close(scene->queue);
	scene->memory = NULL;
	scene->file = NULL;
	scene->queue = NULL;
}

static void *use_it(void *user)
{
	struct scene *scene = user;

	return (void *)(intptr_t)donard_queue_submit(scene->queue);
}

static void of_one_thread(void **state)
{
	struct scene *scene = scene_of(state, 2, 0);
	pthread_t thread;
	void *result;
	int status;

	assert_int_equal(pthread_create(&thread, NULL, use_it, scene), 0);
	pthread_join(thread, &result);
	assert_int_equal((intptr_t)result, -EPERM);
	assert_int_equal(reads(scene, 0, 65536, 4096, 0), 0);
	assert_int_equal(donard_queue_submit(scene->queue), 0);
	if (!fork()) {
		struct donard_queue *own;
		int rc = donard_queue_submit(scene->queue);

		rc = rc == -EPERM ? donard_queue_open(scene->ctx, NULL, &own) : 1;
		if (!rc)
			rc = donard_queue_read(own, scene->file, 0, scene->memory, 0, 4096, NULL);
		if (!rc)
			rc = donard_queue_wait(own, 1, -1, scene->got, 1) != 1 || scene->got[0].result != 4096;
		if (!rc)
			rc = donard_queue_submit(scene->queue) != -EPERM;
		donard_queue_close(scene->queue);
		donard_queue_close(own);
		_exit(!!rc);
	}
	wait(&status);
	assert_int_equal(status, 0);
	assert_int_equal(reads(scene, 0, 0, 4096, 0), 0);
	assert_int_equal(waits(scene, 2), 2);
	assert_int_equal(scene->got[0].result, 4096);
	assert_int_equal(scene->got[1].result, 4096);
}

/* More pairs than are remembered. */
static void many_memories(void **state)
{
	struct scene *scene = scene_of(state, 4, 0);
	struct donard_memory *memory;

	for (int i = 0; i < 600; i++) {
		assert_int_equal(donard_memory_dram(scene->ctx, 4096, &memory), 0);
		assert_int_equal(donard_queue_read(scene->queue, scene->file, 0, memory, 0, 4096, NULL), 0);
		donard_memory_free(memory);
		assert_int_equal(waits(scene, 1), 1);
		assert_int_equal(scene->got[0].result, 4096);
		assert_null(scene->got[0].failure);
	}
}

/* Memories that the ring could not register count, too. */
static void places_for_registrations_end(void **state)
{
	struct scene *scene = scene_of(state, 4, 0);
	struct donard_memory *held[DND_REGISTRATIONS_MAX];
	struct donard_failure last = { .size = sizeof(last) };
	int i;

	for (i = 0; i < DND_REGISTRATIONS_MAX; i++) {
		assert_int_equal(donard_memory_dram(scene->ctx, 4096, &held[i]), 0);
		assert_in_range(donard_queue_register(scene->queue, held[i]), 0, 1);
	}
	assert_in_range(donard_queue_register(scene->queue, held[0]), 0, 1);	/* has its place */
	assert_refused(scene, donard_queue_register(scene->queue, scene->memory), ENOSPC, "no-space");
	assert_int_equal(donard_failure_get(scene->ctx, &last), 0);
	assert_int_equal(last.limit, 64);
	assert_int_equal(donard_queue_unregister(scene->queue, held[7]), 0);
	assert_in_range(donard_queue_register(scene->queue, scene->memory), 0, 1);
	for (i = 0; i < DND_REGISTRATIONS_MAX; i++)
		donard_memory_free(held[i]);
}

/* Read-only memory stands for a drive that fails: the text is the completion's. */
static void failure_of_a_request(void **state)
{
	struct scene *scene = scene_of(state, 4, 0);
	struct donard_memory_info info = { .size = sizeof(info) };
	struct donard_failure last = { .size = sizeof(last) };

	assert_refused(scene, reads(scene, 0, 0, 0, 0), EINVAL, "bad-option");
	assert_int_equal(donard_memory_info(scene->memory, &info), 0);
	assert_int_equal(mprotect(info.address, BYTES, PROT_READ), 0);
	assert_int_equal(reads(scene, 8192, 0, 4096, 5), 0);
	assert_int_equal(waits(scene, 1), 1);
	assert_int_equal(scene->got[0].result, -EFAULT);
	assert_non_null(strstr(scene->got[0].error, "read at offset 8192 failed"));
	assert_string_equal(donard_error_code(scene->ctx), "bad-option");	/* the context's own stays */
	assert_int_equal(donard_failure_get(scene->ctx, &last), 0);
	assert_string_equal(last.member, "length");
	assert_int_equal(last.limit, 1);
	for (uintptr_t i = 0; i < 4; i++)	/* its place in the queue is free, its text still there */
		assert_int_equal(reads(scene, 8192, 0, 4096, i), 0);
	assert_non_null(strstr(scene->got[0].error, "read at offset 8192 failed"));
	assert_ptr_equal(scene->got[0].failure->text, scene->got[0].error);
	assert_string_equal(scene->got[0].failure->code, scene->got[0].error_code);
	assert_string_equal(scene->got[0].failure->object, scene->path);
	assert_string_equal(scene->got[0].failure->member, "");
	assert_int_equal(waits(scene, 4), 4);
	assert_int_equal(mprotect(info.address, BYTES, PROT_READ | PROT_WRITE), 0);
}

/* The answers about DRAM after a failure on an unproven route; no unit test has a region. */
static enum dnd_dram played_answers[4];
static unsigned int played_explanations;
static bool played_route;

int __real_dnd_join_failed(struct dnd_join *join, bool writes, uint64_t offset, int error_number, uint32_t nvme_status);
int __wrap_dnd_join_failed(struct dnd_join *join, bool writes, uint64_t offset, int error_number, uint32_t nvme_status);
int __wrap_dnd_join_failed(struct dnd_join *join, bool writes, uint64_t offset, int error_number, uint32_t nvme_status)
{
	if (!played_route)
		return __real_dnd_join_failed(join, writes, offset, error_number, nvme_status);
	assert_true(played_explanations < sizeof(played_answers) / sizeof(played_answers[0]));
	assert_int_equal(offset, 8192);
	played_answers[played_explanations++] = join->dram;
	return join->dram == DND_DRAM_ASK_LATER ? -EINPROGRESS : dnd_fail(join->ctx, DND_E_DEVICE, "who is to blame");
}

/* The drive is asked by a request like others, which a call that never waits only begins. */
static void asks_before_it_blames(struct scene *scene, enum dnd_dram answer)
{
	int got = 0;

	played_explanations = 0;
	assert_int_equal(reads(scene, 8192, 0, 4096, 5), 0);
	assert_int_equal(donard_queue_submit(scene->queue), 0);
	while (!played_explanations)
		got += donard_queue_poll(scene->queue, scene->got, 64);
	if (got) {		/* Linux AIO refused the block at once */
		assert_true(refused_with && answer == DND_DRAM_FAILS);
	} else {
		assert_int_equal(played_explanations, 1);
		assert_int_equal(about(scene).in_flight, 1);
		assert_int_equal(waits(scene, 1), 1);
	}
	assert_int_equal(played_explanations, 2);
	assert_int_equal(played_answers[0], DND_DRAM_ASK_LATER);
	assert_int_equal(played_answers[1], answer);
	assert_int_equal(scene->got[0].result, -EIO);
	assert_string_equal(scene->got[0].error, "who is to blame");
	assert_int_equal(about(scene).in_flight, 0);
}

static void drive_is_asked_without_a_wait(void **state)
{
	struct scene *scene = scene_of(state, 4, 0);
	struct donard_memory_info info = { .size = sizeof(info) };
	int unreadable;

	assert_int_equal(donard_memory_info(scene->memory, &info), 0);
	assert_int_equal(mprotect(info.address, BYTES, PROT_READ), 0);
	played_route = true;
	asks_before_it_blames(scene, DND_DRAM_GETS);
	unreadable = open(scene->path, O_WRONLY | O_DIRECT);
	assert_int_equal(dup2(unreadable, scene->file->drive.fd), scene->file->drive.fd);
	close(unreadable);
	asks_before_it_blames(scene, DND_DRAM_FAILS);
	played_route = false;
	assert_int_equal(mprotect(info.address, BYTES, PROT_READ | PROT_WRITE), 0);
}

static void answer_decides(void **state)
{
	struct scene *scene = scene_of(state, 4, 0);
	const struct dnd_region region = { .name = "p2pmem0", .fd = -1 };
	struct dnd_join join = {
		.ctx = scene->ctx, .region = &region, .drive = &scene->file->drive, .align = scene->align,
		.dram = DND_DRAM_ASK_LATER,
	};

	assert_int_equal(__real_dnd_join_failed(&join, false, 0, EIO, 0), -EINPROGRESS);
	join.dram = DND_DRAM_GETS;
	assert_int_equal(__real_dnd_join_failed(&join, false, 0, EIO, 0), -EIO);
	assert_says(donard_error(scene->ctx), "drops peer-to-peer traffic");
	join.dram = DND_DRAM_FAILS;
	assert_int_equal(__real_dnd_join_failed(&join, false, 0, EIO, 0), -EIO);
	assert_says(donard_error(scene->ctx), "DRAM cannot get the block either");
}

/* An open file keeps the size that it had: requests fail until it is opened again. */
static void changed_since_it_was_opened(void **state)
{
	struct scene *scene = scene_of(state, 4, 0);
	const struct dnd_generic generic = { .fd = -1 };
	struct dnd_join join = {
		.ctx = scene->ctx, .drive = &scene->file->drive, .generic = &generic, .align = scene->align,
	};

	assert_int_equal(__real_dnd_join_failed(&join, false, 0, ESTALE, 0), -EIO);
	assert_says(donard_error(scene->ctx), "was changed since it was opened");
	assert_says(donard_error(scene->ctx), "open the drive again if your program has it open, and repeat it.");
	scene->file->drive.is_file = false;
	assert_refused(scene, reads(scene, BYTES, 0, 4096, 0), ENXIO, "past-end");
	assert_says(donard_error(scene->ctx), "which was at 1048576 when it was opened. If it has grown, open it again.");
	scene->file->drive.is_file = true;
}

int main(void)
{
#define test(name) cmocka_unit_test_setup_teardown(name, queue_setup, queue_teardown)
	const struct CMUnitTest tests[] = {
		test(one_long_request),
		test(many_each_once),
		test(writes_and_grows),
		test(flush_says_what_it_is_worth), test(ends_with_the_file), test(asks_again_after_a_sleep),
		test(refusal_is_no_prediction),
		test(goes_on_when_polled),
		test(unaligned),
		test(refuses),
		test(limit_of_file_size),
		test(files),
		test(registered_again_and_again),
		test(event_loop), test(more_commands_than_requests),
		test(refused_ones_are_told), test(says_by_which_engine),
		test(registrations_are_forbidden),
		test(time_runs_out),
		test(closed_with_requests_in_flight),
		test(of_one_thread),
		test(many_memories), test(places_for_registrations_end),
		test(failure_of_a_request),
		test(drive_is_asked_without_a_wait),
		test(answer_decides), test(changed_since_it_was_opened),
	};

	return run_by_both_engines(tests);
}
