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
 * Prints the whole table, one entry a line, with tabs between the fields: "command NAME ARGUMENTS
 * SUMMARY" and "option NAME --OPTION ARGUMENT HELP LIMITS", where LIMITS is like "1 to 4096" or empty.
 * The completion is generated from it, and the man page is compared with it.
 */
int cli_dump_commands(void);

#endif /* DONARD_HELP_H */
