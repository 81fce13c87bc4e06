/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client has said to its server so far, and the word for its end.  It touches
 * no device.
 */
#ifndef DONARD_RDMA_HEARD_H
#define DONARD_RDMA_HEARD_H

#include "rdma/protocol.h"

struct dnd_heard {
	struct dnd_message request;	/* that waits for its answer; type 0: none */
	bool any;			/* it said something */
	bool took;			/* what is offered; the memory is this client's */
	bool said_bye;
	enum dnd_rdma_status bye_status;
	bool cut_off;			/* by the server: nothing that it says counts any more */
};

#define DND_HEARD_PING	1	/* it wants to hear that the server is alive, now */

/*
 * Takes what it said.  0; DND_HEARD_PING; -ECONNRESET if it left while its request is served, and
 * waits for no answer; -EPROTO if it may not say that now.
 */
int dnd_hear(struct dnd_heard *heard, const struct dnd_message *message);
/*
 * The server takes its memory back.  False if there is nobody to tell: the client said good-bye and has had its answer,
 * or was cut off before.  Else it is one that was cut off, whatever it still says.
 */
bool dnd_heard_cut_off(struct dnd_heard *heard);
/* DONARD_RDMA_CLIENT_REFUSED, _LEFT or _LOST. */
enum donard_rdma_event_type dnd_heard_end(const struct dnd_heard *heard);

#endif /* DONARD_RDMA_HEARD_H */
