// SPDX-License-Identifier: Apache-2.0
/* Structures that grow from release to release, with callers of any release. */
#include "base/base.h"

static size_t size_of(const void *caller)
{
	size_t size;

	memcpy(&size, caller, sizeof(size));
	return size;
}

static bool is_zero(const uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (bytes[i])
			return false;
	return true;
}

int dnd_struct_copy(void *to, size_t known, const void *from)
{
	size_t size = size_of(from), both = dnd_min(size, known);

	if (size < sizeof(size))
		return -EINVAL;
	if (!is_zero((const uint8_t *)from + both, size - both))
		return -E2BIG;
	memset(to, 0, known);
	memcpy(to, from, both);
	memcpy(to, &known, sizeof(known));
	return 0;
}

int dnd_struct_check(struct donard_context *ctx, const void *caller, const char *name)
{
	if (size_of(caller) < sizeof(size_t))
		return dnd_fail(ctx, DND_E_BAD_OPTION, "struct %s has no size. Set its first member "
				"to sizeof(struct %s).", name, name);
	return 0;
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

void dnd_struct_give(void *caller, const void *from, size_t known)
{
	size_t size = size_of(caller), both = dnd_min(size, known);

	memcpy((uint8_t *)caller + sizeof(size), (const uint8_t *)from + sizeof(size),
	       both - sizeof(size));
	memset((uint8_t *)caller + both, 0, size - both);
}
