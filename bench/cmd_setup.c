// SPDX-License-Identifier: Apache-2.0
/*
 * bench setup: the cost of getting device memory before a byte is moved, by size; of owning and freeing one more
 * granule beside many that are owned already; and of owning memory of which only single granules are free. Each
 * sample is exactly one operation.
 */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <liburing.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench.h"
#include "donard/donard.h"
#include "donard/meter.h"
#include "donard/rdma.h"
#include "errors.h"
#include "options.h"
#include "output.h"
#include "progress.h"
#include "terms.h"
#include "uapi/p2pmem.h"
#include "utf8.h"

#define LIST_MAX	16
#define DEFAULT_ROUNDS	5
#define LIVE_MAX	1000000
#define OTHER_FILES	64		/* descriptors besides those of live allocations */
#define PIN_CHUNK_BYTES	(1ULL << 30)	/* io_uring's limit for one buffer */
#define IN_PIECES	"allocate pieces"

struct setup {
	struct cli *cli;
	struct donard_meter *meter;
	struct json_object *model, *skipped;
	uint64_t sizes[LIST_MAX], live[LIST_MAX], pieces[LIST_MAX], rounds;
	size_t size_count, live_count, piece_count;

	char region[32], node[128];
	uint64_t size_bytes, available_bytes, granule_bytes;
	bool persistent, p2pdma;

	/* The allocation that is measured; its offset is one in the region if that is persistent. */
	int fd;
	uint8_t *map;
	uint64_t offset;
	struct io_uring ring;
	bool has_ring;
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct donard_memory *memory;
	struct donard_rdma_registration *registration;
	char no_ring[128], no_rdma[512];

	int comb;	/* owns all granules except the free pieces, which are every second one at the beginning; or -1 */

	/* Live allocations, each an open file that owns one granule. */
	int *holders;
	uint64_t held;
};

/* One sample to take: the operation and its surroundings. Operations return 0 or -errno. */
struct step {
	const char *method;
	int (*operation)(struct setup *s, uint64_t bytes);
	uint64_t bytes, live, round;
};

/* ---- failures ---- */

static const char *remedy(int rc)
{
	switch (rc) {
	case -ENOSPC:
	case -EBUSY:
		return "Another program holds it: 'donard-cli info' says which";
	case -ENODEV:
		return "The region is being removed";
	case -EACCES:
	case -EPERM:
		return "Join the group p2pmem, or be root";
	case -EMFILE:
	case -ENFILE:
		return "Raise the limit of open files ('ulimit -n', fs.file-max), or give a smaller --live";
	}
	return "The kernel log may say more";
}

static int fail(const struct setup *s, const char *what, uint64_t bytes, int rc)
{
	char text[512], size[DONARD_SIZE_TEXT_BYTES];

	snprintf(text, sizeof(text), "%s: %s of %s failed: %s. %s.", s->region, what,
		 donard_format_size(size, sizeof(size), bytes), strerror(-rc), remedy(rc));
	return cli_fail_text(s->cli, EXIT_FAILED, "system", text);
}

static int stopped(const struct setup *s)
{
	return cli_fail_text(s->cli, EXIT_STOPPED, "canceled", "stopped by a signal; all that it owned "
			     "is given back.");
}

/* Notes in the result, once for all rounds, what is not measured and why, and says it on stderr at once. */
static void skip(struct setup *s, const struct step *step, const char *why)
{
	struct json_object *line;

	if (step->round)
		return;
	line = json_object_new_object();
	cli_add_text(line, "method", step->method);
	cli_add_number(line, "bytes", step->bytes);
	cli_add_number(line, "live", step->live);
	cli_add_text(line, "why", why);
	json_object_array_add(s->skipped, line);
	bench_say("%s of %llu bytes beside %llu is not measured: %s", step->method,
		  (unsigned long long)step->bytes, (unsigned long long)step->live, why);
}

/* ---- operations ---- */

static int do_open(struct setup *s)
{
	s->fd = open(s->node, O_RDWR | O_CLOEXEC);
	return s->fd < 0 ? -errno : 0;
}

