// SPDX-License-Identifier: Apache-2.0
#include "terms.h"

#include <ctype.h>
#include <string.h>

#include "donard/donard.h"

struct term {
	const char *library;
	const char *option;
};

static const struct term terms[] = {
	{ "ALLOW_BOUNCE", "--allow-bounce" },
	{ "ALLOW_UNLISTED", "--allow-unlisted-bridge" },
	{ "FORCE_BOUNCE", "--force-bounce" },
	{ "FORMAT", "--format" },
	{ "GIVE_UP_DAMAGED", "--give-up-damaged" },
	{ "IF_IDLE", "--if-idle" },
	{ "MAY_FILL", "--fill" },
	{ "PASSTHROUGH", "--passthrough" },
	{ "VERIFY", "--verify" },
	{ "VOLATILE_OK", "--volatile-ok" },
	{ "options.backing", "--backing" },
	{ "options.bar", "--bar" },
	{ "options.bind", "--bind" },
	{ "options.block_bytes", "--block-size" },
	{ "options.clients", "--clients" },
	{ "options.depth", "--queue-depth" },
	{ "options.discard", "--discard" },
	{ "options.folio_bytes", "--folio" },
	{ "options.high_percent", "--high" },
	{ "options.length_bytes", "--size" },
	{ "options.listen", "--listen" },
	{ "options.local", "--local" },
	{ "options.low_percent", "--low" },
	{ "options.nvram", "--nvram" },
	{ "options.offset_bytes", "--offset" },
	{ "options.page_type", "--page-type" },
	{ "options.port", "--port" },
	{ "options.queue_depth", "--queue-depth" },
	{ "options.rights", "--access" },
	{ "options.status_path", "--status" },
	{ "options.timeout_ms", "--timeout" },
	{ "options.via", "--via" },
};

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* The term that stands at @at as a word of its own, and not in a path or a longer name. */
static const struct term *term_at(const char *text, const char *at)
{
	if (at > text && !strchr(" (", at[-1]))
		return NULL;
	for (size_t i = 0; i < sizeof(terms) / sizeof(terms[0]); i++) {
		size_t length = strlen(terms[i].library);

		if (!strncmp(at, terms[i].library, length) && !in_word(at[length]))
			return &terms[i];
	}
	return NULL;
}

const char *cli_in_options(const char *text, char *out, size_t out_bytes)
{
	const char *at = text;
	size_t used = 0;

	while (*at && used + 1 < out_bytes) {
		const struct term *term = term_at(text, at);
		const char *piece = term ? term->option : at;
		size_t length = term ? strlen(term->option) : 1;

		if (length > out_bytes - 1 - used)
			length = out_bytes - 1 - used;
		memcpy(out + used, piece, length);
		used += length;
		at += term ? strlen(term->library) : 1;
	}
	out[used] = '\0';
	return out;
}

const char *cli_error(const struct cli *cli, char text[CLI_ERROR_BYTES])
{
	return cli_in_options(donard_error(cli->ctx), text, CLI_ERROR_BYTES);
}
