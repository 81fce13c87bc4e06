// SPDX-License-Identifier: Apache-2.0
/*
 * Strings on their way into JSON.  The kernel's file names and process names are bytes; JSON is
 * UTF-8.  Each byte that belongs to no character becomes U+FFFD: a lone surrogate, which would
 * keep the byte, is refused or changed by many readers.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/printable.h"
#include "utf8.h"

#define REPLACEMENT	"\xef\xbf\xbd"

char *cli_to_utf8(const char *text)
{
	char *valid = malloc(strlen(text) * strlen(REPLACEMENT) + 1), *to = valid;
	size_t count;

	while (valid && *text) {
		count = dnd_character_bytes(text);
		memcpy(to, count ? text : REPLACEMENT, count ? count : strlen(REPLACEMENT));
		to += count ? count : strlen(REPLACEMENT);
		text += count ? count : 1;
	}
	if (valid)
		*to = '\0';
	return valid;
}

struct json_object *cli_json_string(const char *text)
{
	char *valid = cli_to_utf8(text ? text : "");
	struct json_object *string = json_object_new_string(valid ? valid : "");

	free(valid);
	return string;
}

void cli_print_utf8(FILE *out, const char *text)
{
	char *valid = cli_to_utf8(text);

	fputs(valid ? valid : "", out);
	free(valid);
}
