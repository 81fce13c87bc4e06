// SPDX-License-Identifier: Apache-2.0
/*
 * Device memory as a dma-buf, for importers: verbs, which need no struct page, and libdonard in any process.
 *
 *	cc -o dma-buf dma-buf.c $(pkg-config --cflags --libs libdonard libibverbs)
 *	dma-buf p2pmem0
 */
#include <donard/memory.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define LENGTH (1 << 20)

static int fail(struct donard_context *ctx)
{
	fprintf(stderr, "%s\n", donard_error(ctx));
	return 1;
}

/* Soft devices (rxe, siw) refuse; an HCA takes it if it reaches the region. */
static void import_by_verbs(int fd)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	struct ibv_context *device = devices && devices[0] ? ibv_open_device(devices[0]) : NULL;
	struct ibv_pd *pd = device ? ibv_alloc_pd(device) : NULL;
	struct ibv_mr *mr = pd ? ibv_reg_dmabuf_mr(pd, 0, LENGTH, 0, fd, IBV_ACCESS_LOCAL_WRITE) : NULL;

	if (!device)
		puts("verbs: no device");
	else
		printf("verbs: %s\n", mr ? "imported" : "this device imports no dma-buf");
	if (mr)
		ibv_dereg_mr(mr);
}

/* The same bytes at the same place of the region, with its routes; by another exporter, what that one gives. */
static int import_by_donard(struct donard_context *ctx, int fd)
{
	struct donard_memory_info info = { .size = sizeof(info) };
	struct donard_memory *memory;

	if (donard_memory_from_dmabuf(ctx, fd, 0, 0, &memory))
		return fail(ctx);
	donard_memory_info(memory, &info);
	printf("donard: %s of %s, pages: %s, bytes: %.5s\n", donard_memory_kind_text(info.kind), info.exporter,
	       donard_memory_pages_text(info.pages), (char *)info.address);
	donard_memory_free(memory);
	donard_close(ctx);
	return 0;
}

int main(int argc, char **argv)
{
	struct donard_memory *memory;
	struct donard_context *ctx;
	char *map;
	int fd;

	if (argc != 2 || donard_open(&ctx, NULL))
		return 2;
	if (donard_memory_alloc(ctx, argv[1], LENGTH, &memory) ||
	    donard_memory_export(memory, 0, 0, O_RDWR, &fd))
		return fail(ctx);
	donard_memory_free(memory);	/* the dma-buf keeps the bytes for as long as it is open */

	map = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	strcpy(map, "hello");
	printf("cpu: %s\n", map);
	munmap(map, LENGTH);
	import_by_verbs(fd);
	return import_by_donard(ctx, fd);
}