static int do_mmap(struct setup *s, uint64_t bytes)
{
	s->map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, (off_t)s->offset);
	if (s->map != MAP_FAILED)
		return 0;
	s->map = NULL;
	return -errno;
}

static sigjmp_buf region_went_away;

static void on_sigbus(int number)
{
	(void)number;
	siglongjmp(region_went_away, 1);
}

static int load_each(const volatile uint8_t *map, uint64_t bytes, uint64_t step_bytes)
{
	struct sigaction action = { .sa_handler = on_sigbus }, before;
	int rc = 0;

	sigaction(SIGBUS, &action, &before);
	if (sigsetjmp(region_went_away, 1))
		rc = -ENODEV;
	else
		for (uint64_t at = 0; at < bytes; at += step_bytes)
			(void)map[at];
	sigaction(SIGBUS, &before, NULL);
	return rc;
}

/*
 * Faults all pages in by reads, which leave persistent memory as it is. The kernel treats MADV_POPULATE_READ as a pin, which
 * it refuses for pages of type p2pdma.
 */
static int do_touch(struct setup *s, uint64_t bytes)
{
	if (s->p2pdma)
		return load_each(s->map, bytes, s->granule_bytes);
	return madvise(s->map, bytes, MADV_POPULATE_READ) ? -errno : 0;
}

static int do_pin(struct setup *s, uint64_t bytes)
{
	unsigned int count = (unsigned int)((bytes + PIN_CHUNK_BYTES - 1) / PIN_CHUNK_BYTES);
	struct iovec *pieces = calloc(count, sizeof(*pieces));
	int rc;

	if (!pieces)
		return -ENOMEM;
	for (unsigned int i = 0; i < count; i++) {
		uint64_t at = i * PIN_CHUNK_BYTES;

		pieces[i].iov_base = s->map + at;
		pieces[i].iov_len = bytes - at < PIN_CHUNK_BYTES ? bytes - at : PIN_CHUNK_BYTES;
	}
	rc = io_uring_register_buffers(&s->ring, pieces, count);
	free(pieces);
	return rc;
}

static int do_register(struct setup *s, uint64_t bytes)
{
	int rc = donard_memory_claim(s->cli->ctx, s->region, 0, bytes, &s->memory);

	return rc ? rc : donard_rdma_register(s->memory, 0, 0, s->pd, DONARD_RDMA_READ, &s->registration);
}

static int do_allocate(struct setup *s, uint64_t bytes)
{
	int rc = do_open(s);

	return rc ? rc : do_mmap(s, bytes);
}

/* Also cleans up after any other operation. */
static int do_free(struct setup *s, uint64_t bytes)
{
	if (s->map)
		munmap(s->map, bytes);
	if (s->fd >= 0)
		close(s->fd);
	s->map = NULL;
	s->fd = -1;
	return 0;
}

/* ---- one sample ---- */

static void add_sample(struct setup *s, const struct step *step,
		       const struct donard_measurement *measurement)
{
	struct json_object *line = json_object_new_object();

	cli_add_text(line, "method", step->method);
	cli_add_number(line, "bytes", step->bytes);
	cli_add_number(line, "live", step->live);
	cli_add_number(line, "round", step->round);
	cli_add_double(line, "seconds", measurement->seconds);
	bench_add_measured(line, measurement);
	bench_add_sample(s->model, line);
}

/*
 * Runs one operation. Returns an exit code, and the operation's own result in *@result. Makes no sample if that is a failure.
 */
static int try_step(struct setup *s, const struct step *step, int *result)
{
	struct donard_measurement measurement = { .size = sizeof(measurement) };
	int rc;

	if (cli_stopped(NULL))
		return stopped(s);
	rc = donard_meter_begin(s->meter);
	if (rc)
		return cli_fail(s->cli, rc);
	*result = step->operation(s, step->bytes);
	/* The operation's error text, if it has one, must outlive the end of the measurement. */
	if (*result && step->operation == do_register)
		cli_in_options(donard_error(s->cli->ctx), s->no_rdma, sizeof(s->no_rdma));
	rc = donard_meter_end(s->meter, &measurement);
	if (rc)
		return cli_fail(s->cli, rc);
	if (!*result)
		add_sample(s, step, &measurement);
	return EXIT_DONE;
}

