// SPDX-License-Identifier: Apache-2.0
/* Samples of what the kernel counts, and tables of the rates between two. */
#include <errno.h>
#include <string.h>

#include "donard/counts.h"
#include "model.h"
#include "output.h"
#include "topmodel.h"

/* --- a sample --- */

static void add_region_counts(struct json_object *row, const struct donard_region_counts *counts)
{
	cli_add_number(row, "maps", counts->maps);
	cli_add_number(row, "faults", counts->faults);
	cli_add_number(row, "pins", counts->pins);
	cli_add_number(row, "routes", counts->routes);
	cli_add_number(row, "read_bytes", counts->read_bytes);
	cli_add_number(row, "written_bytes", counts->written_bytes);
	cli_add_number(row, "taken_bytes", counts->taken_bytes);
	cli_add_number(row, "peak_bytes", counts->peak_bytes);
}

/* One that has gone since it was listed is left out. */
static int add_region(struct donard_context *ctx, struct json_object *rows,
		      const struct donard_region_info *info)
{
	struct donard_region_counts counts = { .size = sizeof(counts) };
	int rc = donard_region_counts(ctx, info->name, &counts);
	struct json_object *row;

	if (rc)
		return rc == -ENODEV ? 0 : rc;
	row = cli_model_region(info);
	add_region_counts(row, &counts);
	json_object_array_add(rows, row);
	return 0;
}

/* Opens no region: an open one delays its removal. */
static int add_regions(struct donard_context *ctx, struct json_object *rows, bool holders)
{
	struct donard_region_list *list;
	int rc = donard_region_list_parts(ctx, holders ? DONARD_REGION_HOLDERS : 0, &list), count = rc;

	if (rc < 0)
		return rc;
	rc = 0;
	for (int i = 0; i < count && !rc; i++)
		rc = add_region(ctx, rows, donard_region_get(list, (size_t)i));
	donard_region_list_free(list);
	return rc;
}

static struct json_object *find(struct json_object *rows, const char *name)
{
	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		if (!strcmp(cli_text_of(row, "name"), name))
			return row;
	}
	return NULL;
}

/* Once, though several controllers may serve it; not if it has gone since. */
static void add_drive(struct donard_context *ctx, struct json_object *rows, const char *name)
{
	struct donard_drive_counts counts = { .size = sizeof(counts) };
	struct json_object *row;

	if (find(rows, name) || donard_drive_counts(ctx, name, &counts))
		return;
	row = json_object_new_object();
	cli_add_text(row, "name", name);
	cli_add_number(row, "reads", counts.reads);
	cli_add_number(row, "read_bytes", counts.read_bytes);
	cli_add_number(row, "writes", counts.writes);
	cli_add_number(row, "written_bytes", counts.written_bytes);
	cli_add_number(row, "in_flight", counts.in_flight);
	json_object_array_add(rows, row);
}

static int add_drives(struct donard_context *ctx, struct json_object *rows)
{
	struct donard_client_list *list;
	int count = donard_client_list(ctx, &list);

	if (count < 0)
		return count;
	for (size_t i = 0; i < donard_client_count(list); i++) {
		const struct donard_client_info *info = donard_client_get(list, i);

		for (size_t n = 0; n < info->namespace_count; n++)
			add_drive(ctx, rows, info->namespaces[n]);
	}
	donard_client_list_free(list);
	return 0;
}

int cli_top_sample(struct donard_context *ctx, bool holders, struct json_object **sample)
{
	struct json_object *regions = json_object_new_array(), *drives = json_object_new_array();
	int rc;

	*sample = json_object_new_object();
	json_object_object_add(*sample, "regions", regions);
	json_object_object_add(*sample, "drives", drives);
	rc = add_regions(ctx, regions, holders);
	if (!rc)
		rc = add_drives(ctx, drives);
	if (!rc)
		return 0;
	json_object_put(*sample);
	*sample = NULL;
	return rc;
}

/* --- tables --- */

/* No wider than 80 columns for a region that nobody uses. */
static const struct cli_column region_columns[] = {
	{ "name", "REGION", false }, { "state", "STATE", false }, { "owned", "OWNED", true },
	{ "size", "OF", true }, { "peak_bytes", "PEAK", true }, { "maps", "MAPS", false },
	{ "faults", "FAULTS", false }, { "pins", "PINS", false },
	{ "read_bytes", "CPU RD", false }, { "written_bytes", "CPU WR", false }, { 0 },
};

static const struct cli_column holder_columns[] = {
	{ "region", "HELD", false }, { "pid", "PID", false }, { "command", "COMMAND", false },
	{ "bytes", "BYTES", true }, { "pinned_pages", "PINNED PAGES", false },
	{ "device", "DEVICE", false }, { 0 },
};

static const struct cli_column drive_columns[] = {
	{ "name", "DRIVE", false }, { "reads", "READS/s", false }, { "read_bytes", "READ", false },
	{ "writes", "WRITES/s", false }, { "written_bytes", "WRITTEN", false },
	{ "in_flight", "IN FLIGHT", false }, { 0 },
};

struct span {
	struct json_object *before;	/* the same row, or NULL */
	double seconds;
};

