// SPDX-License-Identifier: Apache-2.0
/*
 * int80 - the ioctls of a 32-bit program: by its gate, INT 0x80, through which the kernel takes them for those of one, with
 * arguments below 4 GiB. Each must do what the same call of a 64-bit program does.
 * Needs root, p2pmem0 (volatile), idle.
 */
#define _GNU_SOURCE
#include "uapi.h"

#define IOCTL32	54	/* its number for 32-bit programs (asm/unistd_32.h) */

/* Memory below 4 GiB for the structs that calls point to. */
static void *low;

static int ioctl32(int fd, unsigned long request, uintptr_t argument)
{
	long rc;

	asm volatile("int $0x80" : "=a"(rc) : "a"(IOCTL32), "b"(fd), "c"((uint32_t)request), "d"((uint32_t)argument)
		     : "memory", "r8", "r9", "r10", "r11");
	errno = (int)rc < 0 ? -(int)rc : 0;
	return (int)rc < 0 ? -1 : (int)rc;
}

/* Makes a call with a copy of the struct below 4 GiB, and copies the result back. */
#define BY_32(fd, request, argument) ({ \
	memcpy(low, &(argument), sizeof(argument)); \
	int result_ = ioctl32(fd, request, (uintptr_t)low); \
	memcpy(&(argument), low, sizeof(argument)); \
	result_; \
})

static void answers_are_the_same(int fd)
{
	struct p2pmem_info info = { .size = sizeof(info) }, wide = info_of(fd);
	struct p2pmem_status status = { .size = sizeof(status) };

	WORKS(BY_32(fd, P2PMEM_IOC_INFO, info));
	CHECK(!memcmp(&info, &wide, sizeof(info)));
	WORKS(BY_32(fd, P2PMEM_IOC_STATUS, status));
	EQUAL(P2PMEM_STATE_READY, status.state);
}

static void memory_is_the_same(int fd)
{
	struct p2pmem_claim claimed = { .size = sizeof(claimed), .region_offset = 8 * MIB, .length = MIB };
	struct p2pmem_locate place = { .size = sizeof(place), .file_offset = PAGE };
	struct p2pmem_copy copied = { .size = sizeof(copied), .from_fd = fd, .to_offset = PAGE, .length = PAGE };
	struct p2pmem_sync synced = { .size = sizeof(synced), .length = MIB };
	struct p2pmem_export_dmabuf exported = { .size = sizeof(exported), .length = MIB, .fd_flags = O_CLOEXEC | O_RDWR };
	struct p2pmem_locate_dmabuf found = { .size = sizeof(found), .offset = PAGE };
	uint64_t *map;

	WORKS(BY_32(fd, P2PMEM_IOC_CLAIM, claimed));
	map = mapped(fd, MIB, 0);
	fill(map, PAGE, 0x32);
	WORKS(BY_32(fd, P2PMEM_IOC_LOCATE, place));
	EQUAL(8 * MIB + PAGE, place.region_offset);
	EQUAL(MIB - PAGE, place.length);
	WORKS(BY_32(fd, P2PMEM_IOC_COPY, copied));
	CHECK(filled(map + PAGE / 8, PAGE, 0x32));
	WORKS(BY_32(fd, P2PMEM_IOC_SYNC, synced));
	found.dmabuf_fd = BY_32(fd, P2PMEM_IOC_EXPORT_DMABUF, exported);
	WORKS(found.dmabuf_fd);
	WORKS(BY_32(fd, P2PMEM_IOC_LOCATE_DMABUF, found));
	EQUAL(8 * MIB + PAGE, found.region_offset);
}

static void failures_are_the_same(int fd)
{
	struct p2pmem_claim taken = { .size = sizeof(taken), .region_offset = 8 * MIB, .length = MIB };
	struct p2pmem_probe nobody = { .size = sizeof(nobody), .pci_bus = 0x7f, .pci_devfn = 0xff };
	int other = open_region(volatile_region);

	FAILS(EBUSY, BY_32(other, P2PMEM_IOC_CLAIM, taken));
	FAILS(ENODEV, BY_32(fd, P2PMEM_IOC_PROBE_PEER, nobody));
	FAILS(EFAULT, ioctl32(fd, P2PMEM_IOC_INFO, 8));
	FAILS(ENOTTY, ioctl32(fd, _IO(P2PMEM_IOC_MAGIC, 0x3f), (uintptr_t)low));
}

/* A region that is not there, to be removed. */
static void control(void)
{
	struct p2pmem_region_remove absent = { .size = sizeof(absent), .region = 99 };
	int fd = open("/dev/p2pmem_control", O_RDWR | O_CLOEXEC);

	WORKS(fd);
	FAILS(ENODEV, BY_32(fd, P2PMEM_CTL_REGION_REMOVE, absent));
}

int main(void)
{
	int fd = open_region(volatile_region);

	low = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	CHECK(low != MAP_FAILED);
	answers_are_the_same(fd);
	memory_is_the_same(fd);
	failures_are_the_same(fd);
	control();
	return 0;
}
