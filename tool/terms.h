/* SPDX-License-Identifier: Apache-2.0 */
/* Translates the library's texts into the words of the command line. */
#ifndef DONARD_TERMS_H
#define DONARD_TERMS_H

#include <stddef.h>

#include "command.h"

#define CLI_ERROR_BYTES	1280	/* the library's 1024, and what its words become longer */

/*
 * A word of the library's, and what stands for it.  A call that takes arguments ends in "(": the text has them behind
 * it, and a ")", and they stand at %1 and %2.
 */
struct cli_term {
	const char *library;
	const char *word;
};

/*
 * The library's texts use the names in its headers: "options.block_bytes", "ALLOW_BOUNCE", "donard_region_list()".
 * This replaces them in @text by what the command line has: "--block-size", "--allow-bounce", "'donard-cli list'".
 * Returns @out.
 */
const char *cli_in_options(const char *text, char *out, size_t out_bytes);

/* The option of @command that stands for a member of the options or a flag ("options.block_bytes"), or "". */
const char *cli_option_of(const struct cli_command *command, const char *member);

/*
 * Replaces the calls by the commands, and of the other words those of @own, up to a NULL: for readers who know the commands but
 * have options of their own (users of a plugin, or of cuFile).
 */
const char *cli_in_words(const char *text, const struct cli_term *own, char *out, size_t out_bytes);

/*
 * @words, up to a NULL: what a person typed.  A text has those with a blank or "(" as they are, whatever they hold
 * ("/mnt/x VERIFY"); of others it is not known whether the library means its own word.
 * The words are kept, not copied.
 */
void cli_names_given(char *const *words);

/* The translated donard_error(), with further remedies that the command line knows. */
const char *cli_error(const struct cli *cli, char text[CLI_ERROR_BYTES]);

#endif /* DONARD_TERMS_H */
