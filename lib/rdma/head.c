// SPDX-License-Identifier: Apache-2.0
/* See head.h. */
#include <ctype.h>

#include "rdma/head.h"

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
	return ms >= DND_SILENCE_MIN_MS && ms <= DND_SILENCE_MAX_MS;
}

int dnd_check_silence(struct donard_context *ctx, uint32_t ms)
{
	if (dnd_is_silence(ms))
		return 0;
	return dnd_fail_member(ctx, DND_E_BAD_OPTION, ms < DND_SILENCE_MIN_MS ?
			       DND_LEAST("options.timeout_ms", ms, DND_SILENCE_MIN_MS) :
			       DND_MOST("options.timeout_ms", ms, DND_SILENCE_MAX_MS),
			       "options.timeout_ms is %u: clients take %u to %u.", ms, DND_SILENCE_MIN_MS, DND_SILENCE_MAX_MS);
}
