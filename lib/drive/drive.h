/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVMe block devices, files on them, and the generic devices that take a drive's
 * own commands.
 */
#ifndef DND_DRIVE_H
#define DND_DRIVE_H

#include "donard/file.h"
#include "region/region.h"

struct dnd_bounce;

/* blockdev.c: finds the NVMe controllers that serve a block device */
#define DND_CONTROLLERS	16	/* most controllers of a namespace */
#define DND_LEGS	32	/* most legs of a device of LVM or md */
#define DND_MEDIUM_BYTES	256

struct dnd_blockdev {
	struct dnd_stack *stack;	/* the devices it is made of (stack.h); NULL: a drive or partition */
	char disk[64];		/* "nvme0n1", also for a partition of it; "md0" */
	char medium[DND_MEDIUM_BYTES];	/* the same for all disks of one namespace (disk.h); or "" */
	uint64_t start_bytes;	/* of the partition; 0 for the disk */
	uint64_t length_bytes;
	uint32_t block_bytes;	/* logical block */
	uint64_t request_bytes;	/* the longest request that is not split; 0: unknown */
	uint32_t memory_align_bytes;	/* alignment of the memory that it moves */
	bool has_checksums;	/* a namespace with protection information */
	bool reads_checked;	/* the CPU checks data that is read against the protection information */
	bool writes_summed;	/* the CPU computes the protection information of data that is written */
	bool multipath;		/* native multipath: more controllers may come to serve it */
	size_t controller_count;	/* several with native multipath; 0 for a stack, whose legs have them */
	char controllers[DND_CONTROLLERS][DONARD_BDF_BYTES];
	char controller_names[DND_CONTROLLERS][16];	/* "nvme0", in the same order */
};

enum dnd_health { DND_HEALTH_GONE, DND_HEALTH_RESETTING, DND_HEALTH_LIVE };

/*
 * The health of the worst leg, as of now.  A leg is as healthy as the best of the controllers
 * that served it when it was resolved.  *leg is set to the worst leg if that is not live.
 */
enum dnd_health dnd_blockdev_health(struct donard_context *ctx,
				    const struct dnd_blockdev *blockdev, size_t *leg);
/* The address of a controller that served it and still exists, or NULL.  With one, only the namespace is gone. */
const char *dnd_blockdev_controller_left(struct donard_context *ctx, const struct dnd_blockdev *blockdev);
/* Is any leg host-managed, so that each of its zones must be written in order? */
bool dnd_blockdev_is_zoned(struct donard_context *ctx, const struct dnd_blockdev *blockdev);
bool dnd_blockdev_is_partition(struct donard_context *ctx, dev_t device);
/* used.c: do the devices share bytes of one disk, by whichever of its names? */
bool dnd_blockdev_conflicts(struct donard_context *ctx, dev_t a, dev_t b);
void dnd_blockdev_release(struct dnd_blockdev *blockdev);
/* A drive is its own and only leg. */
size_t dnd_blockdev_leg_count(const struct dnd_blockdev *blockdev);
const struct dnd_blockdev *dnd_blockdev_leg(const struct dnd_blockdev *blockdev, size_t leg);
/*
 * Do several controllers serve it (native multipath)?  The kernel chooses one, and may change to another at any time,
 * so a proof holds only for the path that it took.
 */
bool dnd_blockdev_has_paths(const struct dnd_blockdev *blockdev);
/* May two reads of a byte be answered by two legs?  These may differ in bytes that were never written. */
bool dnd_blockdev_is_mirrored(const struct dnd_blockdev *blockdev);
/* Is there a leg that also gets the writes, but at places that nobody knows? */
bool dnd_blockdev_is_replacing(const struct dnd_blockdev *blockdev);
/* The leg's name, "nvme1n1", and the device that it is a leg of.  For a drive both are "". */
void dnd_blockdev_leg_names(const struct dnd_blockdev *blockdev, size_t leg, const char **name,
			    const char **under);
/* Asks again whether the CPU computes checksums of all data, which root may change at any time. */
void dnd_blockdev_read_integrity(struct donard_context *ctx, struct dnd_blockdev *blockdev);
/* Why bytes go through DRAM below the file system, or NULL. */
const struct dnd_bounce *dnd_blockdev_bounce(const struct dnd_blockdev *blockdev, bool writes);
/* The legs that hold bytes of it now, as bits; spares hold none. */
uint32_t dnd_blockdev_legs_in_use(const struct dnd_blockdev *blockdev);
/* The legs that it had when it was opened, and has lost since, as bits. */
uint32_t dnd_blockdev_legs_left(const struct dnd_blockdev *blockdev);
/*
 * How often a check (change.c) found that a table of device-mapper maps bytes to other places than before.  Whether the bytes
 * were moved along is unknown.  A table that this user may not read counts only if it now leads to a device that donard cannot
 * read.
 */
