// SPDX-License-Identifier: Apache-2.0
/* Interrupts and context switches of the whole machine while a meter counts, from /proc/stat. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "meter/kind.h"

#define STAT	"/proc/stat"

/* "intr TOTAL OF_EACH..." and "ctxt TOTAL": proc_stat(5).  The first line can be very long, hence getline(). */
struct dnd_events dnd_events_parse(FILE *stat)
{
	struct dnd_events events = { 0 };
	bool interrupts = false, switches = false;
	char *line = NULL;
	size_t room = 0;

	while (getline(&line, &room, stat) > 0) {
		interrupts |= sscanf(line, "intr %" SCNu64, &events.interrupts) == 1;
		switches |= sscanf(line, "ctxt %" SCNu64, &events.context_switches) == 1;
	}
	free(line);
	events.known = interrupts && switches;
	return events;
}

struct dnd_events dnd_events_read(void)
{
	FILE *stat = fopen(STAT, "re");
	struct dnd_events events = { 0 };

	if (stat) {
		events = dnd_events_parse(stat);
		fclose(stat);
	}
	return events;
}

void dnd_events_measured(const struct dnd_events *start, const struct dnd_events *now,
			 struct donard_measurement *result)
{
	if (!start->known || !now->known) {
		dnd_missing(result, "Interrupts cannot be counted: " STAT " does not tell.");
		return;
	}
	dnd_measured(result, DONARD_INTERRUPTS, now->interrupts - start->interrupts);
	dnd_measured(result, DONARD_CONTEXT_SWITCHES,
		     now->context_switches - start->context_switches);
}
