/* SPDX-License-Identifier: Apache-2.0 */
/* What a server reports while it runs, such as clients that come and go, as lines of JSON or text. */
#ifndef DONARD_SERVEREVENT_H
#define DONARD_SERVEREVENT_H

#include "command.h"
#include "fields.h"

/* The text of an event about a client that came, went or was refused. */
#define CLI_EVENT_CLIENT "client {peer} {event}[: {message}]\n"

/* Call it before the first event.  From then on the server goes on when the reader of its events goes away. */
void cli_events_begin(void);
/*
 * Prints an event, in JSON as one of that kind.  A server's only thread must not wait for a reader, since its clients would
 * wait, too: events that nobody reads are left out, and their number is printed before the next event.
 */
void cli_event_print(const struct cli *cli, const struct cli_field *fields, const char *text, const void *event,
		     unsigned int kind);

#endif /* DONARD_SERVEREVENT_H */
