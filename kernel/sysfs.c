// SPDX-License-Identifier: GPL-2.0
/* /sys/class/p2pmem/p2pmemN/: one value in each file, except for lists. */
#include <linux/device.h>
#include <linux/sysfs.h>

#include "backing.h"
#include "clients.h"
#include "holders.h"
#include "memtype.h"
#include "p2pmem.h"
#include "page_type.h"
#include "pmem.h"
#include "rights.h"
#include "sysfs.h"

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
REGION_ATTR(offset, "%llu", r->bar_offset)
REGION_ATTR(size, "%llu", r->backing.bytes)
REGION_ATTR(available, "%llu", p2pmem_available_bytes(r))
REGION_ATTR(memtype, "%s", p2pmem_memtype_name(r->backing.memtype))
REGION_ATTR(persistent, "%d", r->persistent)
REGION_ATTR(folio_bytes, "%llu", p2pmem_unit(r) << PAGE_SHIFT)
REGION_ATTR(state, "%s", state_names[READ_ONCE(r->state)])
REGION_ATTR(resets, "%lld", atomic64_read(&r->resets))
REGION_ATTR(page_type, "%s", p2pmem_page_type_name(READ_ONCE(r->backing.type)))

/* If the caller may not store, the log says why, because a sysfs file can only return an errno. */
static int may_store(struct p2pmem_region *r, const struct device_attribute *attr)
{
	char reason[P2PMEM_REASON_BYTES];
	int ret = p2pmem_may_administer(reason);

	if (ret)
		dev_warn_ratelimited(&r->dev, "%s cannot be set: %s\n", attr->attr.name, reason);
	return ret;
}

static ssize_t page_type_store(struct device *dev,
			       struct device_attribute *attr,
			       const char *buf, size_t count)
{
	struct p2pmem_region *r = to_p2pmem_region(dev);
	int type;
	int ret;

	for (type = P2PMEM_PAGES_GENERIC; type <= P2PMEM_PAGES_PMEM; type++)
		if (sysfs_streq(buf, p2pmem_page_type_name(type)))
			break;
	if (type > P2PMEM_PAGES_PMEM)
		return -EINVAL;
	ret = may_store(r, attr) ?: p2pmem_region_set_page_type(r, type);
	return ret ?: count;
}

REGION_ATTR(pinned_importers, "%d", READ_ONCE(r->pinned_importers))

/* Takes effect for importers that attach from now on. */
static ssize_t pinned_importers_store(struct device *dev,
				      struct device_attribute *attr,
				      const char *buf, size_t count)
{
	struct p2pmem_region *r = to_p2pmem_region(dev);
	bool allowed;
	int ret = kstrtobool(buf, &allowed) ?: may_store(r, attr);

	if (ret)
		return ret;
	WRITE_ONCE(r->pinned_importers, allowed);
	return count;
}

static ssize_t holders_show(struct device *dev, struct device_attribute *attr,
			    char *buf)
{
	struct p2pmem_region *r = to_p2pmem_region(dev);

	return p2pmem_holders_text(r, buf, PAGE_SIZE, task_active_pid_ns(current));
}

static ssize_t pmem_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
{
	size_t used = p2pmem_pmem_text(to_p2pmem_region(dev), buf, PAGE_SIZE);

	return used + sysfs_emit_at(buf, used, "\n");
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
static DEVICE_ATTR_RO(offset);
static DEVICE_ATTR_RO(size);
static DEVICE_ATTR_RO(available);
static DEVICE_ATTR_RO(memtype);
static DEVICE_ATTR_RO(persistent);
static DEVICE_ATTR_RO(folio_bytes);
static DEVICE_ATTR_RO(state);
static DEVICE_ATTR_RO(resets);
/*
 * This shows processes of all users with their commands, so only root may read it, and the
 * group that may open regions (60-p2pmem.rules).
 */
static DEVICE_ATTR_ADMIN_RO(holders);
/*
 * Each reader takes device locks of other functions for a moment, if they are free.  A
 * reset of such a function fails meanwhile.
 */
static DEVICE_ATTR_ADMIN_RO(unrouted);
static DEVICE_ATTR_RO(pmem);
static DEVICE_ATTR_RW(page_type);
static DEVICE_ATTR_RW(pinned_importers);

static struct attribute *region_attrs[] = {
	&dev_attr_kind.attr,
	&dev_attr_bdf.attr,
	&dev_attr_bar.attr,
	&dev_attr_offset.attr,
	&dev_attr_size.attr,
	&dev_attr_available.attr,
	&dev_attr_memtype.attr,
	&dev_attr_persistent.attr,
	&dev_attr_folio_bytes.attr,
	&dev_attr_state.attr,
	&dev_attr_resets.attr,
	&dev_attr_holders.attr,
	&dev_attr_pmem.attr,
	&dev_attr_unrouted.attr,
	&dev_attr_page_type.attr,
	&dev_attr_pinned_importers.attr,
	NULL,
};

static const struct attribute_group region_group = {
	.attrs = region_attrs,
};

/* --- statistics/ --- */

static u64 counted(struct p2pmem_region *r, size_t member)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(*(u64 *)((u8 *)per_cpu_ptr(r->counts, cpu) + member));
	return sum;
}

#define REGION_COUNT(_name)						\
	REGION_ATTR(_name, "%llu",					\
		    counted(r, offsetof(struct p2pmem_counts, _name)))

REGION_COUNT(maps)
REGION_COUNT(faults)
REGION_COUNT(pins)
REGION_COUNT(routes)
REGION_COUNT(read_bytes)
REGION_COUNT(written_bytes)
REGION_ATTR(taken_bytes, "%llu", READ_ONCE(r->taken) << PAGE_SHIFT)
REGION_ATTR(peak_bytes, "%llu", READ_ONCE(r->peak) << PAGE_SHIFT)

static DEVICE_ATTR_RO(maps);
static DEVICE_ATTR_RO(faults);
static DEVICE_ATTR_RO(pins);
static DEVICE_ATTR_RO(routes);
static DEVICE_ATTR_RO(read_bytes);
static DEVICE_ATTR_RO(written_bytes);
static DEVICE_ATTR_RO(taken_bytes);
static DEVICE_ATTR_RO(peak_bytes);

static struct attribute *count_attrs[] = {
	&dev_attr_maps.attr,
	&dev_attr_faults.attr,
	&dev_attr_pins.attr,
	&dev_attr_routes.attr,
	&dev_attr_read_bytes.attr,
	&dev_attr_written_bytes.attr,
	&dev_attr_taken_bytes.attr,
	&dev_attr_peak_bytes.attr,
	NULL,
};

static const struct attribute_group count_group = {
	.name = "statistics",
	.attrs = count_attrs,
};

/* The order matters: when the state of a region being added can be read, so can its counts. */
const struct attribute_group *p2pmem_region_groups[] = {
	&count_group,
	&region_group,
	NULL,
};
