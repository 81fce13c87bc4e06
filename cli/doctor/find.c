// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examination.h"
#include "output.h"

/* The caller's; NULL without memory. */
static char *text_of(const char *format, va_list args)
{
	char *text;

	return vasprintf(&text, format, args) < 0 ? NULL : text;
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

struct json_object *find(struct examination *x, enum code code, const char *object,
			 const char *format, ...)
{
	const struct code_entry *entry = code_entry(code);
	struct json_object *finding = found_before(x, entry->word, object);
	char *cause;
	va_list args;

	if (finding)
		return finding;
	va_start(args, format);
	cause = text_of(format, args);
	va_end(args);
	finding = json_object_new_object();
	cli_add_text(finding, "code", entry->word);
	cli_add_text(finding, "severity", severity_word(entry->severity));
	cli_add_text(finding, "object", object);
	cli_add_text(finding, "cause", cause ? cause : "");
	free(cause);
	cli_add_text(finding, "consequence", entry->consequence);
	cli_add_text(finding, "remedy", entry->remedy);
	json_object_array_add(x->findings, finding);
	x->faults += entry->severity == SEVERITY_FAULT;
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
