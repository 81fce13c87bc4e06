// SPDX-License-Identifier: Apache-2.0
/* See tool.h.  No function here waits longer than dnd_tool_limit_ms. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "meter/tool.h"

/* likwid itself waits up to 10 s for its access daemon. */
unsigned int dnd_tool_limit_ms = 20000;

/* Long enough that the memory controllers of any running machine count something. */
#define TRIAL_NS	100000000L

#define SLICE_MS	20
#define NUDGE_MS	1000

/* The tool's ends of the connections get numbers above those to which spawn() duplicates them. */
#define LOWEST_FD	16

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static int move_up(int fd)
{
	int moved = fcntl(fd, F_DUPFD_CLOEXEC, LOWEST_FD);

	close(fd);
	return moved;
}

/* Uses sockets, because a write to a dead tool must not raise SIGPIPE in our user's program. */
static int connect_input(int *ours, int *theirs)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		return -errno;
	*ours = fds[0];
	*theirs = move_up(fds[1]);
	return *theirs < 0 ? -errno : 0;
}

static int connect_output(int *ours, int *theirs)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	*ours = fds[0];
	*theirs = move_up(fds[1]);
	return *theirs < 0 ? -errno : 0;
}

static int connect_all(struct dnd_tool *tool, int theirs[4])
{
	int rc = connect_input(&tool->input, &theirs[0]);

	if (!rc)
		rc = connect_output(&tool->output, &theirs[1]);
	if (!rc)
		rc = connect_output(&tool->errors, &theirs[2]);
	if (!rc)
		rc = connect_input(&tool->control, &theirs[3]);
	return rc;
}

/* Our own environment, but with LC_ALL=C, because we parse numbers and messages. */
static char **make_environment(void)
{
	static char language[] = "LC_ALL=C";
	size_t count = 0, used = 0;
	char **made;

	while (environ[count])
		count++;
	made = calloc(count + 2, sizeof(*made));
	if (!made)
		return NULL;
	for (size_t i = 0; i < count; i++)
		if (strncmp(environ[i], "LC_ALL=", 7))
			made[used++] = environ[i];
	made[used] = language;
	return made;
}

double dnd_tool_number(const char *text, char **end)
{
	locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	double number;

	*end = (char *)(uintptr_t)text;
	if (!plain)
		return 0;
	number = strtod_l(text, end, plain);
	freelocale(plain);
	return number;
}

/*
 * The tool gets a process group of its own: Ctrl-C at the terminal ends us, and we
 * end the tool; and kill() also reaches the cat that likwid stopped.  Signal mask and
 * handlers are those of a fresh program.
 */
static int spawn(struct dnd_tool *tool, const char *const argv[], char **environment,
		 const int theirs[4])
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int rc;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
				 POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	for (int fd = 0; fd <= DND_TOOL_CONTROL; fd++)
		posix_spawn_file_actions_adddup2(&actions, theirs[fd], fd);
	rc = posix_spawnp(&tool->pid, argv[0], &actions, &attributes, (char *const *)argv,
			  environment);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	if (rc)
		tool->pid = 0;
	return -rc;
}

void dnd_tool_init(struct dnd_tool *tool)
{
	tool->pid = 0;
	tool->status = 0;
	tool->input = tool->control = tool->output = tool->errors = -1;
	tool->printed[0] = '\0';
	tool->complaint[0] = '\0';
}

/* The search through PATH goes on after each of these, and the last folder's is what comes of it. */
static bool is_missing(int rc)
{
	return rc == -ENOENT || rc == -ENOTDIR || rc == -ESTALE || rc == -ENODEV || rc == -ETIMEDOUT;
}

/* It is there, but no program of this machine: a script without "#!", another architecture's, or one that is broken. */
static bool is_unusable(int rc)
{
	return rc == -ENOEXEC || rc == -EINVAL || rc == -ELIBBAD || rc == -ELOOP;
}

static int fail_missing(struct donard_context *ctx, const struct dnd_tool *tool)
{
	return dnd_meter_fail(ctx, DND_E_UNSUPPORTED, "%s is not installed, or not in PATH.", tool->name);
}

