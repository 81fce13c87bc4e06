// SPDX-License-Identifier: Apache-2.0
/*
 * bench table1: the table of Donard's article on RDMA: writes into a DRAM buffer, NVRAM and a GPU side by
 * side, and the reads and latencies that it left as future work. Each target is a running 'rdma serve'.
 */
#include <stdlib.h>
#include <string.h>

#include "bench_rdma.h"

#define TARGETS_MAX	16
#define ROUNDS_MAX	100
#define NAME_BYTES	32
#define DEFAULT_ROUNDS	3
#define DEFAULT_BLOCK	(64ULL << 10)
#define DEFAULT_DEPTH	16
#define LATENCY_BLOCK	64

struct target {
	char name[NAME_BYTES];
	char address[256];
	uint16_t port;
	bool again;		/* it has served us before */
};

/* What a cell is the median of; empty where no meter knows. */
struct column {
	double values[ROUNDS_MAX];
	size_t count;
};

struct row {
	struct target *target;
	unsigned int direction;
	struct column rate, p50, p99, dram;
	bool verified;
};

struct table {
	struct cli *cli;
	struct donard_meter *meter;
	struct json_object *model;
	struct donard_rdma_options options;
	uint64_t rounds, block_bytes, depth, iterations;
	struct target targets[TARGETS_MAX];
	size_t target_count;
	struct row rows[2 * TARGETS_MAX];
	size_t row_count;
};

/* ---- targets: NAME=ADDRESS, NAME=ADDRESS:PORT, NAME=[V6]:PORT, NAME=V6 ---- */

static int bad_target(const struct table *table, const char *text, const char *why)
{
	return cli_usage(table->cli, "'%s': %s; targets look like dram=192.0.2.1:7077 or "
			 "gpu=[fd00::1]:7079", text, why);
}

/* Cuts the port off @address, and its brackets. Returns the port, 0 if it has none, -1 if it is none. */
static long cut_port(char *address)
{
	char *colon = strrchr(address, ':'), *end;
	size_t length = strcspn(address, "]");
	long port = 0;

	if (address[0] == '[') {
		if (!address[length])
			return -1;
		colon = address[length + 1] ? address + length + 1 : NULL;
		if (colon && *colon != ':')
			return -1;
	} else if (colon && strchr(address, ':') != colon) {
		colon = NULL;	/* an IPv6 address without a port */
	}
	if (colon) {
		*colon = '\0';
		port = strtol(colon + 1, &end, 10);
		if (end == colon + 1 || *end || port < 1 || port > 65535)
			return -1;
	}
	if (address[0] == '[') {
		address[length] = '\0';
		memmove(address, address + 1, length);
	}
	return port;
}

static int take_target(struct table *table, const char *text)
{
	struct target *target = &table->targets[table->target_count];
	const char *equals = strchr(text, '=');
	size_t length = equals ? (size_t)(equals - text) : 0;
	long port;

	if (!length || !equals[1])
		return bad_target(table, text, "it has no name or no address");
	if (length >= NAME_BYTES || strlen(equals + 1) >= sizeof(target->address))
		return bad_target(table, text, "its name (31 characters) or address (255) is too long");
	memcpy(target->name, text, length);
	strcpy(target->address, equals + 1);
	port = cut_port(target->address);
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

static bool known(const struct donard_measurement *measurement, enum donard_quantity quantity)
{
	return measurement->known & (1U << quantity);
}

/*
 * All that went through DRAM of this side, for each byte of payload; -1 when no meter knows. What only the
 * caches fetched (resctrl) is not all: DMA is missing.
 */
static double dram_per_byte(const struct bench_rdma *run)
{
	static const enum donard_quantity parts[] = {
		DONARD_DRAM_DMA_PAYLOAD, DONARD_DRAM_DMA_OVERHEAD, DONARD_DRAM_CPU_PAYLOAD,
		DONARD_DRAM_CPU_OVERHEAD,
	};
	const struct donard_measurement *measurement = &run->measurement;
	uint64_t bytes = 0;

	if (!run->result.bytes)
		return -1;
	if (known(measurement, DONARD_DRAM_TOTAL))
		return (double)measurement->count[DONARD_DRAM_TOTAL] / (double)run->result.bytes;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (!known(measurement, parts[i]))
			return -1;
		bytes += measurement->count[parts[i]];
	}
	return (double)bytes / (double)run->result.bytes;
}

