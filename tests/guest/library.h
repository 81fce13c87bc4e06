/* SPDX-License-Identifier: Apache-2.0 */
/* For programs that test libdonard's memories: their context, and what a call of the library must do. */
#include "donard/memory.h"
#include "named.h"
#include "uapi.h"

static struct donard_context *ctx;

/* The call must fail with this errno and this word. */
#define REFUSES(error, word, call) do { \
	int r_ = (call); \
	if (r_ != -(error) || strcmp(donard_error_code(ctx), (word))) \
		errx(1, "line %d: %s: expected %s (%s), seen %d (%s: %s)", __LINE__, #call, \
		     strerrorname_np(error), (word), r_, donard_error_code(ctx), donard_error(ctx)); \
} while (0)

#define GOES(call) do { \
	int r_ = (call); \
	if (r_ < 0) \
		errx(1, "line %d: %s: %d (%s)", __LINE__, #call, r_, donard_error(ctx)); \
} while (0)

/* Asserts the text of the last refusal. */
#define SAID(what) do { \
	if (!strstr(donard_error(ctx), (what))) \
		errx(1, "line %d: expected a text with '%s', seen '%s'", __LINE__, (what), donard_error(ctx)); \
} while (0)

static inline struct donard_memory_info about(const struct donard_memory *memory)
{
	struct donard_memory_info info = { .size = sizeof(info) };

	GOES(donard_memory_info(memory, &info));
	return info;
}
