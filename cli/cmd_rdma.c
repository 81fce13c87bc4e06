// SPDX-License-Identifier: Apache-2.0
/* rdma write, read, lat, bw: the four ways to use what a server offers. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "donard/donard.h"
#include "errors.h"
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
	options->local = cli_value(cli, "local");
	options->address = cli->arguments[0];
	return rc;
}

/* ---- model ---- */

static void add_sides(struct json_object *model, const struct cli_rdma_options *options,
		      const struct cli_rdma_result *result)
{
	struct json_object *remote = json_object_new_object(), *local = json_object_new_object();

	cli_add_text(remote, "target", result->server.target);
	cli_add_text(remote, "method", donard_rdma_method_text(result->server.remote_method));
	json_object_object_add(remote, "persistent",
			       json_object_new_boolean(result->server.persistent));
	cli_add_number(remote, "resets", result->server.remote_resets);
	cli_add_text(local, "target", options->local ? options->local : "dram");
	cli_add_text(local, "method", donard_rdma_method_text(result->local_method));
	cli_add_text(local, "reason", result->local_reason);
	cli_add_number(local, "resets", result->local_resets);
	json_object_object_add(model, "remote", remote);
	json_object_object_add(model, "local", local);
}

static struct json_object *build(const struct cli_rdma_options *options,
				 const struct cli_rdma_result *result)
{
	struct json_object *model = json_object_new_object();

	cli_add_text(model, "direction", options->direction == DONARD_RDMA_READ ? "read" : "write");
	cli_add_number(model, "bytes", result->bytes);
	cli_add_double(model, "seconds", result->seconds);
	cli_add_double(model, "bytes_per_second",
		       result->seconds > 0 ? (double)result->bytes / result->seconds : 0);
	cli_add_number(model, "requests", result->requests);
	cli_add_number(model, "offset", result->offset_bytes);
	cli_add_number(model, "size", result->length_bytes);
	cli_add_number(model, "block_size", result->block_bytes);
	cli_add_number(model, "queue_depth", result->queue_depth);
	cli_add_number(model, "iterations", result->iterations);
	json_object_object_add(model, "verified",
			       json_object_new_boolean(result->verified_bytes &&
						       result->verified_bytes == result->bytes));
	cli_add_number(model, "verified_bytes", result->verified_bytes);
	cli_add_verified_by(model, result->verified_by);
	json_object_object_add(model, "durable", json_object_new_boolean(result->durability.durable));
	cli_add_text(model, "durable_reason", result->durability.reason);
	cli_add_text(model, "device", result->server.device);
	cli_add_text(model, "transport", donard_rdma_transport_text(result->server.transport));
	add_sides(model, options, result);
	if (options->mode == CLI_RDMA_LATENCY)
		cli_add_latency(model, &result->latency);
	return model;
}

/* ---- text, from the model ---- */

static struct json_object *get(struct json_object *model, const char *key)
{
	return json_object_object_get(model, key);
}

static void print_side(const char *title, struct json_object *side)
{
	const char *reason = cli_text_of(side, "reason");

	printf("%-9s %s, registered by %s%s%s%s\n", title, cli_text_of(side, "target"),
	       cli_text_of(side, "method"), reason[0] ? " (" : "", reason, reason[0] ? ")" : "");
}

static void print_latency(struct json_object *latency)
{
	static const struct cli_column columns[] = {
		{ "min", "MIN/ns", false }, { "p50", "P50/ns", false }, { "p90", "P90/ns", false },
		{ "p99", "P99/ns", false }, { "p99.9", "P99.9/ns", false },
		{ "max", "MAX/ns", false }, { 0 },
	};
	struct json_object *rows = json_object_new_array();

	json_object_array_add(rows, json_object_get(latency));
	cli_print_table(rows, columns);
	json_object_put(rows);
}

static void print_verified(struct json_object *model)
{
	struct json_object *names = get(model, "verified_by");
	char text[DONARD_SIZE_TEXT_BYTES];

	if (!cli_true(model, "verified")) {
		puts("verified  not asked for (--verify)");
		return;
	}
	printf("verified  %s, every byte, by the ", cli_size_of(model, "verified_bytes", text));
	for (size_t i = 0; i < json_object_array_length(names); i++)
		printf("%s%s", i ? " and the " : "",
		       json_object_get_string(json_object_array_get_idx(names, i)));
	putchar('\n');
}

static void print_durable(struct json_object *model)
{
	if (cli_true(model, "durable"))
		puts("durable   yes: the barrier of its device has passed");
	else
		printf("durable   no: %s\n", cli_text_of(model, "durable_reason"));
}

static void print_text(struct json_object *model, unsigned int direction)
{
	double rate = json_object_get_double(get(model, "bytes_per_second"));
	char text[DONARD_SIZE_TEXT_BYTES];

	printf("%-9s %s in %.3f s, %.1f MiB/s\n", direction == DONARD_RDMA_READ ? "read" :
	       "wrote", cli_size_of(model, "bytes", text), json_object_get_double(get(model, "seconds")),
	       rate / 1048576);
	printf("requests  %s of %s, ", cli_text_of(model, "requests"), cli_size_of(model, "block_size", text));
	printf("%s in flight\n", cli_text_of(model, "queue_depth"));
	printf("device    %s (%s)\n", cli_text_of(model, "device"), cli_text_of(model, "transport"));
	print_side("remote", get(model, "remote"));
	print_side("local", get(model, "local"));
	print_verified(model);
	print_durable(model);
	if (get(model, "latency_ns"))
		print_latency(get(model, "latency_ns"));
	json_object_put(model);
}

/* ---- run ---- */

static int failed(const struct cli *cli, int rc, const struct cli_rdma_options *options,
		  const struct cli_rdma_result *result)
{
	char text[DONARD_SIZE_TEXT_BYTES];
	int exit_code = cli_fail_with(cli, rc, build(options, result));

	if (result->bytes || rc == -ECANCELED)
		fprintf(stderr, "%s: %s: %s had been moved\n", cli_name, cli->command->name,
			donard_format_size(text, sizeof(text), result->bytes));
	return exit_code;
}

static int run(struct cli *cli, struct cli_rdma_options *options)
{
	struct cli_rdma_result result;
	struct cli_progress progress;
	int rc = take_options(cli, options);

	if (rc)
		return rc;
	options->progress_fn = cli_progress_tick;
	options->progress_user = &progress;
	cli_progress_init(&progress, cli_given(cli, "progress"));
	cli_catch_signals();
	rc = cli_rdma_run(cli->ctx, options, &result);
	cli_progress_end(&progress);
	if (rc)
		return failed(cli, rc, options, &result);
	if (cli->json)
		cli_print_json(build(options, &result));
	else
		print_text(build(options, &result), options->direction);
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
	{ "verify", NULL, "use test data and compare it byte by byte at both ends; see the man page" }, \
	{ "timeout", "SECONDS", "give up when nothing comes back for this long; default 10" }, \
	{ "progress", NULL, "show progress on stderr" }, \
	{ "json", NULL, "print JSON" }, \
	{ 0 }

static const struct cli_option transfer_options[] = {
	WHERE_OPTIONS,
	{ "size", "SIZE", "how much; default: all that is offered" },
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