static int must(struct setup *s, const struct step *step)
{
	int result, rc = try_step(s, step, &result);

	if (!rc && result)
		rc = fail(s, step->method, step->bytes, result);
	return rc;
}

/* ---- by size ---- */

static int pin(struct setup *s, struct step step)
{
	int result, rc;
	char why[160];

	step.method = "pin";
	step.operation = do_pin;
	if (!s->has_ring) {
		skip(s, &step, s->no_ring);
		return EXIT_DONE;
	}
	rc = try_step(s, &step, &result);
	if (rc)
		return rc;
	if (!result) {
		io_uring_unregister_buffers(&s->ring);
		return EXIT_DONE;
	}
	snprintf(why, sizeof(why), "io_uring does not take this memory as a fixed buffer: %s%s",
		 strerror(-result), result == -ENOMEM ? "; 'ulimit -l' may be too low" : "");
	skip(s, &step, why);
	return EXIT_DONE;
}

/* Includes opening, mapping and touching the memory: what a program pays that calls the library. */
static int register_memory(struct setup *s, struct step step)
{
	int result = 0, rc = EXIT_DONE;

	step.method = "register";
	step.operation = do_register;
	if (s->pd)
		rc = try_step(s, &step, &result);
	donard_rdma_deregister(s->registration);
	donard_memory_free(s->memory);
	s->registration = NULL;
	s->memory = NULL;
	if (!rc && (!s->pd || result))
		skip(s, &step, s->no_rdma);
	return rc;
}

static int map_touch_pin(struct setup *s, struct step step)
{
	int rc = do_open(s);

	if (rc)
		return fail(s, "open", step.bytes, rc);
	step.method = "mmap";
	step.operation = do_mmap;
	rc = must(s, &step);
	step.method = "touch";
	step.operation = do_touch;
	if (!rc)
		rc = must(s, &step);
	if (!rc)
		rc = pin(s, step);
	do_free(s, step.bytes);
	return rc;
}

static int own_and_free(struct setup *s, struct step step, const char *own_method, const char *free_method)
{
	int rc;

	step.method = own_method;
	step.operation = do_allocate;
	rc = must(s, &step);
	step.method = free_method;
	step.operation = do_free;
	if (!rc)
		rc = must(s, &step);
	do_free(s, step.bytes);
	return rc;
}

static int allocate_free(struct setup *s, struct step step)
{
	return own_and_free(s, step, "allocate", "free");
}

/* Runs all rounds of a size in a row, so that only the first finds the memory in the shape that another size left. */
static int measure_size(struct setup *s, uint64_t bytes)
{
	struct step step = { .method = "all", .bytes = bytes };
	int rc = EXIT_DONE;
	char why[96];

	if (bytes > s->available_bytes) {
		snprintf(why, sizeof(why), "%s has %llu bytes free", s->region,
			 (unsigned long long)s->available_bytes);
		skip(s, &step, why);
		return EXIT_DONE;
	}
	for (step.round = 0; step.round < s->rounds && !rc; step.round++) {
		rc = map_touch_pin(s, step);
		if (!rc)
			rc = allocate_free(s, step);
		if (!rc)
			rc = register_memory(s, step);
	}
	return rc;
}

/* ---- by live allocations ---- */

static int raise_file_limit(struct setup *s, uint64_t files)
{
	struct rlimit limit;
	char text[256];

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= files)
		return EXIT_DONE;
	limit.rlim_cur = files;
	if (limit.rlim_max < files)
		limit.rlim_max = files;
	if (!setrlimit(RLIMIT_NOFILE, &limit))
		return EXIT_DONE;
	snprintf(text, sizeof(text), "--live: %llu allocations at a time need as many open files, and "
		 "this process may not have them (%s). Raise 'ulimit -n' and fs.nr_open, or give a "
		 "smaller --live.", (unsigned long long)(files - OTHER_FILES), strerror(errno));
	return cli_fail_text(s->cli, EXIT_FAILED, "permission", text);
}

