/* SPDX-License-Identifier: Apache-2.0 */
/* The samples of "bench setup" as a table for people. */
#ifndef BENCH_SETUP_H
#define BENCH_SETUP_H

#include "bench.h"

/* Medians over the rounds, a line for each operation, size and number of live ones; keeps the model. */
void bench_setup_print_text(struct json_object *model);

#endif /* BENCH_SETUP_H */
