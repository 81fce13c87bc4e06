// SPDX-License-Identifier: Apache-2.0
/* LIBS: -ldonard */
/*
 * rdmaclient ADDR [withdrawn] - a program's own client of 1 MiB of "dram" that donard-cli serves there: requests, their
 * completions, questions, what is durable, what is refused.  Or: writes, and stays until the server takes its memory back.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <donard/rdma.h>

#define BYTES		(1 << 20)
#define PART		4096
#define NAP_NS		100000000L
#define IDLE_NAPS	25	/* longer than the server waits for a word */

static struct donard_context *ctx;
static struct donard_rdma_client *client;
static struct donard_memory *memory, *other;

#define EQUAL(expected, call) do { \
	long long expected_ = (long long)(expected), seen_ = (long long)(call); \
	if (expected_ != seen_) \
		errx(1, "line %d: %s: expected %lld, seen %lld (%s)", __LINE__, #call, expected_, seen_, donard_error(ctx)); \
} while (0)

static void doze(void)
{
	const struct timespec time = { .tv_nsec = NAP_NS };

	nanosleep(&time, NULL);
}

static int come(const char *address)
{
	const struct donard_rdma_connect_options options = {
		.size = sizeof(options), .address = address, .rights = DONARD_RDMA_READ | DONARD_RDMA_WRITE, .depth = 4,
	};
	return donard_rdma_connect(ctx, &options, &client);
}

static struct donard_rdma_client_info told(void)
{
	struct donard_rdma_client_info info = { .size = sizeof(info) };

	EQUAL(0, donard_rdma_client_info(client, &info));
	return info;
}

/* Requests take effect in their order: a read after a write sees its bytes. */
static void moves(void)
{
	uint64_t before = told().bytes;
	char bytes[3 * PART], seen[3 * PART];

	EQUAL(BYTES, told().length_bytes);
	EQUAL(DONARD_RDMA_READ | DONARD_RDMA_WRITE, told().rights);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 7 + i / PART);
	EQUAL(0, donard_memory_write(memory, 5, bytes, sizeof(bytes)));
	for (int i = 0; i < 3; i++)
		EQUAL(0, donard_rdma_write(client, 77 + i * PART, memory, 5 + i * PART, PART));
	EQUAL(0, donard_rdma_read(client, 77, other, 9, sizeof(seen)));
	EQUAL(4, told().in_flight);
	EQUAL(-EAGAIN, donard_rdma_read(client, 0, other, 0, 1));
	EQUAL(-EBUSY, donard_rdma_detach(client, other));
	EQUAL(4, donard_rdma_wait(client, 4, 0));
	EQUAL(0, donard_rdma_wait(client, 4, 0));
	EQUAL(before + 2 * sizeof(bytes), told().bytes);
	EQUAL(0, donard_memory_read(other, 9, seen, sizeof(seen)));
	EQUAL(0, memcmp(bytes, seen, sizeof(seen)));
	EQUAL(0, donard_rdma_write(client, 0, memory, 0, BYTES));
	EQUAL(1, donard_rdma_wait(client, 1, DONARD_RDMA_SPIN));
}

/* The connection goes on. */
static void refuses(void)
{
	struct donard_rdma_question question = { .size = sizeof(question), .service = 9, .length_bytes = 1 };
	struct donard_rdma_answer answer = { .size = sizeof(answer) };

	EQUAL(-ENXIO, donard_rdma_write(client, BYTES, memory, 0, 1));
	EQUAL(-ENXIO, donard_rdma_write(client, 1, memory, 0, BYTES));
	EQUAL(-ENXIO, donard_rdma_read(client, 0, memory, BYTES, 1));
	EQUAL(-EINVAL, donard_rdma_write(client, 0, memory, 0, 0));
	EQUAL(-EINVAL, donard_rdma_wait(client, 1, 2));
	EQUAL(-EACCES, donard_rdma_ask(client, &question, &answer));
	question.service = 1;
	question.offset_bytes = BYTES;
	EQUAL(-ENXIO, donard_rdma_ask(client, &question, &answer));
	question.offset_bytes = question.length_bytes = 0;
	EQUAL(-EINVAL, donard_rdma_ask(client, &question, &answer));
	EQUAL(0, donard_rdma_wait(client, 1, 0));
}

/* donard-cli's second service compares with a pattern: these bytes are none. */
static void asks(void)
{
	const struct donard_rdma_question question = {
		.size = sizeof(question), .service = 1, .offset_bytes = 8, .length_bytes = PART, .value = 3,
	};
	struct donard_rdma_answer answer = { .size = sizeof(answer) };

	EQUAL(0, donard_rdma_ask(client, &question, &answer));
	EQUAL(1, answer.verdict);
	EQUAL(1, answer.value >= 8 && answer.value < 8 + PART);
}

static void says_what_is_durable(void)
{
	struct donard_rdma_durability durability = { .size = sizeof(durability), .durable = true };

	EQUAL(0, donard_rdma_sync(client, NULL, &durability));
	EQUAL(false, durability.durable);
	EQUAL(0, strcmp("dram is volatile", durability.reason));
	EQUAL(0, donard_rdma_sync(client, other, NULL));
	EQUAL(0, donard_rdma_detach(client, other));
	EQUAL(-EINVAL, donard_rdma_sync(client, other, NULL));
	EQUAL(0, donard_rdma_detach(client, other));
}

static void is_idle(void)
{
	for (int i = 0; i < IDLE_NAPS; i++, doze())
		EQUAL(0, donard_rdma_wait(client, 0, 0));
	moves();
}

static void leaves(void)
{
	EQUAL(0, donard_rdma_leave(client, NULL));
	EQUAL(false, told().connected);
	EQUAL(-EINVAL, donard_rdma_write(client, 0, memory, 0, 1));
	donard_rdma_close(client);
}

static void stays(void)
{
	int rc;

	EQUAL(0, donard_rdma_write(client, 0, memory, 0, PART));
	EQUAL(1, donard_rdma_wait(client, 1, 0));
	puts("written");
	fflush(stdout);
	while (!(rc = donard_rdma_wait(client, 0, 0)))
		doze();
	EQUAL(-ESHUTDOWN, rc);
	EQUAL(-ESHUTDOWN, donard_rdma_read(client, 0, memory, 0, PART));
	EQUAL(0, strcmp("withdrawn", donard_error_code(ctx)));
	EQUAL(false, told().connected);
	donard_rdma_close(client);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		errx(2, "usage: rdmaclient ADDR [withdrawn]");
	EQUAL(0, donard_open(&ctx, NULL));
	EQUAL(0, donard_memory_dram(ctx, BYTES, &memory));
	EQUAL(0, donard_memory_dram(ctx, BYTES, &other));
	EQUAL(0, come(argv[1]));
	if (argc > 2) {
		stays();
		return 0;
	}
	moves();
	refuses();
	asks();
	says_what_is_durable();
	is_idle();
	leaves();
	donard_memory_free(other);
	donard_memory_free(memory);
	donard_close(ctx);
	return 0;
}
