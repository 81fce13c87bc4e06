// SPDX-License-Identifier: Apache-2.0
#include "rdma/json.h"
#include "output.h"
#include "rdma.h"
#include "utf8.h"

void cli_add_latency(struct json_object *model, const struct cli_rdma_latency *latency)
{
	struct json_object *object = json_object_new_object();

	cli_add_number(object, "min", latency->min_ns);
	cli_add_percentiles(object, latency->p50_ns, latency->p90_ns, latency->p99_ns, latency->p999_ns,
			    latency->max_ns);
	json_object_object_add(model, "latency_ns", object);
}

void cli_add_verified_by(struct json_object *model, unsigned int verified_by)
{
	struct json_object *names = json_object_new_array();

	if (verified_by & CLI_RDMA_BY_SERVER)
		json_object_array_add(names, cli_json_string("server"));
	if (verified_by & CLI_RDMA_BY_CLIENT)
		json_object_array_add(names, cli_json_string("client"));
	json_object_object_add(model, "verified_by", names);
}
