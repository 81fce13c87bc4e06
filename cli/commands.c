// SPDX-License-Identifier: Apache-2.0
/* The command table; names of two words have their second in argv[2]. */
#include <stdio.h>
#include <string.h>

#include "cli.h"

const struct cli_command *const cli_commands[] = {
	&cmd_list, &cmd_info, &cmd_topo, &cmd_region_add, &cmd_region_remove, &cmd_region_set,
	&cmd_copy, &cmd_rdma_serve, &cmd_rdma_write, &cmd_rdma_read, &cmd_rdma_lat, &cmd_rdma_bw,
	&cmd_measure, &cmd_bench_copy, &cmd_bench_null, &cmd_bench_setup,
	&cmd_bench_rdma, &cmd_bench_table1, &cmd_version, &cmd_help, NULL,
};

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
