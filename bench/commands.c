// SPDX-License-Identifier: Apache-2.0
/* The command table of donard-bench. */
#include <stddef.h>

#include "builtin.h"

extern const struct cli_command cmd_copy, cmd_queue, cmd_setup, cmd_rdma, cmd_table1, cmd_null;

const struct cli_program cli_program = {
	.name = "donard-bench",
	.alias = "donard-cli bench",
	.purpose = "Measures donard beside other tools, and prints every raw sample.",
};

const struct cli_command *const cli_commands[] = {
	&cmd_copy, &cmd_queue, &cmd_setup, &cmd_rdma, &cmd_table1, &cmd_null, &cmd_version, &cmd_help, NULL,
};
