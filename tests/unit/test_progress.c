// SPDX-License-Identifier: Apache-2.0
/* What progress prints: phase, percentage, time left; no escapes where none are understood. */
#include <pty.h>
#include <unistd.h>

#include "unit.h"
#include "tool/cli.h"

#define MIB	(1ULL << 20)

/* What @ticks print on a terminal whose TERM is @term and where NO_COLOR is @no_color. */
static void on_terminal(const char *term, const char *no_color,
			void (*ticks)(struct cli_progress *progress), char *text, size_t text_bytes)
{
	int master, slave, old = dup(STDERR_FILENO);
	struct cli_progress progress;
	ssize_t got;

	assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
	setenv("TERM", term, 1);
	setenv("NO_COLOR", no_color, 1);
	dup2(slave, STDERR_FILENO);
	cli_progress_init(&progress, true);
	ticks(&progress);
	cli_progress_end(&progress);
	dup2(old, STDERR_FILENO);
	got = read(master, text, text_bytes - 1);
	text[got < 0 ? 0 : got] = '\0';
	close(master);
	close(slave);
	close(old);
}

/* Each phase is shown at once when it begins. */
static void all_phases(struct cli_progress *progress)
{
	progress->shown -= 10;
	progress->started -= 10;
	cli_progress_tick(progress, DONARD_PHASE_COPY, 64 * MIB, 256 * MIB);
	cli_progress_tick(progress, DONARD_PHASE_FLUSH, 256 * MIB, 256 * MIB);
	cli_progress_tick(progress, DONARD_PHASE_VERIFY, 128 * MIB, 256 * MIB);
}

static void test_phases(void **state)
{
	char text[1024];

	(void)state;
	on_terminal("dumb", "", all_phases, text, sizeof(text));
	assert_non_null(strstr(text, "copying    25 %, 64.0 of 256.0 MiB, 6 MiB/s, 0:30 left\r\n"));
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_phases),
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_no_estimate),
	};

	return cmocka_run_group_tests_name("progress", tests, NULL, NULL);
}
