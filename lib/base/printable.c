// SPDX-License-Identifier: Apache-2.0
/* See printable.h. */
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "printable.h"

#define ESCAPED_BYTES	4	/* "\x1b" */

/*
 * Returns how many bytes a UTF-8 character that begins with @lead has, or 0 if none begins so.  Sets the limits of its second
 * byte.
 */
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

size_t dnd_character_bytes(const char *text)
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

static unsigned int code_point(const char *text, size_t bytes)
{
	unsigned int code = (unsigned char)text[0];

	if (bytes > 1)
		code &= 0x7fU >> bytes;
	for (size_t i = 1; i < bytes; i++)
		code = code << 6 | ((unsigned char)text[i] & 0x3fU);
	return code;
}

/* Control characters; line separators; marks, embeddings, overrides and isolates of the writing direction. */
static bool is_control(unsigned int code)
{
	return code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == 0x61c ||
	       code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2066 && code <= 0x2069);
}

/* How many bytes at @text are one character that is printed unchanged; 0 if the first byte is to be escaped. */
static size_t printed(const char *text, const char *kept)
{
	size_t bytes = dnd_character_bytes(text);

	if (bytes == 1 && strchr(kept, text[0]))
		return 1;
	return bytes && is_control(code_point(text, bytes)) ? 0 : bytes;
}

/* Writes the escaped form of a byte; returns its length. */
static size_t escape(char *to, unsigned char byte)
{
	static const char digits[] = "0123456789abcdef";

	to[0] = '\\';
	to[1] = 'x';
	to[2] = digits[byte >> 4];
	to[3] = digits[byte & 15];
	return ESCAPED_BYTES;
}

/* How many bytes of @text fit into @text_bytes once they are made printable. */
static size_t that_fit(const char *text, size_t text_bytes, const char *kept)
{
	size_t from = 0, to = 0;

	while (text[from]) {
		size_t bytes = printed(text + from, kept);

		to += bytes ? bytes : ESCAPED_BYTES;
		if (to >= text_bytes)
			break;
		from += bytes ? bytes : 1;
	}
	return from;
}

/* How many bytes at the start are plain ASCII: nearly all texts are nothing else. */
static size_t plain_bytes(const char *text, const char *kept)
{
	size_t count = 0;

	while ((text[count] >= 0x20 && text[count] < 0x7f) || (text[count] && strchr(kept, text[count])))
		count++;
	return count;
}

/*
 * Moves the text to the end of the buffer first, and then writes from the start.  No byte becomes less than one, and
 * the result fits: so the writes never overtake the reads.
 */
static void make_printable(char *text, size_t text_bytes, const char *kept)
{
	size_t plain = plain_bytes(text, kept), left, bytes;
	char *from;

	text += plain;
	text_bytes -= plain;
	if (!*text)
		return;
	left = that_fit(text, text_bytes, kept);
	from = text + text_bytes - left - 1;
	memmove(from, text, left);
	from[left] = '\0';
	for (; *from; from += bytes ? bytes : 1) {
		bytes = printed(from, kept);
		if (bytes)
			memmove(text, from, bytes);
		text += bytes ? bytes : escape(text, (unsigned char)*from);
	}
	*text = '\0';
}

void dnd_make_printable(char *text, size_t text_bytes)
{
	make_printable(text, text_bytes, "");
}

void dnd_make_lines_printable(char *text, size_t text_bytes)
{
	make_printable(text, text_bytes, "\n\t");
}

#define GAP		"..."
#define SHORTEST_NAME	96	/* a part that is no longer than this stays whole */

/* The length of the part at @text, up to the next punctuation of a sentence. */
static size_t part_length(const char *text)
{
	size_t length = 0;

	while (text[length] && !(strchr(":.,;", text[length]) && (text[length + 1] == ' ' || !text[length + 1])))
		length++;
	return length;
}

static char *longest_part(char *text, size_t *length)
{
	char *longest = text;

	*length = 0;
	for (size_t part; *text; text += part + (text[part] != '\0')) {
		part = part_length(text);
		if (part <= *length)
			continue;
		longest = text;
		*length = part;
	}
	return longest;
}

static bool within_character(char byte)
{
	return (byte & 0xc0) == 0x80;
}

/* Cuts at least @count bytes, and only whole characters, out of the middle of the part. */
static void cut_middle(char *part, size_t length, size_t count)
{
	size_t head = (length - count) / 2, tail = head + count;

	while (head && within_character(part[head]))
		head--;
	while (within_character(part[tail]))
		tail++;
	memcpy(part + head, GAP, strlen(GAP));
	memmove(part + head + strlen(GAP), part + tail, strlen(part + tail) + 1);
}

void dnd_shorten(char *text, size_t room)
{
	size_t length = strlen(text), part, over;
	char *longest;

	while (length >= room) {
		longest = longest_part(text, &part);
		if (part <= SHORTEST_NAME)
			break;
		over = length - room + 1 + strlen(GAP);
		cut_middle(longest, part, over < part - SHORTEST_NAME / 2 ? over : part - SHORTEST_NAME / 2);
		length = strlen(text);
	}
	if (length >= room)
		text[room - 1] = '\0';
}

const char *dnd_quote_of(const char *name)
{
	const char *at = name;

	while (isalnum((unsigned char)*at) || (*at && strchr("-+._/@:", *at)))
		at++;
	return *at || at == name ? "\"" : "";
}
