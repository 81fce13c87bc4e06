// SPDX-License-Identifier: Apache-2.0
/*
 * The packaged perftest for comparison: its client runs beside ours, with the same block size, depth and near side. Each of its
 * programs needs a server of its own kind, which serves one client and ends; the user starts these in loops.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "bench_rdma.h"
#include "donard/rdma.h"
#include "errors.h"
#include "output.h"
#include "process.h"
#include "progress.h"

#define OUTPUT_BYTES	16384
#define QUOTE_BYTES	300
#define WORD_BYTES	24
#define ARGUMENTS	16
#define NAP_NS		200000000L
#define EXIT_NOT_FOUND	127
#define TRIES		3	/* at least, within the time limit */
#define START_SECONDS	2	/* for the program to start and to measure its clock */
#define HELP_SECONDS	10	/* to print its options, on a busy machine */
#define ENDED_BY_TIMER	(128 + SIGALRM)
#define MIN_ITERATIONS	5	/* the fewest that its parser accepts */

#define IPV6_OPTION	"--ipv6-addr"	/* perftest 23.07; without it all are bound to IPv4 */

/* The servers of these programs use consecutive ports. */
static const char *const programs[] = { "ib_write_bw", "ib_read_bw", "ib_write_lat", "ib_read_lat" };

#define PROGRAMS	(sizeof(programs) / sizeof(programs[0]))

struct client {
	const char *argv[ARGUMENTS];
	char block[WORD_BYTES], depth[WORD_BYTES], count[WORD_BYTES], port[WORD_BYTES], mmap[80];
	unsigned int seconds;
};

static bool is_ipv6(const char *address)
{
	return strchr(address, ':');
}

static size_t program_of(const struct bench_rdma *run)
{
	return (run->options.mode == CLI_RDMA_LATENCY ? 2 : 0) +
	       (run->options.direction == DONARD_RDMA_READ ? 1 : 0);
}

static uint32_t count_of(uint32_t iterations)
{
	return iterations < MIN_ITERATIONS ? MIN_ITERATIONS : iterations;
}

static void compose(struct client *client, const struct bench_rdma *run, uint16_t first_port)
{
	size_t program = program_of(run), at = 0;

	snprintf(client->mmap, sizeof(client->mmap), "--mmap=%s", run->node);
	snprintf(client->block, WORD_BYTES, "%" PRIu64, run->options.block_bytes);
	snprintf(client->depth, WORD_BYTES, "%u", run->options.queue_depth);
	snprintf(client->count, WORD_BYTES, "%u", count_of(run->options.iterations));
	snprintf(client->port, WORD_BYTES, "%u", first_port + (unsigned int)program);
	client->argv[at++] = programs[program];
	client->argv[at++] = "-R";
	client->argv[at++] = "-F";	/* no warning about the processor's clock */
	client->argv[at++] = "-s";
	client->argv[at++] = client->block;
	client->argv[at++] = "-n";
	client->argv[at++] = client->count;
	client->argv[at++] = "-p";
	client->argv[at++] = client->port;
	if (run->options.mode != CLI_RDMA_LATENCY) {
		client->argv[at++] = "-t";
		client->argv[at++] = client->depth;
	}
	if (*run->node)
		client->argv[at++] = client->mmap;
	if (is_ipv6(run->options.address))
		client->argv[at++] = IPV6_OPTION;
	client->argv[at++] = run->options.address;
	client->argv[at] = NULL;
}

/* Runs in the child, which must not outlive this program, nor wait forever for a silent server. */
static int become(const void *argument)
{
	const struct client *client = argument;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	dup2(STDOUT_FILENO, STDERR_FILENO);
	alarm(client->seconds);
	execvp(client->argv[0], (char *const *)client->argv);
	printf("%s\n", strerror(errno));
	fflush(stdout);
	_exit(EXIT_NOT_FOUND);
}

/* ---- its table ---- */

