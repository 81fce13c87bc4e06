// SPDX-License-Identifier: Apache-2.0
/* Parts of a result of RDMA as JSON. */
#include "cli.h"

void cli_add_latency(struct json_object *model, const struct donard_rdma_latency *latency)
{
	struct json_object *object = json_object_new_object();

	cli_add_number(object, "min", latency->min_ns);
	cli_add_number(object, "p50", latency->p50_ns);
	cli_add_number(object, "p90", latency->p90_ns);
	cli_add_number(object, "p99", latency->p99_ns);
	cli_add_number(object, "p99.9", latency->p999_ns);
	cli_add_number(object, "max", latency->max_ns);
	json_object_object_add(model, "latency_ns", object);
}

void cli_add_verified_by(struct json_object *model, unsigned int verified_by)
{
	struct json_object *names = json_object_new_array();

	if (verified_by & DONARD_RDMA_BY_SERVER)
		json_object_array_add(names, cli_json_string("server"));
	if (verified_by & DONARD_RDMA_BY_CLIENT)
		json_object_array_add(names, cli_json_string("client"));
	json_object_object_add(model, "verified_by", names);
}
