/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client's view of its window: a ring of bytes that the client fills and the server frees.
 * The server checks their place by the same rule (log.c, dnd_cache_check_turn()).
 */
#ifndef DND_CACHE_WINDOW_H
#define DND_CACHE_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

struct dnd_cache_ring {
	uint64_t bytes;
	uint64_t head;		/* bytes filled since the beginning, those skipped at the end included */
	uint64_t released;	/* how many of these are free again */
};

/*
 * Returns true if there is room for @length bytes now, and where in the window they go: at the
 * head, or at the start if they do not fit before the end.  Takes no room yet.
 */
bool dnd_cache_ring_room(const struct dnd_cache_ring *ring, uint64_t length, uint64_t *at);
/* Takes that room. */
void dnd_cache_ring_take(struct dnd_cache_ring *ring, uint64_t length);
/* Returns false if the server cannot have freed so much. */
bool dnd_cache_ring_release(struct dnd_cache_ring *ring, uint64_t released);

#endif /* DND_CACHE_WINDOW_H */
