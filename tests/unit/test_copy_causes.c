// SPDX-License-Identifier: Apache-2.0
/* The texts of failed copies whose cause is not the usual one. */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/nodes.h"
#include "copy_scene.h"
#include "donard/candidate.h"
#include "donard/gpu.h"
#include "says.h"

/* A source whose first block is being written is copied as it is by then, and not taken for a bounce. */
static void first_block_changes(void **state)
{
	struct scene *scene = *state;
	const unsigned int writers[] = { 1, 2, 3, 1000 };

	scene->options.flags = DONARD_COPY_ALLOW_BOUNCE;
	for (size_t i = 0; i < sizeof(writers) / sizeof(writers[0]); i++) {
		write_file(scene->in, scene->data, 65536);
		played_writers = writers[i];
		assert_int_equal(copy(scene, scene->in, "p2pmem0"), 0);
		assert_int_equal(scene->result.route, DONARD_ROUTE_SWITCH);
		assert_int_equal(scene->result.route_evidence, DONARD_EVIDENCE_PROVEN);
		assert_int_equal(scene->result.bounced_bytes, 0);
	}
	scene->options.flags = 0;
	played_lost_reads = true;
	played_writers = 1000;
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), -EBADMSG);
}

/* The proof reads its block back, and cannot tell a lossy route from a program that writes to the same block. */
static void destination_changes(void **state)
{
	struct scene *scene = *state;
	const unsigned int writers[] = { 1, 4, 5, 7, 1000 };
	int rc;

	scene->options.flags = DONARD_COPY_ALLOW_BOUNCE;
	scene->options.length_bytes = 65536;
	for (size_t i = 0; i < sizeof(writers) / sizeof(writers[0]); i++) {
		write_file(scene->out, scene->data, 65536);
		played_writers = writers[i];
		rc = copy(scene, "p2pmem0", scene->out);
		/* How often the proof reads before it writes is a matter of chance. */
		assert_true(rc == (writers[i] == 1 ? 0 : -EBUSY) || (!rc && writers[i] < 1000));
		assert_int_equal(scene->result.bounced_bytes, 0);
	}
	assert_says(donard_error(scene->fake->ctx), "while another program wrote to it as well");
}

/* The kernel would end the process by a signal, in the middle. */
static void limit_of_file_size(void **state)
{
	struct scene *scene = *state;
	struct rlimit before, less = { 0 };

	write_file(scene->in, scene->data, 65536);
	write_file(scene->out, scene->data, 3 * REGION_BYTES);
	scene->options.dst_offset_bytes = 2 * REGION_BYTES;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	less.rlim_cur = 2 * REGION_BYTES;
	less.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
	assert_int_equal(copy(scene, scene->in, scene->out), -ENOSPC);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_says(donard_error(scene->fake->ctx), "ulimit -f");
	assert_file(scene->out, scene->data, 3 * REGION_BYTES);
}

static int played_flush, played_reservation;

int fsync(int fd)
{
	if (!played_flush)
		return (int)syscall(SYS_fsync, fd);
	errno = played_flush;
	return -1;
}

int fallocate(int fd, int mode, off_t offset, off_t length)
{
	if (!played_reservation || offset == INT64_MAX)
		return (int)syscall(SYS_fallocate, fd, mode, offset, length);
	errno = played_reservation;
	return -1;
}

/* A file system that is full, at each of the moments when that shows. */
static void no_room(void **state)
{
	struct scene *scene = *state;
	const struct donard_context *ctx = scene->fake->ctx;

	write_file(scene->in, scene->data, 65536);
	write_file(scene->out, scene->data + REGION_BYTES, 65536);
	played_refused_writes = ENOSPC;
	assert_int_equal(copy(scene, scene->in, scene->out), -ENOSPC);
	assert_string_equal(donard_error_code(ctx), "no-space");
	assert_says(donard_error(ctx), "No space left on device: its file system has ");
	assert_says(donard_error(ctx), " bytes left for this user");
	played_refused_writes = 0;
	assert_file(scene->out, scene->data + REGION_BYTES, 65536);
	unlink(scene->out);
	played_reservation = ENOSPC;
	assert_int_equal(copy(scene, scene->in, scene->out), -ENOSPC);
	assert_says(donard_error(ctx), "it needs 65536 bytes more, and its file system has ");
	assert_says(donard_error(ctx), "Nothing was changed. Make room, or choose another destination.");
	played_reservation = EDQUOT;
	assert_int_equal(copy(scene, scene->in, scene->out), -ENOSPC);
	assert_says(donard_error(ctx), "it needs 65536 bytes more, and the quota of its user, group or project is used up");
	played_reservation = 0;
	assert_int_equal(access(scene->out, F_OK), -1);
	played_flush = ENOSPC;
	assert_int_equal(copy(scene, scene->in, scene->out), -ENOSPC);
	assert_says(donard_error(ctx), "cannot be flushed (fsync): No space left on device. Any part of it may be lost: its file system has");
	played_flush = EIO;
	assert_int_equal(copy(scene, scene->in, scene->out), -EIO);
	assert_says(donard_error(ctx), "Any part of it may be lost: dmesg says what the drive or its file system reported. Mend that");
	played_flush = 0;
}

