/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a model, which is a JSON object, as JSON or as tables. */
#ifndef DONARD_OUTPUT_H
#define DONARD_OUTPUT_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "donard/donard.h"

struct cli_column {
	const char *key;
	const char *title;
	bool is_size;
};

/* How many lines the kernel left out of a list, as the last of @lines says: "and N more". */
unsigned long cli_lines_left_out(const char *lines);

/* Takes over the reference. */
void cli_print_json(struct json_object *model);
/* Prints one line and flushes it, for programs that follow the output; takes over the reference. */
void cli_print_json_line(struct json_object *model);
void cli_print_table(struct json_object *rows, const struct cli_column *columns);
void cli_print_table_to(FILE *out, struct json_object *rows, const struct cli_column *columns);

void cli_add_text(struct json_object *model, const char *key, const char *value);
void cli_add_number(struct json_object *model, const char *key, uint64_t value);
/* Adds nine digits, more than any clock has; null if @value is not finite. */
void cli_add_double(struct json_object *model, const char *key, double value);
/* These read from a model; they return "", 0 or false if the key is absent or null. */
const char *cli_text_of(struct json_object *model, const char *key);
uint64_t cli_number_of(struct json_object *model, const char *key);
bool cli_true(struct json_object *model, const char *key);
/* Formats the size as donard_format_size() does: "256 MiB". */
const char *cli_size_of(struct json_object *model, const char *key, char text[DONARD_SIZE_TEXT_BYTES]);

#endif /* DONARD_OUTPUT_H */
