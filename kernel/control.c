// SPDX-License-Identifier: GPL-2.0
/* /dev/p2pmem_control: the administrator's interface. */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>

#include "control.h"
#include "create.h"
#include "holders.h"
#include "ioctl.h"
#include "nvme_regs.h"
#include "p2pmem.h"
#include "page_type.h"
#include "pmem.h"
#include "reason.h"
#include "registry.h"
#include "removal.h"
#include "rights.h"

/* Explains an error for which nobody has written a more precise reason. */
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
	ret = p2pmem_may_administer(req->reason) ?: p2pmem_region_add(req, made);
	explain_errno(req->reason, ret);
	return ret;
}

/* Names the holders, which may have let go by now. */
static void explain_use(struct p2pmem_region *r, char *reason)
{
	if (!p2pmem_holders_text(r, reason, P2PMEM_REASON_BYTES,
				 task_active_pid_ns(current)))
		p2pmem_reason(reason, "p2pmem%u was in use a moment ago: try again", r->id);
}

/*
 * The check and the change happen under the gate, as one step, so a later open finds the
 * region draining.  Root must unmount a file system first, because nobody can take its pages
 * back.  The holders are named after the gate is released: a process that holds one of the
 * locks needed for that may be waiting for the gate.
 */
static int close_unless_used(struct p2pmem_region *r, bool if_idle, char *reason)
{
	bool ready, used;

	down_write(&r->gate);
	ready = r->state == P2PMEM_STATE_READY || p2pmem_lost_its_pages(r);
	used = ready && (if_idle ? !p2pmem_region_idle(r) : p2pmem_pmem_in_use(r));
	if (ready && !used) {
		WRITE_ONCE(r->state, P2PMEM_STATE_DRAINING);
		p2pmem_remove_start(r);	/* before a region without pages gets a page type again */
	}
	up_write(&r->gate);
	if (used)
		explain_use(r, reason);
	else if (!ready && if_idle)
		p2pmem_reason(reason, "p2pmem%u is being removed already", r->id);
	return used || (!ready && if_idle) ? -EBUSY : 0;
}

static long ctl_region_remove(void *object, void *arg)
{
	struct p2pmem_region_remove *req = arg;
	struct p2pmem_region *r;
	int ret;

	memset(req->reason, 0, sizeof(req->reason));
	if (req->flags & ~P2PMEM_REMOVE_IF_IDLE || req->reserved0) {
		p2pmem_reason(req->reason, "unknown flags, or a reserved field is not zero");
		return -EINVAL;
	}
	ret = p2pmem_may_administer(req->reason);
	if (ret)
		return ret;
	r = p2pmem_region_get(req->region);
	if (!r) {
		p2pmem_reason(req->reason, "there is no region p2pmem%u",
			      req->region);
		return -ENODEV;
	}
	ret = close_unless_used(r, req->flags & P2PMEM_REMOVE_IF_IDLE, req->reason);
	if (ret)
		goto out_put;
	ret = p2pmem_remove_wait(r, true);
	if (ret)
		p2pmem_reason(req->reason, "p2pmem%u still drains; the removal goes on by itself", r->id);
	else if (READ_ONCE(r->state) == P2PMEM_STATE_QUARANTINED)
		p2pmem_reason(req->reason, "the device is gone; p2pmem%u stays in quarantine until its last holder lets go", r->id);
out_put:
	p2pmem_region_put(r);
	return ret;
}

static long ctl_nvme_memory(void *object, void *arg)
{
	struct p2pmem_nvme_memory *req = arg;

	memset(req->reason, 0, sizeof(req->reason));
	if (req->flags || req->reserved0[0] || req->reserved0[1] || req->reserved1) {
		p2pmem_reason(req->reason, "flags and reserved fields must be zero");
		return -EINVAL;
	}
	return p2pmem_may_administer(req->reason) ?: p2pmem_nvme_look(req);
}

static const struct p2pmem_ioctl ctl_table[] = {
	{ P2PMEM_CTL_REGION_ADD, offsetof(struct p2pmem_region_add, folio_bytes),
	  sizeof(struct p2pmem_region_add), P2PMEM_ANSWER_NEEDED,
	  ctl_region_add },
	{ P2PMEM_CTL_REGION_REMOVE, sizeof(struct p2pmem_region_remove),
	  sizeof(struct p2pmem_region_remove), P2PMEM_ANSWER_REASON,
	  ctl_region_remove },
	{ P2PMEM_CTL_NVME_MEMORY, sizeof(struct p2pmem_nvme_memory),
	  sizeof(struct p2pmem_nvme_memory), P2PMEM_ANSWER_NEEDED,
	  ctl_nvme_memory },
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