/* A container's filter refuses the reservation with the same errno as the file's attributes do. */
static void forbidden_reservation(void **state)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fallocate, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };
	struct scene *scene = *state;
	pid_t child;
	int status = 0, rc;

	needs_supported_file_system(scene->fake->files);
	write_file(scene->in, scene->data, 65536);
	child = fork();
	if (!child) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
			_exit(77);
		rc = donard_copy(scene->fake->ctx, scene->in, scene->out, &scene->options, &scene->result);
		_exit(rc != -EOPNOTSUPP || !strstr(donard_error(scene->fake->ctx), "a seccomp filter of this container or service "
						   "forbids fallocate (Operation not permitted). Let the filter allow it."));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
	assert_int_equal(access(scene->out, F_OK), -1);
}

static off_t played_cut_bytes;

static int cut_source(void *user, enum donard_phase phase, uint64_t done_bytes, uint64_t total_bytes)
{
	struct scene *scene = user;

	(void)phase, (void)done_bytes, (void)total_bytes;
	assert_int_equal(truncate(scene->in, played_cut_bytes), 0);
	return 0;
}

static void source_is_cut(void **state)
{
	struct scene *scene = *state;

	write_file(scene->in, scene->data, 300001);
	scene->options.queue_depth = 1;
	scene->options.progress_fn = cut_source;
	scene->options.progress_user = scene;
	played_cut_bytes = 100000;
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), -EBUSY);
	assert_says(donard_error(scene->fake->ctx), "another program cut it to 100000 bytes during the transfer, which goes to 300001");
	write_file(scene->in, scene->data, 65536 + 123);	/* the last, partial block */
	played_cut_bytes = 65536;
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), -EBUSY);
	assert_says(donard_error(scene->fake->ctx), "another program cut it to 65536 bytes during the transfer, which goes to 65659");
}

/* A medium that fails, a swap file: what refuses each write has overwritten nothing, and the route is not to blame. */
static void refused_writes(void **state)
{
	struct scene *scene = *state;
	const struct donard_context *ctx = scene->fake->ctx;
	uint8_t *old = scene->data + REGION_BYTES;

	write_file(scene->in, scene->data, 65536);
	write_file(scene->out, old, 65536);
	played_refused_writes = ENODATA;
	assert_int_equal(copy(scene, scene->in, scene->out), -EIO);
	assert_says(donard_error(ctx), "the route is not to blame; nothing was changed");
	assert_null(strstr(donard_error(ctx), "was overwritten"));
	played_refused_writes = ETXTBSY;
	assert_int_equal(copy(scene, scene->in, scene->out), -EBUSY);
	assert_says(donard_error(ctx), "it is swap space that is in use");
	assert_null(strstr(donard_error(ctx), "was overwritten"));
	assert_file(scene->out, old, 65536);
}

/* All writes by the route fail after the proof's: the block is restored from DRAM, or the failure says that it was not. */
static void refused_once_proven(void **state)
{
	struct scene *scene = *state;
	const struct donard_context *ctx = scene->fake->ctx;
	uint8_t *old = scene->data + REGION_BYTES;

	write_file(scene->in, scene->data, 65536);
	write_file(scene->out, old, 65536);
	played_refused_writes = EPERM;
	played_refused_turns = 2;
	assert_int_equal(copy(scene, scene->in, scene->out), -EPERM);
	assert_null(strstr(donard_error(ctx), "was overwritten"));
	assert_file(scene->out, old, 65536);
	played_refused_turns = ~1U;
	assert_int_equal(copy(scene, scene->in, scene->out), -EPERM);
	assert_says(donard_error(ctx), "A block of the file to be written was overwritten (offset 0), and could not be put back");
	assert_in_range(scene->result.overwritten_bytes, 512, 65536);
}

