// SPDX-License-Identifier: Apache-2.0
/*
 * See files.h.  The program may close its descriptor, or may have opened the file in a way
 * that donard cannot use: without O_DIRECT, or only for writing, while the proof of a route
 * has to read.  So each file is opened once more.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "donard/file.h"

#include "cufile/codes.h"
#include "cufile/denied.h"
#include "cufile/driver.h"
#include "cufile/files.h"
#include "cufile/log.h"
#include "cufile/map.h"
#include "cufile/settings.h"

static struct cuf_map files;	/* under the home's lock */
static uint64_t last_handle;

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void cuf_file_free(struct cuf_file *file)
{
	if (!file)
		return;
	close_fd(file->direct_fd);
	close_fd(file->plain_fd);
	close_fd(file->claim_fd);
	cuf_inode_put(file->lock);
	free(file->name);
	free(file);
}

struct cuf_file *cuf_file_find(uint64_t handle)
{
	return handle ? cuf_map_get(&files, handle) : NULL;
}

struct cuf_file *cuf_file_take(uint64_t handle)
{
	struct cuf_file *file;

	cuf_home_lock();
	file = handle ? cuf_map_take(&files, handle) : NULL;
	cuf_home_unlock();
	return file;
}

bool cuf_file_has_reached(const struct cuf_file *file, bool writes, const void *context)
{
	void *const *gpus = file->gpus[writes];

	for (unsigned int i = 0; i < CUF_FILE_GPUS; i++)
		if (__atomic_load_n(&gpus[i], __ATOMIC_RELAXED) == context)
			return context;
	return false;
}

void cuf_file_note_reached(struct cuf_file *file, bool writes, void *context)
{
	void **gpus = file->gpus[writes], *none = NULL;

	for (unsigned int i = 0; i < CUF_FILE_GPUS; i++, none = NULL)
		if (__atomic_load_n(&gpus[i], __ATOMIC_RELAXED) == context ||
		    __atomic_compare_exchange_n(&gpus[i], &none, context, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
		    none == context)
			return;
}

void cuf_files_end(void)
{
	cuf_home_lock();
	for (size_t i = 0; i < files.room; i++)
		if (files.entries[i].key)
			cuf_file_free(files.entries[i].value);
	cuf_map_free(&files);
	cuf_home_unlock();
}

/* ---- registration ---- */

/* The part of the file that stays: a write that is under way may cut off a block at most.  A drive keeps its size. */
static uint64_t settled_of(const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return UINT64_MAX;
	return st->st_size > CUF_BLOCK_BYTES_MAX ? (uint64_t)st->st_size - CUF_BLOCK_BYTES_MAX : 0;
}

/* Returns the file's path; "" without /proc, or if the path is longer than the kernel reports; NULL without memory. */
static char *name_of(int fd)
{
	char path[64], name[PATH_MAX];
	ssize_t bytes;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	bytes = readlink(path, name, sizeof(name));
	return strndup(name, bytes > 0 ? (size_t)bytes : 0);
}

static int take_type(struct cuf_file *file, int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return CUF_INVALID_VALUE;
	file->name = name_of(fd);
	if (!file->name)
		return CUF_INTERNAL_ERROR;
	file->is_regular = S_ISREG(st.st_mode);
	file->device = file->is_regular ? st.st_dev : st.st_rdev;
	file->inode = file->is_regular ? st.st_ino : 0;
	file->settled = settled_of(&st);
	if (file->is_regular || S_ISBLK(st.st_mode))
		return 0;
	cuf_log(CUF_LOG_ERROR, "%s is neither a regular file nor a block device", file->name);
	return CUF_INVALID_FILE_TYPE;
}

/* O_APPEND is refused, because such writes would not go to the offset that the call names. */
static int take_flags(struct cuf_file *file, int fd)
{
	int flags = fcntl(fd, F_GETFL), access_mode = flags & O_ACCMODE;

	if (flags < 0 || flags & (O_APPEND | O_PATH)) {
		cuf_log(CUF_LOG_ERROR, "%s was opened with %s: open it without", file->name,
			flags & O_PATH ? "O_PATH, and cannot be read" : "O_APPEND, by which each write goes to its end");
		return CUF_INVALID_FILE_OPEN_FLAG;
	}
	file->readable = access_mode != O_WRONLY;
	file->writable = access_mode != O_RDONLY;
	file->durable = flags & O_DSYNC;
	return 0;
}

/* Opens the file again by /proc, so that position and flags are our own; returns a descriptor or -errno. */
static int open_again(int fd, int flags)
{
	char path[64];
	int again;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, flags | O_CLOEXEC);
	return again < 0 ? -errno : again;
}

