/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What base offers to all other parts of the library: the context, errors, sysfs,
 * the clock, PCI addresses, random bytes.
 * It knows nothing about regions, drives or copies.
 */
#ifndef DND_BASE_H
#define DND_BASE_H

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <sys/types.h>

#include "base/bdf.h"
#include "base/clock.h"
#include "base/failure.h"
#include "base/handle.h"
#include "base/maplimit.h"
#include "base/nodes.h"
#include "base/pcibar.h"
#include "base/pciconfig.h"
#include "base/rights.h"
#include "base/sized.h"
#include "base/thread.h"
#include "base/uring_refused.h"
#include "donard/donard.h"

#define DND_PUBLIC	__attribute__((visibility("default")))

/* How often a read of sysfs failed for lack of descriptors or memory; and the errno and path of the last failure. */
struct dnd_unread {
	unsigned int count;
	int error_number;
	char path[PATH_MAX / 2];
};

struct donard_context {
	char sysfs_root[PATH_MAX / 2];
	char dev_root[PATH_MAX / 2];
	struct dnd_failure failure;
	struct dnd_unread *unread;	/* owned; a pointer, so that functions with a const context can update it */
};

/* Each sets the context's error code and text, and returns the negative errno. */
int dnd_fail(struct donard_context *ctx, enum dnd_error error, const char *format, ...)
	DND_PRINTF(3, 4);
/* The same for an argument that is refused: each check of a member's range, alignment or size says which, and the numbers. */
int dnd_fail_member(struct donard_context *ctx, enum dnd_error error, struct dnd_fault fault, const char *format, ...)
	DND_PRINTF(4, 5);
int dnd_fail_errno(struct donard_context *ctx, int error_number, const char *format, ...)
	DND_PRINTF(3, 4);
/* Like dnd_fail_errno(), and appends @remedy if the errno is EACCES or EPERM. */
int dnd_fail_access(struct donard_context *ctx, int error_number, const char *remedy,
		    const char *format, ...) DND_PRINTF(4, 5);
#define DND_ROOT_ONLY	"Only root may add, remove and change regions (CAP_SYS_RAWIO)"
/* Appends to the text of the last failure; its code stays. */
void dnd_fail_more(struct donard_context *ctx, const char *format, ...) DND_PRINTF(2, 3);
int dnd_fail_memory(struct donard_context *ctx);
/*
 * Fails because setting up io_uring failed with @error_number.  If that is a refusal, the text says what refuses it,
 * and why Linux AIO cannot take its place.  @commands: the caller sends NVMe commands, which need io_uring.
 */
int dnd_fail_uring(struct donard_context *ctx, int error_number, bool commands);
/* Is @error the last failure? */
bool dnd_failed_with(const struct donard_context *ctx, enum dnd_error error);
/*
 * An optional attempt, or the undoing of work after a failure, may itself fail, and the caller
 * is not to see that failure: keep the present failure before it, and put it back afterwards.
 */
struct dnd_failure dnd_failure_keep(const struct donard_context *ctx);
void dnd_failure_put_back(struct donard_context *ctx, const struct dnd_failure *kept);

/* struct.c: take and check structures of callers as sized.h does, and set a text on failure. */
int dnd_struct_take(struct donard_context *ctx, void *to, size_t known, const void *from,
		    const char *name);
int dnd_struct_check(struct donard_context *ctx, const void *caller, const char *name);
#define DND_TAKE(ctx, to, from, name) dnd_struct_take(ctx, to, sizeof(*(to)), from, name)

/*
 * sysfs.c: paths are below sysfs_root.  Values have no newline at the end, and are made printable
 * (printable.h), because devices and processes choose some of them.
 */
int dnd_sysfs_path(const struct donard_context *ctx, char path[PATH_MAX], const char *format, ...)
	DND_PRINTF(3, 4);
int dnd_sysfs_read(const struct donard_context *ctx, char *value, size_t value_bytes,
		   const char *format, ...) DND_PRINTF(4, 5);
/* Reads a file of several lines: newlines and tabs between them stay. */
int dnd_sysfs_lines(const struct donard_context *ctx, char *lines, size_t lines_bytes,
		    const char *format, ...) DND_PRINTF(4, 5);
/* Reads the name of a file, which may have any bytes: drops the newline that the kernel adds, and changes nothing else. */
int dnd_sysfs_file_name(const struct donard_context *ctx, char *value, size_t value_bytes,
			const char *format, ...) DND_PRINTF(4, 5);
int dnd_sysfs_read_u64(const struct donard_context *ctx, uint64_t *value, const char *format, ...)
	DND_PRINTF(3, 4);
/* Reads the configuration space of a PCI function. */
int dnd_sysfs_config(const struct donard_context *ctx, const char *bdf, struct dnd_config *config);
int dnd_sysfs_write(const struct donard_context *ctx, const char *value, const char *format, ...)
	DND_PRINTF(3, 4);
/* Fails because a write to sysfs failed.  The text says whether root is needed, or sysfs is mounted read-only. */
int dnd_fail_sysfs_write(struct donard_context *ctx, int error_number, const char *format, ...)
	DND_PRINTF(3, 4);
bool dnd_sysfs_exists(const struct donard_context *ctx, const char *format, ...)
	DND_PRINTF(2, 3);
/*
 * Finds the PCI function of a device: the device itself, or the nearest one above it, because a subfunction of a NIC is an
 * auxiliary device below the NIC.  Returns -ENODEV if there is none.
 */
