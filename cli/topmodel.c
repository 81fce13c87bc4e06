// SPDX-License-Identifier: Apache-2.0
/* Samples of what the kernel counts, and tables of the rates between two. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "donard/counts.h"
#include "fields.h"
#include "model.h"
#include "output.h"
#include "topmodel.h"

/* --- a sample --- */

struct region {
	const struct donard_region_info *info;		/* of the sample's list */
	struct donard_region_counts counts;
};

struct drive {
	char name[64];
	struct donard_drive_counts counts;
};

struct cli_top_sample {
	struct donard_region_list *list;
	struct region *regions;
	struct drive *drives;
	size_t region_count, drive_count;
};

#define REGION(name, unit, member) CLI_FIELD(name, unit, struct donard_region_counts, member)
static const struct cli_field region_fields[] = {
	REGION("maps", CLI_COUNT, maps), REGION("faults", CLI_COUNT, faults), REGION("pins", CLI_COUNT, pins),
	REGION("routes", CLI_COUNT, routes), REGION("read_bytes", CLI_BYTES, read_bytes),
	REGION("written_bytes", CLI_BYTES, written_bytes), REGION("taken_bytes", CLI_BYTES, taken_bytes),
	REGION("peak_bytes", CLI_BYTES, peak_bytes), { 0 },
};

#define DRIVE(name, unit, member) CLI_FIELD(name, unit, struct donard_drive_counts, member)
static const struct cli_field drive_fields[] = {
	DRIVE("reads", CLI_COUNT, reads), DRIVE("read_bytes", CLI_BYTES, read_bytes), DRIVE("writes", CLI_COUNT, writes),
	DRIVE("written_bytes", CLI_BYTES, written_bytes), DRIVE("in_flight", CLI_COUNT, in_flight), { 0 },
};

static int no_memory(struct donard_context *ctx)
{
	return donard_fail(ctx, ENOMEM, "no-memory", "no memory for a sample");
}

/* Leaves out a region that has gone since it was listed. */
static int add_region(struct donard_context *ctx, struct cli_top_sample *sample, const struct donard_region_info *info)
{
	struct region *region = &sample->regions[sample->region_count];
	int rc;

	region->info = info;
	region->counts.size = sizeof(region->counts);
	rc = donard_region_counts(ctx, info->name, &region->counts);
	sample->region_count += !rc;
	return rc == -ENODEV ? 0 : rc;
}

/* Opens no region: an open one delays its removal. */
static int add_regions(struct donard_context *ctx, struct cli_top_sample *sample, bool holders)
{
	int rc = donard_region_list_parts(ctx, holders ? DONARD_REGION_HOLDERS : 0, &sample->list), count = rc;

	if (rc < 0)
		return rc;
	sample->regions = calloc((size_t)count + 1, sizeof(*sample->regions));
	rc = sample->regions ? 0 : no_memory(ctx);
	for (int i = 0; i < count && !rc; i++)
		rc = add_region(ctx, sample, donard_region_get(sample->list, (size_t)i));
	return rc;
}

static const struct drive *find_drive(const struct cli_top_sample *sample, const char *name)
{
	for (size_t i = 0; i < sample->drive_count; i++)
		if (!strcmp(sample->drives[i].name, name))
			return &sample->drives[i];
	return NULL;
}

/* Adds a drive once, though several controllers may serve it.  Leaves out one that has gone since it was listed. */
static int add_drive(struct donard_context *ctx, struct cli_top_sample *sample, const char *name)
{
	struct drive drive = { .counts.size = sizeof(drive.counts) }, *longer;

	if (find_drive(sample, name) || donard_drive_counts(ctx, name, &drive.counts))
		return 0;
	snprintf(drive.name, sizeof(drive.name), "%s", name);
	longer = realloc(sample->drives, (sample->drive_count + 1) * sizeof(*longer));
	if (!longer)
		return no_memory(ctx);
	sample->drives = longer;
	sample->drives[sample->drive_count++] = drive;
	return 0;
}

