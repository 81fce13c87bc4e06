// SPDX-License-Identifier: Apache-2.0
/* Does the destination keep flushed data, as it is set up now? */
#include <stdio.h>

#include "copy/copy.h"

static void judge_region(struct dnd_copy *copy)
{
	const struct dnd_region *region = &copy->dst.region;

	copy->result->durable = dnd_region_persistent(region);
	if (!copy->result->durable)
		snprintf(copy->result->durable_reason, sizeof(copy->result->durable_reason), "%s is volatile",
			 region->name[0] ? region->name : copy->dst.label);
}

void dnd_copy_judge(struct dnd_copy *copy, const struct dnd_doubt *doubt)
{
	if (copy->dst.is_memory) {
		judge_region(copy);
		return;
	}
	copy->result->durable = !doubt->text[0];
	snprintf(copy->result->durable_reason, sizeof(copy->result->durable_reason), "%s", doubt->text);
}
