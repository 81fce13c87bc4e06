/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a section, and the values that they take. */
#ifndef DONARD_REGIONKEYS_H
#define DONARD_REGIONKEYS_H

#include <stddef.h>

#include "regionsection.h"

/* The unit of offsets and lengths. */
#define REGIONKEYS_UNIT_BYTES	(2ULL << 20)

/* Rounds down to whole units. */
static inline uint64_t regionkeys_whole(uint64_t bytes)
{
	return bytes - bytes % REGIONKEYS_UNIT_BYTES;
}

struct region_key {
	const char *name;
	/* Takes the value; returns false, with a cause and remedy in @why, if it is bad. */
	bool (*take)(struct region_section *section, const char *value, char *why,
		     size_t why_bytes);
};

extern const struct region_key region_keys[];	/* ends with a NULL name */

/* Is there a # behind a blank?  No comment begins there, though people mean one. */
bool regionkeys_is_commented(const char *value);

/*
 * After a lookup of a user or group that began with errno 0, found nothing, and left @error: does no such entry exist?  False
 * if that is unknown, as when the user database's service is not up yet at boot.
 */
bool regionkeys_is_none(int error);

/* Does the section have that key? */
bool regionkeys_given(const struct region_section *section, const char *name);

/* Does a region of this kind take the key "bar"?  An NVMe controller reports the BAR itself. */
bool regionkeys_take_bar(enum donard_region_kind kind);

/* May folios have that size?  4096, which stands for the default, counts too. */
bool regionkeys_folio(uint64_t bytes);

/* Checks, at the end of a section, that it describes a region; returns false with a cause and remedy in @why if not. */
bool regionkeys_complete(const struct region_section *section, char *why, size_t why_bytes);

#endif /* DONARD_REGIONKEYS_H */