/* The file that another program writes to while the copy verifies its first chunk, and where. */
static const char *played_touched;

static int write_when_verifying(void *user, enum donard_phase phase, uint64_t done_bytes, uint64_t total_bytes)
{
	int fd;

	(void)user, (void)done_bytes, (void)total_bytes;
	if (phase != DONARD_PHASE_VERIFY || !played_touched)
		return 0;
	usleep(20000);	/* several ticks of the clock by which the file says when it was written */
	fd = open(played_touched, O_WRONLY);
	assert_int_equal(syscall(SYS_pwrite64, fd, "others' bytes", 13, 3L * REGION_BYTES / 2), 13);
	close(fd);
	played_touched = NULL;
	return 0;
}

/* Bytes that another program changed are not the drive's fault. */
static void others_write_meanwhile(void **state)
{
	struct scene *scene = *state;
	const struct donard_context *ctx = scene->fake->ctx;
	const char *const touched[] = { scene->out, scene->in };
	char says[256];

	scene->options.progress_fn = write_when_verifying;
	for (size_t i = 0; i < 2; i++) {
		write_file(scene->in, scene->data, 2 * REGION_BYTES);
		played_touched = touched[i];
		assert_int_equal(copy(scene, scene->in, scene->out), -EBADMSG);
		snprintf(says, sizeof(says), "Another program wrote to %s ", touched[i]);
		assert_says(donard_error(ctx), "offset 1572864 of the destination");
		assert_says(donard_error(ctx), says);
		assert_null(strstr(donard_error(ctx), "suspect"));
	}
}

/* A loop device would go on to show the old bytes of what a copy overwrites. */
static void below_a_loop_device(void **state)
{
	struct scene *scene = *state;
	const struct donard_context *ctx = scene->fake->ctx;

	write_file(scene->in, scene->data, 65536);
	write_file(scene->out, scene->data + REGION_BYTES, 65536);
	fake_file(scene->fake, "block/loop0/ro", "0");
	fake_file(scene->fake, "block/loop1/loop/backing_file", scene->in);
	fake_file(scene->fake, "block/loop7/loop/backing_file", scene->out);
	assert_int_equal(copy(scene, scene->in, scene->out), -EBUSY);
	assert_string_equal(donard_error_code(ctx), "mounted");
	assert_says(donard_error(ctx), "the loop device loop7 lies on it");
	assert_says(donard_error(ctx), "losetup -d /dev/loop7");
	assert_file(scene->out, scene->data + REGION_BYTES, 65536);
	assert_int_equal(copy(scene, scene->out, "p2pmem0"), 0);
	/* A name may have any bytes. */
	strcat(scene->out, "\xe4\t ");
	write_file(scene->out, scene->data + REGION_BYTES, 65536);
	fake_file(scene->fake, "block/loop7/loop/backing_file", scene->out);
	assert_int_equal(copy(scene, scene->in, scene->out), -EBUSY);
	assert_says(donard_error(ctx), "the loop device loop7 lies on it");
}

/* A user who may ask the loop device itself need not know its file's name. */
static void below_a_loop_device_without_a_name(void **state)
{
	struct scene *scene = *state;
	const struct donard_context *ctx = scene->fake->ctx;
	struct stat st;

	write_file(scene->in, scene->data, 65536);
	write_file(scene->out, scene->data + REGION_BYTES, 65536);
	assert_int_equal(stat(scene->out, &st), 0);
	fake_file(scene->fake, "block/loop7/loop/backing_file", "/elsewhere (deleted)");
	fake_file(scene->fake, "loop7", "");
	assert_int_equal(copy(scene, scene->in, scene->out), 0);
	played_loop.lo_device = (minor(st.st_dev) & 0xff) | major(st.st_dev) << 8 | (minor(st.st_dev) & ~0xffULL) << 12;
	played_loop.lo_inode = st.st_ino;
	assert_int_equal(copy(scene, scene->in, scene->out), -EBUSY);
	assert_says(donard_error(ctx), "the loop device loop7 lies on it");
	/* The name leads to another file by now. */
	played_loop.lo_inode++;
	fake_file(scene->fake, "block/loop7/loop/backing_file", scene->out);
	assert_int_equal(copy(scene, scene->in, scene->out), 0);
}

