/* SPDX-License-Identifier: Apache-2.0 */
/* One section of the configuration: a permanent region. */
#ifndef DONARD_REGIONSECTION_H
#define DONARD_REGIONSECTION_H

#include <limits.h>
#include <sys/types.h>

#include "donard/donard.h"

#define REGIONCONF_NAME_BYTES	49	/* libinih keeps no more of a section's name */
#define REGIONCONF_MODE		0660	/* the default, as in 60-p2pmem.rules */
#define REGIONCONF_GROUP	"p2pmem"
/* The name of a user or group: a directory service's are longer than useradd's 32 characters. */
#define REGIONCONF_WHO_BYTES	161

struct region_section {
	char name[REGIONCONF_NAME_BYTES];
	char file[PATH_MAX];
	unsigned int line;	/* of the section's head */
	unsigned int given;	/* bit N: the section has key N of the table */
	/* Exactly one of the next three is set, and the others are "". */
	char serial[64];
	char path[160];
	char slot[32];
	int function;		/* which function of the card, or -1 */
	enum donard_region_kind kind;
	unsigned int bar;
	uint64_t offset_bytes;
	uint64_t length_bytes;
	enum donard_page_type page_type;
	enum donard_memtype memtype;
	uint64_t folio_bytes;	/* 0: single pages, the same as 4096 */
	bool pinned_importers;
	char user[REGIONCONF_WHO_BYTES];
	char group[REGIONCONF_WHO_BYTES];
	mode_t mode;
};

#endif /* DONARD_REGIONSECTION_H */
