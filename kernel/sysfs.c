// SPDX-License-Identifier: GPL-2.0
/* /sys/class/p2pmem/p2pmemN/: one value a file, but for lists. */
#include <linux/device.h>
#include <linux/sysfs.h>

#include "p2pmem.h"

static const char *const page_type_names[] = {
	[P2PMEM_PAGES_GENERIC] = "generic",
	[P2PMEM_PAGES_P2PDMA] = "p2pdma",
};

static const char *const state_names[] = {
	[P2PMEM_STATE_READY] = "ready",
	[P2PMEM_STATE_DRAINING] = "draining",
	[P2PMEM_STATE_QUARANTINED] = "quarantined",
};

#define REGION_ATTR(_name, fmt, value)					\
static ssize_t _name##_show(struct device *dev,				\
			    struct device_attribute *attr, char *buf)	\
{									\
	struct p2pmem_region *r = to_p2pmem_region(dev);		\
									\
	return sysfs_emit(buf, fmt "\n", value);			\
}

REGION_ATTR(kind, "%s", r->provider->name)
REGION_ATTR(bdf, "%s", pci_name(r->pdev))
REGION_ATTR(bar, "%u", r->bar)
REGION_ATTR(size, "%llu", r->backing.bytes)
REGION_ATTR(available, "%llu", READ_ONCE(r->alloc.free) << PAGE_SHIFT)
REGION_ATTR(memtype, "%s", p2pmem_memtype_name(r->backing.memtype))
REGION_ATTR(persistent, "%d", r->persistent)
REGION_ATTR(state, "%s", state_names[r->state])
REGION_ATTR(resets, "%lld", atomic64_read(&r->resets))
REGION_ATTR(page_type, "%s",
	    r->backing.type ? page_type_names[r->backing.type] : "none")

static ssize_t page_type_store(struct device *dev,
			       struct device_attribute *attr,
			       const char *buf, size_t count)
{
	int type;
	int ret;

	for (type = P2PMEM_PAGES_GENERIC; type <= P2PMEM_PAGES_P2PDMA; type++)
		if (sysfs_streq(buf, page_type_names[type]))
			break;
	if (type > P2PMEM_PAGES_P2PDMA)
		return -EINVAL;
	ret = p2pmem_region_set_page_type(to_p2pmem_region(dev), type);
	return ret ?: count;
}

REGION_ATTR(pinned_importers, "%d", READ_ONCE(r->pinned_importers))

/* For importers that attach from now on. */
static ssize_t pinned_importers_store(struct device *dev,
				      struct device_attribute *attr,
				      const char *buf, size_t count)
{
	bool allowed;
	int ret = kstrtobool(buf, &allowed);

	if (ret)
		return ret;
	WRITE_ONCE(to_p2pmem_region(dev)->pinned_importers, allowed);
	return count;
}

static ssize_t holders_show(struct device *dev, struct device_attribute *attr,
			    char *buf)
{
	struct p2pmem_region *r = to_p2pmem_region(dev);

	return p2pmem_holders_text(r, buf, PAGE_SIZE);
}

static ssize_t unrouted_show(struct device *dev, struct device_attribute *attr,
			     char *buf)
{
	struct p2pmem_region *r = to_p2pmem_region(dev);

	return p2pmem_unrouted_text(r, buf, PAGE_SIZE);
}

static DEVICE_ATTR_RO(kind);
static DEVICE_ATTR_RO(bdf);
static DEVICE_ATTR_RO(bar);
static DEVICE_ATTR_RO(size);
static DEVICE_ATTR_RO(available);
static DEVICE_ATTR_RO(memtype);
static DEVICE_ATTR_RO(persistent);
static DEVICE_ATTR_RO(state);
static DEVICE_ATTR_RO(resets);
/*
 * Processes of all users, with their commands: root's to see, and the group's
 * that may open regions (60-p2pmem.rules).
 */
static DEVICE_ATTR_ADMIN_RO(holders);
static DEVICE_ATTR_RO(unrouted);
static DEVICE_ATTR_RW(page_type);
static DEVICE_ATTR_RW(pinned_importers);

static struct attribute *region_attrs[] = {
	&dev_attr_kind.attr,
	&dev_attr_bdf.attr,
	&dev_attr_bar.attr,
	&dev_attr_size.attr,
	&dev_attr_available.attr,
	&dev_attr_memtype.attr,
	&dev_attr_persistent.attr,
	&dev_attr_state.attr,
	&dev_attr_resets.attr,
	&dev_attr_holders.attr,
	&dev_attr_unrouted.attr,
	&dev_attr_page_type.attr,
	&dev_attr_pinned_importers.attr,
	NULL,
};

static const struct attribute_group region_group = {
	.attrs = region_attrs,
};

const struct attribute_group *p2pmem_region_groups[] = {
	&region_group,
	NULL,
};
