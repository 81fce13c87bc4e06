// SPDX-License-Identifier: GPL-2.0
/* /dev/p2pmem_control: the administrator's interface. */
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/security.h>

#include "p2pmem.h"

static int may_administer(char *reason)
{
	if (!capable(CAP_SYS_RAWIO)) {
		p2pmem_reason(reason, "CAP_SYS_RAWIO is missing: run as root");
		return -EPERM;
	}
	if (security_locked_down(LOCKDOWN_PCI_ACCESS)) {
		p2pmem_reason(reason, "the kernel is locked down (PCI access): boot without lockdown, or disable secure boot");
		return -EPERM;
	}
	return 0;
}

/* Where nobody who knew more has said why. */
static void explain_errno(char *reason, int err)
{
	if (!err || reason[0])
		return;
	if (err == -ENOMEM)
		p2pmem_reason(reason, "the kernel has no memory for its records of a region: free some, and try again");
	else if (err == -EINTR)
		p2pmem_reason(reason, "a signal ended the wait for the function: try again");
	else
		p2pmem_reason(reason, "the region cannot be made (errno %d)", -err);
}

static long ctl_region_add(void *object, void *arg)
{
	struct p2pmem_region **made = object;
	struct p2pmem_region_add *req = arg;
	int ret;

	memset(req->reason, 0, sizeof(req->reason));
	if (req->flags || req->reserved0) {
		p2pmem_reason(req->reason, "flags and reserved fields must be zero");
		return -EINVAL;
	}
	ret = may_administer(req->reason) ?: p2pmem_region_add(req, made);
	explain_errno(req->reason, ret);
	return ret;
}

/* The gate makes it one step: who opens the region later finds it draining. */
static int close_if_idle(struct p2pmem_region *r, char *reason)
{
	int ret = -EBUSY;

	down_write(&r->gate);
	if (r->state != P2PMEM_STATE_READY) {
		p2pmem_reason(reason, "p2pmem%u is being removed already", r->id);
	} else if (p2pmem_region_idle(r)) {
		r->state = P2PMEM_STATE_DRAINING;
		ret = 0;
	} else {
		p2pmem_holders_text(r, reason, P2PMEM_REASON_BYTES);
	}
	up_write(&r->gate);
	return ret;
}

static long ctl_region_remove(void *object, void *arg)
{
	struct p2pmem_region_remove *req = arg;
	struct p2pmem_region *r;
	int ret;

	memset(req->reason, 0, sizeof(req->reason));
	if (req->flags & ~P2PMEM_REMOVE_IF_IDLE || req->reserved0)
		return -EINVAL;
	ret = may_administer(req->reason);
	if (ret)
		return ret;
	r = p2pmem_region_get(req->region);
	if (!r) {
		p2pmem_reason(req->reason, "there is no region p2pmem%u",
			      req->region);
		return -ENODEV;
	}
	if (req->flags & P2PMEM_REMOVE_IF_IDLE) {
		ret = close_if_idle(r, req->reason);
		if (ret)
			goto out_put;
	}
	p2pmem_remove_start(r);
	ret = p2pmem_remove_wait(r, true);
	if (ret)
		p2pmem_reason(req->reason, "p2pmem%u still drains; the removal goes on by itself", r->id);
	else if (READ_ONCE(r->state) == P2PMEM_STATE_QUARANTINED)
		p2pmem_reason(req->reason, "the device is gone; p2pmem%u stays in quarantine until its last holder lets go", r->id);
out_put:
	p2pmem_region_put(r);
	return ret;
}

static const struct p2pmem_ioctl ctl_table[] = {
	{ P2PMEM_CTL_REGION_ADD, sizeof(struct p2pmem_region_add),
	  sizeof(struct p2pmem_region_add), P2PMEM_ANSWER_NEEDED,
	  ctl_region_add },
	{ P2PMEM_CTL_REGION_REMOVE, sizeof(struct p2pmem_region_remove),
	  sizeof(struct p2pmem_region_remove), P2PMEM_ANSWER_REASON,
	  ctl_region_remove },
};

static long ctl_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct p2pmem_region *made = NULL;
	long ret;

	ret = p2pmem_ioctl_dispatch(ctl_table, ARRAY_SIZE(ctl_table), &made,
				    cmd, (void __user *)arg);
	if (!made)
		return ret;
	if (ret) {	/* its number did not reach the caller */
		p2pmem_remove_start(made);
		p2pmem_remove_wait(made, true);
	}
	p2pmem_region_put(made);
	return ret;
}

static const struct file_operations ctl_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = ctl_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.llseek = noop_llseek,
};

static struct miscdevice ctl_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "p2pmem_control",
	.fops = &ctl_fops,
	.mode = 0600,
};

int p2pmem_control_init(void)
{
	return misc_register(&ctl_misc);
}

void p2pmem_control_exit(void)
{
	misc_deregister(&ctl_misc);
}
