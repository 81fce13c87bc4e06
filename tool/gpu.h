/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs as JSON objects, and a table of these objects. */
#ifndef DONARD_TOOL_GPU_H
#define DONARD_TOOL_GPU_H

#include <json-c/json.h>

#include "donard/gpu.h"

struct json_object *cli_model_gpu(const struct donard_gpu_info *info);
void cli_print_gpus(struct json_object *gpus);

#endif /* DONARD_TOOL_GPU_H */
