// SPDX-License-Identifier: GPL-2.0
/*
 * An importer of dma-bufs for tests: attaches for any PCI function in every way
 * that drivers do, tells the addresses it got, and holds them for as long as
 * its file is open or until it is told to let go.  See importer.h.
 */
#include <linux/delay.h>
#include <linux/dma-buf.h>
#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "importer.h"

static bool stall;
module_param(stall, bool, 0644);
MODULE_PARM_DESC(stall, "until this is N, some callers do not get on (importer.h)");

/* Table and pinned are under the reservation lock. */
struct importer {
	struct mutex lock;		/* one call at a time */
	u32 mode;
	struct device *dev;
	struct dma_buf *dmabuf;
	struct dma_buf_attachment *attach;
	struct sg_table *table;
	enum dma_data_direction direction;
	bool pinned;
	unsigned int notified;
	struct work_struct unmap_work;
	struct dma_fence *fence;
};

static struct miscdevice importer_misc;

/* The reservation lock is held. */
static void unmap_locked(struct importer *im)
{
	if (im->table)
		dma_buf_unmap_attachment(im->attach, im->table, im->direction);
	im->table = NULL;
	if (im->pinned)
		dma_buf_unpin(im->attach);
	im->pinned = false;
}

static void unmap(struct importer *im)
{
	dma_resv_lock(im->dmabuf->resv, NULL);
	unmap_locked(im);
	dma_resv_unlock(im->dmabuf->resv);
}

static void unmap_fn(struct work_struct *work)
{
	unmap(container_of(work, struct importer, unmap_work));
}

static void importer_unmap_soon(struct dma_buf_attachment *attach)
{
	struct importer *im = attach->importer_priv;

	im->notified++;
	schedule_work(&im->unmap_work);
}

static void wait_while_stalled(void)
{
	while (READ_ONCE(stall))
		msleep(20);
}

static void importer_unmap_now(struct dma_buf_attachment *attach)
{
	struct importer *im = attach->importer_priv;

	im->notified++;
	wait_while_stalled();
	unmap_locked(im);
}

static void __maybe_unused importer_ignore(struct dma_buf_attachment *attach)
{
	struct importer *im = attach->importer_priv;

	im->notified++;
}

static const struct dma_buf_attach_ops importer_ops[] = {
	[IMPORTER_NO_P2P] = { .COMPAT_CALLBACK = importer_unmap_soon },
	[IMPORTER_DYNAMIC] = {
		.allow_peer2peer = true,
		.COMPAT_CALLBACK = importer_unmap_soon,
	},
	[IMPORTER_REVOCABLE] = {
		.allow_peer2peer = true,
		.COMPAT_CALLBACK = importer_unmap_now,
	},
	[IMPORTER_PINNED] = {
		.allow_peer2peer = true,
		.COMPAT_CALLBACK = COMPAT_PINNED_CALLBACK,
	},
};

static struct device *find_device(const struct importer_attach *arg)
{
	struct pci_dev *pdev;

	if (arg->domain == U32_MAX)
		return get_device(importer_misc.this_device);
	pdev = pci_get_domain_bus_and_slot(arg->domain, arg->bus, arg->function);
	return pdev ? &pdev->dev : NULL;
}

static struct dma_buf_attachment *attach_as(struct importer *im, u32 mode)
{
	if (mode == IMPORTER_STATIC)
		return dma_buf_attach(im->dmabuf, im->dev);
	return dma_buf_dynamic_attach(im->dmabuf, im->dev, &importer_ops[mode],
				      im);
}

static long do_attach(struct importer *im, void __user *user)
{
	struct importer_attach arg;
	long ret;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	if (im->attach || arg.mode > IMPORTER_PINNED)
		return -EINVAL;
	im->dmabuf = dma_buf_get(arg.fd);
	if (IS_ERR(im->dmabuf))
		return PTR_ERR(im->dmabuf);
	im->dev = find_device(&arg);
	if (!im->dev) {
		ret = -ENXIO;
		goto err_put_dmabuf;
	}
	im->mode = arg.mode;
	im->attach = attach_as(im, arg.mode);
	if (IS_ERR(im->attach)) {
		ret = PTR_ERR(im->attach);
		im->attach = NULL;
		goto err_put_device;
	}
	return 0;

err_put_device:
	put_device(im->dev);
err_put_dmabuf:
	dma_buf_put(im->dmabuf);
	return ret;
}

