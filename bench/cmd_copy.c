// SPDX-License-Identifier: Apache-2.0
/* bench copy: runs every method at every point, with interleaved rounds, and prints raw samples. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench_copy.h"
#include "donard/donard.h"
#include "donard/file.h"
#include "donard/meter.h"
#include "errors.h"
#include "gpu.h"
#include "links.h"
#include "options.h"
#include "output.h"
#include "process.h"
#include "progress.h"
#include "utf8.h"

#define LIST_MAX	16
#define MIB		(1ULL << 20)
#define SMALL_PART	4	/* each point is measured at two sizes, so that start-up can be told apart */
#define REPORT_BYTES	(256 * 1024)
#define SETTLE_SECONDS	5
#define UNREGISTERED	"the kernel registers no such memory with a queue (none of a region on Linux 6.1, no pages of " \
			"type p2pdma, none with Linux AIO, and no more than 'ulimit -l' allows)"

struct list {
	uint64_t values[LIST_MAX];
	size_t count;
};

struct bench {
	struct cli *cli;
	struct donard_meter *meter;
	struct json_object *model;
	const char *drive, *write_to, *region;
	char drive_node[PATH_MAX], write_to_node[PATH_MAX];
	char pins_in[32];	/* the region that is looked at: with a GPU, the one that its memory is pinned in */
	bool of_gpu, region_is_persistent;
	const struct bench_method *methods[LIST_MAX];
	size_t method_count;
	struct list blocks, depths, threads;
	uint64_t size_bytes, rounds;
	const char *default_methods;
};

struct point {
	const struct bench_method *method;
	uint64_t block_bytes, threads, round, bytes;	/* bytes: of one thread */
	uint32_t queue_depth;
	bool to_region;
	bool warms_up;	/* not recorded: pays what only the first run of a method pays */
	bool left_out;			/* its method, which cannot do what this point asks for */
	uint32_t said;			/* methods whose omission was reported: a bit for each in bench_methods */
	const struct bench_method *last_left_out;
	const char *why;		/* it was */
	bool has_samples;
};

/* ---- one sample ---- */

struct run {
	struct bench_piece pieces[BENCH_THREADS_MAX];
	struct bench_command commands[BENCH_THREADS_MAX];
	struct cli_job jobs[2 * BENCH_THREADS_MAX];
	int reports[BENCH_THREADS_MAX];
	size_t job_count;
	bool aio;	/* the requests of one went by Linux AIO */
	bool unregistered;	/* the memory of one, by which a method that registers is none */
};

/*
 * How many blocks the smaller size has: at least as many as are in flight, so that both sizes touch the same memory first and
 * that cost counts as start-up; at most half of the larger size, so that the two differ.
 */
static uint64_t small_blocks(const struct bench *bench, const struct point *point)
{
	uint64_t blocks = bench->size_bytes / point->block_bytes;
	uint64_t wanted = point->queue_depth < blocks / 2 ? point->queue_depth : blocks / 2;

	return wanted > blocks / SMALL_PART ? wanted : blocks / SMALL_PART;
}

/*
 * How many requests are in flight. The number is the same at both sizes of a point, so that the cost of their memory counts as
 * start-up, and not above the number of blocks, so that each request has a place in the thread's own range.
 */
static uint32_t requests_in_flight(const struct bench *bench, const struct point *point)
{
	uint64_t blocks = small_blocks(bench, point);

	return blocks < point->queue_depth ? (uint32_t)blocks : point->queue_depth;
}

static struct bench_piece piece_of(const struct bench *bench, const struct point *point, uint64_t index)
{
	return (struct bench_piece){
		.drive = point->to_region ? bench->drive : bench->write_to,
		.region = bench->region,
		.drive_offset = index * bench->size_bytes,
		.region_offset = index * bench->size_bytes,
		.bytes = point->bytes,
		.block_bytes = point->block_bytes,
		.queue_depth = requests_in_flight(bench, point),
		.to_region = point->to_region,
		.checks = point->warms_up,
	};
}

/*
 * The runner closes what a job prints to: the report needs a descriptor of its own. In memory: on a full file system the
 * report of a run would be lost, and with it the run's time.
 */
