// SPDX-License-Identifier: Apache-2.0
/* See protocol.h. */
#include <ctype.h>
#include <stdio.h>

#include "rdma/protocol.h"

#define MAGIC		0x444e5244U	/* "DNRD" */
#define SILENCE_MIN_MS	100
#define SILENCE_MAX_MS	3600000
#define FLAG_MAY_FILL	1U
#define FLAG_DMABUF	2U
#define FLAG_PERSISTENT	4U
#define FLAGS_KNOWN	7U

static uint8_t *put(uint8_t *at, uint64_t value, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		at[i] = (uint8_t)(value >> (8 * (bytes - 1 - i)));
	return at + bytes;
}

static uint64_t get(const uint8_t **at, size_t bytes)
{
	uint64_t value = 0;

	for (size_t i = 0; i < bytes; i++)
		value = value << 8 | (*at)[i];
	*at += bytes;
	return value;
}

static uint8_t *put_head(uint8_t *at, uint32_t word)
{
	at = put(at, MAGIC, 4);
	at = put(at, DND_RDMA_VERSION, 2);
	return put(at, word, 2);
}

static int get_head(const uint8_t **at, uint32_t *word)
{
	if (get(at, 4) != MAGIC)
		return -EPROTO;
	if (get(at, 2) != DND_RDMA_VERSION)
		return -EPROTONOSUPPORT;
	*word = (uint32_t)get(at, 2);
	return 0;
}

void dnd_hello_encode(uint8_t bytes[DND_HELLO_BYTES])
{
	memset(bytes, 0, DND_HELLO_BYTES);
	put_head(bytes, 0);
}

int dnd_hello_decode(const void *bytes, size_t length)
{
	const uint8_t *at = bytes;
	uint32_t word;
	int rc;

	if (!bytes || length < DND_HELLO_BYTES)
		return -EPROTO;
	rc = get_head(&at, &word);
	if (rc)
		return rc;
	return word || get(&at, 8) ? -EPROTO : 0;
}

void dnd_offer_encode(const struct dnd_offer *offer, uint8_t bytes[DND_OFFER_BYTES])
{
	uint8_t *at = put_head(bytes, offer->status);

	at = put(at, offer->rights, 4);
	at = put(at, offer->rkey, 4);
	at = put(at, offer->address, 8);
	at = put(at, offer->length, 8);
	at = put(at, offer->nonce, 8);
	at = put(at, offer->silence_ms, 4);
	at = put(at, (offer->may_fill ? FLAG_MAY_FILL : 0) | (offer->dmabuf ? FLAG_DMABUF : 0) |
		 (offer->persistent ? FLAG_PERSISTENT : 0), 4);
	memset(at, 0, (size_t)(bytes + DND_OFFER_BYTES - at));
	memcpy(at, offer->target, DND_TARGET_BYTES - 1);
}

static bool is_name(const char *text, size_t bytes)
{
	size_t length = strnlen(text, bytes);

	for (size_t i = 0; i < length; i++)
		if (!isgraph((unsigned char)text[i]))
			return false;
	return length && length < bytes;
}

static bool offer_is_sound(const struct dnd_offer *offer, uint64_t flags)
{
	return offer->rights && !(offer->rights & ~DND_RIGHTS) && offer->length &&
	       offer->length <= UINT64_MAX - offer->address && !(flags & ~(uint64_t)FLAGS_KNOWN) &&
	       offer->silence_ms >= SILENCE_MIN_MS && offer->silence_ms <= SILENCE_MAX_MS &&
	       is_name(offer->target, sizeof(offer->target));
}

int dnd_offer_decode(struct dnd_offer *offer, const void *bytes, size_t length)
{
	const uint8_t *at = bytes;
	uint32_t status;
	uint64_t flags;
	int rc;

	memset(offer, 0, sizeof(*offer));
	if (!bytes || length < DND_OFFER_BYTES)
		return -EPROTO;
	rc = get_head(&at, &status);
	if (rc)
		return rc;
	if (status >= DND_STATUS_COUNT)
		return -EPROTO;
	offer->status = status;
	offer->rights = (uint32_t)get(&at, 4);
	offer->rkey = (uint32_t)get(&at, 4);
	offer->address = get(&at, 8);
	offer->length = get(&at, 8);
	offer->nonce = get(&at, 8);
	offer->silence_ms = (uint32_t)get(&at, 4);
	flags = get(&at, 4);
	offer->may_fill = flags & FLAG_MAY_FILL;
	offer->dmabuf = flags & FLAG_DMABUF;
	offer->persistent = flags & FLAG_PERSISTENT;
	memcpy(offer->target, at, sizeof(offer->target));
	if (status != DND_STATUS_OK)
		return 0;	/* a refusal has nothing but its status */
	return offer_is_sound(offer, flags) ? 0 : -EPROTO;
}

void dnd_message_encode(const struct dnd_message *message, uint8_t bytes[DND_MESSAGE_BYTES])
{
	uint8_t *at = put_head(bytes, message->type);

	at = put(at, message->status, 4);
	at = put(at, message->sequence, 4);
	at = put(at, message->nonce, 8);
	at = put(at, message->offset, 8);
	at = put(at, message->length, 8);
	at = put(at, message->seed, 8);
	at = put(at, message->where, 8);
	memset(at, 0, (size_t)(bytes + DND_MESSAGE_BYTES - at));
}

int dnd_message_decode(struct dnd_message *message, const void *bytes, size_t length)
{
	const uint8_t *at = bytes;
	uint32_t type;
	uint64_t status;
	int rc;

	memset(message, 0, sizeof(*message));
	if (!bytes || length != DND_MESSAGE_BYTES)
		return -EPROTO;
	rc = get_head(&at, &type);
	if (rc)
		return rc;
	status = get(&at, 4);
	if (type < DND_PING || type >= DND_TYPE_END || status >= DND_STATUS_COUNT)
		return -EPROTO;
	message->type = type;
	message->status = (enum dnd_rdma_status)status;
	message->sequence = (uint32_t)get(&at, 4);
	message->nonce = get(&at, 8);
	message->offset = get(&at, 8);
	message->length = get(&at, 8);
	message->seed = get(&at, 8);
	message->where = get(&at, 8);
	return get(&at, 8) ? -EPROTO : 0;
}
