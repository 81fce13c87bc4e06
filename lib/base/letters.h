/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DND_LETTERS_H
#define DND_LETTERS_H

#include <stdbool.h>

/*
 * Is the text the word, which has only letters of ASCII, in upper or lower case?  strcasecmp() goes by the program's locale: in
 * a Turkish one 'I' is no 'i'.
 */
static inline bool dnd_is_word(const char *text, const char *word)
{
	for (; *text && *word; text++, word++)
		if ((*text | 0x20) != (*word | 0x20))
			return false;
	return *text == *word;
}

#endif /* DND_LETTERS_H */
