/* SPDX-License-Identifier: GPL-2.0 */
/* The dispatch of all ioctls: sizes, copies of the struct, and the answer. */
#ifndef P2PMEM_IOCTL_H
#define P2PMEM_IOCTL_H

#include <linux/types.h>

enum p2pmem_answer {
	P2PMEM_ANSWER_NONE,	/* the struct is not copied back to the caller */
	P2PMEM_ANSWER_REASON,	/* it is copied, for its reason; a failure to copy is ignored */
	P2PMEM_ANSWER_NEEDED,	/* it is copied, and the call fails if the copy fails */
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