static int prepare(const struct bench *bench, const struct point *point, struct run *run)
{
	for (uint64_t i = 0; i < point->threads; i++) {
		struct bench_command *command = &run->commands[i];
		int count;

		run->pieces[i] = piece_of(bench, point, i);
		run->reports[i] = memfd_create("report", MFD_CLOEXEC);
		if (run->reports[i] < 0)
			return -errno;
		count = point->method->prepare(&run->pieces[i],
					       fcntl(run->reports[i], F_DUPFD_CLOEXEC, 3), command);
		if (count < 0)
			return count;
		memcpy(&run->jobs[run->job_count], command->jobs, (size_t)count * sizeof(run->jobs[0]));
		run->job_count += (size_t)count;
	}
	return 0;
}

/* Returns the time that the slowest thread reported, or -1. */
static double reported_seconds(const struct point *point, struct run *run)
{
	static char report[REPORT_BYTES];
	double longest = -1, seconds;
	ssize_t length;

	for (uint64_t i = 0; i < point->threads; i++) {
		length = pread(run->reports[i], report, sizeof(report) - 1, 0);
		report[length > 0 ? length : 0] = '\0';
		run->aio |= bench_went_by_aio(report);
		run->unregistered |= point->method->traits & BENCH_REGISTERS && bench_was_unregistered(report);
		seconds = point->method->seconds(report);
		if (seconds < 0)
			return -1;
		if (seconds > longest)
			longest = seconds;
	}
	return longest;
}

static bool is_checked(const struct bench *bench, const struct point *point)
{
	return point->method->traits & BENCH_KEEPS && !point->round && point->bytes == bench->size_bytes &&
	       !point->warms_up;
}

/* Fills the destination before the checked round: data from an earlier run could be there already. */
static int scrub(const struct bench *bench, const struct point *point)
{
	int rc = 0;

	for (uint64_t i = 0; !rc && i < point->threads; i++) {
		struct bench_piece piece = piece_of(bench, point, i);

		rc = bench_scrub(bench->cli->ctx, &piece, 0xa5);
	}
	return rc;
}

/* Compares the pieces of all threads; returns what bench_compare() returns. */
static int compare(const struct bench *bench, const struct point *point)
{
	int rc = 1;

	for (uint64_t i = 0; rc == 1 && i < point->threads; i++) {
		struct bench_piece piece = piece_of(bench, point, i);

		rc = bench_compare(bench->cli->ctx, &piece);
	}
	return rc;
}

/* Reports a mismatch or a failed comparison. @equal: the result of compare(). */
static int tell_comparison(const struct bench *bench, const struct point *point, int equal)
{
	char text[192];

	if (equal == 1)
		return 0;
	if (equal) {
		snprintf(text, sizeof(text), "%s: what it copied cannot be compared: %s; what could not be read is above.",
			 point->method->name, strerror(-equal));
		return cli_fail_text(bench->cli, EXIT_FAILED, "system", text);
	}
	snprintf(text, sizeof(text), "%s: the data at the destination is not that of the source.", point->method->name);
	return cli_fail_text(bench->cli, EXIT_MISMATCH, "mismatch", text);
}

/* Returns null if this method or this round was not checked. With memory of a GPU, the warm-up run compared its last block. */
static struct json_object *verified(const struct bench *bench, const struct point *point, int equal)
{
	if (!is_checked(bench, point) && !(bench->of_gpu && !point->round))
		return NULL;
	return json_object_new_boolean(equal);
}

static struct json_object *describe(const struct bench *bench, const struct point *point)
{
	struct json_object *sample = json_object_new_object();

	cli_add_text(sample, "method", point->method->name);
	cli_add_text(sample, "direction", point->to_region ? "to-region" : "from-region");
	cli_add_text(sample, "region", bench->region);
	cli_add_number(sample, "block_bytes", point->block_bytes);
	cli_add_number(sample, "queue_depth", point->queue_depth);
	cli_add_number(sample, "in_flight", requests_in_flight(bench, point));
	cli_add_number(sample, "threads", point->threads);
	cli_add_number(sample, "round", point->round);
	cli_add_number(sample, "bytes", point->bytes * point->threads);
	return sample;
}

static int method_failed(const struct bench *bench, const struct point *point, const struct run *run)
{
	char text[256];
	int status = 0;

	for (size_t i = 0; i < run->job_count; i++)
		status = status ? status : run->jobs[i].exit_status;
	if (status == 127)
		snprintf(text, sizeof(text), "%s: a program is missing. Install it (apt install fio), or "
			 "name the others by --methods.", point->method->name);
	else
		snprintf(text, sizeof(text), "%s: failed with status %d; what it said is above.",
			 point->method->name, status);
	return cli_fail_text(bench->cli, EXIT_FAILED, "method-failed", text);
}

