/* SPDX-License-Identifier: Apache-2.0 */
/* The monotonic clock.  It uses no context, because libdonard-meter is built with the same file. */
#ifndef DND_CLOCK_H
#define DND_CLOCK_H

#include <stdint.h>

uint64_t dnd_now_ns(void);
double dnd_now_seconds(void);

#endif /* DND_CLOCK_H */
