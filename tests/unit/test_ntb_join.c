// SPDX-License-Identifier: Apache-2.0
/*
 * The agreement of two ends of a bridge about lent memory (kernel/ntb/join.h), the very file that the kernel runs, through
 * all that can happen in some number of lendings: cuts, deaths, messages that come late, partly, or never. Nobody uses
 * a window into other memory than he began with; and from wherever they are, two ends that are left alone agree.
 */
#include "unit.h"
#include "../../kernel/ntb/join.c"

/* Lendings, and memories to lend. Epochs come from one well, so that none comes twice. */
#define MAX_EPOCH	5
#define MAX_MEMORY	5
#define MAX_STATES	(1 << 22)

/*
 * The state of one direction; the other is the same, and independent. A pad's value is the one at its reader. The struct must
 * have no padding, because states are compared as bytes.
 */
struct state {
	uint8_t epoch, lent;			/* the lender */
	uint8_t memory, has_memory, lender_up;	/* which it has, or had */
	uint8_t joined, leaving, quiet;		/* the borrower */
	uint8_t in_use, in_use_of, meant;	/* users, the lending that they began with, and its memory */
	uint8_t borrower_up;
	uint8_t pad_offer, pad_open, pad_quiet;
	uint8_t linked, last_epoch;
	uint8_t opened, lent_memory;		/* epochs that ever were lent, a bit each; the memory of the last one */
};

/* --- steps: each makes at most one thing happen; false if it cannot --- */

static void load(const struct state *s, struct ntb_lender *l, struct ntb_borrower *b)
{
	*l = (struct ntb_lender){ .epoch = s->epoch, .lent = s->lent };
	*b = (struct ntb_borrower){ .joined = s->joined, .leaving = s->leaving, .quiet = s->quiet };
}

static void store(struct state *s, const struct ntb_lender *l, const struct ntb_borrower *b)
{
	s->epoch = l->epoch;
	s->lent = l->lent;
	s->joined = b->joined;
	s->leaving = b->leaving;
	s->quiet = b->quiet;
	if (s->epoch > s->last_epoch)
		s->last_epoch = s->epoch;
}

/* @sees_link: whether the lender believes that there is a link; it may not know the present state yet. */
static void lender_step(struct state *s, bool sees_link)
{
	const struct ntb_join_pads theirs = { .quiet = s->pad_quiet };
	struct ntb_lender l;
	struct ntb_borrower b;

	load(s, &l, &b);
	if (ntb_lender_judge(&l, sees_link ? &theirs : NULL, s->has_memory) == NTB_JOIN_OPEN) {
		ntb_lender_opened(&l);
		s->opened |= 1 << l.epoch;
		s->lent_memory = s->memory;
	}
	store(s, &l, &b);
}

static void borrower_step(struct state *s, bool sees_link)
{
	const struct ntb_join_pads theirs = { .offer = s->pad_offer, .open = s->pad_open };
	struct ntb_lender l;
	struct ntb_borrower b;

	load(s, &l, &b);
	if (ntb_borrower_judge(&b, sees_link ? &theirs : NULL, !s->in_use) == NTB_JOIN_ADD) {
		s->in_use = 1;
		s->in_use_of = b.joined;
		s->meant = s->lent_memory;
	}
	store(s, &l, &b);
}

static struct ntb_join_pads published(const struct state *s)
{
	struct ntb_join_pads pads;
	struct ntb_lender l;
	struct ntb_borrower b;

	load(s, &l, &b);
	ntb_join_publish(&l, &b, &pads);
	return pads;
}

static bool lender_looks(struct state *s)
{
	lender_step(s, s->linked);
	return s->lender_up;
}

static bool lender_does_not_know(struct state *s)
{
	lender_step(s, true);
	return s->lender_up;
}

static bool borrower_looks(struct state *s)
{
	borrower_step(s, s->linked);
	return s->borrower_up;
}

static bool borrower_does_not_know(struct state *s)
{
	borrower_step(s, true);
	return s->borrower_up;
}

/* Pads arrive one by one, in any order: a reader may see some of a change. */
static bool offer_arrives(struct state *s)
{
	s->pad_offer = published(s).offer;
	return s->linked && s->lender_up && s->borrower_up;
}

static bool open_arrives(struct state *s)
{
	s->pad_open = published(s).open;
	return s->linked && s->lender_up && s->borrower_up;
}

static bool quiet_arrives(struct state *s)
{
	s->pad_quiet = published(s).quiet;
	return s->linked && s->lender_up && s->borrower_up;
}

static bool users_end(struct state *s)
{
	s->in_use = s->in_use_of = s->meant = 0;
	return s->leaving;
}

static bool cut(struct state *s)
{
	s->linked = 0;
	return true;
}

static bool mend(struct state *s)
{
	s->linked = 1;
	return true;
}

static bool memory_goes(struct state *s)
{
	s->has_memory = 0;
	return s->lender_up;
}

/* Another one, after the old was taken back. */
static bool memory_comes(struct state *s)
{
	bool can = s->lender_up && !s->lent && !s->has_memory;

	s->has_memory = 1;
	s->memory++;
	return can;
}