static int break_route(void *user, enum donard_phase phase, uint64_t done_bytes, uint64_t total_bytes)
{
	(void)user, (void)phase, (void)done_bytes, (void)total_bytes;
	played_failed_direct_reads = true;
	return 0;
}

/* The route is to blame if the proof of it failed, and the drive can be read otherwise. */
static void who_is_blamed(void **state)
{
	struct scene *scene = *state;
	const struct donard_context *ctx = scene->fake->ctx;

	write_file(scene->in, scene->data, 65536 + 123);
	played_failed_direct_reads = true;
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), -EIO);
	assert_says(donard_error(ctx), "read at offset 0 failed");
	assert_says(donard_error(ctx), "drops peer-to-peer traffic");
	assert_int_equal(copy(scene, "p2pmem0", scene->in), -EIO);
	assert_says(donard_error(ctx), "read at offset 0 failed");	/* of what the destination holds */
	scene->options.flags |= DONARD_COPY_ALLOW_BOUNCE;
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), 0);
	assert_int_equal(scene->result.route, DONARD_ROUTE_BOUNCED);
	assert_int_equal(scene->result.bounced_bytes, 65536 + 123);
	scene->options.flags &= ~DONARD_COPY_ALLOW_BOUNCE;
	played_failed_direct_reads = false;
	played_failed_reads = true;
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), -EIO);
	assert_says(donard_error(ctx), "DRAM cannot get the block either");
	assert_null(strstr(donard_error(ctx), "peer-to-peer"));
	played_failed_reads = false;
	scene->options.progress_fn = break_route;	/* once it was proven: the last block fails */
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), -EIO);
	assert_says(donard_error(ctx), "read at offset 65536 failed");
	assert_says(donard_error(ctx), "Blocks went this way before");
	assert_null(strstr(donard_error(ctx), "peer-to-peer"));
}

static char detached[256];

static void detach(void)
{
	unlink(detached);
}

static void namespace_is_detached(void **state)
{
	struct scene *scene = *state;

	write_file(scene->in, scene->data, 65536);
	snprintf(detached, sizeof(detached), "%s/block/nvme7n1", scene->fake->root);
	played_failed_reads = true;
	played_at_failure = detach;
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), -ENODEV);
	assert_string_equal(donard_error_code(scene->fake->ctx), "drive-gone");
	assert_says(donard_error(scene->fake->ctx), "the namespace of the drive went away");
	assert_says(donard_error(scene->fake->ctx), "its controller 0000:01:00.0 is still there");
}

static void the_region_that_went(void **state)
{
	struct scene *scene = *state;
	const char *const regions[] = { "p2pmem0", "p2pmem1" };
	char path[128];

	fake_region(scene->fake, "p2pmem1", "pci-bar", "0000:04:00.0");
	snprintf(path, sizeof(path), "%s/p2pmem1", scene->fake->root);
	write_file(path, NULL, REGION_BYTES);
	scene->options.length_bytes = 65536;
	for (size_t i = 0; i < 2; i++) {
		played_gone = regions[i];
		assert_int_equal(copy(scene, "p2pmem0", "p2pmem1"), -ENODEV);
		assert_string_equal(donard_error_code(scene->fake->ctx), "region-gone");
		assert_memory_equal(donard_error(scene->fake->ctx), regions[i], strlen(regions[i]));
	}
}

static void no_sysfs(void **state)
{
	struct scene *scene = *state;
	struct donard_config config = { .size = sizeof(config), .dev_root = scene->fake->root };
	struct donard_candidate_list *candidates;
	struct donard_region_list *regions;
	struct donard_client_list *clients;
	struct donard_gpu_list *gpus;
	struct donard_context *ctx;
	char empty[128];

	donard_close(scene->fake->ctx);
	snprintf(empty, sizeof(empty), "%s/empty", scene->fake->root);
	fake_folder(scene->fake, "empty");
	config.sysfs_root = empty;
	assert_int_equal(donard_open(&scene->fake->ctx, &config), 0);
	ctx = scene->fake->ctx;
	write_file(scene->in, scene->data, 65536);
	assert_int_equal(donard_region_list(ctx, &regions), -EOPNOTSUPP);
	assert_says(donard_error(ctx), "no sysfs is mounted there");
	assert_int_equal(donard_client_list(ctx, &clients), -EOPNOTSUPP);
	assert_int_equal(donard_candidate_list(ctx, &candidates), -EOPNOTSUPP);
	assert_int_equal(donard_gpu_list(ctx, &gpus), -EOPNOTSUPP);
	assert_int_equal(copy(scene, scene->in, "p2pmem0"), -EOPNOTSUPP);
	assert_says(donard_error(ctx), "no sysfs is mounted there");
	scene->options.flags = DONARD_COPY_FORCE_BOUNCE;	/* no module is asked for */
	assert_int_equal(copy(scene, scene->in, scene->out), -EOPNOTSUPP);
	assert_says(donard_error(ctx), "no sysfs is mounted there");
}

