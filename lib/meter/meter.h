/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the room meter offers besides the public calls of donard/meter.h: a
 * bracket round work of the library itself.
 */
#ifndef DND_METER_H
#define DND_METER_H

#include "base/base.h"
#include "donard/meter.h"

/* Memory of this process that carries payload although no DMA touches it. */
struct dnd_owned {
	const void *memory;
	size_t bytes;
};

/* The meter owns that memory for this one measurement; nothing is left of a failure. */
int dnd_meter_begin(struct donard_context *ctx, struct donard_meter *meter,
		    const struct dnd_owned *own, size_t own_count);
/*
 * @rc: of the work.  What made it fail is the news, not what became of the
 * measurement.  Returns @rc, or if that is 0 the failure of the measurement.
 */
int dnd_meter_end(struct donard_context *ctx, struct donard_meter *meter,
		  struct donard_measurement *measurement, int rc);

#endif /* DND_METER_H */
