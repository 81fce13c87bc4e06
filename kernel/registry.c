// SPDX-License-Identifier: GPL-2.0
/*
 * All regions: their numbers, the class of their nodes, and the list on which a region is
 * from publish to forget.  A lookup in the list returns a reference.
 *
 * This file knows nothing about what a region is made of.  create.c puts regions on the
 * list, and drain.c takes them off.
 */
#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/pci.h>

#include "p2pmem.h"
#include "reason.h"
#include "registry.h"
#include "trace.h"

static DEFINE_IDA(region_ids);
static DEFINE_MUTEX(regions_lock);
static LIST_HEAD(regions);
static struct class *p2pmem_class;
static dev_t p2pmem_devt;

/* For the work items of regions. */
struct workqueue_struct *p2pmem_wq;
/*
 * A removal waits for as long as somebody holds the memory, and also for items of p2pmem_wq.
 * A workqueue runs only so many items at a time, so removals have one of their own.
 */
struct workqueue_struct *p2pmem_remove_wq;

/* --- numbers and nodes --- */

/* Reserves and returns a number that no region has, or returns -errno. */
int p2pmem_region_number(void)
{
	return ida_alloc_max(&region_ids, P2PMEM_MAX_REGIONS - 1, GFP_KERNEL);
}

/* Frees the number of a region for which p2pmem_region_forget() was not called. */
void p2pmem_region_number_free(unsigned int id)
{
	ida_free(&region_ids, id);
}

/* Gives the region's node the device number that belongs to the region's number. */
void p2pmem_region_place_node(struct p2pmem_region *r)
{
	r->dev.class = p2pmem_class;
	r->dev.devt = p2pmem_devt + r->id;
}

/* --- the list --- */

/* From here on anybody can open the region or remove it. */
int p2pmem_region_publish(struct p2pmem_region *r)
{
	int ret;

	ret = dev_set_name(&r->dev, "p2pmem%u", r->id);
	if (ret)
		return ret;
	mutex_lock(&regions_lock);
	ret = cdev_device_add(&r->cdev, &r->dev);
	if (!ret) {
		list_add_tail(&r->link, &regions);
		/* Traced before anybody can find the region and remove it. */
		trace_p2pmem_state(r, P2PMEM_STATE_READY);
	}
	mutex_unlock(&regions_lock);
	return ret;
}

/*
 * Waits for a publish() under way.  A copy of an old node can open the region's device
 * number as soon as the number is registered, and publish() may still fail after that.
 */
bool p2pmem_region_is_published(struct p2pmem_region *r)
{
	bool published;

	mutex_lock(&regions_lock);
	published = !list_empty(&r->link);
	mutex_unlock(&regions_lock);
	return published;
}

/*
 * The node has gone, so its name and number are free for the next region, even
 * if a process still holds a descriptor of this one.
 */
void p2pmem_region_forget(struct p2pmem_region *r)
{
	mutex_lock(&regions_lock);
	list_del_init(&r->link);
	ida_free(&region_ids, r->id);
	WRITE_ONCE(r->finished, true);
	mutex_unlock(&regions_lock);
	wake_up_all(&r->wait);
}

struct p2pmem_region *p2pmem_region_get(unsigned int id)
{
	struct p2pmem_region *r, *found = NULL;

	mutex_lock(&regions_lock);
	list_for_each_entry(r, &regions, link)
		if (r->id == id)
			found = r;
	if (found)
		get_device(&found->dev);
	mutex_unlock(&regions_lock);
	return found;
}

void p2pmem_region_put(struct p2pmem_region *r)
{
	put_device(&r->dev);
}

/* The caller holds the device lock of @pdev, so that no region is added meanwhile. */
bool p2pmem_region_exists(struct pci_dev *pdev, u32 kind)
{
	struct p2pmem_region *r;
	bool found = false;

	device_lock_assert(&pdev->dev);
	mutex_lock(&regions_lock);
	list_for_each_entry(r, &regions, link)
		found |= r->pdev == pdev && r->provider->kind == kind;
	mutex_unlock(&regions_lock);
	return found;
}

/* Writes the reason why memory that p2pmem@id keeps in quarantine is refused; returns -EBUSY. */
int p2pmem_region_refuse_quarantined(int id, char *reason)
{
	p2pmem_reason(reason, "this memory is still held from before the device vanished: p2pmem%d is in quarantine until its last holder lets go",
		      id);
	return -EBUSY;
}

/*
 * Refuses a second region of memory of which a function can have only one.  Returns 0 if there
 * is none yet, else -errno with the cause in @reason.  @memory: a word for the memory.  The
 * caller holds the device lock of @pdev.
 */
