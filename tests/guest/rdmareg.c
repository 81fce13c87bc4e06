// SPDX-License-Identifier: Apache-2.0
/* LIBS: -ldonard -libverbs */
/*
 * rdmareg DEVICE TARGET BYTES RIGHTS - registers memory by the library, prints
 * "METHOD: REASON", or the library's error on stderr and its code on stdout.
 */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>

#include "donard/rdma.h"

static int refuse(const struct donard_context *ctx)
{
	fprintf(stderr, "%s\n", donard_error(ctx));
	puts(donard_error_code(ctx));
	return 1;
}

int main(int argc, char **argv)
{
	struct donard_rdma_memory_info info = { .size = sizeof(info) };
	struct donard_rdma_memory *memory;
	struct donard_context *ctx;
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	int status = 0;

	if (argc < 5 || donard_open(&ctx, NULL))
		return 2;
	if (donard_rdma_open_device(ctx, argv[1], &verbs))
		return refuse(ctx);
	pd = ibv_alloc_pd(verbs);
	if (donard_rdma_register(ctx, pd, argv[2], strtoull(argv[3], NULL, 0),
				 (unsigned int)strtoul(argv[4], NULL, 0), &memory)) {
		status = refuse(ctx);
	} else {
		donard_rdma_memory_info(memory, &info);
		printf("%s, %llu bytes: %s\n", donard_rdma_method_text(info.method),
		       (unsigned long long)info.length_bytes, info.reason);
		donard_rdma_deregister(memory);
	}
	ibv_dealloc_pd(pd);
	ibv_close_device(verbs);
	donard_close(ctx);
	return status;
}
