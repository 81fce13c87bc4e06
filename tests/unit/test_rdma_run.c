// SPDX-License-Identifier: Apache-2.0
/* The functions that a run of the tool calls at the begin and end of its timed part; this program plays the client. */
#include <errno.h>

#include "unit.h"
#include "fake_sysfs.h"
#include "says.h"
#include "tool/rdma/run.h"
#include "tool/rdma/service.h"

#define BYTES	65536
#define BLOCK	4096

struct donard_rdma_client {
	uint64_t bytes;
	uint32_t in_flight;
};

static struct {
	struct fake *fake;
	struct donard_rdma_client client;
	struct cli_rdma_result result;
	char order[16];			/* a letter for each step, but that of requests just once */
	size_t payload_count;
	const struct donard_context *end_ctx;
	int begin_rc, end_rc, work_rc, seen_rc;
	uint64_t offered;
	bool persistent;		/* the near side */
} scene;

static void step(char letter)
{
	size_t count = strlen(scene.order);

	if (count && scene.order[count - 1] == letter)
		return;
	assert_true(count + 1 < sizeof(scene.order));
	scene.order[count] = letter;
}

/* ---- the client ---- */

int __wrap_donard_rdma_connect(struct donard_context *ctx, const struct donard_rdma_connect_options *options,
			       struct donard_rdma_client **client);
int __wrap_donard_rdma_connect(struct donard_context *ctx, const struct donard_rdma_connect_options *options,
			       struct donard_rdma_client **client)
{
	(void)ctx;
	(void)options;
	*client = &scene.client;
	return 0;
}

void __wrap_donard_rdma_close(struct donard_rdma_client *client);
void __wrap_donard_rdma_close(struct donard_rdma_client *client)
{
	(void)client;
}

int __wrap_donard_rdma_client_info(const struct donard_rdma_client *client, struct donard_rdma_client_info *info);
int __wrap_donard_rdma_client_info(const struct donard_rdma_client *client, struct donard_rdma_client_info *info)
{
	info->length_bytes = scene.offered;
	info->bytes = client->bytes;
	info->rights = DONARD_RDMA_READ | DONARD_RDMA_WRITE;
	return 0;
}

int __wrap_donard_rdma_attach(struct donard_rdma_client *client, struct donard_memory *memory, unsigned int directions,
			      struct donard_rdma_registration_info *info);
int __wrap_donard_rdma_attach(struct donard_rdma_client *client, struct donard_memory *memory, unsigned int directions,
			      struct donard_rdma_registration_info *info)
{
	(void)client;
	(void)memory;
	(void)directions;
	info->reason = "";
	return 0;
}

int __wrap_donard_rdma_write(struct donard_rdma_client *client, uint64_t offset, struct donard_memory *memory,
			     uint64_t memory_offset, uint64_t length);
int __wrap_donard_rdma_write(struct donard_rdma_client *client, uint64_t offset, struct donard_memory *memory,
			     uint64_t memory_offset, uint64_t length)
{
	(void)offset;
	(void)memory;
	(void)memory_offset;
	step('w');
	client->in_flight++;
	client->bytes += length;
	return scene.work_rc ? donard_fail(scene.fake->ctx, -scene.work_rc, NULL, "the work failed") : 0;
}

int __wrap_donard_rdma_read(struct donard_rdma_client *client, uint64_t offset, struct donard_memory *memory,
			    uint64_t memory_offset, uint64_t length);
int __wrap_donard_rdma_read(struct donard_rdma_client *client, uint64_t offset, struct donard_memory *memory,
			    uint64_t memory_offset, uint64_t length)
{
	return __wrap_donard_rdma_write(client, offset, memory, memory_offset, length);
}

int __real_donard_memory_info(const struct donard_memory *memory, struct donard_memory_info *info);
int __wrap_donard_memory_info(const struct donard_memory *memory, struct donard_memory_info *info);
int __wrap_donard_memory_info(const struct donard_memory *memory, struct donard_memory_info *info)
{
	int rc = __real_donard_memory_info(memory, info);

	if (scene.persistent) {
		info->kind = DONARD_MEMORY_REGION;
		info->persistent = true;
		info->region = "p2pmem2";
	}
	return rc;
}

int __wrap_donard_rdma_wait(struct donard_rdma_client *client, unsigned int requests, unsigned int flags);
int __wrap_donard_rdma_wait(struct donard_rdma_client *client, unsigned int requests, unsigned int flags)
{
	uint32_t completed = requests ? client->in_flight : 0;

	(void)flags;
	client->in_flight -= completed;
	return (int)completed;
}

int __wrap_donard_rdma_sync(struct donard_rdma_client *client, struct donard_memory *memory,
			    struct donard_rdma_durability *durability);
