/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The doctor examines whether a machine can move data between its devices, and says what
 * to do if it cannot.  It changes nothing but the file, drive or directory of @scratch.
 */
#ifndef DONARD_DOCTOR_H
#define DONARD_DOCTOR_H

#include <json-c/json.h>
#include <stdbool.h>

struct doctor_request {
	const char *root;	/* folder of a captured machine, with sys, proc and so on; NULL: this machine */
	bool probe;		/* move bytes, to prove routes */
	bool unlisted;		/* with @probe: also over host bridges that the kernel does not list */
	const char *scratch;	/* file, drive or directory that may be written to, or NULL */
};

struct cli;

/* Examines, and prints the report or why there is none.  Returns the exit code. */
int doctor_examine(const struct cli *cli, const struct doctor_request *request);

/* Lists every code that a finding can have: {code, severity, meaning, consequence, remedy}. */
struct json_object *doctor_codes(void);

#endif /* DONARD_DOCTOR_H */
