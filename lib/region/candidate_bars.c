// SPDX-License-Identifier: Apache-2.0
/* Memory BARs whose contents are unknown. */
#include <stdio.h>

#include "region/candidate_list.h"
#include "region/control.h"
#include "region/region.h"

static void say_why_unset(struct donard_context *ctx, const char *bdf, char *text, size_t text_bytes)
{
	char region[P2PMEM_NAME_BYTES], anew[DND_ANEW_BYTES];

	if (!dnd_region_quarantined_of(ctx, bdf, region)) {
		snprintf(text, text_bytes, "the BAR has no address: enable decoding above 4 GiB in the "
			 "firmware's setup, or boot with pci=realloc");
		return;
	}
	dnd_pci_anew(ctx, bdf, anew);
	snprintf(text, text_bytes, "the BAR has no address, perhaps because it lay on the memory of %s, which is in quarantine: "
		 "end its holders, then have the function made anew (%s)", region, anew);
}

static void find_obstacle(struct donard_context *ctx, const struct dnd_function *function, const struct dnd_bar *bar,
			  char *text, size_t text_bytes)
{
	const char *driver = function->identity->driver;

	if (dnd_bar_unset(bar))
		say_why_unset(ctx, function->bdf, text, text_bytes);
	else if (!strcmp(driver, "nvme"))	/* the advice to unbind it would take the drive away */
		snprintf(text, text_bytes, "the driver nvme uses %s. The module can tell root whether this is its "
			 "Controller Memory Buffer or Persistent Memory Region: modprobe p2pmem",
			 function->bdf);
	else if (driver[0] && strcmp(driver, "p2pmem"))
		snprintf(text, text_bytes, "the driver %s uses %s: unbind it first (echo %s | sudo tee "
			 "/sys/bus/pci/drivers/%s/unbind)", driver, function->bdf, function->bdf, driver);
}

int dnd_scan_bars(struct donard_context *ctx, const struct dnd_function *function, struct donard_candidate_list *list)
{
	for (unsigned int i = 0; i < DND_BARS; i++) {
		const struct dnd_bar *bar = &function->bars[i];
		struct dnd_candidate *candidate;

		if (!(bar->flags & DND_BAR_MEM) || bar->bytes < DND_PAGES_BYTES ||
		    function->taken & 1U << i)
			continue;
		candidate = dnd_candidate_add(list, function, DONARD_KIND_PCI_BAR, i);
		if (!candidate)
			return -ENOMEM;
		find_obstacle(ctx, function, bar, candidate->obstacle, sizeof(candidate->obstacle));
	}
	return 0;
}
