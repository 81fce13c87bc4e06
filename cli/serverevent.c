// SPDX-License-Identifier: Apache-2.0
/* See serverevent.h. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <unistd.h>

#include "output.h"
#include "serverevent.h"

/*
 * A pipe that is ready takes PIPE_BUF bytes at once, which is more than a line.  A terminal that was stopped (Ctrl-S) is not
 * ready, nor is a pipe without a reader.
 */
static bool output_is_ready(void)
{
	struct pollfd output = { .fd = STDOUT_FILENO, .events = POLLOUT };

	return poll(&output, 1, 0) != 0 && !(output.revents & POLLERR);
}

void cli_events_begin(void)
{
	signal(SIGPIPE, SIG_IGN);
}

/* If the reader went away while the event was printed, drops the event, so that the next one does not fail because of it. */
static bool nobody_reads(void)
{
	bool failed = fflush(stdout) || ferror(stdout);

	if (!failed || errno != EPIPE)
		return false;
	__fpurge(stdout);
	clearerr(stdout);
	return true;
}

/* @count: events that were left out before. */
static void print_left_out(const struct cli *cli, uint64_t count)
{
	struct json_object *model;

	if (!cli->json) {
		printf("%llu event%s before this one %s not printed, as nobody read them\n", (unsigned long long)count,
		       count == 1 ? "" : "s", count == 1 ? "was" : "were");
		return;
	}
	model = json_object_new_object();
	cli_add_text(model, "event", "left-out");
	cli_add_number(model, "count", count);
	cli_print_json_line(model);
}

void cli_event_print(const struct cli *cli, const struct cli_field *fields, const char *text, const void *event,
		     unsigned int kind)
{
	static uint64_t left_out;

	if (!output_is_ready()) {
		left_out++;
		return;
	}
	if (left_out)
		print_left_out(cli, left_out);
	if (cli->json)
		cli_print_json_line(cli_fields_json(fields, event, kind));
	else
		cli_fields_print(stdout, fields, text, event);
	/* This event counts as left out, too, for the next reader. */
	left_out = nobody_reads() ? left_out + 1 : 0;
}
