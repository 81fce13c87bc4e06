/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registered files.  A handle is a number that is never used again, so that one
 * that was deregistered means no other file.
 */
#ifndef CUF_FILES_H
#define CUF_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "cufile/inodes.h"

struct cuf_file {
	uint64_t handle;
	int program_fd;		/* as it was registered: a number, and not ours */
	int direct_fd;		/* ours, with O_DIRECT; -1 where there is only compatibility mode */
	int plain_fd;		/* ours, without */
	uint64_t device, inode;
	bool readable, writable;
	bool is_regular;
	bool durable;		/* O_SYNC or O_DSYNC */
	char name[64];		/* for the log */
	struct cuf_inode *lock;	/* of who writes; all that mean this file have it */
};

/* 0 or a code. */
int cuf_file_register(int fd, uint64_t *handle);
/* It is in no table any more, and in use until cuf_file_free(); NULL: there is none. */
struct cuf_file *cuf_file_take(uint64_t handle);
void cuf_file_free(struct cuf_file *file);
/* With the home's lock held. */
struct cuf_file *cuf_file_find(uint64_t handle);
/* When the driver is closed: all of them. */
void cuf_files_end(void);

#endif /* CUF_FILES_H */
