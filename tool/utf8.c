// SPDX-License-Identifier: Apache-2.0
/*
 * Strings on their way into JSON.  The kernel's file names and process names are bytes; JSON is
 * UTF-8.  Each byte that belongs to no character becomes U+FFFD: a lone surrogate, which would
 * keep the byte, is refused or changed by many readers.  The text on stderr has the bytes themselves.
 */
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

#define REPLACEMENT	"\xef\xbf\xbd"

/* Bytes of the character that begins with @lead, and the limits of the second byte; 0 if none does. */
static size_t sequence(unsigned char lead, unsigned char *low, unsigned char *high)
{
	*low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;	/* else overlong */
	*high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;	/* surrogates; the last plane */
	if (lead < 0x80)
		return 1;
	if (lead >= 0xc2 && lead <= 0xdf)
		return 2;
	if (lead >= 0xe0 && lead <= 0xef)
		return 3;
	return lead >= 0xf0 && lead <= 0xf4 ? 4 : 0;
}

/* How many bytes at @text are one character; 0 if the first byte belongs to none. */
static size_t character_bytes(const char *text)
{
	const unsigned char *bytes = (const unsigned char *)text;
	unsigned char low, high;
	size_t count = sequence(bytes[0], &low, &high);

	for (size_t i = 1; i < count; i++) {
		if (bytes[i] < low || bytes[i] > high)
			return 0;
		low = 0x80;
		high = 0xbf;
	}
	return count;
}

char *cli_to_utf8(const char *text)
{
	char *valid = malloc(strlen(text) * strlen(REPLACEMENT) + 1), *to = valid;
	size_t count;

	while (valid && *text) {
		count = character_bytes(text);
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
