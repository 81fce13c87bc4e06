/* SPDX-License-Identifier: Apache-2.0 */
/* Words of sysfs as numbers.  The functions for the other enumerations are public. */
#ifndef DND_REGION_NAMES_H
#define DND_REGION_NAMES_H

#include "donard/donard.h"

enum donard_region_state dnd_region_state_of(const char *word);
/* "bar", "cmb": never NULL */
const char *dnd_region_suffix(enum donard_region_kind kind);
/* Returns N of "p2pmemN", or -1. */
int dnd_region_number(const char *name);

#endif /* DND_REGION_NAMES_H */
