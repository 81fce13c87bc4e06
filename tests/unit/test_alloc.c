// SPDX-License-Identifier: Apache-2.0
/* The module's allocator, the very file that the kernel runs, against a plain array. */
#include <sys/mman.h>
#include <unistd.h>

#include "unit.h"
#include "../../kernel/alloc.c"
#include "../../kernel/runs.c"
#include "../../kernel/bytes.c"

#define MAX_GRANULES	5000
#define MAX_WORDS	((MAX_GRANULES + 63) / 64)
#define ALICE		1000U

struct model {
	struct p2pmem_alloc alloc;
	u64 used[MAX_WORDS];
	struct p2pmem_runs_node nodes[256];
	u32 bytes[MAX_GRANULES + MAX_GRANULES / P2PMEM_BYTES_BLOCK + 1];
	bool taken[MAX_GRANULES];
	u64 free;
};

static void begin(struct model *m, u64 granules)
{
	memset(m, 0, sizeof(*m));
	memset(m->used, 0xff, sizeof(m->used));
	assert_true(p2pmem_runs_nodes(granules) <= sizeof(m->nodes) / sizeof(m->nodes[0]));
	p2pmem_alloc_init(&m->alloc, m->used, m->bytes, m->nodes, granules, 1);
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
	p2pmem_bytes_forget(&m->alloc.bytes, first, got);
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

/* Frees up to @most granules that are taken, from a random place on. */
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
	static const u64 sizes[] = { 1, 63, 64, 65, 512, 1000, 4096, MAX_GRANULES };
	struct model m;

	(void)state;
	srandom(11);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		begin(&m, sizes[i]);
		/* Looking at each granule each time takes long under valgrind. */
		for (int round = 0; round < (sizes[i] > 1000 ? 150 : 1500); round++) {
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

/* ---- flat cost: how much memory a call reads must not depend on how much is owned or free ---- */

#define MANY		(1ULL << 22)	/* a region of 16 GiB */
#define MANY_WORDS	(MANY / 64)
#define TREE_HEIGHT	17		/* from one of its words up to the root */

/* @used has pages of its own, so that the test can protect parts of it from being read. */
static struct p2pmem_alloc *many_granules(void)
{
	struct p2pmem_alloc *a = calloc(1, sizeof(*a));
	struct p2pmem_runs_node *nodes = calloc(p2pmem_runs_nodes(MANY), sizeof(*nodes));
	u64 *used = mmap(NULL, MANY_WORDS * sizeof(*used), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	u32 *bytes = calloc(p2pmem_bytes_entries(MANY, 1), sizeof(*bytes));

	assert_non_null(a);
	assert_non_null(nodes);
	assert_ptr_not_equal(used, MAP_FAILED);
	assert_non_null(bytes);
	p2pmem_alloc_init(a, used, bytes, nodes, MANY, 1);
	return a;
}

static void end_many(struct p2pmem_alloc *a)
{
	munmap(a->runs.used, MANY_WORDS * sizeof(*a->runs.used));
	free(a->runs.nodes);
	free(a->bytes.of_block);
	free(a);
}

/* All of @used but its first and last page: a look there ends the test by a signal. */
static void forbid_the_middle(struct p2pmem_alloc *a, bool forbid)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = MANY_WORDS * sizeof(*a->runs.used);

	assert_int_equal(mprotect((char *)a->runs.used + page, bytes - 2 * page,
				  forbid ? PROT_NONE : PROT_READ | PROT_WRITE), 0);
}

static void one_granule_costs_the_same_in_an_empty_region(void **state)
{
	struct p2pmem_alloc *a = many_granules();
	u64 first = 77;

	(void)state;
	forbid_the_middle(a, true);
	assert_int_equal(p2pmem_alloc_take(a, 1, 1, 0, &first), 1);
	assert_int_equal(first, 0);
	assert_int_equal(p2pmem_alloc_take(a, 512, 512, 3, &first), 512);
	assert_int_equal(first, 3);
	assert_true(p2pmem_alloc_take_at(a, 1000, 5));
	assert_false(p2pmem_alloc_take_at(a, 1004, 5));
	p2pmem_alloc_give(a, 1000, 5, ALICE);
	assert_int_equal(a->free, MANY - 513);
	end_many(a);
}

static void one_granule_costs_the_same_in_a_full_region(void **state)
{
	struct p2pmem_alloc *a = many_granules();
	u64 first;

	(void)state;
	assert_int_equal(p2pmem_alloc_take(a, MANY, 1, 0, &first), MANY);
	forbid_the_middle(a, true);
	assert_int_equal(p2pmem_alloc_take(a, 1, 1, 0, &first), 0);
	p2pmem_alloc_give(a, MANY - 1, 1, ALICE);
	assert_int_equal(p2pmem_alloc_take(a, 1, 1, 0, &first), 1);
	assert_int_equal(first, MANY - 1);
	p2pmem_alloc_give(a, 0, 1, ALICE);
	assert_int_equal(p2pmem_alloc_take(a, 1, 1, 0, &first), 1);
	assert_int_equal(first, 0);
	forbid_the_middle(a, false);
	p2pmem_alloc_give(a, 0, MANY, ALICE);
	assert_int_equal(p2pmem_alloc_take(a, MANY, 1, 0, &first), MANY);
	end_many(a);
}

/* ---- linear: the work for memory in pieces grows as their number does ---- */

/* Every granule is owned but @fragments single ones. */
static struct p2pmem_alloc *fragmented(u64 fragments)
{
	struct p2pmem_alloc *a = many_granules();
	u64 first;

	assert_int_equal(p2pmem_alloc_take(a, MANY, 1, 0, &first), MANY);
	for (u64 i = 0; i < fragments; i++)
		p2pmem_alloc_give(a, i * (MANY / fragments), 1, ALICE);
	assert_int_equal(a->free, fragments);
	assert_int_equal(p2pmem_runs_longest(&a->runs), 1);
	a->runs.visits = 0;
	return a;
}

/* Does what p2pmem_file_back() does for a mapping of all free memory, and then what close() does. */
static void map_and_close(struct p2pmem_alloc *a, u64 *pieces, u64 *n)
{
	u64 left = a->free;

	for (*n = 0; left; left -= 1)
		assert_int_equal(p2pmem_alloc_take(a, left, 512, 0, &pieces[(*n)++]), 1);
	for (u64 i = 0; i < *n; i++)
		p2pmem_alloc_give(a, pieces[i], 1, ALICE);
}

static void a_piece_costs_the_same_among_a_million(void **state)
{
	static const u64 numbers[] = { 1000, 10000, 100000, 1000000 };
	u64 *pieces = calloc(1000000, sizeof(*pieces)), n;

	(void)state;
	assert_non_null(pieces);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct p2pmem_alloc *a = fragmented(numbers[i]);

		map_and_close(a, pieces, &n);
		assert_int_equal(n, numbers[i]);
		assert_int_equal(a->free, numbers[i]);
		/* Up and down to the piece, and up again when it is taken and when it is given. */
		assert_in_range(a->runs.visits, 1, numbers[i] * 4 * TREE_HEIGHT);
		end_many(a);
	}
	free(pieces);
}

static void one_piece_that_nothing_fits_costs_the_same(void **state)
{
	struct p2pmem_alloc *a = fragmented(1000000);
	u64 first;

	(void)state;
	assert_false(p2pmem_alloc_take_at(a, 0, 2));
	assert_int_equal(p2pmem_alloc_take(a, 2, 1, 0, &first), 1);
	assert_in_range(a->runs.visits, 1, 3 * TREE_HEIGHT);
	end_many(a);
}

/* Thousands of runs that are long enough, and none of them in phase. */
static void looking_for_a_chunk_in_phase_is_bounded(void **state)
{
	struct p2pmem_alloc *a = many_granules();
	u64 first, chunk = 512;

	(void)state;
	for (u64 at = 0; at < MANY; at += 2 * chunk)
		assert_true(p2pmem_alloc_take_at(a, at, chunk + 1));
	a->runs.visits = 0;
	assert_int_equal(p2pmem_alloc_take(a, chunk - 1, chunk, 0, &first), chunk - 1);
	p2pmem_alloc_give(a, first, chunk - 1, ALICE);
	/* One in phase at the very end, longer by a chunk. */
	p2pmem_alloc_give(a, MANY - 2 * chunk, chunk + 1, ALICE);
	a->runs.visits = 0;
	assert_int_equal(p2pmem_alloc_take(a, chunk, chunk, 0, &first), chunk);
	assert_int_equal(first % chunk, 0);
	assert_in_range(a->runs.visits, 1, (P2PMEM_ALLOC_TRIES + 4) * 2 * TREE_HEIGHT);
	end_many(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_use_agrees_with_a_plain_array),
		cmocka_unit_test(full_region_gives_nothing),
		cmocka_unit_test(ranges_past_the_end_are_refused),
		cmocka_unit_test(one_granule_costs_the_same_in_an_empty_region),
		cmocka_unit_test(one_granule_costs_the_same_in_a_full_region),
		cmocka_unit_test(a_piece_costs_the_same_among_a_million),
		cmocka_unit_test(one_piece_that_nothing_fits_costs_the_same),
		cmocka_unit_test(looking_for_a_chunk_in_phase_is_bounded),
	};

	return cmocka_run_group_tests_name("alloc", tests, NULL, NULL);
}
