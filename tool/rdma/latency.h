/* SPDX-License-Identifier: Apache-2.0 */
/* Percentiles of the times of requests, from posting one to its completion. */
#ifndef DONARD_TOOL_RDMA_LATENCY_H
#define DONARD_TOOL_RDMA_LATENCY_H

#include <stddef.h>
#include <stdint.h>

/* So many percent took no longer (p999: 99.9). */
struct cli_rdma_latency {
	uint64_t min_ns, p50_ns, p90_ns, p99_ns, p999_ns, max_ns;
};

/* Fills it in, and sorts the samples. */
void cli_rdma_latency_summarise(uint64_t *samples_ns, size_t count, struct cli_rdma_latency *latency);

#endif /* DONARD_TOOL_RDMA_LATENCY_H */
