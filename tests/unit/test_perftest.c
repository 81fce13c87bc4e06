// SPDX-License-Identifier: Apache-2.0
/* The benchmark's text if perftest's client cannot be started. */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/bench_rdma.h"
#include "donard/rdma.h"
#include "says.h"
#include "tool/errors.h"
#include "unit.h"

const char *cli_name = "bench";

static char said[512];
static int fork_error, memory_error;

int cli_fail_text(const struct cli *cli, int exit_code, const char *code, const char *text)
{
	(void)cli;
	(void)code;
	snprintf(said, sizeof(said), "%s", text);
	return exit_code;
}

/* Must not be called: the library's last failure has nothing to do with perftest. */
int cli_fail(const struct cli *cli, int rc)
{
	(void)rc;
	return cli_fail_text(cli, EXIT_FAILED, "", "the library's");
}

void bench_add_measured(struct json_object *sample, const struct donard_measurement *measurement)
{
	(void)sample;
	(void)measurement;
}

uint32_t bench_rdma_iterations(uint64_t block_bytes, uint32_t depth)
{
	(void)block_bytes;
	return depth;
}

int cli_usage(const struct cli *cli, const char *format, ...)
{
	va_list arguments;

	(void)cli;
	va_start(arguments, format);
	vsnprintf(said, sizeof(said), format, arguments);
	va_end(arguments);
	return EXIT_USAGE;
}

const char *bench_rdma_word(unsigned int direction)
{
	(void)direction;
	return "write";
}

pid_t __real_fork(void);
pid_t __wrap_fork(void);
pid_t __wrap_fork(void)
{
	errno = fork_error;
	return fork_error ? -1 : __real_fork();
}

int __real_memfd_create(const char *name, unsigned int flags);
int __wrap_memfd_create(const char *name, unsigned int flags);
int __wrap_memfd_create(const char *name, unsigned int flags)
{
	errno = memory_error;
	return memory_error ? -1 : __real_memfd_create(name, flags);
}

static void fails_with(const char *text)
{
	const struct bench_rdma run = {
		.options = { .mode = CLI_RDMA_BANDWIDTH, .direction = DONARD_RDMA_WRITE, .address = "192.0.2.1",
			     .block_bytes = 4096, .queue_depth = 1, .iterations = 5 },
	};
	struct json_object *sample = NULL;
	struct cli cli = { 0 };

	said[0] = '\0';
	assert_int_equal(bench_perftest_run(&cli, &run, BENCH_PERFTEST_PORT, 0, &sample), EXIT_FAILED);
	assert_null(sample);
	assert_says(said, text);
}

static void no_process_is_to_be_had(void **state)
{
	(void)state;
	fork_error = EAGAIN;
	fails_with("a process cannot be started (fork: Resource temporarily unavailable)");
	fork_error = 0;
}

/* ---- programs that stand for perftest's ---- */

static char folder[] = "/tmp/donard-perftest.XXXXXX";

static void program_file(char path[PATH_MAX], const char *name)
{
	snprintf(path, PATH_MAX, "%s/%s", folder, name);
}

/*
 * Makes a script for each of perftest's programs, which prints @help if asked for that, else its arguments and a latency
 * result.
 */
static void make_programs(const char *help)
{
	static const char *const names[] = { "ib_write_bw", "ib_read_bw", "ib_write_lat", "ib_read_lat" };
	char path[PATH_MAX];
	FILE *file;

	for (size_t i = 0; i < 4; i++) {
		program_file(path, names[i]);
		file = fopen(path, "w");
		assert_non_null(file);
		fprintf(file, "#!/bin/sh\n[ \"$1\" != --help ] || { echo '%s'; exit 1; }\necho \"$*\" >%s/words\n"
			"echo ' 4096 20 1.0 2.0 1.5 1.6 0.0 1.9 2.0'\n", help, folder);
		assert_int_equal(fchmod(fileno(file), 0700), 0);
		fclose(file);
	}
}

