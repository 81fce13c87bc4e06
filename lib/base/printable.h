/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of others, for people: names of processes, files and devices may hold any byte, and none is to
 * begin a line of its own, move the cursor of a terminal, or turn what follows round.  Knows no context:
 * the commands and libdonard-meter are built with the same file.
 */
#ifndef DND_PRINTABLE_H
#define DND_PRINTABLE_H

#include <stddef.h>

/* How many bytes at @text are one character of UTF-8; 0 if the first byte belongs to none. */
size_t dnd_character_bytes(const char *text);
/*
 * In place: each byte of a control character, of one that sets the direction of what follows, or of none at
 * all becomes "\x1b".  Of what then exceeds @text_bytes the end is left out.  Changes nothing the second time.
 */
void dnd_make_printable(char *text, size_t text_bytes);
/* The same, of a file of lines: newlines and tabs stay. */
void dnd_make_lines_printable(char *text, size_t text_bytes);
/* What goes before and behind a name in a sentence: "\"" if it could be taken for a part of that, else "". */
const char *dnd_quote_of(const char *name);

#endif /* DND_PRINTABLE_H */