/* Says so in one round only, since the others do not differ. */
static void say_aio(const struct point *point)
{
	if (!point->round)
		bench_say("%s: the kernel refuses io_uring, so its requests go by Linux AIO (\"aio\" in the samples)",
			  point->method->name);
}

/* Says so in one round only, and not for the smaller size, which serves for costs. */
static void say_untimed(const struct bench *bench, const struct point *point)
{
	if (!point->round && point->bytes == bench->size_bytes && point->threads == 1)
		bench_say("%s: its clock is too coarse for so little, so it has no rate: use a larger --size",
			  point->method->name);
}

static int leave_out(struct point *point, const char *why)
{
	uint32_t bit = 1U << (point->method - bench_methods);

	if (!(point->said & bit))
		bench_say("%s: left out, because %s", point->method->name, why);
	point->said |= bit;
	point->left_out = true;
	point->last_left_out = point->method;
	point->why = why;
	return 0;
}

static int nothing_measured(const struct bench *bench, const struct point *point)
{
	char text[320];

	snprintf(text, sizeof(text), "%s: %s measures nothing here: %s. Name other methods.", bench->region,
		 point->last_left_out->name, point->why);
	return cli_fail_text(bench->cli, EXIT_UNSUPPORTED, "unsupported", text);
}

static int add_sample(const struct bench *bench, struct point *point, struct run *run,
		      const struct cli_job_usage *usage, const struct donard_measurement *measurement)
{
	struct json_object *sample;
	double seconds = reported_seconds(point, run);
	int equal = is_checked(bench, point) ? compare(bench, point) : 1;

	/* Without registration this method would be the same as the unregistered one. */
	if (run->unregistered)
		return leave_out(point, UNREGISTERED);
	if (equal < 0 || point->warms_up)
		return tell_comparison(bench, point, equal);
	sample = describe(bench, point);
	cli_add_double(sample, "seconds", seconds < 0 ? NAN : seconds);
	cli_add_job_usage(sample, usage);
	json_object_object_add(sample, "verified", verified(bench, point, equal));
	json_object_object_add(sample, "aio", json_object_new_boolean(run->aio));
	if (run->aio)
		say_aio(point);
	if (seconds < 0)
		say_untimed(bench, point);
	if (bench->meter)
		bench_add_measured(sample, measurement);
	bench_add_sample(bench->model, sample);
	point->has_samples = true;
	return tell_comparison(bench, point, equal);
}

/*
 * Waits for pins of the run before, which may outlive its process by a moment. This does not sleep, since the clock of an
 * emulated machine may count instructions.
 */
static void wait_until_free(const struct bench *bench)
{
	double deadline = cli_now_seconds() + SETTLE_SECONDS;
	struct donard_region_list *list;
	bool held = true;

	while (held && cli_now_seconds() < deadline && !donard_region_find(bench->cli->ctx, bench->pins_in, &list)) {
		held = donard_region_get(list, 0)->holders && donard_region_get(list, 0)->holders[0];
		donard_region_list_free(list);
	}
}

static int measure(const struct bench *bench, struct point *point)
{
	struct donard_measurement measurement = { .size = sizeof(measurement) };
	struct cli_job_usage usage;
	struct run *run = calloc(1, sizeof(*run));
	int rc = run ? 0 : -ENOMEM;
	bool prepares;

	for (uint64_t i = 0; run && i < point->threads; i++)
		run->reports[i] = -1;
	if (!rc)
		wait_until_free(bench);
	if (!rc && is_checked(bench, point))
		rc = scrub(bench, point);
	prepares = !rc;
	if (prepares)
		rc = prepare(bench, point, run);
	if (rc == -ENOENT && prepares)
		rc = cli_fail_text(bench->cli, EXIT_UNSUPPORTED, "unsupported", BENCH_NO_DONARD);
	else if (rc)
		rc = cli_fail_text(bench->cli, EXIT_FAILED, "system", strerror(-rc));
	else
		rc = cli_run_jobs(bench->meter, run->jobs, run->job_count, &usage,
				    &measurement);
	if (rc == -ECHILD && cli_stopped(NULL))
		rc = cli_fail_text(bench->cli, EXIT_STOPPED, "canceled", "stopped by a signal.");
	else if (rc == -ECHILD)
		rc = method_failed(bench, point, run);
	else if (rc < 0)
		rc = cli_jobs_failed(bench->cli, rc, &usage);
	else if (!rc)
		rc = add_sample(bench, point, run, &usage, &measurement);
	for (uint64_t i = 0; run && i < point->threads; i++)
		if (run->reports[i] >= 0)
			close(run->reports[i]);
	free(run);
	return rc;
}

