/* SPDX-License-Identifier: Apache-2.0 */
/* Places as tests write them, "p2pmem0+64K": the library takes a name and an offset. */
#ifndef PLACE_H
#define PLACE_H

#include "donard/donard.h"
#include "unit.h"

/* Returns the name, and adds the offset to *offset. */
static inline const char *name_of_place(const char *place, char name[32], uint64_t *offset)
{
	size_t length = strcspn(place, "+");
	uint64_t bytes = 0;

	if (!place[length] || length >= 32)
		return place;
	snprintf(name, 32, "%.*s", (int)length, place);
	assert_int_equal(donard_parse_size(place + length + 1, &bytes), 0);
	*offset += bytes;
	return name;
}

#endif /* PLACE_H */