static uint64_t offset_of(const struct setup *s, uint64_t granule)
{
	return s->persistent ? granule * s->granule_bytes : 0;
}

/* Keeps the memory by an open file without a mapping: so many mappings would exceed vm.max_map_count. */
static int hold_one_more(struct setup *s)
{
	int rc;

	s->offset = offset_of(s, s->held);
	rc = do_allocate(s, s->granule_bytes);
	if (rc) {
		do_free(s, s->granule_bytes);
		return fail(s, "allocation", s->granule_bytes, rc);
	}
	munmap(s->map, s->granule_bytes);
	s->holders[s->held++] = s->fd;
	s->map = NULL;
	s->fd = -1;
	return EXIT_DONE;
}

static int hold(struct setup *s, uint64_t count)
{
	int rc = EXIT_DONE;

	while (s->held > count)
		close(s->holders[--s->held]);
	while (!rc && s->held < count)
		rc = cli_stopped(NULL) ? stopped(s) : hold_one_more(s);
	s->offset = offset_of(s, s->held);
	return rc;
}

static uint64_t most_live(const struct setup *s)
{
	return s->available_bytes / s->granule_bytes - 1;
}

static int measure_live(struct setup *s, uint64_t live)
{
	struct step step = { .method = "all", .bytes = s->granule_bytes, .live = live };
	char why[128];
	int rc;

	if (live > most_live(s)) {
		step.live = most_live(s);
		snprintf(why, sizeof(why), "%s has room for %llu of one granule and the one that is "
			 "measured: these are taken", s->region, (unsigned long long)step.live);
		skip(s, &(struct step){ "all", NULL, step.bytes, live, 0 }, why);
	}
	rc = hold(s, step.live);
	for (step.round = 0; step.round < s->rounds && !rc; step.round++)
		rc = allocate_free(s, step);
	return rc;
}

static uint64_t most_asked(const struct setup *s)
{
	uint64_t most = 0;

	for (size_t i = 0; i < s->live_count; i++)
		if (s->live[i] > most)
			most = s->live[i];
	return most < most_live(s) ? most : most_live(s);
}

static int prepare_holders(struct setup *s)
{
	int rc = raise_file_limit(s, most_asked(s) + OTHER_FILES);

	if (rc)
		return rc;
	s->holders = calloc(most_asked(s) + 1, sizeof(*s->holders));
	return s->holders ? EXIT_DONE : cli_fail_text(s->cli, EXIT_FAILED, "no-memory", "out of memory.");
}

/* ---- by pieces ---- */

static int claim(const struct setup *s, uint64_t offset, uint64_t bytes)
{
	struct p2pmem_claim request = {
		.size = sizeof(request), .region_offset = offset, .file_offset = offset, .length = bytes,
	};

	return ioctl(s->comb, P2PMEM_IOC_CLAIM, &request) ? -errno : 0;
}

/* Leaves @pieces single granules free, every second one at the region's beginning, and nothing else. */
static int make_pieces(struct setup *s, uint64_t pieces)
{
	uint64_t granule = s->granule_bytes, end = 2 * pieces * granule;
	int rc = 0;

	s->comb = open(s->node, O_RDWR | O_CLOEXEC);
	if (s->comb < 0)
		return -errno;
	for (uint64_t at = 0; at < end && !rc; at += 2 * granule)
		rc = cli_stopped(NULL) ? -EINTR : claim(s, at, granule);
	return rc || end == s->size_bytes ? rc : claim(s, end, s->size_bytes - end);
}

static void close_comb(struct setup *s)
{
	if (s->comb >= 0)
		close(s->comb);
	s->comb = -1;
}