/* Names are used again: whether @row is what @before was, and not another one of its name. */
static bool is_same(struct json_object *row, struct json_object *before)
{
	return !strcmp(cli_text_of(row, "bdf"), cli_text_of(before, "bdf")) &&
	       cli_number_of(row, "bar") == cli_number_of(before, "bar") &&
	       cli_number_of(row, "offset") == cli_number_of(before, "offset") &&
	       cli_number_of(row, "taken_bytes") >= cli_number_of(before, "taken_bytes");
}

static void add_rate(struct json_object *shown, struct json_object *row, const char *key,
		     const struct span *span, bool is_bytes)
{
	uint64_t now = cli_number_of(row, key), then;
	char text[32];
	double rate;

	if (!span->before) {
		cli_add_text(shown, key, "-");
		return;
	}
	then = cli_number_of(span->before, key);
	rate = now > then && span->seconds > 0 ? (double)(now - then) / span->seconds : 0;
	if (is_bytes && rate > 0)
		snprintf(text, sizeof(text), "%.1f MiB/s", rate / 1048576);
	else
		snprintf(text, sizeof(text), "%.0f", rate);
	cli_add_text(shown, key, text);
}

static void keep(struct json_object *shown, struct json_object *row, const char *key)
{
	json_object_object_add(shown, key, json_object_get(json_object_object_get(row, key)));
}

static struct json_object *region_row(struct json_object *row, const struct span *span)
{
	struct json_object *shown = json_object_new_object();

	keep(shown, row, "name");
	keep(shown, row, "state");
	keep(shown, row, "size");
	keep(shown, row, "peak_bytes");
	cli_add_number(shown, "owned", cli_number_of(row, "size") - cli_number_of(row, "available"));
	add_rate(shown, row, "maps", span, false);
	add_rate(shown, row, "faults", span, false);
	add_rate(shown, row, "pins", span, false);
	add_rate(shown, row, "read_bytes", span, true);
	add_rate(shown, row, "written_bytes", span, true);
	return shown;
}

static struct json_object *drive_row(struct json_object *row, const struct span *span)
{
	struct json_object *shown = json_object_new_object();

	keep(shown, row, "name");
	keep(shown, row, "in_flight");
	add_rate(shown, row, "reads", span, false);
	add_rate(shown, row, "read_bytes", span, true);
	add_rate(shown, row, "writes", span, false);
	add_rate(shown, row, "written_bytes", span, true);
	return shown;
}

static struct json_object *rows_of(struct json_object *sample, struct json_object *before, double seconds,
				   const char *key,
				   struct json_object *(*make)(struct json_object *row, const struct span *span))
{
	struct json_object *rows = json_object_object_get(sample, key), *shown = json_object_new_array();
	struct span span = { .seconds = seconds };

	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		span.before = before ? find(json_object_object_get(before, key), cli_text_of(row, "name")) : NULL;
		if (span.before && !is_same(row, span.before))
			span.before = NULL;
		json_object_array_add(shown, make(row, &span));
	}
	return shown;
}

/* False if the caller may not see them. */
static bool add_holders(struct json_object *rows, struct json_object *region)
{
	struct json_object *holders = json_object_object_get(region, "holders");

	for (size_t i = 0; holders && i < json_object_array_length(holders); i++) {
		struct json_object *holder = json_object_array_get_idx(holders, i);
		struct json_object *row = json_object_new_object();

		json_object_object_foreach(holder, key, value)
			json_object_object_add(row, key, json_object_get(value));
		json_object_object_add(row, "region", json_object_get(json_object_object_get(region, "name")));
		json_object_array_add(rows, row);
	}
	return holders;
}

static void print_holders(FILE *out, struct json_object *sample)
{
	unsigned long long left_out = 0;
	struct json_object *regions = json_object_object_get(sample, "regions"), *rows = json_object_new_array();
	bool seen = true;

	for (size_t i = 0; i < json_object_array_length(regions); i++) {
		struct json_object *region = json_object_array_get_idx(regions, i);

		seen = add_holders(rows, region) && seen;
		left_out += cli_number_of(region, "holders_left_out");
	}
	if (!seen)
		fputs("\nWho holds memory is shown to root and the group p2pmem.\n", out);
	else if (json_object_array_length(rows)) {
		fputc('\n', out);
		cli_print_table_to(out, rows, holder_columns);
		if (left_out)
			fprintf(out, "and %llu more\n", left_out);
	}
	json_object_put(rows);
}

/* Takes over @rows. */
static void print_rows(FILE *out, struct json_object *rows, const struct cli_column *columns, const char *none)
{
	if (json_object_array_length(rows))
		cli_print_table_to(out, rows, columns);
	else
		fprintf(out, "%s\n", none);
	json_object_put(rows);
}

void cli_top_print(FILE *out, struct json_object *sample, struct json_object *before, double seconds,
		   bool holders)
{
	print_rows(out, rows_of(sample, before, seconds, "regions", region_row), region_columns,
		   "No regions. Add one with 'donard-cli region add'.");
	if (holders)
		print_holders(out, sample);
	fputc('\n', out);
	print_rows(out, rows_of(sample, before, seconds, "drives", drive_row), drive_columns, "No NVMe drives.");
}
