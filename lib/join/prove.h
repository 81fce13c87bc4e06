/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a proof, which those of a whole drive and of its legs share. */
#ifndef DND_PROVE_H
#define DND_PROVE_H

#include "join/join.h"

/* DRAM of the CPU's side, a block each, aligned to a block. */
struct dnd_trial {
	struct dnd_join *join;
	const struct dnd_proof *proof;
	uint8_t *fill;		/* is in the place before a read */
	uint8_t *seen;		/* what the drive was seen to hold */
	uint8_t *kept;		/* what is written */
	uint8_t *missing;	/* not 0 where no read has brought anything */
	void *memory;
};

int dnd_trial_begin(struct dnd_trial *trial, struct dnd_join *join, const struct dnd_proof *proof);
void dnd_trial_end(struct dnd_trial *trial);
int dnd_trial_load(struct dnd_trial *trial, const struct dnd_place *place, uint8_t *to);
int dnd_trial_store(struct dnd_trial *trial, const struct dnd_place *place, const uint8_t *from);
void dnd_trial_fill_complement(struct dnd_trial *trial, const uint8_t *expected);
/* The drive's block at the proof's offset into the place, over @fill. */
int dnd_trial_read_over(struct dnd_trial *trial, const struct dnd_place *place, size_t *got);
/* Out of @from, to the proof's offset. */
int dnd_trial_write(struct dnd_trial *trial, const struct dnd_place *from);
/*
 * After a proof that wrote, and came to @rc: the drive gets trial->seen again.  Out of @spare, or where the route
 * failed out of DRAM; what fails then is said beside the failure before it.  Returns @rc, or the failure to put it back.
 */
int dnd_trial_put_back(struct dnd_trial *trial, const struct dnd_place *spare, int rc);
/* The failure that the data did not arrive, or 0. */
int dnd_trial_compare(struct dnd_trial *trial, const struct dnd_place *place, const uint8_t *expected,
		      size_t bytes);

/* The drive as a whole, by what its own device says; as dnd_join_prove_read() and _write(). */
int dnd_prove_read(struct dnd_join *join, const struct dnd_proof *proof,
		   const struct dnd_place *place, bool *proven);
int dnd_prove_write(struct dnd_join *join, const struct dnd_proof *proof,
		    const struct dnd_place *from, const struct dnd_place *spare);

#endif /* DND_PROVE_H */