uint32_t dnd_blockdev_moves(const struct dnd_blockdev *blockdev);
/* "leg nvme1n1 of md0"; "" for a drive */
#define DND_LEG_TEXT_BYTES	128
const char *dnd_blockdev_leg_text(const struct dnd_blockdev *blockdev, size_t leg,
				  char text[DND_LEG_TEXT_BYTES]);
/* The address of controller @index; each counts once, even if it serves several legs.  NULL behind the last. */
const char *dnd_blockdev_client(const struct dnd_blockdev *blockdev, size_t index);

/* layout.c: where a byte of a stack lies; pure arithmetic */
struct dnd_place_on_leg {
	uint16_t leg;
	uint64_t offset_bytes;	/* on the leg's device */
};

struct dnd_places {
	size_t count;		/* copies on legs that work; 0: not known */
	struct dnd_place_on_leg copies[DND_LEGS];
	/* For how many bytes this holds: they are contiguous on each leg, or all at unknown places.  0: nobody knows. */
	uint64_t run_bytes;
};

void dnd_stack_locate(const struct dnd_stack *stack, uint64_t offset_bytes, struct dnd_places *places);

/*
 * change.c: looks again at which devices a drive is made of.  Lost legs do not count as a
 * change, because everything that was moved went by the legs that are left.
 */
enum dnd_change { DND_UNCHANGED, DND_LEGS_LEFT, DND_CHANGED };

struct dnd_drive;
/*
 * Updates the drive's stack on DND_LEGS_LEFT: it then says where the bytes lie now, among the legs that the drive was
 * opened with.  Returns DND_CHANGED also if the drive cannot be resolved any more; *rc then says why, with a text.
 */
enum dnd_change dnd_drive_look_again(struct donard_context *ctx, const struct dnd_drive *drive, int *rc);
/* Can the devices that it is made of change? */
bool dnd_drive_may_change(struct donard_context *ctx, const struct dnd_drive *drive);
/*
 * Does what dnd_drive_look_again() does, for a drive that may change and that the caller has just resolved again.  @now: the
 * result of that, which this may alter; @rc: its error, or 0.
 */
enum dnd_change dnd_drive_changed(struct donard_context *ctx, const struct dnd_drive *drive, struct dnd_blockdev *now, int rc);

/* file_check.c: why bytes of a file would go through DRAM, and what helps; both without a full stop */
struct dnd_bounce {
	const char *cause;
	const char *remedy;
};

/* open.c: a block device, or a file on one, opened with O_DIRECT */
struct dnd_drive {
	const char *path;	/* borrowed */
	int fd;
	bool is_file;
	bool made;		/* a new file */
	bool unnamed;		/* and nobody sees it before dnd_drive_name() */
	bool reserved;		/* blocks behind the end of the file were reserved for writes to come */
	bool writable;
	bool shared;		/* somebody else has the same open file, with its position and flags */
	bool is_xfs;		/* it is a file on XFS */
	bool may_be_realtime;	/* it had no data when it was last asked, so that its realtime flag can still be set */
	bool adopted;		/* the program opened it, perhaps without O_EXCL */
	uint32_t align_bytes;	/* of offsets and lengths */
	uint32_t memory_align_bytes;	/* of the memory that is read into or written from */
	uint32_t fs_block_bytes;	/* of a file's file system */
	const struct dnd_bounce *bounce;	/* why its bytes go through DRAM, or NULL */
	uint64_t size_bytes;	/* 0 for a new file */
	dev_t device;
	ino_t inode;
	int *claims;		/* descriptors of the block devices that dnd_drive_claim_twins() claimed; owned */
	size_t claim_count;
	struct dnd_blockdev blockdev;
};

int dnd_drive_open_source(struct donard_context *ctx, const char *path, struct dnd_drive *drive);
/* If there is no file and @create, opens a new one without a name, so that nothing is left of it if the program dies. */
int dnd_drive_open_target(struct donard_context *ctx, const char *path, bool create, struct dnd_drive *drive);
/*
 * May this process write up to @end_bytes (RLIMIT_FSIZE)?  The kernel checks every write, even one that does not extend
 * the file, and kills a process that exceeds the limit by a signal.  So call this before the first write.
 */
