// SPDX-License-Identifier: Apache-2.0
/*
 * The output of progress: phase, percentage, time left; no escapes on a terminal that understands none. And the effect of
 * signals.
 */
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"
#include "tool/progress.h"

#define MIB	(1ULL << 20)

/*
 * Reads all that was written to the terminal's other side, which is closed: the kernel returns it in
 * any number of pieces, and then fails with EIO.
 */
static void read_to_the_end(int master, char *text, size_t text_bytes)
{
	size_t have = 0;
	ssize_t got;

	while (have < text_bytes - 1 &&
	       (got = read(master, text + have, text_bytes - 1 - have)) > 0)
		have += (size_t)got;
	text[have] = '\0';
}

/* Returns what @ticks print on a terminal whose TERM is @term, with NO_COLOR set to @no_color. */
static void on_terminal(const char *term, const char *no_color,
			void (*ticks)(struct cli_progress *progress), char *text, size_t text_bytes)
{
	int master, slave, old = dup(STDERR_FILENO);
	struct cli_progress progress;

	assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
	setenv("TERM", term, 1);
	setenv("NO_COLOR", no_color, 1);
	dup2(slave, STDERR_FILENO);
	cli_progress_init(&progress, true);
	ticks(&progress);
	cli_progress_end(&progress);
	dup2(old, STDERR_FILENO);
	close(old);
	close(slave);
	read_to_the_end(master, text, text_bytes);
	close(master);
}

/*
 * Each phase is shown at once when it begins.  The figures are such that a busy machine may take
 * up to 2 s between two of these lines, and the text stays the same.
 */
static void all_phases(struct cli_progress *progress)
{
	progress->started -= 1000;	/* until memory is filled, and a route proven */
	cli_progress_tick(progress, DONARD_PHASE_COPY, 0, 256 * MIB);
	progress->started -= 1000;
	cli_progress_tick(progress, DONARD_PHASE_COPY, 0, 256 * MIB);
	progress->shown -= 40;
	progress->started -= 40;
	cli_progress_tick(progress, DONARD_PHASE_COPY, 192 * MIB, 256 * MIB);
	cli_progress_tick(progress, DONARD_PHASE_FLUSH, 256 * MIB, 256 * MIB);
	cli_progress_tick(progress, DONARD_PHASE_VERIFY, 128 * MIB, 256 * MIB);
}

static void test_phases(void **state)
{
	char text[1024];

	(void)state;
	on_terminal("dumb", "", all_phases, text, sizeof(text));
	assert_non_null(strstr(text, "copying    75 %, 192.0 of 256.0 MiB, 5 MiB/s, 0:13 left\r\n"));
	assert_non_null(strstr(text, "flushing\r\n"));
	assert_non_null(strstr(text, "verifying  50 %, 128.0 of 256.0 MiB"));
}

static void test_escapes(void **state)
{
	char text[1024];

	(void)state;
	on_terminal("xterm", "", all_phases, text, sizeof(text));
	assert_non_null(strchr(text, '\033'));
	on_terminal("dumb", "", all_phases, text, sizeof(text));
	assert_null(strchr(text, '\033'));
	on_terminal("", "", all_phases, text, sizeof(text));
	assert_null(strchr(text, '\033'));
	on_terminal("xterm", "1", all_phases, text, sizeof(text));
	assert_null(strchr(text, '\033'));
}

/* Progress of several rounds, whose bytes are all counted. */
static void a_second_round(struct cli_progress *progress)
{
	cli_progress_tick(progress, DONARD_PHASE_COPY, 0, 512 * MIB);
	cli_progress_tick(progress, DONARD_PHASE_VERIFY, 256 * MIB, 512 * MIB);
	cli_progress_tick(progress, DONARD_PHASE_COPY, 256 * MIB, 512 * MIB);
	progress->shown -= 40;
	progress->started -= 40;
	cli_progress_tick(progress, DONARD_PHASE_COPY, 448 * MIB, 512 * MIB);
}