static void add_value(struct column *column, double value)
{
	if (value >= 0)
		column->values[column->count++] = value;
}

static void add_sample(struct table *table, const struct row *row, const struct bench_rdma *run,
		       const char *purpose, uint64_t round)
{
	struct json_object *sample = bench_rdma_sample(run, round);

	cli_add_text(sample, "name", row->target->name);
	cli_add_text(sample, "purpose", purpose);
	cli_add_number(sample, "verified_bytes", run->result.verified_bytes);
	cli_add_verified_by(sample, run->result.verified_by);
	bench_add_sample(table->model, sample);
}

static int run_one(struct table *table, const struct row *row, struct bench_rdma *run)
{
	struct target *target = row->target;
	int rc;

	run->options.address = target->address;
	run->options.port = target->port;
	run->options.direction = row->direction;
	rc = bench_rdma_run(table->cli, table->meter, run, target->again);
	target->again = target->again || !rc;
	return rc;
}

static struct bench_rdma new_run(const struct table *table, enum donard_rdma_mode mode)
{
	struct bench_rdma run = { .options = table->options };
	uint64_t block = mode == DONARD_RDMA_LATENCY ? LATENCY_BLOCK : table->block_bytes;

	run.options.mode = mode;
	run.options.block_bytes = block;
	run.options.queue_depth = (uint32_t)table->depth;
	run.options.iterations = table->iterations ? (uint32_t)table->iterations :
				 bench_rdma_iterations(block);
	return run;
}

/* Once for each row, and not in its figures: comparing costs the server time. */
static int verify(struct table *table, struct row *row)
{
	struct bench_rdma run = new_run(table, DONARD_RDMA_BANDWIDTH);
	int rc;

	run.options.flags |= DONARD_RDMA_VERIFY;
	run.options.iterations = run.options.queue_depth;
	rc = run_one(table, row, &run);
	if (rc)
		return rc;
	row->verified = run.result.verified_bytes == run.result.bytes;
	add_sample(table, row, &run, "verify", 0);
	return EXIT_DONE;
}

static int measure_bandwidth(struct table *table, struct row *row, uint64_t round)
{
	struct bench_rdma run = new_run(table, DONARD_RDMA_BANDWIDTH);
	int rc = run_one(table, row, &run);

	if (rc)
		return rc;
	if (run.result.seconds > 0)
		add_value(&row->rate, (double)run.result.bytes / run.result.seconds);
	add_value(&row->dram, dram_per_byte(&run));
	add_sample(table, row, &run, "measure", round);
	return EXIT_DONE;
}

static int measure_latency(struct table *table, struct row *row, uint64_t round)
{
	struct bench_rdma run = new_run(table, DONARD_RDMA_LATENCY);
	int rc = run_one(table, row, &run);

	if (rc)
		return rc;
	add_value(&row->p50, (double)run.result.latency.p50_ns);
	add_value(&row->p99, (double)run.result.latency.p99_ns);
	add_sample(table, row, &run, "measure", round);
	return EXIT_DONE;
}

/* Rounds outermost, targets innermost: what drifts on the machine drifts for all of them. */
static int measure(struct table *table)
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

/* ---- the table ---- */

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/* -1 without values */
static double median(struct column *column)
{
	if (!column->count)
		return -1;
	qsort(column->values, column->count, sizeof(column->values[0]), compare);
	return (column->values[(column->count - 1) / 2] + column->values[column->count / 2]) / 2;
}

static void add_figure(struct json_object *line, const char *key, double value)
{
	json_object_object_add(line, key, value < 0 ? NULL : json_object_new_double(value));
}

static double ratio(double value, double base)
{
	return value >= 0 && base > 0 ? value / base : -1;
}

