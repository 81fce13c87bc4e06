// SPDX-License-Identifier: Apache-2.0
/* See words.h. */
#include "words.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* A call's arguments are names, words and PCI addresses; with anything else in it, the text is somebody else's. */
static const char in_arguments[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:._, -";

static const struct cli_term calls[] = {
	{ "donard_cache_serve()", "'donard-cli cache serve'" },
	{ "donard_candidate_list()", "'donard-cli region candidates'" },
	{ "donard_client_list()", "'donard-cli list'" },
	{ "donard_rdma_serve()", "'donard-cli rdma serve'" },
	{ "donard_region_add()", "'donard-cli region add'" },
	{ "donard_region_add(", "donard-cli region add --kind %1 --device %2" },
	{ "donard_region_list()", "'donard-cli list'" },
	{ "donard_region_set_page_type(", "'donard-cli region set %1 --page-type %2'" },
	{ "donard_route_probe()", "'donard-cli topo'" },
	{ NULL, NULL },
};

static char *const *given;	/* up to a NULL */

void cli_names_given(char *const *words)
{
	given = words;
}

/* The name in a word: of "--via=NAME", what stands behind. */
static const char *name_in(const char *word)
{
	const char *value = strncmp(word, "--", 2) ? NULL : strchr(word, '=');

	return value ? value + 1 : word;
}

/* How long the name is that a person typed and that stands at @at.  A term stands behind a blank or "(". */
static size_t given_at(const char *at)
{
	size_t longest = 0;

	for (char *const *word = given; word && *word; word++) {
		const char *name = name_in(*word);
		size_t length = strlen(name);

		if (length > longest && strpbrk(name, " (") && !strncmp(at, name, length))
			longest = length;
	}
	return longest;
}

struct out {
	char *text;
	size_t bytes, used;
};

static void put(struct out *out, const char *piece, size_t length)
{
	if (length > out->bytes - 1 - out->used)
		length = out->bytes - 1 - out->used;
	memcpy(out->text + out->used, piece, length);
	out->used += length;
}

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* The term that stands at @at as a word of its own. */
static const struct cli_term *term_of(const struct cli_term *terms, const char *at)
{
	for (const struct cli_term *term = terms; term->library; term++) {
		size_t length = strlen(term->library);

		if (!strncmp(at, term->library, length) && (!in_word(at[length - 1]) || !in_word(at[length])))
			return term;
	}
	return NULL;
}

/* Not in a path or a longer name. */
static const struct cli_term *term_at(const char *text, const char *at, const struct cli_term *own)
{
	const struct cli_term *term;

	if (at > text && !strchr(" (", at[-1]))
		return NULL;
	term = term_of(calls, at);
	return term ? term : term_of(own, at);
}

/* The one with that number of "a, b)". */
static void put_argument(struct out *out, const char *arguments, int number)
{
	size_t length = strcspn(arguments, ",)");

	for (; number > 1 && arguments[length] == ','; number--) {
		arguments += length + strspn(arguments + length, ", ");
		length = strcspn(arguments, ",)");
	}
	put(out, arguments, number > 1 ? 0 : length);
}

/* Returns where the text goes on. */
static const char *put_term(struct out *out, const struct cli_term *term, const char *at)
{
	const char *behind = at + strlen(term->library), *end = behind + strspn(behind, in_arguments);

	if (behind[-1] != '(') {
		put(out, term->word, strlen(term->word));
		return behind;
	}
	if (*end != ')') {
		put(out, at, (size_t)(behind - at));
		return behind;
	}
	for (const char *c = term->word; *c; c++)
		if (*c == '%')
			put_argument(out, behind, *++c - '0');
		else
			put(out, c, 1);
	return end + 1;
}

const char *cli_in_words(const char *text, const struct cli_term *own, char *out, size_t out_bytes)
{
	struct out to = { .text = out, .bytes = out_bytes };
	const char *at = text;

	while (*at && to.used + 1 < out_bytes) {
		size_t name_length = given_at(at);
		const struct cli_term *term = name_length ? NULL : term_at(text, at, own);

		if (term) {
			at = put_term(&to, term, at);
			continue;
		}
		name_length += !name_length;
		put(&to, at, name_length);
		at += name_length;
	}
	out[to.used] = '\0';
	return out;
}
