/* SPDX-License-Identifier: GPL-2.0 */
/* Names of PCI functions in a text for people, which says how many did not fit. */
#ifndef P2PMEM_NAMES_H
#define P2PMEM_NAMES_H

#ifdef __KERNEL__
#include <linux/types.h>
#else /* tests/unit/test_names.c */
#include <stddef.h>
#endif

/* The part of P2PMEM_REASON_BYTES that names of functions may take. */
#define P2PMEM_NAMES_BYTES	84

/**
 * struct p2pmem_names - names that are added one by one; zeroed before the first
 * @text: "A, B", always NUL-terminated
 * @used: its length, without the NUL
 * @count: the names that it has
 * @left_out: the names that did not fit; after the first of them no other is added
 */
struct p2pmem_names {
	char text[P2PMEM_NAMES_BYTES];
	size_t used;
	unsigned int count;
	unsigned int left_out;
};

void p2pmem_names_add(struct p2pmem_names *names, const char *name);
/* Appends " and N more" if some were left out. */
void p2pmem_names_end(struct p2pmem_names *names);

#endif
