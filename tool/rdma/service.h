/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What "rdma serve" answers to the clients of this room: it fills a range of what it offers with test data, and compares
 * it with them.  The library only carries question and answer.
 */
#ifndef DONARD_TOOL_RDMA_SERVICE_H
#define DONARD_TOOL_RDMA_SERVICE_H

#include <stdbool.h>

#include "donard/rdma.h"

/* Both take the seed as value; the range's offset is the position in the pattern. */
enum cli_rdma_service {
	CLI_RDMA_FILL,		/* write the pattern into the range */
	CLI_RDMA_COMPARE,	/* verdict 0: the range has the pattern; 1: it differs, and value is where first */
};

/* What was done for the present client. */
struct cli_rdma_counts {
	uint64_t filled_bytes, checked_bytes;
};

/* options.services of a server of such memory.  @fill, @compare: whoever serves agrees to what clients may not do else. */
uint32_t cli_rdma_services(unsigned int rights, bool persistent, bool fill, bool compare);
/* Answers, and counts. */
int cli_rdma_answer(struct cli_rdma_counts *counts, const struct donard_rdma_asked *asked,
		    struct donard_rdma_answer *answer);

#endif /* DONARD_TOOL_RDMA_SERVICE_H */
