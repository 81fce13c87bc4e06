/* SPDX-License-Identifier: Apache-2.0 */
/* Failures with libdonard's error words, reported through its public donard_fail(). */
#ifndef DND_METER_FAIL_H
#define DND_METER_FAIL_H

#include "base/failure.h"
#include "donard/donard.h"

/* Each sets the text of the context and returns the negative errno. */
int dnd_meter_fail(struct donard_context *ctx, enum dnd_error error, const char *format, ...) DND_PRINTF(3, 4);
int dnd_meter_fail_errno(struct donard_context *ctx, int error_number, const char *format, ...) DND_PRINTF(3, 4);
/* Like dnd_meter_fail_errno(), and appends @remedy if the errno is EACCES or EPERM. */
int dnd_meter_fail_access(struct donard_context *ctx, int error_number, const char *remedy, const char *format,
			  ...) DND_PRINTF(4, 5);
int dnd_meter_fail_memory(struct donard_context *ctx);

#endif /* DND_METER_FAIL_H */
