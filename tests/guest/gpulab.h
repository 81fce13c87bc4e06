/* SPDX-License-Identifier: Apache-2.0 */
/* For the tests of pinned GPU memory (gpupin.c, gpuheld.c, gpurdma.c): the lab's GPU, and pins of its memory. */
#include "uapi.h"

#include <liburing.h>
#include <setjmp.h>
#include <signal.h>

#include "modules/nvidia/nvidia-lab.h"

#define GPU_PAGE	0x10000ULL
#define BYTES		(4 * MIB)
#define PATTERN		0x0123456789abcdefULL

static const char *drive_path, *region_path;
static char reason[P2PMEM_REASON_BYTES];

/* --- the GPU --- */

static inline int gpu_open(void)
{
	int fd = open("/dev/" NVLAB_NODE, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		err(1, "/dev/" NVLAB_NODE);
	return fd;
}

static inline uint64_t gpu_alloc(int gpu, uint64_t bytes)
{
	struct nvlab_alloc a = { .bytes = bytes };

	WORKS(ioctl(gpu, NVLAB_ALLOC, &a));
	return a.va;
}

static inline void gpu_free(int gpu, uint64_t va)
{
	__u64 arg = va;

	WORKS(ioctl(gpu, NVLAB_FREE, &arg));
}

static inline void gpu_copy(int gpu, uint64_t va, void *host, uint64_t bytes, unsigned int direction)
{
	struct nvlab_copy c = {
		.va = va, .peer = (uintptr_t)host, .bytes = bytes, .direction = direction,
	};

	WORKS(ioctl(gpu, NVLAB_COPY, &c));
}

/* Does the GPU's memory at @va hold the pattern? */
static inline bool gpu_has(int gpu, uint64_t va, uint64_t bytes, uint64_t pattern)
{
	uint64_t *host = malloc(bytes);
	bool same;

	gpu_copy(gpu, va, host, bytes, NVLAB_TO_HOST);
	same = filled(host, bytes, pattern);
	free(host);
	return same;
}

static inline void gpu_fill(int gpu, uint64_t va, uint64_t bytes, uint64_t pattern)
{
	uint64_t *host = malloc(bytes);

	fill(host, bytes, pattern);
	gpu_copy(gpu, va, host, bytes, NVLAB_TO_GPU);
	free(host);
}

static inline int pin(int fd, uint64_t va, uint64_t bytes, uint64_t offset)
{
	struct p2pmem_pin_gpu p = {
		.size = sizeof(p), .va = va, .length = bytes, .offset = offset,
	};
	int rc = ioctl(fd, P2PMEM_IOC_PIN_GPU, &p);

	memcpy(reason, p.reason, sizeof(reason));
	return rc;
}

#define PINS(call) do { \
	if ((call) == -1) \
		err(1, "line %d: %s: %s", __LINE__, #call, reason); \
} while (0)

/* Refused with this errno, and a reason that has these words. */
#define REFUSED(error, words, call) do { \
	FAILS(error, call); \
	if (!strstr(reason, words)) \
		errx(1, "line %d: %s: expected a reason with '%s', seen '%s'", __LINE__, #call, \
		     words, reason); \
} while (0)

/* Memory of a GPU that an open file has. */
struct pinned {
	int gpu;
	int fd;
	uint64_t va;
	uint64_t *map;
};

static inline struct pinned pinned_anew(uint64_t bytes)
{
	struct pinned p = { .gpu = gpu_open(), .fd = open_region(region_path) };

	p.va = gpu_alloc(p.gpu, bytes);
	PINS(pin(p.fd, p.va, bytes, 0));
	p.map = mapped(p.fd, bytes, 0);
	return p;
}

/* --- mappings of memory that was taken back --- */

static sigjmp_buf on_sigbus;

static inline void sigbus(int signal_number)
{
	(void)signal_number;
	siglongjmp(on_sigbus, 1);
}

/* True if loads and stores still work. */
static inline bool alive(volatile uint64_t *map)
{
	signal(SIGBUS, sigbus);
	if (sigsetjmp(on_sigbus, 1))
		return false;
	*map = *map;
	return true;
}

static inline int drive_open(void)
{
	int fd = open(drive_path, O_RDWR | O_DIRECT | O_CLOEXEC);

	if (fd < 0)
		err(1, "%s", drive_path);
	return fd;
}

/* Whether memory can be pinned for long: as a ring's buffer. */
static inline int register_buffer(struct io_uring *ring, void *map)
{
	struct iovec iov = { map, BYTES };

	EQUAL(0, io_uring_queue_init(1, ring, 0));
	return io_uring_register_buffers(ring, &iov, 1);
}
