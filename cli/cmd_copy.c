// SPDX-License-Identifier: Apache-2.0
/* copy: moves bytes and says by which route they went. */
#include <errno.h>
#include <stdio.h>

#include "donard/donard.h"
#include "donard/meter.h"
#include "errors.h"
#include "fields.h"
#include "measure.h"
#include "options.h"
#include "output.h"
#include "place.h"
#include "progress.h"
#include "target.h"

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

/* A user who gives --dst-offset, even 0, writes a part of DST and keeps the rest. */
static uint32_t take_flags(const struct cli *cli)
{
	return (cli_given(cli, "verify") ? DONARD_COPY_VERIFY : 0) |
	       (cli_given(cli, "allow-bounce") ? DONARD_COPY_ALLOW_BOUNCE : 0) |
	       (cli_given(cli, "allow-unlisted-bridge") ? DONARD_COPY_ALLOW_UNLISTED : 0) |
	       (cli_given(cli, "force-bounce") ? DONARD_COPY_FORCE_BOUNCE : 0) |
	       (cli_given(cli, "passthrough") ? DONARD_COPY_PASSTHROUGH : 0) |
	       (cli_given(cli, "dst-offset") ? DONARD_COPY_KEEP_REST : 0);
}

/* ---- the report ---- */

struct copied {
	struct donard_copy_result result;
	struct donard_measurement measurement;
	double rate;
};

static const char *route_says(unsigned int route)
{
	return route == DONARD_ROUTE_CPU ? "cpu (loads and stores from BAR to BAR; no DMA engine between two regions)" :
					   donard_route_text(route);
}

static const char *bounced_before(unsigned int evidence)
{
	return evidence == DONARD_BOUNCE_AT_MOST || evidence == DONARD_BOUNCE_CHANGED ? "at most " : "";
}

static const char *bounced_after(unsigned int evidence)
{
	switch (evidence) {
	case DONARD_BOUNCE_AT_MOST:
		return " (pages came into the page cache meanwhile, which another program may have read)";
	case DONARD_BOUNCE_CHANGED:
		return " (the devices below the drive changed meanwhile: LVM, md or multipath)";
	case DONARD_BOUNCE_STATED:
		return " (as the file system or the kernel says; it could not be watched)";
	}
	return "";
}

static const struct cli_field leg_fields[] = {
	CLI_FIELD("name", CLI_TEXT, struct donard_leg, name),
	CLI_FIELD("under", CLI_TEXT, struct donard_leg, under),
	CLI_FIELD("route", CLI_WORD, struct donard_leg, route, .word_of = donard_route_text),
	CLI_FIELD("route_evidence", CLI_WORD, struct donard_leg, route_evidence, .word_of = donard_evidence_text),
	{ 0 },
};

#define FIELD(name, unit, member, ...) CLI_FIELD(name, unit, struct copied, member, ##__VA_ARGS__)
static const struct cli_field fields[] = {
	FIELD("bytes", CLI_BYTES, result.bytes),
	FIELD("seconds", CLI_SECONDS, result.seconds),
	FIELD("rate", CLI_RATE, rate, .only_in_text = true),
	FIELD("route", CLI_WORD, result.route, .word_of = donard_route_text),
	FIELD("route_says", CLI_WORD, result.route, .word_of = route_says, .only_in_text = true),
	FIELD("route_evidence", CLI_WORD, result.route_evidence, .word_of = donard_evidence_text),
	FIELD("legs", CLI_LIST, result.legs[0], .count_at = offsetof(struct copied, result.leg_count), .fields = leg_fields,
	      .text = "leg       {name} of {under}: {route}, {route_evidence}\n"),
	FIELD("bridge", CLI_TEXT, result.bridge),
	FIELD("via", CLI_TEXT, result.via),
	FIELD("src_gpu", CLI_TEXT, result.src_gpu),
	FIELD("dst_gpu", CLI_TEXT, result.dst_gpu),
	FIELD("bounced_bytes", CLI_BYTES, result.bounced_bytes),
	FIELD("bounced_evidence", CLI_WORD, result.bounced_evidence, .word_of = donard_bounce_evidence_text),
	FIELD("bounced_before", CLI_WORD, result.bounced_evidence, .word_of = bounced_before, .only_in_text = true),
	FIELD("bounced_after", CLI_WORD, result.bounced_evidence, .word_of = bounced_after, .only_in_text = true),
	FIELD("kept_bytes", CLI_BYTES, result.kept_bytes),
	FIELD("overwritten_bytes", CLI_BYTES, result.overwritten_bytes),
	FIELD("verified", CLI_FLAG, result.verified),
	FIELD("durable", CLI_FLAG, result.durable),
	FIELD("durable_reason", CLI_TEXT, result.durable_reason),
	FIELD("block_size", CLI_BYTES, result.block_bytes),
	FIELD("queue_depth", CLI_COUNT, result.queue_depth),
	FIELD("fixed_buffers", CLI_FLAG, result.fixed_buffers),
	FIELD("passthrough", CLI_FLAG, result.passthrough),
	FIELD("aio", CLI_FLAG, result.aio),
	{ 0 },
};