static int duplicate(int fd)
{
	int other = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	return other < 0 ? -errno : other;
}

/* A duplicate with O_DIRECT would not lead through the page cache: the file is left without compatibility mode. */
static int open_plain(struct cuf_file *file, int fd)
{
	int mode = !file->writable ? O_RDONLY : !file->readable ? O_WRONLY : O_RDWR;
	bool is_direct = fcntl(fd, F_GETFL) & O_DIRECT;

	file->plain_fd = open_again(fd, mode | (file->durable ? O_DSYNC : 0));
	if (file->plain_fd < 0 && !is_direct)
		file->plain_fd = duplicate(fd);
	if (file->plain_fd >= 0 || (is_direct && !cuf_is_passing(file->plain_fd)))
		return 0;
	cuf_log(CUF_LOG_ERROR, "%s cannot be opened once more: %s", file->name, strerror(-file->plain_fd));
	return CUF_GETNEWFD_FAILED;
}

/* Returns 0 or -errno. */
static int open_direct(struct cuf_file *file, int fd)
{
	int flags = fcntl(fd, F_GETFL);
	int again = open_again(fd, O_DIRECT | (file->writable ? O_RDWR : O_RDONLY));

	if (again < 0 && flags & O_DIRECT && (flags & O_ACCMODE) != O_WRONLY)
		again = duplicate(fd);
	file->direct_fd = again;
	return again < 0 ? again : 0;
}

/* Can donard read and write the file directly?  Returns 0, or -errno with the context's text. */
static int ask_donard(struct donard_context *ctx, struct cuf_file *file)
{
	struct donard_file_info info = { .size = sizeof(info) };
	struct donard_file *adopted;
	int rc = donard_file_adopt(ctx, file->direct_fd, &adopted);

	if (rc) {
		cuf_log(CUF_LOG_ERROR, "%s cannot be registered: %s", file->name, donard_error(ctx));
		return rc;
	}
	donard_file_info(adopted, &info);
	if (info.bounces[0]) {
		cuf_log(CUF_LOG_ERROR, "%s cannot be registered: its bytes would go through DRAM: %s", file->name,
			info.bounces);
		rc = -EOPNOTSUPP;
	}
	if (!rc && file->durable && info.not_flushed[0])
		cuf_log(CUF_LOG_NOTICE, "%s: a write may return before its bytes are durable, although it was opened with O_SYNC "
			"or O_DSYNC: %s", file->name, info.not_flushed);
	file->align = info.align_bytes;
	file->memory_align = info.memory_align_bytes;
	donard_file_close(adopted);
	return rc;
}

/* If descriptors are lacking, the result of ask_donard() says nothing about the file. */
static bool lacks_descriptors(int fd)
{
	int one = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	close_fd(one);
	return one < 0;
}

static int try_direct(struct donard_context *ctx, struct cuf_file *file, int fd)
{
	int rc = open_direct(file, fd);

	if (rc)
		cuf_log(CUF_LOG_ERROR, "%s cannot be opened once more with O_DIRECT: %s", file->name,
			strerror(-rc));
	if (rc)
		return rc == -EINVAL ? -EOPNOTSUPP : rc;
	/*
	 * This comes before donard examines the drive.  The engines' own claims end with their threads, so they do not serve.
	 */
	if (!file->is_regular && file->writable)
		rc = cuf_inode_claim(file->lock, fd, &file->claim_fd);
	if (rc)
		cuf_log(CUF_LOG_ERROR, "%s cannot be claimed: %s", file->name, strerror(-rc));
	else
		rc = ask_donard(ctx, file);
	return rc && lacks_descriptors(fd) ? -EMFILE : rc;
}

