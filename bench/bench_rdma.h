/* SPDX-License-Identifier: Apache-2.0 */
/* What "bench rdma" and "bench table1" share: one RDMA run under the meter, and perftest beside it. */
#ifndef BENCH_RDMA_H
#define BENCH_RDMA_H

#include <stdio.h>

#include "bench.h"
#include "process.h"
#include "donard/meter.h"
#include "rdma/run.h"

#define BENCH_PERFTEST_PORT	18515

/* One run, and all that was seen of it. @options is the caller's; the rest is filled in. */
struct bench_rdma {
	struct cli_rdma_options options;
	char node[64];			/* of the region that is the near side, for perftest; "": DRAM */
	struct cli_rdma_result result;
	struct cli_job_usage usage;	/* of this process */
	struct donard_measurement measurement;
};

/* ---- rdma.c ---- */

/*
 * Connecting and registering are in usage, not in measurement and result.seconds. @again: this server has
 * served us before, and may still be busy with taking leave; it is asked for a while. Returns an exit code.
 */
int bench_rdma_run(struct cli *cli, struct donard_meter *meter, struct bench_rdma *run, bool again);
/* The sample of a run; the caller adds what only it knows. */
struct json_object *bench_rdma_sample(const struct bench_rdma *run, uint64_t round);
/* "write", "read", "both" of --direction as DONARD_RDMA_*; default both. Returns 0 or an exit code. */
int bench_rdma_directions(const struct cli *cli, unsigned int *directions);
const char *bench_rdma_word(unsigned int direction);
/* Its node, or "" where it is DRAM; what perftest cannot map is refused.  Returns 0 or an exit code. */
int bench_rdma_node(struct cli *cli, const char *local, char node[64]);
/* May the near side be overwritten, as bench_check_contents() has it?  Anything but a region may. */
int bench_rdma_check_near(struct cli *cli, const char *local);
/*
 * Adds to @links the path between the RDMA device and a near or far side, if that is a region.  @received: the device
 * writes there what it receives; else it sends from there.
 */
void bench_rdma_add_links(struct cli *cli, struct json_object *links, const char *device, const char *side, bool received);
/* As many requests as move no more than 64 MiB, and 1000 at most, but never fewer than @depth are to be in flight. */
uint32_t bench_rdma_iterations(uint64_t block_bytes, uint32_t depth);
/* A word on stderr where so many requests (0: by default) cannot be as many in flight. */
void bench_rdma_say_fewer(uint64_t iterations, uint64_t depth);

/* ---- perftest.c ---- */

/* The unmodified program that does what @run says; an exit code, and the sample if that is 0. */
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

/* An "rdma serve" of this machine, for one client. */
struct bench_server {
	pid_t pid;
	FILE *events;			/* what it prints, an object a line */
	uint16_t port;
	char device[64];		/* the RDMA device that has its address */
	const void *memory;		/* what it offers, as it maps that; pinned while it is measured */
	uint64_t bytes;
};

/* What the one client cost it, from when it had taken the offer. */
struct bench_server_usage {
	double seconds;			/* of processors, user and system */
	uint64_t faults;
};

/* Offers @bytes of @target at @address, and listens by the time this returns an exit code. */
int bench_server_start(struct cli *cli, const char *address, const char *target, uint64_t bytes,
		       struct bench_server *server);
/* Once its client has left well. Returns an exit code; the server has ended in any case. */
int bench_server_end(struct cli *cli, struct bench_server *server, struct bench_server_usage *usage);
/* Its client failed. */
void bench_server_kill(struct bench_server *server);

#endif /* BENCH_RDMA_H */
