/* SPDX-License-Identifier: Apache-2.0 */
/* PCI addresses, "0000:03:00.0" or "03:00.0". */
#ifndef DND_BDF_H
#define DND_BDF_H

#include <stdbool.h>
#include <stdint.h>

#include "donard/donard.h"

struct dnd_bdf {
	uint32_t domain;
	uint8_t bus;
	uint8_t devfn;
};

/* Returns 0 or -EINVAL. */
int dnd_bdf_parse(const char *text, struct dnd_bdf *bdf);
bool dnd_is_bdf(const char *text);
/* In the form with a domain, and in lower case, as sysfs has it. */
void dnd_bdf_format(char text[DONARD_BDF_BYTES], struct dnd_bdf bdf);

#endif /* DND_BDF_H */
