/* SPDX-License-Identifier: Apache-2.0 */
/* The growing list of candidates that the scanners append to. */
#ifndef DND_CANDIDATE_LIST_H
#define DND_CANDIDATE_LIST_H

#include "donard/candidate.h"
#include "region/bars.h"
#include "region/identity.h"

struct dnd_candidate {
	struct donard_candidate_info info;
	struct dnd_identity identity;
	char bdf[DONARD_BDF_BYTES];
	char by_id[160];
	char by_path[192];
	char obstacle[320];
};

struct donard_candidate_list {
	size_t count;
	struct dnd_candidate **candidates;	/* each allocated: pointers stay valid */
};

/* A function, and what is known of it before its memory is looked at. */
struct dnd_function {
	const char *bdf;
	const struct dnd_identity *identity;
	struct dnd_bar bars[DND_BARS];
	unsigned int taken;	/* bit N: BAR N is known for what it is */
};

/* NULL without memory; the list owns the record. */
struct dnd_candidate *dnd_candidate_add(struct donard_candidate_list *list,
					const struct dnd_function *function,
					enum donard_region_kind kind, unsigned int bar);

/* candidate_nvme.c: what a controller says; 0 or -ENOMEM */
int dnd_scan_controller(struct donard_context *ctx, struct dnd_function *function,
			struct donard_candidate_list *list);
/* candidate_gpu.c */
int dnd_scan_nvidia(const struct donard_context *ctx, struct dnd_function *function,
		    struct donard_candidate_list *list);
/* candidate_bars.c: every other memory BAR */
int dnd_scan_bars(const struct dnd_function *function, struct donard_candidate_list *list);

#endif /* DND_CANDIDATE_LIST_H */
