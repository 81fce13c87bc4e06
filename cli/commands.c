// SPDX-License-Identifier: Apache-2.0
/* The command table of donard-cli. */
#include <stddef.h>

#include "builtin.h"

extern const struct cli_command cmd_list, cmd_info, cmd_topo, cmd_region_add, cmd_region_remove,
	cmd_region_set, cmd_region_candidates, cmd_region_save, cmd_region_apply,
	cmd_region_identity, cmd_copy, cmd_rdma_serve, cmd_rdma_write, cmd_rdma_read, cmd_rdma_lat,
	cmd_rdma_bw, cmd_cache_serve, cmd_cache_status, cmd_cache_top, cmd_cache_put, cmd_cache_get, cmd_cache_flush,
	cmd_cache_trim, cmd_measure, cmd_doctor, cmd_top;

static const struct cli_option no_options[] = { { 0 } };

static const struct cli_command cmd_bench = {
	.name = "bench", .arguments = "COMMAND", .options = no_options, .program = "donard-bench",
	.summary = "Benchmarks, by donard-bench: 'donard-cli bench help' lists them",
};

const struct cli_program cli_program = {
	.name = "donard-cli",
	.purpose = "Copies data between PCIe devices, and over RDMA, without staging it in DRAM.",
};

const struct cli_command *const cli_commands[] = {
	&cmd_doctor, &cmd_list, &cmd_info, &cmd_topo, &cmd_top, &cmd_region_add, &cmd_region_remove, &cmd_region_set,
	&cmd_region_candidates, &cmd_region_save, &cmd_region_apply, &cmd_region_identity,
	&cmd_copy, &cmd_rdma_serve, &cmd_rdma_write, &cmd_rdma_read, &cmd_rdma_lat, &cmd_rdma_bw,
	&cmd_cache_serve, &cmd_cache_status, &cmd_cache_top, &cmd_cache_put, &cmd_cache_get, &cmd_cache_flush,
	&cmd_cache_trim,
	&cmd_measure, &cmd_bench, &cmd_version, &cmd_help, NULL,
};
