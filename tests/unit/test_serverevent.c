// SPDX-License-Identifier: Apache-2.0
/* A server prints its events, and never waits for their reader. */
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "unit.h"
#include "cli/serverevent.h"

#define FILL	"x"

/* Whether there is a reader, if that is played. */
static enum { AS_IT_IS, NOBODY, SOMEBODY } reads;

int __real_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	if (reads == AS_IT_IS)
		return __real_poll(fds, count, timeout_ms);
	fds->revents = reads == SOMEBODY ? POLLOUT : 0;
	return reads == SOMEBODY;
}

struct scene {
	int out, reader, kept;
	struct cli cli;
};

/* Standard output is a pipe that is full except for a few single bytes. */
static struct scene begin(bool json)
{
	struct scene scene = { .cli = { .json = json } };
	int fds[2];

	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	fflush(stdout);
	scene.kept = dup(STDOUT_FILENO);
	scene.reader = fds[0];
	dup2(fds[1], STDOUT_FILENO);
	close(fds[1]);
	while (write(STDOUT_FILENO, FILL, 1) == 1)
		;
	fcntl(STDOUT_FILENO, F_SETFL, 0);	/* from now on a write waits */
	return scene;
}

static void end(const struct scene *scene)
{
	fflush(stdout);
	dup2(scene->kept, STDOUT_FILENO);
	close(scene->kept);
	close(scene->reader);
}

struct event {
	const char *peer, *event, *message;
};

static const struct cli_field fields[] = {
	CLI_FIELD("event", CLI_TEXT, struct event, event),
	CLI_FIELD("peer", CLI_TEXT, struct event, peer),
	CLI_FIELD("message", CLI_MESSAGE, struct event, message, .unless_empty = true),
	{ 0 },
};

static void tell(const struct scene *scene, const char *word)
{
	const struct event event = { "192.0.2.1:7", word, "" };

	cli_event_print(&scene->cli, fields, CLI_EVENT_CLIENT, &event, 0);
}

/* Reads the pipe's content without the bytes that filled it. */
static void read_all(const struct scene *scene, char *text, size_t bytes)
{
	size_t used = 0;
	char c;

	while (read(scene->reader, &c, 1) == 1)
		if (c != FILL[0] && used + 1 < bytes)
			text[used++] = c;
	text[used] = '\0';
}

static void nobody_reads(bool json, const char *expected)
{
	struct scene scene = begin(json);
	char text[256];

	alarm(HANG_SECONDS);
	tell(&scene, "came");
	tell(&scene, "left");
	read_all(&scene, text, sizeof(text));
	tell(&scene, "came");
	tell(&scene, "left");
	read_all(&scene, text, sizeof(text));
	alarm(0);
	end(&scene);
	assert_string_equal(text, expected);
}

static void in_json(void **state)
{
	(void)state;
	nobody_reads(true, "{\"event\":\"left-out\",\"count\":2}\n{\"event\":\"came\",\"peer\":\"192.0.2.1:7\"}\n"
			   "{\"event\":\"left\",\"peer\":\"192.0.2.1:7\"}\n");
}

static void in_text(void **state)
{
	(void)state;
	nobody_reads(false, "2 events before this one were not printed, as nobody read them\n"
			    "client 192.0.2.1:7 came\nclient 192.0.2.1:7 left\n");
}

/* The events that this reader was to be told of are counted again for the next one. */
static void reader_goes_at_once(void **state)
{
	struct scene scene = begin(true);
	char text[256];

	(void)state;
	cli_events_begin();
	reads = NOBODY;
	for (int i = 0; i < 5; i++)
		tell(&scene, "came");
	reads = SOMEBODY;
	close(scene.reader);
	scene.reader = -1;
	tell(&scene, "came");
	reads = AS_IT_IS;
	end(&scene);
	scene = begin(true);
	read_all(&scene, text, sizeof(text));
	tell(&scene, "left");
	read_all(&scene, text, sizeof(text));
	end(&scene);
	assert_string_equal(text, "{\"event\":\"left-out\",\"count\":6}\n{\"event\":\"left\",\"peer\":\"192.0.2.1:7\"}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(in_json), cmocka_unit_test(in_text), cmocka_unit_test(reader_goes_at_once) };

	return cmocka_run_group_tests_name("serverevent", tests, NULL, NULL);
}
