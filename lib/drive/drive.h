/* SPDX-License-Identifier: Apache-2.0 */
/* An NVMe block device or a file on one, opened for O_DIRECT. */
#ifndef DONARD_DRIVE_H
#define DONARD_DRIVE_H

#include "drive/blockdev.h"

struct dnd_drive {
	const char *path;	/* borrowed */
	int fd;
	bool is_file;
	bool to_create;		/* a new file: made when the copy may start */
	bool writable;
	uint32_t align_bytes;	/* of offsets and lengths */
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
/* Cuts a file that grew to what it should hold; never below its former size. */
int dnd_drive_settle(struct donard_context *ctx, struct dnd_drive *drive, uint64_t end_bytes);
void dnd_drive_close(struct dnd_drive *drive);
/* Do the two byte ranges share bytes on the medium or in a file? */
bool dnd_drive_overlap(const struct dnd_drive *a, uint64_t a_offset, const struct dnd_drive *b,
		       uint64_t b_offset, uint64_t length);

/* dioalign.c: offset alignment by statx, or 0 if the kernel does not say. */
uint32_t dnd_dioalign(int fd);

#endif /* DONARD_DRIVE_H */
