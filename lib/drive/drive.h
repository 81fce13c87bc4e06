/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the room drive offers: NVMe block devices and files on them, the generic
 * devices that take a drive's own commands, and the engine that moves data
 * between a drive and memory with many requests in flight.
 */
#ifndef DND_DRIVE_H
#define DND_DRIVE_H

#include "region/region.h"

/* blockdev.c: from a block device number to the NVMe controllers that serve it */
#define DND_CONTROLLERS	8

struct dnd_blockdev {
	char disk[64];		/* "nvme0n1", also for a partition of it */
	uint64_t start_bytes;	/* of the partition; 0 for the disk */
	uint64_t length_bytes;
	uint32_t block_bytes;	/* logical block */
	uint64_t request_bytes;	/* the longest that is not split; 0: unknown */
	size_t controller_count;	/* more than one with native multipath */
	char controllers[DND_CONTROLLERS][DONARD_BDF_BYTES];
	char controller_names[DND_CONTROLLERS][16];	/* "nvme0", in the same order */
};

enum dnd_health { DND_HEALTH_GONE, DND_HEALTH_RESETTING, DND_HEALTH_LIVE };

/* As of now: that of the best controller that served it when it was resolved. */
enum dnd_health dnd_blockdev_health(struct donard_context *ctx,
				    const struct dnd_blockdev *blockdev);
/* file_check.c: why bytes of a file would go through DRAM, and what helps: two parts of a sentence */
struct dnd_bounce {
	const char *cause;
	const char *remedy;
};

/* open.c: a block device or a file on one, opened for O_DIRECT */
struct dnd_drive {
	const char *path;	/* borrowed */
	int fd;
	bool is_file;
	bool to_create;		/* a new file: made when the copy may start */
	bool writable;
	uint32_t align_bytes;	/* of offsets and lengths */
	uint32_t fs_block_bytes;	/* of a file's file system */
	const struct dnd_bounce *bounce;	/* why its bytes go through DRAM, or NULL */
	uint64_t size_bytes;	/* 0 for a new file */
	dev_t device;
	ino_t inode;
	struct dnd_blockdev blockdev;
};

int dnd_drive_open_source(struct donard_context *ctx, const char *path, struct dnd_drive *drive);
/* Does not create, change or truncate anything. */
int dnd_drive_open_target(struct donard_context *ctx, const char *path, struct dnd_drive *drive);
/* Makes the file if it is new and reserves space up to @end_bytes. */
int dnd_drive_prepare(struct donard_context *ctx, struct dnd_drive *drive, uint64_t end_bytes);
/*
 * Gives a file that was written its length.  Returns 1 where that cut a block
 * in two: the file system has then read it into DRAM, zeroed the rest and will
 * write it again.  Else 0, or -errno.
 */
int dnd_drive_settle(struct donard_context *ctx, struct dnd_drive *drive, uint64_t end_bytes);
void dnd_drive_close(struct dnd_drive *drive);
/* Do the two byte ranges share bytes on the medium or in a file? */
bool dnd_drive_overlap(const struct dnd_drive *a, uint64_t a_offset, const struct dnd_drive *b,
		       uint64_t b_offset, uint64_t length);
/* Asks the file system once more; sets @bounce.  Of a block device nothing is asked. */
void dnd_drive_ask(struct donard_context *ctx, struct dnd_drive *drive);

/*
 * generic.c: the generic character device of an NVMe namespace (/dev/ng0n1):
 * it takes the drive's own commands, past the block layer.
 */
struct dnd_generic {
	int fd;				/* -1: not in use */
	uint32_t nsid;
	uint32_t lba_bytes;
	uint64_t start_bytes;		/* of the partition; 0 for the namespace */
	uint64_t limit_bytes;		/* of one command */
	uint32_t memory_align_bytes;	/* of what it moves: else the kernel bounces it */
};

/* Opens it after all checks; sends Identify, moves and changes nothing. */
int dnd_generic_open(struct donard_context *ctx, const struct dnd_drive *drive,
		     struct dnd_generic *generic);
void dnd_generic_close(struct dnd_generic *generic);

/* plan.c: pure arithmetic: how a range is cut into requests and a tail */
struct dnd_plan {
	uint64_t length_bytes;	/* of the whole copy */
	uint64_t full_bytes;	/* in requests of whole logical blocks */
	uint32_t tail_bytes;	/* the rest, less than align_bytes */
	uint32_t align_bytes;
	uint64_t block_bytes;	/* of one request */
	uint32_t lanes;		/* requests in flight */
	uint64_t requests;
};

/* No request is longer than the copy, so that no more is staged for one. */
uint64_t dnd_plan_block(uint64_t block_bytes, uint64_t length_bytes, uint32_t align_bytes);
/*
 * @window_bytes: memory that the lanes share as buffers, one block each; 0
 * when every request has its own place.  A window smaller than a block makes
 * the blocks smaller; one smaller than a logical block is -ENOSPC.
 */
int dnd_plan_make(struct dnd_plan *plan, uint64_t length_bytes, uint32_t align_bytes,
		  uint64_t block_bytes, uint32_t lanes, uint64_t window_bytes);

/*
 * engine.c: runs the requests of a plan with many of them in flight.
 *
 * A request goes through these steps, each left out when its member is unset:
 *   1. CPU copy source -> buffer		(source and buffers)
 *   2. read from the drive into memory	(read_fd)
 *   3. CPU copy buffer -> target		(target and buffers)
 *   4. write from memory to the drive	(write_fd)
 * Memory is the lane's buffer, or without buffers the request's own place in
 * source or target: then the DMA goes there and the CPU touches no payload.
 *
 * A side with a generic device is read or written by NVMe commands to that
 * (nvme.c), any other by io_uring's reads and writes.
 */
enum dnd_step { DND_STEP_NONE, DND_STEP_READ, DND_STEP_WRITE, DND_STEP_CPU, DND_STEP_SETUP };

struct dnd_transfer {
	const struct dnd_plan *plan;
	int read_fd, write_fd;		/* -1: none */
	uint64_t read_offset, write_offset;
	const struct dnd_generic *read_generic, *write_generic;	/* NULL: by read_fd, write_fd */
	uint8_t *source, *target;	/* device memory or NULL */
	uint8_t *buffers;		/* one block a lane, or NULL */
	const struct dnd_region *region;	/* in whose window the requests' memory lies, */
	const struct dnd_window *window;	/* or NULL: in DRAM */
	bool registers;			/* what is read and written, with io_uring, if it can be;
					 * always with buffers */
	donard_progress_fn progress_fn;
	void *progress_user;
	/* out */
	bool fixed_buffers;
	uint64_t gapless_bytes;		/* copied from the start on */
	enum dnd_step failed_step;
	uint64_t failed_offset;
	uint32_t nvme_status;		/* of a command that the drive failed: type << 8 | code */
};

/* 0, -errno of the first failed step, or -ECANCELED; nothing is in flight. */
int dnd_uring_run(struct dnd_transfer *transfer);
/* Of a command that the drive failed. */
const char *dnd_nvme_status_text(uint32_t status);

#endif /* DND_DRIVE_H */
