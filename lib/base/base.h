/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the room base offers to all others: the context, errors, sysfs, the
 * clock, PCI addresses, guarded access to device memory, the pagemap.
 * It knows nothing of regions, drives or copies.
 */
#ifndef DND_BASE_H
#define DND_BASE_H

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <sys/types.h>

#include "donard/donard.h"

#define DND_TEXT_BYTES	1024
#define DND_PUBLIC	__attribute__((visibility("default")))
#define DND_PRINTF(a, b) __attribute__((format(printf, a, b)))

/* The last failure: its stable word and its text. */
struct dnd_failure {
	const char *code;
	char text[DND_TEXT_BYTES];
};

struct donard_context {
	char sysfs_root[PATH_MAX / 2];
	char dev_root[PATH_MAX / 2];
	struct dnd_failure failure;
};

/* Stable error words; error.c has the table of texts and errno values. */
enum dnd_error {
	DND_OK,
	DND_E_SYSTEM,
	DND_E_NO_MEMORY,
	DND_E_NO_MODULE,
	DND_E_NO_SUCH_REGION,
	DND_E_NO_SUCH_DEVICE,
	DND_E_BAD_NAME,
	DND_E_BAD_OPTION,
	DND_E_PERMISSION,
	DND_E_ALIGNMENT,
	DND_E_PAST_END,
	DND_E_NO_SPACE,
	DND_E_BUSY,
	DND_E_MOUNTED,
	DND_E_READ_ONLY,
	DND_E_NOT_NVME,
	DND_E_FILE_SYSTEM,
	DND_E_OVERLAP,
	DND_E_OTHER_DRIVER,
	DND_E_UNREACHABLE,
	DND_E_UNSUPPORTED,
	DND_E_NOT_DELIVERED,
	DND_E_MISMATCH,
	DND_E_REGION_GONE,
	DND_E_DRIVE_GONE,
	DND_E_DEVICE,
	DND_E_BOUNCES,
	DND_E_CANCELED,
	DND_E_NO_RDMA,
	DND_E_PORT_DOWN,
	DND_E_LOCKED_MEMORY,
	DND_E_NOT_OFFERED,
	DND_E_REFUSED,
	DND_E_PEER_LOST,
	DND_E_PEER_SILENT,
	DND_E_PROTOCOL,
	DND_E_WITHDRAWN,
	DND_E_TOO_NEW,
	DND_E_COUNT
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
int dnd_fail_memory(struct donard_context *ctx);
/*
 * What is tried in passing, and what undoes work after a failure, may fail
 * without being the news: keep the failure before it, and put it back after.
 */
struct dnd_failure dnd_failure_keep(const struct donard_context *ctx);
void dnd_failure_put_back(struct donard_context *ctx, const struct dnd_failure *kept);
const char *dnd_error_word(enum dnd_error error);
int dnd_error_errno(enum dnd_error error);

/*
 * struct.c: structures of callers, which begin with their size.  Take copies the
 * members that both know from the caller's to one of @known bytes and zeroes the
 * rest; it fails when the caller set members that are not known here.  Give fills
 * the caller's, and leaves its size.
 */
int dnd_struct_take(struct donard_context *ctx, void *to, size_t known, const void *from,
		    const char *name);
int dnd_struct_check(struct donard_context *ctx, const void *caller, const char *name);
void dnd_struct_give(void *caller, const void *from, size_t known);
/* The same without a context, for the call that makes one. */
int dnd_struct_copy(void *to, size_t known, const void *from);
#define DND_TAKE(ctx, to, from, name) dnd_struct_take(ctx, to, sizeof(*(to)), from, name)

/* sysfs.c: paths are below sysfs_root; values come without the newline. */
int dnd_sysfs_path(const struct donard_context *ctx, char path[PATH_MAX], const char *format, ...)
	DND_PRINTF(3, 4);
int dnd_sysfs_read(const struct donard_context *ctx, char *value, size_t value_bytes,
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
 * Calls @each for every entry but "." and "..", in the order of strverscmp().  A
 * missing folder is empty; one that cannot be read fails, with a text.
 */
int dnd_for_each_entry(struct donard_context *ctx, const char *folder,
		       int (*each)(struct donard_context *ctx, const char *entry, void *data),
		       void *data);

/* clock.c: monotonic */
uint64_t dnd_now_ns(void);
double dnd_now_seconds(void);

/* bdf.c */
struct dnd_bdf {
	uint32_t domain;
	uint8_t bus;
	uint8_t devfn;
};
int dnd_bdf_parse(const char *text, struct dnd_bdf *bdf);
void dnd_bdf_format(char text[DONARD_BDF_BYTES], struct dnd_bdf bdf);

/*
 * memory.c: CPU access to device memory.  Every access is guarded: a region that
 * goes away raises SIGBUS, which ends the call with -ENODEV instead.
 */
/* Either side may be device memory or DRAM. */
int dnd_memory_copy(void *to, const void *from, size_t bytes);
/* Copies from the end when the ranges ask for it. */
int dnd_memory_move(void *to, const void *from, size_t bytes);
/* 0 equal, 1 different with *where the first differing byte, or -errno. */
int dnd_memory_compare(const void *device, const void *dram, size_t bytes, size_t *where);
int dnd_memory_zero(void *to, size_t bytes);
void dnd_memory_nonce(void *dram, size_t bytes);

/* pagemap.c: physical addresses of a process's memory, which /proc shows to root alone. */
/* A piece without a gap. */
typedef void (*dnd_pagemap_fn)(void *user, uint64_t address, uint64_t bytes);

/* Calls @fn for the pages of that memory that are there, neighbours together. @pid 0: of this process. */
int dnd_pagemap_walk(struct donard_context *ctx, pid_t pid, const void *memory, size_t bytes,
		     dnd_pagemap_fn fn, void *user);

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

/* [offset, offset + length) lies in [0, size) and holds a byte. */
static inline bool dnd_range_fits(uint64_t offset, uint64_t length, uint64_t size)
{
	return length && length <= size && offset <= size - length;
}

#endif /* DND_BASE_H */
