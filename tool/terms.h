/* SPDX-License-Identifier: Apache-2.0 */
/* Translates the library's texts into the words of the command line. */
#ifndef DONARD_TERMS_H
#define DONARD_TERMS_H

#include <stddef.h>

#include "command.h"
#include "words/words.h"

#define CLI_ERROR_BYTES	1280	/* the library's 1024, and what its words become longer */

/*
 * The library's texts use the names in its headers: "options.block_bytes", "ALLOW_BOUNCE", "donard_region_list()".
 * This replaces them in @text by what the command line has: "--block-size", "--allow-bounce", "'donard-cli list'".
 * Returns @out.
 */
const char *cli_in_options(const char *text, char *out, size_t out_bytes);

/* The option of @command that stands for a member of the options or a flag ("options.block_bytes"), or "". */
const char *cli_option_of(const struct cli_command *command, const char *member);

/* Appends whose option it is, where a command that does not have it is told to pass --allow-bounce.  Returns @text. */
const char *cli_say_whose_option(char text[CLI_ERROR_BYTES]);

/* The translated donard_error(), with further remedies that the command line knows. */
const char *cli_error(const struct cli *cli, char text[CLI_ERROR_BYTES]);

#endif /* DONARD_TERMS_H */
