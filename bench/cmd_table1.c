// SPDX-License-Identifier: Apache-2.0
/*
 * bench table1: the table of Donard's article on RDMA: writes into a DRAM buffer, NVRAM and a GPU side by
 * side, and the reads and latencies that it left as future work. Each target is a running 'rdma serve', or
 * one that is started here for the purpose.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_rdma.h"
#include "donard/meter.h"
#include "donard/rdma.h"
#include "errors.h"
#include "options.h"
#include "output.h"
#include "progress.h"
#include "rdma.h"
#include "rdma/json.h"
#include "rdma/pass.h"
#include "utf8.h"

#define DEFAULT_ROUNDS	3
#define DEFAULT_BLOCK	(64ULL << 10)
#define DEFAULT_DEPTH	16
#define LATENCY_BLOCK	64
#define TABLE1_TARGETS_MAX	16
#define TABLE1_ROUNDS_MAX	100
#define TABLE1_NAME_BYTES	32

struct table1_target {
	char name[TABLE1_NAME_BYTES];
	char address[256];	/* of its server; with --here what that offers: "p2pmem0" */
	uint16_t port;
	bool again;		/* this server has served us before */
	char device[64];	/* with --here: the RDMA device of its server; "" before that has run */
};

struct table1_row {
	struct table1_target *target;
	unsigned int direction;
};

struct table1 {
	struct cli *cli;
	struct donard_meter *meter;
	struct json_object *model, *links;	/* these are in the model */
	struct cli_rdma_options options;
	const char *here;	/* address at which servers of our own listen; NULL: they are elsewhere */
	uint64_t rounds, block_bytes, depth, iterations;
	struct table1_target targets[TABLE1_TARGETS_MAX];
	size_t target_count;
	struct table1_row rows[2 * TABLE1_TARGETS_MAX];
	size_t row_count;
	char dram_missing[DONARD_MISSING_BYTES];	/* why DRAM was not measured */
};

/* ---- targets: NAME=ADDRESS, NAME=ADDRESS:PORT, NAME=[V6]:PORT, NAME=V6; with --here NAME=p2pmem0 ---- */

static int bad_target(const struct table1 *table, const char *text, const char *why)
{
	return cli_usage(table->cli, "'%s': %s; targets look like %s", text, why, table->here ?
			 "dram=dram or gpu=p2pmem0+64M" : "dram=192.0.2.1:7077 or gpu=[fd00::1]:7079");
}

static int take_target(struct table1 *table, const char *text)
{
	struct table1_target *target = &table->targets[table->target_count];
	const char *equals = strchr(text, '=');
	size_t length = equals ? (size_t)(equals - text) : 0;
	long port;

	if (!length || !equals[1])
		return bad_target(table, text, "it has no name or no address");
	if (length >= TABLE1_NAME_BYTES || strlen(equals + 1) >= sizeof(target->address))
		return bad_target(table, text, "its name (31 characters) or address (255) is too long");
	memcpy(target->name, text, length);
	strcpy(target->address, equals + 1);
	port = table->here ? 0 : cli_cut_port(target->address);
	if (port < 0 || !target->address[0])
		return bad_target(table, text, "that is no address or no port");
	for (size_t i = 0; i < table->target_count; i++)
		if (!strcmp(table->targets[i].name, target->name))
			return bad_target(table, text, "there are two of that name");
	target->port = (uint16_t)port;
	table->target_count++;
	return 0;
}

/* ---- samples ---- */

static const struct cli_field verified_fields[] = {
	CLI_FIELD("verified_bytes", CLI_BYTES, struct cli_rdma_result, verified_bytes),
	CLI_FIELD("verified_by", CLI_SET, struct cli_rdma_result, verified_by, .word_of = cli_rdma_verifier),
	{ 0 },
};

