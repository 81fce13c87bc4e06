// SPDX-License-Identifier: Apache-2.0
/* See cachemodel.h. */
#include "cachemodel.h"
#include "fields.h"

#define LATENCY(name, member) CLI_FIELD(name, CLI_NANOSECONDS, struct donard_cache_latency, member)
static const struct cli_field latency_fields[] = {
	CLI_FIELD("count", CLI_COUNT, struct donard_cache_latency, count),
	LATENCY("p50", p50_ns), LATENCY("p90", p90_ns), LATENCY("p99", p99_ns), LATENCY("p99.9", p999_ns),
	LATENCY("max", max_ns), { 0 },
};

#define FIELD(unit, member, ...) CLI_FIELD(#member, unit, struct donard_cache_status, member, ##__VA_ARGS__)
static const struct cli_field fields[] = {
	FIELD(CLI_TEXT, nvram), FIELD(CLI_TEXT, drive), FIELD(CLI_IDENTITY, identity),
	FIELD(CLI_FLAG, persistent), FIELD(CLI_FLAG, draining),
	FIELD(CLI_COUNT, epoch), FIELD(CLI_COUNT, clients), FIELD(CLI_COUNT, clients_ever), FIELD(CLI_COUNT, recovered),
	FIELD(CLI_COUNT, records), FIELD(CLI_COUNT, records_most),
	FIELD(CLI_BYTES, window_bytes), FIELD(CLI_BYTES, window_bytes_most),
	FIELD(CLI_COUNT, fill_percent), FIELD(CLI_COUNT, oldest_ms),
	FIELD(CLI_COUNT, writes), FIELD(CLI_COUNT, reads), FIELD(CLI_COUNT, trims), FIELD(CLI_COUNT, flushes),
	FIELD(CLI_BYTES, written_bytes), FIELD(CLI_BYTES, read_bytes), FIELD(CLI_COUNT, groups), FIELD(CLI_COUNT, barriers),
	FIELD(CLI_BYTES, destaged_bytes), FIELD(CLI_BYTES, coalesced_bytes),
	FIELD(CLI_COUNT, drive_writes), FIELD(CLI_COUNT, drive_flushes), FIELD(CLI_COUNT, drive_reads),
	FIELD(CLI_COUNT, ignored_trims), FIELD(CLI_COUNT, drive_errors), FIELD(CLI_COUNT, mismatches),
	CLI_FIELD("write_latency_ns", CLI_PART, struct donard_cache_status, write_latency, .fields = latency_fields,
		  .text = "p50 {p50}, p99 {p99}"),
	FIELD(CLI_FLAG, aio), FIELD(CLI_MESSAGE, drive_error), { 0 },
};

static const char text[] =
	"log {identity} in {nvram}[{!persistent} (volatile)], in front of {drive}[{?draining}; ending]\n"
	"fill        {fill_percent} %: {records} of {records_most} records, {window_bytes} of {window_bytes_most}; "
	"the oldest came, or was recovered, {oldest_ms} ms ago\n"
	"clients     {clients}, {clients_ever} ever\n"
	"writes      {writes} ({written_bytes}), {barriers} barriers; {write_latency_ns}\n"
	"others      {reads} reads ({read_bytes}), {trims} trims, {flushes} flushes\n"
	"drive       {destaged_bytes} in {drive_writes} writes and {drive_flushes} flushes; "
	"{coalesced_bytes} never written, since newer came\n"
	"[{?aio}requests    to the drive by Linux AIO, because the kernel refuses io_uring to the server\n]"
	"errors      {drive_errors} of the drive, {mismatches} of checksums\n"
	"[failing     the drive is tried again: {drive_error}\n]";

struct json_object *cli_cache_model(const struct donard_cache_status *status)
{
	return cli_fields_json(fields, status, 0);
}

void cli_cache_print(FILE *out, const struct donard_cache_status *status)
{
	cli_fields_print(out, fields, text, status);
}
