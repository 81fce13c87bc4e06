/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the options and arguments of an invocation according to the command's table. */
#ifndef DONARD_OPTIONS_H
#define DONARD_OPTIONS_H

#include <stdint.h>

#include "command.h"

/* Returns 0; an exit code after it has printed an error; or -1 after it has printed the help. */
int cli_parse(struct cli *cli, int argc, char **argv);
const char *cli_value(const struct cli *cli, const char *name);
bool cli_given(const struct cli *cli, const char *name);
/*
 * The next three leave *value alone if the option is absent.  They return 0, or an exit code after they have printed
 * why the value is bad.  A size may be 0 only if @zero_ok.
 */
int cli_size(const struct cli *cli, const char *name, bool zero_ok, uint64_t *value);
/* The number must be within the limits in the command's table. */
int cli_number(const struct cli *cli, const char *name, uint64_t *value);
/* Takes "--timeout", which is in seconds. */
int cli_timeout(const struct cli *cli, unsigned int *timeout_ms);

#endif /* DONARD_OPTIONS_H */
