// SPDX-License-Identifier: Apache-2.0
/* LIBS: -ldonard -libverbs */
/*
 * rdmareg DEVICE TARGET BYTES RIGHTS - registers memory by the library, prints
 * "METHOD: REASON", or the library's error on stderr and its code on stdout.
 */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "donard/rdma.h"

#include "modules/exporter/exporter.h"

static int refuse(const struct donard_context *ctx)
{
	fprintf(stderr, "%s\n", donard_error(ctx));
	puts(donard_error_code(ctx));
	return 1;
}

static int export_region(struct donard_context *ctx, int *fd)
{
	struct donard_memory *owner;
	int rc = donard_memory_alloc(ctx, "p2pmem0", 1 << 20, &owner);

	if (rc)
		return rc;
	rc = donard_memory_export(owner, 0, 0, O_RDWR, fd);
	donard_memory_free(owner);
	return rc;
}

/*
 * "dma-buf": of p2pmem0, behind 4096 bytes of it; else of modules/exporter, in one of its modes: "pages", "frames",
 * "unmapped", or "wrapped" around the first
 */
static int open_import(struct donard_context *ctx, const char *what, uint64_t bytes, struct donard_memory **memory)
{
	struct exporter_export export = {
		.mode = !strcmp(what, "pages") ? EXPORTER_PAGES : !strcmp(what, "frames") ? EXPORTER_FRAMES :
			!strcmp(what, "wrapped") ? EXPORTER_WRAPPED : EXPORTER_UNMAPPED,
		.bytes = 1 << 20,
	};
	int fd, rc = export_region(ctx, &export.inner_fd);

	if (rc)
		return rc;
	if (!strcmp(what, "dma-buf"))
		return donard_memory_from_dmabuf(ctx, export.inner_fd, 4096, bytes, memory);
	fd = ioctl(open("/dev/" EXPORTER_NODE, O_RDWR | O_CLOEXEC), EXPORTER_EXPORT, &export);
	return donard_memory_from_dmabuf(ctx, fd, 0, bytes, memory);
}

/* "dram", "p2pmem0", "p2pmem0+777" */
static int open_memory(struct donard_context *ctx, char *target, uint64_t bytes,
		       struct donard_memory **memory)
{
	char *plus = strchr(target, '+');

	if (!strcmp(target, "dram"))
		return donard_memory_dram(ctx, bytes, memory);
	if (strncmp(target, "p2pmem", 6))
		return open_import(ctx, target, bytes, memory);
	if (plus)
		*plus++ = '\0';
	return donard_memory_claim(ctx, target, plus ? strtoull(plus, NULL, 0) : 0, bytes, memory);
}

/* Prints nothing if a call that has to fail is not told as it should be. */
static int describe(const struct donard_context *ctx, const struct donard_rdma_registration *registration)
{
	struct donard_rdma_registration_info info = { .size = 0 };

	if (donard_rdma_registration_info(registration, &info) != -EINVAL || strcmp(donard_error_code(ctx), "bad-option"))
		return 3;
	info.size = sizeof(info);
	donard_rdma_registration_info(registration, &info);
	printf("%s, %llu bytes: %s\n", donard_rdma_method_text(info.method), (unsigned long long)info.length_bytes, info.reason);
	return 0;
}

int main(int argc, char **argv)
{
	struct donard_rdma_registration *registration;
	struct donard_memory *memory = NULL;
	struct donard_context *ctx;
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	int status = 0;

	if (argc < 5 || donard_open(&ctx, NULL))
		return 2;
	if (donard_rdma_open_device(ctx, argv[1], &verbs))
		return refuse(ctx);
	pd = ibv_alloc_pd(verbs);
	if (open_memory(ctx, argv[2], strtoull(argv[3], NULL, 0), &memory) ||
	    donard_rdma_register(memory, 0, 0, pd, (unsigned int)strtoul(argv[4], NULL, 0),
				 &registration)) {
		status = refuse(ctx);
	} else {
		status = describe(ctx, registration);
		donard_rdma_deregister(registration);
	}
	donard_memory_free(memory);
	ibv_dealloc_pd(pd);
	ibv_close_device(verbs);
	donard_close(ctx);
	return status;
}