int p2pmem_region_refuse_second(struct pci_dev *pdev, u32 kind, const char *memory, char *reason)
{
	struct p2pmem_region *r;
	bool quarantined = false;
	int id = -1;

	device_lock_assert(&pdev->dev);
	mutex_lock(&regions_lock);
	list_for_each_entry(r, &regions, link)
		if (r->pdev == pdev && r->provider->kind == kind) {
			id = r->id;
			quarantined = READ_ONCE(r->state) == P2PMEM_STATE_QUARANTINED;
		}
	mutex_unlock(&regions_lock);
	if (id < 0)
		return 0;
	if (quarantined)
		return p2pmem_region_refuse_quarantined(id, reason);
	p2pmem_reason(reason, "the %s of %s is a region already: p2pmem%d", memory,
		      pci_name(pdev), id);
	return -EEXIST;
}

/* The number of a region, in quarantine or not, that has a part of this range; -1 if there is none. */
int p2pmem_region_at(phys_addr_t phys, u64 bytes, bool quarantined)
{
	struct p2pmem_region *r;
	int id = -1;

	mutex_lock(&regions_lock);
	list_for_each_entry(r, &regions, link)
		if ((READ_ONCE(r->state) == P2PMEM_STATE_QUARANTINED) == quarantined &&
		    phys < r->backing.phys + r->backing.bytes && r->backing.phys < phys + bytes)
			id = r->id;
	mutex_unlock(&regions_lock);
	return id;
}

/* The first region of @pdev (of any function if NULL) not in quarantine, with a reference. */
struct p2pmem_region *p2pmem_region_of(struct pci_dev *pdev)
{
	struct p2pmem_region *r, *found = NULL;

	mutex_lock(&regions_lock);
	list_for_each_entry(r, &regions, link) {
		if (READ_ONCE(r->state) == P2PMEM_STATE_QUARANTINED)
			continue;
		if (!pdev || r->pdev == pdev) {
			found = r;
			get_device(&found->dev);
			break;
		}
	}
	mutex_unlock(&regions_lock);
	return found;
}

/* The first region of @pdev whose number is at least @id, with a reference. */
static struct p2pmem_region *region_from(struct pci_dev *pdev, unsigned int id)
{
	struct p2pmem_region *r, *found = NULL;

	mutex_lock(&regions_lock);
	list_for_each_entry(r, &regions, link)
		if (r->pdev == pdev && r->id >= id && (!found || r->id < found->id))
			found = r;
	if (found)
		get_device(&found->dev);
	mutex_unlock(&regions_lock);
	return found;
}

/*
 * @call may wait for those who use the region, so regions_lock is not held meanwhile: a
 * bind of another function needs that lock.
 */
void p2pmem_for_regions_of(struct pci_dev *pdev,
			   void (*call)(struct p2pmem_region *r))
{
	struct p2pmem_region *r;
	unsigned int id = 0;

	while ((r = region_from(pdev, id))) {
		id = r->id + 1;
		call(r);
		p2pmem_region_put(r);
	}
}

/* @each must not wait, because it holds up region_create() and removals. */
void p2pmem_for_each_region(void (*each)(struct p2pmem_region *r, void *data),
			    void *data)
{
	struct p2pmem_region *r;

	mutex_lock(&regions_lock);
	list_for_each_entry(r, &regions, link)
		each(r, data);
	mutex_unlock(&regions_lock);
}

/* --- init and exit --- */

static char *p2pmem_devnode(COMPAT_DEVNODE_CONST struct device *dev,
			    umode_t *mode)
{
	if (mode)
		*mode = 0660;
	return NULL;
}

int p2pmem_registry_init(void)
{
	int ret;

	p2pmem_wq = alloc_workqueue("p2pmem", WQ_UNBOUND, 0);
	if (!p2pmem_wq)
		return -ENOMEM;
	ret = -ENOMEM;
	p2pmem_remove_wq = alloc_workqueue("p2pmem-remove", WQ_UNBOUND, WQ_MAX_ACTIVE);
	if (!p2pmem_remove_wq)
		goto err_destroy_wq;
	ret = alloc_chrdev_region(&p2pmem_devt, 0, P2PMEM_MAX_REGIONS, "p2pmem");
	if (ret)
		goto err_destroy_remove_wq;
	p2pmem_class = compat_class_create("p2pmem");
	if (IS_ERR(p2pmem_class)) {
		ret = PTR_ERR(p2pmem_class);
		goto err_unregister_chrdev;
	}
	p2pmem_class->devnode = p2pmem_devnode;
	return 0;

err_unregister_chrdev:
	unregister_chrdev_region(p2pmem_devt, P2PMEM_MAX_REGIONS);
err_destroy_remove_wq:
	destroy_workqueue(p2pmem_remove_wq);
err_destroy_wq:
	destroy_workqueue(p2pmem_wq);
	return ret;
}

/* Called when no region is left. */
void p2pmem_registry_exit(void)
{
	destroy_workqueue(p2pmem_remove_wq);
	destroy_workqueue(p2pmem_wq);
	class_destroy(p2pmem_class);
	unregister_chrdev_region(p2pmem_devt, P2PMEM_MAX_REGIONS);
	ida_destroy(&region_ids);
}
