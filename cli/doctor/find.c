// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examination.h"
#include "lib/base/printable.h"
#include "output.h"

#define ESCAPED_BYTES	4	/* of one byte, at most */

/* Names of the machine's folders and links hold any byte: the text is made printable.  The caller's; NULL without memory. */
static char *text_of(const char *format, va_list args)
{
	char *text, *room;
	int bytes = vasprintf(&text, format, args);

	if (bytes < 0)
		return NULL;
	room = realloc(text, (size_t)bytes * ESCAPED_BYTES + 1);
	if (!room)
		free(text);
	else
		dnd_make_printable(room, (size_t)bytes * ESCAPED_BYTES + 1);
	return room;
}

__attribute__((format(printf, 1, 2))) static char *text_from(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = text_of(format, args);
	va_end(args);
	return text;
}

static struct json_object *found_before(const struct examination *x, const char *word,
					const char *object)
{
	for (size_t i = 0; i < json_object_array_length(x->findings); i++) {
		struct json_object *finding = json_object_array_get_idx(x->findings, i);

		if (!strcmp(cli_text_of(finding, "code"), word) &&
		    !strcmp(cli_text_of(finding, "object"), object))
			return finding;
	}
	return NULL;
}

static struct json_object *add(struct examination *x, const struct code_entry *entry, const char *object, const char *cause)
{
	struct json_object *finding = json_object_new_object();

	cli_add_text(finding, "code", entry->word);
	cli_add_text(finding, "severity", severity_word(entry->severity));
	cli_add_text(finding, "object", object);
	cli_add_text(finding, "cause", cause);
	cli_add_text(finding, "consequence", entry->consequence);
	cli_add_text(finding, "remedy", entry->remedy);
	json_object_array_add(x->findings, finding);
	x->faults += entry->severity == SEVERITY_FAULT;
	return finding;
}

struct json_object *find(struct examination *x, enum code code, const char *object,
			 const char *format, ...)
{
	const struct code_entry *entry = code_entry(code);
	char *shown = text_from("%s", object), *cause;
	struct json_object *finding;
	va_list args;

	va_start(args, format);
	cause = text_of(format, args);
	va_end(args);
	finding = found_before(x, entry->word, shown ? shown : "");
	if (!finding)
		finding = add(x, entry, shown ? shown : "", cause ? cause : "");
	free(shown);
	free(cause);
	return finding;
}

void find_remedy(struct json_object *finding, const char *format, ...)
{
	char *remedy;
	va_list args;

	va_start(args, format);
	remedy = text_of(format, args);
	va_end(args);
	cli_add_text(finding, "remedy", remedy ? remedy : "");
	free(remedy);
}
