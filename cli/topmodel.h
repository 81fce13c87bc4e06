/* SPDX-License-Identifier: Apache-2.0 */
/* The data of 'top': samples, and the rates between two of them. */
#ifndef DONARD_TOPMODEL_H
#define DONARD_TOPMODEL_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>

struct donard_context;
struct cli_top_sample;

/* Takes a sample of the regions, with their holders if wanted, and of the drives.  Returns 0, or -errno of the library. */
int cli_top_sample(struct donard_context *ctx, bool holders, struct cli_top_sample **sample);
void cli_top_forget(struct cli_top_sample *sample);
/* "regions" and "drives", with their counts */
struct json_object *cli_top_json(const struct cli_top_sample *sample);
/* Prints tables.  @before: the sample of @seconds ago; if it is NULL, the rates are unknown. */
void cli_top_print(FILE *out, const struct cli_top_sample *sample, const struct cli_top_sample *before, double seconds,
		   bool holders);

#endif /* DONARD_TOPMODEL_H */