int __wrap_donard_rdma_sync(struct donard_rdma_client *client, struct donard_memory *memory,
			    struct donard_rdma_durability *durability)
{
	(void)client;
	(void)memory;
	(void)durability;
	return 0;
}

int __wrap_donard_rdma_leave(struct donard_rdma_client *client, struct donard_rdma_durability *durability);
int __wrap_donard_rdma_leave(struct donard_rdma_client *client, struct donard_rdma_durability *durability)
{
	(void)client;
	(void)durability;
	step('l');
	return 0;
}

/* ---- the functions ---- */

static int fails(const struct donard_interval *interval, int rc)
{
	return rc ? donard_fail(interval->ctx, -rc, NULL, "the scales broke") : 0;
}

static int begins(void *user, const struct donard_interval *interval)
{
	(void)user;
	step('b');
	scene.payload_count = interval->payload_count;
	return fails(interval, scene.begin_rc);
}

static int ends(void *user, const struct donard_interval *interval, int rc)
{
	(void)user;
	step('e');
	scene.seen_rc = rc;
	scene.end_ctx = interval->ctx;
	return fails(interval, scene.end_rc);
}

/* ---- tests ---- */

static int setup(void **state)
{
	(void)state;
	memset(&scene, 0, sizeof(scene));
	scene.offered = BYTES;
	return fake_setup((void **)&scene.fake);
}

static int teardown(void **state)
{
	void *fake = scene.fake;

	(void)state;
	return fake_teardown(&fake);
}

static int run(enum cli_rdma_mode mode)
{
	const struct cli_rdma_options options = {
		.mode = mode, .direction = DONARD_RDMA_WRITE, .length_bytes = BYTES, .block_bytes = BLOCK, .iterations = 3,
		.begin_fn = begins, .end_fn = ends,
	};

	return cli_rdma_run(scene.fake->ctx, &options, &scene.result);
}

/* Once, before the first round's requests, and behind the good-bye. */
static void functions_surround_all_rounds(void **state)
{
	(void)state;
	assert_int_equal(run(CLI_RDMA_TRANSFER), 0);
	assert_string_equal(scene.order, "bwle");
	assert_int_equal(scene.payload_count, 1);
	assert_int_equal(scene.result.bytes, 3 * BYTES);
	memset(scene.order, 0, sizeof(scene.order));
	assert_int_equal(run(CLI_RDMA_LATENCY), 0);
	assert_string_equal(scene.order, "bwle");
}

static void begin_refuses(void **state)
{
	(void)state;
	scene.begin_rc = -EBUSY;
	assert_int_equal(run(CLI_RDMA_BANDWIDTH), -EBUSY);
	assert_string_equal(scene.order, "b");
	assert_string_equal(donard_error(scene.fake->ctx), "the scales broke");
}

static void end_fails(void **state)
{
	(void)state;
	scene.end_rc = -EIO;
	assert_int_equal(run(CLI_RDMA_BANDWIDTH), -EIO);
	assert_string_equal(scene.order, "bwle");
	assert_string_equal(donard_error(scene.fake->ctx), "the scales broke");
}

/* The failure of the work is reported, whatever the end function returns. */
static void failed_work_is_the_news(void **state)
{
	(void)state;
	scene.work_rc = -ETIMEDOUT;
	scene.end_rc = -EIO;
	assert_int_equal(run(CLI_RDMA_BANDWIDTH), -ETIMEDOUT);
	assert_string_equal(scene.order, "bwe");
	assert_int_equal(scene.seen_rc, -ETIMEDOUT);
	assert_ptr_not_equal(scene.end_ctx, scene.fake->ctx);
	assert_string_equal(donard_error(scene.fake->ctx), "the work failed");
}

/* Without a length, the memory that is mapped and pinned grows with the requests in flight, up to a limit. */
static void large_requests_share_a_range(void **state)
{
	struct cli_rdma_options options = {
		.mode = CLI_RDMA_BANDWIDTH, .direction = DONARD_RDMA_WRITE, .block_bytes = 1 << 20, .queue_depth = 4096, .iterations = 1,
	};

	(void)state;
	scene.offered = 1ULL << 40;
	assert_int_equal(cli_rdma_run(scene.fake->ctx, &options, &scene.result), 0);
	assert_int_equal(scene.result.length_bytes, 1 << 30);
	options.queue_depth = 16;
	assert_int_equal(cli_rdma_run(scene.fake->ctx, &options, &scene.result), 0);
	assert_int_equal(scene.result.length_bytes, 16 << 20);
	options.mode = CLI_RDMA_TRANSFER;
	/* The same command is right with a smaller offer: no bad option, which is wrong everywhere. */
	assert_int_equal(cli_rdma_run(scene.fake->ctx, &options, &scene.result), -ENXIO);
	assert_string_equal(donard_error_code(scene.fake->ctx), "past-end");
	assert_says(donard_error(scene.fake->ctx), "Give the amount with --size");
}

