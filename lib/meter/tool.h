/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A measuring program of others (likwid-perfctr, perf) that counts while a
 * program of its own runs: that one is cat, which lives as long as our end of
 * its standard input is open.
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

/* Descriptor number that the tool finds its control connection under. */
#define DND_TOOL_CONTROL	3

struct dnd_tool {
	const char *name;
	pid_t pid;			/* 0: none runs */
	int status;			/* as of waitpid() */
	int input, control;		/* ours; -1 when closed */
	int output, errors;
	char printed[DND_TOOL_PRINTED_BYTES];
	char complaint[4096];
};

/* How long a tool may take to start, and to end; tests shorten it. */
extern unsigned int dnd_tool_limit_ms;

/* So that dnd_tool_kill() may come first. */
void dnd_tool_init(struct dnd_tool *tool);

/* Each sets the error text when it fails; the tool then is dead and reaped. */
int dnd_tool_start(struct donard_context *ctx, struct dnd_tool *tool, const char *const argv[]);
/* Until @text was printed somewhere after the first @after (NULL: anywhere). */
int dnd_tool_await(struct donard_context *ctx, struct dnd_tool *tool, const char *after,
		   const char *text);
/* No failure is reported: what the tool then does not print is. */
void dnd_tool_send(int fd, const char *text);
int dnd_tool_finish(struct donard_context *ctx, struct dnd_tool *tool);
/* Fine at any time, and more than once. */
void dnd_tool_kill(struct dnd_tool *tool);

/* -EACCES when the tool complained of permissions, else -EOPNOTSUPP; with its words. */
int dnd_tool_refused(struct donard_context *ctx, struct dnd_tool *tool, const char *what);

/*
 * Counters may be listed and not be readable: only counting tells.  Begins, and
 * ends with @measure; fails when no quantity became known.
 */
int dnd_tool_try(struct donard_context *ctx, struct donard_meter *meter,
		 int (*measure)(struct donard_context *ctx, struct donard_meter *meter,
				struct donard_measurement *result));
/* What no counter of a memory controller knows; and @rc of the measuring as end() returns it. */
int dnd_tool_measured(struct donard_measurement *result, int rc);

#endif /* DND_METER_TOOL_H */
