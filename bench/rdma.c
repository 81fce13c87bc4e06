// SPDX-License-Identifier: Apache-2.0
/* See bench_rdma.h. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "bench_rdma.h"
#include "errors.h"
#include "links.h"
#include "options.h"
#include "output.h"
#include "place.h"
#include "process.h"
#include "progress.h"
#include "rdma.h"
#include "rdma/json.h"

#define MAX_REQUESTS		1000
#define MAX_DEFAULT_BYTES	(64ULL << 20)
#define FAREWELL_TRIES		50	/* how often to connect while the server still ends the run before */
#define FAREWELL_NAP_NS		100000000L

/* ---- one run ---- */

static int run_once(struct cli *cli, struct bench_rdma *run)
{
	double started = cli_now_seconds();
	struct rusage before;
	int rc;

	getrusage(RUSAGE_SELF, &before);
	run->measurement.size = sizeof(run->measurement);
	rc = cli_rdma_run(cli->ctx, &run->options, &run->result);
	run->usage.seconds = cli_now_seconds() - started;
	cli_usage_since(&before, &run->usage);
	return rc;
}

static bool is_refused(int rc)
{
	return rc == -ECONNREFUSED || rc == -EBUSY;
}

static bool stops(void)
{
	const struct timespec nap = { .tv_nsec = FAREWELL_NAP_NS };

	nanosleep(&nap, NULL);
	return cli_stopped(NULL);
}

int bench_rdma_run(struct cli *cli, struct donard_meter *meter, struct bench_rdma *run, bool again)
{
	struct donard_metering metering = {
		.size = sizeof(metering), .meter = meter, .measurement = &run->measurement,
	};
	struct cli_progress progress;
	int rc, tries = again ? FAREWELL_TRIES : 0;

	cli_progress_init(&progress, false);
	run->options.progress_fn = cli_progress_tick;
	run->options.progress_user = &progress;
	run->options.begin_fn = donard_meter_interval_begin;
	run->options.end_fn = donard_meter_interval_end;
	run->options.interval_user = &metering;
	do {
		rc = run_once(cli, run);
	} while (is_refused(rc) && tries-- > 0 && !stops());
	/* A signal mostly comes between two tries, where no call fails because of it. */
	if (is_refused(rc) && cli_stopped(NULL))
		return cli_fail_text(cli, EXIT_STOPPED, "canceled", "stopped by a signal.");
	return rc ? cli_fail(cli, rc) : EXIT_DONE;
}

/* ---- its sample ---- */

struct json_object *bench_rdma_sample(const struct bench_rdma *run, uint64_t round)
{
	const struct cli_rdma_result *result = &run->result;
	bool latency = run->options.mode == CLI_RDMA_LATENCY;
	struct json_object *sample = json_object_new_object();

	cli_add_text(sample, "method", "donard");
	cli_add_text(sample, "operation", latency ? "latency" : "bandwidth");
	cli_add_text(sample, "direction", bench_rdma_word(run->options.direction));
	cli_add_number(sample, "block_bytes", result->block_bytes);
	cli_add_number(sample, "queue_depth", result->queue_depth);
	cli_add_number(sample, "round", round);
	cli_add_number(sample, "requests", result->requests);
	cli_add_number(sample, "in_flight",
		       result->requests < result->queue_depth ? result->requests : result->queue_depth);
	cli_add_number(sample, "bytes", result->bytes);
	cli_add_double(sample, "seconds", result->seconds);
	cli_add_double(sample, "bytes_per_second",
		       result->seconds > 0 ? (double)result->bytes / result->seconds : 0);
	if (latency)
		json_object_object_add(sample, "latency_ns", cli_fields_json(cli_rdma_latency_fields, &result->latency, 0));
	cli_add_text(sample, "device", result->server.device);
	cli_add_text(sample, "transport", donard_rdma_transport_text(result->server.transport));
	cli_add_text(sample, "target", result->server.target);
	cli_add_text(sample, "remote_method", donard_rdma_method_text(result->server.remote_method));
	cli_add_text(sample, "local_method", donard_rdma_method_text(result->local_method));
	cli_add_job_usage(sample, &run->usage);
	bench_add_measured(sample, &run->measurement);
	return sample;
}

/* ---- regions ---- */

/* Sets *@list to NULL for a side that is no region: DRAM, a GPU, or a name that will fail when it is opened. */
static int region_of(struct cli *cli, const char *side, struct donard_region_list **list)
{
	struct cli_place place;
	int rc;

	*list = NULL;
	if (!side)
		return 0;
	rc = cli_place_of(cli->ctx, side, 0, &place);
	if (!rc && donard_region_find(cli->ctx, place.name, list))
		*list = NULL;
	return rc;
}

int bench_rdma_node(struct cli *cli, const char *local, char node[64])
{
	struct donard_region_list *list = NULL;
	struct cli_place place;
	int rc = 0;

	node[0] = '\0';
	if (local)
		rc = cli_place_of(cli->ctx, local, 0, &place);
	if (rc)
		return cli_fail(cli, rc);
	if (local && (place.offset_bytes || !strncmp(local, "gpu:", strlen("gpu:"))))
		return cli_usage(cli, "--local: perftest maps a region from its beginning, and no GPU. With --perftest, give a region "
				 "without an offset, or dram");
	/* A name that is no region's is reported when it is opened. */
	if (region_of(cli, local, &list) || !list)
		return 0;
	snprintf(node, 64, "/dev/%s", donard_region_get(list, 0)->name);
	donard_region_list_free(list);
	return 0;
}

int bench_rdma_check_near(struct cli *cli, const char *local)
{
	struct donard_region_list *list;
	int rc = region_of(cli, local, &list);

	if (rc)
		return cli_fail(cli, rc);
	if (list)
		rc = bench_check_contents(cli, donard_region_get(list, 0));
	donard_region_list_free(list);
	return rc;
}

void bench_rdma_add_links(struct cli *cli, struct json_object *links, const char *device, const char *side, bool received)
{
	struct donard_region_list *list;

	if (region_of(cli, side, &list) || !list)
		return;
	/* A server that listens at all addresses has no device of its own. */
	if (*device)
		bench_add_links(cli, links, received ? "to-region" : "from-region", DONARD_CLIENT_RDMA, device,
				donard_region_get(list, 0)->name);
	donard_region_list_free(list);
}

/* ---- options ---- */

int bench_rdma_directions(const struct cli *cli, unsigned int *directions)
{
	const char *word = cli_value(cli, "direction");

	if (!word || !strcmp(word, "both"))
		*directions = DONARD_RDMA_WRITE | DONARD_RDMA_READ;
	else if (!strcmp(word, "write"))
		*directions = DONARD_RDMA_WRITE;
	else if (!strcmp(word, "read"))
		*directions = DONARD_RDMA_READ;
	else
		return cli_usage(cli, "--direction: '%s' is none of write, read, both", word);
	return 0;
}

const char *bench_rdma_word(unsigned int direction)
{
	return direction == DONARD_RDMA_READ ? "read" : "write";
}

uint32_t bench_rdma_iterations(uint64_t block_bytes, uint32_t depth)
{
	uint64_t requests = MAX_DEFAULT_BYTES / block_bytes;

	if (requests > MAX_REQUESTS)
		requests = MAX_REQUESTS;
	return requests > depth ? (uint32_t)requests : depth;
}

void bench_rdma_say_fewer(uint64_t iterations, uint64_t depth)
{
	if (iterations && iterations < depth)
		bench_say("depth %llu: no more than %llu are in flight, as --iterations makes no more requests", (unsigned long long)depth,
			  (unsigned long long)iterations);
}
