// SPDX-License-Identifier: Apache-2.0
/* Structures from callers that were built for any release. */
#include "base/base.h"

int dnd_struct_check(struct donard_context *ctx, const void *caller, const char *name)
{
	return dnd_struct_has_size(caller) ? 0 : dnd_fail_member(ctx, DND_E_BAD_OPTION, DND_AT("size"),
								 DND_NO_SIZE, name, name);
}

int dnd_struct_take(struct donard_context *ctx, void *to, size_t known, const void *from,
		    const char *name)
{
	int rc = dnd_struct_check(ctx, from, name);

	if (rc)
		return rc;
	if (dnd_struct_copy(to, known, from))
		return dnd_fail(ctx, DND_E_TOO_NEW, "struct %s has members set that this library, %s, "
				"does not know", name, donard_version());
	return 0;
}
