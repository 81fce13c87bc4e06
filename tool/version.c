// SPDX-License-Identifier: Apache-2.0
/* version: of the program and the library it runs with. */
#include <stdio.h>

#include "cli.h"

static int run(struct cli *cli)
{
	struct json_object *model;

	if (!cli->json) {
		printf("%s %d.%d.%d, libdonard %s\n", cli_program.name, DONARD_VERSION_MAJOR,
		       DONARD_VERSION_MINOR, DONARD_VERSION_PATCH, donard_version());
		return EXIT_DONE;
	}
	model = json_object_new_object();
	json_object_object_add(model, "version", cli_json_string(donard_version()));
	cli_print_json(model);
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
