/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library's texts in other words: calls become commands, and what else a reader has other words for becomes those.  For all who
 * tell people the library's errors: the programs, the plugin of nbdkit and the log of cuFile.
 */
#ifndef DONARD_WORDS_H
#define DONARD_WORDS_H

#include <stddef.h>

/*
 * A word of the library's, and what stands for it.  A call that takes arguments ends in "(": the text has them behind
 * it, and a ")", and they stand at %1 and %2.
 */
struct cli_term {
	const char *library;
	const char *word;
};

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

#endif /* DONARD_WORDS_H */
