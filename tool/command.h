/* SPDX-License-Identifier: Apache-2.0 */
/* The shape of a program's command table, and one invocation of a command. */
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

/* Of an option that takes a number, or a list of them. */
struct cli_limit {
	const char *name;	/* of the option; NULL ends the table */
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
	int min_arguments, max_arguments;	/* CLI_ANY_ARGUMENTS: as many as there are */
	const char *summary;
	const struct cli_option *options;
	const struct cli_limit *limits;	/* or NULL */
	bool needs_context;
	bool json_lines;	/* --json: one object a line, failures too */
	bool runs_command;	/* options behind the first argument are not ours */
	int (*run)(struct cli *cli);
	/* Or: another program whose commands these are; all words behind the name are for it. */
	const char *program;
};

/* What each program says of itself, and its table, which ends with NULL: both are the program's own. */
struct cli_program {
	const char *name;
	const char *alias;	/* how another program that stands for it calls it, or NULL */
	const char *purpose;
};
extern const struct cli_program cli_program;
extern const struct cli_command *const cli_commands[];

/* The program's name as the user typed it: "donard-cli", "donard-cli bench"; main() sets it. */
extern const char *cli_name;

/* NULL where the option has none. */
const struct cli_limit *cli_find_limit(const struct cli_command *command, const char *name);
const struct cli_command *cli_find_command(int argc, char **argv, int *words);
/* "region" and "rdma" are only the first word of commands. */
bool cli_in_group(const struct cli_command *command, const char *group);
bool cli_is_group(const char *word);

#endif /* DONARD_COMMAND_H */
