// SPDX-License-Identifier: Apache-2.0
/* The model as text: the verdict, the routes, then what was found, the worst first. */
#include <stdio.h>
#include <string.h>

#include "codes.h"
#include "doctor.h"
#include "gpu.h"
#include "lib/base/printable.h"
#include "output.h"

#define WIDTH	100

static const struct cli_column predicted[] = {
	{ "client", "CLIENT", false }, { "client_bdf", "BDF", false }, { "memory", "MEMORY", false },
	{ "verdict", "PREDICTED", false }, { "route", "ROUTE", false }, { "reason", "REASON", false }, { 0 },
};

static const struct cli_column proven[] = {
	{ "client", "CLIENT", false }, { "client_bdf", "BDF", false }, { "memory", "MEMORY", false },
	{ "verdict", "OK", false }, { "route", "PREDICTED", false }, { "read_state", "READ", false },
	{ "write_state", "WRITE", false }, { "reason", "REASON", false }, { 0 },
};

/* Broken between words, each line but the first behind @indent spaces; @used: of the first one. */
static void print_wrapped(const char *text, int indent, int used)
{
	const char *space = "";

	while (*text) {
		int word = (int)strcspn(text, " ");

		if (space[0] && used + 1 + word > WIDTH) {
			used = printf("\n%*s", indent, "") - 1;
			space = "";
		}
		used += printf("%s%.*s", space, word, text);
		space = " ";
		text += word;
		text += strspn(text, " ");
	}
	putchar('\n');
}

static void print_part(const char *title, const char *text)
{
	if (text[0]) {
		printf("    %-13s", title);
		print_wrapped(text, 17, 17);
	}
}

/* Of a note, the cause alone: the rest is in the JSON, and in the manual. */
static void print_finding(struct json_object *finding, bool whole)
{
	int used = printf("%-8s %s: ", cli_text_of(finding, "severity"), cli_text_of(finding, "code"));

	print_wrapped(cli_text_of(finding, "cause"), 4, used);
	if (!whole)
		return;
	print_part("Consequence:", cli_text_of(finding, "consequence"));
	print_part("Remedy:", cli_text_of(finding, "remedy"));
}

static void print_findings(struct json_object *findings, enum severity severity)
{
	for (size_t i = 0; i < json_object_array_length(findings); i++) {
		struct json_object *finding = json_object_array_get_idx(findings, i);

		if (!strcmp(cli_text_of(finding, "severity"), severity_word(severity)))
			print_finding(finding, severity != SEVERITY_NOTE);
	}
}

static const char *reason_of(struct json_object *pair, const char *direction)
{
	return cli_text_of(json_object_object_get(pair, direction), "reason");
}

static const char *const directions[] = { "read", "write" };

/* Did the pair at @index, or one before it, give this reason already? @direction: of the one that asks. */
static bool said_before(struct json_object *pairs, size_t index, int direction, const char *reason)
{
	for (size_t i = 0; i <= index; i++)
		for (int d = 0; d < 2 && (i < index || d < direction); d++)
			if (!strcmp(reason_of(json_object_array_get_idx(pairs, i), directions[d]), reason))
				return true;
	return false;
}

static void print_places(struct json_object *pairs, const char *reason)
{
	char text[2048] = "";

	for (size_t i = 0; i < json_object_array_length(pairs); i++) {
		struct json_object *pair = json_object_array_get_idx(pairs, i);

		for (int d = 0; d < 2; d++)
			if (!strcmp(reason_of(pair, directions[d]), reason) && strlen(text) < sizeof(text) - 1)
				snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s %s %s", text[0] ? ", " :
					 "", cli_text_of(pair, "client"), d ? "from" : "into", cli_text_of(pair, "memory"));
	}
	dnd_make_printable(text, sizeof(text));
	print_wrapped(text, 4, 0);
	print_part("Reason:", reason);
}

/* What was not proven, and why: each reason once. */
static void print_doubts(struct json_object *pairs)
{
	for (size_t i = 0; i < json_object_array_length(pairs); i++) {
		for (int d = 0; d < 2; d++) {
			const char *reason = reason_of(json_object_array_get_idx(pairs, i), directions[d]);

			if (reason[0] && !said_before(pairs, i, d, reason)) {
				putchar('\n');
				print_places(pairs, reason);
			}
		}
	}
}

void doctor_print(struct json_object *model)
{
	struct json_object *pairs = json_object_object_get(model, "pairs");
	struct json_object *findings = json_object_object_get(model, "findings");
	struct json_object *gpus = json_object_object_get(model, "gpus");
	bool probed = cli_true(model, "probed");

	printf("Verdict: %s", cli_text_of(model, "verdict"));
	printf(" - %s.\n", cli_text_of(model, "summary"));
	if (json_object_array_length(pairs)) {
		putchar('\n');
		cli_print_table(pairs, probed ? proven : predicted);
	}
	if (probed)
		print_doubts(pairs);
	if (json_object_array_length(gpus)) {
		putchar('\n');
		cli_print_gpus(gpus);
	}
	if (json_object_array_length(findings))
		putchar('\n');
	print_findings(findings, SEVERITY_FAULT);
	print_findings(findings, SEVERITY_WARNING);
	print_findings(findings, SEVERITY_NOTE);
}
