// SPDX-License-Identifier: Apache-2.0
/* donard-cli: finds the command, parses its options, runs it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static int run_command(struct cli *cli)
{
	/* The tests replay captured trees; see tests/unit and tests/cli. */
	struct donard_config config = {
		.size = sizeof(config),
		.sysfs_root = getenv("DONARD_SYSFS_ROOT"),
		.dev_root = getenv("DONARD_DEV_ROOT"),
	};
	int exit_code, rc;

	if (!cli->command->needs_context)
		return cli->command->run(cli);
	rc = donard_open(&cli->ctx, &config);
	if (rc)
		return cli_fail_text(cli, EXIT_FAILED, "system", strerror(-rc));
	exit_code = cli->command->run(cli);
	donard_close(cli->ctx);
	return exit_code;
}

/* "region" and "rdma" are first words only. */
static bool is_group(const char *word)
{
	size_t length = strlen(word);

	for (size_t i = 0; cli_commands[i]; i++)
		if (!strncmp(cli_commands[i]->name, word, length) &&
		    cli_commands[i]->name[length] == ' ')
			return true;
	return false;
}

static int no_command(int argc, char **argv)
{
	const char *second = argc > 2 && is_group(argv[1]) ? argv[2] : "";

	if (argc < 2)
		fprintf(stderr, "donard-cli: a command is missing; 'donard-cli help' lists them\n");
	else
		fprintf(stderr, "donard-cli: '%s%s%s' is no command; 'donard-cli help' lists "
			"them\n", argv[1], second[0] ? " " : "", second);
	return EXIT_USAGE;
}

static const char *long_alias(const char *word)
{
	if (!strcmp(word, "--help") || !strcmp(word, "-h"))
		return "help";
	return strcmp(word, "--version") ? word : "version";
}

int main(int argc, char **argv)
{
	struct cli cli = { 0 };
	int exit_code, words;

	if (argc > 1)
		argv[1] = (char *)long_alias(argv[1]);
	cli.command = cli_find_command(argc - 1, argv + 1, &words);
	if (!cli.command)
		return no_command(argc, argv);
	exit_code = cli_parse(&cli, argc - words, argv + words);
	if (exit_code < 0)	/* --help was printed */
		exit_code = EXIT_DONE;
	else if (!exit_code)
		exit_code = run_command(&cli);
	return cli_check_stdout(exit_code);
}
