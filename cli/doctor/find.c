// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examination.h"
#include "lib/base/printable.h"

#define ESCAPED_BYTES	4	/* of one byte, at most */

/*
 * Makes the text printable, since names of the machine's folders and links hold any byte.  The caller frees it; NULL without
 * memory.
 */
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

static struct finding *found_before(const struct examination *x, enum code code, const char *object)
{
	for (size_t i = 0; i < x->finding_count; i++)
		if (x->findings[i].code == code && !strcmp(x->findings[i].object, object))
			return &x->findings[i];
	return NULL;
}

static void forget(struct finding *finding)
{
	free(finding->object);
	free(finding->cause);
	free(finding->remedy);
}

/* Owns the strings from here on. */
static struct finding *add(struct examination *x, enum code code, char *object, char *cause)
{
	struct finding finding = {
		.code = code, .severity = code_entry(code)->severity,
		.object = object, .cause = cause, .remedy = strdup(code_entry(code)->remedy),
	};
	struct finding *longer = realloc(x->findings, (x->finding_count + 1) * sizeof(*longer));

	if (longer)
		x->findings = longer;
	if (!longer || !cause || !finding.remedy) {
		forget(&finding);
		return NULL;
	}
	x->faults += finding.severity == SEVERITY_FAULT;
	x->faults_of_adding += code_entry(code)->of_adding;
	x->findings[x->finding_count] = finding;
	return &x->findings[x->finding_count++];
}

struct finding *find(struct examination *x, enum code code, const char *object, const char *format, ...)
{
	char *shown = text_from("%s", object);
	struct finding *before = shown ? found_before(x, code, shown) : NULL;
	va_list args;
	char *cause;

	if (before || !shown) {
		free(shown);
		return before;
	}
	va_start(args, format);
	cause = text_of(format, args);
	va_end(args);
	return add(x, code, shown, cause);
}

void find_remedy(struct finding *finding, const char *format, ...)
{
	char *remedy;
	va_list args;

	va_start(args, format);
	remedy = text_of(format, args);
	va_end(args);
	if (!finding || finding->own_remedy || !remedy) {
		free(remedy);
		return;
	}
	free(finding->remedy);
	finding->remedy = remedy;
	finding->own_remedy = true;
}

void findings_forget(struct examination *x)
{
	for (size_t i = 0; i < x->finding_count; i++)
		forget(&x->findings[i]);
	free(x->findings);
}