/* ---- all of them ---- */

static int every_method(const struct bench *bench, struct point *point)
{
	const char *why;
	int rc = 0;

	for (size_t i = 0; !rc && i < bench->method_count; i++) {
		point->method = bench->methods[i];
		if (!point->to_region && !(point->method->traits & BENCH_BACK))
			continue;
		if (point->queue_depth > 1 && point->method->traits & BENCH_SINGLE)
			continue;
		why = bench_why_not(point->method, point->threads, bench->region_is_persistent);
		if (why) {
			leave_out(point, why);
			continue;
		}
		point->left_out = false;
		point->bytes = small_blocks(bench, point) * point->block_bytes;
		point->warms_up = !point->round;
		if (point->warms_up)
			rc = measure(bench, point);
		point->warms_up = false;
		if (!rc && !point->left_out)
			rc = measure(bench, point);
		point->bytes = bench->size_bytes;
		if (!rc && !point->left_out)
			rc = measure(bench, point);
		if (!rc && cli_stopped(NULL))
			rc = cli_fail_text(bench->cli, EXIT_STOPPED, "canceled", "stopped by a signal.");
	}
	return rc;
}

/* Says so in one round only. */
static void say_fewer(const struct bench *bench, const struct point *point, const char *block)
{
	if (!point->round && requests_in_flight(bench, point) < point->queue_depth)
		bench_say("blocks of %s, depth %u: no more than %u are in flight, as half of --size has no more blocks: use a "
			  "larger --size", block, point->queue_depth, requests_in_flight(bench, point));
}

static int both_directions(const struct bench *bench, struct point *point)
{
	char block[DONARD_SIZE_TEXT_BYTES];
	int rc;

	bench_say("round %llu of %llu: blocks of %s, depth %u, %llu thread(s)",
		  (unsigned long long)point->round + 1, (unsigned long long)bench->rounds,
		  donard_format_size(block, sizeof(block), point->block_bytes), point->queue_depth,
		  (unsigned long long)point->threads);
	say_fewer(bench, point, block);
	point->to_region = true;
	rc = every_method(bench, point);
	point->to_region = false;
	return rc || !bench->write_to ? rc : every_method(bench, point);
}

static int every_point(const struct bench *bench)
{
	struct point point = { 0 };
	int rc = 0;

	for (point.round = 0; point.round < bench->rounds; point.round++)
		for (size_t b = 0; b < bench->blocks.count; b++)
			for (size_t d = 0; d < bench->depths.count; d++)
				for (size_t t = 0; !rc && t < bench->threads.count; t++) {
					point.block_bytes = bench->blocks.values[b];
					point.queue_depth = (uint32_t)bench->depths.values[d];
					point.threads = bench->threads.values[t];
					rc = both_directions(bench, &point);
				}
	return rc || !point.last_left_out || point.has_samples ? rc : nothing_measured(bench, &point);
}

/* ---- options ---- */

static int refuse_method(const struct bench *bench, const char *word)
{
	unsigned int trait = bench->of_gpu ? BENCH_GPU : BENCH_REGION;
	char names[256];
	int length = 0;

	for (const struct bench_method *method = bench_methods; method->name; method++)
		if (method->traits & trait && length < (int)sizeof(names))
			length += snprintf(names + length, sizeof(names) - (size_t)length, "%s%s", length ? ", " : "",
					   method->name);
	return cli_usage(bench->cli, "--methods: '%s' does not move data to %s. Those that do are %s", word,
			 bench->of_gpu ? "memory of a GPU" : "a region", names);
}

