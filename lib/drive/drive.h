/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the room drive offers: NVMe block devices and files on them, and the
 * generic devices that take a drive's own commands.
 */
#ifndef DND_DRIVE_H
#define DND_DRIVE_H

#include "donard/file.h"
#include "region/region.h"

struct dnd_bounce;

/* blockdev.c: from a block device number to the NVMe controllers that serve it */
#define DND_CONTROLLERS	16	/* of one namespace */
#define DND_LEGS	32	/* of one device of LVM or md */

struct dnd_blockdev {
	struct dnd_stack *stack;	/* what it is made of (stack.h); NULL: a drive or partition */
	char disk[64];		/* "nvme0n1", also for a partition of it; "md0" */
	uint64_t start_bytes;	/* of the partition; 0 for the disk */
	uint64_t length_bytes;
	uint32_t block_bytes;	/* logical block */
	uint64_t request_bytes;	/* the longest that is not split; 0: unknown */
	uint32_t memory_align_bytes;	/* of what it moves */
	bool reads_checked;	/* by the CPU, with the drive's protection information */
	bool writes_summed;	/* so too */
	bool multipath;		/* the kernel's own: other controllers may come to serve it */
	size_t controller_count;	/* more than one with native multipath; 0 for a stack, whose legs have them */
	char controllers[DND_CONTROLLERS][DONARD_BDF_BYTES];
	char controller_names[DND_CONTROLLERS][16];	/* "nvme0", in the same order */
};

enum dnd_health { DND_HEALTH_GONE, DND_HEALTH_RESETTING, DND_HEALTH_LIVE };

/*
 * As of now: that of the worst leg, of which it is that of the best controller that
 * served it when it was resolved.  *leg is which, if one is not live.
 */
enum dnd_health dnd_blockdev_health(struct donard_context *ctx,
				    const struct dnd_blockdev *blockdev, size_t *leg);
/* The address of a controller that served it and is there still, or NULL.  Then what is gone is its namespace. */
const char *dnd_blockdev_controller_left(struct donard_context *ctx, const struct dnd_blockdev *blockdev);
/* Host-managed: each zone is written in order.  By any leg. */
bool dnd_blockdev_is_zoned(struct donard_context *ctx, const struct dnd_blockdev *blockdev);
bool dnd_blockdev_is_partition(struct donard_context *ctx, dev_t device);
void dnd_blockdev_release(struct dnd_blockdev *blockdev);
/* A drive is its own and only leg. */
size_t dnd_blockdev_leg_count(const struct dnd_blockdev *blockdev);
const struct dnd_blockdev *dnd_blockdev_leg(const struct dnd_blockdev *blockdev, size_t leg);
/*
 * Do several controllers serve it (native multipath)?  The kernel chooses, and may change to another at any time: a
 * proof is one of the path that it took.
 */
bool dnd_blockdev_has_paths(const struct dnd_blockdev *blockdev);
/* May two reads of a byte be answered by two legs, which need not agree on what was never written? */
bool dnd_blockdev_is_mirrored(const struct dnd_blockdev *blockdev);
/* Is there a leg that gets what is written, and of which nobody knows where it lies? */
bool dnd_blockdev_is_replacing(const struct dnd_blockdev *blockdev);
/* Its name, "nvme1n1", and the device that it is a leg of; of a drive both are "". */
void dnd_blockdev_leg_names(const struct dnd_blockdev *blockdev, size_t leg, const char **name,
			    const char **under);
/* Why bytes go through DRAM below the file system, or NULL. */
const struct dnd_bounce *dnd_blockdev_bounce(const struct dnd_blockdev *blockdev, bool writes);
/* As bits: those that hold bytes of it now, which spares do not. */
uint32_t dnd_blockdev_legs_in_use(const struct dnd_blockdev *blockdev);
/* As bits: those that it was opened with, and has no more. */
uint32_t dnd_blockdev_legs_left(const struct dnd_blockdev *blockdev);
/*
 * How often a look (change.c) found that device-mapper has bytes elsewhere on the same legs.  Whoever changed the table may
 * have moved the bytes as well, or not.
 */
uint32_t dnd_blockdev_moves(const struct dnd_blockdev *blockdev);
/* "leg nvme1n1 of md0"; "" for a drive */
#define DND_LEG_TEXT_BYTES	128
const char *dnd_blockdev_leg_text(const struct dnd_blockdev *blockdev, size_t leg,
				  char text[DND_LEG_TEXT_BYTES]);
/* Each controller once, whatever it serves; NULL behind the last. */
const char *dnd_blockdev_client(const struct dnd_blockdev *blockdev, size_t index);

/* layout.c: where a byte of a stack is; pure */
struct dnd_place_on_leg {
	uint16_t leg;
	uint64_t offset_bytes;	/* on the leg's device */
};

struct dnd_places {
	size_t count;		/* of copies on legs that are there; 0: not known */
	struct dnd_place_on_leg copies[DND_LEGS];
	/* So many bytes from there on are beside each other on each, or as little known; 0: nobody says. */
	uint64_t run_bytes;
};