/* The numbers of the line that begins with the block size. */
static size_t numbers_of(const char *output, uint64_t block_bytes, double *numbers, size_t max)
{
	size_t count = 0;
	char *end;

	for (const char *line = output; line && !count; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strtoull(line, &end, 10) != block_bytes || end == line)
			continue;
		while (count < max) {
			numbers[count] = strtod(line, &end);
			if (end == line)
				break;
			count++;
			line = end;
		}
		/* Another line of the output may begin with that number by chance. */
		if (count < 4)
			count = 0;
	}
	return count;
}

/* Are these usable figures?  On a busy machine perftest may fail to measure its clock, and then prints 0, "inf" or "-nan". */
static bool are_figures(const double *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!isfinite(numbers[i]) || numbers[i] <= 0)
			return false;
	return true;
}

/* #bytes #iterations peak[MiB/sec] average[MiB/sec] message rate */
static bool add_bandwidth(struct json_object *sample, const char *output, uint64_t block_bytes)
{
	double row[5];

	if (numbers_of(output, block_bytes, row, 5) < 4 || !are_figures(row + 3, 1))
		return false;
	cli_add_number(sample, "requests", (uint64_t)row[1]);
	cli_add_number(sample, "bytes", block_bytes * (uint64_t)row[1]);
	cli_add_double(sample, "bytes_per_second", row[3] * 1048576);
	return true;
}

static void add_ns(struct json_object *latency, const char *key, double microseconds)
{
	cli_add_number(latency, key, (uint64_t)(microseconds * 1000 + 0.5));
}

/* #bytes #iterations min max typical average deviation 99% 99.9%, in microseconds */
static bool add_latency(struct json_object *sample, const char *output, uint64_t block_bytes)
{
	struct json_object *latency;
	double row[9];

	/* The deviation, row[6], may be 0. */
	if (numbers_of(output, block_bytes, row, 9) < 9 || !are_figures(row, 6) || !are_figures(row + 7, 2))
		return false;
	latency = json_object_new_object();
	cli_add_number(sample, "requests", (uint64_t)row[1]);
	add_ns(latency, "min", row[2]);
	add_ns(latency, "p50", row[4]);
	add_ns(latency, "p99", row[7]);
	add_ns(latency, "p99.9", row[8]);
	add_ns(latency, "max", row[3]);
	json_object_object_add(sample, "latency_ns", latency);
	return true;
}

static struct json_object *sample_of(const struct bench_rdma *run, const struct client *client,
				     const char *output, uint64_t round)
{
	bool latency = run->options.mode == CLI_RDMA_LATENCY, found;
	struct json_object *sample = json_object_new_object();

	cli_add_text(sample, "method", "perftest");
	cli_add_text(sample, "program", client->argv[0]);
	cli_add_text(sample, "operation", latency ? "latency" : "bandwidth");
	cli_add_text(sample, "direction", bench_rdma_word(run->options.direction));
	cli_add_number(sample, "block_bytes", run->options.block_bytes);
	cli_add_number(sample, "queue_depth", latency ? 1 : run->options.queue_depth);
	cli_add_number(sample, "round", round);
	cli_add_text(sample, "local", *run->node ? run->node : "dram");
	/* ib_write_lat halves the time of a ping-pong; our times, and those of ib_read_lat, last until the completion. */
	if (latency && run->options.direction == DONARD_RDMA_WRITE)
		json_object_object_add(sample, "half_round_trip", json_object_new_boolean(true));
	found = latency ? add_latency(sample, output, run->options.block_bytes) :
			  add_bandwidth(sample, output, run->options.block_bytes);
	if (found)
		return sample;
	json_object_put(sample);
	return NULL;
}

/* ---- running it ---- */

/* Returns the end of the output on one line, for a message. */
static const char *tail_of(char *output)
{
	size_t length = strlen(output), kept = 0;

	for (size_t i = 0; i < length; i++) {
		char symbol = output[i] < ' ' ? ' ' : output[i];

		if (symbol != ' ' || (kept && output[kept - 1] != ' '))
			output[kept++] = symbol;
	}
	while (kept && (output[kept - 1] == ' ' || output[kept - 1] == '.'))
		kept--;
	output[kept] = '\0';
	return kept > QUOTE_BYTES ? output + kept - QUOTE_BYTES : output;
}

