// SPDX-License-Identifier: Apache-2.0
/*
 * Reads a drive into device memory with the program's own O_DIRECT read: no DRAM in between.
 *
 *	cc -o own-read own-read.c $(pkg-config --cflags --libs libdonard)
 *	own-read /dev/nvme0n1 p2pmem0
 */
#define _GNU_SOURCE
#include <donard/file.h>
#include <donard/memory.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LENGTH (1 << 20)

static int fail(struct donard_context *ctx)
{
	fprintf(stderr, "%s\n", donard_error(ctx));
	return 1;
}

int main(int argc, char **argv)
{
	struct donard_memory_info info = { .size = sizeof(info) };
	struct donard_file_info about = { .size = sizeof(about) };
	struct donard_route route = { .size = sizeof(route) };
	struct donard_memory *memory;
	struct donard_context *ctx;
	struct donard_file *drive;
	unsigned char first[16];
	ssize_t got;

	if (argc != 3)
		return 2;
	if (donard_open(&ctx, NULL))
		return 1;
	if (donard_memory_alloc(ctx, argv[2], LENGTH, &memory) || donard_file_open(ctx, argv[1], 0, &drive))
		return fail(ctx);
	donard_memory_info(memory, &info);
	donard_file_info(drive, &about);

	/*
	 * A queue would look at all of this by itself, and prove the routes, which the kernel only predicts.  pread() refuses
	 * neither a read that goes through DRAM nor one by a route that loses bytes.
	 */
	if (about.bounces[0]) {
		fprintf(stderr, "%s: %s\n", about.path, about.bounces);
		return 1;
	}
	/* With md, LVM and multipath any of several controllers may answer it. */
	for (size_t i = 0; i < about.client_count; i++) {
		const char *client = donard_file_client(drive, i);

		if (donard_memory_route(memory, client, &route))
			return fail(ctx);
		printf("%s of %s reaches %s by: %s\n", client, about.path, info.region, donard_route_text(route.route));
		if (donard_route_verdict(&route) != DONARD_VERDICT_YES) {
			fprintf(stderr, "%s\n", route.reason);
			return 1;
		}
	}

	got = pread(about.fd, info.address, LENGTH, 0);
	if (got != LENGTH) {
		fprintf(stderr, "%s: %s\n", about.path, got < 0 ? strerror(errno) : "the file ends too early");
		return 1;
	}
	if (donard_memory_read(memory, 0, first, sizeof(first)))
		return fail(ctx);
	for (size_t i = 0; i < sizeof(first); i++)
		printf("%02x%c", first[i], i + 1 < sizeof(first) ? ' ' : '\n');
	donard_file_close(drive);
	donard_memory_free(memory);
	donard_close(ctx);
	return 0;
}
