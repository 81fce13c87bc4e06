/* SPDX-License-Identifier: Apache-2.0 */
/* One section of the configuration: a region that stays. */
#ifndef DONARD_REGIONSECTION_H
#define DONARD_REGIONSECTION_H

#include <limits.h>
#include <sys/types.h>

#include "donard/donard.h"

#define REGIONCONF_NAME_BYTES	49	/* what libinih keeps of a section's name */
#define REGIONCONF_MODE		0660	/* where none is given, as 60-p2pmem.rules */
#define REGIONCONF_GROUP	"p2pmem"

struct region_section {
	char name[REGIONCONF_NAME_BYTES];
	char file[PATH_MAX];
	unsigned int line;	/* of the section's head */
	unsigned int given;	/* bit N: the key N of the table */
	/* exactly one of these is not "" */
	char serial[64];
	char path[160];
	char slot[32];
	int function;		/* of a card with several, or -1 */
	enum donard_region_kind kind;
	unsigned int bar;
	uint64_t offset_bytes;
	uint64_t length_bytes;
	enum donard_page_type page_type;
	enum donard_memtype memtype;
	uint64_t folio_bytes;	/* 0: single pages, as 4096 */
	bool pinned_importers;
	char user[33];
	char group[33];
	mode_t mode;
};

#endif /* DONARD_REGIONSECTION_H */
