// SPDX-License-Identifier: Apache-2.0
/* Whose bytes lie where: tests the very file that the kernel runs against a plain array. */
#include "unit.h"
#include "../../kernel/bytes.c"

#define MAX_GRANULES	3000
#define MAX_ENTRIES	(MAX_GRANULES + MAX_GRANULES / P2PMEM_BYTES_BLOCK + 1)
#define ALICE		1000U
#define BOB		1001U

struct model {
	struct p2pmem_bytes bytes;
	u32 entries[MAX_ENTRIES];
	u32 expected[MAX_GRANULES];
};

static void begin(struct model *m, u64 granules)
{
	memset(m, 0, sizeof(*m));
	assert_true(p2pmem_bytes_entries(granules, 1) <= MAX_ENTRIES);
	p2pmem_bytes_init(&m->bytes, m->entries, granules, 1);
	for (u64 g = 0; g < granules; g++)
		m->expected[g] = P2PMEM_BYTES_UNKNOWN;
}

static void agrees(const struct model *m)
{
	u64 end = m->bytes.granules, next = end;

	for (u64 g = end; g-- > 0;) {
		assert_int_equal(p2pmem_bytes_of(&m->bytes, g), m->expected[g]);
		if (m->expected[g] == P2PMEM_BYTES_UNKNOWN)
			next = g;
		assert_int_equal(p2pmem_bytes_next_unknown(&m->bytes, g, end), next);
	}
}

static void forget(struct model *m, u64 first, u64 count)
{
	p2pmem_bytes_forget(&m->bytes, first, count);
	for (u64 g = first; g < first + count; g++)
		m->expected[g] = P2PMEM_BYTES_UNKNOWN;
}

static void admit(struct model *m, u64 first, u64 count, u32 uid, bool trusted)
{
	p2pmem_bytes_admit(&m->bytes, first, count, uid, trusted);
	for (u64 g = first; g < first + count; g++)
		m->expected[g] = trusted || m->expected[g] == uid ? P2PMEM_BYTES_CLEAN :
								    P2PMEM_BYTES_UNKNOWN;
}

static void show(struct model *m, u64 first, u64 count)
{
	p2pmem_bytes_show(&m->bytes, first, count);
	for (u64 g = first; g < first + count; g++)
		m->expected[g] = P2PMEM_BYTES_CLEAN;
}

static void keep(struct model *m, u64 first, u64 count, u32 uid)
{
	p2pmem_bytes_keep(&m->bytes, first, count, uid);
	for (u64 g = first; g < first + count; g++)
		if (m->expected[g] == P2PMEM_BYTES_CLEAN)
			m->expected[g] = uid;
}

/* Ranges of any place and length, and whole blocks, which one entry describes. */
static void random_range(u64 granules, u64 *first, u64 *count)
{
	u64 block = P2PMEM_BYTES_BLOCK;

	*first = (u64)random() % granules;
	*count = 1 + (u64)random() % (granules - *first);
	if (random() % 2) {
		*first -= *first % block;
		*count = (*count + block - 1) / block * block;
	}
	if (*count > granules - *first)
		*count = granules - *first;
}

static void random_use_agrees_with_a_plain_array(void **state)
{
	static const u64 sizes[] = { 1, 511, 512, 513, 1024, MAX_GRANULES };
	struct model m;
	u64 first, count;

	(void)state;
	srandom(13);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		begin(&m, sizes[i]);
		agrees(&m);
		for (int round = 0; round < 150; round++) {
			random_range(sizes[i], &first, &count);
			switch (random() % 5) {
			case 0: forget(&m, first, count); break;
			case 1: show(&m, first, count); break;
			case 2: keep(&m, first, count, random() % 2 ? ALICE : BOB); break;
			default: admit(&m, first, count, random() % 2 ? ALICE : BOB, !(random() % 3)); break;
			}
			agrees(&m);
		}
	}
}

/* Entries of granules that a block's entry describes are not even looked at. */
static void whole_blocks_need_one_entry(void **state)
{
	struct model m;

	(void)state;
	begin(&m, 2 * P2PMEM_BYTES_BLOCK + 3);
	memset(m.bytes.of_granule, 0x5a, m.bytes.granules * sizeof(u32));
	admit(&m, 0, m.bytes.granules, ALICE, true);
	keep(&m, 0, m.bytes.granules, ALICE);
	admit(&m, 0, m.bytes.granules, ALICE, false);
	agrees(&m);
	for (u64 g = 0; g < m.bytes.granules; g++)
		assert_int_equal(m.bytes.of_granule[g], 0x5a5a5a5a);
}

/* Large folios: who uses whole blocks alone needs no entries of granules. */
static void blocks_alone_need_no_more(void **state)
{
	u64 block = P2PMEM_BYTES_BLOCK, granules = 5 * block;
	struct model m;

	(void)state;
	begin(&m, granules);
	assert_int_equal(p2pmem_bytes_entries(granules, 2 * block), 5);
	memset(m.entries, 0x5a, sizeof(m.entries));
	p2pmem_bytes_init(&m.bytes, m.entries, granules, 2 * block);
	admit(&m, 0, 4 * block, ALICE, false);
	show(&m, block, 2 * block);
	agrees(&m);
	keep(&m, 0, 4 * block, ALICE);
	admit(&m, 2 * block, 2 * block, BOB, false);
	admit(&m, 0, 2 * block, ALICE, false);
	agrees(&m);
	for (u64 i = 5; i < MAX_ENTRIES; i++)
		assert_int_equal(m.entries[i], 0x5a5a5a5a);
}

