/* SPDX-License-Identifier: Apache-2.0 */
/* What a server reports while it runs, such as clients that come and go, as lines of JSON or text. */
#ifndef DONARD_SERVEREVENT_H
#define DONARD_SERVEREVENT_H

#include "command.h"
#include "fields.h"

/* What a text has of a client that came, went or was refused. */
#define CLI_EVENT_CLIENT "client {peer} {event}[: {message}]\n"

/* Called before the first event.  From then on no reader of the events that goes away ends the server. */
void cli_events_begin(void);
/*
 * Prints an event, in JSON as one of that kind.  A server has one thread, which its clients wait for: an event is left out while
 * nobody reads the pipe that it goes to, and the next that is printed is preceded by how many were.
 */
void cli_event_print(const struct cli *cli, const struct cli_field *fields, const char *text, const void *event,
		     unsigned int kind);

#endif /* DONARD_SERVEREVENT_H */
