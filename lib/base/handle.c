// SPDX-License-Identifier: Apache-2.0
/* See base.h. */
#include "base/base.h"

void dnd_handle_init(struct dnd_handle *handle)
{
	static uint64_t last;

	handle->identity = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
	handle->holders = 1;
}

void dnd_handle_get(struct dnd_handle *handle)
{
	__atomic_add_fetch(&handle->holders, 1, __ATOMIC_RELAXED);
}

unsigned int dnd_handle_holders(const struct dnd_handle *handle)
{
	return __atomic_load_n(&handle->holders, __ATOMIC_RELAXED);
}

/* The memory order makes all accesses of the other holders visible to the last one before it frees. */
bool dnd_handle_put(struct dnd_handle *handle)
{
	return !__atomic_sub_fetch(&handle->holders, 1, __ATOMIC_ACQ_REL);
}