void dnd_stack_locate(const struct dnd_stack *stack, uint64_t offset_bytes, struct dnd_places *places);

/*
 * change.c: looks again at what a drive is made of.  Legs that are gone are none:
 * what was moved went by those that are left.
 */
enum dnd_change { DND_UNCHANGED, DND_LEGS_LEFT, DND_CHANGED };

struct dnd_drive;
/*
 * After DND_LEGS_LEFT the drive's stack says where bytes are now, among the legs that it was opened with;
 * else it stays.  DND_CHANGED also where it cannot be resolved any more: then *rc is why, with a text.
 */
enum dnd_change dnd_drive_look_again(struct donard_context *ctx, const struct dnd_drive *drive, int *rc);

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
	bool unnamed;		/* a new file, which nobody sees before dnd_drive_name() */
	bool reserved;		/* there are blocks behind the end of the file, for what is to be written */
	bool writable;
	bool shared;		/* the position of fd is somebody else's, too */
	uint32_t align_bytes;	/* of offsets and lengths */
	uint32_t memory_align_bytes;	/* of what is read or written */
	uint32_t fs_block_bytes;	/* of a file's file system */
	const struct dnd_bounce *bounce;	/* why its bytes go through DRAM, or NULL */
	uint64_t size_bytes;	/* 0 for a new file */
	dev_t device;
	ino_t inode;
	struct dnd_blockdev blockdev;
};

int dnd_drive_open_source(struct donard_context *ctx, const char *path, struct dnd_drive *drive);
/* A new file is open without a name: whatever becomes of the program, nothing is left of it. */
int dnd_drive_open_target(struct donard_context *ctx, const char *path, struct dnd_drive *drive);
/*
 * May this process write up to there (RLIMIT_FSIZE)?  The kernel asks of each write, also of one that makes nothing longer,
 * and ends by a signal who goes beyond: so this comes before the first.
 */
int dnd_drive_check_limit(struct donard_context *ctx, const struct dnd_drive *drive, uint64_t end_bytes);
/*
 * Reserves space up to @end_bytes, so that a full disk moves nothing.  A new file has that length from then on;
 * one that exists keeps its length, which grows with what is written.
 */
int dnd_drive_prepare(struct donard_context *ctx, struct dnd_drive *drive, uint64_t end_bytes);
/* Gives a new file its name, unless somebody else has made one of that name; of others nothing is done. */
int dnd_drive_name(struct donard_context *ctx, struct dnd_drive *drive);
/* A file's length as of now; 0 where nobody says. */
uint64_t dnd_drive_length(const struct dnd_drive *drive);
/*
 * Gives a file the length @to_bytes if it has the length @from_bytes, and nothing reserved behind it.  0: it has,
 * or somebody else has moved its length, which stays; or -errno.
 */
int dnd_drive_cut(struct donard_context *ctx, struct dnd_drive *drive, uint64_t from_bytes, uint64_t to_bytes);
/*
 * Writes these bytes of a file, not whole blocks, by way of the page cache: what lies beside them stays, whoever
 * changes it.  Nothing else of @drive is in flight.  0 or -errno without a text.
 */
int dnd_drive_write_cached(const struct dnd_drive *drive, const void *bytes, size_t length, uint64_t offset);
/* What somebody else opened: @drive opens it again, or has a copy of @fd.  Without O_DIRECT it is refused. */
int dnd_drive_adopt(struct donard_context *ctx, int fd, const char *path, struct dnd_drive *drive);
/* Whether somebody closed the device (blockdev --setro) by now. */
bool dnd_drive_is_read_only(const struct dnd_drive *drive);
void dnd_drive_close(struct dnd_drive *drive);
/* denied.c: the failure that @path, its own or the folder of a new file, may not be opened */
int dnd_drive_denied(struct donard_context *ctx, const struct dnd_drive *drive, const char *path, int error_number);
/* Why a write to the open file may have failed so, or NULL: a part of a sentence. */
const char *dnd_drive_forbidden(const struct dnd_drive *drive, int error_number);
/* A file that the kernel swaps to can be opened for writing, and refuses each write. */
int dnd_drive_check_swap(struct donard_context *ctx, const struct dnd_drive *drive);
/* lost.c: the failure that the drive, or its namespace, is not there any more, or 0 if it is */
int dnd_drive_lost(struct donard_context *ctx, const struct dnd_drive *drive);
/* In the place of an errno: a request that moved fewer bytes than were asked for. */
#define DND_CUT_SHORT	4096
/* Its size as of now; UINT64_MAX: nobody says. */
uint64_t dnd_drive_size_now(const struct dnd_drive *drive);
/* The failure that the drive or file is shorter by now than @end_bytes, to which it was to be moved, or 0 if it is not */
int dnd_drive_shrank(struct donard_context *ctx, const struct dnd_drive *drive, uint64_t end_bytes);
/* durable.c: what is flushed (fsync()) survives a power cut, as far as the kernel's settings tell; else why not */
struct dnd_doubt {
	char text[DONARD_REASON_BYTES];	/* a sentence without its dot */
};
bool dnd_drive_is_durable(struct donard_context *ctx, const struct dnd_drive *drive, struct dnd_doubt *doubt);
/* Do the two byte ranges share bytes on the medium or in a file? */
enum dnd_sharing {
	DND_APART,
	DND_MAY_SHARE,		/* they lie on one drive, and nobody knows which bytes are whose */
	DND_SHARE,
};

