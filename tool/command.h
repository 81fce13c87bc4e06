/* SPDX-License-Identifier: Apache-2.0 */
/* The command table of a program, and one invocation of a command. */
#ifndef DONARD_COMMAND_H
#define DONARD_COMMAND_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "exit.h"

struct donard_context;

#define CLI_MAX_OPTIONS 24
#define CLI_ANY_ARGUMENTS INT_MAX

struct cli_option {
	const char *name;	/* without the dashes; NULL ends the table */
	const char *argument;	/* "BYTES", or NULL for a switch */
	const char *help;
};

/* The limits of an option that takes a number, or a list of numbers. */
struct cli_limit {
	const char *name;	/* the option; NULL ends the table */
	uint64_t low, high;
};

struct cli_command;

/* One invocation: values[i] belongs to command->options[i], NULL if absent. */
struct cli {
	const struct cli_command *command;
	struct donard_context *ctx;
	bool json;
	const char *values[CLI_MAX_OPTIONS];
	int argument_count;
	char **arguments;
};

struct cli_command {
	const char *name;	/* "list", "region add" */
	const char *arguments;	/* "SRC DST" or "" */
	int min_arguments, max_arguments;	/* CLI_ANY_ARGUMENTS: any number */
	const char *summary;
	const struct cli_option *options;
	const struct cli_limit *limits;	/* or NULL */
	bool needs_context;
	bool json_lines;	/* --json prints one object for each line, for failures, too */
	bool runs_command;	/* it runs another command: options behind the first argument are not ours */
	int (*run)(struct cli *cli);
	/* Instead of run(): another program that has these commands, and gets all words behind the name. */
	const char *program;
};

/* Each program defines these two: its description, and its table of commands, which ends with NULL. */
struct cli_program {
	const char *name;
	const char *alias;	/* its name as a command of another program, or NULL */
	const char *purpose;
};
extern const struct cli_program cli_program;
extern const struct cli_command *const cli_commands[];

/* The program's name as the user typed it, such as "donard-cli" or "donard-cli bench"; main() sets it. */
extern const char *cli_name;

/* Returns NULL if the option has no limits. */
const struct cli_limit *cli_find_limit(const struct cli_command *command, const char *name);
const struct cli_command *cli_find_command(int argc, char **argv, int *words);
/* Groups, such as "region" and "rdma", are words with which several commands begin. */
bool cli_in_group(const struct cli_command *command, const char *group);
bool cli_is_group(const char *word);

#endif /* DONARD_COMMAND_H */
