// SPDX-License-Identifier: Apache-2.0
/* See gpu.h. */
#include "gpu.h"
#include "output.h"
#include "terms.h"

static const struct cli_column columns[] = {
	{ "bdf", "GPU", false }, { "driver", "DRIVER", false }, { "driver_version", "VERSION", false },
	{ "driver_kind", "FLAVOUR", false }, { "bar_size", "BAR1", true }, { "bar_largest", "RESIZABLE TO", true },
	{ "memory", "MEMORY", true }, { "mode", "MODE", false }, { "region", "REGION", false }, { 0 },
};

static void add_size(struct json_object *model, const char *key, uint64_t bytes)
{
	if (bytes)
		cli_add_number(model, key, bytes);
	else
		json_object_object_add(model, key, NULL);
}

struct json_object *cli_model_gpu(const struct donard_gpu_info *info)
{
	struct json_object *model = json_object_new_object();
	char obstacle[CLI_ERROR_BYTES];

	cli_add_text(model, "bdf", info->bdf);
	cli_add_text(model, "driver", info->driver);
	cli_add_text(model, "driver_version", info->driver_version);
	cli_add_text(model, "driver_kind", donard_gpu_driver_text(info->driver_kind));
	if (info->bar_bytes)
		cli_add_number(model, "bar", info->bar);
	else
		json_object_object_add(model, "bar", NULL);
	add_size(model, "bar_size", info->bar_bytes);
	add_size(model, "bar_largest", info->bar_largest_bytes);
	json_object_object_add(model, "memory", NULL);
	cli_add_text(model, "mode", info->static_bar1 ? "static-bar1" : "");
	cli_add_text(model, "region", info->region);
	cli_add_text(model, "obstacle", cli_in_options(info->obstacle, obstacle, sizeof(obstacle)));
	return model;
}

void cli_print_gpus(struct json_object *gpus)
{
	cli_print_table(gpus, columns);
}
