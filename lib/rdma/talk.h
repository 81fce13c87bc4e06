/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the protocol on a link.  Each carries the nonce of the connection. */
#ifndef DONARD_RDMA_TALK_H
#define DONARD_RDMA_TALK_H

#include "rdma/link.h"
#include "rdma/protocol.h"

#define DND_TALK_RECVS	16
#define DND_TALK_SENDS	8

/* @data_requests: how many the owner will have outstanding at most. */
static inline struct dnd_link_size dnd_talk_size(uint32_t data_requests)
{
	return (struct dnd_link_size){
		.data_requests = data_requests,
		.message_bytes = DND_MESSAGE_BYTES,
		.recvs = DND_TALK_RECVS,
		.sends = DND_TALK_SENDS,
	};
}

/* Sets the nonce and sends the message.  Returns 0, -EAGAIN if no slot is free, or -ECONNRESET. */
int dnd_talk_send(struct dnd_link *link, uint64_t nonce, struct dnd_message *message);
/* Decodes a message.  Returns 0, -EPROTO if it is malformed or of another connection, or -EPROTONOSUPPORT. */
int dnd_talk_take(uint64_t nonce, const uint8_t *bytes, size_t length,
		  struct dnd_message *message);

#endif /* DONARD_RDMA_TALK_H */
