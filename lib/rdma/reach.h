/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client's way to its server, the same for each protocol: address, device, route, handshake,
 * and the connection manager's events after it.
 */
#ifndef DONARD_RDMA_REACH_H
#define DONARD_RDMA_REACH_H

#include <rdma/rdma_cma.h>

#include "rdma/address.h"

/*
 * What the server said in the handshake, by the private data of its answer.  Each
 * returns 0 or -errno with a text; a refusal is a failure in any case.
 */
struct dnd_reach_ops {
	int (*accepted)(void *user, const void *bytes, size_t length);
	int (*refused)(void *user, const void *bytes, size_t length);
	/* Asked while it waits: nonzero, with a text, ends it.  NULL: nobody is asked */
	int (*give_up)(void *user);
};

struct dnd_reach {
	struct donard_context *ctx;	/* these are the owner's */
	const struct dnd_reach_ops *ops;
	void *user;
	const char *server;		/* the call that should serve there, */
	const char *listen_option;	/* and its member for an address */
	unsigned int timeout_ms;
	struct rdma_event_channel *events;	/* nonblocking */
	struct rdma_cm_id *id;
	char peer[DND_PEER_BYTES];
	bool loopback;			/* the peer's address is */
	bool unheard;			/* somebody refused, and perhaps did not come to say why: refused() knows */
	double deadline;		/* of the step under way */
};

/* The address, and with it the device; says nothing to the server yet. */
int dnd_reach_find(struct dnd_reach *reach, const char *address, uint16_t port);
/* Then, with a queue pair: the handshake. */
int dnd_reach_connect(struct dnd_reach *reach, struct rdma_conn_param *param);
/* 0, or -ECONNRESET when an event says that the connection is over. */
int dnd_reach_take_events(struct dnd_reach *reach);
/* After the queue pair is destroyed. */
void dnd_reach_close(struct dnd_reach *reach);

/* The failure: nobody listens there. */
int dnd_reach_nobody(struct dnd_reach *reach);

#endif /* DONARD_RDMA_REACH_H */
