/* SPDX-License-Identifier: Apache-2.0 */
/* The status of a cache server, as JSON and as text. */
#ifndef DONARD_CACHEMODEL_H
#define DONARD_CACHEMODEL_H

#include <json-c/json.h>
#include <stdio.h>

#include "donard/cache.h"

struct json_object *cli_cache_model(const struct donard_cache_status *status);
void cli_cache_print(FILE *out, const struct donard_cache_status *status);

#endif /* DONARD_CACHEMODEL_H */