int dnd_sysfs_function(const struct donard_context *ctx, char bdf[DONARD_BDF_BYTES], const char *format, ...)
	DND_PRINTF(3, 4);
/* The last component of the path that the link resolves to. */
int dnd_sysfs_link_name(const struct donard_context *ctx, char *name, size_t name_bytes,
			const char *format, ...) DND_PRINTF(4, 5);
/*
 * A value that seems absent may exist: the read of it may have failed for lack of descriptors or memory.  A caller that
 * draws conclusions from absent values takes the count before it reads, and returns what dnd_sysfs_check() returns:
 * the failure of the last such read since then, or @rc with its text if there was none.
 */
unsigned int dnd_sysfs_unread(const struct donard_context *ctx);
int dnd_sysfs_check(struct donard_context *ctx, unsigned int before, int rc);
/* Records @rc, the result of reading @path, if descriptors or memory were lacking; returns @rc. */
int dnd_sysfs_note(const struct donard_context *ctx, const char *path, int rc);
/* For a @path that seems absent: fails if no sysfs is mounted, or if another file system hides that part of it; else 0. */
int dnd_require_sysfs(struct donard_context *ctx, const char *path);
/*
 * Calls @each for every entry, in the order of dnd_folder_each() (files.h).  A missing folder
 * counts as empty if nothing hides it.  Fails with a text if the folder cannot be read.
 */
int dnd_for_each_entry(struct donard_context *ctx, const char *folder,
		       int (*each)(struct donard_context *ctx, const char *entry, void *data),
		       void *data);

/* nonce.c: bytes that nobody can predict */
void dnd_nonce(void *dram, size_t bytes);

/*
 * dmabuf.c: a dma-buf of any exporter.  Loads and stores through these functions raise no
 * SIGBUS: they return -ENODEV if the exporter took the memory back, and -EFAULT if the other
 * end is not plain memory of this process.
 */
struct dnd_dmabuf {
	int fd;			/* a duplicate of the caller's; -1: none */
	bool writable;
	uint64_t bytes;
	char exporter[32];	/* the exporter's name for itself, or "" */
	char name[64];		/* for messages, such as "dma-buf of udmabuf" */
};

int dnd_dmabuf_open(struct donard_context *ctx, int fd, struct dnd_dmabuf *dmabuf);
void dnd_dmabuf_close(struct dnd_dmabuf *dmabuf);
/* Does this errno of a load or store mean that a sandbox refused it? */
bool dnd_dmabuf_is_forbidden(int error_number);
/* Fails because a sandbox refused a load or store.  @name: the memory's name. */
int dnd_dmabuf_forbidden(struct donard_context *ctx, int error_number, const char *name);
/* Afterwards the CPU's stores have reached the device, and the CPU sees what devices wrote before; 0 or -errno. */
int dnd_dmabuf_sync(const struct dnd_dmabuf *dmabuf);
/* Each copies between a mapping and plain memory of this process; 0 or -errno. */
int dnd_dmabuf_load(const struct dnd_dmabuf *dmabuf, const void *mapping, void *to, size_t bytes);
int dnd_dmabuf_store(const struct dnd_dmabuf *dmabuf, void *mapping, const void *from, size_t bytes);

/*
 * interval.c: the timed part of a call, and the caller's functions that run before and after it.  If begin_fn fails,
 * dnd_interval_begin() fails with its text, and end_fn does not run.  If @rc says that the work failed,
 * dnd_interval_end() returns @rc and keeps its text; else it returns the result of end_fn.
 */
#define DND_PAYLOAD_MAX	2

struct dnd_interval {
	donard_begin_fn begin_fn;	/* each may be NULL */
	donard_end_fn end_fn;
	void *user;
	bool begun;
	struct donard_payload payload[DND_PAYLOAD_MAX];
	struct donard_interval told;	/* the argument of both functions */
};

void dnd_interval_add(struct dnd_interval *interval, const void *dram, uint64_t length_bytes);
int dnd_interval_begin(struct donard_context *ctx, struct dnd_interval *interval);
int dnd_interval_end(struct donard_context *ctx, struct dnd_interval *interval, int rc);

/* Arithmetic on sizes. */
static inline uint64_t dnd_round_down(uint64_t value, uint64_t unit)
{
	return value - value % unit;
}

static inline uint64_t dnd_round_up(uint64_t value, uint64_t unit)
{
	return dnd_round_down(value + unit - 1, unit);
}

static inline uint64_t dnd_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t dnd_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/*
 * Big-endian numbers of @bytes bytes on the wire.  Put returns the place behind the number; get
 * moves @at there.
 */
static inline uint8_t *dnd_put_be(uint8_t *at, uint64_t value, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		at[i] = (uint8_t)(value >> (8 * (bytes - 1 - i)));
	return at + bytes;
}

static inline uint64_t dnd_get_be(const uint8_t **at, size_t bytes)
{
	uint64_t value = 0;

	for (size_t i = 0; i < bytes; i++)
		value = value << 8 | (*at)[i];
	*at += bytes;
	return value;
}

/* [offset, offset + length) lies in [0, size) and is not empty. */
static inline bool dnd_range_fits(uint64_t offset, uint64_t length, uint64_t size)
{
	return length && length <= size && offset <= size - length;
}

#endif /* DND_BASE_H */