static void into_persistent(enum cli_rdma_mode mode, unsigned int direction, bool verify, const char *refusal)
{
	struct cli_rdma_options options = {
		.mode = mode, .direction = direction, .length_bytes = BYTES, .block_bytes = BLOCK, .verify = verify,
	};
	int rc = cli_rdma_run(scene.fake->ctx, &options, &scene.result);

	if (!refusal) {
		assert_int_equal(rc, 0);
		return;
	}
	assert_int_equal(rc, -EOPNOTSUPP);
	assert_says(donard_error(scene.fake->ctx), refusal);
	options.verify = false;		/* which this server has no services for */
	options.overwrite = true;
	assert_int_equal(cli_rdma_run(scene.fake->ctx, &options, &scene.result), 0);
}

static void persistent_memory_is_spoiled_only_if_that_was_asked_for(void **state)
{
	static const char measured[] = "p2pmem2: its memory is persistent, and what is read to be measured would overwrite it";
	static const char verified[] = "p2pmem2: its memory is persistent, and --verify would overwrite it";

	(void)state;
	scene.persistent = true;
	into_persistent(CLI_RDMA_TRANSFER, DONARD_RDMA_READ, false, NULL);
	into_persistent(CLI_RDMA_TRANSFER, DONARD_RDMA_READ, true, verified);
	into_persistent(CLI_RDMA_TRANSFER, DONARD_RDMA_WRITE, true, verified);
	into_persistent(CLI_RDMA_BANDWIDTH, DONARD_RDMA_READ, false, measured);
	into_persistent(CLI_RDMA_LATENCY, DONARD_RDMA_READ, false, measured);
	into_persistent(CLI_RDMA_LATENCY, DONARD_RDMA_WRITE, false, NULL);
}

/* Another program's server offers memory for both directions, but none of this tool's services. */
static void server_without_test_data(void **state)
{
	struct cli_rdma_options options = {
		.direction = DONARD_RDMA_READ, .length_bytes = BYTES, .block_bytes = BLOCK, .verify = true,
	};

	(void)state;
	assert_int_equal(cli_rdma_run(scene.fake->ctx, &options, &scene.result), -EACCES);
	assert_says(donard_error(scene.fake->ctx), "its server does not fill");
	options.direction = DONARD_RDMA_WRITE;
	assert_int_equal(cli_rdma_run(scene.fake->ctx, &options, &scene.result), -EACCES);
	assert_says(donard_error(scene.fake->ctx), "its server compares no test data");
	assert_string_equal(scene.order, "");
}

/*
 * A server neither fills nor compares memory that its clients may not write or read.  It fills persistent memory only if told
 * to.
 */
static void services_follow_the_rights(void **state)
{
	const unsigned int fill = 1U << CLI_RDMA_FILL, compare = 1U << CLI_RDMA_COMPARE;
	const unsigned int both = DONARD_RDMA_READ | DONARD_RDMA_WRITE;

	(void)state;
	assert_int_equal(cli_rdma_services(both, false, false, false), fill | compare);
	assert_int_equal(cli_rdma_services(both, true, false, false), compare);
	assert_int_equal(cli_rdma_services(both, true, true, false), fill | compare);
	assert_int_equal(cli_rdma_services(DONARD_RDMA_READ, false, false, false), compare);
	assert_int_equal(cli_rdma_services(DONARD_RDMA_WRITE, false, false, false), fill);
	assert_int_equal(cli_rdma_services(DONARD_RDMA_WRITE, true, false, true), compare);
}

/* The next client must not see the bytes that the failed fill left. */
static void fill_that_fails_is_not_counted(void **state)
{
	struct donard_rdma_asked asked = {
		.size = sizeof(asked), .service = CLI_RDMA_FILL, .offset_bytes = BLOCK, .length_bytes = BLOCK,
	};
	struct donard_rdma_answer answer = { .size = sizeof(answer) };
	struct cli_rdma_counts counts = { 0 };

	(void)state;
	assert_int_equal(donard_memory_dram(scene.fake->ctx, BLOCK, &asked.memory), 0);
	assert_int_equal(cli_rdma_answer(&counts, &asked, &answer), -ENXIO);
	assert_int_equal(counts.filled_bytes, 0);
	assert_true(answer.changed);
	donard_memory_free(asked.memory);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(functions_surround_all_rounds), CASE(begin_refuses), CASE(end_fails), CASE(failed_work_is_the_news),
		CASE(large_requests_share_a_range), CASE(server_without_test_data), CASE(services_follow_the_rights),
		CASE(fill_that_fails_is_not_counted), CASE(persistent_memory_is_spoiled_only_if_that_was_asked_for),
	};

	return cmocka_run_group_tests_name("rdma_run", tests, NULL, NULL);
}
