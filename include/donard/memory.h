/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that devices read and write, behind one handle: a range of a region, plain
 * DRAM, or a dma-buf that somebody handed over.
 *
 * Conventions and errno values are those of donard.h.  A memory belongs to the context
 * that it was made with, and to one thread at a time.  Threads that share the bytes
 * each make a memory of their own from one descriptor (donard_memory_adopt()).
 *
 * Other processes see the bytes of a memory only if the program passes them on: as the
 * descriptor (info.fd), over a UNIX socket or by fork(), or as a dma-buf.  Plain DRAM has
 * no descriptor, and a fork() copies it: neither process sees what the other one, or a device
 * on its behalf, writes from then on.
 *
 * When a region ends, poll() reports POLLPRI for info.fd, and donard_memory_state()
 * says what happened.  From then on the library's accesses fail with -ENODEV, and the
 * program's own loads and stores through info.address raise SIGBUS, as
 * accesses past the end of a file do.  A program that cannot stop in time uses
 * donard_memory_read() and _write(), which never raise it.  None of these calls
 * installs a signal handler.
 *
 * donard_region_list_parts() with DONARD_REGION_HOLDERS lists the processes and importing devices that hold memory of a
 * region.  It does not say which part each holds, and no call lists the holders of a single memory.
 */
#ifndef DONARD_MEMORY_H
#define DONARD_MEMORY_H

#include "donard.h"

