// SPDX-License-Identifier: Apache-2.0
/* The last failure of a context. */
#include "base/base.h"

int dnd_fail(struct donard_context *ctx, enum dnd_error error, const char *format, ...)
{
	va_list args;
	int rc;

	va_start(args, format);
	rc = dnd_failure_set(&ctx->failure, error, format, args);
	va_end(args);
	return rc;
}

int dnd_fail_member(struct donard_context *ctx, enum dnd_error error, struct dnd_fault fault, const char *format, ...)
{
	va_list args;
	int rc;

	va_start(args, format);
	rc = dnd_failure_set(&ctx->failure, error, format, args);
	va_end(args);
	ctx->failure.fault = fault;
	return rc;
}

int dnd_fail_errno(struct donard_context *ctx, int error_number, const char *format, ...)
{
	va_list args;
	int rc;

	va_start(args, format);
	rc = dnd_failure_set_errno(&ctx->failure, error_number, format, args);
	va_end(args);
	return rc;
}

int dnd_fail_access(struct donard_context *ctx, int error_number, const char *remedy,
		    const char *format, ...)
{
	va_list args;
	int rc;

	va_start(args, format);
	rc = dnd_failure_set_access(&ctx->failure, error_number, remedy, format, args);
	va_end(args);
	return rc;
}

void dnd_fail_more(struct donard_context *ctx, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	dnd_failure_more(&ctx->failure, format, args);
	va_end(args);
}

#define SMALL_BYTES	(1ULL << 20)

int dnd_fail_memory(struct donard_context *ctx)
{
	char limit[DND_LIMIT_BYTES];

	if (dnd_map_limit(ENOMEM, SMALL_BYTES, true, limit, sizeof(limit)))
		return dnd_fail(ctx, DND_E_NO_MEMORY, "the program ran out of memory: %s.", limit);
	return dnd_fail(ctx, DND_E_NO_MEMORY, "the program ran out of memory. Free some, or do "
			"less at a time.");
}

bool dnd_failed_with(const struct donard_context *ctx, enum dnd_error error)
{
	return !strcmp(ctx->failure.code, dnd_error_word(error));
}

struct dnd_failure dnd_failure_keep(const struct donard_context *ctx)
{
	return ctx->failure;
}

void dnd_failure_put_back(struct donard_context *ctx, const struct dnd_failure *kept)
{
	ctx->failure = *kept;
}

DND_PUBLIC const char *donard_error(const struct donard_context *ctx)
{
	if (!dnd_handle_is(DND_A_CONTEXT, ctx))
		return "this is no context, or it was closed. Close the context last.";
	return ctx ? ctx->failure.text : "no context";
}

DND_PUBLIC const char *donard_error_code(const struct donard_context *ctx)
{
	if (!dnd_handle_is(DND_A_CONTEXT, ctx))
		return dnd_error_word(DND_E_BAD_HANDLE);
	return ctx ? ctx->failure.code : "bad-option";
}

DND_PUBLIC int donard_failure_get(const struct donard_context *ctx, struct donard_failure *failure)
{
	struct donard_failure known = { .code = donard_error_code(ctx), .text = donard_error(ctx), .object = "", .member = "" };

	if (!dnd_struct_has_size(failure))
		return -EINVAL;
	if (ctx && dnd_handle_is(DND_A_CONTEXT, ctx))
		known = dnd_failure_data(&ctx->failure);
	dnd_struct_give(failure, &known, sizeof(known));
	return 0;
}

DND_PUBLIC int donard_fail(struct donard_context *ctx, int error, const char *code, const char *text)
{
	if (!dnd_handle_is(DND_A_CONTEXT, ctx))
		return -dnd_error_errno(DND_E_BAD_HANDLE);
	return dnd_failure_set_text(&ctx->failure, error, code, text);
}
