/* SPDX-License-Identifier: Apache-2.0 */
/* Moves one block each way for each pair with a region, where that does no harm. */
#ifndef DONARD_DOCTOR_PROVE_H
#define DONARD_DOCTOR_PROVE_H

#include "pairs.h"

struct proof_tally {
	unsigned int undelivered;	/* directions in which bytes were lost */
	unsigned int failed;		/* pairs with a route where a device or a region failed */
};

/*
 * Adds "read" and "write" to each pair's model: {state, reason}, where state is "proven",
 * "predicted", "failed", "refused" or "not-tried".  A pair's verdict follows what was seen.
 */
void prove_pairs(struct examination *x, const struct pairs *pairs, struct proof_tally *tally);

#endif /* DONARD_DOCTOR_PROVE_H */
