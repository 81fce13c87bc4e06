// SPDX-License-Identifier: Apache-2.0
/* LIBS: -ldonard */
/*
 * rdmainterval ADDR - transfers to a server there, with functions of its own before the first request and behind the last:
 * when they are called, what they are told, and what comes of what they return.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <donard/rdma.h>

#define BYTES		(1 << 20)
#define TRIES		100	/* while the server takes leave of the client before */
#define NAP_NS		100000000L

static struct donard_context *ctx;
static struct donard_rdma_result result;
static unsigned int begins, ends;
static int begin_rc, end_rc, work_rc;
static const char *text;
static size_t payload_count;
static uint64_t payload_bytes;

#define EQUAL(expected, call) do { \
	long long expected_ = (long long)(expected), seen_ = (long long)(call); \
	if (expected_ != seen_) \
		errx(1, "line %d: %s: expected %lld, seen %lld (%s)", __LINE__, #call, expected_, seen_, donard_error(ctx)); \
} while (0)

#define SAID(what) do { \
	if (strcmp(donard_error(ctx), (what))) \
		errx(1, "line %d: expected '%s', seen '%s'", __LINE__, (what), donard_error(ctx)); \
} while (0)

static int leave(const struct donard_interval *interval, int rc)
{
	return rc && text ? donard_fail(interval->ctx, rc, NULL, text) : rc;
}

static int begin(void *user, const struct donard_interval *interval)
{
	*(int *)user = 1;
	begins++;
	payload_count = interval->payload_count;
	payload_bytes = payload_count ? interval->payload[0].length_bytes : 0;
	return leave(interval, begin_rc);
}

static int end(void *user, const struct donard_interval *interval, int rc)
{
	*(int *)user = 0;
	ends++;
	work_rc = rc;
	return leave(interval, end_rc);
}

/* Once requests are under way. */
static int stop(void *user, enum donard_phase phase, uint64_t done_bytes, uint64_t total_bytes)
{
	(void)phase;
	(void)done_bytes;
	(void)total_bytes;
	return *(int *)user;
}

static int run(struct donard_rdma_options options, const char *address)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	int under_way = 0, rc, tries = TRIES;

	options.size = sizeof(options);
	options.address = address;
	options.direction = DONARD_RDMA_WRITE;
	options.length_bytes = BYTES;
	options.begin_fn = begin;
	options.end_fn = end;
	options.interval_user = options.progress_user = &under_way;
	begins = ends = 0;
	do {
		result = (struct donard_rdma_result){ .size = sizeof(result) };
		rc = donard_rdma_run(ctx, &options, &result);
	} while (rc == -ECONNREFUSED && tries-- && !nanosleep(&nap, NULL));
	return rc;
}

static void surrounds(const char *address)
{
	EQUAL(0, run((struct donard_rdma_options){ .flags = DONARD_RDMA_VERIFY, .iterations = 3 }, address));
	EQUAL(1, begins);
	EQUAL(1, ends);
	EQUAL(0, work_rc);
	EQUAL(3 * BYTES, result.bytes);
	/* The near side, and what was read back. */
	EQUAL(2, payload_count);
	EQUAL(BYTES, payload_bytes);
	EQUAL(0, run((struct donard_rdma_options){ .local = "p2pmem0" }, address));
	EQUAL(0, payload_count);
}

/* With errnos that have a meaning of their own here. */
static void begin_refuses(const char *address)
{
	static const int errors[] = { EBUSY, ETIMEDOUT, ECONNRESET, ENODEV };

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		begin_rc = -errors[i];
		text = "scales: somebody else weighs.";
		EQUAL(begin_rc, run((struct donard_rdma_options){ 0 }, address));
		SAID(text);
		EQUAL(1, begins);
		EQUAL(0, ends);
		EQUAL(0, result.bytes);
	}
	text = NULL;
	begin_rc = 1;
	EQUAL(-ECANCELED, run((struct donard_rdma_options){ 0 }, address));
	begin_rc = 0;
}

static void end_fails(const char *address)
{
	end_rc = -EIO;
	text = "scales: they broke.";
	EQUAL(-EIO, run((struct donard_rdma_options){ 0 }, address));
	SAID(text);
	EQUAL(BYTES, result.bytes);
	/* What made the transfer fail is the news. */
	EQUAL(-ECANCELED, run((struct donard_rdma_options){ .mode = DONARD_RDMA_BANDWIDTH, .iterations = 100000000,
							     .progress_fn = stop }, address));
	SAID("stopped");
	EQUAL(-ECANCELED, work_rc);
	EQUAL(1, ends);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		errx(2, "usage: rdmainterval ADDR");
	EQUAL(0, donard_open(&ctx, NULL));
	surrounds(argv[1]);
	begin_refuses(argv[1]);
	end_fails(argv[1]);
	donard_close(ctx);
	return 0;
}
