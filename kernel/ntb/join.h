/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * When may one end of a non-transparent bridge lead a window into its memory, and
 * when may the other end use it?
 *
 * What must never happen: a write that was meant for memory that was lent once goes
 * into memory that is lent now.  The bridge does not know one from the other; and
 * whoever writes (a pin, a mapping, a command in flight) may go on for long after the
 * link went, or after the lender died and came back.
 *
 * So each lending has an epoch, a number that no other lending had, and there is an
 * agreement in scratchpads, which each end writes at the other's:
 *
 *   lender                                  borrower
 *   offer = E                          -->
 *                                      <--  quiet = E: whatever I use or shall use of
 *                                           yours is of E
 *   sets the translation, then open = E -->
 *                                           uses the windows
 *   takes the translation back, then
 *   open = 0, offer = E + 1            -->  ends all use, however long that takes; then
 *                                      <--  quiet = E + 1
 *
 * Nothing here depends on a message that arrives: a link that comes and goes, an end
 * that dies, doorbells that are lost, and scratchpads that forget only make it take
 * longer.  A peer that lies about being quiet writes into what is lent to it, which it
 * may do anyway.
 *
 * Pure logic, as path.h: a unit test runs the very same file through all that can
 * happen.
 */
#ifndef P2PMEM_NTB_JOIN_H
#define P2PMEM_NTB_JOIN_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>
#endif

/* What one end writes at the other; 0 is no epoch. */
struct ntb_join_pads {
	__u32 offer;
	__u32 open;
	__u32 quiet;
};

/**
 * struct ntb_lender - of the windows into this end's memory
 * @epoch: of what it lends, or will lend next.  The first is random, so that it differs
 *	from those of a lender who was here before
 * @lent: is the translation set?
 */
struct ntb_lender {
	__u32 epoch;
	bool lent;
};

/**
 * struct ntb_borrower - of the windows into the other end's memory
 * @joined: epoch of the windows that are in use, or whose use has not ended; 0: none
 * @leaving: the users were told to stop
 * @quiet: the last epoch that this end said is quiet
 */
struct ntb_borrower {
	__u32 joined;
	bool leaving;
	__u32 quiet;
};

/* What is to be done now; at once, before anything is published. */
enum ntb_join_act {
	NTB_JOIN_NOTHING,
	NTB_JOIN_OPEN,		/* set the translation, then call ntb_lender_opened() */
	NTB_JOIN_CLOSE,		/* take it back; its memory is free when that is done */
	NTB_JOIN_ADD,		/* offer the windows to users here */
	NTB_JOIN_REMOVE,	/* begin to end their use */
};

/*
 * Both are called whenever anything may have changed, as often as one likes.  @theirs
 * is what the other end has written here, each read once; NULL while the link is down
 * or nobody speaks there.
 */

/* @has_memory: is there any to lend?  Other memory than before is lent after a time without. */
enum ntb_join_act ntb_lender_judge(struct ntb_lender *l,
				   const struct ntb_join_pads *theirs, bool has_memory);
void ntb_lender_opened(struct ntb_lender *l);

/* @idle: no use of a window is left, nor a region that could begin one. */
enum ntb_join_act ntb_borrower_judge(struct ntb_borrower *b,
				     const struct ntb_join_pads *theirs, bool idle);

/* What this end is to write at the other one, after what was to be done. */
void ntb_join_publish(const struct ntb_lender *l, const struct ntb_borrower *b,
		      struct ntb_join_pads *pads);

#endif
