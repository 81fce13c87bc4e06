// SPDX-License-Identifier: Apache-2.0
/* The report as text: the verdict, the routes, then what was found, the worst first. */
#include <stdio.h>
#include <string.h>

#include "gpu.h"
#include "lib/base/printable.h"
#include "output.h"
#include "report.h"

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

/* Wraps the text between words, with @indent spaces before each line but the first, which has @used columns already. */
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

/* Prints only the cause of a note, and a remedy that is for this machine: the JSON and the manual have the rest. */
static void print_finding(const struct finding *finding)
{
	const struct code_entry *entry = code_entry(finding->code);
	int used = printf("%-8s %s: ", severity_word(finding->severity), entry->word);

	print_wrapped(finding->cause, 4, used);
	if (finding->severity != SEVERITY_NOTE)
		print_part("Consequence:", entry->consequence);
	if (finding->severity != SEVERITY_NOTE || finding->own_remedy)
		print_part("Remedy:", finding->remedy);
}

static void print_findings(const struct examination *x, enum severity severity)
{
	for (size_t i = 0; i < x->finding_count; i++)
		if (x->findings[i].severity == severity)
			print_finding(&x->findings[i]);
}

static bool gives(const struct pair *pair, enum direction direction, const char *reason)
{
	const char *given = pair->proofs[direction].reason;

	return given && !strcmp(given, reason);
}

/* Was this reason printed already, for a pair before @index, or for the pair itself in a direction before @direction? */
static bool said_before(const struct pairs *pairs, size_t index, enum direction direction, const char *reason)
{
	for (size_t i = 0; i <= index; i++)
		for (enum direction d = 0; d < DIRECTIONS && (i < index || d < direction); d++)
			if (gives(&pairs->pairs[i], d, reason))
				return true;
	return false;
}

static void print_places(const struct pairs *pairs, const char *reason)
{
	char text[2048] = "";

	for (size_t i = 0; i < pairs->count; i++) {
		const struct pair *pair = &pairs->pairs[i];

		for (enum direction d = 0; d < DIRECTIONS; d++)
			if (gives(pair, d, reason) && strlen(text) < sizeof(text) - 1)
				snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s %s %s", text[0] ? ", " : "",
					 pair->client->name, d == DIRECTION_WRITE ? "from" : "into", pair->memory->name);
	}
	dnd_make_printable(text, sizeof(text));
	print_wrapped(text, 4, 0);
	print_part("Reason:", reason);
}

/* Prints what was not proven and why, each reason once. */
static void print_doubts(const struct pairs *pairs)
{
	for (size_t i = 0; i < pairs->count; i++) {
		for (enum direction d = 0; d < DIRECTIONS; d++) {
			const char *reason = pairs->pairs[i].proofs[d].reason;

			if (reason && !said_before(pairs, i, d, reason)) {
				putchar('\n');
				print_places(pairs, reason);
			}
		}
	}
}

static void print_pairs(const struct pairs *pairs, bool probed)
{
	struct json_object *rows = pairs_json(pairs);

	putchar('\n');
	cli_print_table(rows, probed ? proven : predicted);
	json_object_put(rows);
	if (probed)
		print_doubts(pairs);
}

void doctor_print_text(const struct report *report)
{
	const struct examination *x = report->x;

	printf("Verdict: %s - %s.\n", judgement_word(report->verdict), report->summary);
	if (report->pairs.count)
		print_pairs(&report->pairs, x->request->probe);
	if (json_object_array_length(report->gpus)) {
		putchar('\n');
		cli_print_gpus(report->gpus);
	}
	if (x->finding_count)
		putchar('\n');
	print_findings(x, SEVERITY_FAULT);
	print_findings(x, SEVERITY_WARNING);
	print_findings(x, SEVERITY_NOTE);
}
