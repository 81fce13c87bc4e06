// SPDX-License-Identifier: GPL-2.0
/*
 * Asks the kernel what its own rules for peer-to-peer DMA say of two functions,
 * so that a test can hold p2pmem's verdict against them; and keeps the device
 * lock of a function, as a driver that binds slowly does.
 */
#include <linux/completion.h>
#include <linux/fs.h>
#include <linux/kprobes.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/pci-p2pdma.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "rules.h"

/* The lock is let go by the same task that took it: one of a work queue. */
struct holder {
	struct work_struct work;
	struct pci_dev *pdev;
	struct completion taken, done;
};

static struct pci_dev *find(const struct rules_function *f)
{
	return pci_get_domain_bus_and_slot(f->domain, f->bus, f->devfn);
}

#if RULES_HAVE_P2PDMA

typedef enum pci_p2pdma_map_type (*map_type_fn)(struct p2pdma_provider *provider,
						struct device *dev);

/* It is not exported. */
static map_type_fn map_type_of_kernel(void)
{
	struct kprobe probe = { .symbol_name = "pci_p2pdma_map_type" };
	map_type_fn fn;

	if (register_kprobe(&probe))
		return NULL;
	fn = (map_type_fn)probe.addr;
	unregister_kprobe(&probe);
	return fn;
}

/* The provider's device lock is held: a pool that is added here is removed again. */
static int ask_type(struct pci_dev *provider, struct pci_dev *client,
		    struct rules_pair *pair)
{
	map_type_fn map_type = map_type_of_kernel();
	struct p2pdma_provider *memory;
	void *group;
	int ret;

	if (!map_type)
		return -ENOENT;
	group = devres_open_group(&provider->dev, NULL, GFP_KERNEL);
	if (!group)
		return -ENOMEM;
	ret = pcim_p2pdma_init(provider);
	memory = ret ? NULL : pcim_p2pdma_provider(provider, pair->provider.bar);
	if (!ret && !memory)
		ret = -ENXIO;
	if (!ret)
		pair->type = map_type(memory, &client->dev);
	devres_close_group(&provider->dev, group);
	devres_release_group(&provider->dev, group);
	return ret;
}

static int ask(struct pci_dev *provider, struct pci_dev *client,
	       struct rules_pair *pair)
{
	struct device *clients[] = { &client->dev };
	int ret;

	device_lock(&provider->dev);
	/* First: it renews what the kernel remembers of the pair. */
	pair->distance = pci_p2pdma_distance_many(provider, clients, 1, false);
	ret = ask_type(provider, client, pair);
	device_unlock(&provider->dev);
	return ret;
}

#else

static int ask(struct pci_dev *provider, struct pci_dev *client,
	       struct rules_pair *pair)
{
	return -EOPNOTSUPP;
}

#endif

static long do_ask(void __user *user)
{
	struct pci_dev *provider, *client;
	struct rules_pair pair;
	long ret = -ENODEV;

	if (copy_from_user(&pair, user, sizeof(pair)))
		return -EFAULT;
	provider = find(&pair.provider);
	client = find(&pair.client);
	if (provider && client)
		ret = ask(provider, client, &pair);
	pci_dev_put(client);
	pci_dev_put(provider);
	if (!ret && copy_to_user(user, &pair, sizeof(pair)))
		ret = -EFAULT;
	return ret;
}

static void hold_fn(struct work_struct *work)
{
	struct holder *holder = container_of(work, struct holder, work);

	device_lock(&holder->pdev->dev);
	complete(&holder->taken);
	wait_for_completion(&holder->done);
	device_unlock(&holder->pdev->dev);
}

static long do_lock(struct file *filp, void __user *user)
{
	struct holder *holder = filp->private_data;
	struct rules_function f;

	if (holder->pdev)
		return -EBUSY;
	if (copy_from_user(&f, user, sizeof(f)))
		return -EFAULT;
	holder->pdev = find(&f);
	if (!holder->pdev)
		return -ENODEV;
	queue_work(system_unbound_wq, &holder->work);
	wait_for_completion(&holder->taken);
	return 0;
}

static long rules_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	switch (cmd) {
	case RULES_ASK:
		return do_ask((void __user *)arg);
	case RULES_LOCK:
		return do_lock(filp, (void __user *)arg);
	default:
		return -ENOTTY;
	}
}

static int rules_open(struct inode *inode, struct file *filp)
{
	struct holder *holder = kzalloc(sizeof(*holder), GFP_KERNEL);

	if (!holder)
		return -ENOMEM;
	INIT_WORK(&holder->work, hold_fn);
	init_completion(&holder->taken);
	init_completion(&holder->done);
	filp->private_data = holder;
	return 0;
}

static int rules_release(struct inode *inode, struct file *filp)
{
	struct holder *holder = filp->private_data;

	complete(&holder->done);
	flush_work(&holder->work);
	pci_dev_put(holder->pdev);
	kfree(holder);
	return 0;
}

static const struct file_operations rules_fops = {
	.owner = THIS_MODULE,
	.open = rules_open,
	.release = rules_release,
	.unlocked_ioctl = rules_ioctl,
	.llseek = noop_llseek,
};

static struct miscdevice rules_misc = {
	.minor = 243,	/* of those for local use; 6.1 gives out dynamic ones twice */
	.name = RULES_NODE,
	.fops = &rules_fops,
	.mode = 0600,
};
module_misc_device(rules_misc);

MODULE_DESCRIPTION("The kernel's rules for peer-to-peer DMA, for the tests of p2pmem");
MODULE_LICENSE("GPL");