static int add_drives(struct donard_context *ctx, struct cli_top_sample *sample)
{
	struct donard_client_list *list;
	int count = donard_client_list(ctx, &list), rc = 0;

	if (count < 0)
		return count;
	for (size_t i = 0; i < donard_client_count(list); i++) {
		const struct donard_client_info *info = donard_client_get(list, i);

		for (size_t n = 0; n < info->namespace_count && !rc; n++)
			rc = add_drive(ctx, sample, info->namespaces[n]);
	}
	donard_client_list_free(list);
	return rc;
}

int cli_top_sample(struct donard_context *ctx, bool holders, struct cli_top_sample **sample)
{
	int rc;

	*sample = calloc(1, sizeof(**sample));
	if (!*sample)
		return no_memory(ctx);
	rc = add_regions(ctx, *sample, holders);
	if (!rc)
		rc = add_drives(ctx, *sample);
	if (rc) {
		cli_top_forget(*sample);
		*sample = NULL;
	}
	return rc;
}

void cli_top_forget(struct cli_top_sample *sample)
{
	if (!sample)
		return;
	donard_region_list_free(sample->list);
	free(sample->regions);
	free(sample->drives);
	free(sample);
}

struct json_object *cli_top_json(const struct cli_top_sample *sample)
{
	struct json_object *regions = json_object_new_array(), *drives = json_object_new_array();
	struct json_object *model = json_object_new_object(), *row;

	json_object_object_add(model, "regions", regions);
	json_object_object_add(model, "drives", drives);
	for (size_t i = 0; i < sample->region_count; i++) {
		row = cli_model_region(sample->regions[i].info);
		cli_fields_add(row, region_fields, &sample->regions[i].counts, 0);
		json_object_array_add(regions, row);
	}
	for (size_t i = 0; i < sample->drive_count; i++) {
		row = json_object_new_object();
		cli_add_text(row, "name", sample->drives[i].name);
		cli_fields_add(row, drive_fields, &sample->drives[i].counts, 0);
		json_object_array_add(drives, row);
	}
	return model;
}

/* --- tables --- */

/* A row of a region that nobody uses fits into 80 columns. */
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

/* Is @region the region that @before was?  Names are reused. */
static bool is_same(const struct region *region, const struct region *before)
{
	return !strcmp(region->info->bdf, before->info->bdf) && region->info->bar == before->info->bar &&
	       region->info->offset_bytes == before->info->offset_bytes &&
	       region->counts.taken_bytes >= before->counts.taken_bytes;
}

/* Returns the region's counts in the sample before, or NULL. */
static const struct donard_region_counts *counts_before(const struct cli_top_sample *before, const struct region *region)
{
	for (size_t i = 0; before && i < before->region_count; i++)
		if (!strcmp(before->regions[i].info->name, region->info->name))
			return is_same(region, &before->regions[i]) ? &before->regions[i].counts : NULL;
	return NULL;
}

/*
 * The same for a drive.  Counts that are less than before are not compared: a path has gone with all that it had counted, or
 * the name is another drive's now.
 */
static const struct donard_drive_counts *drive_before(const struct cli_top_sample *before, const struct drive *drive)
{
	const struct drive *one = before ? find_drive(before, drive->name) : NULL;
	const struct donard_drive_counts *now = &drive->counts, *then = one ? &one->counts : NULL;

	return then && now->reads >= then->reads && now->read_bytes >= then->read_bytes &&
	       now->writes >= then->writes && now->written_bytes >= then->written_bytes ? then : NULL;
}

