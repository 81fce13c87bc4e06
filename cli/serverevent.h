/* SPDX-License-Identifier: Apache-2.0 */
/* What a server reports while it runs, such as clients that come and go, as lines of JSON or text. */
#ifndef DONARD_SERVEREVENT_H
#define DONARD_SERVEREVENT_H

#include <json-c/json.h>
#include <stdint.h>

#include "command.h"

/* @peer: the client that it is about, or "". */
struct json_object *cli_event_model(const char *event, const char *peer);
struct json_object *cli_event_listening(const char *event, const char *address, uint16_t port);
/* Adds "message", unless @text is empty. */
void cli_event_message(struct json_object *model, const char *text);

/*
 * Prints the model and releases it; calls @print with @type if text is wanted.  A server has one thread, which its clients
 * wait for: an event is left out while nobody reads the pipe that it goes to, and the next that is printed is preceded by how
 * many were.
 */
void cli_event_print(const struct cli *cli, struct json_object *model, int type,
		     void (*print)(struct json_object *model, int type));
/* Prints "client ADDR came: why". */
void cli_event_print_client(struct json_object *model);

#endif /* DONARD_SERVEREVENT_H */
