// SPDX-License-Identifier: Apache-2.0
/* Looks commands up in the program's table; names of two words have their second in argv[2]. */
#include <stdio.h>
#include <string.h>

#include "command.h"

const char *cli_name;

static bool matches(const struct cli_command *command, const char *words)
{
	return !strcmp(command->name, words);
}

bool cli_in_group(const struct cli_command *command, const char *group)
{
	size_t length = strlen(group);

	return !strncmp(command->name, group, length) && command->name[length] == ' ';
}

bool cli_is_group(const char *word)
{
	for (size_t i = 0; cli_commands[i]; i++)
		if (cli_in_group(cli_commands[i], word))
			return true;
	return false;
}

const struct cli_limit *cli_find_limit(const struct cli_command *command, const char *name)
{
	const struct cli_limit *limit = command->limits;

	while (limit && limit->name && strcmp(limit->name, name))
		limit++;
	return limit && limit->name ? limit : NULL;
}

const struct cli_command *cli_find_command(int argc, char **argv, int *words)
{
	char two[64];

	snprintf(two, sizeof(two), "%s %s", argc > 0 ? argv[0] : "", argc > 1 ? argv[1] : "");
	for (size_t i = 0; cli_commands[i]; i++) {
		*words = strchr(cli_commands[i]->name, ' ') ? 2 : 1;
		if (*words <= argc && matches(cli_commands[i], *words == 2 ? two : argv[0]))
			return cli_commands[i];
	}
	return NULL;
}
