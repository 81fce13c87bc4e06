/* SPDX-License-Identifier: Apache-2.0 */
/* What a meter counted, as JSON and as text. */
#ifndef DONARD_MEASURE_H
#define DONARD_MEASURE_H

#include <json-c/json.h>

#include "command.h"
#include "donard/meter.h"

/* --measure and --meter; *meter is NULL without them. */
int cli_open_meter(const struct cli *cli, struct donard_meter **meter);
void cli_add_measurement(struct json_object *model, const struct donard_measurement *measurement,
			 uint64_t payload_bytes);
/* From the model that cli_add_measurement() filled; nothing when it did not. */
void cli_print_measurement(struct json_object *model);

#endif /* DONARD_MEASURE_H */
