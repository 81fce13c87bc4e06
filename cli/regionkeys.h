/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a section, and the values that they take. */
#ifndef DONARD_REGIONKEYS_H
#define DONARD_REGIONKEYS_H

#include <stddef.h>

#include "regionsection.h"

/* Of offsets and lengths. */
#define REGIONKEYS_UNIT_BYTES	(2ULL << 20)

/* The whole units in so many bytes. */
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

/* Does a # stand behind a blank?  No comment begins there, but people mean one. */
bool regionkeys_is_commented(const char *value);

/*
 * Does a lookup of a user or a group that began with errno 0, found nothing, and left @error, say that there is none?  A
 * service that is not up yet, as at boot, is no answer.
 */
bool regionkeys_is_none(int error);

/* Does the section have that key? */
bool regionkeys_given(const struct region_section *section, const char *name);

/* Is it said which BAR such a region lies in?  An NVMe controller names the BAR itself. */
bool regionkeys_take_bar(enum donard_region_kind kind);

/* May folios have that size?  4096, which stands for the default, counts too. */
bool regionkeys_folio(uint64_t bytes);

/* Checks, at the end of a section, that it describes a region; returns false with a cause and remedy in @why if not. */
bool regionkeys_complete(const struct region_section *section, char *why, size_t why_bytes);

#endif /* DONARD_REGIONKEYS_H */
