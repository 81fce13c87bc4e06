// SPDX-License-Identifier: Apache-2.0
/* version: of the program and the library it runs with. */
#include <stdio.h>

#include "builtin.h"
#include "donard/donard.h"
#include "output.h"

static int run(struct cli *cli)
{
	struct json_object *model = json_object_new_object();

	cli_add_text(model, "program", cli_program.name);
	cli_add_text(model, "program_version", DONARD_VERSION);
	cli_add_text(model, "version", donard_version());
	if (cli->json) {
		cli_print_json(model);
		return EXIT_DONE;
	}
	printf("%s %s, libdonard %s\n", cli_text_of(model, "program"),
	       cli_text_of(model, "program_version"), cli_text_of(model, "version"));
	json_object_put(model);
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
