// SPDX-License-Identifier: Apache-2.0
#include "rdma/json.h"

#define FIELD(name, member) CLI_FIELD(name, CLI_NANOSECONDS, struct cli_rdma_latency, member)
const struct cli_field cli_rdma_latency_fields[] = {
	FIELD("min", min_ns), FIELD("p50", p50_ns), FIELD("p90", p90_ns), FIELD("p99", p99_ns), FIELD("p99.9", p999_ns),
	FIELD("max", max_ns), { 0 },
};

const char *cli_rdma_verifier(unsigned int by)
{
	return by == CLI_RDMA_BY_SERVER ? "server" : "client";
}
