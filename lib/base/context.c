// SPDX-License-Identifier: Apache-2.0
/* The context: where sysfs and /dev are, and the text of the last failure. */
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"

static int copy_root(char *to, size_t to_bytes, const char *from, const char *fallback)
{
	int length = snprintf(to, to_bytes, "%s", from ? from : fallback);

	return length < 0 || (size_t)length >= to_bytes ? -ENAMETOOLONG : 0;
}

DND_PUBLIC int donard_open(struct donard_context **ctx_out, const struct donard_config *config)
{
	struct donard_config taken = { .size = sizeof(taken) };
	struct donard_context *ctx;
	int rc = config ? dnd_struct_copy(&taken, sizeof(taken), config) : 0;

	if (rc)
		return rc;
	ctx = calloc(1, sizeof(*ctx));
	if (ctx)
		ctx->unread = calloc(1, sizeof(*ctx->unread));
	if (!ctx || !ctx->unread) {
		free(ctx);
		return -ENOMEM;
	}
	ctx->failure.code = dnd_error_word(DND_OK);
	rc = copy_root(ctx->sysfs_root, sizeof(ctx->sysfs_root), taken.sysfs_root, "/sys");
	if (!rc)
		rc = copy_root(ctx->dev_root, sizeof(ctx->dev_root), taken.dev_root, "/dev");
	if (rc) {
		donard_close(ctx);
		return rc;
	}
	dnd_handle_made(DND_A_CONTEXT, ctx, ctx);
	*ctx_out = ctx;
	return 0;
}

DND_PUBLIC const char *donard_sysfs_root(const struct donard_context *ctx)
{
	DND_DEMANDS(CONTEXT, ctx);
	return ctx->sysfs_root;
}

DND_PUBLIC void donard_close(struct donard_context *ctx)
{
	DND_LETS_GO(CONTEXT, ctx);
	if (!ctx)
		return;
	free(ctx->unread);
	dnd_handle_free(ctx, sizeof(*ctx));
}
