/* SPDX-License-Identifier: Apache-2.0 */
/* Help text from the command table. */
#ifndef DONARD_HELP_H
#define DONARD_HELP_H

#include <stdio.h>

#include "command.h"

void cli_print_help(void);
void cli_print_group_help(FILE *to, const char *group);
void cli_print_command_help(const struct cli_command *command);
/*
 * The whole table, a line each, tabs between: "command NAME ARGUMENTS SUMMARY" and "option NAME
 * --OPTION ARGUMENT HELP LIMITS", LIMITS being "1 to 4096" or nothing. The completion is made from it,
 * and the man page compared with it.
 */
int cli_dump_commands(void);

#endif /* DONARD_HELP_H */
