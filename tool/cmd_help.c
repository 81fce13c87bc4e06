// SPDX-License-Identifier: Apache-2.0
/* help: of the program, a group of commands, or one command. */
#include <stdio.h>

#include "become.h"
#include "builtin.h"
#include "errors.h"
#include "help.h"

static int run_help(struct cli *cli)
{
	const struct cli_command *command;
	int words;

	if (!cli->argument_count) {
		cli_print_help();
		return EXIT_DONE;
	}
	if (cli->argument_count == 1 && cli_is_group(cli->arguments[0])) {
		cli_print_group_help(stdout, cli->arguments[0]);
		return EXIT_DONE;
	}
	command = cli_find_command(cli->argument_count, cli->arguments, &words);
	if (!command)
		return cli_no_command(cli->json, cli->argument_count, cli->arguments);
	if (command->program)
		return cli_become(command, "help", cli->argument_count - words, cli->arguments + words);
	if (words < cli->argument_count)
		return cli_usage(cli, "'%s' is one argument too many", cli->arguments[words]);
	cli_print_command_help(command);
	return EXIT_DONE;
}

/* Taken because --json may stand before every command. */
static const struct cli_option options[] = {
	{ "json", NULL, "print failures as JSON; help itself is text" },
	{ 0 },
};

const struct cli_command cmd_help = {
	.name = "help", .arguments = "[COMMAND]", .max_arguments = 2,
	.summary = "Print this text, or the options of a command",
	.options = options, .run = run_help,
};
