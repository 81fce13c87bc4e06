// SPDX-License-Identifier: Apache-2.0
/* Commands that another program of the project has. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "become.h"
#include "errors.h"
#include "process.h"

static int not_installed(const struct cli *cli)
{
	char text[160];

	snprintf(text, sizeof(text), "there is no %s beside %s nor in PATH. 'make install' installs both.",
		 cli->command->program, cli_name);
	return cli_fail_text(cli, EXIT_UNSUPPORTED, "unsupported", text);
}

static int cannot_run(const struct cli *cli, const char *path, int error_number)
{
	char text[PATH_MAX + 128];

	snprintf(text, sizeof(text), "%s: %s", path, strerror(error_number));
	return cli_fail_text(cli, EXIT_FAILED, "system", text);
}

int cli_become(const struct cli_command *command, const char *first, int argc, char **argv)
{
	struct cli cli = { .command = command, .json = (first && !strcmp(first, "--json")) || cli_wants_json(argc, argv) };
	char path[PATH_MAX], name[64];
	const char **words;
	int count = 0, rc;

	if (cli_find_program(command->program, path, sizeof(path)))
		return not_installed(&cli);
	words = calloc((size_t)argc + 3, sizeof(*words));
	if (!words)
		return cannot_run(&cli, path, ENOMEM);
	snprintf(name, sizeof(name), "%s %s", cli_name, command->name);
	words[count++] = name;
	if (first)
		words[count++] = first;
	memcpy(words + count, argv, (size_t)argc * sizeof(*words));
	fflush(NULL);
	execv(path, (char **)words);
	rc = cannot_run(&cli, path, errno);
	free(words);
	return rc;
}
