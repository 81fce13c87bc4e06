/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that every program has, for its table. */
#ifndef DONARD_BUILTIN_H
#define DONARD_BUILTIN_H

#include "command.h"

extern const struct cli_command cmd_version, cmd_help;

#endif /* DONARD_BUILTIN_H */
