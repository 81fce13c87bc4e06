/* SPDX-License-Identifier: Apache-2.0 */
/* Options and arguments of an invocation, by the command's table. */
#ifndef DONARD_OPTIONS_H
#define DONARD_OPTIONS_H

#include <stdint.h>

#include "command.h"

/* Returns 0, an exit code after an error was told, or -1 after --help was printed. */
int cli_parse(struct cli *cli, int argc, char **argv);
const char *cli_value(const struct cli *cli, const char *name);
bool cli_given(const struct cli *cli, const char *name);
/* Absent options leave *value alone; garbage, and 0 unless zero_ok, exit 2. */
int cli_size(const struct cli *cli, const char *name, bool zero_ok, uint64_t *value);
/* Within the limits that the command's table has for it. */
int cli_number(const struct cli *cli, const char *name, uint64_t *value);
/* "--timeout", in seconds, as milliseconds. */
int cli_timeout(const struct cli *cli, unsigned int *timeout_ms);

#endif /* DONARD_OPTIONS_H */
