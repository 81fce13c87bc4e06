// SPDX-License-Identifier: Apache-2.0
/* See handle.h.  Tells the program of a debug build which handle it used wrongly. */
#include <errno.h>
#include <stdio.h>

#include "base/handle.h"

#ifdef DONARD_DEBUG

int dnd_handle_check(enum dnd_handle_kind kind, const void *handle, const char *call)
{
	struct donard_context *ctx = NULL;
	char text[DND_MISUSE_BYTES];

	if (dnd_handle_right(kind, handle, call, text, &ctx))
		return 0;
	if (ctx)
		donard_fail(ctx, EBADF, "bad-handle", text);
	return -EBADF;
}

/* Writes to standard error, because an aborted program cannot report the failure otherwise.  Only a debug build does so. */
static void end(const char *text)
{
	fprintf(stderr, "libdonard: %s\n", text);
	abort();
}

void dnd_handle_demand(enum dnd_handle_kind kind, const void *handle, const char *call)
{
	struct donard_context *ctx;
	char text[DND_MISUSE_BYTES];

	if (!dnd_handle_right(kind, handle, call, text, &ctx))
		end(text);
}

/* If two threads free the handle at once, the second finds it marked as freed, and aborts the program. */
void dnd_handle_let_go(enum dnd_handle_kind kind, const void *handle, const char *call)
{
	dnd_handle_demand(kind, handle, call);
	if (!dnd_handle_mark(handle))
		dnd_handle_demand(kind, handle, call);
}

#endif /* DONARD_DEBUG */
