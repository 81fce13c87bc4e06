/* SPDX-License-Identifier: Apache-2.0 */
/* What probes of every kind of device need: memory of the region, and words for what came of it. */
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
	size_t bytes;		/* of a request, set before take_memory() */
	void *kept;		/* of a persistent region */
	unsigned int undelivered;
	bool spoiled;		/* a persistent region did not get its bytes back */
	/* Of a drive: */
	struct donard_queue *queue;
	struct donard_file *drive;
	struct donard_memory_info info;
	size_t controllers;	/* that serve it */
};

/* Sets the proof of one direction, in place of what was said before. */
void say(struct trial *trial, enum direction direction, enum proof_state state, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void say_both(struct trial *trial, enum proof_state state, const char *reason);
void try_neither(struct trial *trial, const char *reason);
/* The library's last call: before there is a request, it says nothing of the route.  @instead: what else could be done, or "" */
void say_not_opened(struct trial *trial, const char *instead);
/* Tells the failure of the library's last call, which returned @rc: a request, or an access to the memory. */
void say_failure(struct trial *trial, enum direction direction, int rc);
/* The device reported that it moved the bytes, and they did not arrive. */
void lost(struct trial *trial, enum direction direction, const char *text);
/* Does the library's error say that this device does not reach this memory? */
bool is_refusal(enum direction direction, int rc);
bool is(const struct trial *trial, enum direction direction, enum proof_state state);
bool either(const struct trial *trial, enum proof_state state);

/* Memory of the region: nobody's, or of a persistent region its last bytes, which get back what was in them. */
int take_memory(struct trial *trial);
/* When no device uses it any more; there may be none. */
void give_memory(struct trial *trial);

#endif /* DONARD_DOCTOR_TRIAL_H */