static int take_methods(struct bench *bench)
{
	const char *text = cli_value(bench->cli, "methods");
	char *copy, *word, *rest;
	int rc = 0;

	copy = rest = strdup(text ? text : bench->default_methods);
	while (!rc && (word = strsep(&rest, ","))) {
		const struct bench_method *method = bench_find_method(word);

		if (!method || !(method->traits & (bench->of_gpu ? BENCH_GPU : BENCH_REGION)))
			rc = refuse_method(bench, word);
		else if (bench->method_count == LIST_MAX)
			rc = cli_usage(bench->cli, "--methods: more than %d", LIST_MAX);
		else
			bench->methods[bench->method_count++] = method;
	}
	free(copy);
	return rc;
}

static int check_sizes(const struct bench *bench)
{
	char size[DONARD_SIZE_TEXT_BYTES], block[DONARD_SIZE_TEXT_BYTES];

	for (size_t i = 0; i < bench->blocks.count; i++) {
		uint64_t bytes = bench->blocks.values[i];

		if (bytes % 4096)
			return cli_usage(bench->cli, "--block-sizes: %s is no multiple of 4096",
					 donard_format_size(block, sizeof(block), bytes));
		if (bench->size_bytes % bytes || bench->size_bytes < 2 * bytes)
			return cli_usage(bench->cli, "--size: %s is no multiple, by 2 or more, of the block "
					 "size %s",
					 donard_format_size(size, sizeof(size), bench->size_bytes),
					 donard_format_size(block, sizeof(block), bytes));
	}
	return 0;
}

static int take_options(struct bench *bench)
{
	struct cli *cli = bench->cli;
	int rc = take_methods(bench);

	if (!rc)
		rc = cli_size(cli, "size", false, &bench->size_bytes);
	if (!rc)
		rc = cli_number(cli, "rounds", &bench->rounds);
	if (!rc)
		rc = bench_sizes(cli, "block-sizes", bench->blocks.values, LIST_MAX,
				 &bench->blocks.count);
	if (!rc)
		rc = bench_numbers(cli, "queue-depths", bench->depths.values, LIST_MAX,
				   &bench->depths.count);
	if (!rc)
		rc = bench_numbers(cli, "threads", bench->threads.values,
				   LIST_MAX, &bench->threads.count);
	for (size_t i = 0; !rc && bench->write_to && i < bench->threads.count; i++)
		if (bench->threads.values[i] > 1)
			rc = cli_usage(cli, "--write-to: a copy opens the drive for itself alone; use --threads 1");
	return rc ? rc : check_sizes(bench);
}

static uint64_t most_bytes(const struct bench *bench)
{
	uint64_t threads = 1, bytes;

	for (size_t i = 0; i < bench->threads.count; i++)
		if (bench->threads.values[i] > threads)
			threads = bench->threads.values[i];
	return __builtin_mul_overflow(threads, bench->size_bytes, &bytes) ? UINT64_MAX : bytes;
}

/*
 * Takes the first GPU's region: CUDA cannot be asked which GPU has the number, since a process that called CUDA must not fork.
 */
static int check_gpu(struct bench *bench)
{
	const struct donard_region_info *info = NULL;
	struct donard_region_list *list;
	int rc = donard_region_list(bench->cli->ctx, &list);

	if (rc < 0)
		return cli_fail(bench->cli, rc);
	for (size_t i = 0; !info && i < donard_region_count(list); i++)
		if (donard_region_get(list, i)->kind == DONARD_KIND_GPU_NVIDIA)
			info = donard_region_get(list, i);
	if (info) {
		snprintf(bench->pins_in, sizeof(bench->pins_in), "%s", info->name);
		bench_add_option(bench->model, "page_type",
				 cli_json_string(donard_page_type_text(info->page_type)));
	}
	donard_region_list_free(list);
	return info ? 0 : cli_fail_text(bench->cli, EXIT_FAILED, "no-region", "there is no region of a GPU. Add it, as "
					"root: donard-cli region add --kind gpu-nvidia --device BDF ('donard-cli region "
					"candidates' has the BDF).");
}

static int check_room(const struct bench *bench, const struct donard_region_info *info)
{
	uint64_t wanted_bytes = most_bytes(bench);
	char text[256], wanted[DONARD_SIZE_TEXT_BYTES], there[DONARD_SIZE_TEXT_BYTES];

	if (info->available_bytes >= wanted_bytes)
		return 0;
	snprintf(text, sizeof(text), "%s: %s are free, and --size times --threads are %s. Use a smaller "
		 "--size.", info->name, donard_format_size(there, sizeof(there), info->available_bytes),
		 donard_format_size(wanted, sizeof(wanted), wanted_bytes));
	return cli_fail_text(bench->cli, EXIT_FAILED, "no-space", text);
}

