/* SPDX-License-Identifier: Apache-2.0 */
/* What "bench rdma" and "bench table1" share: one RDMA run under the meter, and perftest beside it. */
#ifndef BENCH_RDMA_H
#define BENCH_RDMA_H

#include "bench.h"

#define BENCH_PERFTEST_PORT	18515

/* One run, and all that was seen of it. @options is the caller's; the rest is filled in. */
struct bench_rdma {
	struct donard_rdma_options options;
	struct donard_rdma_result result;
	struct bench_usage usage;	/* of this process */
	struct donard_measurement measurement;
};

/* ---- bench_rdma.c ---- */

/*
 * Connecting and registering are in usage and measurement, not in result.seconds. @again: this server has
 * served us before, and may still be busy with taking leave; it is asked for a while. Returns an exit code.
 */
int bench_rdma_run(struct cli *cli, struct donard_meter *meter, struct bench_rdma *run, bool again);
/* The sample of a run; the caller adds what only it knows. */
struct json_object *bench_rdma_sample(const struct bench_rdma *run, uint64_t round);
/* "write", "read", "both" of --direction as DONARD_RDMA_*; default both. Returns 0 or an exit code. */
int bench_rdma_directions(const struct cli *cli, unsigned int *directions);
const char *bench_rdma_word(unsigned int direction);
/* As many requests as move no more than 64 MiB, but one at least and 1000 at most. */
uint32_t bench_rdma_iterations(uint64_t block_bytes);

/* ---- bench_perftest.c ---- */

/* The unmodified program that does what @run says; an exit code, and the sample if that is 0. */
int bench_perftest_run(struct cli *cli, struct donard_meter *meter, const struct bench_rdma *run,
		       uint16_t first_port, uint64_t round, struct json_object **sample);
/* Are all of its programs here? Returns 0 or an exit code. */
int bench_perftest_check(struct cli *cli);

#endif /* BENCH_RDMA_H */
