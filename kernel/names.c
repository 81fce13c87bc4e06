// SPDX-License-Identifier: GPL-2.0
/* Names of functions.  See names.h. */
#include "names.h"

#ifdef __KERNEL__
#include <linux/kernel.h>
#include <linux/string.h>
#else /* tests/unit/test_names.c: nothing is cut here */
#include <stdio.h>
#include <string.h>
#define scnprintf snprintf
#endif

/* p2pmem_names_add() always leaves room for this ending.  No machine has more functions. */
#define LAST_BYTES	sizeof(" and 99999 more")

void p2pmem_names_add(struct p2pmem_names *names, const char *name)
{
	size_t room = sizeof(names->text) - names->used;

	if (names->left_out || strlen(name) + strlen(", ") + LAST_BYTES > room) {
		names->left_out++;
		return;
	}
	names->used += scnprintf(names->text + names->used, room, "%s%s",
				 names->count ? ", " : "", name);
	names->count++;
}

void p2pmem_names_end(struct p2pmem_names *names)
{
	if (names->left_out)
		names->used += scnprintf(names->text + names->used,
					 sizeof(names->text) - names->used,
					 " and %u more", names->left_out);
}
