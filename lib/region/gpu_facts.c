// SPDX-License-Identifier: Apache-2.0
/* See gpu_facts.h.  When a region is added, the module p2pmem decides by the same (kernel/provider_gpu_nvidia.c). */
#include <stdio.h>

#include "region/gpu_facts.h"
#include "region/region.h"

#define CLASS_DISPLAY	0x03
#define VENDOR_NVIDIA	0x10de
#define NVIDIA		"nvidia"
#define OPEN_PACKAGE	"apt install nvidia-open-kernel-dkms"

static void read_driver(const struct donard_context *ctx, const char *bdf, char *driver, size_t driver_bytes)
{
	if (dnd_sysfs_link_name(ctx, driver, driver_bytes, "bus/pci/devices/%s/driver", bdf))
		driver[0] = '\0';
}

/* A GPU whose class is not that of a display has at least the driver. */
bool dnd_is_gpu(const struct donard_context *ctx, const char *bdf)
{
	char driver[64];
	uint64_t class = 0;

	dnd_sysfs_read_u64(ctx, &class, "bus/pci/devices/%s/class", bdf);
	read_driver(ctx, bdf, driver, sizeof(driver));
	return class >> 16 == CLASS_DISPLAY || !strcmp(driver, NVIDIA);
}

/* A module whose license is not compatible with the GPL taints the kernel, which its file "taint" shows as P. */
static enum donard_gpu_driver kind_of(const struct donard_context *ctx, const char *driver)
{
	char taint[32] = "";

	if (!driver[0])
		return DONARD_GPU_DRIVER_NONE;
	if (strcmp(driver, NVIDIA))
		return DONARD_GPU_DRIVER_OTHER;
	dnd_sysfs_read(ctx, taint, sizeof(taint), "bus/pci/drivers/%s/module/taint", driver);
	return strchr(taint, 'P') ? DONARD_GPU_DRIVER_PROPRIETARY : DONARD_GPU_DRIVER_OPEN;
}

/* BAR1 is the largest prefetchable BAR; the others hold registers. */
static unsigned int aperture_of(const struct dnd_bar bars[DND_BARS])
{
	unsigned int best = DND_BARS;

	for (unsigned int i = 0; i < DND_BARS; i++)
		if (bars[i].flags & DND_BAR_MEM && bars[i].flags & DND_BAR_PREFETCH &&
		    (best == DND_BARS || bars[i].bytes > bars[best].bytes))
			best = i;
	return best;
}

/*
 * If the driver made struct pages of its own, the device has a p2pdma pool (drivers/pci/p2pdma.c).  p2pmem makes such a pool,
 * too, for a region of page type p2pdma.  It takes all of its own pool, and nothing of the driver's, so the two differ by what
 * is left.
 */
bool dnd_gpu_driver_made_pages(const struct donard_context *ctx, const char *bdf)
{
	uint64_t left;

	return dnd_sysfs_exists(ctx, "bus/pci/devices/%s/p2pmem/size", bdf) &&
	       (dnd_sysfs_read_u64(ctx, &left, "bus/pci/devices/%s/p2pmem/available", bdf) || left);
}

void dnd_gpu_facts(const struct donard_context *ctx, const char *bdf, const struct dnd_bar bars[DND_BARS],
		   struct dnd_gpu_facts *facts)
{
	*facts = (struct dnd_gpu_facts){ .bdf = bdf, .bar = aperture_of(bars) };
	dnd_sysfs_read_u64(ctx, &facts->vendor, "bus/pci/devices/%s/vendor", bdf);
	read_driver(ctx, bdf, facts->driver, sizeof(facts->driver));
	facts->kind = kind_of(ctx, facts->driver);
	if (facts->driver[0])
		dnd_sysfs_read(ctx, facts->driver_version, sizeof(facts->driver_version),
			       "bus/pci/drivers/%s/module/version", facts->driver);
	if (facts->bar < DND_BARS)
		facts->bar_unset = dnd_bar_unset(&bars[facts->bar]);
	facts->static_bar1 = facts->kind == DONARD_GPU_DRIVER_OPEN && dnd_gpu_driver_made_pages(ctx, bdf);
}

static void other_driver(const struct dnd_gpu_facts *facts, char *text, size_t text_bytes)
{
	bool is_lent = !strcmp(facts->driver, "vfio-pci") || !strcmp(facts->driver, "p2pmem");

	if (facts->vendor == VENDOR_NVIDIA)
		snprintf(text, text_bytes, "%s is driven by %s%s: programs' memory on it needs NVIDIA's open kernel module (Debian "
			 "contrib: " OPEN_PACKAGE ", then reboot; it drives Turing and later GPUs)", facts->bdf,
			 facts->driver[0] ? facts->driver : "nothing", is_lent ? ", from which it has to be unbound first" : "");
	else
		snprintf(text, text_bytes, "%s is no GPU of NVIDIA's: what programs have allocated on it comes as a dma-buf "
			 "(donard_memory_from_dmabuf())", facts->bdf);
}

void dnd_gpu_obstacle(const struct dnd_gpu_facts *facts, char *text, size_t text_bytes)
{
	text[0] = '\0';
	if (facts->kind == DONARD_GPU_DRIVER_NONE || facts->kind == DONARD_GPU_DRIVER_OTHER)
		other_driver(facts, text, text_bytes);
	else if (facts->kind == DONARD_GPU_DRIVER_PROPRIETARY)
		snprintf(text, text_bytes, "%s is driven by NVIDIA's proprietary module, which GPL modules cannot use: install "
			 "the open one, which drives Turing and later GPUs, choose it, and reboot (Debian contrib: " OPEN_PACKAGE
			 ", then update-glx as docs/gpu.md says)", facts->bdf);
	else if (facts->bar == DND_BARS || facts->bar_unset)
		snprintf(text, text_bytes, "%s has no prefetchable memory BAR with an address: enable 'Above 4G decoding' in the "
			 "firmware's setup", facts->bdf);
}

/* A missing or another driver is no obstacle here: CUDA has found the GPU, so the driver is one of NVIDIA's. */
void dnd_region_gpu_obstacle(const struct donard_context *ctx, const char *bdf, char *text, size_t text_bytes)
{
	struct dnd_bar bars[DND_BARS];
	struct dnd_gpu_facts facts;

	dnd_bars_read(ctx, bdf, bars);
	dnd_gpu_facts(ctx, bdf, bars, &facts);
	text[0] = '\0';
	if (facts.kind == DONARD_GPU_DRIVER_PROPRIETARY || facts.kind == DONARD_GPU_DRIVER_OPEN)
		dnd_gpu_obstacle(&facts, text, text_bytes);
}
