/* SPDX-License-Identifier: GPL-2.0 */
/* read(), write() and P2PMEM_IOC_COPY. */
#ifndef P2PMEM_ACCESS_H
#define P2PMEM_ACCESS_H

#include <linux/fs.h>
#include <linux/uio.h>

#include "p2pmem.h"

ssize_t p2pmem_read_iter(struct kiocb *iocb, struct iov_iter *to);
ssize_t p2pmem_write_iter(struct kiocb *iocb, struct iov_iter *from);
long p2pmem_copy(struct p2pmem_file *to, const struct p2pmem_copy *req);

#endif
