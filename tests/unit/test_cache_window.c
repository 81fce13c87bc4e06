// SPDX-License-Identifier: Apache-2.0
/* A client's view of its window, against a server that counts each byte. */
#include "unit.h"
#include "cache/window.h"

#define BYTES 64

struct scene {
	struct dnd_cache_ring ring;
	char owner[BYTES];	/* whose the byte is: 0 is free */
};

static bool has_room(struct scene *scene, uint64_t length)
{
	uint64_t at;

	return dnd_cache_ring_room(&scene->ring, length, &at);
}

/* No byte is taken twice. */
static uint64_t take(struct scene *scene, uint64_t length, char owner)
{
	uint64_t at;

	assert_true(dnd_cache_ring_room(&scene->ring, length, &at));
	assert_true(at + length <= BYTES);
	for (uint64_t i = at; i < at + length; i++) {
		assert_int_equal(scene->owner[i], 0);
		scene->owner[i] = owner;
	}
	dnd_cache_ring_take(&scene->ring, length);
	return at;
}

static void give_back(struct scene *scene, char owner, uint64_t released)
{
	for (int i = 0; i < BYTES; i++)
		if (scene->owner[i] == owner)
			scene->owner[i] = 0;
	assert_true(dnd_cache_ring_release(&scene->ring, released));
}

static void fills_and_waits(void **state)
{
	struct scene scene = { .ring.bytes = BYTES };

	(void)state;
	assert_int_equal(take(&scene, 40, 'a'), 0);
	assert_int_equal(take(&scene, 24, 'b'), 40);
	assert_false(has_room(&scene, 1));
	give_back(&scene, 'a', 40);
	assert_false(has_room(&scene, 41));
	assert_int_equal(take(&scene, 40, 'c'), 0);
}

static void skips_the_end(void **state)
{
	struct scene scene = { .ring.bytes = BYTES };

	(void)state;
	take(&scene, 40, 'a');
	take(&scene, 8, 'b');
	give_back(&scene, 'a', 40);
	assert_int_equal(take(&scene, 20, 'c'), 0);	/* not in the 16 before the end */
	assert_false(has_room(&scene, 24));		/* these are not free before b is */
	assert_int_equal(scene.ring.head, 40 + 8 + 16 + 20);
	give_back(&scene, 'b', 48);
	give_back(&scene, 'c', scene.ring.head);
	assert_true(has_room(&scene, BYTES));
}

/* Wherever its head is, an empty window takes as much as it is long. */
static void empty_window_takes_all(void **state)
{
	struct scene scene = { .ring.bytes = BYTES };

	(void)state;
	take(&scene, 24, 'a');
	assert_false(has_room(&scene, BYTES));
	give_back(&scene, 'a', 24);
	assert_int_equal(take(&scene, BYTES, 'b'), 0);
	assert_false(has_room(&scene, 1));
	give_back(&scene, 'b', scene.ring.head);
	assert_false(has_room(&scene, BYTES + 1));
	assert_int_equal(take(&scene, BYTES, 'c'), 0);
}

static void server_says_nonsense(void **state)
{
	struct dnd_cache_ring ring = { .bytes = BYTES };

	(void)state;
	dnd_cache_ring_take(&ring, 8);
	assert_false(dnd_cache_ring_release(&ring, 9));
	assert_true(dnd_cache_ring_release(&ring, 8));
	assert_true(dnd_cache_ring_release(&ring, 4));	/* said before */
	assert_int_equal(ring.released, 8);
}

/* Many lengths, the oldest given back when there is no room: none is ever refused for good. */
static void goes_on_for_ever(void **state)
{
	struct scene scene = { .ring.bytes = BYTES };
	uint64_t ends[256] = { 0 }, seed = 1;
	unsigned int oldest = 1, next = 1;

	(void)state;
	for (int i = 0; i < 100000; i++) {
		uint64_t length = (seed = seed * 6364136223846793005ULL + 1442695040888963407ULL) >> 33;

		length = length % BYTES + 1;
		while (!has_room(&scene, length)) {
			assert_int_not_equal(oldest, next);
			give_back(&scene, (char)oldest, ends[oldest]);
			oldest = oldest % 250 + 1;
		}
		take(&scene, length, (char)next);
		ends[next] = scene.ring.head;
		next = next % 250 + 1;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fills_and_waits),
		cmocka_unit_test(skips_the_end),
		cmocka_unit_test(empty_window_takes_all),
		cmocka_unit_test(server_says_nonsense),
		cmocka_unit_test(goes_on_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
