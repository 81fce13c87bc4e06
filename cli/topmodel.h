/* SPDX-License-Identifier: Apache-2.0 */
/* The data of 'top': samples as JSON objects, and the rates between two of them. */
#ifndef DONARD_TOPMODEL_H
#define DONARD_TOPMODEL_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>

struct donard_context;

/*
 * Takes a sample of "regions", with their holders if wanted, and of "drives", with their counts.  Returns 0, or -errno
 * of the library.
 */
int cli_top_sample(struct donard_context *ctx, bool holders, struct json_object **sample);
/* Prints tables.  @before: the sample of @seconds ago; if it is NULL, the rates are unknown. */
void cli_top_print(FILE *out, struct json_object *sample, struct json_object *before, double seconds,
		   bool holders);

#endif /* DONARD_TOPMODEL_H */
