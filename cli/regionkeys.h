/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a section, and what each takes. */
#ifndef DONARD_REGIONKEYS_H
#define DONARD_REGIONKEYS_H

#include <stddef.h>

#include "regionsection.h"

struct region_key {
	const char *name;
	/* False with a cause and remedy in @why. */
	bool (*take)(struct region_section *section, const char *value, char *why,
		     size_t why_bytes);
};

extern const struct region_key region_keys[];	/* ends with a NULL name */

/* May folios have that size?  4096 is the default, too. */
bool regionkeys_folio(uint64_t bytes);

/* Does the section, at its end, describe a region?  As above. */
bool regionkeys_complete(const struct region_section *section, char *why, size_t why_bytes);

#endif /* DONARD_REGIONKEYS_H */
