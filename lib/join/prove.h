/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a proof, for the proofs of a whole drive and of its legs. */
#ifndef DND_PROVE_H
#define DND_PROVE_H

#include "join/join.h"

/* The CPU's buffers in DRAM, each one block long and aligned to a block. */
struct dnd_trial {
	struct dnd_join *join;
	const struct dnd_proof *proof;
	uint8_t *fill;		/* what the CPU stores in the place before a read */
	uint8_t *seen;		/* what the drive was seen to hold */
	uint8_t *kept;		/* what is written */
	uint8_t *missing;	/* a flag for each byte: no read has overwritten it so far */
	void *memory;
};

int dnd_trial_begin(struct dnd_trial *trial, struct dnd_join *join, const struct dnd_proof *proof);
void dnd_trial_end(struct dnd_trial *trial);
int dnd_trial_load(struct dnd_trial *trial, const struct dnd_place *place, uint8_t *to);
int dnd_trial_store(struct dnd_trial *trial, const struct dnd_place *place, const uint8_t *from);
void dnd_trial_fill_complement(struct dnd_trial *trial, const uint8_t *expected);
/* Fills the place with @fill, and reads the drive's block at the proof's offset over it. */
int dnd_trial_read_over(struct dnd_trial *trial, const struct dnd_place *place, size_t *got);
/* Writes the block at @from to the proof's offset. */
int dnd_trial_write(struct dnd_trial *trial, const struct dnd_place *from);
/*
 * Does what dnd_trial_write() does, and returns what @see returns.  If the data did not arrive and another program may have
 * written meanwhile, it tries again.  If every try ends so, the failure blames neither the route nor the program.
 */
int dnd_trial_write_and_see(struct dnd_trial *trial, const struct dnd_place *from,
			    int (*see)(struct dnd_trial *trial, void *user), void *user);
/*
 * After a proof that wrote, and returned @rc: writes trial->seen back to the drive, from @spare, or from DRAM if the
 * proof failed.  If that fails, too, it adds to the text of @rc.  Returns @rc, or else the failure to write it back.
 */
int dnd_trial_put_back(struct dnd_trial *trial, const struct dnd_place *spare, int rc);
/* The failure that the data did not arrive, or 0. */
int dnd_trial_compare(struct dnd_trial *trial, const struct dnd_place *place, const uint8_t *expected,
		      size_t bytes);

/* Prove the drive as a whole, through its own device; see dnd_join_prove_read() and dnd_join_prove_write(). */
int dnd_prove_read(struct dnd_join *join, const struct dnd_proof *proof,
		   const struct dnd_place *place, bool *proven);
int dnd_prove_write(struct dnd_join *join, const struct dnd_proof *proof,
		    const struct dnd_place *from, const struct dnd_place *spare);

#endif /* DND_PROVE_H */
