/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client's view of its window: a ring of bytes that it fills, and that the server frees.
 * The server places the same bytes by the same rule (log.c, check_window()).
 */
#ifndef DND_CACHE_WINDOW_H
#define DND_CACHE_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

struct dnd_cache_ring {
	uint64_t bytes;
	uint64_t head;		/* filled since the beginning, with what was skipped at the end */
	uint64_t released;	/* of these, free again */
};

/*
 * Where in the window @length bytes go, if there is room for them now: at the head, or at
 * the start where they do not fit before the end.  Takes nothing yet.
 */
bool dnd_cache_ring_room(const struct dnd_cache_ring *ring, uint64_t length, uint64_t *at);
/* They were put there. */
void dnd_cache_ring_take(struct dnd_cache_ring *ring, uint64_t length);
/* False: the server cannot have freed that. */
bool dnd_cache_ring_release(struct dnd_cache_ring *ring, uint64_t released);

#endif /* DND_CACHE_WINDOW_H */