#ifdef __cplusplus
extern "C" {
#endif

struct donard_memory;

/**
 * donard_memory_dram() - plain memory of the host
 * @ctx: the context
 * @length_bytes: more than 0
 * @memory: set to the memory, which donard_memory_free() frees
 *
 * The memory is whole pages of DRAM, zeroed.  It is the baseline for comparisons.
 *
 * Returns 0; -ENOMEM; -EINVAL for no length.
 */
int donard_memory_dram(struct donard_context *ctx, uint64_t length_bytes,
		       struct donard_memory **memory);

/**
 * donard_memory_from_host() - plain memory of the host that the program already has
 * @ctx: the context
 * @address: of its first byte; any, but requests must keep to the alignment of their file
 * @length_bytes: more than 0
 * @memory: set to the memory, which donard_memory_free() frees
 *
 * Nothing is copied or pinned.  The program keeps the bytes mapped until the memory is
 * freed and its requests have ended, and then frees them itself.  The call fails if the
 * first or the last byte belongs to a device, as in a mapping of /dev/p2pmem0: requests
 * would reach that device although nobody has judged the route.  Where a sandbox forbids
 * move_pages() or process_vm_readv(), the call looks in /proc/self/maps instead, and finds only
 * mappings of dma-bufs, and of regions whose node the process can see, not those of other devices.
 *
 * Returns 0; -EINVAL for no address, no length, or a range that wraps; -EHOSTUNREACH for
 * memory of a device; -EMFILE, -ENFILE, -ENOMEM.
 */
int donard_memory_from_host(struct donard_context *ctx, void *address, uint64_t length_bytes,
			    struct donard_memory **memory);

/**
 * donard_memory_alloc() - allocate memory of a region
 * @ctx: the context
 * @region: "p2pmem0", which must be volatile
 * @length_bytes: more than 0
 * @memory: set to the memory, which donard_memory_free() frees
 *
 * The memory reads as zero.  It may consist of several pieces of the region.
 *
 * Returns 0; -ENOSPC when less is free; -EOPNOTSUPP without the module, for a persistent region:
 * call donard_memory_claim() there, and for a region of a GPU's memory: call
 * donard_memory_from_cuda() there; -ENODEV, -EACCES, -EPERM, -EINVAL, -EMFILE, -ENFILE, -ENOMEM.
 */
int donard_memory_alloc(struct donard_context *ctx, const char *region, uint64_t length_bytes,
			struct donard_memory **memory);

/**
 * donard_memory_claim() - a given range of a region
 * @ctx: the context
 * @region: "p2pmem0"
 * @offset_bytes: where in the region
 * @length_bytes: 0: up to the end of the region
 * @memory: set to the memory, which donard_memory_free() frees
 *
 * The bytes keep their contents if the region is persistent, if they last belonged to the
 * same user without CAP_SYS_RAWIO, or if the caller has CAP_SYS_RAWIO; else they read as
 * zero.  The memory owns whole granules (whole folios in a region of large folios),
 * including their bytes before and after the range.
 *
 * Returns 0; -EBUSY when another owns part of it; -ENXIO past the region's end; -EOPNOTSUPP
 * without the module, for a region that is a pmem device, and for a region of a GPU's memory:
 * call donard_memory_from_cuda() there; -ENODEV, -EACCES, -EPERM, -EINVAL, -EMFILE, -ENFILE, -ENOMEM.
 */
int donard_memory_claim(struct donard_context *ctx, const char *region, uint64_t offset_bytes,
			uint64_t length_bytes, struct donard_memory **memory);

/**
 * donard_memory_adopt() - memory that an open file of a region already owns
 * @ctx: the context
 * @fd: a descriptor of /dev/p2pmemN that is open O_RDWR, such as info.fd of another memory; the call duplicates it
 * @file_offset_bytes: info.file_offset_bytes of that memory
 * @length_bytes: more than 0
 * @memory: set to the memory, which donard_memory_free() frees
 *
 * Both memories have the same bytes, which last as long as either memory does.
 *
 * Returns 0; -EINVAL when @fd is not of a region; -EACCES when it is not open for reading and writing; -ENXIO when that
 * file does not own the whole range; -ENODEV when its region has gone; -EMFILE, -ENFILE, -ENOMEM.
 */
int donard_memory_adopt(struct donard_context *ctx, int fd, uint64_t file_offset_bytes,
			uint64_t length_bytes, struct donard_memory **memory);

/**
 * donard_memory_from_dmabuf() - memory that somebody handed over as a dma-buf
 * @ctx: the context
 * @fd: a descriptor of the dma-buf, which any driver may have exported; the call duplicates it
 * @offset_bytes: in the dma-buf; any
 * @length_bytes: 0: up to its end
 * @memory: set to the memory, which donard_memory_free() frees
 *
 * If p2pmem exported the dma-buf, in this process or another, the new memory is memory of
 * the region: it has the same place and the same routes, and ends when the region ends.  It
 * does not own the bytes: the dma-buf does.  The caller must have the right to open the
 * region's device node.  A program without that right can still mmap() the dma-buf, as can
 * anyone who has its descriptor.
 *
 * If another driver exported the dma-buf, info.pages says what that driver maps.  If it
 * maps struct pages of the host's memory, transfers go there without a copy; they are not
 * peer-to-peer, and their completions say so.  If it maps memory without struct pages,
 * queues reach that with the CPU, and only with DONARD_QUEUE_ALLOW_BOUNCE.  If it maps
 * nothing (info.address is NULL and info.unmapped says why), only devices that import
 * dma-bufs reach the memory: donard_rdma_register().  The driver of an NVMe drive imports
 * memory of these two kinds in Linux 7.4 and later, so that queues reach it without a copy (queue.h).
 * These exporters do not say when they take the memory back; from then on accesses fail, and
 * loads and stores raise SIGBUS.
 *
 * The call itself moves nothing: it touches no page frames, and announces no access to the
 * exporter.  donard_memory_read(), _write(), _zero() and _sync(), and requests that bounce,
 * do announce theirs (DMA_BUF_IOCTL_SYNC).  The exporter may then move the buffer to the
 * host's memory, and they wait for that and for the devices that work on the buffer.
 *
 * Returns 0; -EINVAL when @fd is closed or not of a dma-buf; -ENXIO past its end; -EACCES, -EPERM
 * when the caller may not open its region; -ENODEV when its region was taken away, or its
 * GPU memory was freed; -EOPNOTSUPP when the module is too old to tell which memory the
 * dma-buf has, or without /proc; -EMFILE, -ENFILE, -ENOMEM.
 */
int donard_memory_from_dmabuf(struct donard_context *ctx, int fd, uint64_t offset_bytes,
			      uint64_t length_bytes, struct donard_memory **memory);

/**
 * donard_memory_from_cuda() - memory of a GPU that the program has allocated
 * @ctx: the context
 * @address: what cuMemAlloc() or cudaMalloc() returned, or any address in that allocation
 * @length_bytes: more than 0; the range ends within that allocation
 * @memory: set to the memory, which donard_memory_free() frees
 *
 * The bytes stay where they are: drives and NICs reach them through the GPU's BAR1, in a
 * region of kind gpu-nvidia, as whole pages of 64 KiB.  The first call loads libcuda.so.1;
 * nothing else of CUDA is needed.  The thread needs no current context, and keeps the one
 * that it has.
 *
 * The call sets SYNC_MEMOPS for the allocation, and thereby waits for copies under way; the
 * attribute stays set.  From then on, once a copy by the GPU has returned, peers see its bytes.
 * In the other direction, a GPU kernel that is launched after the completion sees the bytes
 * that a drive has delivered, unless the device's
 * CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING is NONE: then call
 * cuFlushGPUDirectRDMAWrites() in between.
 *
 * CUDA cuts small allocations from chunks of 2 MiB.  Two allocations that share a page of
 * 64 KiB cannot be two memories: allocate both at once, or 64 KiB more for each.
 * Memory from the pools of cuMemAllocAsync() or from cuMemCreate() works if it was allocated
 * for GPUDirect RDMA (else -EINVAL) and the driver sets SYNC_MEMOPS for it (else -EOPNOTSUPP).
 * The drivers that were tried set it for no memory of cuMemCreate() (docs/gpu.md).
 *
 * Free the memory before the allocation.  What happens in the other order depends on the
 * size of the allocation and on the driver.  An allocation with a chunk of its own (2 MiB or
 * more) keeps its bytes until the memory is freed, if the driver pins persistently; else
 * accesses fail from then on, like those to a region that went away.  When a smaller one is
 * freed, nobody is told: CUDA allocates the bytes again, and drives go on writing there.
 *
 * Returns 0; -EINVAL when the address is not GPU memory, or is managed or unpinnable memory;
 * -ENXIO past the allocation; -EXDEV when the GPU's regions leave that part of its BAR out; -ENOSPC
 * when BAR1 is too small; -EBUSY when it is pinned already, or CUDA cannot create a context; -EOPNOTSUPP
 * without libcuda, when the driver cannot pin, or when the GPU can have no region; -ENODEV without a GPU, or
 * when the GPU has no region yet: the text has the call that adds one; -EACCES, -EPERM, -EIO, -EMFILE, -ENFILE, -ENOMEM.
 */
int donard_memory_from_cuda(struct donard_context *ctx, uint64_t address, uint64_t length_bytes,
			    struct donard_memory **memory);

/**
 * donard_memory_alloc_cuda() - allocate memory of a GPU
 * @ctx: the context
 * @gpu: CUDA's number of the GPU, from 0
 * @length_bytes: more than 0
 * @address: set to the memory's address for CUDA's calls, a multiple of 64 KiB; left alone on failure
 * @memory: set to the memory, which donard_memory_free() frees
 *
 * The call allocates whole pages in the GPU's primary context, and does not clear them.
 * donard_memory_free() frees them even if processes that adopted the memory, or importers of its
 * dma-bufs, are left: end those first.  The thread that frees the memory or ends its last
 * request calls cuMemFree(), which may wait for the GPU: no GPU kernel may wait for that thread.
 *
 * CUDA numbers the GPUs itself: 0 is the fastest, unless CUDA_DEVICE_ORDER=PCI_BUS_ID is set.
 *
 * Returns as donard_memory_from_cuda(); -ENOSPC also when the GPU has less memory than that.
 */
int donard_memory_alloc_cuda(struct donard_context *ctx, unsigned int gpu, uint64_t length_bytes,
			     uint64_t *address, struct donard_memory **memory);

/**
 * donard_memory_open() - open memory by the name that a user gives
 * @ctx: the context
 * @name: "dram", a region ("p2pmem0"), or a GPU by CUDA's number or its address ("gpu:0", "gpu:0000:03:00.0")
 * @offset_bytes: in the region; 0 for DRAM and a GPU
 * @length_bytes: 0: up to the end of the region, or 64 MiB of DRAM or a GPU
 * @memory: set to the memory, which donard_memory_free() frees
 *
 * A convenience for programs whose users choose: the call is donard_memory_dram(), donard_memory_claim() or
 * donard_memory_alloc_cuda().
 *
 * Returns as the call that @name stands for; -EINVAL for another name.
 */
int donard_memory_open(struct donard_context *ctx, const char *name, uint64_t offset_bytes, uint64_t length_bytes,
		       struct donard_memory **memory);

/**
 * donard_memory_free() - give memory back
 * @memory: may be NULL; its RDMA registrations and all accesses to it must have ended
 *
 * Requests in flight keep the memory until they have ended.  Processes that adopted it
 * and importers of its dma-bufs keep it as well, unless it came from
 * donard_memory_alloc_cuda().
 */
void donard_memory_free(struct donard_memory *memory);

enum donard_memory_kind {
	DONARD_MEMORY_UNKNOWN,
	DONARD_MEMORY_DRAM,
	DONARD_MEMORY_REGION,
	DONARD_MEMORY_DMABUF,	/* of an exporter other than p2pmem */
};

/**
 * donard_memory_kind_text() - the word for a kind of memory
 * @kind: as in struct donard_memory_info
 *
 * Returns "dram", "region", "dma-buf", or "unknown".
 */
const char *donard_memory_kind_text(enum donard_memory_kind kind);

/* The struct pages behind a mapping: the kernel needs them to let drives access the memory. */
enum donard_memory_pages {
	DONARD_PAGES_UNKNOWN,	/* cannot be told: the kernel names no kind, or several, or a sandbox forbids the question */
	DONARD_PAGES_NONE,	/* there are none, or there is no mapping */
	DONARD_PAGES_HOST,	/* of DRAM */
	DONARD_PAGES_DEVICE,
};

/**
 * donard_memory_pages_text() - the word for what is behind a mapping
 * @pages: as in struct donard_memory_info
 *
 * Returns "none", "host", "device", or "unknown".
 */
const char *donard_memory_pages_text(enum donard_memory_pages pages);

/**
 * struct donard_memory_info - what a memory is
 * @size: in: sizeof(struct donard_memory_info)
 * @kind: of a region, plain DRAM, or a dma-buf of another exporter
 * @region: "p2pmem0", or ""
 * @bdf: of the device that the memory is part of, or ""
 * @address: where the CPU sees it, or NULL
 * @unmapped: why @address is NULL, or ""
 * @length_bytes: of the whole memory
 * @align_bytes: another process or device can map or import only a part whose address and
 *	length are multiples of this
 * @region_offset_bytes: where its first byte lies in the region; 0 for DRAM
 * @contiguous_bytes: how many bytes follow from there in the region without a gap.  This and @region_offset_bytes are 0
 *	once the region is being removed
 * @file_offset_bytes: where its first byte lies in the file behind @fd; 0 for a memory that
 *	came as a dma-buf, since that file does not own the bytes
 * @fd: a descriptor to poll and to pass on, which the memory owns.  It is -1 for DRAM and
 *	for a dma-buf of another exporter.  If the memory came as a dma-buf of p2pmem, only
 *	poll this descriptor, and pass @dmabuf_fd on
 * @persistent: it keeps its contents without power
 * @read_only: the dma-buf that it came as was exported O_RDONLY
 * @exporter: the exporter of that dma-buf, as it names itself: "udmabuf", "p2pmem0"; or ""
 * @dmabuf_offset_bytes: where the first byte lies in that dma-buf
 * @dmabuf_fd: a descriptor of that dma-buf to pass on, which the memory owns; -1 if there
 *	is none
 * @pages: what is behind the mapping at @address
 *
 * Strings live as long as the memory.
 */
struct donard_memory_info {
	size_t size;
	enum donard_memory_kind kind;
	int fd;
	const char *region;
	const char *bdf;
	void *address;
	const char *unmapped;
	uint64_t length_bytes;
	uint64_t align_bytes;
	uint64_t region_offset_bytes;
	uint64_t contiguous_bytes;
	uint64_t file_offset_bytes;
	bool persistent;
	bool read_only;
	bool reserved[6];
	const char *exporter;
	uint64_t dmabuf_offset_bytes;
	int dmabuf_fd;
	enum donard_memory_pages pages;
};

/**
 * donard_memory_info() - say what a memory is
 * @memory: the memory
 * @info: filled in
 *
 * Returns 0; -EINVAL for a bad size.
 */
int donard_memory_info(const struct donard_memory *memory, struct donard_memory_info *info);

/**
 * donard_memory_state() - what became of the region
 * @memory: the memory; DRAM and a dma-buf of another exporter are always READY
 *
 * The call never waits.
 *
 * Returns DONARD_STATE_READY; DRAINING or QUARANTINED when the region waits for you to let
 * go of the memory; GONE; UNKNOWN when the kernel's module does not say.
 */
enum donard_region_state donard_memory_state(const struct donard_memory *memory);

/**
 * donard_memory_read() - read bytes of a memory
 * @memory: the memory
 * @offset_bytes: of the first byte, in the memory
 * @to: where the bytes go; plain memory of the program
 * @length_bytes: how many; any number, but whole pages are fast
 *
 * The CPU loads the bytes; no device starts DMA.  Loads from device memory are slow.
 *
 * Returns 0; -ENXIO past its end; -ENODEV when the region is going away, when the exporter of a
 * dma-buf took it back, or when GPU memory was freed and its driver does not keep it; -EIO when
 * the device was reset meanwhile; -EOPNOTSUPP if the CPU has no mapping; -EFAULT for memory of a
 * region or a dma-buf when a part of @to is not mapped, for a dma-buf also when it is not plain
 * memory; -EPERM, -ENOSYS when a sandbox forbids process_vm_readv(), which the library needs to
 * access the bytes of a dma-buf.
 *
 * For DRAM the call is a memcpy(): a part of @to that is not mapped raises SIGSEGV.
 */
int donard_memory_read(struct donard_memory *memory, uint64_t offset_bytes, void *to,
		       size_t length_bytes);

/**
 * donard_memory_write() - write bytes of a memory
 * @memory: the memory
 * @offset_bytes: of the first byte, in the memory
 * @from: the bytes
 * @length_bytes: how many
 *
 * Other devices see the bytes once the call has returned.  donard_memory_sync() makes them
 * durable.
 *
 * Returns as donard_memory_read(); -EROFS for a dma-buf that was exported O_RDONLY.
 */
int donard_memory_write(struct donard_memory *memory, uint64_t offset_bytes, const void *from,
			size_t length_bytes);

/**
 * donard_memory_zero() - make bytes of a memory zero
 * @memory: the memory
 * @offset_bytes: of the first byte, in the memory
 * @length_bytes: how many
 *
 * Returns as donard_memory_write().
 */
int donard_memory_zero(struct donard_memory *memory, uint64_t offset_bytes, uint64_t length_bytes);

#define DONARD_SYNC_DURABLE	1U	/* the bytes survive a power cut; persistent memory only */

/**
 * donard_memory_sync() - wait until what was written is at the device
 * @memory: the memory
 * @flags: DONARD_SYNC_DURABLE, or 0
 *
 * The call is a barrier for the thread's own stores through info.address, and for what devices wrote before.  Stores of
 * another thread are covered only once that thread has executed a fence after them (sfence, or an atomic read-modify-write,
 * such as a mutex has): until then its processor may keep combined stores to itself.  For a dma-buf of another exporter the
 * call asks that exporter (DMA_BUF_IOCTL_SYNC).
 *
 * If a GPU does not order what other devices write into its memory (CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING), the
 * call makes these writes visible to GPU kernels that start later.  It does so only for memory of donard_memory_from_cuda() and
 * donard_memory_alloc_cuda(), not for another handle to the same bytes.
 *
 * Returns 0; -EOPNOTSUPP for DONARD_SYNC_DURABLE on volatile memory; -EIO when the device
 * was reset since the last call, so that bytes written since then may be lost; -ENODEV; of such a GPU also -EINVAL when
 * the program has freed the memory in CUDA, and -EIO when CUDA fails.
 * Memories that share a descriptor are told of a reset one by one, each by its own call.
 */
int donard_memory_sync(struct donard_memory *memory, unsigned int flags);

/**
 * donard_memory_export() - export a memory as a dma-buf
 * @memory: of a region
 * @offset_bytes: in the memory; its sum with info.file_offset_bytes is a multiple of
 *	info.align_bytes
 * @length_bytes: a multiple of info.align_bytes; 0: up to the end
 * @flags: O_RDWR or O_RDONLY: what importers may do
 * @fd: set to the dma-buf's descriptor, which the caller owns and which has FD_CLOEXEC
 *
 * Returns 0; -EINVAL, -ENXIO; -EOPNOTSUPP for DRAM, and for a memory that came as a
 * dma-buf (pass that dma-buf on instead); -EACCES for O_RDWR of a memory whose descriptor is open
 * only for reading; -EIO while the device is away, and when it does not come back after a reset;
 * -EMFILE, -ENFILE, -ENODEV, -ENOMEM.
 */
int donard_memory_export(struct donard_memory *memory, uint64_t offset_bytes,
			 uint64_t length_bytes, int flags, int *fd);

/**
 * donard_memory_route() - how a device reaches a memory
 * @memory: the memory
 * @client_bdf: of the function that would start the DMA
 * @route: filled in, as by donard_route_probe()
 *
 * Returns as donard_route_probe(); -EOPNOTSUPP for DRAM, which every device reaches, and
 * for a dma-buf of another exporter, which does not say where the memory lies.
 */
int donard_memory_route(struct donard_memory *memory, const char *client_bdf,
			struct donard_route *route);

#ifdef __cplusplus
}
#endif

#endif /* DONARD_MEMORY_H */
