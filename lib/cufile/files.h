/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registered files.  A handle is a number that is never used again, so that the handle
 * of a deregistered file never means another file.
 */
#ifndef CUF_FILES_H
#define CUF_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "cufile/inodes.h"

#define CUF_FILE_GPUS	16
#define CUF_BLOCK_BYTES_MAX	65536	/* of a file system */

struct cuf_file {
	uint64_t handle;
	int program_fd;		/* the descriptor that the program registered, which is not ours */
	int direct_fd;		/* ours, with O_DIRECT; -1 if there is only compatibility mode */
	int plain_fd;		/* ours, without O_DIRECT; -errno: why there is none, and no compatibility mode */
	int claim_fd;		/* the program's own claim of a drive, if it has one: see cuf_inode_claim(); else -1 */
	uint64_t device, inode;
	bool readable, writable;
	bool is_regular;
	bool durable;		/* O_SYNC or O_DSYNC */
	uint64_t align;		/* what goes straight begins and ends at multiples of it in the file, */
	uint64_t memory_align;	/* and at multiples of this in memory; 0 in compatibility mode */
	/* CUDA contexts: [0] the file was read straight into their memory, [1] written from it; atomic, NULL behind the last */
	void *gpus[2][CUF_FILE_GPUS];
	uint64_t settled;	/* up to here no write that is under way can cut the file; UINT64_MAX for a drive; atomic */
	char *name;		/* its path, for the log */
	struct cuf_inode *lock;	/* for writes, and reads behind @settled; all registrations of this file share it */
};

/* Returns 0 or a code. */
int cuf_file_register(int fd, uint64_t *handle);
/* Takes the file out of the table; it stays in use until cuf_file_free().  NULL: there is none. */
struct cuf_file *cuf_file_take(uint64_t handle);
void cuf_file_free(struct cuf_file *file);
/* The caller holds the home's lock. */
struct cuf_file *cuf_file_find(uint64_t handle);
/*
 * Was the file read straight into GPU memory of this context, or written from it?  A write proves nothing about reads, whose
 * route is tried at the first read.  If more than CUF_FILE_GPUS have been noted: no.
 */
bool cuf_file_has_reached(const struct cuf_file *file, bool writes, const void *context);
void cuf_file_note_reached(struct cuf_file *file, bool writes, void *context);
/* Frees all files when the driver is closed. */
void cuf_files_end(void);

#endif /* CUF_FILES_H */