/* The first target's row of the same direction is what others are compared with. */
static struct json_object *line_of(struct row *row, struct row *base)
{
	struct json_object *line = json_object_new_object();
	double rate = median(&row->rate), p50 = median(&row->p50), p99 = median(&row->p99);

	cli_add_text(line, "operation", bench_rdma_word(row->direction));
	cli_add_text(line, "name", row->target->name);
	add_figure(line, "bytes_per_second", rate);
	add_figure(line, "bandwidth_ratio", ratio(rate, median(&base->rate)));
	add_figure(line, "p50_ns", p50);
	add_figure(line, "p50_ratio", ratio(p50, median(&base->p50)));
	add_figure(line, "p99_ns", p99);
	add_figure(line, "p99_ratio", ratio(p99, median(&base->p99)));
	add_figure(line, "dram_bytes_per_byte", median(&row->dram));
	json_object_object_add(line, "server_cpu_seconds", NULL);
	json_object_object_add(line, "server_faults", NULL);
	json_object_object_add(line, "verified", json_object_new_boolean(row->verified));
	return line;
}

static struct json_object *build(struct table *table)
{
	struct json_object *lines = json_object_new_array();
	size_t base = 0;

	for (size_t i = 0; i < table->row_count; i++) {
		if (table->rows[i].direction != table->rows[base].direction)
			base = i;
		json_object_array_add(lines, line_of(&table->rows[i], &table->rows[base]));
	}
	return lines;
}

static void set_cell(struct json_object *cells, struct json_object *line, const char *key,
		     double scale, const char *format)
{
	struct json_object *value = json_object_object_get(line, key);
	char text[32] = "";

	if (value)
		snprintf(text, sizeof(text), format, json_object_get_double(value) * scale);
	cli_add_text(cells, key, text);
}

static struct json_object *cells_of(struct json_object *line)
{
	struct json_object *cells = json_object_new_object();

	cli_add_text(cells, "operation",
		     json_object_get_string(json_object_object_get(line, "operation")));
	cli_add_text(cells, "name", json_object_get_string(json_object_object_get(line, "name")));
	set_cell(cells, line, "bytes_per_second", 1.0 / 1048576, "%.1f");
	set_cell(cells, line, "bandwidth_ratio", 1, "%.2f");
	set_cell(cells, line, "p50_ns", 1e-3, "%.1f");
	set_cell(cells, line, "p50_ratio", 1, "%.2f");
	set_cell(cells, line, "p99_ns", 1e-3, "%.1f");
	set_cell(cells, line, "p99_ratio", 1, "%.2f");
	set_cell(cells, line, "dram_bytes_per_byte", 1, "%.3f");
	json_object_object_add(cells, "verified",
			       json_object_get(json_object_object_get(line, "verified")));
	return cells;
}

static void print_text(struct json_object *model)
{
	static const struct cli_column columns[] = {
		{ "operation", "RDMA", false }, { "name", "TARGET", false },
		{ "bytes_per_second", "MiB/s", false }, { "bandwidth_ratio", "RATIO", false },
		{ "p50_ns", "P50/us", false }, { "p50_ratio", "RATIO", false },
		{ "p99_ns", "P99/us", false }, { "p99_ratio", "RATIO", false },
		{ "dram_bytes_per_byte", "DRAM/BYTE", false }, { "verified", "VERIFIED", false }, { 0 },
	};
	struct json_object *lines = json_object_object_get(model, "table");
	struct json_object *rows = json_object_new_array();

	for (size_t i = 0; i < json_object_array_length(lines); i++)
		json_object_array_add(rows, cells_of(json_object_array_get_idx(lines, i)));
	cli_print_table(rows, columns);
	if (json_object_get_boolean(json_object_object_get(model, "emulated")))
		puts("Emulated: ratios say something, rates and times do not.");
	json_object_put(rows);
	json_object_put(model);
}

static void print(struct table *table)
{
	json_object_object_add(table->model, "table", build(table));
	cli_add_text(table->model, "server_missing", "the protocol carries no figures of the server; each "
		     "'rdma serve --json' prints its processor time and page faults of a client when "
		     "that leaves.");
	if (table->cli->json)
		cli_print_json(table->model);
	else
		print_text(table->model);
}

