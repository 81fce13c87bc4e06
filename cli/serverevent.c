// SPDX-License-Identifier: Apache-2.0
/* See serverevent.h. */
#include <stdio.h>

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

void cli_event_print(const struct cli *cli, struct json_object *model, int type,
		     void (*print)(struct json_object *model, int type))
{
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
