/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The common part of the protocols between clients and servers: the head of every message, and
 * limits for an offer.  Like the protocols themselves, these functions touch no device.
 */
#ifndef DONARD_RDMA_HEAD_H
#define DONARD_RDMA_HEAD_H

#include "base/base.h"

struct dnd_protocol {
	uint32_t magic;
	uint32_t version;
};

/* @word: the type of a message, or the status of an offer.  Returns the place behind the head. */
uint8_t *dnd_put_head(uint8_t *at, const struct dnd_protocol *protocol, uint32_t word);
/* Moves @at behind the head.  -EPROTO for another protocol, -EPROTONOSUPPORT for another version. */
int dnd_get_head(const uint8_t **at, const struct dnd_protocol *protocol, uint32_t *word);

/* Is @text fit to be shown?  It must be printable, without blanks, not empty, and end within @bytes. */
bool dnd_is_name(const char *text, size_t bytes);

/* For how long a client may be silent. */
#define DND_SILENCE_MIN_MS	100
#define DND_SILENCE_MAX_MS	3600000
bool dnd_is_silence(uint32_t ms);
/* For a server's options: fails with a text unless clients accept its timeout_ms. */
int dnd_check_silence(struct donard_context *ctx, uint32_t ms);

#endif /* DONARD_RDMA_HEAD_H */
