// SPDX-License-Identifier: Apache-2.0
/* The module's allocator, the very file that the kernel runs, against a plain array. */
#include "unit.h"
#include "../../kernel/alloc.c"

#define MAX_GRANULES	1000
#define ALICE		1000U
#define BOB		1001U

struct model {
	struct p2pmem_alloc alloc;
	u64 used[(MAX_GRANULES + 63) / 64];
	u32 bytes_of[MAX_GRANULES];
	bool taken[MAX_GRANULES];
	u64 free;
};

static void begin(struct model *m, u64 granules)
{
	memset(m, 0, sizeof(*m));
	memset(m->used, 0xff, sizeof(m->used));
	p2pmem_alloc_init(&m->alloc, m->used, m->bytes_of, granules);
	m->free = granules;
}

static u64 longest_free_run(const struct model *m)
{
	u64 longest = 0, run = 0;

	for (u64 g = 0; g < m->alloc.granules; g++) {
		run = m->taken[g] ? 0 : run + 1;
		if (run > longest)
			longest = run;
	}
	return longest;
}

/* Every granule by both searches, and the count. */
static void agrees(const struct model *m)
{
	u64 granules = m->alloc.granules, next_used = granules, next_free = granules;

	assert_int_equal(m->alloc.free, m->free);
	for (u64 g = granules; g-- > 0;) {
		if (m->taken[g])
			next_used = g;
		else
			next_free = g;
		assert_int_equal(p2pmem_alloc_next_used(&m->alloc, g), next_used);
		assert_int_equal(p2pmem_alloc_next_free(&m->alloc, g), next_free);
	}
}

static void set_taken(struct model *m, u64 first, u64 count, bool taken)
{
	for (u64 g = first; g < first + count; g++) {
		assert_true(m->taken[g] != taken);
		m->taken[g] = taken;
	}
	m->free += taken ? -count : count;
}

static bool has_run_in_phase(const struct model *m, u64 want, u64 chunk, u64 phase)
{
	for (u64 first = phase % chunk; first + want <= m->alloc.granules; first += chunk) {
		u64 g = first;

		while (g < first + want && !m->taken[g])
			g++;
		if (g == first + want)
			return true;
	}
	return false;
}

static void take(struct model *m, u64 want)
{
	u64 longest = longest_free_run(m), first = 0;
	u64 chunk = 1ULL << (random() % 5), phase = (u64)random();
	bool in_phase = want >= chunk && has_run_in_phase(m, want, chunk, phase);
	u64 got = p2pmem_alloc_take(&m->alloc, want, chunk, phase, &first);

	assert_int_equal(got, longest < want ? longest : want);
	if (in_phase)
		assert_int_equal(first % chunk, phase % chunk);
	set_taken(m, first, got, true);
	for (u64 g = first; g < first + got; g++)
		assert_int_equal(m->bytes_of[g], P2PMEM_BYTES_UNKNOWN);
}

static void take_at(struct model *m, u64 first, u64 count)
{
	bool expected = first + count <= m->alloc.granules;

	for (u64 g = first; expected && g < first + count; g++)
		expected = !m->taken[g];
	assert_true(p2pmem_alloc_take_at(&m->alloc, first, count) == expected);
	if (expected)
		set_taken(m, first, count, true);
}

/* Gives back from a random place on what is taken there, up to @most. */
static void give(struct model *m, u64 from, u64 most)
{
	u64 count = 0;

	while (from + count < m->alloc.granules && count < most && m->taken[from + count])
		count++;
	if (!count)
		return;
	p2pmem_alloc_give(&m->alloc, from, count, ALICE);
	set_taken(m, from, count, false);
}

static void random_use_agrees_with_a_plain_array(void **state)
{
	static const u64 sizes[] = { 1, 63, 64, 65, 512, MAX_GRANULES };
	struct model m;

	(void)state;
	srandom(11);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		begin(&m, sizes[i]);
		for (int round = 0; round < 1500; round++) {
			u64 at = (u64)random() % sizes[i], count = 1 + (u64)random() % (1 + sizes[i] / 3);

			switch (random() % 4) {
			case 0: take(&m, count); break;
			case 1: take_at(&m, at, count); break;
			default: give(&m, at, count); break;
			}
			agrees(&m);
		}
	}
}

