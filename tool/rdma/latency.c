// SPDX-License-Identifier: Apache-2.0
/* Percentiles of all samples: the smallest sample that the given share of them does not exceed. */
#include <stdlib.h>
#include <string.h>

#include "rdma/latency.h"

static int compare(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

static uint64_t at_share(const uint64_t *sorted, size_t count, size_t per_mille)
{
	return sorted[(count * per_mille + 999) / 1000 - 1];
}

void cli_rdma_latency_summarise(uint64_t *samples_ns, size_t count, struct cli_rdma_latency *latency)
{
	memset(latency, 0, sizeof(*latency));
	if (!count)
		return;
	qsort(samples_ns, count, sizeof(*samples_ns), compare);
	latency->min_ns = samples_ns[0];
	latency->p50_ns = at_share(samples_ns, count, 500);
	latency->p90_ns = at_share(samples_ns, count, 900);
	latency->p99_ns = at_share(samples_ns, count, 990);
	latency->p999_ns = at_share(samples_ns, count, 999);
	latency->max_ns = samples_ns[count - 1];
}