int dnd_drive_check_limit(struct donard_context *ctx, const struct dnd_drive *drive, uint64_t end_bytes);
/*
 * Reserves space behind the file's end up to @end_bytes, so that a full disk fails before anything is moved; holes of an
 * old file are left out.  A new file gets that length at once, and is refused if this process has no way to give it its
 * name; an old file keeps its length, which grows with what is written.
 */
int dnd_drive_prepare(struct donard_context *ctx, struct dnd_drive *drive, uint64_t end_bytes);
/* Gives a new file its name.  Fails if somebody else has made a file of that name.  Leaves other drives alone. */
int dnd_drive_name(struct donard_context *ctx, struct dnd_drive *drive);
/* A file's length as of now; 0 if the kernel does not tell it. */
uint64_t dnd_drive_length(const struct dnd_drive *drive);
/*
 * Sets the length of a file to @to_bytes if it is @from_bytes, which also frees what was reserved behind its end.  If
 * somebody else has changed the length, that stays.  Returns 0 in both cases, or -errno.
 */
int dnd_drive_cut(struct donard_context *ctx, struct dnd_drive *drive, uint64_t from_bytes, uint64_t to_bytes);
/*
 * Writes these bytes of a file through the page cache, without whole blocks, so that it does not overwrite what others
 * change beside them.  Nothing else of @drive may be in flight.  Returns 0 or -errno without a text.
 */
int dnd_drive_write_cached(const struct dnd_drive *drive, const void *bytes, size_t length, uint64_t offset);
/* Takes over what somebody else opened: opens it again, or duplicates @fd.  Refuses @fd if it lacks O_DIRECT. */
int dnd_drive_adopt(struct donard_context *ctx, int fd, const char *path, struct dnd_drive *drive);
/* Was the device made read-only meanwhile (blockdev --setro)? */
bool dnd_drive_is_read_only(const struct dnd_drive *drive);
void dnd_drive_close(struct dnd_drive *drive);
/*
 * kept.c: fails if a file lacks bytes of this range, all of which were written and flushed.  Returns 0 for a device, and if
 * the kernel does not tell.  *kept_end says up to where nothing is missing.
 */
int dnd_drive_check_kept(struct donard_context *ctx, const struct dnd_drive *drive, uint64_t offset, uint64_t end_bytes,
			 uint64_t *kept_end);
/* Does the drive have data for part of this range?  False in a hole of a file, and if nobody knows. */
bool dnd_drive_has_data(const struct dnd_drive *drive, uint64_t offset, uint64_t end_bytes);
/* False for a file that is gone once it is closed. */
bool dnd_drive_has_name(const struct dnd_drive *drive);
/* Fails if the path leads to another file by now, or to none. */
int dnd_drive_check_path(struct donard_context *ctx, const struct dnd_drive *drive);
/* denied.c: the failure to open @path, which is the drive's or the folder of a new file */
int dnd_drive_denied(struct donard_context *ctx, const struct dnd_drive *drive, const char *path, int error_number);
/* Why a write to the open file may have failed with this error, as a part of a sentence; or NULL. */
const char *dnd_drive_forbidden(const struct dnd_drive *drive, int error_number);
/* Fails for a file that the kernel swaps to: it can be opened for writing, but refuses each write. */
int dnd_drive_check_swap(struct donard_context *ctx, const struct dnd_drive *drive);
/*
 * unheld.c: fails if a loop device lies on the drive or file, or a target of the kernel exports it, or the drive's disk or a
 * partition of it
 */
int dnd_drive_check_unheld(struct donard_context *ctx, const struct dnd_drive *drive);
/* lost.c: the failure that the drive, or its namespace, is gone; 0 if it is not */
int dnd_drive_lost(struct donard_context *ctx, const struct dnd_drive *drive);
/* room.c: each fails, and says what is missing. */
/* The @bytes that a copy adds cannot be reserved: ENOSPC or EDQUOT.  Nothing was written yet. */
int dnd_drive_no_room(struct donard_context *ctx, const struct dnd_drive *drive, uint64_t bytes, int error_number);
/* A write failed with ENOSPC or EDQUOT. */
int dnd_drive_is_full(struct donard_context *ctx, const struct dnd_drive *drive, uint64_t offset, int error_number);
int dnd_drive_flush_failed(struct donard_context *ctx, const struct dnd_drive *drive, int error_number);
/* Stands for an errno: a request moved fewer bytes than it was asked for. */
#define DND_CUT_SHORT	4096
/* Its size as of now; UINT64_MAX if the kernel does not tell it. */
uint64_t dnd_drive_size_now(const struct dnd_drive *drive);
/* The failure that the drive or file is now shorter than @end_bytes, where the transfer ends; 0 if it is not. */
int dnd_drive_shrank(struct donard_context *ctx, const struct dnd_drive *drive, uint64_t end_bytes);
/*
 * written.c: was it written since dnd_drive_write_mark()?  False also if that is not known, because the kernel told
 * nothing.  The mark is 0 then.
 */