static void test_rounds(void **state)
{
	char text[1024];

	(void)state;
	on_terminal("dumb", "", a_second_round, text, sizeof(text));
	assert_non_null(strstr(text, "verifying  50 %, 256.0 of 512.0 MiB, 0 MiB/s\r\n"));
	assert_non_null(strstr(text, "copying    88 %, 448.0 of 512.0 MiB, 5 MiB/s, 0:13 left\r\n"));
}

static void nothing_is_known(struct cli_progress *progress)
{
	progress->shown -= 10;
	cli_progress_tick(progress, DONARD_PHASE_COPY, 0, 256 * MIB);
	progress->shown -= 10;
	cli_progress_tick(progress, DONARD_PHASE_COPY, 0, 0);
}

static void test_no_estimate(void **state)
{
	char text[1024];

	(void)state;
	on_terminal("dumb", "", nothing_is_known, text, sizeof(text));
	assert_non_null(strstr(text, "copying     0 %"));
	assert_null(strstr(text, "left"));
}

/* ---- signals to a process that has a terminal and reports its progress ---- */

struct stopping {
	pid_t pid;
	int master, said;
};

static void say(int fd, char word)
{
	assert_int_equal(write(fd, &word, 1), 1);
}

/* Stopped once, it goes on until it is killed. */
static void stop_slowly(int out)
{
	cli_catch_signals();
	say(out, 'r');
	while (!cli_stopped(NULL))
		poll(NULL, 0, 10);
	/* Each is here when raise() returns. */
	for (int i = 0; i < 2; i++) {
		raise(SIGTERM);
		raise(SIGHUP);
		raise(SIGINT);
	}
	say(out, 's');
	for (;;)
		poll(NULL, 0, -1);
}

static void start(struct stopping *stopping)
{
	int slave, said[2];

	assert_int_equal(openpty(&stopping->master, &slave, NULL, NULL, NULL), 0);
	assert_int_equal(pipe(said), 0);
	stopping->said = said[0];
	stopping->pid = fork();
	assert_true(stopping->pid >= 0);
	if (!stopping->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setsid();
		ioctl(slave, TIOCSCTTY, 0);
		signal(SIGHUP, SIG_DFL);
		close(said[0]);
		stop_slowly(said[1]);
	}
	close(slave);
	close(said[1]);
}

static void hear(const struct stopping *stopping, char expected)
{
	char word;

	assert_int_equal(read(stopping->said, &word, 1), 1);
	assert_int_equal(word, expected);
}

static void is_killed_by(const struct stopping *stopping, int number)
{
	int status;

	assert_int_equal(waitpid(stopping->pid, &status, 0), stopping->pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), number);
	close(stopping->master);
	close(stopping->said);
}

static void by_kill(const struct stopping *stopping)
{
	assert_int_equal(kill(stopping->pid, SIGTERM), 0);
}

static void by_key(const struct stopping *stopping)
{
	say(stopping->master, '\003');
}

static void start_and_stop(struct stopping *stopping, void (*stop)(const struct stopping *stopping))
{
	start(stopping);
	hear(stopping, 'r');
	stop(stopping);
	hear(stopping, 's');
}

/* The same signal again is no second wish, as when timeout(1) ends a command, or a terminal goes. */
static void test_one_stop_in_many_signals(void **state)
{
	struct stopping stopping;

	(void)state;
	start_and_stop(&stopping, by_kill);
	kill(stopping.pid, SIGKILL);
	is_killed_by(&stopping, SIGKILL);
}

static void test_second_key(void **state)
{
	struct stopping stopping;

	(void)state;
	start_and_stop(&stopping, by_key);
	by_key(&stopping);
	is_killed_by(&stopping, SIGINT);
}

static void test_key_after_signal(void **state)
{
	struct stopping stopping;

	(void)state;
	start_and_stop(&stopping, by_kill);
	by_key(&stopping);
	is_killed_by(&stopping, SIGINT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_phases),
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_no_estimate),
		cmocka_unit_test(test_rounds),
		cmocka_unit_test(test_one_stop_in_many_signals),
		cmocka_unit_test(test_second_key),
		cmocka_unit_test(test_key_after_signal),
	};

	return cmocka_run_group_tests_name("progress", tests, NULL, NULL);
}
