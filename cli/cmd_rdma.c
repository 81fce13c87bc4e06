// SPDX-License-Identifier: Apache-2.0
/* rdma write, read, lat, bw: the four ways to use what a server offers. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "donard/donard.h"
#include "errors.h"
#include "fields.h"
#include "options.h"
#include "output.h"
#include "progress.h"
#include "rdma.h"
#include "rdma/json.h"
#include "rdma/run.h"

/* ---- options ---- */

static int take_direction(const struct cli *cli, unsigned int *direction)
{
	const char *word = cli_value(cli, "direction");

	if (!word || !strcmp(word, "write"))
		*direction = DONARD_RDMA_WRITE;
	else if (!strcmp(word, "read"))
		*direction = DONARD_RDMA_READ;
	else
		return cli_usage(cli, "--direction: '%s' is none of write, read", word);
	return 0;
}

static int take_options(const struct cli *cli, struct cli_rdma_options *options)
{
	uint64_t depth = 0, iterations = 0;
	int rc;

	rc = cli_server(cli, cli->arguments[0], &options->port);
	if (!rc)
		rc = cli_size(cli, "size", false, &options->length_bytes);
	if (!rc)
		rc = cli_size(cli, "offset", true, &options->offset_bytes);
	if (!rc)
		rc = cli_size(cli, "block-size", false, &options->block_bytes);
	if (!rc)
		rc = cli_number(cli, "queue-depth", &depth);
	if (!rc)
		rc = cli_number(cli, "iterations", &iterations);
	if (!rc)
		rc = cli_timeout(cli, &options->timeout_ms);
	options->queue_depth = (uint32_t)depth;
	options->iterations = (uint32_t)iterations;
	options->verify = cli_given(cli, "verify");
	options->overwrite = cli_given(cli, "allow-persistent");
	options->local = cli_given(cli, "local") ? cli_value(cli, "local") : "dram";
	options->address = cli->arguments[0];
	return rc;
}

/* ---- the report ---- */

struct moved {
	struct cli_rdma_result result;
	unsigned int direction;
	const char *local;
	double rate;
	bool verified;
};

static const char *direction_word(unsigned int direction)
{
	return direction == DONARD_RDMA_READ ? "read" : "write";
}

static const char *done_word(unsigned int direction)
{
	return direction == DONARD_RDMA_READ ? "read     " : "wrote    ";
}

#define FIELD(name, unit, member, ...) CLI_FIELD(name, unit, struct moved, member, ##__VA_ARGS__)
static const struct cli_field remote_fields[] = {
	FIELD("target", CLI_TEXT, result.server.target),
	FIELD("method", CLI_WORD, result.server.remote_method, .word_of = donard_rdma_method_text),
	FIELD("persistent", CLI_FLAG, result.server.persistent),
	FIELD("resets", CLI_COUNT, result.server.remote_resets),
	{ 0 },
};

static const struct cli_field local_fields[] = {
	FIELD("target", CLI_TEXT, local),
	FIELD("method", CLI_WORD, result.local_method, .word_of = donard_rdma_method_text),
	FIELD("reason", CLI_TEXT, result.local_reason),
	FIELD("resets", CLI_COUNT, result.local_resets),
	{ 0 },
};

static const struct cli_field fields[] = {
	FIELD("direction", CLI_WORD, direction, .word_of = direction_word),
	FIELD("done", CLI_WORD, direction, .word_of = done_word, .only_in_text = true),
	FIELD("bytes", CLI_BYTES, result.bytes),
	FIELD("seconds", CLI_SECONDS, result.seconds),
	FIELD("bytes_per_second", CLI_RATE, rate),
	FIELD("requests", CLI_COUNT, result.requests),
	FIELD("offset", CLI_BYTES, result.offset_bytes),
	FIELD("size", CLI_BYTES, result.length_bytes),
	FIELD("block_size", CLI_BYTES, result.block_bytes),
	FIELD("queue_depth", CLI_COUNT, result.queue_depth),
	FIELD("iterations", CLI_COUNT, result.iterations),
	FIELD("verified", CLI_FLAG, verified),
	FIELD("verified_bytes", CLI_BYTES, result.verified_bytes),
	FIELD("verified_by", CLI_SET, result.verified_by, .word_of = cli_rdma_verifier, .text = " and the "),
	FIELD("durable", CLI_FLAG, result.durability.durable),
	FIELD("durable_reason", CLI_TEXT, result.durability.reason),
	FIELD("device", CLI_TEXT, result.server.device),
	FIELD("transport", CLI_WORD, result.server.transport, .word_of = donard_rdma_transport_text),
	CLI_GROUP("remote", remote_fields, "{target}, registered by {method}"),
	CLI_GROUP("local", local_fields, "{target}, registered by {method}[ ({reason})]"),
	FIELD("latency_ns", CLI_PART, result.latency, .fields = cli_rdma_latency_fields, .kinds = 1U << CLI_RDMA_LATENCY),
	{ 0 },
};