/* Adds how much each field grew per second; "-" without @before. */
static void add_rates(struct json_object *row, const struct cli_field *fields, const void *counts, const void *before,
		      double seconds)
{
	char text[32];

	for (const struct cli_field *field = fields; field->name; field++) {
		uint64_t now = cli_field_number(field, counts), then = before ? cli_field_number(field, before) : 0;
		double rate = now > then && seconds > 0 ? (double)(now - then) / seconds : 0;

		if (!before)
			strcpy(text, "-");
		else if (field->unit == CLI_BYTES && rate > 0)
			snprintf(text, sizeof(text), "%.1f MiB/s", rate / 1048576);
		else
			snprintf(text, sizeof(text), "%.0f", rate);
		cli_add_text(row, field->name, text);
	}
}

/* How much is in use is unknown for a GPU's region, whose memory files pin but do not own, and for a pmem device's. */
static struct json_object *owned(const struct donard_region_info *info)
{
	if (info->kind == DONARD_KIND_GPU_NVIDIA || info->page_type == DONARD_PAGES_PMEM)
		return NULL;
	return json_object_new_uint64(info->size_bytes - info->available_bytes);
}

static struct json_object *region_rows(const struct cli_top_sample *sample, const struct cli_top_sample *before, double seconds)
{
	struct json_object *rows = json_object_new_array();

	for (size_t i = 0; i < sample->region_count; i++) {
		const struct region *region = &sample->regions[i];
		struct json_object *row = json_object_new_object();

		add_rates(row, region_fields, &region->counts, counts_before(before, region), seconds);
		cli_add_text(row, "name", region->info->name);
		cli_add_text(row, "state", donard_region_state_text(region->info->state));
		cli_add_number(row, "size", region->info->size_bytes);
		json_object_object_add(row, "owned", owned(region->info));
		cli_add_number(row, "peak_bytes", region->counts.peak_bytes);
		json_object_array_add(rows, row);
	}
	return rows;
}

static struct json_object *drive_rows(const struct cli_top_sample *sample, const struct cli_top_sample *before, double seconds)
{
	struct json_object *rows = json_object_new_array();

	for (size_t i = 0; i < sample->drive_count; i++) {
		const struct drive *drive = &sample->drives[i];
		struct json_object *row = json_object_new_object();

		add_rates(row, drive_fields, &drive->counts, drive_before(before, drive), seconds);
		cli_add_text(row, "name", drive->name);
		cli_add_number(row, "in_flight", drive->counts.in_flight);
		json_object_array_add(rows, row);
	}
	return rows;
}

struct holder_rows {
	struct json_object *rows;
	const char *region;
};

static void add_holder(void *user, char *line)
{
	const struct holder_rows *to = user;
	struct cli_holder holder;
	struct json_object *row;

	if (!cli_parse_holder(line, &holder))
		return;
	row = cli_fields_json(cli_holder_fields, &holder, 0);
	cli_add_text(row, "region", to->region);
	json_object_array_add(to->rows, row);
}

static void print_holders(FILE *out, const struct cli_top_sample *sample)
{
	struct json_object *rows = json_object_new_array();
	unsigned long left_out = 0;
	bool hidden = false;

	for (size_t i = 0; i < sample->region_count; i++) {
		const struct donard_region_info *info = sample->regions[i].info;

		if (info->holders) {
			cli_each_line(info->holders, add_holder, &(struct holder_rows){ rows, info->name });
			left_out += cli_lines_left_out(info->holders);
		} else {
			hidden = true;
		}
	}
	if (json_object_array_length(rows)) {
		fputc('\n', out);
		cli_print_table_to(out, rows, holder_columns);
		if (left_out)
			fprintf(out, "and %lu more\n", left_out);
	}
	if (hidden)
		fputs("\nWho holds a region's memory is shown to root and that region's group.\n", out);
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

void cli_top_print(FILE *out, const struct cli_top_sample *sample, const struct cli_top_sample *before, double seconds,
		   bool holders)
{
	print_rows(out, region_rows(sample, before, seconds), region_columns,
		   "No regions. Add one with 'donard-cli region add'.");
	if (holders)
		print_holders(out, sample);
	fputc('\n', out);
	print_rows(out, drive_rows(sample, before, seconds), drive_columns, "No NVMe drives.");
}
