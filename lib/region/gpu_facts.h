/* SPDX-License-Identifier: Apache-2.0 */
/* What sysfs says about a GPU's driver and its aperture. */
#ifndef DND_REGION_GPU_FACTS_H
#define DND_REGION_GPU_FACTS_H

#include "donard/gpu.h"
#include "region/bars.h"

struct dnd_gpu_facts {
	const char *bdf;
	uint64_t vendor;
	char driver[64], driver_version[64];	/* "" if there is none */
	enum donard_gpu_driver kind;
	unsigned int bar;	/* the aperture; DND_BARS if no BAR is one */
	bool bar_unset;		/* that BAR has no address */
	bool static_bar1;
};

bool dnd_is_gpu(const struct donard_context *ctx, const char *bdf);
void dnd_gpu_facts(const struct donard_context *ctx, const char *bdf, const struct dnd_bar bars[DND_BARS],
		   struct dnd_gpu_facts *facts);
/* Has its driver made struct pages for the aperture itself (static BAR1)? */
bool dnd_gpu_driver_made_pages(const struct donard_context *ctx, const char *bdf);
/* Says why the GPU cannot have a region, and the remedy; "" if it can. */
void dnd_gpu_obstacle(const struct dnd_gpu_facts *facts, char *text, size_t text_bytes);

#endif /* DND_REGION_GPU_FACTS_H */