static void describe(struct sg_table *table, struct importer_map *arg)
{
	struct scatterlist *sg;
	int i;

	arg->nents = table->nents;
	arg->orig_nents = table->orig_nents;
	arg->pages = 0;
	for_each_sgtable_dma_sg(table, sg, i) {
		arg->pages += !!sg_page(sg);
		if (i >= IMPORTER_ENTRIES)
			continue;
		arg->entries[i].address = sg_dma_address(sg);
		arg->entries[i].bytes = sg_dma_len(sg);
	}
}

/* The reservation lock is held. */
static int map_locked(struct importer *im, enum dma_data_direction direction)
{
	bool pins = im->mode == IMPORTER_REVOCABLE || im->mode == IMPORTER_PINNED;
	int ret;

	if (im->table)
		return -EBUSY;
	if (pins && !im->pinned) {
		ret = dma_buf_pin(im->attach);
		if (ret)
			return ret;
		im->pinned = true;
	}
	im->direction = direction;
	im->table = dma_buf_map_attachment(im->attach, direction);
	if (!IS_ERR(im->table))
		return 0;
	ret = PTR_ERR(im->table);
	im->table = NULL;
	unmap_locked(im);
	return ret;
}

static long do_map(struct importer *im, void __user *user)
{
	struct importer_map arg;
	long ret;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	if (!im->attach || arg.direction > DMA_FROM_DEVICE)
		return -EINVAL;
	dma_resv_lock(im->dmabuf->resv, NULL);
	ret = map_locked(im, arg.direction);
	if (!ret)
		describe(im->table, &arg);
	dma_resv_unlock(im->dmabuf->resv);
	if (!ret && copy_to_user(user, &arg, sizeof(arg)))
		ret = -EFAULT;
	return ret;
}

static long do_state(struct importer *im, void __user *user)
{
	struct importer_state state = {
		.notified = READ_ONCE(im->notified),
		.mapped = !!READ_ONCE(im->table),
	};

	return copy_to_user(user, &state, sizeof(state)) ? -EFAULT : 0;
}

static long do_vmap(struct importer *im)
{
	struct iosys_map map;
	int ret;

	if (!im->attach)
		return -EINVAL;
	ret = compat_vmap(im->dmabuf, &map);
	if (!ret)
		compat_vunmap(im->dmabuf, &map);
	return ret;
}

/* --- a request under way, as an accelerator's driver announces it --- */

static DEFINE_SPINLOCK(fence_lock);

static const char *fence_name(struct dma_fence *fence)
{
	return "importer";
}

static const struct dma_fence_ops fence_ops = {
	.get_driver_name = fence_name,
	.get_timeline_name = fence_name,
};

/* A driver may check whether a request has ended only when a waiter asks for the signal.  False means that it has ended. */
static bool lazy_enable_signaling(struct dma_fence *fence)
{
	return false;
}

static const struct dma_fence_ops lazy_fence_ops = {
	.get_driver_name = fence_name,
	.get_timeline_name = fence_name,
	.enable_signaling = lazy_enable_signaling,
};

/* Returns a fence with a reference for the caller. */
static struct dma_fence *add_fence(struct importer *im, const struct dma_fence_ops *ops)
{
	struct dma_resv *resv = im->dmabuf->resv;
	struct dma_fence *fence = kzalloc(sizeof(*fence), GFP_KERNEL);
	int ret;

	if (!fence)
		return ERR_PTR(-ENOMEM);
	dma_fence_init(fence, ops, &fence_lock, dma_fence_context_alloc(1), 1);
	dma_resv_lock(resv, NULL);
	ret = dma_resv_reserve_fences(resv, 1);
	if (!ret)
		dma_resv_add_fence(resv, fence, DMA_RESV_USAGE_BOOKKEEP);
	dma_resv_unlock(resv);
	if (!ret)
		return fence;
	dma_fence_put(fence);
	return ERR_PTR(ret);
}

