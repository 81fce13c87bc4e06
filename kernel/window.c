// SPDX-License-Identifier: GPL-2.0
/*
 * Struct pages for an aperture of which little is used at a time: each window of the
 * aperture that was ever used has a generic pagemap.  Struct pages for all of an aperture
 * of 128 GiB would cost 2 GiB of DRAM.  Windows stay open until the backing closes.
 *
 * The direct map is linear, so p2pmem_page() and p2pmem_kaddr() need not know about
 * windows.  Their callers have an extent, whose windows are open.  Chunks begin at
 * multiples of 2 MiB, as windows do, so no chunk lies in two windows.
 *
 * The lock is held while struct pages are made, which takes the kernel's locks for
 * memory hotplug.  So it is never taken where a fault may wait for its holder.  The
 * exception is a change of the page type, when no fault can happen.
 */
#include <linux/io.h>
#include <linux/slab.h>

#include "generic.h"
#include "p2pmem.h"
#include "window.h"

/* A memory section, for which the kernel makes struct pages in one piece. */
#define WINDOW_BYTES	(128ULL << 20)

struct p2pmem_windows {
	struct mutex lock;
	bool closed;
	unsigned int count;
	struct p2pmem_backing *open[];	/* NULL: not open yet */
};

static struct p2pmem_backing *window_new(struct p2pmem_region *r, u64 first_byte)
{
	struct p2pmem_backing *w = kzalloc(sizeof(*w), GFP_KERNEL);
	int ret;

	if (!w)
		return ERR_PTR(-ENOMEM);
	w->phys = r->backing.phys + first_byte;
	w->bytes = min(WINDOW_BYTES, r->backing.bytes - first_byte);
	ret = p2pmem_open_generic(r, w);
	if (!ret)
		return w;
	kfree(w);
	return ERR_PTR(ret);
}

static int window_open(struct p2pmem_region *r, struct p2pmem_windows *windows,
		       unsigned int i)
{
	struct p2pmem_backing *w;

	lockdep_assert_held(&windows->lock);
	if (windows->open[i])
		return 0;
	w = window_new(r, i * WINDOW_BYTES);
	if (IS_ERR(w))
		return PTR_ERR(w);
	windows->open[i] = w;
	return 0;
}

/*
 * Makes struct pages for a part of the region.  The caller keeps the region from ending,
 * and holds no lock of p2pmem, except in a change of the page type.
 */
int p2pmem_windows_need(struct p2pmem_region *r, u64 first, u64 count)
{
	struct p2pmem_windows *windows = r->backing.windows;
	unsigned int i = (first << PAGE_SHIFT) / WINDOW_BYTES;
	unsigned int last = (((first + count) << PAGE_SHIFT) - 1) / WINDOW_BYTES;
	int ret = 0;

	if (!windows || r->backing.type == P2PMEM_PAGES_P2PDMA)
		return 0;
	mutex_lock(&windows->lock);
	if (windows->closed)
		ret = -ENODEV;
	for (; i <= last && !ret; i++)
		ret = window_open(r, windows, i);
	mutex_unlock(&windows->lock);
	return ret;
}

/*
 * The first window opens with the region.  So the caller that adds the region is told if
 * something stands in the way, and a probe of a route has a page to map.
 */
int p2pmem_windows_open(struct p2pmem_region *r)
{
	unsigned int count = DIV_ROUND_UP_ULL(r->backing.bytes, WINDOW_BYTES);
	struct p2pmem_windows *windows;
	int ret;

	windows = kvzalloc(struct_size(windows, open, count), GFP_KERNEL);
	if (!windows)
		return -ENOMEM;
	mutex_init(&windows->lock);
	windows->count = count;
	p2pmem_windows_free(r);	/* those of the previous page type */
	r->backing.windows = windows;
	ret = p2pmem_windows_need(r, 0, 1);
	if (ret) {
		p2pmem_windows_free(r);
		return ret;
	}
	r->backing.kaddr = windows->open[0]->kaddr;
	r->backing.memtype = windows->open[0]->memtype;
	return 0;
}

/* Closes all windows; nobody refers to a page.  A caller that still needs a window is refused. */
void p2pmem_windows_close(struct p2pmem_region *r)
{
	struct p2pmem_windows *windows = r->backing.windows;
	unsigned int i;

	mutex_lock(&windows->lock);
	windows->closed = true;
	for (i = 0; i < windows->count; i++) {
		if (!windows->open[i])
			continue;
		p2pmem_close_generic(windows->open[i]);
		kfree(windows->open[i]);
	}
	mutex_unlock(&windows->lock);
}

/* Frees the array of windows.  No pin is being made, as nobody has a file of the region open. */
void p2pmem_windows_free(struct p2pmem_region *r)
{
	kvfree(r->backing.windows);
	r->backing.windows = NULL;
}