static int failed(struct cli *cli, const struct client *client, const struct bench_rdma *run, int status,
		  char *output)
{
	const char *address = run->options.address, *target = run->result.server.target;
	char text[1024], how[64], mmap[sizeof(run->result.server.target) + 16] = "";

	if (cli_stopped(NULL))
		return cli_fail_text(cli, EXIT_STOPPED, "canceled", "stopped by a signal.");
	if (!status) {
		snprintf(text, sizeof(text), "%s to %s, port %s, ended well but measured nothing: \"%s\". A busy "
			 "machine may keep it from making sense of its clock: run it again when there is less to "
			 "do, or without --perftest.", client->argv[0], address, client->port, tail_of(output));
		return cli_fail_text(cli, EXIT_FAILED, "method-failed", text);
	}
	if (status == ENDED_BY_TIMER)
		snprintf(how, sizeof(how), "did not end within %u s", client->seconds);
	else if (status > 128)
		snprintf(how, sizeof(how), "was ended by signal %d", status - 128);
	else
		snprintf(how, sizeof(how), "exited with status %d", status);
	if (!strncmp(target, "p2pmem", strlen("p2pmem")))
		snprintf(mmap, sizeof(mmap), " --mmap=/dev/%.*s", (int)strcspn(target, "+"), target);
	snprintf(text, sizeof(text), "%s to %s, port %s, %s: \"%s\". Its server must run there, and "
		 "again for each client: 'while %s -R -F -s %s -n %s -p %s%s%s; do :; done' (and -t as "
		 "--queue-depths)%s.", client->argv[0], address, client->port, how, tail_of(output),
		 client->argv[0], client->block, client->count, client->port, mmap, is_ipv6(address) ? " " IPV6_OPTION : "",
		 *mmap ? ". Of that region 'rdma serve' has to leave it some (--size; of persistent memory the beginning)" : "");
	return cli_fail_text(cli, EXIT_FAILED, "peer-lost", text);
}

/* Reports a program that could not be started, for which the library has no text. */
static int not_started(struct cli *cli, const struct client *client, int rc, const struct cli_job_usage *usage)
{
	char text[256];

	if (usage->failed_call)
		return cli_jobs_failed(cli, rc, usage);
	snprintf(text, sizeof(text), "there is nowhere to keep what %s prints (memfd_create: %s). Raise the limit 'ulimit -n', "
		 "or free memory.", client->argv[0], strerror(-rc));
	return cli_fail_text(cli, EXIT_FAILED, "system", text);
}

/* @output: what the program printed on both streams. */
static int run_once(struct client *client, struct bench_rdma *seen, char output[OUTPUT_BYTES], int *status)
{
	struct cli_job job = { .call = become, .argument = client, .stdin_fd = -1 };
	int file = memfd_create("perftest", MFD_CLOEXEC), rc;
	ssize_t bytes;

	if (file < 0)
		return -errno;
	job.stdout_fd = dup(file);	/* cli_run_jobs() closes the copy */
	rc = cli_run_jobs(NULL, &job, 1, &seen->usage, &seen->measurement);
	*status = job.exit_status;
	bytes = pread(file, output, OUTPUT_BYTES - 1, 0);
	output[bytes > 0 ? bytes : 0] = '\0';
	close(file);
	return rc;
}

/*
 * The user's loop starts a new server a moment after one has served a client. Until then a client fails, or crashes in
 * librdmacm (perftest 25.01), or waits without end.
 */
static bool may_try_again(int status)
{
	return status != EXIT_NOT_FOUND && !cli_stopped(NULL);
}

/*
 * The time limit of try number @tries, from 0. It begins with the time of our own run of the same requests, so that a try that
 * waits without end costs little, and doubles with each try, so that a slow one can finish.
 */
static unsigned int seconds_for(const struct bench_rdma *run, unsigned int tries)
{
	unsigned int first = START_SECONDS + (unsigned int)(4 * run->result.seconds);
	unsigned int most = first + run->options.timeout_ms / 1000 / TRIES;

	return tries < 16 && first << tries < most ? first << tries : most;
}