static void add_sample(struct table1 *table, const struct table1_row *row, const struct bench_rdma *run,
		       const struct bench_server_usage *server, const char *purpose, uint64_t round)
{
	struct json_object *sample = bench_rdma_sample(run, round);

	cli_add_text(sample, "name", row->target->name);
	cli_add_text(sample, "purpose", purpose);
	cli_fields_add(sample, verified_fields, &run->result, 0);
	if (server) {
		cli_add_double(sample, "server_cpu_seconds_per_gib", server->seconds * 1073741824 /
							      (double)run->result.bytes);
		cli_add_number(sample, "server_faults", server->faults);
	}
	bench_add_sample(table->model, sample);
}

/* Runs the row with a server of our own.  If its memory is DRAM, that counts as carrying payload. */
static int run_here(struct table1 *table, const struct table1_row *row, struct bench_rdma *run,
		    struct bench_server_usage *usage)
{
	uint64_t bytes = cli_rdma_round_bytes(table->block_bytes, (uint32_t)table->depth);
	struct bench_server server = { 0 };
	int rc = bench_server_start(table->cli, table->here, row->target->address, bytes, &server);

	if (rc)
		return rc;
	memcpy(row->target->device, server.device, sizeof(server.device));
	run->options.address = table->here;
	run->options.port = server.port;
	rc = donard_meter_own_of(table->meter, server.pid, server.memory, server.bytes);
	rc = rc ? cli_fail(table->cli, rc) : bench_rdma_run(table->cli, table->meter, run, false);
	if (!rc)
		return bench_server_end(table->cli, &server, usage);
	bench_server_kill(&server);
	return rc;
}

static int run_there(struct table1 *table, const struct table1_row *row, struct bench_rdma *run)
{
	struct table1_target *target = row->target;
	int rc;

	run->options.address = target->address;
	run->options.port = target->port;
	rc = bench_rdma_run(table->cli, table->meter, run, target->again);
	target->again = target->again || !rc;
	return rc;
}

/* Runs the row, and adds its sample, with what the server reported if it runs here. */
static int run_one(struct table1 *table, struct table1_row *row, struct bench_rdma *run, const char *purpose,
		   uint64_t round)
{
	struct bench_server_usage usage = { 0 };
	int rc;

	run->options.direction = row->direction;
	rc = table->here ? run_here(table, row, run, &usage) : run_there(table, row, run);
	if (!rc)
		add_sample(table, row, run, table->here ? &usage : NULL, purpose, round);
	return rc;
}

static struct bench_rdma new_run(const struct table1 *table, enum cli_rdma_mode mode)
{
	struct bench_rdma run = { .options = table->options };
	bool timed = mode == CLI_RDMA_LATENCY;

	run.options.mode = mode;
	run.options.block_bytes = timed ? LATENCY_BLOCK : table->block_bytes;
	run.options.queue_depth = timed ? 1 : (uint32_t)table->depth;
	run.options.iterations = table->iterations ? (uint32_t)table->iterations :
				 bench_rdma_iterations(run.options.block_bytes, run.options.queue_depth);
	return run;
}

/* A write makes the near device send and the far device receive. */
static void add_links(struct table1 *table, const struct table1_row *row, const struct bench_rdma *run)
{
	const struct table1_target *target = row->target;
	bool reads = row->direction == DONARD_RDMA_READ;

	bench_rdma_add_links(table->cli, table->links, run->result.server.device, run->options.local, reads);
	if (table->here)
		bench_rdma_add_links(table->cli, table->links, target->device, target->address, !reads);
}

/* Verifies each row once, apart from its figures, since the comparison costs the server time. */
static int verify(struct table1 *table, struct table1_row *row)
{
	struct bench_rdma run = new_run(table, CLI_RDMA_BANDWIDTH);
	int rc;

	run.options.verify = true;
	run.options.iterations = run.options.queue_depth;
	rc = run_one(table, row, &run, "verify", 0);
	if (!rc)
		add_links(table, row, &run);
	return rc;
}

#define DRAM	(1U << DONARD_DRAM_DMA_PAYLOAD | 1U << DONARD_DRAM_CPU_PAYLOAD | \
		 1U << DONARD_DRAM_DMA_OVERHEAD | 1U << DONARD_DRAM_CPU_OVERHEAD)