/* Checks the region, and replaces the name that was given by the region's own. */
static int check_region(struct bench *bench)
{
	const struct donard_region_info *info;
	struct donard_region_list *list;
	int rc = donard_region_find(bench->cli->ctx, bench->region, &list);

	if (rc)
		return cli_fail(bench->cli, rc);
	info = donard_region_get(list, 0);
	bench_add_option(bench->model, "page_type", cli_json_string(donard_page_type_text(info->page_type)));
	snprintf(bench->pins_in, sizeof(bench->pins_in), "%s", info->name);
	bench->region = bench->pins_in;
	bench->region_is_persistent = info->persistent;
	rc = bench_check_contents(bench->cli, info);
	if (!rc)
		rc = check_room(bench, info);
	donard_region_list_free(list);
	return rc;
}

static void add_links(const struct bench *bench)
{
	struct json_object *links = json_object_new_array();

	bench_add_links(bench->cli, links, "to-region", DONARD_CLIENT_NVME, bench->drive, bench->pins_in);
	if (bench->write_to)
		bench_add_links(bench->cli, links, "from-region", DONARD_CLIENT_NVME, bench->write_to, bench->pins_in);
	json_object_object_add(bench->model, "links", links);
}

/* Refuses, for every method, a destination that donard_copy() refuses to overwrite. */
static int check_destination(struct bench *bench)
{
	struct donard_file *file;
	int rc = donard_file_open(bench->cli->ctx, bench->write_to, DONARD_FILE_WRITE, &file);

	if (rc)
		return cli_fail(bench->cli, rc);
	donard_file_close(file);
	return 0;
}

static int check_drive(struct bench *bench, const char *path)
{
	uint64_t bytes = 0;
	char text[256];
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		bytes = (uint64_t)lseek(fd, 0, SEEK_END);
		close(fd);
	}
	if (fd >= 0 && bytes >= most_bytes(bench))
		return 0;
	if (fd < 0)
		snprintf(text, sizeof(text), "%s: %s. Name an NVMe drive, as root.", path,
			 strerror(errno));
	else
		snprintf(text, sizeof(text), "%s: it is smaller than --size times --threads. Use a smaller "
			 "--size.", path);
	return cli_fail_text(bench->cli, EXIT_FAILED, "drive", text);
}

/* Replaces a link of udev's by the drive's own name, by which its namespace is found. */
static void take_own_name(const char **drive, char node[PATH_MAX])
{
	if (*drive && realpath(*drive, node))
		*drive = node;
}

static void add_options(const struct bench *bench)
{
	bench_add_option(bench->model, "size", json_object_new_uint64(bench->size_bytes));
	bench_add_option(bench->model, "rounds", json_object_new_uint64(bench->rounds));
}

static int run_bench(struct bench *bench)
{
	int rc = bench->of_gpu ? check_gpu(bench) : check_region(bench);

	if (!rc)
		rc = check_drive(bench, bench->drive);
	if (!rc && bench->write_to)
		rc = check_drive(bench, bench->write_to);
	if (!rc && bench->write_to)
		rc = check_destination(bench);
	if (rc)
		return rc;
	take_own_name(&bench->drive, bench->drive_node);
	take_own_name(&bench->write_to, bench->write_to_node);
	add_options(bench);
	add_links(bench);
	cli_catch_signals();
	rc = every_point(bench);
	if (!rc)
		bench_print(bench->cli, json_object_get(bench->model));
	return rc;
}

/* @bench: has the defaults of its command. */
static int run(struct cli *cli, const char *command, struct bench *bench)
{
	int rc;

	bench->cli = cli;
	bench->drive = cli->arguments[0];
	bench->region = cli->arguments[1];
	bench->write_to = cli_value(cli, "write-to");
	rc = take_options(bench);
	if (rc)
		return rc;
	rc = donard_meter_open(cli->ctx, cli_value(cli, "meter"), &bench->meter);
	if (rc)
		return cli_fail(cli, rc);
	bench->model = bench_model(cli, command, bench->meter);
	rc = run_bench(bench);
	json_object_put(bench->model);
	donard_meter_close(bench->meter);
	return rc;
}

