/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the destination of a command's bytes. */
#ifndef DONARD_TARGET_H
#define DONARD_TARGET_H

#include "command.h"

/*
 * Refuses the file, drive or pipe at @path if it is standard output or standard error by another name, such as /dev/stdout: the
 * command's own messages would be written among the data, or over it.  Accepts a terminal and /dev/null.  @remedy: what to do
 * about standard output, a sentence without its full stop.  Returns 0, or an exit code after it has printed an error.
 */
int cli_check_target(const struct cli *cli, const char *path, const char *remedy);

#endif /* DONARD_TARGET_H */