static int only_compat(struct cuf_file *file)
{
	if (file->plain_fd < 0)
		return cuf_code_of_file(file->plain_fd);
	close_fd(file->direct_fd);
	file->direct_fd = -1;
	file->align = file->memory_align = 0;
	cuf_log(CUF_LOG_NOTICE, "%s: compatibility mode, which is allowed: its bytes go through DRAM", file->name);
	return 0;
}

/*
 * May the file fall back to compatibility mode?  Not after a transient failure, nor if a write would do harm, as to a mounted
 * drive. So a drive that will be written falls back only after a refusal that comes when donard has checked whether the drive
 * is in use.  A lack of permission may come before that check.  For a regular file in forced compatibility mode, donard is not
 * asked at all.
 */
static bool may_fall_back(const struct cuf_file *file, int failure)
{
	if (cuf_is_unsupported(failure))
		return cuf_flag(CUF_FLAG_ALLOW_COMPAT) || cuf_flag(CUF_FLAG_FORCE_COMPAT);
	return cuf_flag(CUF_FLAG_ALLOW_COMPAT) && (file->is_regular || !file->writable) &&
	       (failure == -EACCES || failure == -EPERM);
}

/*
 * Can the file be used without asking donard?  Not a drive that will be written: donard has to check that no other user has it.
 */
static bool needs_no_word(const struct cuf_file *file)
{
	return cuf_flag(CUF_FLAG_FORCE_COMPAT) && (file->is_regular || !file->writable);
}

static int find_way(struct donard_context *ctx, struct cuf_file *file, int fd)
{
	int rc = cuf_denied(file, fd);

	if (!rc)
		rc = open_plain(file, fd);
	if (rc)
		return rc;
	if (file->plain_fd < 0 && (cuf_flag(CUF_FLAG_ALLOW_COMPAT) || cuf_flag(CUF_FLAG_FORCE_COMPAT)))
		cuf_log(CUF_LOG_NOTICE, "%s cannot be opened once more without O_DIRECT, which compatibility mode would need: %s",
			file->name, strerror(-file->plain_fd));
	if (needs_no_word(file))
		return only_compat(file);
	rc = try_direct(ctx, file, fd);
	if (!rc)
		return cuf_flag(CUF_FLAG_FORCE_COMPAT) ? only_compat(file) : 0;
	return may_fall_back(file, rc) ? only_compat(file) : cuf_code_of_file(rc);
}

/* Compares the file as well, because the same descriptor number may be another file by now. */
static bool is_registered(const struct cuf_file *new)
{
	for (size_t i = 0; i < files.room; i++) {
		const struct cuf_file *file = files.entries[i].value;

		if (files.entries[i].key && file->program_fd == new->program_fd &&
		    file->device == new->device && file->inode == new->inode)
			return true;
	}
	return false;
}

static uint64_t cache_unit(int fd)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct statfs fs;

	return fstatfs(fd, &fs) || (uint64_t)fs.f_bsize < page ? page : (uint64_t)fs.f_bsize;
}

static int add(struct donard_context *ctx, struct cuf_file *file, int fd)
{
	int rc = take_type(file, fd);

	if (!rc)
		rc = take_flags(file, fd);
	if (!rc && is_registered(file)) {
		cuf_log(CUF_LOG_ERROR, "%s is registered by descriptor %d: use that handle, or deregister it first", file->name, fd);
		rc = CUF_HANDLE_ALREADY_REGISTERED;
	}
	if (!rc)
		file->lock = cuf_inode_get(file->device, file->inode, cache_unit(fd));
	if (!rc && !file->lock)
		rc = CUF_INTERNAL_ERROR;
	if (!rc)
		rc = find_way(ctx, file, fd);
	if (rc)
		return rc;
	file->handle = ++last_handle;
	return cuf_map_put(&files, file->handle, file) ? CUF_INTERNAL_ERROR : 0;
}

int cuf_file_register(int fd, uint64_t *handle)
{
	struct cuf_file *file = calloc(1, sizeof(*file));
	int rc;

	if (!file)
		return CUF_INTERNAL_ERROR;
	file->program_fd = fd;
	file->direct_fd = file->plain_fd = file->claim_fd = -1;
	rc = add(cuf_home_lock(), file, fd);
	*handle = file->handle;
	cuf_home_unlock();
	if (rc)
		cuf_file_free(file);
	return rc;
}
