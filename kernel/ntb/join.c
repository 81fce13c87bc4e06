// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
#include "join.h"

static __u32 next_epoch(__u32 epoch)
{
	return epoch + 1 ? epoch + 1 : 1;
}

/*
 * Without a link the borrower cannot be told anything, and another peer may come back
 * in its place.  So the lending ends, and its epoch is not used again.
 */
enum ntb_join_act ntb_lender_judge(struct ntb_lender *l,
				   const struct ntb_join_pads *theirs, bool has_memory)
{
	if (l->lent && (!theirs || !has_memory)) {
		l->lent = false;
		l->epoch = next_epoch(l->epoch);
		return NTB_JOIN_CLOSE;
	}
	if (!l->lent && theirs && has_memory && theirs->quiet == l->epoch)
		return NTB_JOIN_OPEN;
	return NTB_JOIN_NOTHING;
}

void ntb_lender_opened(struct ntb_lender *l)
{
	l->lent = true;
}

static bool is_open(const struct ntb_join_pads *theirs, __u32 epoch)
{
	return theirs && theirs->offer == epoch && theirs->open == epoch;
}

static enum ntb_join_act leave(struct ntb_borrower *b, bool idle)
{
	if (!b->leaving) {
		b->leaving = true;
		return NTB_JOIN_REMOVE;
	}
	if (idle) {
		b->leaving = false;
		b->joined = 0;
	}
	return NTB_JOIN_NOTHING;
}

/* Use begins only in an epoch that an earlier call put into b->quiet, which is published by now. */
enum ntb_join_act ntb_borrower_judge(struct ntb_borrower *b,
				     const struct ntb_join_pads *theirs, bool idle)
{
	if (b->joined && (b->leaving || !is_open(theirs, b->joined)))
		return leave(b, idle);
	if (b->joined || !theirs || !theirs->offer)
		return NTB_JOIN_NOTHING;
	if (is_open(theirs, b->quiet)) {
		b->joined = b->quiet;
		return NTB_JOIN_ADD;
	}
	b->quiet = theirs->offer;
	return NTB_JOIN_NOTHING;
}

void ntb_join_publish(const struct ntb_lender *l, const struct ntb_borrower *b,
		      struct ntb_join_pads *pads)
{
	pads->offer = l->epoch;
	pads->open = l->lent ? l->epoch : 0;
	pads->quiet = b->quiet;
}
