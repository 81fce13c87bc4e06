/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that another program of the project has. */
#ifndef DONARD_BECOME_H
#define DONARD_BECOME_H

#include "command.h"

/* Becomes the program that the command belongs to, as if the user had typed @first and @argv behind it. */
int cli_become(const struct cli_command *command, const char *first, int argc, char **argv);

#endif /* DONARD_BECOME_H */
