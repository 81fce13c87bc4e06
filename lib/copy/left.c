// SPDX-License-Identifier: Apache-2.0
/*
 * What a copy that failed or was stopped has left behind.  Requests end in any order, so that the destination may have been
 * overwritten behind the first gap, where result->bytes ends.
 */
#include <string.h>

#include "copy/copy.h"

/*
 * Nothing was there before, and nothing is there now: a new file without a name, or memory that the copy allocated for itself.
 * A handle may have been copied to before.
 */
static bool is_private(const struct dnd_copy *copy)
{
	const struct dnd_side *dst = &copy->dst;

	return !copy->held && (dst->is_memory ? dst->is_gpu : dst->drive.unnamed);
}

/* Behind the end of a file there is nothing. */
static uint64_t end_of_touched(const struct dnd_copy *copy)
{
	const struct dnd_side *dst = &copy->dst;
	uint64_t length;

	if (dst->is_memory || !dst->drive.is_file)
		return copy->touched_end;
	length = dnd_drive_length(&dst->drive);
	return dnd_min(copy->touched_end, dnd_max(length, dst->offset) - dst->offset);
}

/* It has read those bytes before, and a copy of them all would now take others. */
static bool has_changed_source(const struct dnd_copy *copy)
{
	if (copy->shift_bytes > 0)
		return copy->length - copy->touched_from > (uint64_t)copy->shift_bytes;
	return copy->touched_end > (uint64_t)-copy->shift_bytes;
}

const char *dnd_copy_full_stop(const struct dnd_copy *copy)
{
	const char *text = copy->ctx->failure.text;
	size_t length = strlen(text);

	return length && text[length - 1] != '.' ? "." : "";
}

static void tell_overwritten(struct dnd_copy *copy, uint64_t from, uint64_t end)
{
	copy->result->overwritten_bytes = end - from;
	dnd_fail_more(copy->ctx, "%s Up to %llu bytes of %s, from offset %llu on, may have been overwritten.",
		      dnd_copy_full_stop(copy), (unsigned long long)(end - from), copy->dst.label,
		      (unsigned long long)(copy->dst.offset + from));
}

void dnd_copy_tell_left(struct dnd_copy *copy)
{
	uint64_t from = dnd_max(copy->touched_from, copy->result->bytes), end;

	if (!copy->touched_end || is_private(copy))
		return;
	end = end_of_touched(copy);
	if (end > from)
		tell_overwritten(copy, from, end);
	if (copy->shift_bytes && has_changed_source(copy))
		dnd_fail_more(copy->ctx, "%s The source was changed as well, because it shares bytes with the destination: a copy of "
			      "all of it would now be wrong.", dnd_copy_full_stop(copy));
}