static bool pads_are_forgotten(struct state *s)
{
	s->pad_offer = s->pad_open = s->pad_quiet = 0;
	return true;
}

/* The translation goes with the machine; scratchpads may stay. */
static bool lender_dies(struct state *s)
{
	s->lent = s->has_memory = s->lender_up = s->epoch = 0;
	return true;
}

static bool lender_comes(struct state *s)
{
	bool can = !s->lender_up;

	s->lender_up = s->has_memory = 1;
	s->memory++;
	s->epoch = ++s->last_epoch;
	return can;
}

static bool borrower_dies(struct state *s)
{
	s->joined = s->leaving = s->quiet = s->in_use = s->in_use_of = s->meant = s->borrower_up = 0;
	return true;
}

static bool borrower_comes(struct state *s)
{
	bool can = !s->borrower_up;

	s->borrower_up = 1;
	return can;
}

typedef bool (*step_fn)(struct state *s);

static const step_fn steps[] = {
	lender_looks, lender_does_not_know, borrower_looks, borrower_does_not_know, offer_arrives, open_arrives,
	quiet_arrives, users_end, cut, mend, memory_goes, memory_comes, pads_are_forgotten,
	lender_dies, lender_comes, borrower_dies, borrower_comes,
};

/* --- all states --- */

static struct state *states;
static uint32_t *table;
static size_t count;

static size_t hash(const struct state *s)
{
	const uint8_t *bytes = (const uint8_t *)s;
	uint64_t h = 14695981039346656037ull;

	for (size_t i = 0; i < sizeof(*s); i++)
		h = (h ^ bytes[i]) * 1099511628211ull;
	return (h ^ h >> 32) % (2 * MAX_STATES);
}

static void add(const struct state *s)
{
	size_t at = hash(s);

	while (table[at] && memcmp(&states[table[at] - 1], s, sizeof(*s)))
		at = (at + 1) % (2 * MAX_STATES);
	if (table[at])
		return;
	assert_true(count < MAX_STATES);
	states[count++] = *s;
	table[at] = count;
}

static void visit_all(void (*visit)(const struct state *s))
{
	const struct state first = { .has_memory = 1, .memory = 1, .lender_up = 1, .borrower_up = 1, .epoch = 1, .last_epoch = 1 };

	states = calloc(MAX_STATES, sizeof(*states));
	table = calloc(2 * MAX_STATES, sizeof(*table));
	assert_true(states && table);
	count = 0;
	add(&first);
	for (size_t i = 0; i < count; i++) {
		visit(&states[i]);
		for (size_t j = 0; j < sizeof(steps) / sizeof(steps[0]); j++) {
			struct state next = states[i];

			if (steps[j](&next) && next.last_epoch <= MAX_EPOCH && next.memory <= MAX_MEMORY)
				add(&next);
		}
	}
	free(states);
	free(table);
}

/* --- what holds in each --- */

static size_t in_use_states, lent_states;

static void only_what_was_meant_is_written(const struct state *s)
{
	in_use_states += s->in_use;
	lent_states += s->lent;
	if (s->in_use && s->lent) {
		assert_int_equal(s->in_use_of, s->epoch);
		assert_int_equal(s->meant, s->memory);
	}
	/* No write may be lost, either. */
	assert_true(!s->in_use || s->opened & 1 << s->in_use_of);
}

static void no_stray_writes(void **state)
{
	(void)state;
	in_use_states = lent_states = 0;
	visit_all(only_what_was_meant_is_written);
	/* The search reached states in which both ends met. */
	assert_true(count > 5000 && in_use_states > 1000 && lent_states > 1000);
}

/* The ends agree in time, given a link, memory, and users that end when they are told to. */
static void they_agree(const struct state *s)
{
	struct state now = *s;

	now.linked = 1;
	if (!now.lender_up)
		lender_comes(&now);
	if (!now.borrower_up)
		borrower_comes(&now);
	for (int i = 0; i < 8; i++) {
		if (!now.lent)
			now.has_memory = 1;
		offer_arrives(&now);
		open_arrives(&now);
		quiet_arrives(&now);
		borrower_looks(&now);
		if (now.leaving)
			users_end(&now);
		lender_looks(&now);
	}
	assert_true(now.lent && now.in_use && now.in_use_of == now.epoch);
}

static void everybody_agrees_in_the_end(void **state)
{
	(void)state;
	visit_all(they_agree);
}

/* A lender's number is none of a lender before; 0 is no number. */
static void numbers_wrap(void **state)
{
	struct ntb_lender l = { .epoch = UINT32_MAX, .lent = true };

	(void)state;
	assert_int_equal(ntb_lender_judge(&l, NULL, true), NTB_JOIN_CLOSE);
	assert_int_equal(l.epoch, 1);
	assert_int_equal(ntb_lender_judge(&l, NULL, true), NTB_JOIN_NOTHING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_stray_writes), cmocka_unit_test(everybody_agrees_in_the_end),
		cmocka_unit_test(numbers_wrap),
	};

	return cmocka_run_group_tests_name("ntb join", tests, NULL, NULL);
}
