// SPDX-License-Identifier: Apache-2.0
/* The caller's functions that run before and after the timed part of a call: donard/copy.h. */
#include "base/base.h"

void dnd_interval_add(struct dnd_interval *interval, const void *dram, uint64_t length_bytes)
{
	interval->payload[interval->told.payload_count++] = (struct donard_payload){ dram, length_bytes };
}

/* Returns the failure of one of the functions, with the text that it left or else a default one. */
static int judge(struct donard_context *ctx, int rc, const char *name)
{
	if (rc > 0)
		return dnd_fail(ctx, DND_E_CANCELED, "stopped");
	if (ctx->failure.text[0])
		return rc;
	return dnd_fail_errno(ctx, rc, "the program's own function, options.%s, failed", name);
}

static void forget_failure(struct donard_context *ctx)
{
	ctx->failure = (struct dnd_failure){ .code = dnd_error_word(DND_OK) };
}

int dnd_interval_begin(struct donard_context *ctx, struct dnd_interval *interval)
{
	int rc = 0;

	interval->told.size = sizeof(interval->told);
	interval->told.ctx = ctx;
	interval->told.payload = interval->told.payload_count ? interval->payload : NULL;
	if (interval->begin_fn) {
		forget_failure(ctx);
		rc = interval->begin_fn(interval->user, &interval->told);
	}
	interval->begun = !rc;
	return rc ? judge(ctx, rc, "begin_fn") : 0;
}

/* If the work failed, the caller sees that failure, not the result of end_fn. */
int dnd_interval_end(struct donard_context *ctx, struct dnd_interval *interval, int rc)
{
	struct dnd_failure first;
	int ended;

	if (!interval->begun || !interval->end_fn)
		return rc;
	interval->begun = false;
	first = dnd_failure_keep(ctx);
	forget_failure(ctx);
	ended = interval->end_fn(interval->user, &interval->told, rc);
	if (rc) {
		dnd_failure_put_back(ctx, &first);
		return rc;
	}
	return ended ? judge(ctx, ended, "end_fn") : 0;
}
