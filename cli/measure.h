/* SPDX-License-Identifier: Apache-2.0 */
/* The results of a meter, as JSON and as text. */
#ifndef DONARD_MEASURE_H
#define DONARD_MEASURE_H

#include <json-c/json.h>

#include "command.h"
#include "donard/meter.h"

/* Opens the meter for --measure and --meter; *meter is NULL if neither is given. */
int cli_open_meter(const struct cli *cli, struct donard_meter **meter);
void cli_add_measurement(struct json_object *model, const struct donard_measurement *measurement,
			 uint64_t payload_bytes);
void cli_print_measurement(const struct donard_measurement *measurement, uint64_t payload_bytes);

#endif /* DONARD_MEASURE_H */
