/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of all kinds of meters; choose.c chooses one. */
#ifndef DND_METER_KIND_H
#define DND_METER_KIND_H

#include <stdio.h>

#include "base/clock.h"
#include "base/handle.h"
#include "base/sized.h"
#include "donard/meter.h"
#include "meter/fail.h"

#define DND_METER_PUBLIC	__attribute__((visibility("default")))

#define DND_METER_OWN_MAX	8

struct dnd_meter_kind;

/* As the kernel gives it (PERF_FORMAT_TOTAL_TIME_ENABLED, PERF_FORMAT_TOTAL_TIME_RUNNING), since the event was opened. */
struct dnd_event_count {
	uint64_t count, enabled_ns, running_ns;
};

struct donard_meter {
	struct donard_context *ctx;	/* the program's */
	pid_t process;			/* the process that opened it: a child of fork() has only a copy */
	const struct dnd_meter_kind *kind;
	void *state;			/* belongs to the kind */
	struct dnd_meter_own {
		pid_t pid;		/* 0: this process */
		const void *memory;
		size_t bytes;
	} own[DND_METER_OWN_MAX];
	size_t own_count;
	int instruction_fds[2];		/* user, kernel; a negative errno if it cannot be counted */
	struct dnd_event_count instruction_start[2];
	char missing[DONARD_MISSING_BYTES];	/* for the kind "none": why each other kind is not available */
	double started_seconds;
	bool counting;
};

/*
 * Every function sets the error text when it fails.  If open() fails, users read its text as the reason why this machine
 * lacks the kind, unless descriptors or memory were lacking.
 */
struct dnd_meter_kind {
	const char *name;
	bool exact;
	bool counts_instructions;	/* if not, perf events count those of this process */
	int (*open)(struct donard_context *ctx, struct donard_meter *meter);
	int (*begin)(struct donard_context *ctx, struct donard_meter *meter);
	/* Sets the counts by dnd_measured(), and says by dnd_missing() what it cannot know. */
	int (*end)(struct donard_context *ctx, struct donard_meter *meter,
		   struct donard_measurement *result);
	void (*close)(struct donard_meter *meter);
};

/* Each of these files exports nothing else, but for the parsers below. */
extern const struct dnd_meter_kind dnd_meter_lab, dnd_meter_likwid, dnd_meter_perf,
	dnd_meter_resctrl, dnd_meter_none;

static inline void dnd_measured(struct donard_measurement *result, enum donard_quantity quantity,
				uint64_t count)
{
	result->count[quantity] = count;
	result->known |= 1U << quantity;
}

/* result.c: appends a sentence to result->missing */
void dnd_missing(struct donard_measurement *result, const char *format, ...) DND_PRINTF(2, 3);

/* Turn the output of the tools into counts, or into the reasons why there are none. */
void dnd_likwid_parse(const char *csv, unsigned int sockets, struct donard_measurement *result);
struct dnd_perf_event {
	enum donard_quantity quantity;
	char name[96];			/* as perf takes and prints it */
};
void dnd_perf_parse(const char *csv, const struct dnd_perf_event *events, size_t event_count,
		    struct donard_measurement *result);

/* instructions.c: counts instructions of this process and its children, those of user and of kernel mode apart */
/* Returns a descriptor or a negative errno. */
int dnd_count_open(uint32_t type, uint64_t config, bool kernel);
void dnd_instructions_open(struct donard_meter *meter);
void dnd_instructions_begin(struct donard_meter *meter);
void dnd_instructions_end(struct donard_meter *meter, struct donard_measurement *result);
void dnd_instructions_close(struct donard_meter *meter);
/* Says why perf events are refused. @paranoid: the level of the sysctl */
void dnd_instructions_refused(struct donard_measurement *result, const char *which, bool is_root, int paranoid);

/* events.c: counts of the whole machine since it booted; not @known if /proc/stat lacks one of them */
struct dnd_events {
	bool known;
	uint64_t interrupts, context_switches;
};
struct dnd_events dnd_events_read(void);
struct dnd_events dnd_events_parse(FILE *stat);
void dnd_events_measured(const struct dnd_events *start, const struct dnd_events *now,
			 struct donard_measurement *result);

#endif /* DND_METER_KIND_H */
