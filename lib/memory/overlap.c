// SPDX-License-Identifier: Apache-2.0
/*
 * Do two memories share bytes of one region?  An open file may own its bytes in pieces, and two memories may belong to
 * one file (donard_memory_adopt()) or one dma-buf.  Therefore the kernel is asked where the bytes lie.
 */
#include <stdlib.h>

#include "memory/memory.h"

struct runs {
	struct dnd_run *first;
	size_t count, room;
};

static int add(struct runs *runs, const struct dnd_run *run)
{
	if (runs->count == runs->room) {
		size_t room = runs->room ? 2 * runs->room : 8;
		struct dnd_run *more = realloc(runs->first, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		runs->first = more;
		runs->room = room;
	}
	runs->first[runs->count++] = *run;
	return 0;
}

static int collect(const struct donard_memory *memory, uint64_t offset, uint64_t length, struct runs *runs)
{
	struct dnd_run run;
	int rc = 0;

	for (uint64_t at = 0; !rc && at < length; at += run.bytes) {
		rc = dnd_memory_run(memory, offset + at, &run);
		if (rc)
			return dnd_memory_access_failed(memory, -rc);
		run.bytes = dnd_min(run.bytes, length - at);
		rc = add(runs, &run);
	}
	return rc ? dnd_fail_memory(memory->ctx) : 0;
}

static int by_place(const void *left, const void *right)
{
	const struct dnd_run *a = left, *b = right;

	return (a->region_offset > b->region_offset) - (a->region_offset < b->region_offset);
}

static bool meet(const struct runs *a, const struct runs *b)
{
	size_t i = 0, j = 0;

	qsort(a->first, a->count, sizeof(*a->first), by_place);
	qsort(b->first, b->count, sizeof(*b->first), by_place);
	while (i < a->count && j < b->count) {
		const struct dnd_run *left = &a->first[i], *right = &b->first[j];

		if (left->region_offset + left->bytes <= right->region_offset)
			i++;
		else if (right->region_offset + right->bytes <= left->region_offset)
			j++;
		else
			return true;
	}
	return false;
}

int dnd_memory_overlap(const struct donard_memory *a, uint64_t a_offset, const struct donard_memory *b, uint64_t b_offset,
		       uint64_t length, int64_t *shift)
{
	struct runs left = { 0 }, right = { 0 };
	int rc = collect(a, a_offset, length, &left);

	*shift = 0;
	if (!rc)
		rc = collect(b, b_offset, length, &right);
	if (!rc && left.count == 1 && right.count == 1)
		*shift = (int64_t)(right.first->region_offset - left.first->region_offset);
	if (!rc)
		rc = meet(&left, &right);
	free(left.first);
	free(right.first);
	return rc;
}