enum dnd_sharing dnd_drive_overlap(const struct dnd_drive *a, uint64_t a_offset, const struct dnd_drive *b,
		       uint64_t b_offset, uint64_t length);
/* locate.c: where a byte of the drive or file is; no place in a hole, and where nobody says */
void dnd_drive_locate(const struct dnd_drive *drive, uint64_t offset_bytes, struct dnd_places *places);
/* A leg as a drive of its own, to read from alone; -errno without a text.  @path, which it borrows: what errors call it. */
int dnd_drive_open_leg(const struct donard_context *ctx, const struct dnd_drive *drive, size_t leg,
		       const char *path, struct dnd_drive *leg_drive);
/* Asks the file system about a file: alignments, @bounce.  Of a block device nothing is asked. */
void dnd_drive_ask(struct donard_context *ctx, struct dnd_drive *drive);
/* Once more: sets @bounce alone, since requests keep to the alignments that they were told.  Fails if nobody answers. */
int dnd_drive_ask_again(struct donard_context *ctx, struct dnd_drive *drive);
/* Does the file system still do direct I/O of the file?  One system call; what lies below is not looked at. */
bool dnd_drive_is_direct(const struct dnd_drive *drive);

/*
 * generic.c: the generic character device of an NVMe namespace (/dev/ng0n1):
 * it takes the drive's own commands, past the block layer.
 */
struct dnd_generic {
	int fd;				/* -1: not in use */
	int block_fd;			/* the drive's, borrowed: the block device */
	uint64_t size_bytes;		/* of that when it was opened */
	uint32_t nsid;
	uint32_t lba_bytes;
	uint64_t start_bytes;		/* of the partition; 0 for the namespace */
	uint64_t limit_bytes;		/* of one command */
	uint32_t memory_align_bytes;	/* of what it moves: else the kernel bounces it */
};

/* Opens it after all checks, for blocks of @align; sends Identify, moves and changes nothing. */
int dnd_generic_open(struct donard_context *ctx, const struct dnd_drive *drive, uint32_t align,
		     struct dnd_generic *generic);
void dnd_generic_close(struct dnd_generic *generic);
/*
 * Does the block device still have its size and logical block (else -ESTALE), and may it be written (-EROFS)?  No command
 * is kept from what lies behind a partition that shrank, or from blocks of another format, but by this question before
 * it: what is in flight is past it.
 */
int dnd_generic_check(const struct dnd_generic *generic, bool writes);

/*
 * The page cache of a drive that takes commands: what it has of the range is
 * written back, and dropped too where the drive is about to change.  A page that
 * someone has mapped or is changing stays.
 */
int dnd_generic_write_back(struct donard_context *ctx, const struct dnd_drive *drive, uint64_t offset,
			   uint64_t length);
void dnd_generic_drop_cached(const struct dnd_drive *drive, uint64_t offset, uint64_t length);

/* file.c: what programs are handed */
struct donard_file {
	struct dnd_handle handle;	/* its owner, and requests in flight */
	struct donard_context *ctx;
	char *path;			/* the drive's */
	struct dnd_drive drive;
	struct dnd_generic generic;	/* once a queue asked for it */
	int plain_fd;			/* without O_DIRECT, once a queue asked for it; or -1 */
	struct dnd_doubt doubt;		/* when it was opened: why what is flushed is not durable, or "" */
	bool plain_written;		/* the page cache may have bytes that the drive has not */
};

/* Without @doubt: to read, or as @target to write, where a new file stays without a name (dnd_drive_name()). */
int dnd_file_open(struct donard_context *ctx, const char *path, bool target, struct donard_file **out);

/*
 * nvme.c: requests as the drive's own commands; the ring has large entries for them.
 */
struct io_uring_sqe;

#define DND_NVME_SQE_BYTES	128

struct dnd_command {
	const struct dnd_generic *generic;
	bool reads;
	void *memory;
	uint32_t length_bytes;	/* whole logical blocks, up to the generic device's limit */
	uint64_t offset_bytes;	/* from the start of the partition or namespace */
	int fixed_index;	/* of the registered buffer, -1: none */
};

void dnd_nvme_prepare(struct io_uring_sqe *sqe, const struct dnd_command *command);
/* The length, or -errno; a failure that the drive reports is -EIO with a status. */
int dnd_nvme_result(int result, uint32_t length_bytes, uint32_t *status);
/*
 * 0 if the kernel takes such commands for the open generic device, else -errno; *setup is the part of it with which
 * the io_uring itself could not be set up, or 0.
 */
int dnd_nvme_probe(int fd, int *setup);
/* Of a command that the drive failed. */
const char *dnd_nvme_status_text(uint32_t status);

#endif /* DND_DRIVE_H */