/* A container's runtime hides a folder by a tmpfs over it.  A link to another file system looks the same. */
static void hidden_sysfs(void **state)
{
	struct scene *scene = *state;
	const struct donard_context *ctx = scene->fake->ctx;
	const char *const folders[] = { "class", "block", "dev/block" };
	char folder[128], aside[136], says[192], empty[] = "/dev/shm/donard-unit-XXXXXX";
	struct donard_region_list *regions;
	struct donard_client_list *clients;
	struct stat here, there;

	write_file(scene->in, scene->data, 65536);
	if (!mkdtemp(empty) || stat(scene->fake->root, &here) || stat(empty, &there) || here.st_dev == there.st_dev)
		skip();
	scene->options.flags = DONARD_COPY_FORCE_BOUNCE;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(folder, sizeof(folder), "%s/%s", scene->fake->root, folders[i]);
		snprintf(aside, sizeof(aside), "%s.aside", folder);
		snprintf(says, sizeof(says), "%s: another file system is mounted over it, as containers hide parts of sysfs", folder);
		assert_int_equal(rename(folder, aside), 0);
		assert_int_equal(symlink(empty, folder), 0);
		assert_int_equal(copy(scene, scene->in, scene->out), -EOPNOTSUPP);
		assert_says(donard_error(ctx), says);
		if (!i) {
			assert_int_equal(donard_region_list(scene->fake->ctx, &regions), -EOPNOTSUPP);
			assert_says(donard_error(ctx), says);
			assert_int_equal(donard_client_list(scene->fake->ctx, &clients), -EOPNOTSUPP);
			assert_says(donard_error(ctx), says);
			assert_int_equal(copy(scene, scene->in, "p2pmem0"), -EOPNOTSUPP);
			assert_says(donard_error(ctx), says);
		}
		unlink(folder);
		assert_int_equal(rename(aside, folder), 0);
		assert_int_equal(copy(scene, scene->in, scene->out), 0);
	}
	rmdir(empty);
}

static void assert_of_descriptors(const struct donard_context *ctx, int rc)
{
	assert_int_equal(rc, -EMFILE);
	assert_says(donard_error(ctx), "Too many open files");
	assert_says(donard_error(ctx), "ulimit -n");
}

/* Allows one descriptor more each time: each failure says what could not be opened, and no list is silently shortened. */
static void few_descriptors(void **state)
{
	struct scene *scene = *state;
	struct donard_context *ctx = scene->fake->ctx;
	struct donard_region_list *regions;
	struct donard_client_list *clients;
	struct rlimit before, few;
	unsigned int failures = 0;
	int first = dup(0), rc = -1;

	close(first);
	write_file(scene->in, scene->data, 65536);
	assert_int_equal(copy(scene, scene->in, scene->out), 0);	/* or skipped */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	for (few = before, few.rlim_cur = (rlim_t)first; rc; few.rlim_cur++) {
		setrlimit(RLIMIT_NOFILE, &few);
		rc = donard_region_list(ctx, &regions);
		if (rc < 0)
			assert_of_descriptors(ctx, rc);
		else
			donard_region_list_free(regions);
		assert_true(rc < 0 || rc == 1);
		rc = donard_client_list(ctx, &clients);
		if (rc < 0)
			assert_of_descriptors(ctx, rc);
		else
			donard_client_list_free(clients);
		assert_true(rc < 0 || rc == 1);
		rc = donard_copy(ctx, scene->in, scene->out, &scene->options, &scene->result);
		if (rc)
			assert_of_descriptors(ctx, rc);
		failures += rc != 0;
	}
	setrlimit(RLIMIT_NOFILE, &before);
	assert_true(failures >= 4);
}

