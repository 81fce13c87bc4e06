/* SPDX-License-Identifier: Apache-2.0 */
/* Moves one block, or a nonce, in each direction for each pair with a region, where that does no harm. */
#ifndef DONARD_DOCTOR_PROVE_H
#define DONARD_DOCTOR_PROVE_H

#include "pairs.h"

struct proof_tally {
	unsigned int undelivered;	/* in how many directions bytes were lost */
	unsigned int failed;		/* for how many pairs with a route a device or a region failed */
};

/* Can --scratch be used at all, on whatever drive?  Returns 0, or -errno with the failure in the context. */
int prove_check_scratch(struct examination *x);
/* Sets the proofs of each pair, and its verdict to what was observed. */
void prove_pairs(struct examination *x, const struct pairs *pairs, struct proof_tally *tally);

#endif /* DONARD_DOCTOR_PROVE_H */
