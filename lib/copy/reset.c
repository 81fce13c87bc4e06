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

/* Can a reset explain this result?  Any other failure keeps its text. */
static bool may_come_of_reset(int rc)
{
	return !rc || rc == -EBADMSG || rc == -EIO;
}

int dnd_copy_check_resets(struct dnd_copy *copy, int rc)
{
	struct dnd_failure before = dnd_failure_keep(copy->ctx);
	int reset;

	if (!may_come_of_reset(rc))
		return rc;
	reset = ask_all(copy);
	if (!reset) {
		dnd_failure_put_back(copy->ctx, &before);
		return rc;
	}
	/* Nobody knows which bytes are good. */
	copy->result->bytes = copy->result->bounced_bytes = 0;
	copy->result->durable = copy->result->verified = false;
	snprintf(copy->result->durable_reason, sizeof(copy->result->durable_reason), "a device was reset during the copy");
	return reset;
}
