// SPDX-License-Identifier: Apache-2.0
/* copy: moves bytes and says by which route they went. */
#include <errno.h>
#include <stdio.h>

#include "measure.h"

static int take_options(const struct cli *cli, struct donard_copy_options *options)
{
	uint64_t depth = 0;
	int rc;

	rc = cli_size(cli, "size", false, &options->length_bytes);
	if (!rc)
		rc = cli_size(cli, "src-offset", true, &options->src_offset_bytes);
	if (!rc)
		rc = cli_size(cli, "dst-offset", true, &options->dst_offset_bytes);
	if (!rc)
		rc = cli_size(cli, "block-size", false, &options->block_bytes);
	if (!rc)
		rc = cli_number(cli, "queue-depth", 1, 4096, &depth);
	options->queue_depth = (uint32_t)depth;
	options->via = cli_value(cli, "via");
	return rc;
}

static uint32_t take_flags(const struct cli *cli)
{
	return (cli_given(cli, "verify") ? DONARD_COPY_VERIFY : 0) |
	       (cli_given(cli, "allow-bounce") ? DONARD_COPY_ALLOW_BOUNCE : 0) |
	       (cli_given(cli, "allow-unlisted-bridge") ? DONARD_COPY_ALLOW_UNLISTED : 0) |
	       (cli_given(cli, "force-bounce") ? DONARD_COPY_FORCE_BOUNCE : 0) |
	       (cli_given(cli, "passthrough") ? DONARD_COPY_PASSTHROUGH : 0);
}

static struct json_object *build(const struct donard_copy_result *result)
{
	struct json_object *model = json_object_new_object();

	json_object_object_add(model, "bytes", json_object_new_int64((int64_t)result->bytes));
	json_object_object_add(model, "seconds", json_object_new_double(result->seconds));
	json_object_object_add(model, "route", cli_json_string(result->route));
	json_object_object_add(model, "route_evidence",
			       cli_json_string(result->route_evidence));
	json_object_object_add(model, "bridge", cli_json_string(result->bridge));
	json_object_object_add(model, "via", cli_json_string(result->via));
	json_object_object_add(model, "bounced_bytes",
			       json_object_new_int64((int64_t)result->bounced_bytes));
	json_object_object_add(model, "verified", json_object_new_boolean(result->verified));
	json_object_object_add(model, "durable", json_object_new_boolean(result->durable));
	json_object_object_add(model, "block_size",
			       json_object_new_int64((int64_t)result->block_bytes));
	json_object_object_add(model, "queue_depth",
			       json_object_new_int((int)result->queue_depth));
	json_object_object_add(model, "fixed_buffers",
			       json_object_new_boolean(result->fixed_buffers));
	json_object_object_add(model, "passthrough",
			       json_object_new_boolean(result->passthrough));
	return model;
}

static const char *route_text(const char *route)
{
	return route[0] == 'c' ? "cpu (loads and stores from BAR to BAR; no DMA engine between "
				 "two regions)" : route;
}

static void print_nothing(const struct donard_copy_result *result)
{
	puts("copied    nothing: SRC is empty");
	printf("verified  %s\n", result->verified ? "yes (no bytes to compare)" :
	       "not asked for (--verify)");
}

static void print_text(const struct donard_copy_result *result)
{
	char text[32];
	double mib = (double)result->bytes / 1048576;

	if (!result->bytes) {
		print_nothing(result);
		return;
	}
	printf("copied    %s in %.3f s", donard_format_size(text, sizeof(text), result->bytes),
	       result->seconds);
	if (result->seconds > 0)
		printf(", %.1f MiB/s", mib / result->seconds);
	printf("\nroute     %s, %s%s%s\n", route_text(result->route), result->route_evidence,
	       result->via[0] ? ", staged in " : "", result->via);
	if (result->passthrough)
		puts("requests  NVMe commands past the block layer (--passthrough)");
	printf("bounced   %s\n", donard_format_size(text, sizeof(text), result->bounced_bytes));
	printf("verified  %s\n", result->verified ? "yes" : "not asked for (--verify)");
}

static int failed(const struct cli *cli, int rc, const struct donard_copy_result *result)
{
	char text[32];
	int exit_code = cli_fail(cli, rc);

	if (result->bytes || rc == -ECANCELED)
		fprintf(stderr, "donard-cli: copy: %s (%llu bytes) from the start had been "
			"copied\n", donard_format_size(text, sizeof(text), result->bytes),
			(unsigned long long)result->bytes);
	return exit_code;
}

/* Of no bytes nothing is measured. */
static void print(const struct cli *cli, const struct donard_copy_result *result,
		  const struct donard_measurement *measurement)
{
	struct json_object *model;

	if (!cli->json) {
		print_text(result);
		if (measurement->meter)
			cli_print_measurement(measurement, result->bytes);
		return;
	}
	model = build(result);
	if (measurement->meter)
		cli_add_measurement(model, measurement, result->bytes);
	cli_print_json(model);
}

static int copy(struct cli *cli, struct donard_copy_options *options)
{
	struct donard_copy_result result = { .size = sizeof(result) };
	struct donard_measurement measurement = { .size = sizeof(measurement) };
	struct cli_progress progress;
	int rc;

	options->measurement = &measurement;
	options->progress_fn = cli_progress_tick;
	options->progress_user = &progress;
	cli_progress_init(&progress, cli_given(cli, "progress"));
	cli_catch_signals();
	rc = donard_copy(cli->ctx, cli->arguments[0], cli->arguments[1], options, &result);
	cli_progress_end(&progress);
	if (rc)
		return failed(cli, rc, &result);
	print(cli, &result, &measurement);
	return EXIT_DONE;
}

static int run(struct cli *cli)
{
	struct donard_copy_options options = { .size = sizeof(options) };
	int rc = take_options(cli, &options);

	if (rc)
		return rc;
	options.flags = take_flags(cli);
	rc = cli_open_meter(cli, &options.meter);
	if (rc)
		return cli_fail(cli, rc);
	rc = copy(cli, &options);
	donard_meter_close(options.meter);
	return rc;
}

static const struct cli_option options_table[] = {
	{ "size", "SIZE", "how much; default: to the end of SRC" },
	{ "src-offset", "SIZE", "where to start in SRC" },
	{ "dst-offset", "SIZE", "where to start in DST" },
	{ "block-size", "SIZE", "of one request; default 1M" },
	{ "queue-depth", "N", "requests in flight; default 16" },
	{ "verify", NULL, "read both sides again and compare every byte" },
	{ "allow-bounce", NULL, "go through DRAM if no peer-to-peer route works" },
	{ "allow-unlisted-bridge", NULL, "try a host bridge that is on no allow-list" },
	{ "force-bounce", NULL, "always go through DRAM: a baseline to compare with" },
	{ "passthrough", NULL, "NVMe commands past the block layer; whole drives and partitions" },
	{ "via", "REGION", "staging region of a copy from drive to drive" },
	{ "measure", NULL, "count what went through DRAM, by the best meter there is" },
	{ "meter", "NAME", "by this one: lab, likwid, perf, resctrl, none" },
	{ "progress", NULL, "show progress on stderr" },
	{ "json", NULL, "print JSON" },
	{ 0 },
};

const struct cli_command cmd_copy = {
	.name = "copy", .arguments = "SRC DST", .min_arguments = 2, .max_arguments = 2,
	.needs_context = true,
	.summary = "Copy between a drive, a file on ext4 or xfs, and a region (p2pmem0+64M)",
	.options = options_table, .run = run,
};
