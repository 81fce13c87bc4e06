// SPDX-License-Identifier: Apache-2.0
/* Runs a meter during the timed part of a copy or an RDMA transfer. */
#include <errno.h>

#include "meter/kind.h"

static int take(struct donard_context *ctx, struct donard_metering *metering, const void *user)
{
	int rc = dnd_struct_copy(metering, sizeof(*metering), user);

	if (rc == -E2BIG)
		return dnd_meter_fail(ctx, DND_E_TOO_NEW, "struct donard_metering has members set that this library does not "
				      "know");
	if (rc || (metering->meter && (!metering->measurement || !dnd_struct_has_size(metering->measurement))))
		return dnd_meter_fail(ctx, DND_E_BAD_OPTION, "struct donard_metering has no size, or a meter without a "
				      "measurement to fill in.");
	rc = dnd_handle_check(DND_A_METER, metering->meter, "donard_meter_interval_begin");
	if (rc)
		return rc;
	/* The text of a failure must be in the context that the caller reads. */
	if (metering->meter && metering->meter->ctx != ctx)
		return dnd_meter_fail(ctx, DND_E_BAD_OPTION, "the meter was opened with another context than that of the copy or "
				      "transfer. Use one.");
	return 0;
}

/* The payload counts as the meter's own for this measurement only; a failure takes it out again. */
static int begin(const struct donard_interval *interval, struct donard_meter *meter)
{
	size_t before = meter->own_count;
	int rc = 0;

	for (size_t i = 0; i < interval->payload_count && !rc; i++)
		rc = donard_meter_own(meter, interval->payload[i].address, interval->payload[i].length_bytes);
	if (!rc)
		rc = donard_meter_begin(meter);
	if (rc)
		meter->own_count = before;	/* the caller frees the memory */
	return rc;
}

DND_METER_PUBLIC int donard_meter_interval_begin(void *user, const struct donard_interval *interval)
{
	struct donard_metering metering;
	int rc = take(interval->ctx, &metering, user);

	return rc || !metering.meter ? rc : begin(interval, metering.meter);
}

DND_METER_PUBLIC int donard_meter_interval_end(void *user, const struct donard_interval *interval, int rc)
{
	struct donard_metering metering;
	int failed = take(interval->ctx, &metering, user);

	(void)rc;	/* the copy or transfer reports that itself */
	return failed || !metering.meter ? failed : donard_meter_end(metering.meter, metering.measurement);
}
