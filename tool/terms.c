// SPDX-License-Identifier: Apache-2.0
#include "terms.h"

#include <stdio.h>
#include <string.h>

#include "donard/donard.h"

static const struct cli_term options[] = {
	{ "ALLOW_BOUNCE", "--allow-bounce" },
	{ "ALLOW_UNLISTED", "--allow-unlisted-bridge" },
	{ "DONARD_FILE_CREATE", "fallocate -l SIZE" },
	{ "FORCE_BOUNCE", "--force-bounce" },
	{ "FORMAT", "--format" },
	{ "GIVE_UP_DAMAGED", "--give-up-damaged" },
	{ "IF_IDLE", "--if-idle" },
	{ "PASSTHROUGH", "--passthrough" },
	{ "VERIFY", "--verify" },
	{ "VOLATILE_OK", "--volatile-ok" },
	{ "options.bar", "--bar" },
	{ "options.bdf", "--device" },
	{ "options.bind", "--bind" },
	{ "options.block_bytes", "--block-size" },
	{ "options.clients", "--clients" },
	{ "options.depth", "--queue-depth" },
	{ "options.dst_offset_bytes", "--dst-offset" },
	{ "options.discard", "--discard" },
	{ "options.folio_bytes", "--folio" },
	{ "options.high_percent", "--high" },
	{ "options.length_bytes", "--size" },
	{ "options.length_bytes", "--length" },	/* of a region that is added */
	{ "options.listen", "--listen" },
	{ "options.low_percent", "--low" },
	{ "options.offset_bytes", "--offset" },
	{ "options.page_type", "--page-type" },
	{ "options.port", "--port" },
	{ "options.queue_depth", "--queue-depth" },
	{ "options.rights", "--access" },
	{ "options.src_offset_bytes", "--src-offset" },
	{ "options.status_path", "--status" },
	{ "options.timeout_ms", "--timeout" },
	{ "options.via", "--via" },
	{ NULL, NULL },
};

/* Parameters of calls that are options here.  Not in a text: there they are words as any other. */
static const struct cli_term parameters[] = {
	{ "backing", "--backing" },
	{ "nvram", "--nvram" },
	{ NULL, NULL },
};

/* What the command line knows beyond the library's text, by the failure's code. */
static const struct {
	const char *code;
	const char *text;
} remedies[] = {
	{ "no-module", " If that fails, 'donard-cli doctor' says why." },
};

static bool has_option(const struct cli_command *command, const char *option)
{
	for (const struct cli_option *own = command->options; own && own->name; own++)
		if (!strncmp(option, "--", 2) && !strcmp(own->name, option + 2))
			return true;
	return false;
}

static const char *option_in(const struct cli_term *terms, const struct cli_command *command, const char *member)
{
	for (const struct cli_term *term = terms; term->library; term++)
		if (!strcmp(term->library, member) && has_option(command, term->word))
			return term->word;
	return NULL;
}

const char *cli_option_of(const struct cli_command *command, const char *member)
{
	const char *option = option_in(options, command, member);

	if (!option)
		option = option_in(parameters, command, member);
	return option ? option : "";
}

const char *cli_in_options(const char *text, char *out, size_t out_bytes)
{
	return cli_in_words(text, options, out, out_bytes);
}

const char *cli_say_whose_option(char text[CLI_ERROR_BYTES])
{
	size_t used = strlen(text);

	if (strstr(text, "--allow-bounce"))
		snprintf(text + used, CLI_ERROR_BYTES - used, " (--allow-bounce is an option of 'donard-cli copy')");
	return text;
}

const char *cli_error(const struct cli *cli, char text[CLI_ERROR_BYTES])
{
	const char *code = donard_error_code(cli->ctx);

	cli_in_options(donard_error(cli->ctx), text, CLI_ERROR_BYTES);
	if (!has_option(cli->command, "--allow-bounce"))
		cli_say_whose_option(text);
	for (size_t i = 0; i < sizeof(remedies) / sizeof(remedies[0]); i++)
		if (!strcmp(code, remedies[i].code))
			strncat(text, remedies[i].text, CLI_ERROR_BYTES - 1 - strlen(text));
	return text;
}
