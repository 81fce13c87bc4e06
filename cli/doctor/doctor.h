/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the room doctor offers: whether a machine can move data between its devices,
 * and what to do where it cannot.  Nothing is changed, but what @scratch names.
 */
#ifndef DONARD_DOCTOR_H
#define DONARD_DOCTOR_H

#include <json-c/json.h>
#include <stdbool.h>

struct doctor_request {
	const char *root;	/* of a captured machine: DIR/sys, DIR/proc and so on; NULL: this one */
	bool probe;		/* move bytes */
	bool unlisted;		/* with @probe: over host bridges on no list, too */
	const char *scratch;	/* file, drive or directory that may be written, or NULL */
};

struct cli;

/*
 * *model is set to what was found, which is the caller's, or to NULL after a failure that @cli has been told. Returns the
 * exit code that goes with it.
 */
int doctor_examine(const struct cli *cli, const struct doctor_request *request, struct json_object **model);
/* The same as text: the verdict first. */
void doctor_print(struct json_object *model);

/* Every code that a finding can have: {code, severity, meaning, consequence, remedy}. */
struct json_object *doctor_codes(void);

#endif /* DONARD_DOCTOR_H */
