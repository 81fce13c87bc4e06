/* SPDX-License-Identifier: Apache-2.0 */
/* The list of candidates, to which the scanners append. */
#ifndef DND_CANDIDATE_LIST_H
#define DND_CANDIDATE_LIST_H

#include "donard/candidate.h"
#include "region/bars.h"
#include "region/identity.h"

/* struct pages of devices come in units of this size, at multiples of it: P2PMEM_PAGEMAP_ALIGN of the module. */
#define DND_PAGES_BYTES	(2ULL << 20)

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
	struct dnd_candidate **candidates;	/* each is allocated, so that pointers to it stay valid */
};

/* A PCI function, and what is known about it before its memory is examined. */
struct dnd_function {
	const char *bdf;
	const struct dnd_identity *identity;
	struct dnd_bar bars[DND_BARS];
	unsigned int taken;	/* bit N: the contents of BAR N are known already */
};

/* The list owns the record; NULL if memory is lacking. */
struct dnd_candidate *dnd_candidate_add(struct donard_candidate_list *list,
					const struct dnd_function *function,
					enum donard_region_kind kind, unsigned int bar);

/* candidate_nvme.c: the memory of an NVMe controller; 0 or -errno */
int dnd_scan_controller(struct donard_context *ctx, struct dnd_function *function,
			struct donard_candidate_list *list);
/* candidate_gpu.c: BAR1 of a GPU */
int dnd_scan_nvidia(const struct donard_context *ctx, struct dnd_function *function,
		    struct donard_candidate_list *list);
/* candidate_bars.c: all other memory BARs */
int dnd_scan_bars(struct donard_context *ctx, const struct dnd_function *function, struct donard_candidate_list *list);

#endif /* DND_CANDIDATE_LIST_H */
