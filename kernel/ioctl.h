/* SPDX-License-Identifier: GPL-2.0 */
/* One way in and out for all ioctls. */
#ifndef P2PMEM_IOCTL_H
#define P2PMEM_IOCTL_H

#include <linux/types.h>

enum p2pmem_answer {
	P2PMEM_ANSWER_NONE,	/* the struct does not go back to the caller */
	P2PMEM_ANSWER_REASON,	/* it does, if it can: for its reason */
	P2PMEM_ANSWER_NEEDED,	/* without it the call has failed */
};

struct p2pmem_ioctl {
	unsigned int cmd;
	size_t min_bytes;	/* first published size of the struct */
	size_t bytes;		/* size known to this module */
	enum p2pmem_answer answer;
	long (*call)(void *object, void *arg);
};

long p2pmem_ioctl_dispatch(const struct p2pmem_ioctl *table, size_t entries,
			   void *object, unsigned int cmd, void __user *uarg);

#endif