int dnd_tool_start(struct donard_context *ctx, struct dnd_tool *tool, const char *const argv[])
{
	char **environment = make_environment();
	int theirs[4] = { -1, -1, -1, -1 };
	int rc;

	dnd_tool_init(tool);
	tool->name = argv[0];
	tool->starter = getpid();
	if (!environment)
		return dnd_meter_fail_memory(ctx);
	rc = connect_all(tool, theirs);
	if (!rc)
		rc = spawn(tool, argv, environment, theirs);
	for (int i = 0; i < 4; i++)
		close_fd(&theirs[i]);
	free(environment);
	if (!rc)
		return 0;
	dnd_tool_kill(tool);
	if (is_missing(rc))
		return fail_missing(ctx, tool);
	if (is_unusable(rc))
		return dnd_meter_fail(ctx, DND_E_UNSUPPORTED, "%s cannot be started: %s. Install one that this machine can run, "
				      "or put another one first in PATH.", tool->name, strerror(-rc));
	return dnd_meter_fail_errno(ctx, rc, "%s cannot be started", tool->name);
}

/* Drops what does not fit; parsers check for the end of the text, which is then missing. */
static void take(int *fd, char *text, size_t text_bytes)
{
	size_t used = strlen(text);
	char dropped[512];
	ssize_t got;

	if (used + 1 < text_bytes)
		got = read(*fd, text + used, text_bytes - 1 - used);
	else
		got = read(*fd, dropped, sizeof(dropped));
	if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
		close_fd(fd);
	if (got <= 0 || used + 1 >= text_bytes)
		return;
	text[used + (size_t)got] = '\0';
	/* perf's acknowledgements end with a newline and a NUL. */
	for (size_t i = used; i < used + (size_t)got; i++)
		if (!text[i])
			text[i] = '\n';
}

static void listen_for(struct dnd_tool *tool, int timeout_ms)
{
	struct pollfd fds[2] = {
		{ .fd = tool->output, .events = POLLIN }, { .fd = tool->errors, .events = POLLIN },
	};

	if (poll(fds, 2, timeout_ms) <= 0)
		return;
	if (fds[0].revents)
		take(&tool->output, tool->printed, sizeof(tool->printed));
	if (fds[1].revents)
		take(&tool->errors, tool->complaint, sizeof(tool->complaint));
}

/*
 * If likwid fails, it leaves behind the cat that it stopped.  Nobody reaped @tool yet,
 * so the number of its group cannot belong to another group.
 */
static void end_group(const struct dnd_tool *tool, const siginfo_t *end)
{
	if (end->si_code == CLD_EXITED && end->si_status == 0)
		return;
	kill(-tool->pid, SIGTERM);
	kill(-tool->pid, SIGCONT);
}

/* Returns true once the tool has ended; then all its output was read. */
static bool has_ended(struct dnd_tool *tool)
{
	siginfo_t end = { 0 };

	if (waitid(P_PID, (id_t)tool->pid, &end, WEXITED | WNOHANG | WNOWAIT) == 0) {
		if (end.si_pid == 0)
			return false;
		end_group(tool, &end);
		waitpid(tool->pid, &tool->status, 0);
	} else if (errno == EINTR) {
		return false;
	}
	/* If our user ignores SIGCHLD, there is no status, and the output decides. */
	tool->pid = 0;
	for (int i = 0; i < DND_TOOL_PRINTED_BYTES / 512; i++)
		listen_for(tool, 0);
	return true;
}

void dnd_tool_kill(struct dnd_tool *tool)
{
	close_fd(&tool->input);
	close_fd(&tool->control);
	close_fd(&tool->output);
	close_fd(&tool->errors);
	if (tool->pid <= 0 || tool->starter != getpid())
		return;
	kill(-tool->pid, SIGKILL);
	while (waitpid(tool->pid, &tool->status, 0) < 0 && errno == EINTR)
		;
	tool->pid = 0;
}