/*
 * ib_write_bw and ib_read_bw (perftest 25.01) sometimes wait without end for their server's last message, after they have
 * printed their table. The table is valid, but the cost of the process is not, because it includes that wait. No meter is used:
 * it would count everything from exec() on, and not the requests alone, as it does for ours.
 */
static void add_costs(struct json_object *sample, const struct bench_rdma *seen, int status)
{
	if (status == ENDED_BY_TIMER) {
		cli_add_text(sample, "costs_missing", "it did not end by itself after its result, and was "
			     "ended: what it cost is not known");
		return;
	}
	cli_add_job_usage(sample, &seen->usage);
	bench_add_measured(sample, &seen->measurement);
	cli_add_text(sample, "measured_missing", "a meter cannot tell its requests from its connecting");
}

int bench_perftest_run(struct cli *cli, const struct bench_rdma *run, uint16_t first_port, uint64_t round,
		       struct json_object **sample)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	double deadline = cli_now_seconds() + run->options.timeout_ms / 1000.0;
	struct bench_rdma seen = { 0 };
	struct client client = { 0 };
	char output[OUTPUT_BYTES];
	unsigned int tries = 0;
	int rc, status = 0;

	compose(&client, run, first_port);
	do {
		client.seconds = seconds_for(run, tries++);
		rc = run_once(&client, &seen, output, &status);
		*sample = rc && status != ENDED_BY_TIMER ? NULL : sample_of(run, &client, output, round);
	} while ((!rc || rc == -ECHILD) && !*sample && may_try_again(status) && cli_now_seconds() < deadline &&
		 !nanosleep(&nap, NULL));
	if (rc && rc != -ECHILD)
		return not_started(cli, &client, rc, &seen.usage);
	if (!*sample)
		return failed(cli, &client, run, status, output);
	add_costs(*sample, &seen, status);
	return EXIT_DONE;
}

static bool on_path(const char *program)
{
	const char *path = getenv("PATH");
	char *copy = strdup(path ? path : "/usr/bin:/bin"), *rest = copy, *folder;
	char file[512];
	bool found = false;

	while (!found && (folder = strsep(&rest, ":"))) {
		snprintf(file, sizeof(file), "%s/%s", folder, program);
		found = !access(file, X_OK);
	}
	free(copy);
	return found;
}

int bench_perftest_check_blocks(const struct cli *cli, const uint64_t *blocks, size_t count, uint32_t iterations)
{
	if (count < 2)
		return 0;
	return cli_usage(cli, "--block-sizes: with --perftest, give one size for writes. The server of ib_write_lat waits for requests "
			 "of just its own size and number: for %" PRIu64 " bytes start it with '-s %" PRIu64 " -n %u'", blocks[0], blocks[0],
			 count_of(iterations ? iterations : bench_rdma_iterations(blocks[0], 1)));
}

/* Debian 12 has 4.5. */
static int check_ipv6(struct cli *cli)
{
	struct client help = { .argv = { programs[0], "--help", NULL }, .seconds = HELP_SECONDS };
	struct bench_rdma seen = { 0 };
	char output[OUTPUT_BYTES];
	int status = 0, rc = run_once(&help, &seen, output, &status);

	if (rc && rc != -ECHILD)
		return not_started(cli, &help, rc, &seen.usage);
	if (strstr(output, IPV6_OPTION))
		return EXIT_DONE;
	return cli_fail_text(cli, EXIT_UNSUPPORTED, "unsupported", "--perftest: this perftest takes no IPv6 address (" IPV6_OPTION
			     ", since 23.07). Give an IPv4 address of the server, or leave --perftest.");
}

int bench_perftest_check(struct cli *cli, const char *address)
{
	char text[256];

	for (size_t i = 0; i < PROGRAMS; i++) {
		if (on_path(programs[i]))
			continue;
		snprintf(text, sizeof(text), "--perftest: there is no program %s. Install perftest "
			 "(Debian: apt install perftest), or leave --perftest.", programs[i]);
		return cli_fail_text(cli, EXIT_UNSUPPORTED, "unsupported", text);
	}
	return is_ipv6(address) ? check_ipv6(cli) : EXIT_DONE;
}