static const char text[] =
	"{done} {bytes} in {seconds}, {bytes_per_second}\n"
	"requests  {requests} of {block_size}, {queue_depth} in flight\n"
	"device    {device} ({transport})\n"
	"remote    {remote}\n"
	"local     {local}\n"
	"verified  [{verified_bytes}{?verified}, every byte, by the {verified_by}][{!verified}not asked for (--verify)]\n"
	"durable   [{?durable}yes: the barrier of its device has passed][{!durable}no: ]{durable_reason}\n";

static void print_latency(const struct cli_rdma_latency *latency)
{
	static const struct cli_column columns[] = {
		{ "min", "MIN/ns", false }, { "p50", "P50/ns", false }, { "p90", "P90/ns", false },
		{ "p99", "P99/ns", false }, { "p99.9", "P99.9/ns", false },
		{ "max", "MAX/ns", false }, { 0 },
	};
	struct json_object *rows = json_object_new_array();

	json_object_array_add(rows, cli_fields_json(cli_rdma_latency_fields, latency, 0));
	cli_print_table(rows, columns);
	json_object_put(rows);
}

static void print(const struct cli *cli, enum cli_rdma_mode mode, const struct moved *moved)
{
	if (cli->json) {
		cli_print_json(cli_fields_json(fields, moved, mode));
		return;
	}
	cli_fields_print(stdout, fields, text, moved);
	if (mode == CLI_RDMA_LATENCY)
		print_latency(&moved->result.latency);
}

/* ---- run ---- */

static int failed(const struct cli *cli, int rc, enum cli_rdma_mode mode, const struct moved *moved)
{
	char size[DONARD_SIZE_TEXT_BYTES];
	int exit_code = cli_fail_with(cli, rc, cli_fields_json(fields, moved, mode));

	if (moved->result.bytes || rc == -ECANCELED)
		cli_note(cli, "%s had been moved", donard_format_size(size, sizeof(size), moved->result.bytes));
	return exit_code;
}

static void judge(struct moved *moved)
{
	const struct cli_rdma_result *result = &moved->result;

	moved->rate = result->seconds > 0 ? (double)result->bytes / result->seconds : 0;
	moved->verified = result->verified_bytes && result->verified_bytes == result->bytes;
}

static int run(struct cli *cli, struct cli_rdma_options *options)
{
	struct moved moved = { .direction = options->direction };
	struct cli_progress progress;
	int rc = take_options(cli, options);

	if (rc)
		return rc;
	moved.local = options->local;
	options->progress_fn = cli_progress_tick;
	options->progress_user = &progress;
	cli_progress_init(&progress, cli_given(cli, "progress"));
	cli_catch_signals();
	rc = cli_rdma_run(cli->ctx, options, &moved.result);
	cli_progress_end(&progress);
	judge(&moved);
	if (rc)
		return failed(cli, rc, options->mode, &moved);
	print(cli, options->mode, &moved);
	return EXIT_DONE;
}

static int run_transfer(struct cli *cli, unsigned int direction)
{
	struct cli_rdma_options options = {
		.mode = CLI_RDMA_TRANSFER, .direction = direction,
	};

	return run(cli, &options);
}

static int run_write(struct cli *cli)
{
	return run_transfer(cli, DONARD_RDMA_WRITE);
}

