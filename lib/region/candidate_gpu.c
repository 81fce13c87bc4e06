// SPDX-License-Identifier: Apache-2.0
/* BAR1 of a GPU that NVIDIA's driver runs; peers reach the GPU memory that processes pin through it. */
#include "region/candidate_list.h"
#include "region/gpu_facts.h"

/* All BARs count as known: those other than BAR1 hold registers. */
int dnd_scan_nvidia(const struct donard_context *ctx, struct dnd_function *function,
		    struct donard_candidate_list *list)
{
	struct dnd_candidate *candidate;
	struct dnd_gpu_facts facts;

	if (strcmp(function->identity->driver, "nvidia"))
		return 0;
	function->taken = (1U << DND_BARS) - 1;
	dnd_gpu_facts(ctx, function->bdf, function->bars, &facts);
	if (facts.bar == DND_BARS)
		return 0;
	candidate = dnd_candidate_add(list, function, DONARD_KIND_GPU_NVIDIA, facts.bar);
	if (!candidate)
		return -ENOMEM;
	dnd_gpu_obstacle(&facts, candidate->obstacle, sizeof(candidate->obstacle));
	return 0;
}
