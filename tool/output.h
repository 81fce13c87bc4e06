/* SPDX-License-Identifier: Apache-2.0 */
/* One model, a JSON object, in two forms: JSON and tables. */
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

/* Takes over the reference. */
void cli_print_json(struct json_object *model);
/* On one line, at once: for programs that follow what happens; takes over the reference. */
void cli_print_json_line(struct json_object *model);
void cli_print_table(struct json_object *rows, const struct cli_column *columns);
void cli_print_table_to(FILE *out, struct json_object *rows, const struct cli_column *columns);

void cli_add_text(struct json_object *model, const char *key, const char *value);
void cli_add_number(struct json_object *model, const char *key, uint64_t value);
/* With nine digits, more than any clock has; null unless it is finite. */
void cli_add_double(struct json_object *model, const char *key, double value);
/* Of a model: "", 0 and false where the key is absent or null. */
const char *cli_text_of(struct json_object *model, const char *key);
uint64_t cli_number_of(struct json_object *model, const char *key);
bool cli_true(struct json_object *model, const char *key);
/* "256 MiB", as donard_format_size(). */
const char *cli_size_of(struct json_object *model, const char *key, char text[DONARD_SIZE_TEXT_BYTES]);

#endif /* DONARD_OUTPUT_H */