static void full_region_gives_nothing(void **state)
{
	struct model m;
	u64 first = 77;

	(void)state;
	begin(&m, 100);
	assert_int_equal(p2pmem_alloc_take(&m.alloc, 100, 1, 0, &first), 100);
	assert_int_equal(first, 0);
	assert_int_equal(p2pmem_alloc_take(&m.alloc, 1, 1, 0, &first), 0);
	assert_int_equal(m.alloc.free, 0);
}

static void ranges_past_the_end_are_refused(void **state)
{
	struct model m;

	(void)state;
	begin(&m, 100);
	assert_false(p2pmem_alloc_take_at(&m.alloc, 99, 2));
	assert_false(p2pmem_alloc_take_at(&m.alloc, 101, 0));
	assert_false(p2pmem_alloc_take_at(&m.alloc, 1, ~0ULL));
	assert_false(p2pmem_alloc_take_at(&m.alloc, ~0ULL, 2));
	assert_int_equal(m.alloc.free, 100);
}

/* Owns [0, 4), looks at its first two granules, and gives all back. */
static void use_as(struct model *m, u32 uid, bool trusted)
{
	assert_true(p2pmem_alloc_take_at(&m->alloc, 0, 4));
	p2pmem_alloc_admit(&m->alloc, 0, 4, uid, trusted);
	m->bytes_of[0] = P2PMEM_BYTES_CLEAN;
	m->bytes_of[1] = P2PMEM_BYTES_CLEAN;
	p2pmem_alloc_give(&m->alloc, 0, 4, uid);
}

static void only_the_last_owner_keeps_the_bytes(void **state)
{
	struct model m;

	(void)state;
	begin(&m, 8);
	use_as(&m, ALICE, false);
	assert_true(p2pmem_alloc_take_at(&m.alloc, 0, 4));
	p2pmem_alloc_admit(&m.alloc, 0, 4, ALICE, false);
	assert_int_equal(m.bytes_of[1], P2PMEM_BYTES_CLEAN);
	assert_int_equal(m.bytes_of[2], P2PMEM_BYTES_UNKNOWN);
	p2pmem_alloc_give(&m.alloc, 0, 4, ALICE);
	assert_true(p2pmem_alloc_take_at(&m.alloc, 0, 4));
	p2pmem_alloc_admit(&m.alloc, 0, 4, BOB, false);
	for (u64 g = 0; g < 4; g++)
		assert_int_equal(m.bytes_of[g], P2PMEM_BYTES_UNKNOWN);
}

static void the_trusted_keep_all_bytes(void **state)
{
	struct model m;

	(void)state;
	begin(&m, 8);
	use_as(&m, ALICE, false);
	assert_true(p2pmem_alloc_take_at(&m.alloc, 0, 4));
	p2pmem_alloc_admit(&m.alloc, 0, 4, BOB, true);
	for (u64 g = 0; g < 4; g++)
		assert_int_equal(m.bytes_of[g], P2PMEM_BYTES_CLEAN);
}

/* The numeric uids that are markers own nothing. */
static void marker_uids_are_not_remembered(void **state)
{
	static const u32 markers[] = { P2PMEM_BYTES_CLEAN, P2PMEM_BYTES_UNKNOWN };
	struct model m;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		begin(&m, 8);
		use_as(&m, markers[i], false);
		assert_int_equal(m.bytes_of[0], P2PMEM_BYTES_UNKNOWN);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_use_agrees_with_a_plain_array),
		cmocka_unit_test(full_region_gives_nothing),
		cmocka_unit_test(ranges_past_the_end_are_refused),
		cmocka_unit_test(only_the_last_owner_keeps_the_bytes),
		cmocka_unit_test(the_trusted_keep_all_bytes),
		cmocka_unit_test(marker_uids_are_not_remembered),
	};

	return cmocka_run_group_tests_name("alloc", tests, NULL, NULL);
}
