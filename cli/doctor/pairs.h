/* SPDX-License-Identifier: Apache-2.0 */
/* Each pair of a device that starts DMA and of memory that it may reach. */
#ifndef DONARD_DOCTOR_PAIRS_H
#define DONARD_DOCTOR_PAIRS_H

#include "examination.h"
#include "route.h"

/* Memory that is a region, or could be one as things are: @region or @candidate is NULL. */
struct memory {
	const struct donard_region_info *region;
	const struct donard_candidate_info *candidate;
	const struct pci_function *function;
	enum donard_page_type page_type;
	char name[64];	/* "p2pmem0", "nvme-cmb 0000:01:00.0" */
};

struct pair {
	const struct donard_client_info *client;
	const struct pci_function *function;	/* the client's */
	const struct memory *memory;
	struct tree_route tree;		/* by sysfs, and by the kernel's word on host bridges */
	struct donard_route route;	/* the module's, where it was asked */
	bool by_module;
	enum donard_verdict verdict;
	bool undecided;			/* _UNLISTED, until the kernel says what it thinks of a host bridge */
	bool proven;			/* bytes were seen to arrive, each way */
	struct json_object *model;
};

struct pairs {
	struct memory *memories;
	size_t memory_count;
	struct pair *pairs;
	size_t count;
};

/* Predicts each; 0 or -ENOMEM. Their models go to @models, an array. */
int pairs_make(struct examination *x, struct pairs *pairs, struct json_object *models);
void pairs_forget(struct pairs *pairs);
/* What was seen, in place of what was predicted. */
void pair_set_verdict(struct pair *pair, enum donard_verdict verdict);
/* Yes, by more than a prediction. */
void pair_set_proven(struct pair *pair);
/* What the paths of all of them have in the way. */
void check_paths(struct examination *x, const struct pairs *pairs);

#endif /* DONARD_DOCTOR_PAIRS_H */
