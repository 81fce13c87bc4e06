/* SPDX-License-Identifier: Apache-2.0 */
/* What a server says while it runs: who comes and goes, as a line of JSON or of text. */
#ifndef DONARD_SERVEREVENT_H
#define DONARD_SERVEREVENT_H

#include <json-c/json.h>
#include <stdint.h>

#include "command.h"

/* @peer: who it is about, empty for nobody. */
struct json_object *cli_event_model(const char *event, const char *peer);
struct json_object *cli_event_listening(const char *event, const char *address, uint16_t port);
/* "message", unless it is empty. */
void cli_event_message(struct json_object *model, const char *text);

/* Prints the model, and releases it; @print is for text, and gets @type. */
void cli_event_print(const struct cli *cli, struct json_object *model, int type,
		     void (*print)(struct json_object *model, int type));
/* "client ADDR came: why" */
void cli_event_print_client(struct json_object *model);

#endif /* DONARD_SERVEREVENT_H */
