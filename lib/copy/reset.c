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

/* A reset counts before a region that is gone. */
static int ask_all(struct dnd_copy *copy)
{
	const struct dnd_region *const regions[] = { &copy->src.region, &copy->via, &copy->dst.region };
	int first = 0;

	for (size_t i = 0; first != -EIO && i < sizeof(regions) / sizeof(regions[0]); i++) {
		struct dnd_failure before = dnd_failure_keep(copy->ctx);
		int rc = ask(copy, regions[i]);

		if (rc == -EIO || !first)
			first = rc;
		else if (rc)
			dnd_failure_put_back(copy->ctx, &before);
	}
	return first;
}

/* A reset is counted at its end, and a removal shows later: only a barrier tells that there is none now. */
static bool answers(const struct dnd_region *region)
{
	return region->fd < 0 || !dnd_region_try_sync(region, false);
}

bool dnd_copy_regions_answer(const struct dnd_copy *copy)
{
	return answers(&copy->src.region) && answers(&copy->via);
}

/* Can a reset explain this result?  Any other failure keeps its code and its text. */
static bool may_come_of_reset(const struct dnd_copy *copy, int rc)
{
	return !rc || (!copy->drive_failed && (rc == -EBADMSG || rc == -EIO));
}

/* Nobody knows which bytes are good, for the reason that @reset stands for. */
static void count_none(struct donard_copy_result *result, int reset)
{
	result->bytes = result->bounced_bytes = 0;
	result->durable = result->verified = false;
	snprintf(result->durable_reason, sizeof(result->durable_reason), "a %s during the copy",
		 reset == -EIO ? "device was reset" : "region went away");
}

static bool is_gone(struct dnd_copy *copy, const struct dnd_side *side)
{
	return side->is_memory && ask(copy, &side->region) == -ENODEV;
}

/*
 * The copy holds no region while it flushes and compares, so a region can be removed then.  A source's bytes have been moved by
 * then, though the comparison may have failed without it.  A destination's bytes are gone with the region.
 */
static int check_late_removal(struct dnd_copy *copy, int rc, const struct dnd_failure *before)
{
	struct donard_copy_result *result = copy->result;
	bool src_gone = is_gone(copy, &copy->src), dst_gone = is_gone(copy, &copy->dst);

	if (dst_gone) {
		result->durable = result->verified = false;
		snprintf(result->durable_reason, sizeof(result->durable_reason), "%s went away", copy->dst.region.name);
	}
	if (may_come_of_reset(copy, rc) && (dst_gone || (rc && src_gone)))
		return -ENODEV;
	dnd_failure_put_back(copy->ctx, before);
	return rc;
}

int dnd_copy_check_resets(struct dnd_copy *copy, int rc)
{
	struct dnd_failure before = dnd_failure_keep(copy->ctx);
	int reset = copy->has_lost ? 0 : ask_all(copy);

	if (reset == -ENODEV && copy->has_moved)
		return check_late_removal(copy, rc, &before);
	/* A region that is gone cannot be asked for resets, so the bytes still count. */
	if (!reset || (reset != -EIO && !may_come_of_reset(copy, rc))) {
		dnd_failure_put_back(copy->ctx, &before);
		return rc;
	}
	copy->has_lost = true;
	count_none(copy->result, reset);
	if (may_come_of_reset(copy, rc))
		return reset;
	dnd_failure_put_back(copy->ctx, &before);
	dnd_fail_more(copy->ctx, "%s A device was reset meanwhile, so that no bytes count as copied.", dnd_copy_full_stop(copy));
	return rc;
}
