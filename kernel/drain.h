/* SPDX-License-Identifier: GPL-2.0 */
/* The end of a region. */
#ifndef P2PMEM_DRAIN_H
#define P2PMEM_DRAIN_H

#include <linux/workqueue.h>

void p2pmem_remove_fn(struct work_struct *work);

#endif
