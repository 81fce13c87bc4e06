/* SPDX-License-Identifier: Apache-2.0 */
/* Takes samples and shows each: on a screen, as text below the former text, or as one JSON object a line. */
#ifndef DONARD_FOLLOW_H
#define DONARD_FOLLOW_H

#include <json-c/json.h>
#include <stdio.h>

#include "options.h"

struct cli_follow {
	struct cli *cli;
	/* Takes the next sample; returns 0, or -errno of the library. */
	int (*take)(struct cli_follow *follow);
	/* Returns the counts of the last sample, which the caller owns. */
	struct json_object *(*model)(const struct cli_follow *follow);
	void (*print)(const struct cli_follow *follow, FILE *out);
	void *user;
	double seconds;		/* between the last two samples; 0 for the first */
};

/* The options and limits for the command's table. */
#define CLI_FOLLOW_OPTIONS \
	{ "interval", "SECONDS", "time between two samples; default 1" }, \
	{ "count", "N", "end after so many samples" }
#define CLI_FOLLOW_LIMITS \
	{ "interval", 1, 3600 }, \
	{ "count", 1, 1000000000 }

/* Runs until --count samples were shown, q was typed or a signal came.  Returns the exit code. */
int cli_follow(struct cli_follow *follow);

#endif /* DONARD_FOLLOW_H */
