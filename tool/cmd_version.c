// SPDX-License-Identifier: Apache-2.0
/* version: of the program and the library it runs with. */
#include "builtin.h"
#include "donard/donard.h"
#include "fields.h"
#include "output.h"

struct version {
	const char *program, *program_version, *version;
};

static const struct cli_field fields[] = {
	CLI_FIELD("program", CLI_TEXT, struct version, program),
	CLI_FIELD("program_version", CLI_TEXT, struct version, program_version),
	CLI_FIELD("version", CLI_TEXT, struct version, version),
	{ 0 },
};

static int run(struct cli *cli)
{
	const struct version version = { cli_program.name, DONARD_VERSION, donard_version() };

	if (cli->json)
		cli_print_json(cli_fields_json(fields, &version, 0));
	else
		cli_fields_print(stdout, fields, "{program} {program_version}, libdonard {version}\n", &version);
	return EXIT_DONE;
}

static const struct cli_option options[] = {
	{ "json", NULL, "print JSON" },
	{ 0 },
};

const struct cli_command cmd_version = {
	.name = "version", .arguments = "",
	.summary = "Print the versions of the program and the library",
	.options = options, .run = run,
};
