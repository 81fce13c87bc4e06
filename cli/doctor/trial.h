/* SPDX-License-Identifier: Apache-2.0 */
/* A probe of any kind of device: memory of the region, and the texts of its result. */
#ifndef DONARD_DOCTOR_TRIAL_H
#define DONARD_DOCTOR_TRIAL_H

#include "donard/queue.h"
#include "pairs.h"
#include "terms.h"

#define LEAST_BYTES	4096	/* of a request */

struct trial {
	struct examination *x;
	struct pair *pair;
	struct donard_memory *memory;
	size_t bytes;		/* of one request; set before take_memory() */
	void *kept;		/* the bytes of a persistent region that it gets back */
	unsigned int undelivered;
	bool spoiled;		/* a persistent region did not get its bytes back */
	/* For a drive: */
	struct donard_queue *queue;
	struct donard_file *drive;
	struct donard_memory_info info;
	size_t controllers;	/* how many serve it */
};

/* Sets the proof of one direction, and replaces an earlier one. */
void say(struct trial *trial, enum direction direction, enum proof_state state, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void say_both(struct trial *trial, enum proof_state state, const char *reason);
void try_neither(struct trial *trial, const char *reason);
/*
 * Reports that the library's last call failed before a request, so the route is unknown.  @instead: what else could be done, or
 * "".
 */
void say_not_opened(struct trial *trial, const char *instead);
/* Reports the failure of the library's last call, which returned @rc: a request, or an access to the memory. */
void say_failure(struct trial *trial, enum direction direction, int rc);
/* The device reported that it moved the bytes, and they did not arrive. */
void lost(struct trial *trial, enum direction direction, const char *text);
/* Does the library's error say that this device does not reach this memory? */
bool is_refusal(enum direction direction, int rc);
bool is(const struct trial *trial, enum direction direction, enum proof_state state);
bool either(const struct trial *trial, enum proof_state state);

/*
 * Takes free memory of the region.  A persistent region's last bytes are taken instead, and saved so that they can be restored.
 */
int take_memory(struct trial *trial);
/* Call it when no device uses the memory any more.  Does nothing without memory. */
void give_memory(struct trial *trial);

#endif /* DONARD_DOCTOR_TRIAL_H */
