// SPDX-License-Identifier: Apache-2.0
/* CRC-32C (RFC 3720, appendix B.4), by Intel's library, which uses the processor's instructions. */
#include <isa-l/crc.h>

#include "cache/log.h"

#define STEP_BYTES	(1U << 30)	/* the library's lengths are ints */

uint32_t dnd_cache_checksum(uint32_t before, const void *bytes, size_t length_bytes)
{
	unsigned char *at = (unsigned char *)bytes;	/* the library takes no const, but changes nothing */
	uint32_t sum = ~before;

	while (length_bytes) {
		size_t step = length_bytes < STEP_BYTES ? length_bytes : STEP_BYTES;

		sum = crc32_iscsi(at, (int)step, sum);
		at += step;
		length_bytes -= step;
	}
	return ~sum;
}

uint32_t dnd_cache_super_checksum(const struct dnd_cache_super *super)
{
	struct dnd_cache_super copy = *super;

	copy.checksum = 0;
	return dnd_cache_checksum(0, &copy, sizeof(copy));
}

uint32_t dnd_cache_tail_checksum(const struct dnd_cache_tail *tail)
{
	struct dnd_cache_tail copy = *tail;

	copy.checksum = 0;
	return dnd_cache_checksum(0, &copy, sizeof(copy));
}

uint32_t dnd_cache_record_checksum(const struct dnd_cache_record *record)
{
	struct dnd_cache_record copy = *record;

	copy.checksum = 0;
	return dnd_cache_checksum(0, &copy, sizeof(copy));
}

uint64_t dnd_cache_record_at(const struct dnd_cache_super *super, uint64_t sequence)
{
	return DND_CACHE_RECORDS_AT + sequence % super->records * sizeof(struct dnd_cache_record);
}
