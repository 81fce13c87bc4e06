// SPDX-License-Identifier: Apache-2.0
/* Help text from the command table. */
#include <stdio.h>
#include <string.h>

#include "help.h"

static bool is_in(const struct cli_command *command, const char *group)
{
	return !group || cli_in_group(command, group);
}

/* The commands of a group, or all with NULL. */
static void print_commands(FILE *to, const char *group)
{
	int width = 0;

	for (size_t i = 0; cli_commands[i]; i++)
		if (is_in(cli_commands[i], group) && (int)strlen(cli_commands[i]->name) > width)
			width = (int)strlen(cli_commands[i]->name);
	for (size_t i = 0; cli_commands[i]; i++)
		if (is_in(cli_commands[i], group))
			fprintf(to, "  %-*s  %s\n", width, cli_commands[i]->name, cli_commands[i]->summary);
}

void cli_print_help(void)
{
	printf("Usage: %s COMMAND [OPTION]...\n%s\n\nCommands:\n", cli_name, cli_program.purpose);
	print_commands(stdout, NULL);
	printf("\nSizes: 4096, 64K, 1MiB (powers of 1024); 64kB, 1MB (powers of 1000).\n"
	       "Exit status: 0 done, 1 failed, 2 usage, 3 unsupported here, 4 data mismatch,\n"
	       "130 stopped by a signal.\n'%s help COMMAND' explains one command.\n", cli_name);
}

void cli_print_group_help(FILE *to, const char *group)
{
	fprintf(to, "Usage: %s %s COMMAND [OPTION]...\n\nCommands:\n", cli_name, group);
	print_commands(to, group);
	fprintf(to, "\n'%s help %s COMMAND' explains one.\n", cli_name, group);
}

/* "1 to 4096", or "" */
static void limits_of(const struct cli_command *command, const struct cli_option *option, char *text,
		      size_t text_bytes)
{
	const struct cli_limit *limit = cli_find_limit(command, option->name);

	text[0] = '\0';
	if (limit)
		snprintf(text, text_bytes, "%llu to %llu", (unsigned long long)limit->low,
			 (unsigned long long)limit->high);
}

void cli_print_command_help(const struct cli_command *command)
{
	char left[64], limits[64];

	printf("Usage: %s %s%s%s%s%s\n%s.\n\nOptions:\n", cli_name, command->name,
	       command->runs_command ? " [OPTION]..." : "", command->arguments[0] ? " " : "",
	       command->arguments, command->runs_command ? "" : " [OPTION]...", command->summary);
	for (size_t i = 0; command->options[i].name; i++) {
		const struct cli_option *option = &command->options[i];

		snprintf(left, sizeof(left), "--%s%s%s", option->name,
			 option->argument ? " " : "", option->argument ? option->argument : "");
		limits_of(command, option, limits, sizeof(limits));
		printf("  %-24s %s%s%s%s\n", left, option->help, limits[0] ? " (" : "", limits,
		       limits[0] ? ")" : "");
	}
	printf("  %-24s %s\n", "--help", "print this text");
}

/* "bench " where the table belongs to a command of another program. */
static const char *prefix(void)
{
	const char *space = cli_program.alias ? strchr(cli_program.alias, ' ') : NULL;

	return space ? space + 1 : "";
}

static void dump_name(const char *what, const struct cli_command *command)
{
	printf("%s\t%s%s%s\t", what, prefix(), prefix()[0] ? " " : "", command->name);
}

int cli_dump_commands(void)
{
	char limits[64];

	for (size_t i = 0; cli_commands[i]; i++) {
		const struct cli_command *command = cli_commands[i];

		dump_name("command", command);
		printf("%s\t%s\n", command->arguments, command->summary);
		for (const struct cli_option *option = command->options; option->name; option++) {
			dump_name("option", command);
			limits_of(command, option, limits, sizeof(limits));
			printf("--%s\t%s\t%s\t%s\n", option->name,
			       option->argument ? option->argument : "", option->help, limits);
		}
	}
	return EXIT_DONE;
}