uint64_t dnd_drive_write_mark(struct donard_context *ctx, const struct dnd_drive *drive);
bool dnd_drive_was_written(struct donard_context *ctx, const struct dnd_drive *drive, uint64_t mark);
/* durable.c: do flushed data survive a power cut, as far as the kernel's settings tell?  If not, @doubt says why. */
struct dnd_doubt {
	char text[DONARD_REASON_BYTES];	/* a sentence without its full stop */
	bool certain;			/* they are not flushed; else nobody knows, or the file has no name */
};
bool dnd_drive_is_durable(struct donard_context *ctx, const struct dnd_drive *drive, struct dnd_doubt *doubt);
/* Asks the devices that it is made of now, rather than those of when it was opened. */
bool dnd_drive_is_durable_now(struct donard_context *ctx, const struct dnd_drive *drive, struct dnd_doubt *doubt);
/* Does both this and what dnd_drive_look_again() does, in one look at the devices. */
enum dnd_change dnd_drive_look_and_judge(struct donard_context *ctx, const struct dnd_drive *drive, struct dnd_doubt *doubt, int *rc);
/* Do the two byte ranges share bytes on the medium or in a file? */
enum dnd_sharing {
	DND_APART,
	DND_MAY_SHARE,		/* they lie on one drive, and nobody knows at which bytes */
	DND_SHARE,
};

enum dnd_sharing dnd_drive_overlap(const struct dnd_drive *a, uint64_t a_offset, const struct dnd_drive *b,
		       uint64_t b_offset, uint64_t length);
/* May the file lie on the drive, or on a part of it? */
bool dnd_drive_may_hold(struct donard_context *ctx, const struct dnd_drive *drive, const struct dnd_drive *file);
/* locate.c: where a byte of the drive or file lies; no place if it is in a hole, or if nobody knows */
void dnd_drive_locate(const struct dnd_drive *drive, uint64_t offset_bytes, struct dnd_places *places);
/* Opens a leg as a drive of its own, for reading.  It borrows @path, its name in errors.  -errno without a text. */
int dnd_drive_open_leg(const struct donard_context *ctx, const struct dnd_drive *drive, size_t leg,
		       const char *path, struct dnd_drive *leg_drive);
/* Sets a file's alignments and @bounce by what its file system says.  Does nothing for a block device. */
void dnd_drive_ask(struct donard_context *ctx, struct dnd_drive *drive);
/* Sets only @bounce again, because requests keep to the alignments they were told.  Fails if sysfs cannot be read. */
int dnd_drive_ask_again(struct donard_context *ctx, struct dnd_drive *drive);
/*
 * held.c: may a copy use a drive or file that was opened some time ago?  Sets the size and @bounce anew.  Fails if the drive
 * is gone or was formatted, and if the copy @writes to an adopted drive that somebody uses now.
 */
int dnd_drive_check_held(struct donard_context *ctx, struct dnd_drive *drive, bool writes);
/* unused.c: fails if the block device, by whichever name, is mounted, swap space, a journal, or a leg. */
int dnd_drive_check_unused(struct donard_context *ctx, const struct dnd_drive *drive);
/*
 * Claims an adopted block device as O_EXCL does, unless it is claimed already, perhaps by the program itself: then it is not
 * known whether anybody else uses it.  dnd_drive_close() drops the claim.
 */
int dnd_drive_claim_adopted(struct donard_context *ctx, struct dnd_drive *drive);
/* Fails because another user has the device: the kernel refused O_EXCL. */
int dnd_drive_is_busy(struct donard_context *ctx, const struct dnd_drive *drive);
/*
 * Claims the other block devices of the namespaces that the block device lies on, as O_EXCL claims itself.  Fails if one of them
 * is in use.  dnd_drive_close() drops the claims.
 */
