/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where clients knock: an address of this machine, who may come from where, and what the
 * connection manager says of those who came.
 */
#ifndef DONARD_RDMA_LISTEN_H
#define DONARD_RDMA_LISTEN_H

#include <rdma/rdma_cma.h>

#include "base/base.h"

struct dnd_listener {
	struct rdma_event_channel *events;	/* of the clients' connections as well; it never blocks */
	struct rdma_cm_id *id;
	bool local_only;			/* bound to loopback */
};

enum dnd_turn {
	DND_TURN_NONE,		/* nothing that a server has to know */
	DND_TURN_KNOCK,		/* a client would connect */
	DND_TURN_ESTABLISHED,	/* its connection is */
	DND_TURN_ENDED,		/* its connection, or the attempt at one */
	DND_TURN_NO_DEVICE,	/* the listener's own was removed: no client comes any more */
};

/* What a client may say with its knock; more than any hello of ours. */
#define DND_KNOCK_BYTES	64

/* One thing that happened to the connection of @id. */
struct dnd_happening {
	enum dnd_turn turn;
	struct rdma_cm_id *id;
	bool would_read;		/* of a knock, as is what follows */
	size_t said_bytes;
	uint8_t said[DND_KNOCK_BYTES];
};

/* Bound, and not listening yet: see dnd_listen(). @host NULL: loopback.  After a failure, too, it is to be closed. */
int dnd_listener_open(struct donard_context *ctx, struct dnd_listener *listener, const char *host,
		      uint16_t port);
int dnd_listen(struct donard_context *ctx, struct dnd_listener *listener);
/* After the clients' ids. */
void dnd_listener_close(struct dnd_listener *listener);
/* The next thing that happened; false for none by now.  It is acknowledged: an id may be destroyed only then. */
bool dnd_listener_next(struct dnd_listener *listener, struct dnd_happening *happening);
/* Fails: what a server ends with after DND_TURN_NO_DEVICE. */
int dnd_listener_no_device(struct donard_context *ctx);
/* A client that may not come, since the listener is bound to loopback. */
bool dnd_listener_excludes(const struct dnd_listener *listener, struct rdma_cm_id *id);

#endif /* DONARD_RDMA_LISTEN_H */
