// SPDX-License-Identifier: Apache-2.0
/*
 * Device memory in a program that uses rdma-core itself: what a drive is read into, a peer may read.
 *
 *	cc -o verbs verbs.c $(pkg-config --cflags --libs libdonard libibverbs)
 *	verbs /dev/nvme0n1 p2pmem0
 */
#include <donard/queue.h>
#include <donard/rdma.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>

#define LENGTH (1 << 20)

static int fail(struct donard_context *ctx)
{
	fprintf(stderr, "%s\n", donard_error(ctx));
	return 1;
}

static struct ibv_pd *first_pd(void)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	struct ibv_context *device = devices && devices[0] ? ibv_open_device(devices[0]) : NULL;

	return device ? ibv_alloc_pd(device) : NULL;
}

/* A signal, or work of the kernel's own, may end a wait before its time. */
static int await(struct donard_queue *queue, struct donard_completion *done)
{
	int rc;

	do
		rc = donard_queue_wait(queue, 1, -1, done, 1);
	while (rc == -EINTR);
	return rc;
}

int main(int argc, char **argv)
{
	struct donard_rdma_registration_info info = { .size = sizeof(info) };
	struct donard_rdma_registration *registration;
	struct donard_completion done;
	struct donard_memory *memory;
	struct donard_context *ctx;
	struct donard_queue *queue;
	struct donard_file *drive;
	struct ibv_pd *pd = first_pd();

	if (argc != 3 || donard_open(&ctx, NULL))
		return 2;
	if (!pd) {
		fputs("no RDMA device that can be opened\n", stderr);
		return 1;
	}
	if (donard_memory_alloc(ctx, argv[2], LENGTH, &memory) || donard_queue_open(ctx, NULL, &queue) ||
	    donard_file_open(ctx, argv[1], 0, &drive) ||
	    donard_queue_read(queue, drive, 0, memory, 0, LENGTH, NULL) || await(queue, &done) < 0)
		return fail(ctx);
	if (done.result != LENGTH) {
		fprintf(stderr, "%s\n", done.result < 0 ? done.error : "the file ends too early");
		return 1;
	}

	/* The same memory, for peers to read: what follows is the program's own verbs. */
	if (donard_rdma_register(memory, 0, 0, pd, DONARD_RDMA_READ, &registration))
		return fail(ctx);
	donard_rdma_registration_info(registration, &info);
	printf("address %p, length %llu, rkey %#x, registered by %s\n", info.address,
	       (unsigned long long)info.length_bytes, info.mr->rkey, donard_rdma_method_text(info.method));
	donard_rdma_deregister(registration);
	donard_queue_close(queue);
	donard_file_close(drive);
	donard_memory_free(memory);
	donard_close(ctx);
	return 0;
}
