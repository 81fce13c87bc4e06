/* SPDX-License-Identifier: Apache-2.0 */
/* Prints JSON, and tables of JSON objects. */
#ifndef DONARD_OUTPUT_H
#define DONARD_OUTPUT_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define CLI_COLUMNS_MAX	16	/* of a table */

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

#endif /* DONARD_OUTPUT_H */
