// SPDX-License-Identifier: Apache-2.0
/*
 * Memory that may lie behind the end of the kernel's direct map, in which device memory with struct pages needs a place.  KASLR
 * may shorten the map.  Only the running kernel knows whether it did, and by how much; the module asks it.
 */
#include <stdio.h>

#include "checks.h"

/* The last address of the candidate's BAR; 0 if that is unknown, as for a CMB that is not enabled. */
static uint64_t last_address(const struct examination *x, const struct donard_candidate_info *candidate)
{
	const struct pci_function *function = pci_find(&x->pci, candidate->bdf);
	const struct dnd_bar *bar = function && candidate->bar < DND_BARS ? &function->bars[candidate->bar] : NULL;

	return candidate->size_bytes && bar && bar->flags & DND_BAR_MEM && !dnd_bar_unset(bar) ? bar->start + bar->bytes - 1 : 0;
}

bool is_beyond_direct_map(const struct examination *x, const struct donard_candidate_info *candidate)
{
	return x->kernel.direct_map_end && last_address(x, candidate) > x->kernel.direct_map_end;
}

static void check_candidate(struct examination *x, const struct donard_candidate_info *candidate)
{
	uint64_t last = last_address(x, candidate), least = kernel_kaslr_leaves(&x->kernel);
	char object[64];

	snprintf(object, sizeof(object), "%s BAR %u", candidate->bdf, candidate->bar);
	if (is_beyond_direct_map(x, candidate))
		find(x, CODE_BEYOND_DIRECT_MAP, object, "%s ends at 0x%llx, and the kernel's direct map at 0x%llx", object,
		     (unsigned long long)last, (unsigned long long)x->kernel.direct_map_end);
	else if (!x->kernel.direct_map_end && least && last > least)
		find(x, CODE_KASLR_DIRECT_MAP, object, "%s ends at 0x%llx, and KASLR may leave the kernel's direct map no more than "
		     "0x%llx", object, (unsigned long long)last, (unsigned long long)least);
}

void check_direct_map(struct examination *x)
{
	const struct donard_candidate_info *candidate;

	for (size_t i = 0; (candidate = donard_candidate_get(x->candidates, i)); i++)
		if (!candidate->obstacle[0])
			check_candidate(x, candidate);
}
