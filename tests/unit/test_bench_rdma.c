// SPDX-License-Identifier: Apache-2.0
/* How the benchmark tries a server again that has served it before, with a tool that this program plays. */
#include <errno.h>
#include <stdarg.h>

#include "bench/bench_rdma.h"
#include "bench/links.h"
#include "says.h"
#include "tool/errors.h"
#include "tool/options.h"
#include "tool/progress.h"
#include "unit.h"

const char *cli_name = "bench";

static struct {
	char said[256];
	int tries, rc, rc_after;	/* the first try's, and that of the later ones */
	int stop_after;			/* so many tries; 0: nobody stops it */
} scene;

int cli_fail_text(const struct cli *cli, int exit_code, const char *code, const char *text)
{
	(void)cli;
	snprintf(scene.said, sizeof(scene.said), "%s: %s", code, text);
	return exit_code;
}

int cli_fail(const struct cli *cli, int rc)
{
	return cli_fail_text(cli, EXIT_FAILED, "the library's", strerror(-rc));
}

int cli_usage(const struct cli *cli, const char *format, ...)
{
	(void)cli;
	(void)format;
	return EXIT_USAGE;
}

const char *cli_value(const struct cli *cli, const char *name)
{
	(void)cli;
	(void)name;
	return NULL;
}

int bench_check_contents(const struct cli *cli, const struct donard_region_info *region)
{
	(void)cli;
	(void)region;
	return 0;
}

void bench_add_links(struct cli *cli, struct json_object *links, const char *direction, enum donard_client_type type,
		     const char *name, const char *region)
{
	(void)cli;
	(void)links;
	(void)direction;
	(void)type;
	(void)name;
	(void)region;
}

void bench_add_measured(struct json_object *sample, const struct donard_measurement *measurement)
{
	(void)sample;
	(void)measurement;
}

void bench_say(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(scene.said, sizeof(scene.said), format, arguments);
	va_end(arguments);
}

int __wrap_cli_rdma_run(struct donard_context *ctx, const struct cli_rdma_options *options, struct cli_rdma_result *result);
int __wrap_cli_rdma_run(struct donard_context *ctx, const struct cli_rdma_options *options, struct cli_rdma_result *result)
{
	(void)ctx;
	(void)options;
	(void)result;
	return scene.tries++ ? scene.rc_after : scene.rc;
}

int __wrap_cli_stopped(void *user);
int __wrap_cli_stopped(void *user)
{
	(void)user;
	return scene.stop_after && scene.tries >= scene.stop_after;
}

static int run(bool again)
{
	struct bench_rdma run = { .options = { .address = "192.0.2.1" } };
	struct cli cli = { 0 };

	return bench_rdma_run(&cli, NULL, &run, again);
}

static int setup(void **state)
{
	(void)state;
	memset(&scene, 0, sizeof(scene));
	return 0;
}

static void refused_server_is_tried_again(void **state)
{
	(void)state;
	scene.rc = -EBUSY;
	assert_int_equal(run(true), EXIT_DONE);
	assert_int_equal(scene.tries, 2);
	setup(NULL);
	scene.rc = -EBUSY;
	assert_int_equal(run(false), EXIT_FAILED);
	assert_int_equal(scene.tries, 1);
}

static void signal_between_two_tries(void **state)
{
	(void)state;
	scene.rc = scene.rc_after = -ECONNREFUSED;
	scene.stop_after = 2;
	assert_int_equal(run(true), EXIT_STOPPED);
	assert_int_equal(scene.tries, 2);
	assert_says(scene.said, "canceled: stopped by a signal");
}

/* A sample of a depth has so many requests at least, unless the user wants fewer: then it says so. */
static void requests_are_enough_for_the_depth(void **state)
{
	struct bench_rdma run = {
		.options = { .mode = CLI_RDMA_BANDWIDTH, .direction = DONARD_RDMA_WRITE },
		.result = { .queue_depth = 16, .requests = 5 },
	};
	struct json_object *sample = bench_rdma_sample(&run, 0);

	(void)state;
	assert_int_equal(bench_rdma_iterations(4096, 1), 1000);
	assert_int_equal(bench_rdma_iterations(1 << 20, 16), 64);
	assert_int_equal(bench_rdma_iterations(8 << 20, 16), 16);
	assert_int_equal(bench_rdma_iterations(4096, 4096), 4096);
	assert_int_equal(bench_rdma_iterations(1 << 30, 1), 1);
	assert_int_equal(json_object_get_int(json_object_object_get(sample, "queue_depth")), 16);
	assert_int_equal(json_object_get_int(json_object_object_get(sample, "in_flight")), 5);
	json_object_put(sample);
}

static void fewer_requests_than_the_depth_are_told(void **state)
{
	(void)state;
	bench_rdma_say_fewer(0, 16);
	bench_rdma_say_fewer(16, 16);
	assert_string_equal(scene.said, "");
	bench_rdma_say_fewer(5, 16);
	assert_says(scene.said, "depth 16: no more than 5 are in flight");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(refused_server_is_tried_again, setup),
		cmocka_unit_test_setup(signal_between_two_tries, setup),
		cmocka_unit_test(requests_are_enough_for_the_depth),
		cmocka_unit_test_setup(fewer_requests_than_the_depth_are_told, setup),
	};

	return cmocka_run_group_tests_name("bench_rdma", tests, NULL, NULL);
}