static long do_fence(struct importer *im)
{
	struct dma_fence *fence;

	if (!im->attach || im->fence)
		return -EINVAL;
	fence = add_fence(im, &fence_ops);
	if (IS_ERR(fence))
		return PTR_ERR(fence);
	im->fence = fence;
	return 0;
}

static long do_lazy_fence(struct importer *im)
{
	struct dma_fence *fence;

	if (!im->attach)
		return -EINVAL;
	fence = add_fence(im, &lazy_fence_ops);
	if (IS_ERR(fence))
		return PTR_ERR(fence);
	dma_fence_put(fence);
	return 0;
}

static void signal_fence(struct importer *im)
{
	if (!im->fence)
		return;
	dma_fence_signal(im->fence);
	dma_fence_put(im->fence);
	im->fence = NULL;
}

static long do_hold(struct importer *im)
{
	if (!im->attach)
		return -EINVAL;
	dma_resv_lock(im->dmabuf->resv, NULL);
	wait_while_stalled();
	dma_resv_unlock(im->dmabuf->resv);
	return 0;
}

static void detach(struct importer *im)
{
	if (!im->attach)
		return;
	unmap(im);
	dma_buf_detach(im->dmabuf, im->attach);
	cancel_work_sync(&im->unmap_work);	/* no callback comes any more */
	im->attach = NULL;
	dma_buf_put(im->dmabuf);
	put_device(im->dev);
}

static long call(struct importer *im, unsigned int cmd, void __user *user)
{
	switch (cmd) {
	case IMPORTER_ATTACH:
		return do_attach(im, user);
	case IMPORTER_MAP:
		return do_map(im, user);
	case IMPORTER_UNMAP:
		if (!im->attach)
			return -EINVAL;
		unmap(im);
		return 0;
	case IMPORTER_DETACH:
		detach(im);
		return 0;
	case IMPORTER_STATE:
		return do_state(im, user);
	case IMPORTER_VMAP:
		return do_vmap(im);
	case IMPORTER_FENCE:
		return do_fence(im);
	case IMPORTER_LAZY_FENCE:
		return do_lazy_fence(im);
	case IMPORTER_SIGNAL:
		signal_fence(im);
		return 0;
	case IMPORTER_HOLD:
		return do_hold(im);
	default:
		return -ENOTTY;
	}
}

static long importer_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct importer *im = filp->private_data;
	long ret;

	mutex_lock(&im->lock);
	ret = call(im, cmd, (void __user *)arg);
	mutex_unlock(&im->lock);
	return ret;
}

static int importer_open(struct inode *inode, struct file *filp)
{
	struct importer *im = kzalloc(sizeof(*im), GFP_KERNEL);

	if (!im)
		return -ENOMEM;
	mutex_init(&im->lock);
	INIT_WORK(&im->unmap_work, unmap_fn);
	filp->private_data = im;
	return 0;
}

static int importer_release(struct inode *inode, struct file *filp)
{
	struct importer *im = filp->private_data;

	signal_fence(im);
	detach(im);
	kfree(im);
	return 0;
}

static const struct file_operations importer_fops = {
	.owner = THIS_MODULE,
	.open = importer_open,
	.release = importer_release,
	.unlocked_ioctl = importer_ioctl,
	.llseek = noop_llseek,
};

static struct miscdevice importer_misc = {
	.minor = 240,	/* of those for local use; 6.1 gives out dynamic ones twice */
	.name = IMPORTER_NODE,
	.fops = &importer_fops,
	.mode = 0600,
};
module_misc_device(importer_misc);

MODULE_IMPORT_NS(COMPAT_NS_DMA_BUF);
MODULE_DESCRIPTION("Importer of dma-bufs for the tests of p2pmem");
MODULE_LICENSE("GPL");
