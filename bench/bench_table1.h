/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of "bench table1": collected by cmd_table1.c, printed by table1_text.c. */
#ifndef BENCH_TABLE1_H
#define BENCH_TABLE1_H

#include "bench_rdma.h"
#include "command.h"
#include "donard/meter.h"
#include "donard/rdma.h"

#define TABLE1_TARGETS_MAX	16
#define TABLE1_ROUNDS_MAX	100
#define TABLE1_NAME_BYTES	32

struct table1_target {
	char name[TABLE1_NAME_BYTES];
	char address[256];	/* of its server; with --here what that offers: "p2pmem0" */
	uint16_t port;
	bool again;		/* it has served us before */
};

/* What a cell is the median of; empty where nobody knows. */
struct table1_column {
	double values[TABLE1_ROUNDS_MAX];
	size_t count;
};

struct table1_row {
	struct table1_target *target;
	unsigned int direction;
	struct table1_column rate, p50, p99;
	/* of bandwidth: bytes for each byte moved, and instructions for each MiB */
	struct table1_column dram, payload, overhead, bar, instructions;
	struct table1_column server_seconds, server_faults;	/* with --here */
	bool verified;
};

struct table1 {
	struct cli *cli;
	struct donard_meter *meter;
	struct json_object *model;
	struct donard_rdma_options options;
	const char *here;	/* address at which servers of our own listen; NULL: they are elsewhere */
	uint64_t rounds, block_bytes, depth, iterations;
	struct table1_target targets[TABLE1_TARGETS_MAX];
	size_t target_count;
	struct table1_row rows[2 * TABLE1_TARGETS_MAX];
	size_t row_count;
	char dram_missing[DONARD_MISSING_BYTES];	/* why nothing is known of DRAM */
};

/* ---- table1_text.c ---- */

/* What one run of bandwidth says of memory. */
void table1_add_measured(struct table1 *table, struct table1_row *row, const struct bench_rdma *run);
static inline void table1_add(struct table1_column *column, double value)
{
	if (value >= 0)
		column->values[column->count++] = value;
}

/* Takes over the model. */
void table1_print(struct table1 *table);

#endif /* BENCH_TABLE1_H */
