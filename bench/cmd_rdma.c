// SPDX-License-Identifier: Apache-2.0
/* bench rdma: bandwidth and latency against a running "rdma serve", by block size and depth. */
#include <string.h>

#include "bench_rdma.h"
#include "donard/meter.h"
#include "donard/rdma.h"
#include "errors.h"
#include "options.h"
#include "progress.h"
#include "rdma.h"
#include "rdma/pass.h"
#include "utf8.h"

#define LIST_MAX	16
#define DEFAULT_ROUNDS	3

struct plan {
	struct cli *cli;
	struct donard_meter *meter;
	struct json_object *model;
	struct bench_rdma run;
	uint64_t blocks[LIST_MAX], depths[LIST_MAX], rounds, iterations, perftest_port;
	size_t block_count, depth_count;
	unsigned int directions;
	bool perftest, again;
};

/* ---- samples ---- */

static int add_perftest(struct plan *plan, uint64_t round)
{
	struct json_object *sample;
	int rc;

	if (!plan->perftest)
		return EXIT_DONE;
	rc = bench_perftest_run(plan->cli, &plan->run, (uint16_t)plan->perftest_port, round, &sample);
	if (!rc)
		bench_add_sample(plan->model, sample);
	return rc;
}

static int sample(struct plan *plan, enum cli_rdma_mode mode, uint64_t block, uint64_t depth,
		  uint64_t round)
{
	struct cli_rdma_options *options = &plan->run.options;
	int rc;

	options->mode = mode;
	options->block_bytes = block;
	options->queue_depth = (uint32_t)depth;
	options->iterations = plan->iterations ? (uint32_t)plan->iterations :
			      bench_rdma_iterations(block, options->queue_depth);
	rc = bench_rdma_run(plan->cli, plan->meter, &plan->run, plan->again);
	if (rc)
		return rc;
	plan->again = true;
	bench_add_sample(plan->model, bench_rdma_sample(&plan->run, round));
	return add_perftest(plan, round);
}

static int measure_block(struct plan *plan, uint64_t block, uint64_t round)
{
	int rc = sample(plan, CLI_RDMA_LATENCY, block, 1, round);

	for (size_t i = 0; i < plan->depth_count && !rc; i++)
		rc = sample(plan, CLI_RDMA_BANDWIDTH, block, plan->depths[i], round);
	return rc;
}

static int measure_direction(struct plan *plan, unsigned int direction, uint64_t round)
{
	int rc = EXIT_DONE;

	if (!(plan->directions & direction))
		return rc;
	plan->run.options.direction = direction;
	for (size_t i = 0; i < plan->block_count && !rc; i++)
		rc = measure_block(plan, plan->blocks[i], round);
	return rc;
}

/* The outermost loop is over rounds, so that a drift of the machine affects all points alike. */
static int measure(struct plan *plan)
{
	int rc = EXIT_DONE;

	for (uint64_t round = 0; round < plan->rounds && !rc; round++) {
		rc = measure_direction(plan, DONARD_RDMA_WRITE, round);
		if (!rc)
			rc = measure_direction(plan, DONARD_RDMA_READ, round);
	}
	return rc;
}

/* A read from the server makes the near device receive. */
static void add_links(struct plan *plan)
{
	const struct bench_rdma *run = &plan->run;
	struct json_object *links = json_object_new_array();

	if (plan->directions & DONARD_RDMA_WRITE)
		bench_rdma_add_links(plan->cli, links, run->result.server.device, run->options.local, false);
	if (plan->directions & DONARD_RDMA_READ)
		bench_rdma_add_links(plan->cli, links, run->result.server.device, run->options.local, true);
	json_object_object_add(plan->model, "links", links);
}

/* ---- options ---- */

static struct json_object *numbers(const uint64_t *values, size_t count)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < count; i++)
		json_object_array_add(array, json_object_new_uint64(values[i]));
	return array;
}

static void begin_model(struct plan *plan)
{
	const struct cli_rdma_options *options = &plan->run.options;

	plan->model = bench_model(plan->cli, "rdma", plan->meter);
	bench_add_option(plan->model, "address", cli_json_string(options->address));
	bench_add_option(plan->model, "block_sizes", numbers(plan->blocks, plan->block_count));
	bench_add_option(plan->model, "queue_depths", numbers(plan->depths, plan->depth_count));
	bench_add_option(plan->model, "iterations", plan->iterations ?
			 json_object_new_uint64(plan->iterations) : NULL);
	bench_add_option(plan->model, "rounds", json_object_new_uint64(plan->rounds));
	bench_add_option(plan->model, "local",
			 cli_json_string(options->local ? options->local : "dram"));
	bench_add_option(plan->model, "perftest", json_object_new_boolean(plan->perftest));
}

static int check_blocks(const struct plan *plan)
{
	for (size_t i = 0; i < plan->block_count; i++)
		if (plan->blocks[i] > CLI_RDMA_BLOCK_MAX)
			return cli_usage(plan->cli, "--block-sizes: a request carries 1 GiB at most");
	return 0;
}

