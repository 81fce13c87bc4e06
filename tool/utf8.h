/* SPDX-License-Identifier: Apache-2.0 */
/* Strings for JSON, which have to be UTF-8, and the same in a text. */
#ifndef DONARD_UTF8_H
#define DONARD_UTF8_H

#include <json-c/json.h>
#include <stdio.h>

/* Makes every string of a JSON model; NULL becomes "". */
struct json_object *cli_json_string(const char *text);
/* Returns a copy with U+FFFD in place of each byte that is not valid UTF-8; the caller frees it.  NULL: no memory. */
char *cli_to_utf8(const char *text);
/* Prints such a copy. */
void cli_print_utf8(FILE *out, const char *text);

#endif /* DONARD_UTF8_H */