static int programs_setup(void **state)
{
	char path[PATH_MAX + sizeof("/usr/bin:/bin")];

	(void)state;
	strcpy(strrchr(folder, '.'), ".XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s:/usr/bin:/bin", folder);
	return setenv("PATH", path, 1);
}

static int programs_teardown(void **state)
{
	static const char *const names[] = { "ib_write_bw", "ib_read_bw", "ib_write_lat", "ib_read_lat", "words" };
	char path[PATH_MAX];

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		program_file(path, names[i]);
		unlink(path);
	}
	return rmdir(folder);
}

/* Asserts the arguments of a client of that address. */
static void words_are(const char *address, const char *text)
{
	const struct bench_rdma run = {
		.options = { .mode = CLI_RDMA_LATENCY, .direction = DONARD_RDMA_WRITE, .address = address, .block_bytes = 4096,
			     .queue_depth = 1, .iterations = 20, .timeout_ms = 1000 },
	};
	struct json_object *sample = NULL;
	char path[PATH_MAX], words[256];
	struct cli cli = { 0 };
	FILE *file;

	assert_int_equal(bench_perftest_run(&cli, &run, BENCH_PERFTEST_PORT, 0, &sample), EXIT_DONE);
	json_object_put(sample);
	program_file(path, "words");
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(words, sizeof(words), file));
	fclose(file);
	assert_string_equal(words, text);
}

static void ipv6_address_is_told(void **state)
{
	struct cli cli = { 0 };

	(void)state;
	make_programs("      --ipv6-addr=<IPv6>  Use IPv6 address for parameters negotiation.");
	assert_int_equal(bench_perftest_check(&cli, "fd00::1"), EXIT_DONE);
	words_are("fd00::1", "-R -F -s 4096 -n 20 -p 18517 --ipv6-addr fd00::1\n");
	words_are("192.0.2.1", "-R -F -s 4096 -n 20 -p 18517 192.0.2.1\n");
}

/* Debian 12's programs are that old, and their --ipv6 means something else. */
static void old_programs_take_no_ipv6_address(void **state)
{
	struct cli cli = { 0 };

	(void)state;
	make_programs("      --ipv6  Use IPv6 GID. Default is IPv4");
	assert_int_equal(bench_perftest_check(&cli, "192.0.2.1"), EXIT_DONE);
	assert_int_equal(bench_perftest_check(&cli, "fd00::1"), EXIT_UNSUPPORTED);
	assert_says(said, "takes no IPv6 address");
}

static void its_server_serves_one_size(void **state)
{
	const uint64_t blocks[] = { 4096, 65536 };
	const struct cli cli = { 0 };

	(void)state;
	said[0] = '\0';
	assert_int_equal(bench_perftest_check_blocks(&cli, blocks, 1, 20), 0);
	assert_string_equal(said, "");
	assert_int_equal(bench_perftest_check_blocks(&cli, blocks, 2, 20), EXIT_USAGE);
	assert_says(said, "for 4096 bytes start it with '-s 4096 -n 20'");
	/* It takes no fewer, and so has to be told. */
	assert_int_equal(bench_perftest_check_blocks(&cli, blocks, 2, 1), EXIT_USAGE);
	assert_says(said, "-n 5'");
}

static void its_output_has_no_place(void **state)
{
	(void)state;
	memory_error = EMFILE;
	fails_with("what ib_write_bw prints (memfd_create: Too many open files)");
	memory_error = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_process_is_to_be_had),
		cmocka_unit_test(its_output_has_no_place),
		cmocka_unit_test_setup_teardown(ipv6_address_is_told, programs_setup, programs_teardown),
		cmocka_unit_test_setup_teardown(old_programs_take_no_ipv6_address, programs_setup, programs_teardown),
		cmocka_unit_test(its_server_serves_one_size),
	};

	return cmocka_run_group_tests_name("perftest", tests, NULL, NULL);
}
