// SPDX-License-Identifier: Apache-2.0
/* See head.h. */
#include <ctype.h>

#include "rdma/head.h"

#define SILENCE_MIN_MS	100
#define SILENCE_MAX_MS	3600000

uint8_t *dnd_put_head(uint8_t *at, const struct dnd_protocol *protocol, uint32_t word)
{
	at = dnd_put_be(at, protocol->magic, 4);
	at = dnd_put_be(at, protocol->version, 2);
	return dnd_put_be(at, word, 2);
}

int dnd_get_head(const uint8_t **at, const struct dnd_protocol *protocol, uint32_t *word)
{
	if (dnd_get_be(at, 4) != protocol->magic)
		return -EPROTO;
	if (dnd_get_be(at, 2) != protocol->version)
		return -EPROTONOSUPPORT;
	*word = (uint32_t)dnd_get_be(at, 2);
	return 0;
}

bool dnd_is_name(const char *text, size_t bytes)
{
	size_t length = strnlen(text, bytes);

	for (size_t i = 0; i < length; i++)
		if (!isgraph((unsigned char)text[i]))
			return false;
	return length && length < bytes;
}

bool dnd_is_silence(uint32_t ms)
{
	return ms >= SILENCE_MIN_MS && ms <= SILENCE_MAX_MS;
}