/* Two owners in one block, each of whom changes no entry but its own. */
static void owners_in_one_block_do_not_meet(void **state)
{
	struct model m;
	u32 others[100];

	(void)state;
	begin(&m, P2PMEM_BYTES_BLOCK);
	admit(&m, 0, 100, ALICE, false);
	admit(&m, 100, 100, BOB, false);
	memcpy(others, m.bytes.of_granule + 100, sizeof(others));
	show(&m, 10, 50);
	keep(&m, 0, 100, ALICE);
	assert_memory_equal(others, m.bytes.of_granule + 100, sizeof(others));
	agrees(&m);
}

/* Owns [0, 4), looks at its first two granules, and gives all back. */
static void use_as(struct model *m, u32 uid)
{
	p2pmem_bytes_admit(&m->bytes, 0, 4, uid, false);
	p2pmem_bytes_show(&m->bytes, 0, 2);
	p2pmem_bytes_keep(&m->bytes, 0, 4, uid);
}

/* Asserts what the next owner of [0, 4) may see of all four granules. */
static void assert_admitted(struct model *m, u32 uid, bool trusted, u32 want)
{
	p2pmem_bytes_admit(&m->bytes, 0, 4, uid, trusted);
	for (u64 g = 0; g < 4; g++)
		assert_int_equal(p2pmem_bytes_of(&m->bytes, g), want);
}

static void only_the_last_owner_keeps_the_bytes(void **state)
{
	struct model m;

	(void)state;
	begin(&m, 8);
	use_as(&m, ALICE);
	p2pmem_bytes_admit(&m.bytes, 0, 4, ALICE, false);
	assert_int_equal(p2pmem_bytes_of(&m.bytes, 1), P2PMEM_BYTES_CLEAN);
	assert_int_equal(p2pmem_bytes_of(&m.bytes, 2), P2PMEM_BYTES_UNKNOWN);
	p2pmem_bytes_keep(&m.bytes, 0, 4, ALICE);
	assert_admitted(&m, BOB, false, P2PMEM_BYTES_UNKNOWN);
}

/* A user who is UNKNOWN does not own bytes whose owner is UNKNOWN. */
static void who_owns_nothing_sees_nothing(void **state)
{
	struct model m;

	(void)state;
	begin(&m, 8);
	assert_admitted(&m, P2PMEM_BYTES_UNKNOWN, false, P2PMEM_BYTES_UNKNOWN);
	p2pmem_bytes_show(&m.bytes, 0, 4);
	p2pmem_bytes_keep(&m.bytes, 0, 4, P2PMEM_BYTES_UNKNOWN);
	assert_admitted(&m, P2PMEM_BYTES_UNKNOWN, false, P2PMEM_BYTES_UNKNOWN);
	assert_admitted(&m, P2PMEM_BYTES_UNKNOWN, true, P2PMEM_BYTES_CLEAN);
}

static void the_trusted_keep_all_bytes(void **state)
{
	struct model m;

	(void)state;
	begin(&m, 8);
	use_as(&m, ALICE);
	assert_admitted(&m, BOB, true, P2PMEM_BYTES_CLEAN);
}

/* The uids that serve as markers own nothing, neither single granules nor a whole block. */
static void marker_uids_are_not_remembered(void **state)
{
	static const u32 markers[] = { P2PMEM_BYTES_CLEAN, P2PMEM_BYTES_UNKNOWN, MIXED };
	struct model m;

	(void)state;
	for (size_t i = 0; i < sizeof(markers) / sizeof(markers[0]); i++) {
		begin(&m, 8);
		use_as(&m, markers[i]);
		assert_int_equal(p2pmem_bytes_of(&m.bytes, 0), P2PMEM_BYTES_UNKNOWN);
		p2pmem_bytes_admit(&m.bytes, 0, 8, ALICE, true);
		p2pmem_bytes_keep(&m.bytes, 0, 8, markers[i]);
		assert_int_equal(p2pmem_bytes_of(&m.bytes, 0), P2PMEM_BYTES_UNKNOWN);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_use_agrees_with_a_plain_array),
		cmocka_unit_test(whole_blocks_need_one_entry),
		cmocka_unit_test(blocks_alone_need_no_more),
		cmocka_unit_test(owners_in_one_block_do_not_meet),
		cmocka_unit_test(only_the_last_owner_keeps_the_bytes),
		cmocka_unit_test(who_owns_nothing_sees_nothing),
		cmocka_unit_test(the_trusted_keep_all_bytes),
		cmocka_unit_test(marker_uids_are_not_remembered),
	};

	return cmocka_run_group_tests_name("bytes", tests, NULL, NULL);
}
