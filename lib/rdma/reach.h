/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a client reaches its server, the same for each protocol: address, device, route, handshake,
 * and the connection manager's events afterwards.
 */
#ifndef DONARD_RDMA_REACH_H
#define DONARD_RDMA_REACH_H

#include <rdma/rdma_cma.h>

#include "rdma/address.h"

/*
 * The server's answer in the handshake, in the private data.  accepted() returns 0 or
 * -errno with a text; refused() always fails with a text.
 */
struct dnd_reach_ops {
	int (*accepted)(void *user, const void *bytes, size_t length);
	int (*refused)(void *user, const void *bytes, size_t length);
	/* Called while waiting, unless NULL; ends the attempt if it returns nonzero, with a text. */
	int (*give_up)(void *user);
};

struct dnd_reach {
	/* The owner sets the members up to timeout_ms. */
	struct donard_context *ctx;
	const struct dnd_reach_ops *ops;
	void *user;
	const char *server;		/* for messages: the call that should serve there, */
	const char *listen_option;	/* and its option for an address */
	unsigned int timeout_ms;
	struct rdma_event_channel *events;	/* nonblocking */
	struct rdma_cm_id *id;
	char peer[DND_PEER_BYTES];
	bool loopback;			/* the peer's address is loopback */
	bool over;			/* an event said that the connection is over */
	bool device_gone;		/* an event said that this end's device was removed */
	bool unheard;			/* a refusal came, and its reason may be lost; refused() clears this if not */
	double deadline;		/* of the present step */
};

/* Resolves the address, and thereby finds the device; sends nothing to the server yet. */
int dnd_reach_find(struct dnd_reach *reach, const char *address, uint16_t port);
/* Does the handshake.  The caller has made the queue pair. */
int dnd_reach_connect(struct dnd_reach *reach, struct rdma_conn_param *param);
/* Returns 0, or -ECONNRESET if an event says that the connection is over. */
int dnd_reach_take_events(struct dnd_reach *reach);
/*
 * Is the connection over because this end's device was removed?  Call it only when the connection is
 * over.  The device's requests may fail before the kernel queues the event that says why.  So this waits
 * for an event, at most half a second, unless one has said already that the connection is over, or
 * @peer_failed: then the device itself has named the peer.
 */
bool dnd_reach_lost_device(struct dnd_reach *reach, bool peer_failed);
/* The queue pair must be destroyed before. */
void dnd_reach_close(struct dnd_reach *reach);

/* Fails because nobody listens there. */
int dnd_reach_nobody(struct dnd_reach *reach);
/*
 * For refused(): fails because the bytes are not of this protocol.  Either something else listens there, maybe a server of
 * another kind; or nobody listens, and the kernel itself refused, with zeros or with no bytes.
 */
int dnd_reach_stranger(struct dnd_reach *reach, const void *bytes, size_t length);
/* Fails because this end's device was removed. */
int dnd_reach_no_device(struct dnd_reach *reach);

#endif /* DONARD_RDMA_REACH_H */
