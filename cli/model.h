/* SPDX-License-Identifier: Apache-2.0 */
/* Regions and clients as JSON objects. */
#ifndef DONARD_MODEL_H
#define DONARD_MODEL_H

#include <json-c/json.h>

#include "donard/donard.h"

struct json_object *cli_model_region(const struct donard_region_info *info);
/* Those of a region; NULL if the caller may not see them. */
struct json_object *cli_model_holders(const char *holders);
struct json_object *cli_model_client(const struct donard_client_info *info);

#endif /* DONARD_MODEL_H */
