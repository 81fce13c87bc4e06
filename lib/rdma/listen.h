/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listens for clients: on which address, from where they may connect, and what the connection
 * manager reports about their connections.
 */
#ifndef DONARD_RDMA_LISTEN_H
#define DONARD_RDMA_LISTEN_H

#include <rdma/rdma_cma.h>

#include "rdma/register.h"

struct dnd_listener {
	struct rdma_event_channel *events;	/* also for the clients' connections; nonblocking */
	struct rdma_cm_id *id;
	bool local_only;			/* bound to loopback */
	const char *host;			/* as it was asked for; belongs to the caller */
	uint16_t port;
};

enum dnd_turn {
	DND_TURN_NONE,		/* nothing that a server has to know */
	DND_TURN_KNOCK,		/* a client asks for a connection */
	DND_TURN_ESTABLISHED,	/* the connection is established */
	DND_TURN_ENDED,		/* the connection, or the attempt at one, has ended */
	DND_TURN_NO_DEVICE,	/* the listener's own device was removed: no client can come any more */
};

/* How much of a client's private data is kept; more than any hello of ours has. */
#define DND_KNOCK_BYTES	64

/* An event on the connection of @id. */
struct dnd_happening {
	enum dnd_turn turn;
	struct rdma_cm_id *id;
	/* The members below are those of DND_TURN_KNOCK. */
	uint8_t reads;			/* how many READs the client may have under way at a time */
	size_t said_bytes;
	uint8_t said[DND_KNOCK_BYTES];
};

/*
 * Binds the listener; dnd_listen() then listens.  @host NULL: loopback; else it must outlive the listener.  The listener must be
 * closed after a failure, too.
 */
int dnd_listener_open(struct donard_context *ctx, struct dnd_listener *listener, const char *host,
		      uint16_t port);
/*
 * If the device of the listener's address is known already, tries a registration of the memory, so that a refusal comes before
 * any client.  @tried says how it would be registered, but is registered no more.
 */
int dnd_listener_try(const struct dnd_listener *listener, const struct donard_memory *memory, unsigned int rights,
		     struct dnd_registration *tried);
int dnd_listen(struct donard_context *ctx, struct dnd_listener *listener);
/* The ids of the clients must be destroyed before. */
void dnd_listener_close(struct dnd_listener *listener);
/* Takes the next event; false if none has come.  Acknowledges it: only then can the id be destroyed. */
bool dnd_listener_next(struct dnd_listener *listener, struct dnd_happening *happening);
/* The failure with which a server ends after DND_TURN_NO_DEVICE. */
int dnd_listener_no_device(struct donard_context *ctx);
/* Returns true if the client may not connect, because the listener is bound to loopback. */
bool dnd_listener_excludes(const struct dnd_listener *listener, struct rdma_cm_id *id);

#endif /* DONARD_RDMA_LISTEN_H */