int dnd_drive_claim_twins(struct donard_context *ctx, struct dnd_drive *drive);
void dnd_drive_drop_claims(struct dnd_drive *drive);
/* Does the file system still do direct I/O of the file?  Makes one system call; does not look below the file system. */
bool dnd_drive_is_direct(const struct dnd_drive *drive);

/*
 * generic.c: the generic character device of an NVMe namespace (/dev/ng0n1),
 * which takes the drive's own commands and bypasses the block layer.
 */
struct dnd_generic {
	int fd;				/* -1: not in use */
	int block_fd;			/* the block device, borrowed from the drive */
	uint64_t size_bytes;		/* of the block device when it was opened */
	uint32_t nsid;
	uint32_t lba_bytes;
	uint64_t start_bytes;		/* of the partition; 0 for the namespace */
	uint64_t limit_bytes;		/* of one command */
	uint32_t memory_align_bytes;	/* the kernel bounces memory that is aligned to less */
};

/* Checks everything and opens it, for blocks of @align.  Sends Identify, but moves and changes no data. */
int dnd_generic_open(struct donard_context *ctx, const struct dnd_drive *drive, uint32_t align,
		     struct dnd_generic *generic);
void dnd_generic_close(struct dnd_generic *generic);
/*
 * Does the block device still have its size and logical block (else -ESTALE), and may it be written (else -EROFS)?
 * Nothing but this check keeps a command from bytes behind a partition that shrank, or from blocks of another format.
 * It does not cover commands that are in flight already.
 */
int dnd_generic_check(const struct dnd_generic *generic, bool writes);

/*
 * Handle the page cache of a drive that takes commands: write back the dirty pages of
 * a range, or drop its pages if the drive's bytes change.  A page that somebody maps or
 * is changing stays.
 */
int dnd_generic_write_back(struct donard_context *ctx, const struct dnd_drive *drive, uint64_t offset,
			   uint64_t length);
void dnd_generic_drop_cached(const struct dnd_drive *drive, uint64_t offset, uint64_t length);

/* file.c: the handle that programs get */
struct donard_file {
	struct dnd_handle handle;	/* held by its owner, and by requests in flight */
	unsigned int attachments;	/* how many of the holders are attachments of queues (queue/attach.c) */
	struct donard_context *ctx;
	char *path;			/* the drive's */
	struct dnd_drive drive;
	struct dnd_generic generic;	/* opened when a queue first needs it */
	int plain_fd;			/* without O_DIRECT, opened when a queue first needs it; or -1 */
	struct dnd_doubt doubt;		/* why flushed data were not durable when it was opened, or "" */
	bool plain_written;		/* the page cache may have bytes that the drive lacks */
};

/* How many holders it has that are no attachments.  Those drop their hold when nobody else has one. */
static inline unsigned int dnd_file_users(const struct donard_file *file)
{
	unsigned int attachments = __atomic_load_n(&file->attachments, __ATOMIC_ACQUIRE);

	return dnd_handle_holders(&file->handle) - attachments;
}

/* Opens it for reading, or as @target for writing.  A new file stays unnamed (dnd_drive_name()); @doubt is not set. */
int dnd_file_open(struct donard_context *ctx, const char *path, bool target, struct donard_file **out);
/* Drops a hold; the last one closes the file, which may be NULL.  donard_file_close() drops the program's own. */
void dnd_file_put(struct donard_file *file);

/*
 * nvme.c: requests as the drive's own commands, in a ring with large entries
 */
struct io_uring_sqe;

#define DND_NVME_SQE_BYTES	128

struct dnd_command {
	const struct dnd_generic *generic;
	bool reads;
	void *memory;
	uint32_t length_bytes;	/* whole logical blocks, up to the generic device's limit */
	uint64_t offset_bytes;	/* from the start of the partition or namespace */
	int fixed_index;	/* of the registered buffer; -1: none */
};

void dnd_nvme_prepare(struct io_uring_sqe *sqe, const struct dnd_command *command);
/* Returns the length, or -errno.  If the drive reports a failure, that is -EIO, and *status is set. */
int dnd_nvme_result(int result, uint32_t length_bytes, uint32_t *status);
/*
 * Returns 0 if the kernel takes such commands for the open generic device, else -errno.  *setup is 0, or the -errno
 * with which the io_uring itself could not be set up.
 */
int dnd_nvme_probe(int fd, int *setup);
/* Words for the status of a command that the drive failed. */
const char *dnd_nvme_status_text(uint32_t status);

#endif /* DND_DRIVE_H */