/* Was all DRAM traffic measured?  resctrl counts only what the caches fetched, and no DMA. */
static bool knows_dram(const struct donard_measurement *measurement)
{
	return measurement->known & 1U << DONARD_DRAM_TOTAL || (measurement->known & DRAM) == DRAM;
}

static int measure_bandwidth(struct table1 *table, struct table1_row *row, uint64_t round)
{
	struct bench_rdma run = new_run(table, CLI_RDMA_BANDWIDTH);
	int rc = run_one(table, row, &run, "measure", round);

	if (!rc && !knows_dram(&run.measurement))
		snprintf(table->dram_missing, sizeof(table->dram_missing), "%s", run.measurement.missing);
	return rc;
}

static int measure_latency(struct table1 *table, struct table1_row *row, uint64_t round)
{
	struct bench_rdma run = new_run(table, CLI_RDMA_LATENCY);

	return run_one(table, row, &run, "measure", round);
}

/* The outermost loop is over rounds and the innermost over targets, so that a drift of the machine affects all alike. */
static int measure(struct table1 *table)
{
	int rc = EXIT_DONE;

	for (size_t i = 0; i < table->row_count && !rc; i++)
		rc = verify(table, &table->rows[i]);
	for (uint64_t round = 0; round < table->rounds; round++)
		for (size_t i = 0; i < table->row_count && !rc; i++) {
			rc = measure_bandwidth(table, &table->rows[i], round);
			if (!rc)
				rc = measure_latency(table, &table->rows[i], round);
		}
	return rc;
}

/* ---- options ---- */

static void add_rows(struct table1 *table, unsigned int direction)
{
	for (size_t i = 0; i < table->target_count; i++) {
		struct table1_row *row = &table->rows[table->row_count++];

		row->target = &table->targets[i];
		row->direction = direction;
	}
}

static int take_numbers(struct table1 *table)
{
	struct cli *cli = table->cli;
	int rc = cli_size(cli, "block-size", false, &table->block_bytes);

	if (!rc && table->block_bytes > CLI_RDMA_BLOCK_MAX)
		rc = cli_usage(cli, "--block-size: a request carries 1 GiB at most");
	if (!rc)
		rc = cli_number(cli, "queue-depth", &table->depth);
	if (!rc)
		rc = cli_number(cli, "iterations", &table->iterations);
	if (!rc)
		rc = cli_number(cli, "rounds", &table->rounds);
	return rc ? rc : cli_timeout(cli, &table->options.timeout_ms);
}

static int take_options(struct table1 *table)
{
	int rc = take_numbers(table);

	table->options.local = cli_value(table->cli, "local");
	table->here = cli_value(table->cli, "here");
	for (int i = 0; i < table->cli->argument_count && !rc; i++)
		rc = take_target(table, table->cli->arguments[i]);
	add_rows(table, DONARD_RDMA_WRITE);
	add_rows(table, DONARD_RDMA_READ);
	table->options.overwrite = cli_given(table->cli, "allow-persistent");
	return rc ? rc : bench_rdma_check_near(table->cli, table->options.local);
}

static struct json_object *target_models(const struct table1 *table)
{
	struct json_object *models = json_object_new_array();

	for (size_t i = 0; i < table->target_count; i++) {
		const struct table1_target *target = &table->targets[i];
		struct json_object *model = json_object_new_object();

		cli_add_text(model, "name", target->name);
		cli_add_text(model, table->here ? "target" : "address", target->address);
		if (!table->here)
			cli_add_number(model, "port", target->port ? target->port : DONARD_RDMA_PORT);
		json_object_array_add(models, model);
	}
	return models;
}