/* A copy of no bytes measures nothing. */
static const char nothing_text[] =
	"copied    nothing: SRC is empty\n"
	"verified  [{?verified}yes (no bytes to compare)][{!verified}not asked for (--verify)]\n";

static const char text[] =
	"copied    {bytes} in {seconds}[, {rate}]\n"
	"route     {route_says}, {route_evidence}[, staged in {via}]\n"
	"[gpu       {src_gpu} (SRC)\n]"
	"[gpu       {dst_gpu} (DST)\n]"
	"{legs}"
	"[{?passthrough}requests  NVMe commands, without the block layer (--passthrough)\n]"
	"[{?aio}requests  Linux AIO, because the kernel refuses io_uring to this process\n]"
	"bounced   {bounced_before}{bounced_bytes}{bounced_after}\n"
	"[kept      {kept_bytes} of the file behind the copy\n]"
	"verified  [{?verified}yes][{!verified}not asked for (--verify)]\n"
	"durable   [{?durable}yes][{!durable}no: ]{durable_reason}\n";

static struct json_object *build(const struct copied *copied)
{
	struct json_object *model = cli_fields_json(fields, copied, 0);

	if (copied->measurement.meter)
		cli_add_measurement(model, &copied->measurement, copied->result.bytes);
	return model;
}

static void print(const struct cli *cli, struct copied *copied)
{
	const struct donard_copy_result *result = &copied->result;

	if (cli->json) {
		cli_print_json(build(copied));
		return;
	}
	copied->rate = result->seconds > 0 ? (double)result->bytes / result->seconds : 0;
	cli_fields_print(stdout, fields, result->bytes ? text : nothing_text, copied);
	if (copied->measurement.meter && result->bytes)
		cli_print_measurement(&copied->measurement, result->bytes);
}

static struct json_object *build_failed(const struct copied *copied)
{
	struct json_object *model = build(copied);

	/* The evidence is known only once all bytes have been moved. */
	if (copied->result.bounced_evidence == DONARD_BOUNCE_UNKNOWN)
		json_object_object_add(model, "bounced_evidence", NULL);
	return model;
}

static int failed(const struct cli *cli, int rc, const struct copied *copied)
{
	const struct donard_copy_result *result = &copied->result;
	char size[DONARD_SIZE_TEXT_BYTES];
	int exit_code = cli_fail_with(cli, rc, build_failed(copied));

	if (result->bytes || result->overwritten_bytes || rc == -ECANCELED)
		cli_note(cli, "%s from the start had been copied", donard_format_size(size, sizeof(size), result->bytes));
	return exit_code;
}

/* The meter does not start if the copy has no bytes to move, or fails before it moves any. */
static void count_nothing(struct donard_measurement *measurement, const struct donard_meter *meter)
{
	measurement->meter = donard_meter_name(meter);
	snprintf(measurement->missing, sizeof(measurement->missing), "Nothing was counted: the copy did not begin to move bytes.");
}

static int copy(struct cli *cli, struct donard_copy_options *options, struct donard_meter *meter)
{
	struct copied copied = { .result.size = sizeof(copied.result), .measurement.size = sizeof(copied.measurement) };
	struct donard_metering metering = {
		.size = sizeof(metering), .meter = meter, .measurement = &copied.measurement,
	};
	struct cli_place src = { 0 }, dst = { 0 };
	struct cli_progress progress;
	int rc;

	if (meter)
		count_nothing(&copied.measurement, meter);
	options->begin_fn = donard_meter_interval_begin;
	options->end_fn = donard_meter_interval_end;
	options->interval_user = &metering;
	options->progress_fn = cli_progress_tick;
	options->progress_user = &progress;
	cli_progress_init(&progress, cli_given(cli, "progress"));
	rc = cli_place_of(cli->ctx, cli->arguments[0], options->src_offset_bytes, &src);
	if (!rc)
		rc = cli_place_of(cli->ctx, cli->arguments[1], options->dst_offset_bytes, &dst);
	options->src_offset_bytes = src.offset_bytes;
	options->dst_offset_bytes = dst.offset_bytes;
	if (!rc)
		rc = donard_copy(cli->ctx, src.name, dst.name, options, &copied.result);
	cli_progress_end(&progress);
	if (rc)
		return failed(cli, rc, &copied);
	print(cli, &copied);
	return EXIT_DONE;
}

static int run(struct cli *cli)
{
	struct donard_copy_options options = { .size = sizeof(options) };
	const struct copied none = { 0 };
	struct donard_meter *meter;
	int rc = take_options(cli, &options);

	if (!rc)
		rc = cli_check_target(cli, cli->arguments[1], "Name the file, and send the report elsewhere");
	if (rc)
		return rc;
	options.flags = take_flags(cli);
	/* Opening some meters takes seconds, since they test themselves. */
	cli_catch_signals();
	rc = cli_open_meter(cli, &meter);
	if (cli_stopped(NULL))
		rc = cli_fail_text_with(cli, EXIT_STOPPED, "canceled", "stopped by a signal before the copy began.",
					build_failed(&none));
	else if (rc)
		rc = failed(cli, rc, &none);
	else
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
