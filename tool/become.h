/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that belong to another program of the project. */
#ifndef DONARD_BECOME_H
#define DONARD_BECOME_H

#include "command.h"

/* Executes the program to which the command belongs, as if the user had typed @first and @argv behind its name. */
int cli_become(const struct cli_command *command, const char *first, int argc, char **argv);

#endif /* DONARD_BECOME_H */
