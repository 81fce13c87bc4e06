/* SPDX-License-Identifier: Apache-2.0 */
/* One RDMA run under the meter, and perftest beside it: for "bench rdma" and "bench table1". */
#ifndef BENCH_RDMA_H
#define BENCH_RDMA_H

#include <stdio.h>

#include "bench.h"
#include "process.h"
#include "donard/meter.h"
#include "rdma/run.h"

#define BENCH_PERFTEST_PORT	18515

/* One run and its results. The caller sets @options; the rest is filled in. */
struct bench_rdma {
	struct cli_rdma_options options;
	char node[64];			/* the node of the region at the near side, for perftest; "": DRAM */
	struct cli_rdma_result result;
	struct cli_job_usage usage;	/* of this process */
	struct donard_measurement measurement;
};

/* ---- rdma.c ---- */

/*
 * Connecting and registering count in usage, but not in measurement and result.seconds. @again: this server has
 * served us before, and may still be ending that session, so connecting is tried for a while. Returns an exit code.
 */
int bench_rdma_run(struct cli *cli, struct donard_meter *meter, struct bench_rdma *run, bool again);
/* Makes the sample of a run, to which the caller adds members of its own. */
struct json_object *bench_rdma_sample(const struct bench_rdma *run, uint64_t round);
/* Translates "write", "read" or "both" of --direction into DONARD_RDMA_*; default both. Returns 0 or an exit code. */
int bench_rdma_directions(const struct cli *cli, unsigned int *directions);
const char *bench_rdma_word(unsigned int direction);
/* Finds the node of the near side, "" for DRAM.  Refuses memory that perftest cannot map.  Returns 0 or an exit code. */
int bench_rdma_node(struct cli *cli, const char *local, char node[64]);
/* May the near side be overwritten, as bench_check_contents() has it?  Anything but a region may. */
int bench_rdma_check_near(struct cli *cli, const char *local);
/*
 * Adds to @links the path between the RDMA device and a near or far side, if that is a region.  @received: the device
 * writes there what it receives; else it sends from there.
 */
void bench_rdma_add_links(struct cli *cli, struct json_object *links, const char *device, const char *side, bool received);
/* How many requests a run makes: 1000, fewer if these move more than 64 MiB, but at least @depth. */
uint32_t bench_rdma_iterations(uint64_t block_bytes, uint32_t depth);
/* Says on stderr if so few requests (0: the default) keep fewer than @depth in flight. */
void bench_rdma_say_fewer(uint64_t iterations, uint64_t depth);

/* ---- perftest.c ---- */

/* Runs perftest's unmodified program for the same operation as @run. Returns an exit code, and the sample if that is 0. */
int bench_perftest_run(struct cli *cli, const struct bench_rdma *run, uint16_t first_port, uint64_t round,
		       struct json_object **sample);
/*
 * Can its servers, which are the user's, take part in writes of these sizes?  @iterations: 0: as many as by default.  Returns 0
 * or an exit code after cli_usage().
 */
int bench_perftest_check_blocks(const struct cli *cli, const uint64_t *blocks, size_t count, uint32_t iterations);
/* Are all of its programs here, and do they take an address such as this? Returns 0 or an exit code. */
int bench_perftest_check(struct cli *cli, const char *address);

/* ---- server.c ---- */

/* An "rdma serve" on this machine, for one client. */
struct bench_server {
	pid_t pid;
	FILE *events;			/* its output, one object per line */
	uint16_t port;
	char device[64];		/* the RDMA device that has its address */
	const void *memory;		/* what it offers, as it maps that; pinned while it is measured */
	uint64_t bytes;
};

/* What the client cost the server, from the moment when it took the offer. */
struct bench_server_usage {
	double seconds;			/* of processors, user and system */
	uint64_t faults;
};

/* Offers @bytes of @target at @address. Returns an exit code once the server listens. */
int bench_server_start(struct cli *cli, const char *address, const char *target, uint64_t bytes,
		       struct bench_server *server);
/* Call it after the client has left without a failure. Returns an exit code; the server has ended in any case. */
int bench_server_end(struct cli *cli, struct bench_server *server, struct bench_server_usage *usage);
/* Call it after the client failed. */
void bench_server_kill(struct bench_server *server);

#endif /* BENCH_RDMA_H */
