// SPDX-License-Identifier: Apache-2.0
/* See protocol.h. */
#include "rdma/head.h"
#include "rdma/protocol.h"

#define FLAG_DMABUF	1U
#define FLAG_PERSISTENT	2U
#define FLAG_READ_BACK	4U
#define FLAGS_KNOWN	7U

/* The flag of a hello. */
#define FLAG_READS_OPTIONAL	1U

/* The flag of a message. */
#define FLAG_DURABLE	1U

static const struct dnd_protocol protocol = { .magic = 0x444e5244U /* "DNRD" */, .version = DND_RDMA_VERSION };

void dnd_hello_encode(const struct dnd_hello *hello, uint8_t bytes[DND_HELLO_BYTES])
{
	memset(bytes, 0, DND_HELLO_BYTES);
	dnd_put_head(bytes, &protocol, hello->reads_optional ? FLAG_READS_OPTIONAL : 0);
}

int dnd_hello_decode(struct dnd_hello *hello, const void *bytes, size_t length)
{
	const uint8_t *at = bytes;
	uint32_t flags;
	int rc;

	memset(hello, 0, sizeof(*hello));
	if (!bytes || length < DND_HELLO_BYTES)
		return -EPROTO;
	rc = dnd_get_head(&at, &protocol, &flags);
	if (rc)
		return rc;
	hello->reads_optional = flags & FLAG_READS_OPTIONAL;
	return flags & ~FLAG_READS_OPTIONAL || dnd_get_be(&at, 8) ? -EPROTO : 0;
}

void dnd_offer_encode(const struct dnd_offer *offer, uint8_t bytes[DND_OFFER_BYTES])
{
	uint8_t *at = dnd_put_head(bytes, &protocol, offer->status);

	at = dnd_put_be(at, offer->rights, 4);
	at = dnd_put_be(at, offer->rkey, 4);
	at = dnd_put_be(at, offer->address, 8);
	at = dnd_put_be(at, offer->length, 8);
	at = dnd_put_be(at, offer->nonce, 8);
	at = dnd_put_be(at, offer->silence_ms, 4);
	at = dnd_put_be(at, (offer->dmabuf ? FLAG_DMABUF : 0) | (offer->persistent ? FLAG_PERSISTENT : 0) |
		 (offer->read_back ? FLAG_READ_BACK : 0), 4);
	at = dnd_put_be(at, offer->services, 4);
	memset(at, 0, (size_t)(bytes + DND_OFFER_BYTES - at));
	memcpy(at, offer->target, DND_TARGET_BYTES - 1);
}

static bool offer_is_sound(const struct dnd_offer *offer, uint64_t flags)
{
	return offer->rights && !(offer->rights & ~DND_RIGHTS) && offer->length &&
	       offer->length <= UINT64_MAX - offer->address && !(flags & ~(uint64_t)FLAGS_KNOWN) &&
	       (!offer->read_back || offer->rights & DONARD_RDMA_READ) && dnd_is_silence(offer->silence_ms) &&
	       dnd_is_name(offer->target, sizeof(offer->target));
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
	rc = dnd_get_head(&at, &protocol, &status);
	if (rc)
		return rc;
	if (status >= DND_STATUS_COUNT)
		return -EPROTO;
	offer->status = status;
	offer->rights = (uint32_t)dnd_get_be(&at, 4);
	offer->rkey = (uint32_t)dnd_get_be(&at, 4);
	offer->address = dnd_get_be(&at, 8);
	offer->length = dnd_get_be(&at, 8);
	offer->nonce = dnd_get_be(&at, 8);
	offer->silence_ms = (uint32_t)dnd_get_be(&at, 4);
	flags = dnd_get_be(&at, 4);
	offer->dmabuf = flags & FLAG_DMABUF;
	offer->persistent = flags & FLAG_PERSISTENT;
	offer->read_back = flags & FLAG_READ_BACK;
	offer->services = (uint32_t)dnd_get_be(&at, 4);
	memcpy(offer->target, at, sizeof(offer->target));
	if (status != DND_STATUS_OK)
		return 0;	/* a refusal has nothing but its status */
	return offer_is_sound(offer, flags) ? 0 : -EPROTO;
}

void dnd_message_encode(const struct dnd_message *message, uint8_t bytes[DND_MESSAGE_BYTES])
{
	uint8_t *at = dnd_put_head(bytes, &protocol, message->type);

	at = dnd_put_be(at, message->status, 4);
	at = dnd_put_be(at, message->sequence, 4);
	at = dnd_put_be(at, message->nonce, 8);
	at = dnd_put_be(at, message->offset, 8);
	at = dnd_put_be(at, message->length, 8);
	at = dnd_put_be(at, message->value, 8);
	at = dnd_put_be(at, message->word, 4);
	at = dnd_put_be(at, 0, 4);
	at = dnd_put_be(at, message->durable ? FLAG_DURABLE : 0, 4);
	dnd_put_be(at, message->resets, 4);
}

int dnd_message_decode(struct dnd_message *message, const void *bytes, size_t length)
{
	const uint8_t *at = bytes;
	uint64_t status, flags, reserved;
	uint32_t type;
	int rc;

	memset(message, 0, sizeof(*message));
	if (!bytes || length != DND_MESSAGE_BYTES)
		return -EPROTO;
	rc = dnd_get_head(&at, &protocol, &type);
	if (rc)
		return rc;
	status = dnd_get_be(&at, 4);
	if (type < DND_PING || type >= DND_TYPE_END || status >= DND_STATUS_COUNT)
		return -EPROTO;
	message->type = type;
	message->status = (enum dnd_rdma_status)status;
	message->sequence = (uint32_t)dnd_get_be(&at, 4);
	message->nonce = dnd_get_be(&at, 8);
	message->offset = dnd_get_be(&at, 8);
	message->length = dnd_get_be(&at, 8);
	message->value = dnd_get_be(&at, 8);
	message->word = (uint32_t)dnd_get_be(&at, 4);
	reserved = dnd_get_be(&at, 4);
	flags = dnd_get_be(&at, 4);
	message->durable = flags & FLAG_DURABLE;
	message->resets = (uint32_t)dnd_get_be(&at, 4);
	return reserved || flags & ~(uint64_t)FLAG_DURABLE ? -EPROTO : 0;
}
