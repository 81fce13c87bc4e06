// SPDX-License-Identifier: Apache-2.0
/* See wire.h. */
#include <stdio.h>

#include "cache/wire.h"
#include "rdma/rdma.h"

#define BLOCK_MIN_BYTES	512
#define BLOCK_MAX_BYTES	65536
#define OFFER_FLAGS	(DND_WIRE_VOLATILE | DND_WIRE_READ_BACK)

static const struct dnd_protocol protocol = { .magic = 0x444e5743U /* "DNWC" */, .version = DND_WIRE_VERSION };

/* ---- hello ---- */

void dnd_wire_hello_encode(const struct dnd_wire_hello *hello,
			   uint8_t bytes[DND_WIRE_HELLO_BYTES])
{
	uint8_t *at = dnd_put_head(bytes, &protocol, 0);

	at = dnd_put_be(at, hello->depth, 4);
	dnd_put_be(at, 0, 4);
}

int dnd_wire_hello_decode(struct dnd_wire_hello *hello, const void *bytes, size_t length)
{
	const uint8_t *at = bytes;
	uint32_t word;
	int rc;

	memset(hello, 0, sizeof(*hello));
	if (!bytes || length < DND_WIRE_HELLO_BYTES)
		return -EPROTO;
	rc = dnd_get_head(&at, &protocol, &word);
	if (rc)
		return rc;
	hello->depth = (uint32_t)dnd_get_be(&at, 4);
	return word || dnd_get_be(&at, 4) ? -EPROTO : 0;
}

/* ---- offer ---- */

static uint8_t *put_name(uint8_t *at, const char *name, size_t bytes)
{
	snprintf((char *)at, bytes, "%s", name);
	return at + bytes;
}

void dnd_wire_offer_encode(const struct dnd_wire_offer *offer,
			   uint8_t bytes[DND_WIRE_OFFER_BYTES])
{
	uint8_t *at = bytes;

	memset(bytes, 0, DND_WIRE_OFFER_BYTES);
	at = dnd_put_head(at, &protocol, offer->status);
	at = dnd_put_be(at, offer->flags, 4);
	at = dnd_put_be(at, offer->depth, 4);
	at = dnd_put_be(at, offer->nonce, 8);
	at = dnd_put_be(at, offer->window_address, 8);
	at = dnd_put_be(at, offer->window_bytes, 8);
	at = dnd_put_be(at, offer->window_rkey, 4);
	at = dnd_put_be(at, offer->silence_ms, 4);
	at = dnd_put_be(at, offer->block_bytes, 4);
	at = dnd_put_be(at, offer->request_bytes_max, 4);
	at = dnd_put_be(at, offer->drive_bytes, 8);
	at = dnd_put_be(at, offer->identity, 8);
	at = put_name(at, offer->drive, sizeof(offer->drive));
	put_name(at, offer->nvram, sizeof(offer->nvram));
}

static bool is_block(uint32_t bytes)
{
	return bytes >= BLOCK_MIN_BYTES && bytes <= BLOCK_MAX_BYTES && !(bytes & (bytes - 1));
}

static bool window_is_sound(const struct dnd_wire_offer *offer)
{
	return is_block(offer->block_bytes) && offer->window_bytes &&
	       !(offer->window_bytes % offer->block_bytes) &&
	       offer->window_bytes <= UINT64_MAX - offer->window_address &&
	       offer->request_bytes_max && !(offer->request_bytes_max % offer->block_bytes) &&
	       offer->request_bytes_max <= offer->window_bytes;
}

static bool offer_is_sound(const struct dnd_wire_offer *offer)
{
	return !(offer->flags & ~OFFER_FLAGS) && offer->depth &&
	       offer->depth <= DND_WIRE_DEPTH_MAX && window_is_sound(offer) &&
	       offer->drive_bytes && !(offer->drive_bytes % offer->block_bytes) &&
	       dnd_is_silence(offer->silence_ms) &&
	       dnd_is_name(offer->drive, sizeof(offer->drive)) &&
	       dnd_is_name(offer->nvram, sizeof(offer->nvram));
}

static void get_offer(struct dnd_wire_offer *offer, const uint8_t *at)
{
	offer->flags = (uint32_t)dnd_get_be(&at, 4);
	offer->depth = (uint32_t)dnd_get_be(&at, 4);
	offer->nonce = dnd_get_be(&at, 8);
	offer->window_address = dnd_get_be(&at, 8);
	offer->window_bytes = dnd_get_be(&at, 8);
	offer->window_rkey = (uint32_t)dnd_get_be(&at, 4);
	offer->silence_ms = (uint32_t)dnd_get_be(&at, 4);
	offer->block_bytes = (uint32_t)dnd_get_be(&at, 4);
	offer->request_bytes_max = (uint32_t)dnd_get_be(&at, 4);
	offer->drive_bytes = dnd_get_be(&at, 8);
	offer->identity = dnd_get_be(&at, 8);
	memcpy(offer->drive, at, sizeof(offer->drive));
	memcpy(offer->nvram, at + sizeof(offer->drive), sizeof(offer->nvram));
}

