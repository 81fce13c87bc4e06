/* SPDX-License-Identifier: GPL-2.0 */
/* /dev/p2pmemN */
#ifndef P2PMEM_CHARDEV_H
#define P2PMEM_CHARDEV_H

#include <linux/fs.h>

extern const struct file_operations p2pmem_fops;

#endif
