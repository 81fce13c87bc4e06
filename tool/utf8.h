/* SPDX-License-Identifier: Apache-2.0 */
/* Strings on their way into JSON. */
#ifndef DONARD_UTF8_H
#define DONARD_UTF8_H

#include <json-c/json.h>

/* Every string of a JSON model comes from here; NULL is "". */
struct json_object *cli_json_string(const char *text);
/* A copy with U+FFFD for each byte that is no part of UTF-8; the caller's to free, NULL without memory. */
char *cli_to_utf8(const char *text);

#endif /* DONARD_UTF8_H */
