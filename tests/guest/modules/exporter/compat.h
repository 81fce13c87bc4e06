/* SPDX-License-Identifier: GPL-2.0 */
/* Differences between 6.1, 6.12 and 7.x for an exporter. */
#ifndef EXPORTER_COMPAT_H
#define EXPORTER_COMPAT_H

#include <linux/mm.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define COMPAT_NS_DMA_BUF DMA_BUF
#else
#define COMPAT_NS_DMA_BUF "DMA_BUF"
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}
#endif

#endif