void dnd_tool_send(int fd, const char *text)
{
	if (fd >= 0 && send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		return;
}

/* The next line that says something, without rulers and likwid's "ERROR - [file:line] ". */
static const char *next_words(const char *text, size_t *length)
{
	const char *bracket;

	text += strspn(text, " \t\n-=");
	*length = strcspn(text, "\n");
	if (strncmp(text, "ERROR - [", 9) == 0) {
		bracket = memchr(text, ']', *length);
		if (bracket) {
			*length -= (size_t)(bracket + 1 - text);
			text = bracket + 1;
		}
	}
	while (*length && *text == ' ') {
		text++;
		(*length)--;
	}
	return text;
}

static void collect_words(const struct dnd_tool *tool, char words[DND_TOOL_WORDS_BYTES])
{
	const char *text = tool->complaint[0] ? tool->complaint : tool->printed;
	const char *last = "";
	size_t length, last_length = 0, used = 0;

	words[0] = '\0';
	for (text = next_words(text, &length); *text && used < DND_TOOL_WORDS_BYTES;
	     text = next_words(text + length, &length)) {
		if (strncmp(text, "Events ", 7) == 0 ||
		    (length == last_length && !memcmp(text, last, length)))
			continue;
		used += (size_t)snprintf(words + used, DND_TOOL_WORDS_BYTES - used, "%s%.*s",
					 !used ? "" : islower((unsigned char)*text) ? " " : "; ",
					 (int)length, text);
		last = text;
		last_length = length;
	}
	if (!words[0])
		snprintf(words, DND_TOOL_WORDS_BYTES, "it printed nothing");
	used = strlen(words);
	while (used && (words[used - 1] == '.' || words[used - 1] == ' '))
		words[--used] = '\0';
}

int dnd_tool_refused(struct donard_context *ctx, struct dnd_tool *tool, const char *what)
{
	char words[DND_TOOL_WORDS_BYTES];
	const char *said = tool->complaint;

	dnd_tool_kill(tool);
	/* If the C library cannot report a failed exec (under valgrind), only the exit status shows it. */
	if (WIFEXITED(tool->status) && WEXITSTATUS(tool->status) == 127 && !tool->printed[0] &&
	    !said[0])
		return fail_missing(ctx, tool);
	collect_words(tool, words);
	if (strstr(said, "ermission denied") || strstr(said, "not permitted") ||
	    strstr(said, "Access to performance monitoring"))
		return dnd_meter_fail(ctx, DND_E_PERMISSION, "%s %s: %s. Run as root.", tool->name, what,
				words);
	return dnd_meter_fail(ctx, DND_E_UNSUPPORTED, "%s %s: %s.%s", tool->name, what, words,
			geteuid() ? " Root may see more." : "");
}

static bool was_printed(const struct dnd_tool *tool, const char *after, const char *text)
{
	const char *from = after ? strstr(tool->printed, after) : tool->printed;

	return from && strstr(from, text);
}

int dnd_tool_await(struct donard_context *ctx, struct dnd_tool *tool, const char *after,
		   const char *text)
{
	uint64_t limit_ns = dnd_now_ns() + dnd_tool_limit_ms * 1000000ULL;

	while (!was_printed(tool, after, text)) {
		if (has_ended(tool))
			return dnd_tool_refused(ctx, tool, "cannot count");
		if (dnd_now_ns() > limit_ns)
			return dnd_tool_refused(ctx, tool, "does not begin to count in time");
		listen_for(tool, SLICE_MS);
	}
	return 0;
}

/*
 * likwid checks whether its program has ended, and then sleeps up to 30 s, unless
 * SIGCHLD wakes it.  So it notices a program that ends between the two only late.
 * Both tools check again on SIGCHLD, so we send one to wake them.
 */
int dnd_tool_finish(struct donard_context *ctx, struct dnd_tool *tool)
{
	uint64_t now_ns = dnd_now_ns();
	uint64_t limit_ns = now_ns + dnd_tool_limit_ms * 1000000ULL;
	uint64_t nudge_ns = now_ns + NUDGE_MS * 1000000ULL;

	shutdown(tool->input, SHUT_WR);		/* a child of fork() may have it, too */
	close_fd(&tool->input);
	close_fd(&tool->control);
	while (!has_ended(tool)) {
		now_ns = dnd_now_ns();
		if (now_ns > limit_ns)
			return dnd_tool_refused(ctx, tool, "does not end in time");
		if (now_ns > nudge_ns) {
			kill(tool->pid, SIGCHLD);
			nudge_ns = now_ns + NUDGE_MS * 1000000ULL;
		}
		listen_for(tool, SLICE_MS);
	}
	if (WIFEXITED(tool->status) && WEXITSTATUS(tool->status) == 0)
		return 0;
	return dnd_tool_refused(ctx, tool, "failed");
}

int dnd_tool_try(struct donard_context *ctx, struct donard_meter *meter,
		 int (*measure)(struct donard_context *ctx, struct donard_meter *meter,
				struct donard_measurement *result))
{
	struct donard_measurement trial = { .size = sizeof(trial) };
	struct timespec left = { .tv_nsec = TRIAL_NS };
	int rc = meter->kind->begin(ctx, meter);

	if (rc)
		return rc;
	while (nanosleep(&left, &left) && errno == EINTR)
		;
	rc = measure(ctx, meter, &trial);
	if (!rc && !trial.known)
		rc = dnd_meter_fail(ctx, DND_E_UNSUPPORTED, "%s", trial.missing);
	return rc;
}

int dnd_tool_measured(struct donard_measurement *result, int rc)
{
	dnd_missing(result, "%s counts all DRAM traffic of the machine: it cannot tell DMA from "
		    "loads and stores, nor payload from overhead, and does not see BARs.",
		    result->meter);
	return rc ? -EIO : 0;
}