/* No copy leaves out the proof of its route, with its blocks in the region, for want of a descriptor. */
static void few_descriptors_for_the_proof(void **state)
{
	struct scene *scene = *state;
	struct rlimit before, few;
	unsigned int failures = 0;
	int first = dup(0), rc = -1;

	close(first);
	write_file(scene->out, scene->data, 65536);
	scene->options.length_bytes = 65536;
	assert_int_equal(copy(scene, "p2pmem0", scene->out), 0);	/* or skipped */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	for (few = before, few.rlim_cur = (rlim_t)first; rc; few.rlim_cur++) {
		setrlimit(RLIMIT_NOFILE, &few);
		rc = donard_copy(scene->fake->ctx, "p2pmem0", scene->out, &scene->options, &scene->result);
		if (rc)
			assert_of_descriptors(scene->fake->ctx, rc);
		failures += rc != 0;
	}
	setrlimit(RLIMIT_NOFILE, &before);
	assert_true(failures >= 3);
	assert_int_equal(scene->result.route_evidence, DONARD_EVIDENCE_PROVEN);
}

static void dangling_links(void **state)
{
	struct scene *scene = *state;
	const struct donard_context *ctx = scene->fake->ctx;
	char path[192];

	snprintf(path, sizeof(path), "%s/link", scene->fake->files);
	assert_int_equal(symlink("/nowhere", path), 0);
	assert_int_equal(copy(scene, path, "p2pmem0"), -ENOENT);
	assert_says(donard_error(ctx), "it is a link to");
	assert_says(donard_error(ctx), "/nowhere, which does not exist");
	assert_int_equal(copy(scene, "p2pmem0", path), -ENOENT);
	assert_says(donard_error(ctx), "/nowhere, which does not exist");
	snprintf(path, sizeof(path), "%s/link/file", scene->fake->files);
	assert_int_equal(copy(scene, "p2pmem0", path), -ENOENT);
	assert_says(donard_error(ctx), "/nowhere, which does not exist");
}

/* A name below /dev is a drive's, and never a new file's. */
static bool played_immutable;

static int make_immutable(void *user, enum donard_phase phase, uint64_t done_bytes, uint64_t total_bytes)
{
	struct scene *scene = user;
	int folder = open(scene->fake->files, O_RDONLY | O_DIRECTORY), flags = 0;

	(void)phase, (void)done_bytes, (void)total_bytes;
	if (!syscall(SYS_ioctl, folder, FS_IOC_GETFLAGS, &flags)) {
		flags |= FS_IMMUTABLE_FL;
		played_immutable = !syscall(SYS_ioctl, folder, FS_IOC_SETFLAGS, &flags);
	}
	close(folder);
	return 0;
}

static void undo_immutable(struct scene *scene)
{
	int folder = open(scene->fake->files, O_RDONLY | O_DIRECTORY), flags = 0;

	assert_int_equal(syscall(SYS_ioctl, folder, FS_IOC_GETFLAGS, &flags), 0);
	flags &= ~FS_IMMUTABLE_FL;
	assert_int_equal(syscall(SYS_ioctl, folder, FS_IOC_SETFLAGS, &flags), 0);
	close(folder);
}

/* The new file has no name yet, and gets none. */
static void folder_becomes_immutable(void **state)
{
	struct scene *scene = *state;
	int rc;

	write_file(scene->in, scene->data, 65536);
	scene->options.progress_fn = make_immutable;
	scene->options.progress_user = scene;
	rc = copy(scene, scene->in, scene->out);
	if (!played_immutable)
		skip();	/* only root may */
	undo_immutable(scene);
	assert_int_equal(rc, -EACCES);
	assert_says(donard_error(scene->fake->ctx), "it is immutable. Take that from it (chattr -i)");
	assert_says(donard_error(scene->fake->ctx), "Its folder was changed meanwhile, and all that was written is gone.");
	assert_int_equal(access(scene->out, F_OK), -1);
}

static bool played_no_proc, played_old_kernel;

/* Before Linux 6.10 an ordinary user's program names an open file only by its link in /proc. */
int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
	char self[64];

	errno = strcmp(to, "/") ? ENOENT : EEXIST;
	if (!(flags & AT_EMPTY_PATH))
		return played_no_proc ? -1 : (int)syscall(SYS_linkat, from_fd, from, to_fd, to, flags);
	if (played_old_kernel)
		errno = ENOENT;
	if (played_old_kernel || errno == EEXIST)
		return -1;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", from_fd);
	return (int)syscall(SYS_linkat, AT_FDCWD, self, to_fd, to, AT_SYMLINK_FOLLOW);
}

int stat(const char *path, struct stat *st)
{
	if (!played_no_proc || strncmp(path, "/proc/", 6))
		return fstatat(AT_FDCWD, path, st, 0);
	errno = ENOENT;
	return -1;
}