/* Says why there is no such measurement: persistent memory is claimed by its place, so it never comes in pieces. */
static const char *no_pieces(const struct setup *s, uint64_t pieces)
{
	if (s->persistent)
		return "persistent memory is never given in pieces";
	if (s->available_bytes < s->size_bytes)
		return "another program holds memory of the region";
	return pieces > s->size_bytes / s->granule_bytes / 2 ? "the region has not that many granules" : NULL;
}

static int measure_pieces(struct setup *s, uint64_t pieces)
{
	struct step step = { .method = IN_PIECES, .bytes = pieces * s->granule_bytes };
	const char *why = no_pieces(s, pieces);
	int rc;

	if (why) {
		skip(s, &step, why);
		return EXIT_DONE;
	}
	s->offset = 0;
	rc = make_pieces(s, pieces);
	if (rc)
		rc = rc == -EINTR ? stopped(s) : fail(s, "claim", step.bytes, rc);
	for (step.round = 0; step.round < s->rounds && !rc; step.round++)
		rc = own_and_free(s, step, IN_PIECES, "free pieces");
	close_comb(s);
	return rc;
}

/* ---- all of it ---- */

static int measure(struct setup *s)
{
	int rc = prepare_holders(s);

	for (size_t i = 0; i < s->size_count && !rc; i++)
		rc = measure_size(s, s->sizes[i]);
	for (size_t i = 0; i < s->live_count && !rc; i++)
		rc = measure_live(s, s->live[i]);
	rc = rc ? rc : hold(s, 0);
	for (size_t i = 0; i < s->piece_count && !rc; i++)
		rc = s->pieces[i] ? measure_pieces(s, s->pieces[i]) : EXIT_DONE;
	return rc;
}

/* ---- preparation ---- */

static int find_region(struct setup *s)
{
	const char *dev_root = getenv("DONARD_DEV_ROOT");
	const struct donard_region_info *info;
	struct donard_region_list *list;
	char text[512] = "";
	int rc = donard_region_find(s->cli->ctx, s->cli->arguments[0], &list);

	if (rc)
		return cli_fail(s->cli, rc);
	info = donard_region_get(list, 0);
	snprintf(s->region, sizeof(s->region), "%s", info->name);
	snprintf(s->node, sizeof(s->node), "%s/%s", dev_root ? dev_root : "/dev", info->name);
	s->size_bytes = info->size_bytes;
	s->available_bytes = info->available_bytes;
	s->granule_bytes = info->granule_bytes;
	s->persistent = info->persistent;
	s->p2pdma = info->page_type == DONARD_PAGES_P2PDMA;
	if (!s->granule_bytes)
		snprintf(text, sizeof(text), "%s: cannot be opened: %s", s->region, info->unknown);
	else if (!s->available_bytes)
		snprintf(text, sizeof(text), "%s: nothing of it is free; 'donard-cli info %s' says who "
			 "holds it.", s->region, s->region);
	donard_region_list_free(list);
	return text[0] ? cli_fail_text(s->cli, EXIT_FAILED, "busy", text) : EXIT_DONE;
}

static int check_sizes(struct setup *s)
{
	for (size_t i = 0; i < s->size_count; i++)
		if (s->sizes[i] % s->granule_bytes)
			return cli_usage(s->cli, "--sizes: %llu is no multiple of %llu, the granule of %s",
					 (unsigned long long)s->sizes[i],
					 (unsigned long long)s->granule_bytes, s->region);
	return EXIT_DONE;
}

static void open_rdma(struct setup *s)
{
	int rc = donard_rdma_open_device(s->cli->ctx, NULL, &s->verbs);

	if (rc) {
		cli_in_options(donard_error(s->cli->ctx), s->no_rdma, sizeof(s->no_rdma));
		return;
	}
	s->pd = ibv_alloc_pd(s->verbs);
	if (!s->pd)
		snprintf(s->no_rdma, sizeof(s->no_rdma), "no protection domain: %s", strerror(errno));
}

static void open_ring(struct setup *s)
{
	int rc = io_uring_queue_init(1, &s->ring, 0);

	s->has_ring = !rc;
	if (rc)
		snprintf(s->no_ring, sizeof(s->no_ring), "there is no io_uring here: %s", strerror(-rc));
}

