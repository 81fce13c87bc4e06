// SPDX-License-Identifier: Apache-2.0
/* See follow.h. */
#include <stdlib.h>
#include <time.h>

#include "errors.h"
#include "follow.h"
#include "output.h"
#include "progress.h"
#include "topscreen.h"

struct course {
	struct cli_follow *follow;
	uint64_t interval_seconds;
	uint64_t count;			/* 0: until it is stopped */
	uint64_t taken;			/* samples */
	bool screen;
	double at;			/* when the last sample was taken */
};

static int take(struct course *course)
{
	double now = cli_now_seconds();
	int rc;

	course->follow->seconds = course->taken ? now - course->at : 0;
	rc = course->follow->take(course->follow);
	if (rc)
		return rc;
	course->at = now;
	course->taken++;
	return 0;
}

/* A line has the seconds since the line before it, from which a program computes rates. */
static void print_line(const struct cli_follow *follow)
{
	struct json_object *model = follow->model(follow), *line = json_object_new_object();

	cli_add_number(line, "time_seconds", (uint64_t)time(NULL));
	if (follow->seconds > 0)
		cli_add_double(line, "seconds", follow->seconds);
	else
		json_object_object_add(line, "seconds", NULL);
	json_object_object_foreach(model, key, value)
		json_object_object_add(line, key, json_object_get(value));
	json_object_put(model);
	cli_print_json_line(line);
}

static void print_text(const struct cli_follow *follow, FILE *out)
{
	char when[32] = "";
	time_t now = time(NULL);
	struct tm local;

	if (localtime_r(&now, &local))
		strftime(when, sizeof(when), "%H:%M:%S", &local);
	fprintf(out, "donard-cli %s, %s%s\n\n", follow->cli->command->name, when,
		cli_screen_reads_keys() ? "; q quits" : "");
	follow->print(follow, out);
}

static void draw(const struct cli_follow *follow)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return;
	print_text(follow, out);
	fclose(out);
	cli_screen_draw(text);
	free(text);
}

static void show(const struct course *course)
{
	if (course->follow->cli->json) {
		print_line(course->follow);
	} else if (course->screen) {
		draw(course->follow);
	} else {
		if (course->taken > 1)
			putchar('\n');
		print_text(course->follow, stdout);
		fflush(stdout);
	}
}

static bool has_all(const struct course *course)
{
	return course->count && course->taken >= course->count;
}

static bool is_over(const struct course *course)
{
	return cli_stopped(NULL) || has_all(course) || ferror(stdout);
}

/* Returns false when the user or a signal ended the command. */
static bool wait_and_draw(const struct course *course)
{
	double end = cli_now_seconds() + (double)course->interval_seconds;
	enum cli_screen_event event;

	do {
		event = cli_screen_wait(end - cli_now_seconds());
		if (event == CLI_SCREEN_RESIZED)
			draw(course->follow);
	} while (event == CLI_SCREEN_RESIZED);
	return event == CLI_SCREEN_TIME;
}

static int run(struct course *course)
{
	int rc;

	do {
		rc = take(course);
		if (rc)
			return rc;
		show(course);
	} while (!is_over(course) && wait_and_draw(course));
	return 0;
}

int cli_follow(struct cli_follow *follow)
{
	struct course course = { .follow = follow, .interval_seconds = 1 };
	struct cli *cli = follow->cli;
	int rc = cli_number(cli, "interval", &course.interval_seconds);

	if (!rc)
		rc = cli_number(cli, "count", &course.count);
	if (rc)
		return rc;
	cli_catch_signals();
	course.screen = !cli->json && cli_screen_begin();
	rc = run(&course);
	cli_screen_end();
	if (rc)
		return cli_fail(cli, rc);
	if (course.screen && has_all(&course) && !cli_stopped(NULL))
		print_text(follow, stdout);	/* the last sample would vanish with its screen */
	if (!cli_stopped(NULL))
		return EXIT_DONE;
	clearerr(stdout);	/* the signal may have interrupted a write, which is no failure of the output */
	return EXIT_STOPPED;
}