/* ---- options ---- */

static void add_rows(struct table *table, unsigned int direction)
{
	for (size_t i = 0; i < table->target_count; i++) {
		struct row *row = &table->rows[table->row_count++];

		row->target = &table->targets[i];
		row->direction = direction;
	}
}

static int take_numbers(struct table *table)
{
	struct cli *cli = table->cli;
	int rc = cli_size(cli, "block-size", false, &table->block_bytes);

	if (!rc)
		rc = cli_number(cli, "queue-depth", 1, 4096, &table->depth);
	if (!rc)
		rc = cli_number(cli, "iterations", 1, 10000000, &table->iterations);
	if (!rc)
		rc = cli_number(cli, "rounds", 1, ROUNDS_MAX, &table->rounds);
	return rc ? rc : cli_timeout(cli, &table->options.timeout_ms);
}

static int take_options(struct table *table)
{
	int rc = take_numbers(table);

	table->options.local = cli_value(table->cli, "local");
	for (int i = 0; i < table->cli->argument_count && !rc; i++)
		rc = take_target(table, table->cli->arguments[i]);
	add_rows(table, DONARD_RDMA_WRITE);
	add_rows(table, DONARD_RDMA_READ);
	return rc;
}

static struct json_object *target_models(const struct table *table)
{
	struct json_object *models = json_object_new_array();

	for (size_t i = 0; i < table->target_count; i++) {
		const struct target *target = &table->targets[i];
		struct json_object *model = json_object_new_object();

		cli_add_text(model, "name", target->name);
		cli_add_text(model, "address", target->address);
		cli_add_number(model, "port", target->port ? target->port : DONARD_RDMA_PORT);
		json_object_array_add(models, model);
	}
	return models;
}

static void begin_model(struct table *table)
{
	struct json_object *model = bench_model(table->cli, "table1", table->meter);

	bench_add_option(model, "targets", target_models(table));
	bench_add_option(model, "block_size", json_object_new_uint64(table->block_bytes));
	bench_add_option(model, "latency_block_size", json_object_new_int(LATENCY_BLOCK));
	bench_add_option(model, "queue_depth", json_object_new_uint64(table->depth));
	bench_add_option(model, "iterations", table->iterations ?
			 json_object_new_uint64(table->iterations) : NULL);
	bench_add_option(model, "rounds", json_object_new_uint64(table->rounds));
	bench_add_option(model, "local", json_object_new_string(table->options.local ?
								table->options.local : "dram"));
	table->model = model;
}

static int run_table(struct table *table)
{
	int rc;

	begin_model(table);
	cli_catch_signals();
	rc = measure(table);
	if (rc)
		json_object_put(table->model);
	else
		print(table);
	return rc;
}

static int run_with(struct cli *cli, struct table *table)
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
	struct table *table = calloc(1, sizeof(*table));	/* much for a stack */
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
	{ "block-size", "SIZE", "of one request; default 64K (latency: 64 bytes)" },
	{ "queue-depth", "N", "requests in flight; default 16 (latency: 1)" },
	{ "iterations", "N", "requests a sample; default: 64M of them, 1000 at most" },
	{ "rounds", "N", "how often; default 3, at most 100" },
	{ "local", "TARGET", "the near side: dram (default) or a region, p2pmem0+64M" },
	{ "timeout", "SECONDS", "give up when nothing comes back for so long; default 10" },
	{ "meter", "NAME", "lab, likwid, perf, resctrl, none; default: the first there is" },
	{ "json", NULL, "print JSON" },
	{ 0 },
};

const struct cli_command cmd_bench_table1 = {
	.name = "bench table1", .arguments = "NAME=ADDR[:PORT]...", .min_arguments = 1,
	.max_arguments = TARGETS_MAX, .needs_context = true,
	.summary = "RDMA into plain memory, NVRAM and a GPU side by side, as in Donard's Table 1",
	.options = options_table, .run = run,
};
