// SPDX-License-Identifier: GPL-2.0
/* /dev/nvidia-lab: what the tests' libcuda is made of.  See nvidia-lab.h. */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "lab.h"

static int node_open(struct inode *inode, struct file *filp)
{
	struct lab_client *client = kzalloc(sizeof(*client), GFP_KERNEL);

	if (!client)
		return -ENOMEM;
	client->tgid = current->tgid;
	INIT_LIST_HEAD(&client->allocations);
	filp->private_data = client;
	mutex_lock(&lab.lock);
	list_add_tail(&client->link, &lab.clients);
	lab_user_begins();
	mutex_unlock(&lab.lock);
	return 0;
}

/* Called when the file is closed, and when its process exits or is killed. */
static int node_release(struct inode *inode, struct file *filp)
{
	struct lab_client *client = filp->private_data;
	struct lab_allocation *a, *next;

	mutex_lock(&lab.lock);
	list_for_each_entry_safe(a, next, &client->allocations, link)
		lab_free(a);
	list_del(&client->link);
	lab_user_ends();
	mutex_unlock(&lab.lock);
	kfree(client);
	return 0;
}

static long do_device(void __user *user)
{
	struct nvlab_device arg = { };

	mutex_lock(&lab.lock);
	if (lab.pdev) {
		arg.domain = pci_domain_nr(lab.pdev->bus);
		arg.bus = lab.pdev->bus->number;
		arg.device = PCI_SLOT(lab.pdev->devfn);
		arg.function = PCI_FUNC(lab.pdev->devfn);
	}
	arg.bar1_bytes = lab_bar1_mib ? (u64)lab_bar1_mib << 20 : lab.bytes;
	arg.vram_bytes = lab.bytes;
	arg.free_bytes = lab_free_bytes();
	mutex_unlock(&lab.lock);
	return copy_to_user(user, &arg, sizeof(arg)) ? -EFAULT : 0;
}

static long do_alloc(struct lab_client *client, void __user *user)
{
	struct nvlab_alloc arg;
	long ret = -ENODEV;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	mutex_lock(&lab.lock);
	if (lab.pdev)
		ret = lab_allocate(client, arg.bytes, &arg.va);
	mutex_unlock(&lab.lock);
	if (!ret && copy_to_user(user, &arg, sizeof(arg)))
		ret = -EFAULT;	/* the file's end frees it */
	return ret;
}

static long do_free_or_revoke(struct lab_client *client, unsigned int cmd,
			      void __user *user)
{
	struct lab_allocation *a;
	long ret = -ENOENT;
	u64 va;

	if (copy_from_user(&va, user, sizeof(va)))
		return -EFAULT;
	mutex_lock(&lab.lock);
	a = lab_find(client, va, 1);
	if (a && cmd == NVLAB_REVOKE) {
		lab_revoke(a);
		ret = 0;
	} else if (a && a->va == va) {
		lab_free(a);
		ret = 0;
	}
	mutex_unlock(&lab.lock);
	return ret;
}

static long do_info(struct lab_client *client, void __user *user)
{
	struct lab_allocation *a;
	struct nvlab_info arg;
	long ret = -ENOENT;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	mutex_lock(&lab.lock);
	a = lab_find(client, arg.va, 1);
	if (a) {
		arg.base = a->va;
		arg.bytes = a->bytes;
		arg.bar_offset = lab_bar_offset(a, arg.va - a->va);
		arg.serial = a->serial;
		ret = 0;
	}
	mutex_unlock(&lab.lock);
	if (!ret && copy_to_user(user, &arg, sizeof(arg)))
		ret = -EFAULT;
	return ret;
}

/* Returns a reference, which drop() gives back, to the allocation that contains the whole range; or NULL. */
static struct lab_allocation *hold(struct lab_client *client, u64 va, u64 bytes)
{
	struct lab_allocation *a;

	mutex_lock(&lab.lock);
	a = lab_find(client, va, bytes);
	if (a && va - a->va + bytes > a->bytes)
		a = NULL;
	if (a)
		kref_get(&a->refs);
	mutex_unlock(&lab.lock);
	return a;
}

static void drop(struct lab_allocation *a)
{
	if (!a)
		return;
	mutex_lock(&lab.lock);
	lab_allocation_put(a);
	mutex_unlock(&lab.lock);
}

static long copy_piece(struct lab_allocation *a, u64 offset, struct lab_allocation *from,
		       const struct nvlab_copy *arg, u64 done, void *buffer, size_t bytes)
{
	void __user *host = u64_to_user_ptr(arg->peer + done);

	if (arg->direction == NVLAB_TO_HOST) {
		lab_read(a, offset, buffer, bytes);
		return copy_to_user(host, buffer, bytes) ? -EFAULT : 0;
	}
	if (from)
		lab_read(from, arg->peer - from->va + done, buffer, bytes);
	else if (copy_from_user(buffer, host, bytes))
		return -EFAULT;
	lab_write(a, offset, buffer, bytes);
	return 0;
}

