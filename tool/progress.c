// SPDX-License-Identifier: Apache-2.0
/* Progress on stderr, and the signals that stop a copy. */
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
	(void)number;
	stopped = 1;
}

/* No SA_RESTART: the wait for completions must end.  A second one kills. */
void cli_catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

int cli_stopped(void *user)
{
	(void)user;
	return stopped;
}

double cli_now_seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

void cli_progress_init(struct cli_progress *progress, bool show)
{
	progress->show = show;
	progress->terminal = isatty(STDERR_FILENO);
	progress->started = cli_now_seconds();
	progress->shown = progress->started;
	progress->any = false;
}

static void show(struct cli_progress *progress, uint64_t done, uint64_t total, double time)
{
	char left[32], right[32];
	double seconds = time - progress->started;

	fprintf(stderr, "%s%s of %s, %.0f MiB/s%s", progress->terminal ? "\r\033[K" : "",
		donard_format_size(left, sizeof(left), done),
		donard_format_size(right, sizeof(right), total),
		seconds > 0 ? (double)done / 1048576 / seconds : 0.0,
		progress->terminal ? "" : "\n");
	progress->shown = time;
	progress->any = true;
}

int cli_progress_tick(void *user, uint64_t done_bytes, uint64_t total_bytes)
{
	struct cli_progress *progress = user;
	double time, interval = progress->terminal ? 0.2 : 1.0;

	if (progress->show) {
		time = cli_now_seconds();
		if (time - progress->shown >= interval)
			show(progress, done_bytes, total_bytes, time);
	}
	return stopped;
}

void cli_progress_end(struct cli_progress *progress)
{
	if (progress->show && progress->terminal && progress->any)
		fputc('\n', stderr);
}
