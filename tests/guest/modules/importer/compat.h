/* SPDX-License-Identifier: GPL-2.0 */
/* Differences between 6.1, 6.12 and 7.x for an importer. */
#ifndef IMPORTER_COMPAT_H
#define IMPORTER_COMPAT_H

#include <linux/dma-buf.h>
#include <linux/iosys-map.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define COMPAT_NS_DMA_BUF DMA_BUF
#else
#define COMPAT_NS_DMA_BUF "DMA_BUF"
#endif

/* Until 7.1 the callback was mandatory, and called on pinned importers too. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 1, 0)
#define COMPAT_CALLBACK		move_notify
#define COMPAT_PINNED_CALLBACK	importer_ignore
#else
#define COMPAT_CALLBACK		invalidate_mappings
#define COMPAT_PINNED_CALLBACK	NULL
#endif

/* dma_buf_vmap() took the reservation lock by itself before 6.2. */
static inline int compat_vmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
	return dma_buf_vmap(dmabuf, map);
#else
	return dma_buf_vmap_unlocked(dmabuf, map);
#endif
}

static inline void compat_vunmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
	dma_buf_vunmap(dmabuf, map);
#else
	dma_buf_vunmap_unlocked(dmabuf, map);
#endif
}

#endif