static int run_read(struct cli *cli)
{
	return run_transfer(cli, DONARD_RDMA_READ);
}

static int run_measurement(struct cli *cli, enum cli_rdma_mode mode)
{
	struct cli_rdma_options options = { .mode = mode };
	int rc = take_direction(cli, &options.direction);

	return rc ? rc : run(cli, &options);
}

static int run_lat(struct cli *cli)
{
	return run_measurement(cli, CLI_RDMA_LATENCY);
}

static int run_bw(struct cli *cli)
{
	return run_measurement(cli, CLI_RDMA_BANDWIDTH);
}

#define WHERE_OPTIONS \
	{ "port", "N", "port of the server, if ADDR has none; default 7077" }, \
	{ "offset", "SIZE", "where to start in what is offered; default 0" }, \
	{ "local", "TARGET", "the near side: dram (default), a region (p2pmem0+64M) or a GPU (gpu:0)" }
#define COMMON_OPTIONS \
	{ "allow-persistent", NULL, "with --local: persistent memory may lose its data to --verify, or to reads of lat and bw" }, \
	{ "verify", NULL, "use test data and compare it byte by byte at both ends; see the man page" }, \
	{ "timeout", "SECONDS", "give up when nothing comes back for this long; default 10" }, \
	{ "progress", NULL, "show progress on stderr" }, \
	{ "json", NULL, "print JSON" }, \
	{ 0 }

static const struct cli_option transfer_options[] = {
	WHERE_OPTIONS,
	{ "size", "SIZE", "how much; default: all that is offered, if at most 1G" },
	{ "block-size", "SIZE", "size of one request; default 64K" },
	{ "queue-depth", "N", "requests in flight; default 16" },
	{ "iterations", "N", "how often, each time with other test data; default 1" },
	COMMON_OPTIONS,
};

static const struct cli_option lat_options[] = {
	WHERE_OPTIONS,
	{ "direction", "WHAT", "write (default) or read" },
	{ "size", "SIZE", "the range that the requests cycle through; default one block" },
	{ "block-size", "SIZE", "size of one request; default 8" },
	{ "iterations", "N", "how many requests; default 1000" },
	COMMON_OPTIONS,
};

static const struct cli_option bw_options[] = {
	WHERE_OPTIONS,
	{ "direction", "WHAT", "write (default) or read" },
	{ "size", "SIZE", "the range that requests go round in; default queue depth blocks" },
	{ "block-size", "SIZE", "of one request; default 64K" },
	{ "queue-depth", "N", "requests in flight; default 16" },
	{ "iterations", "N", "how many requests; default 1000" },
	COMMON_OPTIONS,
};

static const struct cli_limit limits[] = {
	{ "port", 1, 65535 },
	{ "queue-depth", 1, 4096 },
	{ "iterations", 1, 10000000 },
	{ "timeout", 1, 3600 },
	{ 0 },
};

const struct cli_command cmd_rdma_write = {
	.name = "rdma write", .arguments = "ADDR[:PORT]", .min_arguments = 1, .max_arguments = 1,
	.needs_context = true, .summary = "Write into what a server offers, by RDMA WRITE",
	.options = transfer_options, .limits = limits, .run = run_write,
};

const struct cli_command cmd_rdma_read = {
	.name = "rdma read", .arguments = "ADDR[:PORT]", .min_arguments = 1, .max_arguments = 1,
	.needs_context = true, .summary = "Read what a server offers, by RDMA READ",
	.options = transfer_options, .limits = limits, .run = run_read,
};

const struct cli_command cmd_rdma_lat = {
	.name = "rdma lat", .arguments = "ADDR[:PORT]", .min_arguments = 1, .max_arguments = 1,
	.needs_context = true, .summary = "Time single requests, from posting to completion",
	.options = lat_options, .limits = limits, .run = run_lat,
};

const struct cli_command cmd_rdma_bw = {
	.name = "rdma bw", .arguments = "ADDR[:PORT]", .min_arguments = 1, .max_arguments = 1,
	.needs_context = true, .summary = "Time many requests in flight",
	.options = bw_options, .limits = limits, .run = run_bw,
};