static struct json_object *numbers(const uint64_t *values, size_t count)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < count; i++)
		json_object_array_add(array, json_object_new_uint64(values[i]));
	return array;
}

static void begin_model(struct setup *s)
{
	s->model = bench_model(s->cli, "setup", s->meter);
	s->skipped = json_object_new_array();
	bench_add_option(s->model, "region", cli_json_string(s->region));
	bench_add_option(s->model, "granule_bytes", json_object_new_uint64(s->granule_bytes));
	bench_add_option(s->model, "sizes", numbers(s->sizes, s->size_count));
	bench_add_option(s->model, "live", numbers(s->live, s->live_count));
	bench_add_option(s->model, "pieces", numbers(s->pieces, s->piece_count));
	bench_add_option(s->model, "rounds", json_object_new_uint64(s->rounds));
	json_object_object_add(s->model, "skipped", s->skipped);
}

static void clean_up(struct setup *s)
{
	close_comb(s);
	while (s->held)
		close(s->holders[--s->held]);
	free(s->holders);
	if (s->pd)
		ibv_dealloc_pd(s->pd);
	if (s->verbs)
		ibv_close_device(s->verbs);
	if (s->has_ring)
		io_uring_queue_exit(&s->ring);
	donard_meter_close(s->meter);
}

static int run_prepared(struct setup *s)
{
	int rc;

	open_ring(s);
	open_rdma(s);
	begin_model(s);
	cli_catch_signals();
	rc = measure(s);
	if (rc)
		json_object_put(s->model);
	else
		bench_print(s->cli, s->model);
	return rc;
}

static int take_options(struct setup *s)
{
	int rc = bench_sizes(s->cli, "sizes", s->sizes, LIST_MAX, &s->size_count);

	if (!rc)
		rc = bench_numbers(s->cli, "live", s->live, LIST_MAX, &s->live_count);
	if (!rc)
		rc = bench_numbers(s->cli, "pieces", s->pieces, LIST_MAX, &s->piece_count);
	if (!rc)
		rc = cli_number(s->cli, "rounds", &s->rounds);
	if (!rc)
		rc = find_region(s);
	return rc ? rc : check_sizes(s);
}

static int run(struct cli *cli)
{
	struct setup s = {
		.cli = cli, .fd = -1, .comb = -1, .rounds = DEFAULT_ROUNDS,
		.sizes = { 64 << 10, 1 << 20, 16 << 20, 256 << 20 }, .size_count = 4,
		.live = { 0, 1000, 10000, 100000 }, .live_count = 4,
	};
	int rc = take_options(&s);

	if (rc)
		return rc;
	rc = donard_meter_open(cli->ctx, cli_value(cli, "meter"), &s.meter);
	if (rc)
		return cli_fail(cli, rc);
	rc = run_prepared(&s);
	clean_up(&s);
	return rc;
}

static const struct cli_option options_table[] = {
	{ "sizes", "LIST", "how much is mapped and pinned; default 64K,1M,16M,256M" },
	{ "live", "LIST", "how many allocations exist meanwhile; default 0,1000,10000,100000" },
	{ "pieces", "LIST", "in how many pieces memory is free that is allocated; default none" },
	{ "rounds", "N", "how often; default 5" },
	{ "meter", "NAME", "lab, likwid, perf, resctrl, none; default: the first that is available" },
	{ "json", NULL, "print JSON" },
	{ 0 },
};

static const struct cli_limit limits[] = {
	{ "live", 0, LIVE_MAX },
	{ "pieces", 0, LIVE_MAX },
	{ "rounds", 1, 1000 },
	{ 0 },
};

const struct cli_command cmd_setup = {
	.name = "setup", .arguments = "REGION", .min_arguments = 1, .max_arguments = 1,
	.needs_context = true,
	.summary = "What mapping, pinning, registering, allocating and freeing memory costs",
	.options = options_table, .limits = limits, .run = run,
};
