// SPDX-License-Identifier: Apache-2.0
/* See fail.h. */
#include "meter/fail.h"

static int tell(struct donard_context *ctx, int rc, const struct dnd_failure *failure)
{
	return donard_fail(ctx, rc, failure->code, failure->text);
}

int dnd_meter_fail(struct donard_context *ctx, enum dnd_error error, const char *format, ...)
{
	struct dnd_failure failure;
	va_list args;
	int rc;

	va_start(args, format);
	rc = dnd_failure_set(&failure, error, format, args);
	va_end(args);
	return tell(ctx, rc, &failure);
}

int dnd_meter_fail_errno(struct donard_context *ctx, int error_number, const char *format, ...)
{
	struct dnd_failure failure;
	va_list args;
	int rc;

	va_start(args, format);
	rc = dnd_failure_set_errno(&failure, error_number, format, args);
	va_end(args);
	return tell(ctx, rc, &failure);
}

int dnd_meter_fail_access(struct donard_context *ctx, int error_number, const char *remedy, const char *format,
			  ...)
{
	struct dnd_failure failure;
	va_list args;
	int rc;

	va_start(args, format);
	rc = dnd_failure_set_access(&failure, error_number, remedy, format, args);
	va_end(args);
	return tell(ctx, rc, &failure);
}

int dnd_meter_fail_memory(struct donard_context *ctx)
{
	return dnd_meter_fail(ctx, DND_E_NO_MEMORY, "the program ran out of memory. Free some.");
}
