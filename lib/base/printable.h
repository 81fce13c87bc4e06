/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes foreign text safe to print: names of processes, files and devices may hold any byte.  None of
 * them may start a new line, move the cursor of a terminal, or change the writing direction of the text
 * behind it.  This file uses no context, because the commands, libdonard-meter and libcufile are built with it, too.
 */
#ifndef DND_PRINTABLE_H
#define DND_PRINTABLE_H

#include <stddef.h>

/* How many bytes the UTF-8 character at @text has; 0 if @text does not begin with one. */
size_t dnd_character_bytes(const char *text);
/*
 * Escapes, in place, each byte of a control character, of a character that sets the writing direction, and of
 * invalid UTF-8, in the form "\x1b".  Cuts the end if the result exceeds @text_bytes.  A second call changes nothing.
 */
void dnd_make_printable(char *text, size_t text_bytes);
/* Does the same for text of several lines: newlines and tabs stay. */
void dnd_make_lines_printable(char *text, size_t text_bytes);
/*
 * Shortens printable text to less than @room bytes: replaces the middle of its longest parts, which are names, by "...",
 * so that the rest of the sentence stays.
 */
void dnd_shorten(char *text, size_t room);
/* The quotation mark to put around a name in a sentence: "\"" if the name could be read as part of it, else "". */
const char *dnd_quote_of(const char *name);

#endif /* DND_PRINTABLE_H */
