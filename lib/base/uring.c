// SPDX-License-Identifier: Apache-2.0
/* Why io_uring cannot be used. */
#include "base/base.h"

static int refused(struct donard_context *ctx, int error_number)
{
	struct dnd_uring_refusal refusal;

	dnd_uring_refusal(error_number, &refusal);
	return dnd_fail(ctx, DND_E_UNSUPPORTED, "io_uring is refused (%s): %s. %s.", strerror(error_number), refusal.cause,
			refusal.remedy);
}

int dnd_fail_uring(struct donard_context *ctx, int error_number)
{
	if (dnd_uring_is_refused(-error_number))
		return refused(ctx, error_number);
	if (error_number == ENOMEM)
		return dnd_fail_errno(ctx, error_number, "io_uring cannot be set up. Free memory, or raise the limit of locked "
				      "memory (ulimit -l)");
	return dnd_fail_errno(ctx, error_number, "io_uring cannot be set up");
}
