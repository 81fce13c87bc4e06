// SPDX-License-Identifier: GPL-2.0
/* One way in and out for all ioctls: sized structs, copied as a whole. */
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "ioctl.h"
#include "p2pmem.h"

static const struct p2pmem_ioctl *lookup(const struct p2pmem_ioctl *table,
					 size_t entries, unsigned int cmd)
{
	size_t i;

	/* Not the size: the caller's struct may be an older or a newer one. */
	for (i = 0; i < entries; i++)
		if (!((table[i].cmd ^ cmd) & ~IOCSIZE_MASK))
			return &table[i];
	return NULL;
}

/*
 * What a call changed is never reported as EFAULT.  Calls that change something
 * need no answer, but for REGION_ADD, whose caller needs the number: control.c
 * takes the region back.  A refusal carries its reason in the struct, and stays
 * that refusal if the reason cannot be written.  No lock is held over a copy.
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
