// SPDX-License-Identifier: Apache-2.0
/* LIBS: -ldonard */
/*
 * importbad TEST - one test of dma-bufs that are refused, or accessed in vain; importbad --list names those that need
 * no more than root, p2pmem0 and p2pmem2 idle, and /dev/dmabuf_exporter.
 */
#define _GNU_SOURCE

#include "imported.h"

static void refused(void)
{
	struct donard_memory *memory = NULL;
	int fd = stranger(EXPORTER_PAGES, -1), pipes[2];

	REFUSES(ENXIO, "past-end", donard_memory_from_dmabuf(ctx, fd, BYTES, 0, &memory));
	REFUSES(ENXIO, "past-end", donard_memory_from_dmabuf(ctx, fd, BYTES - 1, 2, &memory));
	REFUSES(ENXIO, "past-end", donard_memory_from_dmabuf(ctx, fd, 1, UINT64_MAX, &memory));
	REFUSES(ENXIO, "past-end", donard_memory_from_dmabuf(ctx, fd, UINT64_MAX, 2, &memory));
	WORKS(pipe(pipes));
	REFUSES(EINVAL, "bad-name", donard_memory_from_dmabuf(ctx, pipes[0], 0, 0, &memory));
	SAID("is not a dma-buf's");
	close(fd);
	REFUSES(EINVAL, "bad-name", donard_memory_from_dmabuf(ctx, fd, 0, 0, &memory));
	SAID("is not open");
	fd = open_region(volatile_region);
	REFUSES(EINVAL, "bad-name", donard_memory_from_dmabuf(ctx, fd, 0, 0, &memory));
	close(fd);
	CHECK(!memory);
}

/* A user who may not open the region's node gets no donard memory of it, but has the dma-buf, and may map that. */
static void refused_to_others(void)
{
	int fd = exported("p2pmem0", 0, O_RDWR), status;
	struct donard_memory *memory;
	pid_t child = fork();

	if (!child) {
		WORKS(setgroups(0, NULL));
		WORKS(setgid(65534));
		WORKS(setuid(65534));
		REFUSES(EACCES, "permission", donard_memory_from_dmabuf(ctx, fd, 0, 0, &memory));
		SAID("Join its group");
		CHECK(mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED);
		exit(0);
	}
	EQUAL(child, waitpid(child, &status, 0));
	EQUAL(0, status);
	donard_memory_free(owner);
	close(fd);
}

/* A dma-buf that is not of this region cannot be located in it. */
static void located_elsewhere(void)
{
	int region = open_region(volatile_region), fd = stranger(EXPORTER_PAGES, -1), pipes[2];

	FAILS(EINVAL, located(region, fd));
	FAILS(EINVAL, located(region, region));
	WORKS(pipe(pipes));
	FAILS(EINVAL, located(region, pipes[0]));
	FAILS(EBADF, located(region, -1));
	close(fd);
	FAILS(EBADF, located(region, fd));
	fd = exported("p2pmem2", 0, O_RDWR);
	FAILS(EINVAL, located(region, fd));
	close(fd);
	donard_memory_free(owner);
}

/* The dma-buf's descriptor is the one to pass on: the region's file that only reports the end owns nothing. */
static void not_adopted(void)
{
	int fd = exported("p2pmem0", 0, O_RDWR);
	struct donard_memory *memory = import(fd, 4096, 0), *again;
	struct donard_memory_info info = about(memory);

	EQUAL(0, info.file_offset_bytes);
	REFUSES(ENXIO, "past-end", donard_memory_adopt(ctx, info.fd, info.file_offset_bytes, 4096, &again));
	SAID("info.dmabuf_fd");
	again = import(info.dmabuf_fd, info.dmabuf_offset_bytes, info.length_bytes);
	EQUAL(info.region_offset_bytes, about(again).region_offset_bytes);
	donard_memory_free(again);
	donard_memory_free(memory);
	donard_memory_free(owner);
	close(fd);
}

static void no_descriptor_left(void)
{
	int fd = exported("p2pmem0", 0, O_RDWR);
	struct rlimit before, few;
	struct donard_memory *memory;

	WORKS(getrlimit(RLIMIT_NOFILE, &before));
	few = (struct rlimit){ .rlim_cur = (rlim_t)dup(fd), .rlim_max = before.rlim_max };
	close((int)few.rlim_cur);
	WORKS(setrlimit(RLIMIT_NOFILE, &few));
	REFUSES(EMFILE, "system", donard_memory_from_dmabuf(ctx, fd, 0, 0, &memory));
	SAID("cannot be duplicated");
	WORKS(setrlimit(RLIMIT_NOFILE, &before));
	donard_memory_free(owner);
	close(fd);
}

/* For imported.sh, which hides /proc: nobody else tells whose a dma-buf is. */
static void without_proc(void)
{
	struct donard_memory *memory;

	REFUSES(EOPNOTSUPP, "unsupported", donard_memory_from_dmabuf(ctx, stranger(EXPORTER_PAGES, -1), 0, 0, &memory));
	SAID("Mount /proc");
}

static void in_a_sandbox(void)
{
	int fd = stranger(EXPORTER_FRAMES, -1);
	struct donard_memory *memory = import(fd, 0, 0);
	char byte = 0;

	forbid_process_vm();
	REFUSES(EPERM, "permission", donard_memory_read(memory, 0, &byte, 1));
	SAID("process_vm_readv()");
	REFUSES(EPERM, "permission", donard_memory_write(memory, 0, &byte, 1));
	donard_memory_free(memory);
	close(fd);
	fd = stranger(EXPORTER_PAGES, -1);
	memory = import(fd, 0, 0);	/* it has pages, but which cannot be found out */
	EQUAL(DONARD_PAGES_UNKNOWN, about(memory).pages);
	donard_memory_free(memory);
	close(fd);
}

static const struct named_test tests[] = {
	{ "refused", refused },
	{ "refused-to-others", refused_to_others },
	{ "located-elsewhere", located_elsewhere },
	{ "not-adopted", not_adopted },
	{ "no-descriptor-left", no_descriptor_left },
	{ "in-a-sandbox", in_a_sandbox },
	{ NULL, NULL },
	{ "without-proc", without_proc },
};

int main(int argc, char **argv)
{
	if (argc < 2)
		errx(2, "usage: importbad TEST, or importbad --list");
	GOES(donard_open(&ctx, NULL));
	RUN_NAMED(tests, argv[1]);
	donard_close(ctx);
	return 0;
}
