// SPDX-License-Identifier: Apache-2.0
/* See sized.h. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/sized.h"

static size_t size_of(const void *caller)
{
	size_t size;

	memcpy(&size, caller, sizeof(size));
	return size;
}

bool dnd_struct_has_size(const void *caller)
{
	return size_of(caller) >= sizeof(size_t);
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
	size_t size = size_of(from), both = size < known ? size : known;

	if (!dnd_struct_has_size(from))
		return -EINVAL;
	if (!is_zero((const uint8_t *)from + both, size - both))
		return -E2BIG;
	memset(to, 0, known);
	memcpy(to, from, both);
	memcpy(to, &known, sizeof(known));
	return 0;
}

void dnd_struct_give(void *caller, const void *from, size_t known)
{
	size_t size = size_of(caller), both = size < known ? size : known;

	memcpy((uint8_t *)caller + sizeof(size), (const uint8_t *)from + sizeof(size),
	       both - sizeof(size));
	memset((uint8_t *)caller + both, 0, size - both);
}
