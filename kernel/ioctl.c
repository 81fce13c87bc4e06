// SPDX-License-Identifier: GPL-2.0
/* All ioctls enter and return here, with sized structs that are copied as a whole. */
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "ioctl.h"
#include "p2pmem.h"

static const struct p2pmem_ioctl *lookup(const struct p2pmem_ioctl *table,
					 size_t entries, unsigned int cmd)
{
	size_t i;

	/* The sizes may differ: the caller's struct may be older or newer than this one. */
	for (i = 0; i < entries; i++)
		if (!((table[i].cmd ^ cmd) & ~IOCSIZE_MASK))
			return &table[i];
	return NULL;
}

/*
 * A call that changed something does not fail with EFAULT, since its caller can do without
 * the answer.  The exception is REGION_ADD, whose caller needs the region's number: if the
 * copy fails, control.c removes the region again.  A refusal carries its reason in the
 * struct, and its errno stays the same if the reason cannot be copied.  No lock is held
 * over a copy.
 */
long p2pmem_ioctl_dispatch(const struct p2pmem_ioctl *table, size_t entries,
			   void *object, unsigned int cmd, void __user *uarg)
{
	const struct p2pmem_ioctl *op = lookup(table, entries, cmd);
	u32 user_bytes;
	void *arg;
	long ret;

	if (!op)
		return -ENOTTY;
	if (get_user(user_bytes, (u32 __user *)uarg))
		return -EFAULT;
	if (user_bytes < op->min_bytes || user_bytes < _IOC_SIZE(cmd) ||
	    user_bytes > PAGE_SIZE)
		return -EINVAL;
	arg = kzalloc(op->bytes, GFP_KERNEL);
	if (!arg)
		return -ENOMEM;
	ret = copy_struct_from_user(arg, op->bytes, uarg, user_bytes);
	if (ret)
		goto out_free;
	ret = op->call(object, arg);
	if (op->answer == P2PMEM_ANSWER_NONE)
		goto out_free;
	*(u32 *)arg = user_bytes;
	if (copy_to_user(uarg, arg, min_t(size_t, user_bytes, op->bytes)) &&
	    op->answer == P2PMEM_ANSWER_NEEDED && !ret)
		ret = -EFAULT;
out_free:
	kfree(arg);
	return ret;
}