static int lose_proc(void *user, enum donard_phase phase, uint64_t done_bytes, uint64_t total_bytes)
{
	(void)user, (void)phase, (void)done_bytes, (void)total_bytes;
	played_no_proc = true;
	return 0;
}

/* A new file that could not get its name in the end is refused before the first byte, and the folder is not blamed. */
static void new_file_without_proc(void **state)
{
	struct scene *scene = *state;
	const char *code = "unsupported", *says = "only by way of /proc, which it does not see. Mount it (mount -t proc proc /proc)";

	write_file(scene->in, scene->data, 65536);
	scene->options.progress_fn = lose_proc;
	assert_int_equal(copy(scene, scene->in, scene->out), 0);	/* by the descriptor alone */
	unlink(scene->out);
	played_old_kernel = true;
	dram_transfers = 0;
	assert_int_equal(copy(scene, scene->in, scene->out), -EOPNOTSUPP);
	assert_string_equal(donard_error_code(scene->fake->ctx), code);
	assert_says(donard_error(scene->fake->ctx), says);
	assert_int_equal(scene->result.bytes, 0);
	assert_int_equal(dram_transfers, 0);
	played_no_proc = false;
	assert_int_equal(copy(scene, scene->in, scene->out), -EOPNOTSUPP);	/* it goes away meanwhile */
	assert_says(donard_error(scene->fake->ctx), says);
	assert_int_equal(access(scene->out, F_OK), -1);
	played_no_proc = false;
	scene->options.progress_fn = NULL;
	assert_int_equal(copy(scene, scene->in, scene->out), 0);
	played_no_proc = true;
	assert_int_equal(copy(scene, scene->in, scene->out), 0);	/* it has a name */
	played_no_proc = played_old_kernel = false;
	assert_file(scene->out, scene->data, 65536);
}

/* A container's node may have a number that is another drive's by now. */
static void stale_nodes(void **state)
{
	struct fake *fake = ((struct scene *)*state)->fake;
	char path[256], by_id[256], other[256], says[512];

	fake_file(fake, "nvme9n1", "");
	fake_file(fake, "disk/nvme9n1", "");
	fake_file(fake, "class/block/nvme9n1/dev", "259:9");
	fake_link(fake, "dev/block/259:3", "block/nvme3n1");
	fake_link(fake, "disk/id", "nvme9n1");
	snprintf(path, sizeof(path), "%s/nvme9n1", fake->root);
	snprintf(by_id, sizeof(by_id), "%s/disk/id", fake->root);
	snprintf(other, sizeof(other), "%s/disk/nvme9n1", fake->root);
	assert_false(dnd_node_is_stale(fake->root, fake->root, path, makedev(259, 9), says, sizeof(says)));
	assert_true(dnd_node_is_stale(fake->root, fake->root, path, makedev(259, 3), says, sizeof(says)));
	assert_says(says, "/nvme9n1: its node leads to nvme3n1, and not to nvme9n1. Give this container the node by a name");
	assert_true(dnd_node_is_stale(fake->root, fake->root, by_id, makedev(259, 4), says, sizeof(says)));
	assert_says(says, "/disk/id: its node leads to block device 259:4, and not to nvme9n1.");
	assert_false(dnd_node_is_stale(fake->root, fake->root, other, makedev(259, 3), says, sizeof(says)));
}

static void missing_nodes(void **state)
{
	struct scene *scene = *state;
	const struct donard_context *ctx = scene->fake->ctx;
	const char *const unknown[] = { "nvme9n1", "mapper/vg-lv", "no/such/nvme7n1x", "mapper/../nvme9n1" };
	char path[256], says[512];

	write_file(scene->in, scene->data, 65536);
	fake_folder(scene->fake, "mapper");
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", scene->fake->root, unknown[i]);
		snprintf(says, sizeof(says), "%s: there is no such device, and no file is made below /dev.", path);
		assert_int_equal(copy(scene, scene->in, path), -ENODEV);
		assert_says(donard_error(ctx), says);
		assert_int_equal(copy(scene, path, "p2pmem0"), -ENOENT);
		assert_says(donard_error(ctx), says);
		assert_int_equal(access(path, F_OK), -1);
	}
	fake_file(scene->fake, "class/block/nvme9n1/dev", "259:9");
	fake_file(scene->fake, "block/dm-3/dm/name", "vg-lv");
	fake_file(scene->fake, "block/dm-3/dev", "252:3");
	snprintf(path, sizeof(path), "%s/nvme9n1", scene->fake->root);
	assert_int_equal(copy(scene, path, "p2pmem0"), -ENOENT);
	assert_says(donard_error(ctx), "the kernel has this device (nvme9n1), but there is no node of it. Have udev make it");
	snprintf(says, sizeof(says), "make it (mknod %s b 259 9), or give it to this container", path);
	assert_says(donard_error(ctx), says);
	assert_int_equal(copy(scene, scene->in, path), -ENODEV);
	assert_says(donard_error(ctx), says);
	snprintf(path, sizeof(path), "%s/mapper/vg-lv", scene->fake->root);
	assert_int_equal(copy(scene, scene->in, path), -ENODEV);
	assert_says(donard_error(ctx), "the kernel has this device (dm-3), but there is no node of it");
	assert_says(donard_error(ctx), "vg-lv b 252 3)");
}

