/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An external measuring tool (likwid-perfctr, perf) that counts while a program
 * that it starts runs.  That program is cat, which runs until we close our end of
 * its standard input.
 *
 *	dnd_tool_start() -> dnd_tool_await() that it is ready -> [ counts ]
 *	-> dnd_tool_finish() -> tool->printed -> dnd_tool_kill()
 */
#ifndef DND_METER_TOOL_H
#define DND_METER_TOOL_H

#include <sys/types.h>

#include "meter/kind.h"

#define DND_TOOL_PRINTED_BYTES	65536
#define DND_TOOL_WORDS_BYTES	200

/* The descriptor number of the control connection in the tool. */
#define DND_TOOL_CONTROL	3

struct dnd_tool {
	const char *name;
	pid_t pid;			/* 0: none runs */
	pid_t starter;			/* the process that it is a child of */
	int status;			/* as of waitpid() */
	int input, control;		/* ours; -1 when closed */
	int output, errors;
	char printed[DND_TOOL_PRINTED_BYTES];
	char complaint[4096];
};

/* How long a tool may take to start, and to end; tests shorten it. */
extern unsigned int dnd_tool_limit_ms;

/* Allows dnd_tool_kill() before dnd_tool_start(). */
void dnd_tool_init(struct dnd_tool *tool);

/* If start, await or finish fails, the error text is set, and the tool is dead and reaped. */
int dnd_tool_start(struct donard_context *ctx, struct dnd_tool *tool, const char *const argv[]);
/* Waits until the tool has printed @text, somewhere after the first @after unless that is NULL. */
int dnd_tool_await(struct donard_context *ctx, struct dnd_tool *tool, const char *after,
		   const char *text);
/* Reports no failure: the caller notices that the tool does not print what it should. */
void dnd_tool_send(int fd, const char *text);
int dnd_tool_finish(struct donard_context *ctx, struct dnd_tool *tool);
/* May be called at any time, and more than once.  A child of the starter closes only its connections. */
void dnd_tool_kill(struct dnd_tool *tool);

/* As strtod(), but takes the numbers that the tool prints, whatever locale our user's program has set. */
double dnd_tool_number(const char *text, char **end);

/* Kills the tool and fails with its words: -EACCES if it complained of permissions, else -EOPNOTSUPP. */
int dnd_tool_refused(struct donard_context *ctx, struct dnd_tool *tool, const char *what);

/*
 * Tries whether the counters work, since some are listed but cannot be read: begins,
 * and ends by @measure.  Fails if no quantity became known.
 */
int dnd_tool_try(struct donard_context *ctx, struct donard_meter *meter,
		 int (*measure)(struct donard_context *ctx, struct donard_meter *meter,
				struct donard_measurement *result));
/* Adds what no counter of a memory controller can know.  Returns what end() is to return for @rc. */
int dnd_tool_measured(struct donard_measurement *result, int rc);

#endif /* DND_METER_TOOL_H */