static void begin_model(struct table1 *table)
{
	struct json_object *model = bench_model(table->cli, "table1", table->meter);

	bench_add_option(model, "targets", target_models(table));
	bench_add_option(model, "block_size", json_object_new_uint64(table->block_bytes));
	bench_add_option(model, "latency_block_size", json_object_new_int(LATENCY_BLOCK));
	bench_add_option(model, "queue_depth", json_object_new_uint64(table->depth));
	bench_add_option(model, "iterations", table->iterations ?
			 json_object_new_uint64(table->iterations) : NULL);
	bench_add_option(model, "rounds", json_object_new_uint64(table->rounds));
	bench_add_option(model, "here", table->here ? cli_json_string(table->here) : NULL);
	bench_add_option(model, "local", cli_json_string(table->options.local ?
								table->options.local : "dram"));
	table->model = model;
	table->links = json_object_new_array();
	json_object_object_add(model, "links", table->links);
}

static void add_missing(const struct table1 *table)
{
	if (table->dram_missing[0])
		cli_add_text(table->model, "dram_missing", table->dram_missing);
	if (!table->here)
		cli_add_text(table->model, "server_missing", "the protocol carries no figures of the server; "
			     "each 'rdma serve --json' prints its processor time and page faults of a client "
			     "when that leaves, and 'donard-cli measure donard-cli rdma serve ... --once' the "
			     "DRAM traffic of its machine.");
}

static int run_table(struct table1 *table)
{
	int rc;

	begin_model(table);
	cli_catch_signals();
	bench_rdma_say_fewer(table->iterations, table->depth);
	rc = measure(table);
	if (rc) {
		json_object_put(table->model);
		return rc;
	}
	add_missing(table);
	bench_print(table->cli, table->model);
	return EXIT_DONE;
}

static int run_with(struct cli *cli, struct table1 *table)
{
	int rc;

	table->cli = cli;
	rc = take_options(table);
	if (rc)
		return rc;
	rc = donard_meter_open(cli->ctx, cli_value(cli, "meter"), &table->meter);
	if (rc)
		return cli_fail(cli, rc);
	rc = run_table(table);
	donard_meter_close(table->meter);
	return rc;
}

static int run(struct cli *cli)
{
	struct table1 *table = calloc(1, sizeof(*table));	/* too large for the stack */
	int rc;

	if (!table)
		return cli_fail_text(cli, EXIT_FAILED, "no-memory", "out of memory.");
	table->rounds = DEFAULT_ROUNDS;
	table->block_bytes = DEFAULT_BLOCK;
	table->depth = DEFAULT_DEPTH;
	table->options.timeout_ms = DONARD_RDMA_TIMEOUT_MS;
	rc = run_with(cli, table);
	free(table);
	return rc;
}

static const struct cli_option options_table[] = {
	{ "here", "ADDR", "serve the targets (dram=dram, gpu=p2pmem0) from this machine, at its RDMA device's ADDR" },
	{ "block-size", "SIZE", "size of one request; default 64K (latency: 64 bytes)" },
	{ "queue-depth", "N", "requests in flight; default 16 (latency: 1)" },
	{ "iterations", "N", "requests of a sample; default: as many as move 64M, at most 1000, at least the depth" },
	{ "rounds", "N", "how often; default 3" },
	{ "local", "TARGET", "the near side: dram (default), a region (p2pmem0+64M) or a GPU (gpu:0)" },
	{ "allow-persistent", NULL, "with --local: it may be persistent memory, whose data is lost" },
	{ "timeout", "SECONDS", "give up when nothing comes back for this long; default 10" },
	{ "meter", "NAME", "lab, likwid, perf, resctrl, none; default: the first that is available" },
	{ "json", NULL, "print JSON" },
	{ 0 },
};

static const struct cli_limit limits[] = {
	{ "queue-depth", 1, 4096 },
	{ "iterations", 1, 10000000 },
	{ "rounds", 1, TABLE1_ROUNDS_MAX },
	{ "timeout", 1, 3600 },
	{ 0 },
};

const struct cli_command cmd_table1 = {
	.name = "table1", .arguments = "NAME=ADDR[:PORT]... | --here ADDR NAME=TARGET...", .min_arguments = 1,
	.max_arguments = TABLE1_TARGETS_MAX, .needs_context = true,
	.summary = "RDMA into plain memory, NVRAM and a GPU side by side, as in Donard's Table 1",
	.options = options_table, .limits = limits, .run = run,
};