static long copy_all(struct lab_allocation *a, struct lab_allocation *from,
		     const struct nvlab_copy *arg)
{
	void *buffer = kvmalloc(LAB_PAGE, GFP_KERNEL);
	u64 done = 0;
	long ret = buffer ? 0 : -ENOMEM;

	while (!ret && done < arg->bytes) {
		size_t piece = min_t(u64, arg->bytes - done, LAB_PAGE);

		ret = copy_piece(a, arg->va - a->va + done, from, arg, done, buffer,
				 piece);
		done += piece;
		cond_resched();
	}
	kvfree(buffer);
	return ret;
}

static long do_copy(struct lab_client *client, void __user *user)
{
	struct lab_allocation *a, *from = NULL;
	struct nvlab_copy arg;
	long ret = -ENOENT;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	if (arg.direction > NVLAB_ON_GPU)
		return -EINVAL;
	a = hold(client, arg.va, arg.bytes);
	if (arg.direction == NVLAB_ON_GPU)
		from = hold(client, arg.peer, arg.bytes);
	if (a && (from || arg.direction != NVLAB_ON_GPU))
		ret = copy_all(a, from, &arg);
	drop(from);
	drop(a);
	return ret;
}

static void fill(void *buffer, const struct nvlab_set *arg, size_t bytes)
{
	size_t i;

	for (i = 0; i < bytes; i += arg->width)
		memcpy(buffer + i, &arg->value, arg->width);	/* little-endian */
}

static long do_set(struct lab_client *client, void __user *user)
{
	struct lab_allocation *a;
	struct nvlab_set arg;
	u64 done, bytes;
	void *buffer;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	if ((arg.width != 1 && arg.width != 2 && arg.width != 4) || arg.count > U32_MAX)
		return -EINVAL;
	bytes = arg.count * arg.width;
	a = hold(client, arg.va, bytes);
	if (!a)
		return -ENOENT;
	buffer = kvmalloc(LAB_PAGE, GFP_KERNEL);
	if (buffer) {
		fill(buffer, &arg, LAB_PAGE);
		for (done = 0; done < bytes; done += LAB_PAGE)
			lab_write(a, arg.va - a->va + done, buffer,
				  min_t(u64, bytes - done, LAB_PAGE));
	}
	drop(a);
	kvfree(buffer);
	return buffer ? 0 : -ENOMEM;
}

static long do_export(struct lab_client *client, void __user *user)
{
	struct lab_allocation *a;
	struct nvlab_export arg;
	int ret;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	if (!arg.bytes || !PAGE_ALIGNED(arg.va | arg.bytes))
		return -EINVAL;
	mutex_lock(&lab.lock);
	ret = lab_failure("export");
	mutex_unlock(&lab.lock);
	if (ret < 0)
		return ret;
	a = hold(client, arg.va, arg.bytes);
	if (!a)
		return -ENOENT;
	arg.fd = lab_export(a, arg.va - a->va, arg.bytes);
	drop(a);
	if (arg.fd < 0)
		return arg.fd;
	return copy_to_user(user, &arg, sizeof(arg)) ? -EFAULT : 0;
}

static long node_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct lab_client *client = filp->private_data;
	void __user *user = (void __user *)arg;

	switch (cmd) {
	case NVLAB_DEVICE:
		return do_device(user);
	case NVLAB_ALLOC:
		return do_alloc(client, user);
	case NVLAB_FREE:
	case NVLAB_REVOKE:
		return do_free_or_revoke(client, cmd, user);
	case NVLAB_INFO:
		return do_info(client, user);
	case NVLAB_COPY:
		return do_copy(client, user);
	case NVLAB_SET:
		return do_set(client, user);
	case NVLAB_EXPORT:
		return do_export(client, user);
	default:
		return -ENOTTY;
	}
}

static const struct file_operations node_fops = {
	.owner = THIS_MODULE,
	.open = node_open,
	.release = node_release,
	.unlocked_ioctl = node_ioctl,
	.llseek = noop_llseek,
};

static struct miscdevice node_misc = {
	.minor = 241,	/* of those for local use; 6.1 gives out dynamic ones twice */
	.name = NVLAB_NODE,
	.fops = &node_fops,
	.mode = 0666,
};

int lab_node_begin(void)
{
	return misc_register(&node_misc);
}

void lab_node_end(void)
{
	misc_deregister(&node_misc);
}