static int take_numbers(struct plan *plan)
{
	struct cli *cli = plan->cli;
	int rc = cli_server(cli, cli->arguments[0], &plan->run.options.port);

	if (!rc)
		rc = cli_number(cli, "rounds", &plan->rounds);
	if (!rc)
		rc = cli_number(cli, "iterations", &plan->iterations);
	if (!rc)
		rc = cli_number(cli, "perftest-port", &plan->perftest_port);
	if (!rc)
		rc = cli_timeout(cli, &plan->run.options.timeout_ms);
	return rc;
}

static int take_perftest(struct plan *plan)
{
	struct cli *cli = plan->cli;
	int rc = 0;

	plan->perftest = cli_given(cli, "perftest");
	if (!plan->perftest)
		return cli_given(cli, "perftest-port") ? cli_usage(cli, "--perftest-port needs --perftest") : 0;
	if (plan->directions & DONARD_RDMA_WRITE)
		rc = bench_perftest_check_blocks(cli, plan->blocks, plan->block_count, (uint32_t)plan->iterations);
	if (!rc)
		rc = bench_rdma_node(cli, plan->run.options.local, plan->run.node);
	/* Uses one block again and again, as perftest does. */
	plan->run.options.one_block = true;
	return rc ? rc : bench_perftest_check(cli, cli->arguments[0]);
}

static int take_options(struct plan *plan)
{
	struct cli *cli = plan->cli;
	int rc = take_numbers(plan);

	if (!rc)
		rc = bench_sizes(cli, "block-sizes", plan->blocks, LIST_MAX, &plan->block_count);
	if (!rc)
		rc = check_blocks(plan);
	if (!rc)
		rc = bench_numbers(cli, "queue-depths", plan->depths, LIST_MAX,
				   &plan->depth_count);
	if (!rc)
		rc = bench_rdma_directions(cli, &plan->directions);
	plan->run.options.local = cli_value(cli, "local");
	plan->run.options.address = cli->arguments[0];
	plan->run.options.overwrite = cli_given(cli, "allow-persistent");
	if (!rc)
		rc = take_perftest(plan);
	/* Reads overwrite the near side, and so do the answers of ib_write_lat's server. */
	if (!rc && (plan->directions & DONARD_RDMA_READ || *plan->run.node))
		rc = bench_rdma_check_near(cli, plan->run.options.local);
	return rc;
}

static int run(struct cli *cli)
{
	struct plan plan = {
		.cli = cli, .rounds = DEFAULT_ROUNDS, .perftest_port = BENCH_PERFTEST_PORT,
		.run = { .options = { .timeout_ms = DONARD_RDMA_TIMEOUT_MS } },
		.blocks = { 4 << 10, 64 << 10, 1 << 20 }, .block_count = 3,
		.depths = { 1, 16 }, .depth_count = 2,
	};
	int rc = take_options(&plan);

	if (rc)
		return rc;
	rc = donard_meter_open(cli->ctx, cli_value(cli, "meter"), &plan.meter);
	if (rc)
		return cli_fail(cli, rc);
	cli_catch_signals();
	for (size_t i = 0; i < plan.depth_count; i++)
		bench_rdma_say_fewer(plan.iterations, plan.depths[i]);
	begin_model(&plan);
	rc = measure(&plan);
	donard_meter_close(plan.meter);
	if (rc) {
		json_object_put(plan.model);
		return rc;
	}
	add_links(&plan);
	bench_print(cli, plan.model);
	return EXIT_DONE;
}

static const struct cli_option options_table[] = {
	{ "port", "N", "port of the server, if ADDR has none; default 7077" },
	{ "block-sizes", "LIST", "sizes of one request; default 4K,64K,1M" },
	{ "queue-depths", "LIST", "requests in flight; default 1,16" },
	{ "direction", "WHAT", "write, read or both (default)" },
	{ "iterations", "N", "requests of a sample; default: as many as move 64M, at most 1000, at least the depth" },
	{ "rounds", "N", "how often; default 3" },
	{ "local", "TARGET", "the near side: dram (default), a region (p2pmem0+64M) or a GPU (gpu:0)" },
	{ "allow-persistent", NULL, "with --local: it may be persistent memory, whose data is lost by reads and by perftest" },
	{ "perftest", NULL, "run perftest's clients beside it, unmodified; writes then take one of --block-sizes" },
	{ "perftest-port", "N", "where its servers listen: this port (ib_write_bw) and the next three; default 18515" },
	{ "timeout", "SECONDS", "give up when nothing comes back for this long; default 10" },
	{ "meter", "NAME", "lab, likwid, perf, resctrl, none; default: the first that is available" },
	{ "json", NULL, "print JSON" },
	{ 0 },
};

static const struct cli_limit limits[] = {
	{ "port", 1, 65535 },
	{ "queue-depths", 1, 4096 },
	{ "iterations", 1, 10000000 },
	{ "rounds", 1, 1000 },
	{ "perftest-port", 1, 65532 },
	{ "timeout", 1, 3600 },
	{ 0 },
};

const struct cli_command cmd_rdma = {
	.name = "rdma", .arguments = "ADDR[:PORT]", .min_arguments = 1, .max_arguments = 1,
	.needs_context = true,
	.summary = "Bandwidth and latency of RDMA into what a server offers",
	.options = options_table, .limits = limits, .run = run,
};
