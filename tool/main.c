// SPDX-License-Identifier: Apache-2.0
/* main() of donard-cli and donard-bench: finds the command, parses its options, runs it. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "become.h"
#include "donard/donard.h"
#include "errors.h"
#include "help.h"
#include "options.h"
#include "terms.h"

static int run_command(struct cli *cli)
{
	/* The tests replay captured trees; see tests/unit and tests/host. */
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

/* "region --help" */
static bool asks_about_group(int argc, char **argv)
{
	return argc > 2 && cli_is_group(argv[1]) &&
	       (!strcmp(argv[2], "--help") || !strcmp(argv[2], "-h"));
}

static int no_command(const struct cli *cli, int argc, char **argv)
{
	if (!asks_about_group(argc, argv))
		return cli_no_command(cli->json, argc - 1, argv + 1);
	cli_print_group_help(stdout, argv[1]);
	return EXIT_DONE;
}

static const char *long_alias(const char *word)
{
	if (!strcmp(word, "--help") || !strcmp(word, "-h"))
		return "help";
	return strcmp(word, "--version") && strcmp(word, "-V") ? word : "version";
}

/* "--json list" is "list --json".  Returns how many words stand before the command. */
static int take_leading_json(struct cli *cli, int argc, char **argv)
{
	int count = 0;

	while (1 + count < argc && !strcmp(argv[1 + count], "--json"))
		count++;
	cli->json = count > 0;
	return count;
}

/* A drive that took the number of a closed stderr would get our messages as data. */
static void hold_standard_descriptors(void)
{
	int fd;

	do	/* what was closed still fails, and is reported */
		fd = open("/dev/null", fcntl(STDIN_FILENO, F_GETFD) < 0 ? O_WRONLY : O_RDONLY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
}

int main(int argc, char **argv)
{
	struct cli cli = { 0 };
	int exit_code, words, leading;

	hold_standard_descriptors();

	/* Our parent may have ignored it: then nobody would say how a program of ours ended. */
	signal(SIGCHLD, SIG_DFL);
	cli_names_given(argv);
	cli_name = cli_program.name;
	if (cli_program.alias && argc && !strcmp(argv[0], cli_program.alias))
		cli_name = cli_program.alias;
	leading = take_leading_json(&cli, argc, argv);
	argc -= leading;
	argv += leading;
	if (argc > 1)
		argv[1] = (char *)long_alias(argv[1]);
	if (argc == 2 && !strcmp(argv[1], "--dump-commands"))
		return cli_check_stdout(cli_dump_commands());
	cli.command = cli_find_command(argc - 1, argv + 1, &words);
	if (!cli.command)
		return cli_check_stdout(no_command(&cli, argc, argv));
	if (cli.command->program)
		return cli_become(cli.command, cli.json ? "--json" : NULL, argc - words - 1, argv + words + 1);
	exit_code = cli_parse(&cli, argc - words, argv + words);
	if (exit_code < 0)	/* --help was printed */
		exit_code = EXIT_DONE;
	else if (!exit_code)
		exit_code = run_command(&cli);
	return cli_check_stdout(exit_code);
}
