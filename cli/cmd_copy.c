// SPDX-License-Identifier: Apache-2.0
/* copy: moves bytes and says by which route they went. */
#include <errno.h>
#include <stdio.h>

#include "donard/donard.h"
#include "donard/meter.h"
#include "errors.h"
#include "measure.h"
#include "options.h"
#include "output.h"
#include "place.h"
#include "progress.h"

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
		rc = cli_number(cli, "queue-depth", &depth);
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

static void add_flag(struct json_object *model, const char *key, bool value)
{
	json_object_object_add(model, key, json_object_new_boolean(value));
}

static struct json_object *build_legs(const struct donard_copy_result *result)
{
	struct json_object *legs = json_object_new_array();

	for (uint32_t i = 0; i < result->leg_count; i++) {
		struct json_object *leg = json_object_new_object();

		cli_add_text(leg, "name", result->legs[i].name);
		cli_add_text(leg, "under", result->legs[i].under);
		cli_add_text(leg, "route", donard_route_text(result->legs[i].route));
		cli_add_text(leg, "route_evidence",
			     donard_evidence_text(result->legs[i].route_evidence));
		json_object_array_add(legs, leg);
	}
	return legs;
}

static struct json_object *build(const struct donard_copy_result *result,
				 const struct donard_measurement *measurement)
{
	struct json_object *model = json_object_new_object();

	cli_add_number(model, "bytes", result->bytes);
	cli_add_double(model, "seconds", result->seconds);
	cli_add_text(model, "route", donard_route_text(result->route));
	cli_add_text(model, "route_evidence", donard_evidence_text(result->route_evidence));
	json_object_object_add(model, "legs", build_legs(result));
	cli_add_text(model, "bridge", result->bridge);
	cli_add_text(model, "via", result->via);
	cli_add_text(model, "src_gpu", result->src_gpu);
	cli_add_text(model, "dst_gpu", result->dst_gpu);
	cli_add_number(model, "bounced_bytes", result->bounced_bytes);
	cli_add_text(model, "bounced_evidence",
		     donard_bounce_evidence_text(result->bounced_evidence));
	cli_add_number(model, "kept_bytes", result->kept_bytes);
	cli_add_number(model, "overwritten_bytes", result->overwritten_bytes);
	add_flag(model, "verified", result->verified);
	add_flag(model, "durable", result->durable);
	cli_add_text(model, "durable_reason", result->durable_reason);
	cli_add_number(model, "block_size", result->block_bytes);
	cli_add_number(model, "queue_depth", result->queue_depth);
	add_flag(model, "fixed_buffers", result->fixed_buffers);
	add_flag(model, "passthrough", result->passthrough);
	add_flag(model, "aio", result->aio);
	if (measurement->meter)
		cli_add_measurement(model, measurement, result->bytes);
	return model;
}

/* ---- text: words from the model, which is printable, and decisions from the result ---- */

static const char *route_text(enum donard_route_type route)
{
	return route == DONARD_ROUTE_CPU ? "cpu (loads and stores from BAR to BAR; no DMA engine between two regions)" :
					   donard_route_text(route);
}

static void print_nothing(struct json_object *model)
{
	puts("copied    nothing: SRC is empty");
	printf("verified  %s\n", cli_true(model, "verified") ? "yes (no bytes to compare)" :
	       "not asked for (--verify)");
}

static void print_copied(struct json_object *model)
{
	double seconds = json_object_get_double(json_object_object_get(model, "seconds"));
	char text[DONARD_SIZE_TEXT_BYTES];

	printf("copied    %s in %.3f s", cli_size_of(model, "bytes", text), seconds);
	if (seconds > 0)
		printf(", %.1f MiB/s", (double)cli_number_of(model, "bytes") / 1048576 / seconds);
	putchar('\n');
}

static void print_bounced(const struct donard_copy_result *result)
{
	const char *at_most = "", *words = "";
	char text[DONARD_SIZE_TEXT_BYTES];

	switch (result->bounced_evidence) {
	case DONARD_BOUNCE_AT_MOST:
		at_most = "at most ";
		words = " (pages came into the page cache meanwhile, which another program may have read)";
		break;
	case DONARD_BOUNCE_CHANGED:
		at_most = "at most ";
		words = " (what the drive is made of changed meanwhile: LVM, md or multipath)";
		break;
	case DONARD_BOUNCE_STATED:
		words = " (as the file system says; its page cache could not be watched)";
		break;
	default:
		break;
	}
	printf("bounced   %s%s%s\n", at_most, donard_format_size(text, sizeof(text), result->bounced_bytes), words);
}

static void print_legs(struct json_object *model)
{
	struct json_object *legs = json_object_object_get(model, "legs");

	for (size_t i = 0; i < json_object_array_length(legs); i++) {
		struct json_object *leg = json_object_array_get_idx(legs, i);

		printf("leg       %s of %s: %s, %s\n", cli_text_of(leg, "name"),
		       cli_text_of(leg, "under"), cli_text_of(leg, "route"),
		       cli_text_of(leg, "route_evidence"));
	}
}

static void print_gpu(struct json_object *model, const char *key, const char *side)
{
	if (cli_text_of(model, key)[0])
		printf("gpu       %s (%s)\n", cli_text_of(model, key), side);
}

