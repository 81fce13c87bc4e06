// SPDX-License-Identifier: Apache-2.0
/* See service.h. */
#include "rdma/pattern.h"
#include "rdma/service.h"

#define BIT(service)	(1U << (service))

/*
 * Who may write may also have the server fill, but not what is persistent: a client that only reads, in order to verify the
 * way, would overwrite somebody's data.  Who may not read learns the bytes by having them compared with data of its choice.
 */
uint32_t cli_rdma_services(unsigned int rights, bool persistent, bool fill, bool compare)
{
	bool may_fill = fill || (rights & DONARD_RDMA_WRITE && !persistent);
	bool may_compare = compare || rights & DONARD_RDMA_READ;

	return (may_fill ? BIT(CLI_RDMA_FILL) : 0) | (may_compare ? BIT(CLI_RDMA_COMPARE) : 0);
}

static int keep_up(void *user)
{
	return donard_rdma_keep_up(user);
}

static int fill(struct cli_rdma_counts *counts, const struct donard_rdma_asked *asked, struct cli_rdma_pattern pattern,
		struct donard_rdma_answer *answer)
{
	int rc;

	answer->changed = true;
	rc = cli_rdma_pattern_fill(asked->memory, asked->offset_bytes, pattern, asked->length_bytes, keep_up, (void *)asked);
	if (!rc)
		counts->filled_bytes += asked->length_bytes;
	return rc;
}

static int compare(struct cli_rdma_counts *counts, const struct donard_rdma_asked *asked, struct cli_rdma_pattern pattern,
		   struct donard_rdma_answer *answer)
{
	uint64_t where = 0;
	int rc = cli_rdma_pattern_check(asked->memory, asked->offset_bytes, pattern, asked->length_bytes, &where, keep_up,
					(void *)asked);

	if (rc < 0)
		return rc;
	counts->checked_bytes += asked->length_bytes;
	answer->value = asked->offset_bytes + where;
	answer->verdict = (uint32_t)rc;
	return 0;
}

int cli_rdma_answer(struct cli_rdma_counts *counts, const struct donard_rdma_asked *asked,
		    struct donard_rdma_answer *answer)
{
	const struct cli_rdma_pattern pattern = { .seed = asked->value, .position = asked->offset_bytes };

	return asked->service == CLI_RDMA_FILL ? fill(counts, asked, pattern, answer) : compare(counts, asked, pattern, answer);
}
