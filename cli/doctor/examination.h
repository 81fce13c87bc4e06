/* SPDX-License-Identifier: Apache-2.0 */
/* One examination: the facts that were read, and the findings so far. */
#ifndef DONARD_DOCTOR_EXAMINATION_H
#define DONARD_DOCTOR_EXAMINATION_H

#include "codes.h"
#include "doctor.h"
#include "donard/candidate.h"
#include "donard/gpu.h"
#include "kernel.h"
#include "pci.h"

/* What was found about @object: an address, a name, or "". */
struct finding {
	enum code code;
	enum severity severity;
	char *object, *cause, *remedy;
	bool own_remedy;	/* find_remedy() gave it a remedy of its own, for this machine */
};

struct examination {
	const struct doctor_request *request;
	struct source source;
	struct donard_context *ctx;
	struct kernel kernel;
	struct pci pci;
	struct donard_region_list *regions;	/* NULL: the module is not loaded */
	struct donard_client_list *clients;
	struct donard_candidate_list *candidates;
	struct donard_gpu_list *gpus;
	struct finding *findings;
	size_t finding_count;
	unsigned int faults;		/* how many findings are faults */
	unsigned int faults_of_adding;	/* how many of these only hinder adding regions */
	unsigned int regions_ready;
	unsigned int regions_closed;	/* how many of these this process cannot open */
};

/*
 * Adds a finding about @object, with its cause on this machine, unless there is one with the same code and object.  Returns the
 * finding, which is valid until the next is added; NULL without memory.
 */
struct finding *find(struct examination *x, enum code code, const char *object,
			 const char *format, ...) __attribute__((format(printf, 4, 5)));
/*
 * Replaces the code's remedy by one for this case.  Does nothing if an earlier case gave the finding a remedy, since the
 * finding's cause is that case's, too.  @finding may be NULL.
 */
void find_remedy(struct finding *finding, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

void findings_forget(struct examination *x);

#endif /* DONARD_DOCTOR_EXAMINATION_H */
