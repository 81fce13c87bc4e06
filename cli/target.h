/* SPDX-License-Identifier: Apache-2.0 */
/* Where a command's bytes must not go. */
#ifndef DONARD_TARGET_H
#define DONARD_TARGET_H

#include "command.h"

/*
 * Refuses the file, drive or pipe at @path where it is standard output or standard error by another name, as /dev/stdout is: what
 * a command says there would stand among the data, or over it.  Not a terminal or /dev/null.  @remedy: a sentence without its
 * end, for standard output.  Returns 0, or an exit code after it has printed an error.
 */
int cli_check_target(const struct cli *cli, const char *path, const char *remedy);

#endif /* DONARD_TARGET_H */
