// SPDX-License-Identifier: Apache-2.0
/*
 * A device that is reset loses the contents of its memory and returns arbitrary bytes, while every request of a drive
 * succeeds.  So the copy asks each of its regions in the end whether its device was reset.
 */
#include <stdio.h>

#include "copy/copy.h"

static int ask(struct dnd_copy *copy, const struct dnd_region *region)
{
	return region->fd < 0 ? 0 : dnd_region_check_resets(copy->ctx, region);
}

static int ask_all(struct dnd_copy *copy)
{
	int rc = ask(copy, &copy->src.region);

	if (!rc)
		rc = ask(copy, &copy->via);
	return rc ? rc : ask(copy, &copy->dst.region);
}

/* Can a reset explain this result?  Any other failure keeps its code and its text. */
static bool may_come_of_reset(int rc)
{
	return !rc || rc == -EBADMSG || rc == -EIO;
}

/* Nobody knows which bytes are good. */
static void count_none(struct donard_copy_result *result)
{
	result->bytes = result->bounced_bytes = 0;
	result->durable = result->verified = false;
	snprintf(result->durable_reason, sizeof(result->durable_reason), "a device was reset during the copy");
}

int dnd_copy_check_resets(struct dnd_copy *copy, int rc)
{
	struct dnd_failure before = dnd_failure_keep(copy->ctx);
	int reset = copy->has_lost ? 0 : ask_all(copy);

	/* Nothing is known of a region that is gone: what was counted may be there. */
	if (!reset || (reset != -EIO && !may_come_of_reset(rc))) {
		dnd_failure_put_back(copy->ctx, &before);
		return rc;
	}
	copy->has_lost = true;
	count_none(copy->result);
	if (may_come_of_reset(rc))
		return reset;
	dnd_failure_put_back(copy->ctx, &before);
	dnd_fail_more(copy->ctx, "%s A device was reset meanwhile, so that no bytes count as copied.", dnd_copy_full_stop(copy));
	return rc;
}