/* New names below /dev, by way of links, too; /dev/shm is for files. */
static void names_below_dev(void **state)
{
	struct scene *scene = *state;
	const char *root = scene->fake->root;
	char path[256], target[256];

	fake_folder(scene->fake, "shm/more");
	snprintf(path, sizeof(path), "%s/shm/more/file", root);
	assert_false(dnd_new_below_dev(root, path));
	snprintf(path, sizeof(path), "%s/shm", root);
	assert_true(dnd_new_below_dev(root, path));
	snprintf(path, sizeof(path), "%s-more/file", root);
	assert_false(dnd_new_below_dev(root, path));
	assert_false(dnd_new_below_dev(root, "file"));
	assert_false(dnd_new_below_dev(root, "/file"));
	snprintf(path, sizeof(path), "%s/link", scene->fake->files);
	snprintf(target, sizeof(target), "%s/nvme9n1", root);
	assert_int_equal(symlink(target, path), 0);
	assert_true(dnd_new_below_dev(root, path));
	assert_int_equal(unlink(path), 0);
	snprintf(target, sizeof(target), "../%s/no/such", strrchr(root, '/') + 1);
	assert_int_equal(symlink(target, path), 0);
	assert_true(dnd_new_below_dev(root, path));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("link", path), 0);	/* has no end */
	assert_false(dnd_new_below_dev(root, path));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink(root, path), 0);
	strcat(path, "/file");
	assert_true(dnd_new_below_dev(root, path));
}

/* A path is up to 4095 bytes long, and a failure's text 1023: cause and remedy come before the whole of the name. */
static void long_paths(void **state)
{
	struct scene *scene = *state;
	const struct donard_context *ctx = scene->fake->ctx;
	char path[4000], folder[200];
	size_t used = (size_t)snprintf(path, sizeof(path), "%s", scene->fake->files);

	memset(folder, 'f', sizeof(folder));
	while (used + 300 < sizeof(path))
		used += (size_t)snprintf(path + used, sizeof(path) - used, "/%.*s", 199, folder);
	snprintf(path + used, sizeof(path) - used, "/\n\n\nname");
	assert_int_equal(copy(scene, path, "p2pmem0"), -ENOENT);
	assert_memory_equal(donard_error(ctx), path, 20);
	assert_says(donard_error(ctx), "\\x0aname: there is no such file or device. donard_client_list() shows the drives.");
	assert_int_equal(copy(scene, "p2pmem0", path), -ENOENT);
	assert_says(donard_error(ctx), "\\x0aname: cannot be created: there is no folder ");
	assert_says(donard_error(ctx), "fff. Make it first (mkdir -p), or use another folder.");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(first_block_changes), CASE(destination_changes), CASE(limit_of_file_size), CASE(source_is_cut), CASE(refused_writes),
		CASE(refused_once_proven), CASE(others_write_meanwhile), CASE(below_a_loop_device), CASE(below_a_loop_device_without_a_name),
		CASE(no_room),
		CASE(forbidden_reservation), CASE(who_is_blamed),
		CASE(namespace_is_detached), CASE(the_region_that_went), CASE(no_sysfs), CASE(hidden_sysfs), CASE(few_descriptors),
		CASE(few_descriptors_for_the_proof),
		CASE(dangling_links), CASE(folder_becomes_immutable), CASE(new_file_without_proc), CASE(stale_nodes), CASE(missing_nodes), CASE(names_below_dev),
		CASE(long_paths),
	};

	return cmocka_run_group_tests_name("copy_causes", tests, NULL, NULL);
}
