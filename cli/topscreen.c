// SPDX-License-Identifier: Apache-2.0
/* Uses only escapes that every terminal emulator has. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "progress.h"
#include "topscreen.h"

/* Switches to the alternate screen, without line wrap and cursor. */
#define ENTER	"\033[?1049h\033[?7l\033[?25l"
#define LEAVE	"\033[?25h\033[?7h\033[?1049l"
#define HOME	"\033[H"
#define TO_END_OF_LINE	"\033[K"
#define TO_END	"\033[J"
#define ROWS	24	/* of a terminal that does not know its size */
#define COLUMNS	80

static struct termios before;
static bool shown, reads_keys;
static volatile sig_atomic_t resized, suspended, resumed;

static void on_signal(int number)
{
	if (number == SIGTSTP)
		suspended = 1;
	else if (number == SIGCONT)
		resumed = 1;
	else
		resized = 1;
}

static void catch_signals(void)
{
	static const int stops[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	static const int others[] = { SIGWINCH, SIGTSTP, SIGCONT };

	for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++)
		cli_catch_signal(stops[i], NULL);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		cli_catch_signal(others[i], on_signal);
}

/* A terminal that is not this process's controlling terminal has no foreground process group. */
static bool in_background(int terminal)
{
	pid_t foreground = tcgetpgrp(terminal);

	return foreground != -1 && foreground != getpgrp();
}

/* Has keys delivered as they are typed, and not echoed. */
static bool take_keys(void)
{
	struct termios raw = before;

	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	return !tcsetattr(STDIN_FILENO, TCSANOW, &raw);
}

/*
 * Sets the terminal's modes first: if this process was continued in the background, that stops it until it is in the foreground
 * again.  A process that was told to end in the background (the shell's "kill %1" continues it for that) takes no screen.
 * @outside: the signal mask outside of the wait; NULL if that mask is set now.
 */
static void enter(const sigset_t *outside)
{
	sigset_t inside;

	resumed = 0;
	if (cli_stopped(NULL))
		return;
	sigprocmask(SIG_SETMASK, outside, &inside);	/* the process may stop from here on */
	if (reads_keys)
		take_keys();
	else if (in_background(STDOUT_FILENO))
		raise(SIGTTOU);
	sigprocmask(SIG_SETMASK, &inside, NULL);
	if (cli_stopped(NULL) && in_background(STDOUT_FILENO))
		return;
	fputs(ENTER, stdout);
	resized = 1;
	shown = true;
}

/* In the background the shell has the terminal again, and setting its modes would stop this process. */
static void leave(void)
{
	if (shown)
		fputs(LEAVE, stdout);
	fflush(stdout);
	if (shown && reads_keys && !in_background(STDIN_FILENO))
		tcsetattr(STDIN_FILENO, TCSANOW, &before);
	shown = false;
}

bool cli_screen_begin(void)
{
	const char *term = getenv("TERM");

	if (!isatty(STDOUT_FILENO) || in_background(STDOUT_FILENO) || !term || !term[0] || !strcmp(term, "dumb"))
		return false;
	catch_signals();
	reads_keys = isatty(STDIN_FILENO) && !in_background(STDIN_FILENO) &&
		     !tcgetattr(STDIN_FILENO, &before);
	enter(NULL);
	return true;
}

void cli_screen_end(void)
{
	leave();
	reads_keys = false;
}

bool cli_screen_reads_keys(void)
{
	return reads_keys;
}

static struct winsize room(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		memset(&size, 0, sizeof(size));
	size.ws_row = size.ws_row ?: ROWS;
	size.ws_col = size.ws_col ?: COLUMNS;
	return size;
}

/* Returns how many bytes the UTF-8 characters take that fit into so many columns. */
static int cut(const char *line, const char *end, unsigned int columns)
{
	const char *at = line;

	for (; at < end; at++)
		if ((*at & 0xc0) != 0x80 && !columns--)
			break;
	return (int)(at - line);
}

void cli_screen_draw(const char *text)
{
	struct winsize size;
	const char *end;

	resized = 0;	/* before the size is read, so that a later resize is drawn, too */
	size = room();
	fputs(HOME, stdout);
	for (unsigned int left = size.ws_row; *text && left; text = *end ? end + 1 : end, left--) {
		end = strchrnul(text, '\n');
		/* No newline after the last line: it would scroll the others up. */
		printf("%.*s" TO_END_OF_LINE "%s", cut(text, end, size.ws_col), text, left > 1 ? "\r\n" : "");
	}
	fputs(TO_END, stdout);
	fflush(stdout);
}

/* Stops itself as the shell expects after Ctrl-Z.  Without a shell (an orphaned process group) the kernel does not stop it. */
static void suspend(const sigset_t *outside)
{
	struct sigaction stop = { .sa_handler = SIG_DFL }, ours;
	sigset_t inside;

	suspended = 0;
	leave();
	sigaction(SIGTSTP, &stop, &ours);
	raise(SIGTSTP);
	sigprocmask(SIG_SETMASK, outside, &inside);	/* the process stops here */
	sigaction(SIGTSTP, &ours, NULL);
	sigprocmask(SIG_SETMASK, &inside, NULL);
	enter(outside);
}

/* Called when there is something to read.  True for q, and for an end of file, which means that the terminal is gone. */
static bool quit_typed(void)
{
	bool any = false;
	char key;

	for (; read(STDIN_FILENO, &key, 1) == 1; any = true)
		if (key == 'q' || key == 'Q')
			return true;
	return !any;
}

static enum cli_screen_event wait_until(double end, const sigset_t *outside)
{
	struct pollfd keys = { .fd = reads_keys ? STDIN_FILENO : -1, .events = POLLIN };

	for (;;) {
		struct timespec time;
		double left;

		if (cli_stopped(NULL))
			return CLI_SCREEN_QUIT;
		if (suspended || resumed) {
			if (suspended)
				suspend(outside);
			else
				enter(outside);
			continue;	/* a signal to end may have come meanwhile */
		}
		if (resized)
			return CLI_SCREEN_RESIZED;
		left = end - cli_now_seconds();
		if (left <= 0)
			return CLI_SCREEN_TIME;
		time.tv_sec = (time_t)left;
		time.tv_nsec = (long)((left - (double)time.tv_sec) * 1e9);
		if (ppoll(&keys, 1, &time, outside) > 0 &&
		    (keys.revents & ~POLLIN || quit_typed()))
			return CLI_SCREEN_QUIT;
	}
}

/* The signals are unblocked only inside of ppoll(), so that none comes between the check of the flags and the wait. */
enum cli_screen_event cli_screen_wait(double seconds)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP, SIGCONT };
	double end = cli_now_seconds() + seconds;
	enum cli_screen_event event;
	sigset_t caught, outside;

	sigemptyset(&caught);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaddset(&caught, numbers[i]);
	sigprocmask(SIG_BLOCK, &caught, &outside);
	event = wait_until(end, &outside);
	sigprocmask(SIG_SETMASK, &outside, NULL);
	return event;
}
