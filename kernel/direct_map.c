// SPDX-License-Identifier: GPL-2.0
/* Memory that can have no struct pages, because it lies beyond the kernel's direct map. */
#include <linux/memory_hotplug.h>
#include <linux/moduleparam.h>
#include <linux/sysfs.h>

#include "direct_map.h"
#include "p2pmem.h"
#include "reason.h"

/*
 * The last address for which the kernel can make struct pages: its direct map ends there.
 * Before 6.19, and before the stable kernels of January 2026, KASLR may have cut it
 * short, to RAM and CONFIG_RANDOMIZE_MEMORY_PHYSICAL_PADDING TiB (arch/x86/mm/kaslr.c).
 * BARs of large servers lie higher.  Before 6.11, and before the stable kernels of
 * September 2024, the kernel's own answer did not regard that: page tables for memory
 * beyond would lie in the vmalloc area, which follows the direct map.
 */
static u64 direct_map_end(void)
{
	return min_t(u64, mhp_get_pluggable_range(true).end, VMALLOC_START - PAGE_OFFSET - 1);
}

/* For donard-cli doctor, before anybody adds a region. */
static int get_direct_map_end(char *buf, const struct kernel_param *param)
{
	return sysfs_emit(buf, "%#llx\n", direct_map_end());
}

/* modprobe can pass the parameter although its file in sysfs is read-only. */
static int refuse_direct_map_end(const char *val, const struct kernel_param *param)
{
	return -EPERM;
}

static const struct kernel_param_ops direct_map_end_ops = {
	.set = refuse_direct_map_end,
	.get = get_direct_map_end,
};

module_param_cb(direct_map_end, &direct_map_end_ops, NULL, 0444);
MODULE_PARM_DESC(direct_map_end, "the last physical address that can be in a region on this kernel (to read)");

/* memremap_pages() returns -EINVAL for memory beyond, as it does for many other causes. */
bool p2pmem_is_beyond_direct_map(const struct p2pmem_backing *b)
{
	return b->phys + b->bytes - 1 > direct_map_end();
}

void p2pmem_explain_direct_map(struct p2pmem_region *r, char *reason)
{
	u64 last = r->backing.phys + r->backing.bytes - 1;
	u64 end = direct_map_end();

	if (end < (1ULL << MAX_PHYSMEM_BITS) - 1)
		p2pmem_reason(reason, "the memory ends at %#llx, but KASLR left room for struct pages up to %#llx only: boot with nokaslr, have the firmware place BARs lower, or run Linux 6.19 or a stable kernel since January 2026",
			      last, end);
	else
		p2pmem_reason(reason, "the memory ends at %#llx, and the kernel has room for struct pages up to %#llx: have the firmware place BARs lower",
			      last, end);
}
