// SPDX-License-Identifier: Apache-2.0
/* Progress on stderr, and the signals that stop a copy. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "progress.h"

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
	(void)number;
	stopped = 1;
}

/*
 * One stop may come as several signals: a shell and then the kernel send SIGHUP when a terminal goes, and timeout(1) sends
 * to us and to its process group. Only a key at the terminal, which the kernel tells of, is one signal each time. Whoever
 * types Ctrl-C after a stop does not want to wait for its end.
 */
static void on_stop(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (stopped && number == SIGINT && info->si_code > 0) {
		signal(number, SIG_DFL);
		raise(number);	/* it comes when this function returns */
	}
	stopped = 1;
}

static void catch_unless_ignored(int number, const struct sigaction *action)
{
	struct sigaction before;

	if (!sigaction(number, NULL, &before) && before.sa_handler != SIG_IGN)
		sigaction(number, action, NULL);
}

/*
 * No SA_RESTART: the wait for completions must end.  The end of the terminal stops, too, but not a program that was
 * started to outlive it (nohup).
 */
void cli_catch_signals(void)
{
	struct sigaction action = { .sa_sigaction = on_stop, .sa_flags = SA_SIGINFO };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	catch_unless_ignored(SIGHUP, &action);
}

void cli_catch_signal(int number, void (*handler)(int number))
{
	/* Only what ends the program may end a write that waits for the terminal (Ctrl-S). */
	struct sigaction action = {
		.sa_handler = handler ? handler : on_signal, .sa_flags = handler ? SA_RESTART : 0,
	};

	catch_unless_ignored(number, &action);
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

/* Whether the cursor may be moved: a dumb terminal prints the escapes. */
static bool takes_escapes(void)
{
	const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");

	return isatty(STDERR_FILENO) && term && term[0] && strcmp(term, "dumb") &&
	       !(no_color && no_color[0]);
}

void cli_progress_init(struct cli_progress *progress, bool show)
{
	progress->show = show;
	progress->terminal = takes_escapes();
	progress->started = cli_now_seconds();
	progress->shown = progress->started;
	progress->phase = DONARD_PHASE_COPY;
	progress->from = UINT64_MAX;
	progress->any = false;
}

/* ", 1:05 left", at the rate of the phase so far; nothing before that means anything. */
static void time_left(char *text, size_t text_bytes, double seconds, uint64_t from, uint64_t done, uint64_t total)
{
	double left;

	text[0] = '\0';
	if (seconds < 0.5 || done <= from || done >= total)
		return;
	left = seconds * (double)(total - done) / (double)(done - from);
	if (left < 360000)
		snprintf(text, text_bytes, ", %.0f:%02d left", (double)((long)left / 60), (int)left % 60);
}

/* "copying   45 %, 115.2 of 256.0 MiB, 300 MiB/s, 0:03 left" */
static void describe(char *text, size_t text_bytes, const struct cli_progress *progress,
		     uint64_t done, uint64_t total, double seconds)
{
	double mib = (double)done / 1048576, moved_mib = done > progress->from ? (double)(done - progress->from) / 1048576 : 0;
	char left[32];

	if (progress->phase == DONARD_PHASE_FLUSH || !total) {
		snprintf(text, text_bytes, "%s", donard_phase_text(progress->phase));
		return;
	}
	time_left(left, sizeof(left), seconds, progress->from, done, total);
	snprintf(text, text_bytes, "%-9s %3.0f %%, %.1f of %.1f MiB, %.0f MiB/s%s",
		 donard_phase_text(progress->phase), 100.0 * (double)done / (double)total, mib,
		 (double)total / 1048576, seconds > 0 ? moved_mib / seconds : 0.0, left);
}

/* A narrow terminal cuts the line off at its edge: only the last row of one that wraps could be drawn over. */
#define DRAW_OVER	"\r\033[K\033[?7l"
#define WRAP_AGAIN	"\033[?7h"

static void show(struct cli_progress *progress, uint64_t done, uint64_t total, double time)
{
	char text[128];

	describe(text, sizeof(text), progress, done, total, time - progress->started);
	fprintf(stderr, "%s%s%s", progress->terminal ? DRAW_OVER : "", text, progress->terminal ? WRAP_AGAIN : "\n");
	progress->shown = time;
	progress->any = true;
}

int cli_progress_tick(void *user, enum donard_phase phase, uint64_t done_bytes, uint64_t total_bytes)
{
	struct cli_progress *progress = user;
	double time, interval = progress->terminal ? 0.2 : 1.0;
	bool begins = phase != progress->phase;

	if (!progress->show)
		return stopped;
	time = cli_now_seconds();
	/* Its clock begins with its first bytes: memory may be filled, or a route be proven, before. */
	if (begins || done_bytes <= progress->from) {
		progress->phase = phase;
		progress->started = time;
		progress->from = done_bytes;
	}
	if (begins || time - progress->shown >= interval)
		show(progress, done_bytes, total_bytes, time);
	return stopped;
}

void cli_progress_end(struct cli_progress *progress)
{
	if (progress->show && progress->terminal && progress->any)
		fputc('\n', stderr);
}
