/* SPDX-License-Identifier: GPL-2.0 */
/* A region's memory as registered buffers of an io_uring. */
#ifndef P2PMEM_BUFFER_H
#define P2PMEM_BUFFER_H

#include <linux/types.h>

struct io_uring_cmd;

int p2pmem_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags);

#endif
