// SPDX-License-Identifier: Apache-2.0
/* See window.h. */
#include "cache/window.h"

static uint64_t skipped(const struct dnd_cache_ring *ring, uint64_t length)
{
	uint64_t to_end = ring->bytes - ring->head % ring->bytes;

	return length > to_end ? to_end : 0;
}

/* An empty window has room for its whole length, wherever its head is. */
bool dnd_cache_ring_room(const struct dnd_cache_ring *ring, uint64_t length, uint64_t *at)
{
	uint64_t used = ring->head - ring->released, skip = skipped(ring, length);

	if (length > ring->bytes || (used && used + skip + length > ring->bytes))
		return false;
	*at = skip ? 0 : ring->head % ring->bytes;
	return true;
}

void dnd_cache_ring_take(struct dnd_cache_ring *ring, uint64_t length)
{
	uint64_t skip = skipped(ring, length);

	if (ring->head == ring->released)	/* nothing is in use, so the skipped bytes are free at once */
		ring->released += skip;
	ring->head += skip + length;
}

/* The server may have sent @released before bytes were skipped in an empty window.  Then it is out of date, and ignored. */
bool dnd_cache_ring_release(struct dnd_cache_ring *ring, uint64_t released)
{
	if (released > ring->head)
		return false;
	if (released > ring->released)
		ring->released = released;
	return true;
}
