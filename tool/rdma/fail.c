// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stdio.h>

#include "rdma/work.h"

int cli_rdma_fail(struct donard_context *ctx, int error, const char *code, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return donard_fail(ctx, error, code, text);
}
