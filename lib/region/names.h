/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of the kernel's interface <-> words; 0 or NULL when unknown. */
#ifndef DND_REGION_NAMES_H
#define DND_REGION_NAMES_H

#include <stdint.h>

uint32_t dnd_kind_number(const char *word);
uint32_t dnd_page_type_number(const char *word);
uint32_t dnd_memtype_number(const char *word);
const char *dnd_route_word(uint32_t route);
/* N of "p2pmemN", or -1. */
int dnd_region_number(const char *name);

#endif /* DND_REGION_NAMES_H */
