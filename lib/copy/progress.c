// SPDX-License-Identifier: Apache-2.0
/*
 * Tells the caller how far a copy is, and checks now and then whether a region
 * is being removed.  Pins keep the region's memory usable, so no request fails,
 * and the removal would wait until the copy ends.  It also looks at the devices below the drives, since one that
 * comes, and goes again before the end, may have got requests.
 */
#include "copy/copy.h"

#define LOOK_EVERY_SECONDS	0.1
#define LOOK_AT_DRIVES_EVERY_SECONDS	1	/* reads dozens of files of sysfs */

DND_PUBLIC const char *donard_phase_text(enum donard_phase phase)
{
	switch (phase) {
	case DONARD_PHASE_COPY:
		return "copying";
	case DONARD_PHASE_FLUSH:
		return "flushing";
	case DONARD_PHASE_VERIFY:
		return "verifying";
	}
	return "unknown";
}

static void look(struct dnd_copy *copy, double now)
{
	copy->looked_seconds = now;
	copy->region_lost = dnd_copy_region_gone(copy);
	if (now - copy->looked_at_drives_seconds < LOOK_AT_DRIVES_EVERY_SECONDS)
		return;
	copy->looked_at_drives_seconds = now;
	dnd_copy_watch(copy, &copy->src);
	dnd_copy_watch(copy, &copy->dst);
}

int dnd_copy_progress(void *user, enum donard_phase phase, uint64_t done_bytes, uint64_t total_bytes)
{
	struct dnd_copy *copy = user;
	double now = dnd_now_seconds();

	if (now - copy->looked_seconds >= LOOK_EVERY_SECONDS)
		look(copy, now);
	/* Only this phase needs the region that carries the bytes; the later ones go on without it. */
	if (phase == DONARD_PHASE_COPY && copy->region_lost)
		return 1;
	copy->stopped |= copy->options.progress_fn &&
			 copy->options.progress_fn(copy->options.progress_user, phase, done_bytes, total_bytes);
	return copy->stopped && done_bytes < total_bytes;
}
