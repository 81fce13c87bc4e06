/* SPDX-License-Identifier: Apache-2.0 */
/* Regions and clients as JSON objects. */
#ifndef DONARD_MODEL_H
#define DONARD_MODEL_H

#include <json-c/json.h>

#include "donard/donard.h"
#include "fields.h"

/* Who holds memory of a region; the strings are parts of the line. */
struct cli_holder {
	uint64_t pid;			/* 0: no process that this one can see */
	const char *command, *quote;	/* @quote goes around a name that could be mistaken for more than a name */
	uint64_t bytes, pinned_pages;
	const char *device;		/* the importing device, or "" */
};

/* The fields of struct donard_region_info, without its lists, and of struct cli_holder. */
extern const struct cli_field cli_region_fields[], cli_holder_fields[];

/* Calls @see for each of the kernel's lines, which it may change.  @lines may be NULL: there are none. */
void cli_each_line(const char *lines, void (*see)(void *user, char *line), void *user);
/* Both return false for a last line that says how many more there are. */
bool cli_parse_holder(char *line, struct cli_holder *holder);
bool cli_is_function(const char *line);

struct json_object *cli_model_region(const struct donard_region_info *info);
struct json_object *cli_model_client(const struct donard_client_info *info);

#endif /* DONARD_MODEL_H */
