/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client has said to its server so far, and which event its end is.  These
 * functions touch no device.
 */
#ifndef DONARD_RDMA_HEARD_H
#define DONARD_RDMA_HEARD_H

#include "rdma/protocol.h"

struct dnd_heard {
	struct dnd_message request;	/* the request that waits for its answer; type 0: none */
	bool any;			/* the client said something */
	bool took;			/* it took the offer: the memory is in its use */
	bool said_bye;
	enum dnd_rdma_status bye_status;
	bool cut_off;			/* the server cut it off, and ignores whatever it still says */
};

#define DND_HEARD_PING	1	/* the client wants to hear now that the server is alive */

/*
 * Takes a message of the client.  Returns 0; DND_HEARD_PING; -ECONNRESET if the client left while its request is being
 * served, and waits for no answer; -EPROTO if the client may not say that now.
 */
int dnd_hear(struct dnd_heard *heard, const struct dnd_message *message);
/*
 * The server takes its memory back.  Returns false if there is nobody to tell: the client said good-bye and has its
 * answer, or was cut off before.  Else marks the client as cut off, and returns true.
 */
bool dnd_heard_cut_off(struct dnd_heard *heard);
/* DONARD_RDMA_CLIENT_REFUSED, _LEFT or _LOST. */
enum donard_rdma_event_type dnd_heard_end(const struct dnd_heard *heard);

#endif /* DONARD_RDMA_HEARD_H */
