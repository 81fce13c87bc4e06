/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the room base offers to all others: the context, errors, sysfs, the
 * clock, PCI addresses, random bytes.
 * It knows nothing of regions, drives or copies.
 */
#ifndef DND_BASE_H
#define DND_BASE_H

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/failure.h"
#include "base/rights.h"
#include "base/sized.h"
#include "base/uring_refused.h"
#include "donard/donard.h"

#define DND_PUBLIC	__attribute__((visibility("default")))

/* What of sysfs could not be read for want of descriptors or memory: how often, and the last of it. */
struct dnd_unread {
	unsigned int count;
	int error_number;
	char path[PATH_MAX / 2];
};

struct donard_context {
	char sysfs_root[PATH_MAX / 2];
	char dev_root[PATH_MAX / 2];
	struct dnd_failure failure;
	struct dnd_unread *unread;	/* its own: who only reads sysfs notes it, too */
};

/* Each sets the text of the context and returns the negative errno. */
int dnd_fail(struct donard_context *ctx, enum dnd_error error, const char *format, ...)
	DND_PRINTF(3, 4);
int dnd_fail_errno(struct donard_context *ctx, int error_number, const char *format, ...)
	DND_PRINTF(3, 4);
/* The same, with @remedy behind it when a permission is missing. */
int dnd_fail_access(struct donard_context *ctx, int error_number, const char *remedy,
		    const char *format, ...) DND_PRINTF(4, 5);
#define DND_ROOT_ONLY	"Only root may add, remove and change regions (CAP_SYS_RAWIO)"
/* What came of the last failure besides: behind its text, whose code stays. */
void dnd_fail_more(struct donard_context *ctx, const char *format, ...) DND_PRINTF(2, 3);
int dnd_fail_memory(struct donard_context *ctx);
/* The errno with which an io_uring, for @commands or else Linux AIO, could not be set up; who forbids it is asked. */
int dnd_fail_uring(struct donard_context *ctx, int error_number, bool commands);
/*
 * What is tried in passing, and what undoes work after a failure, may fail
 * without being the news: keep the failure before it, and put it back after.
 */
/* Is that the last failure? */
bool dnd_failed_with(const struct donard_context *ctx, enum dnd_error error);
struct dnd_failure dnd_failure_keep(const struct donard_context *ctx);
void dnd_failure_put_back(struct donard_context *ctx, const struct dnd_failure *kept);

/* struct.c: structures of callers, as sized.h has them, with a text for what is wrong with one. */
int dnd_struct_take(struct donard_context *ctx, void *to, size_t known, const void *from,
		    const char *name);
int dnd_struct_check(struct donard_context *ctx, const void *caller, const char *name);
#define DND_TAKE(ctx, to, from, name) dnd_struct_take(ctx, to, sizeof(*(to)), from, name)

/*
 * sysfs.c: paths are below sysfs_root; values come without the newline, and printable (printable.h), for
 * devices and processes choose some of them.
 */
int dnd_sysfs_path(const struct donard_context *ctx, char path[PATH_MAX], const char *format, ...)
	DND_PRINTF(3, 4);
int dnd_sysfs_read(const struct donard_context *ctx, char *value, size_t value_bytes,
		   const char *format, ...) DND_PRINTF(4, 5);
/* Of a file that has a list. */
int dnd_sysfs_lines(const struct donard_context *ctx, char *lines, size_t lines_bytes,
		    const char *format, ...) DND_PRINTF(4, 5);
int dnd_sysfs_read_u64(const struct donard_context *ctx, uint64_t *value, const char *format, ...)
	DND_PRINTF(3, 4);
int dnd_sysfs_write(const struct donard_context *ctx, const char *value, const char *format, ...)
	DND_PRINTF(3, 4);
bool dnd_sysfs_exists(const struct donard_context *ctx, const char *format, ...)
	DND_PRINTF(2, 3);
