// SPDX-License-Identifier: Apache-2.0
/* Why io_uring cannot be used. */
#include <stdio.h>

#include "base/base.h"

#define RINGS_BYTES	(1ULL << 20)	/* as large as they get */

/* Says why Linux AIO cannot take the place of io_uring, or nothing if it can. */
static void tell_of_aio(char *text, size_t text_bytes, bool commands)
{
	int aio = commands ? 0 : dnd_aio_ask();

	if (commands)
		snprintf(text, text_bytes, "; PASSTHROUGH needs io_uring");
	else if (aio == EAGAIN)
		snprintf(text, text_bytes, "; other programs use all the Linux AIO that the sysctl fs.aio-max-nr allows");
	else if (aio)
		snprintf(text, text_bytes, "; Linux AIO is, too (%s)", strerror(aio));
	else
		text[0] = '\0';
}

static int refused(struct donard_context *ctx, int error_number, bool commands)
{
	struct dnd_uring_refusal refusal;
	char besides[128];

	dnd_uring_refusal(error_number, &refusal);
	tell_of_aio(besides, sizeof(besides), commands);
	return dnd_fail(ctx, DND_E_UNSUPPORTED, "io_uring is refused (%s): %s%s. %s.", strerror(error_number), refusal.cause,
			besides, refusal.remedy);
}

int dnd_fail_uring(struct donard_context *ctx, int error_number, bool commands)
{
	char limit[DND_LIMIT_BYTES];

	if (dnd_uring_is_refused(-error_number))
		return refused(ctx, error_number, commands);
	if (dnd_map_limit(error_number, RINGS_BYTES, false, limit, sizeof(limit)))
		return dnd_fail(ctx, DND_E_NO_MEMORY, "io_uring cannot be set up: %s.", limit);
	if (error_number == ENOMEM)
		return dnd_fail_errno(ctx, error_number, "io_uring cannot be set up. Free memory, or raise the limit of locked "
				      "memory (ulimit -l)");
	return dnd_fail_errno(ctx, error_number, "io_uring cannot be set up");
}
