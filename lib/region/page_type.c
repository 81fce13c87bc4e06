// SPDX-License-Identifier: Apache-2.0
/* The remedy if pages of type p2pdma are the obstacle. */
#include <stdio.h>

#include "region/gpu_facts.h"
#include "region/region.h"

const char *dnd_region_generic_remedy(const struct donard_context *ctx, const struct dnd_region *region,
				      char text[DND_GENERIC_REMEDY_BYTES])
{
	if (region->info.kind == P2PMEM_KIND_NVME_CMB)
		return "The nvme driver owns this Controller Memory Buffer, so that its page type stays p2pdma. Use a region "
		       "of another kind";
	if (region->info.kind == P2PMEM_KIND_GPU_NVIDIA && dnd_gpu_driver_made_pages(ctx, region->bdf))
		return "The GPU's driver made these pages itself (static BAR1), so that the page type stays p2pdma. Remove the "
		       "region, start the driver without RMForceStaticBar1 and add it anew";
	snprintf(text, DND_GENERIC_REMEDY_BYTES, "Give the region generic pages (donard_region_set_page_type(%s, generic))",
		 region->name);
	return text;
}