/* Last component of what the link at the path points to. */
int dnd_sysfs_link_name(const struct donard_context *ctx, char *name, size_t name_bytes,
			const char *format, ...) DND_PRINTF(4, 5);
/*
 * A value that was taken for absent may have been there, and not to be read for want of a descriptor or of memory.  Who
 * concludes from what is absent keeps the count of before, and returns what comes of the check: the failure that
 * something since then could not be read, or @rc with its text.
 */
unsigned int dnd_sysfs_unread(const struct donard_context *ctx);
int dnd_sysfs_check(struct donard_context *ctx, unsigned int before, int rc);
/* The failure that there is no sysfs, or 0. */
int dnd_require_sysfs(struct donard_context *ctx);
/*
 * Calls @each for every entry but "." and "..", in the order of strverscmp().  A
 * missing folder is empty, if sysfs itself is there; one that cannot be read fails, with a text.
 */
int dnd_for_each_entry(struct donard_context *ctx, const char *folder,
		       int (*each)(struct donard_context *ctx, const char *entry, void *data),
		       void *data);

/*
 * handle.c: what several others hold, and the last frees.  An identity is never
 * used again, so that a record of a handle that is gone means no other.
 */
struct dnd_handle {
	uint64_t identity;
	unsigned int holders;	/* atomic: each may be in a thread of its own */
};

void dnd_handle_init(struct dnd_handle *handle);
void dnd_handle_get(struct dnd_handle *handle);
/* True: that was the last. */
bool dnd_handle_put(struct dnd_handle *handle);

/* bdf.c */
struct dnd_bdf {
	uint32_t domain;
	uint8_t bus;
	uint8_t devfn;
};
int dnd_bdf_parse(const char *text, struct dnd_bdf *bdf);
void dnd_bdf_format(char text[DONARD_BDF_BYTES], struct dnd_bdf bdf);

/* nonce.c: bytes that nobody can know before */
void dnd_nonce(void *dram, size_t bytes);

/*
 * dmabuf.c: a dma-buf of any exporter.  Accesses to a mapping of it raise no
 * SIGBUS: -ENODEV when the exporter took it back, -EFAULT when the other end is no
 * plain memory of this process.
 */
struct dnd_dmabuf {
	int fd;			/* a duplicate; -1: none */
	bool writable;
	uint64_t bytes;
	char exporter[32];	/* as its driver calls itself, or "" */
	char name[64];		/* "dma-buf of udmabuf" */
};

int dnd_dmabuf_open(struct donard_context *ctx, int fd, struct dnd_dmabuf *dmabuf);
void dnd_dmabuf_close(struct dnd_dmabuf *dmabuf);
/* The CPU's stores are at the device, and what devices wrote before is seen; 0 or -errno. */
int dnd_dmabuf_sync(const struct dnd_dmabuf *dmabuf);
/* Between a mapping and plain memory of this process; 0 or -errno. */
int dnd_dmabuf_load(const struct dnd_dmabuf *dmabuf, const void *mapping, void *to, size_t bytes);
int dnd_dmabuf_store(const struct dnd_dmabuf *dmabuf, void *mapping, const void *from, size_t bytes);

/*
 * interval.c: what of a call is timed, and the caller's functions that surround it.  Begin fails with the text that begin_fn
 * left; then there is no end.  End returns @rc of the work, whose text stays, or if that is 0 what end_fn came to.
 */
#define DND_PAYLOAD_MAX	2

struct dnd_interval {
	donard_begin_fn begin_fn;	/* each may be NULL */
	donard_end_fn end_fn;
	void *user;
	bool begun;
	struct donard_payload payload[DND_PAYLOAD_MAX];
	struct donard_interval told;	/* what the functions get */
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

/* Numbers of so many bytes on the wire, which are big-endian; each goes on behind it. */
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

/* [offset, offset + length) lies in [0, size) and holds a byte. */
static inline bool dnd_range_fits(uint64_t offset, uint64_t length, uint64_t size)
{
	return length && length <= size && offset <= size - length;
}

#endif /* DND_BASE_H */
