/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * Decides when one end of a non-transparent bridge may direct a window at its memory,
 * and when the other end may use the window.
 *
 * A write that was meant for memory of an earlier lending must never go into memory
 * that is lent now.  The bridge cannot tell the two apart.  A writer (a pin, a mapping,
 * a command in flight) may go on long after the link was lost, or after the lender died
 * and came back.
 *
 * So each lending has an epoch, a number that no other lending had.  The two ends agree
 * on it by scratchpads, each end writing into those of the other:
 *
 *   lender                                  borrower
 *   offer = E                          -->
 *                                      <--  quiet = E: all my use of your memory, now
 *                                           and from now on, belongs to epoch E
 *   sets the translation, then open = E -->
 *                                           uses the windows
 *   clears the translation, then
 *   open = 0, offer = E + 1            -->  ends all use, however long that takes; then
 *                                      <--  quiet = E + 1
 *
 * Nothing here depends on the arrival of a message: a link that comes and goes, an end
 * that dies, lost doorbells, and scratchpads that lose their contents only make it take
 * longer.  A peer that falsely reports quiet writes only into memory that is lent to
 * it, which it may do anyway.
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

/* What one end writes into the scratchpads of the other; 0 stands for no epoch. */
struct ntb_join_pads {
	__u32 offer;
	__u32 open;
	__u32 quiet;
};

/**
 * struct ntb_lender - the lender of the windows into this end's memory
 * @epoch: the epoch of the present lending, or of the next one.  The first is random, so
 *	that it differs from the epochs of an earlier lender at this end
 * @lent: is the translation set?
 */
struct ntb_lender {
	__u32 epoch;
	bool lent;
};

/**
 * struct ntb_borrower - the borrower of the windows into the other end's memory
 * @joined: epoch of the windows that are in use, or whose use has not ended; 0: none
 * @leaving: the users were told to stop
 * @quiet: the last epoch for which this end has promised quiet
 */
struct ntb_borrower {
	__u32 joined;
	bool leaving;
	__u32 quiet;
};

/* What the caller does at once, before it publishes anything. */
enum ntb_join_act {
	NTB_JOIN_NOTHING,
	NTB_JOIN_OPEN,		/* set the translation, then call ntb_lender_opened() */
	NTB_JOIN_CLOSE,		/* clear the translation; the memory is free when that is done */
	NTB_JOIN_ADD,		/* offer the windows to users here */
	NTB_JOIN_REMOVE,	/* begin to end the use of the windows */
};

/*
 * Both judges are called whenever anything may have changed, and may be called more
 * often.  @theirs is what the other end has written here, with each scratchpad read once.
 * It is NULL while the link is down, or no peer answers there.
 */

/* @has_memory: is there memory to lend?  Before other memory is lent, call this with false. */
enum ntb_join_act ntb_lender_judge(struct ntb_lender *l,
				   const struct ntb_join_pads *theirs, bool has_memory);
void ntb_lender_opened(struct ntb_lender *l);

/* @idle: no use of a window is left, nor a region that could begin one. */
enum ntb_join_act ntb_borrower_judge(struct ntb_borrower *b,
				     const struct ntb_join_pads *theirs, bool idle);

/* Fills in what this end writes to the other, once the caller has done what the judges returned. */
void ntb_join_publish(const struct ntb_lender *l, const struct ntb_borrower *b,
		      struct ntb_join_pads *pads);

#endif
