// SPDX-License-Identifier: Apache-2.0
/* See serverevent.h. */
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "terms.h"
#include "output.h"
#include "serverevent.h"

struct json_object *cli_event_model(const char *event, const char *peer)
{
	struct json_object *model = json_object_new_object();

	cli_add_text(model, "event", event);
	if (peer[0])
		cli_add_text(model, "peer", peer);
	return model;
}

struct json_object *cli_event_listening(const char *event, const char *address, uint16_t port)
{
	struct json_object *model = cli_event_model(event, "");

	cli_add_text(model, "address", address);
	cli_add_number(model, "port", port);
	return model;
}

void cli_event_message(struct json_object *model, const char *text)
{
	char in_options[CLI_ERROR_BYTES];

	if (text[0])
		cli_add_text(model, "message", cli_in_options(text, in_options, sizeof(in_options)));
}

/* A pipe that is ready takes PIPE_BUF at once, which is more than a line.  A terminal that was stopped (Ctrl-S) is not ready. */
static bool output_is_ready(void)
{
	struct pollfd output = { .fd = STDOUT_FILENO, .events = POLLOUT };

	return poll(&output, 1, 0) != 0;
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
	model = cli_event_model("left-out", "");
	cli_add_number(model, "count", count);
	cli_print_json_line(model);
}

void cli_event_print(const struct cli *cli, struct json_object *model, int type,
		     void (*print)(struct json_object *model, int type))
{
	static uint64_t left_out;

	if (!output_is_ready()) {
		left_out++;
		json_object_put(model);
		return;
	}
	if (left_out)
		print_left_out(cli, left_out);
	left_out = 0;
	if (cli->json) {
		cli_print_json_line(model);
		return;
	}
	print(model, type);
	fflush(stdout);
	json_object_put(model);
}

void cli_event_print_client(struct json_object *model)
{
	const char *message = cli_text_of(model, "message");

	printf("client %s %s%s%s\n", cli_text_of(model, "peer"), cli_text_of(model, "event"),
	       message[0] ? ": " : "", message);
}
