/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of a device that starts DMA and a memory that it may reach. */
#ifndef DONARD_DOCTOR_PAIRS_H
#define DONARD_DOCTOR_PAIRS_H

#include "examination.h"
#include "route.h"

/* Memory that is a region, or could become one now; either @region or @candidate is NULL. */
struct memory {
	const struct donard_region_info *region;
	const struct donard_candidate_info *candidate;
	const struct pci_function *function;
	enum donard_page_type page_type;
	char name[64];	/* such as "p2pmem0" or "nvme-cmb 0000:01:00.0" */
};

enum direction { DIRECTION_READ, DIRECTION_WRITE, DIRECTIONS };

enum proof_state { PROOF_NONE, PROOF_PROVEN, PROOF_PREDICTED, PROOF_FAILED, PROOF_REFUSED, PROOF_NOT_TRIED };

/* The result of a probe in one direction. */
struct proof {
	enum proof_state state;
	char *reason;			/* or NULL, if there is none to give */
};

struct pair {
	const struct donard_client_info *client;
	const struct pci_function *function;	/* the client's */
	const struct memory *memory;
	struct tree_route tree;		/* from sysfs, and from the kernel's answers about host bridges */
	struct donard_route route;	/* the module's prediction, if by_module */
	bool by_module;
	enum donard_verdict verdict;
	bool undecided;			/* the verdict is _UNLISTED only because the kernel was not asked about a bridge */
	bool proven;			/* bytes have arrived in both directions; the verdict is yes */
	struct proof proofs[DIRECTIONS];
};

struct pairs {
	struct memory *memories;
	size_t memory_count;
	struct pair *pairs;
	size_t count;
};

/* Predicts the route of each pair.  Returns 0 or -ENOMEM. */
int pairs_make(struct examination *x, struct pairs *pairs);
void pairs_forget(struct pairs *pairs);
/* Replaces the prediction by what was observed. */
void pair_set_verdict(struct pair *pair, enum donard_verdict verdict);
/* Adds findings about obstacles on the paths of all pairs. */
void check_paths(struct examination *x, const struct pairs *pairs);

#endif /* DONARD_DOCTOR_PAIRS_H */
