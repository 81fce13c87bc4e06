/* SPDX-License-Identifier: Apache-2.0 */
/* The library's texts in the words of the command line. */
#ifndef DONARD_TERMS_H
#define DONARD_TERMS_H

#include <stddef.h>

#include "command.h"

#define CLI_ERROR_BYTES	1024

/*
 * The library names what its headers name: "options.block_bytes", "ALLOW_BOUNCE", "donard_region_list()". Writes @text with
 * what the command line has for it: "--block-size", "--allow-bounce", "'donard-cli list'". Returns @out.
 */
const char *cli_in_options(const char *text, char *out, size_t out_bytes);

/* The calls alone: for readers of a plugin's or library's texts, who have the commands, and other options or none. */
const char *cli_in_commands(const char *text, char *out, size_t out_bytes);

/* donard_error() so, and what helps beyond it. */
const char *cli_error(const struct cli *cli, char text[CLI_ERROR_BYTES]);

#endif /* DONARD_TERMS_H */