static int run_copy(struct cli *cli)
{
	struct bench bench = {
		.size_bytes = 64 * MIB, .rounds = 3, .blocks = { { MIB }, 1 }, .depths = { { 16 }, 1 },
		.threads = { { 1 }, 1 }, .default_methods = "donard,donard-bounce,memcpy,dd,fio,fio-fixed",
	};

	return run(cli, "copy", &bench);
}

static int run_queue(struct cli *cli)
{
	struct bench bench = {
		.size_bytes = 128 * MIB, .rounds = 1, .blocks = { { 4096, 65536, MIB }, 3 },
		.depths = { { 1, 8, 64 }, 3 }, .threads = { { 1 }, 1 },
		.default_methods = "queue,queue-registered,fio,fio-fixed",
	};

	bench.of_gpu = bench_gpu_number(cli->arguments[1]) >= 0;
	if (bench.of_gpu)
		bench.default_methods = "queue,queue-registered,cufile,cufile-compat,gpu-memcpy";
	return run(cli, "queue", &bench);
}

static const struct cli_option options_table[] = {
	{ "methods", "LIST", "donard, donard-bounce, donard-passthrough, queue, queue-registered, memcpy, dd, "
	  "fio, fio-fixed, fio-passthrough; default: all but the passthroughs and queues" },
	{ "write-to", "DRIVE", "also copy from the region to this drive, whose data is lost" },
	{ "allow-persistent", NULL, "REGION may be persistent memory, whose data is lost" },
	{ "size", "SIZE", "how much each thread copies; default 64M. Each point is also measured at a quarter of it, or up "
	  "to half, for as many blocks as are in flight. fio has a rate from 20 ms on: of a drive of 7 GB/s, 256M" },
	{ "block-sizes", "LIST", "default 1M" },
	{ "queue-depths", "LIST", "default 16" },
	{ "threads", "LIST", "how many copies run at the same time, each on its own range; default 1" },
	{ "rounds", "N", "how often each point is measured; default 3" },
	{ "meter", "NAME", "lab, likwid, perf, resctrl, none; default: the first that is available" },
	{ "json", NULL, "print JSON with every raw sample" },
	{ 0 },
};

static const struct cli_limit limits[] = {
	{ "queue-depths", 1, 1024 },
	{ "threads", 1, BENCH_THREADS_MAX },
	{ "rounds", 1, 1000 },
	{ 0 },
};

const struct cli_command cmd_copy = {
	.name = "copy", .arguments = "DRIVE REGION", .min_arguments = 2, .max_arguments = 2,
	.needs_context = true,
	.summary = "Compare methods of copying between a drive and a region",
	.options = options_table, .limits = limits, .run = run_copy,
};

static const struct cli_option queue_options[] = {
	{ "methods", "LIST", "as of bench copy; default: queue, queue-registered, fio, fio-fixed; of a GPU queue, "
	  "queue-registered, cufile, cufile-compat, gpu-memcpy" },
	{ "write-to", "DRIVE", "also write from the region or GPU to this drive, whose data is lost" },
	{ "allow-persistent", NULL, "REGION may be persistent memory, whose data is lost" },
	{ "size", "SIZE", "how much each thread moves; default 128M. Each point is also measured at a quarter of it, or up "
	  "to half, for as many blocks as are in flight. fio has a rate from 20 ms on: of a drive of 7 GB/s, 256M" },
	{ "block-sizes", "LIST", "of one request; default 4K,64K,1M" },
	{ "queue-depths", "LIST", "requests in flight; default 1,8,64" },
	{ "threads", "LIST", "how many run at the same time, each on its own range; default 1" },
	{ "rounds", "N", "how often each point is measured; default 1" },
	{ "meter", "NAME", "lab, likwid, perf, resctrl, none; default: the first that is available" },
	{ "json", NULL, "print JSON with every raw sample" },
	{ 0 },
};

const struct cli_command cmd_queue = {
	.name = "queue", .arguments = "DRIVE REGION|GPU", .min_arguments = 2, .max_arguments = 2,
	.needs_context = true,
	.summary = "Compare requests of the library's queue with fio's, or on a GPU (gpu:0) with cuFile's",
	.options = queue_options, .limits = limits, .run = run_queue,
};