/* Of no bytes nothing is measured. */
static void print_text(struct json_object *model, const struct donard_copy_result *result)
{
	const char *via = cli_text_of(model, "via");
	char text[DONARD_SIZE_TEXT_BYTES];

	if (!result->bytes) {
		print_nothing(model);
		return;
	}
	print_copied(model);
	printf("route     %s, %s%s%s\n", route_text(result->route),
	       cli_text_of(model, "route_evidence"), via[0] ? ", staged in " : "", via);
	print_gpu(model, "src_gpu", "SRC");
	print_gpu(model, "dst_gpu", "DST");
	print_legs(model);
	if (result->passthrough)
		puts("requests  NVMe commands, without the block layer (--passthrough)");
	if (result->aio)
		puts("requests  Linux AIO, because the kernel refuses io_uring to this process");
	print_bounced(result);
	if (result->kept_bytes)
		printf("kept      %s of the file behind the copy\n",
		       donard_format_size(text, sizeof(text), result->kept_bytes));
	printf("verified  %s\n", cli_true(model, "verified") ? "yes" : "not asked for (--verify)");
	printf("durable   %s%s\n", cli_true(model, "durable") ? "yes" : "no: ", cli_text_of(model, "durable_reason"));
}

static void print(const struct cli *cli, struct json_object *model, const struct donard_copy_result *result)
{
	if (cli->json) {
		cli_print_json(model);
		return;
	}
	print_text(model, result);
	cli_print_measurement(model);
	json_object_put(model);
}

static int failed(const struct cli *cli, int rc, const struct donard_copy_result *result,
		  const struct donard_measurement *measurement)
{
	struct json_object *model = build(result, measurement);
	char text[DONARD_SIZE_TEXT_BYTES];
	int exit_code;

	/* What speaks for it is known when all has been moved; a mismatch comes later. */
	if (rc != -EBADMSG)
		json_object_object_add(model, "bounced_evidence", NULL);
	exit_code = cli_fail_with(cli, rc, model);

	if (result->bytes || result->overwritten_bytes || rc == -ECANCELED)
		fprintf(stderr, "%s: copy: %s from the start had been copied\n", cli_name,
			donard_format_size(text, sizeof(text), result->bytes));
	return exit_code;
}

static int copy(struct cli *cli, struct donard_copy_options *options, struct donard_meter *meter)
{
	struct donard_copy_result result = { .size = sizeof(result) };
	struct donard_measurement measurement = { .size = sizeof(measurement) };
	struct donard_metering metering = {
		.size = sizeof(metering), .meter = meter, .measurement = &measurement,
	};
	struct cli_place src = { 0 }, dst = { 0 };
	struct cli_progress progress;
	int rc;

	options->begin_fn = donard_meter_interval_begin;
	options->end_fn = donard_meter_interval_end;
	options->interval_user = &metering;
	options->progress_fn = cli_progress_tick;
	options->progress_user = &progress;
	cli_progress_init(&progress, cli_given(cli, "progress"));
	cli_catch_signals();
	rc = cli_place_of(cli->ctx, cli->arguments[0], options->src_offset_bytes, &src);
	if (!rc)
		rc = cli_place_of(cli->ctx, cli->arguments[1], options->dst_offset_bytes, &dst);
	options->src_offset_bytes = src.offset_bytes;
	options->dst_offset_bytes = dst.offset_bytes;
	if (!rc)
		rc = donard_copy(cli->ctx, src.name, dst.name, options, &result);
	cli_progress_end(&progress);
	if (rc)
		return failed(cli, rc, &result, &measurement);
	print(cli, build(&result, &measurement), &result);
	return EXIT_DONE;
}

static int run(struct cli *cli)
{
	struct donard_copy_options options = { .size = sizeof(options) };
	struct donard_meter *meter;
	int rc = take_options(cli, &options);

	if (rc)
		return rc;
	options.flags = take_flags(cli);
	rc = cli_open_meter(cli, &meter);
	if (rc)
		return cli_fail(cli, rc);
	rc = copy(cli, &options, meter);
	donard_meter_close(meter);
	return rc;
}

static const struct cli_option options_table[] = {
	{ "size", "SIZE", "how much; default: to the end of SRC" },
	{ "src-offset", "SIZE", "where to start in SRC" },
	{ "dst-offset", "SIZE", "where to start in DST" },
	{ "block-size", "SIZE", "size of one request; default 1M" },
	{ "queue-depth", "N", "requests in flight; default 16" },
	{ "verify", NULL, "read both sides again and compare every byte" },
	{ "allow-bounce", NULL, "go through DRAM if no peer-to-peer route works" },
	{ "allow-unlisted-bridge", NULL, "try a host bridge that is on no allow-list" },
	{ "force-bounce", NULL, "always go through DRAM: a baseline to compare with" },
	{ "passthrough", NULL, "bypass the block layer with NVMe commands; whole drives and partitions" },
	{ "via", "REGION", "region that a copy from drive to drive stages its data in" },
	{ "measure", NULL, "count what went through DRAM, by the best meter that is available" },
	{ "meter", "NAME", "the same, by this meter: lab, likwid, perf, resctrl, none" },
	{ "progress", NULL, "show progress on stderr" },
	{ "json", NULL, "print JSON" },
	{ 0 },
};

static const struct cli_limit limits[] = {
	{ "queue-depth", 1, 4096 },
	{ 0 },
};

const struct cli_command cmd_copy = {
	.name = "copy", .arguments = "SRC DST", .min_arguments = 2, .max_arguments = 2,
	.needs_context = true,
	.summary = "Copy between a drive, a file on ext4 or xfs, a region (p2pmem0+64M), and a GPU (gpu:0)",
	.options = options_table, .limits = limits, .run = run,
};