int dnd_wire_offer_decode(struct dnd_wire_offer *offer, const void *bytes, size_t length)
{
	const uint8_t *at = bytes;
	uint32_t status;
	int rc;

	memset(offer, 0, sizeof(*offer));
	if (!bytes || length < DND_WIRE_OFFER_BYTES)
		return -EPROTO;
	rc = dnd_get_head(&at, &protocol, &status);
	if (rc)
		return rc;
	if (status >= DND_WIRE_STATUS_COUNT)
		return -EPROTO;
	offer->status = status;
	if (status != DND_WIRE_OK)
		return 0;	/* a refusal has nothing but its status */
	get_offer(offer, at);
	return offer_is_sound(offer) ? 0 : -EPROTO;
}

/* ---- messages ---- */

enum part {
	ID = 1, RANGE = 2, ADDRESS = 4, KEY = 8, STATUS = 16, RELEASED = 32,
};

/* The parts that a message of each type has; all other members are zero. */
static const struct {
	unsigned int parts;
	uint32_t flags;
} types[DND_WIRE_TYPE_END] = {
	[DND_WIRE_WRITE] = { ID | RANGE | ADDRESS | KEY, 0 },
	[DND_WIRE_READ] = { ID | RANGE | ADDRESS | KEY, 0 },
	[DND_WIRE_TRIM] = { ID | RANGE, 0 },
	[DND_WIRE_FLUSH] = { ID, DND_WIRE_TO_DRIVE },
	[DND_WIRE_PING] = { 0, 0 },
	[DND_WIRE_GOT] = { 0, 0 },
	[DND_WIRE_BYE] = { ID, 0 },
	[DND_WIRE_DONE] = { ID | STATUS | RELEASED, DND_WIRE_VOLATILE },
	[DND_WIRE_ALIVE] = { 0, 0 },
	[DND_WIRE_RELEASED] = { RELEASED | STATUS, 0 },
	[DND_WIRE_WITHDRAWN] = { STATUS, 0 },
};

void dnd_wire_encode(const struct dnd_wire_message *message,
		     uint8_t bytes[DND_WIRE_MESSAGE_BYTES])
{
	uint8_t *at = dnd_put_head(bytes, &protocol, message->type);

	at = dnd_put_be(at, message->nonce, 8);
	at = dnd_put_be(at, message->id, 4);
	at = dnd_put_be(at, message->status, 4);
	at = dnd_put_be(at, message->drive_offset, 8);
	at = dnd_put_be(at, message->length, 8);
	at = dnd_put_be(at, message->address, 8);
	at = dnd_put_be(at, message->key, 4);
	at = dnd_put_be(at, message->flags, 4);
	dnd_put_be(at, message->released, 8);
}

static bool message_is_sound(const struct dnd_wire_message *message)
{
	const unsigned int parts = types[message->type].parts;

	if (message->flags & ~types[message->type].flags)
		return false;
	if (parts & RANGE ? !message->length : message->drive_offset || message->length)
		return false;
	return (parts & ID || !message->id) && (parts & ADDRESS || !message->address) &&
	       (parts & KEY || !message->key) && (parts & STATUS || !message->status) &&
	       (parts & RELEASED || !message->released);
}

int dnd_wire_decode(struct dnd_wire_message *message, uint64_t nonce, const void *bytes,
		    size_t length)
{
	const uint8_t *at = bytes;
	uint32_t type;
	uint64_t status;
	int rc;

	memset(message, 0, sizeof(*message));
	if (!bytes || length != DND_WIRE_MESSAGE_BYTES)
		return -EPROTO;
	rc = dnd_get_head(&at, &protocol, &type);
	if (rc)
		return rc;
	message->nonce = dnd_get_be(&at, 8);
	message->id = (uint32_t)dnd_get_be(&at, 4);
	status = dnd_get_be(&at, 4);
	if (type < DND_WIRE_WRITE || type >= DND_WIRE_TYPE_END || status >= DND_WIRE_STATUS_COUNT ||
	    message->nonce != nonce)
		return -EPROTO;
	message->type = type;
	message->status = (enum dnd_wire_status)status;
	message->drive_offset = dnd_get_be(&at, 8);
	message->length = dnd_get_be(&at, 8);
	message->address = dnd_get_be(&at, 8);
	message->key = (uint32_t)dnd_get_be(&at, 4);
	message->flags = (uint32_t)dnd_get_be(&at, 4);
	message->released = dnd_get_be(&at, 8);
	return message_is_sound(message) ? 0 : -EPROTO;
}
