// SPDX-License-Identifier: GPL-2.0
/* See exporter.h. */
#include <linux/dma-buf.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "exporter.h"

#define MOST_BYTES	(16UL << 20)

struct exported {
	u32 mode;
	bool revoked;
	atomic_t accesses;		/* faults, and accesses that were announced */
	void *memory;			/* of vmalloc: of single pages */
	struct dma_buf *inner;
};

static vm_fault_t exported_fault(struct vm_fault *vmf)
{
	struct exported *x = vmf->vma->vm_private_data;
	struct page *page;

	atomic_inc(&x->accesses);
	if (READ_ONCE(x->revoked))
		return VM_FAULT_SIGBUS;
	page = vmalloc_to_page(x->memory + (vmf->pgoff << PAGE_SHIFT));
	if (x->mode == EXPORTER_FRAMES)
		return vmf_insert_pfn(vmf->vma, vmf->address, page_to_pfn(page));
	get_page(page);
	vmf->page = page;
	return 0;
}

static const struct vm_operations_struct exported_vm_ops = {
	.fault = exported_fault,
};

static int exported_mmap(struct dma_buf *dmabuf, struct vm_area_struct *vma)
{
	struct exported *x = dmabuf->priv;

	if (READ_ONCE(x->revoked))
		return -ENODEV;
	if (x->mode == EXPORTER_UNMAPPED)
		return -ENOTSUPP;	/* as NVIDIA's driver has it */
	if (x->mode == EXPORTER_WRAPPED)
		return dma_buf_mmap(x->inner, vma, vma->vm_pgoff);
	if (x->mode == EXPORTER_FRAMES)
		vm_flags_set(vma, VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_private_data = x;
	vma->vm_ops = &exported_vm_ops;
	return 0;
}

static struct sg_table *exported_map(struct dma_buf_attachment *attach,
				     enum dma_data_direction dir)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static void exported_unmap(struct dma_buf_attachment *attach,
			   struct sg_table *table, enum dma_data_direction dir)
{
}

/* A GPU's driver would move its buffer to the host here. */
static int exported_begin_cpu_access(struct dma_buf *dmabuf, enum dma_data_direction dir)
{
	struct exported *x = dmabuf->priv;

	atomic_inc(&x->accesses);
	return 0;
}

static void exported_free(struct exported *x)
{
	if (x->inner)
		dma_buf_put(x->inner);
	vfree(x->memory);
	kfree(x);
}

static void exported_release(struct dma_buf *dmabuf)
{
	exported_free(dmabuf->priv);
}

static const struct dma_buf_ops exported_ops = {
	.map_dma_buf = exported_map,
	.unmap_dma_buf = exported_unmap,
	.mmap = exported_mmap,
	.begin_cpu_access = exported_begin_cpu_access,
	.release = exported_release,
};

static int fill(struct exported *x, const struct exporter_export *arg)
{
	x->mode = arg->mode;
	if (arg->mode == EXPORTER_WRAPPED) {
		struct dma_buf *inner = dma_buf_get(arg->inner_fd);

		if (IS_ERR(inner))
			return PTR_ERR(inner);
		x->inner = inner;
		return 0;
	}
	x->memory = vzalloc(arg->bytes);
	return x->memory ? 0 : -ENOMEM;
}

/* Takes over @x, whether it succeeds or not. */
static long publish(struct exported *x, u64 bytes)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct dma_buf *dmabuf;
	long ret;

	info.ops = &exported_ops;
	info.size = bytes;
	info.flags = O_RDWR;
	info.priv = x;
	info.exp_name = "stranger";
	dmabuf = dma_buf_export(&info);
	if (IS_ERR(dmabuf)) {
		exported_free(x);
		return PTR_ERR(dmabuf);
	}
	ret = dma_buf_fd(dmabuf, O_CLOEXEC);
	if (ret < 0)
		dma_buf_put(dmabuf);
	return ret;
}

static long do_export(const struct exporter_export *arg)
{
	struct exported *x;
	long ret;

	if (arg->mode > EXPORTER_WRAPPED || !arg->bytes ||
	    arg->bytes > MOST_BYTES || !PAGE_ALIGNED(arg->bytes))
		return -EINVAL;
	x = kzalloc(sizeof(*x), GFP_KERNEL);
	if (!x)
		return -ENOMEM;
	ret = fill(x, arg);
	if (ret) {
		exported_free(x);
		return ret;
	}
	return publish(x, arg->bytes);
}

static long revoke(struct dma_buf *dmabuf)
{
	struct exported *x = dmabuf->priv;

	WRITE_ONCE(x->revoked, true);
	unmap_mapping_range(dmabuf->file->f_mapping, 0, 0, 1);
	return 0;
}

static long count_accesses(struct dma_buf *dmabuf)
{
	struct exported *x = dmabuf->priv;

	return atomic_read(&x->accesses);
}

static long with_export(s32 fd, long (*call)(struct dma_buf *dmabuf))
{
	struct dma_buf *dmabuf = dma_buf_get(fd);
	long ret = -EINVAL;

	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	if (dmabuf->ops == &exported_ops)
		ret = call(dmabuf);
	dma_buf_put(dmabuf);
	return ret;
}

static long exporter_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct exporter_export export;
	s32 fd;

	switch (cmd) {
	case EXPORTER_EXPORT:
		if (copy_from_user(&export, (void __user *)arg, sizeof(export)))
			return -EFAULT;
		return do_export(&export);
	case EXPORTER_REVOKE:
	case EXPORTER_ACCESSES:
		if (get_user(fd, (s32 __user *)arg))
			return -EFAULT;
		return with_export(fd, cmd == EXPORTER_REVOKE ? revoke : count_accesses);
	}
	return -ENOTTY;
}

static const struct file_operations exporter_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = exporter_ioctl,
};

static struct miscdevice exporter_misc = {
	.minor = 242,	/* of those for local use; 6.1 gives out dynamic ones twice */
	.name = EXPORTER_NODE,
	.fops = &exporter_fops,
};

module_misc_device(exporter_misc);

MODULE_DESCRIPTION("an exporter of dma-bufs, for tests");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(COMPAT_NS_DMA_BUF);
