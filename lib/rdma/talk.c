// SPDX-License-Identifier: Apache-2.0
/* See talk.h. */
#include "rdma/talk.h"

int dnd_talk_send(struct dnd_link *link, uint64_t nonce, struct dnd_message *message)
{
	uint8_t bytes[DND_MESSAGE_BYTES];

	message->nonce = nonce;
	dnd_message_encode(message, bytes);
	return dnd_link_send(link, bytes, 0);
}

int dnd_talk_take(uint64_t nonce, const uint8_t *bytes, size_t length,
		  struct dnd_message *message)
{
	int rc = dnd_message_decode(message, bytes, length);

	return !rc && message->nonce != nonce ? -EPROTO : rc;
}
