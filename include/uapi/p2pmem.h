/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR Apache-2.0 */
/*
 * p2pmem - userspace interface of the peer-to-peer PCIe memory broker.
 *
 * Two kinds of device node:
 *
 *   /dev/p2pmemN         one region of device memory: open, mmap and the
 *                        P2PMEM_IOC_* ioctls below.
 *   /dev/p2pmem_control  adds and removes regions, and looks at drives: P2PMEM_CTL_* ioctls,
 *                        which require CAP_SYS_RAWIO.
 *
 * Every struct begins with its own size in bytes.  The kernel accepts a
 * larger struct, of 4096 bytes at most, if the bytes that it does not know are zero
 * (E2BIG if not), and a smaller one down to the first published size (EINVAL below
 * that); it never writes more bytes than the struct has.  Reserved fields must
 * be zero, and the kernel refuses unknown flags (EINVAL).
 *
 * The request codes are _IOWR() of the struct, so a code changes when its struct
 * grows.  The kernel looks only at the magic, the number and the direction in a
 * code, and so accepts the code of every version of a struct; but the struct's
 * own size must not be below the size in the code (EINVAL).  Programs that were
 * built with an older or a newer header keep working.
 *
 * errno table (the same meaning in every call):
 *
 *   EINVAL      a size, alignment, flag or reserved field is wrong
 *   E2BIG       the struct carries fields that this kernel does not know
 *   EFAULT      a pointer is bad
 *   EPERM       CAP_SYS_RAWIO is missing, or the kernel is locked down
 *   ENODEV      the region or PCI function does not exist, or is going away
 *   EBUSY       somebody owns the range already (in a persistent region: the range at that
 *               file offset), or holds the region; REGION_ADD and NVME_MEMORY: the function
 *               has another driver than the kind needs, or none, or its memory is in use in
 *               a way that excludes this one (reason)
 *   ENOSPC      a volatile region does not have that much free memory; REGION_ADD: nor has the
 *               nvme driver's pool of a CMB, or there are 256 regions, the most there can be
 *   ENXIO       the range lies outside the region or the dma-buf, or the file owns
 *               nothing there; in a region whose only memory is what files pin
 *               (gpu-nvidia): nothing is pinned there
 *   EOPNOTSUPP  this provider, page type or kernel cannot do it; REGION_ADD of gpu-nvidia:
 *               the function does not have a driver with NVIDIA's peer-to-peer interface
 *   ENOTTY      the module is older than this call
 *   EEXIST      the memory is offered as a region already, or its own driver has struct
 *               pages for it that p2pmem cannot use
 *   EUCLEAN     the kernel once failed to make struct pages for the memory, and did
 *               not clean up: it cannot be offered until the next boot
 *   EIO         the device lost its state (reset): bytes written since the last
 *               successful SYNC may be lost; or the device is away, and does not
 *               keep the zeros that an export or a ring's buffer needs
 *   EINTR       a signal ended the call; a removal goes on by itself
 *   ENOMEM      the kernel has no memory for its own records
 *   EACCES      the file was not opened for reading, or for writing, as the call needs
 *   EBADF       the descriptor in the struct is not open
 *   EMFILE, ENFILE  the process, or the system, has no descriptor left for a dma-buf
 *   EAGAIN      try again: the client is being bound, unbound or reset; mmap() returns
 *               it instead of EBUSY or ENOSPC if a file was closed within the last
 *               second and its pins are about to end
 *   EHOSTUNREACH  there is no route, and the caller did not ask for page type generic
 *
 * A call that fails changes nothing, with these exceptions.  A failing mmap(), claim (EIO,
 * EINTR), write(), copy, export or ring's buffer, or a failing read() of a persistent region,
 * may leave the file with memory that it took, until the file is closed.  A failing read(),
 * write() or copy may have moved a part of the bytes.  After EINTR a removal goes on.  The EIO
 * by which SYNC reports a reset comes once.
 *
 * If the kernel refuses a dma-buf to an importer, the importer gets EOPNOTSUPP (it is
 * not a PCI function, or needs struct pages), EHOSTUNREACH (no route), ERANGE (its
 * DMA mask does not reach the BAR), EACCES (a write into a read-only export),
 * EAGAIN (it attaches while the device is being reset), EIO (the device was reset
 * since it attached: attach anew) or ENODEV (revoked); the kernel log has the
 * reason.
 */
#ifndef _UAPI_P2PMEM_H
#define _UAPI_P2PMEM_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define P2PMEM_NAME_BYTES	16
#define P2PMEM_REASON_BYTES	224

/* Kinds of provider: what sort of memory a region is. */
enum p2pmem_kind {
	P2PMEM_KIND_PCI_BAR = 1,	/* a memory BAR named by the administrator */
	P2PMEM_KIND_NVME_CMB = 2,	/* NVMe Controller Memory Buffer, volatile */
	P2PMEM_KIND_NVME_PMR = 3,	/* NVMe Persistent Memory Region */
	P2PMEM_KIND_GPU_NVIDIA = 4,	/* BAR1 of a GPU that NVIDIA's driver runs */
};

/* Page types, see docs/uapi.md; 0 asks for the provider's default. */
enum p2pmem_page_type {
	P2PMEM_PAGES_DEFAULT = 0,
	P2PMEM_PAGES_GENERIC = 1,	/* pins, O_DIRECT, fixed buffers, ibv_reg_mr */
	P2PMEM_PAGES_P2PDMA = 2,	/* O_DIRECT with the kernel's route checks */
	P2PMEM_PAGES_PMEM = 3,		/* a pmem device (/dev/pmemN) has the memory, and open files have none */
};

/* CPU memory types; 0 asks for the default of the kind. */
enum p2pmem_memtype {
	P2PMEM_MEMTYPE_DEFAULT = 0,
	P2PMEM_MEMTYPE_UC = 1,		/* uncached (x86 UC-) */
	P2PMEM_MEMTYPE_WC = 2,		/* write-combining */
	P2PMEM_MEMTYPE_WB = 3,		/* write-back: only for memory that snoops */
};

enum p2pmem_state {
	P2PMEM_STATE_READY = 1,
	P2PMEM_STATE_DRAINING = 2,	/* removed, and waits for its holders */
	P2PMEM_STATE_QUARANTINED = 3,	/* the device is gone, but its pages are still referenced */
	P2PMEM_STATE_GONE = 4,		/* ended; only P2PMEM_IOC_STATUS reports it */
};

#define P2PMEM_REGION_PERSISTENT	(1U << 0)
/* 2 MiB that a mapping covers completely are pinned as one unit; not set with folios of 1 GiB */
#define P2PMEM_REGION_FOLIOS		(1U << 1)
/*
 * memory was pinned (P2PMEM_IOC_PIN_GPU) that the GPU's driver may take back at any time: hold none of the region's for good.
 * Never set by a module that is older than this flag
 */
#define P2PMEM_REGION_REVOCABLE	(1U << 2)

/**
 * struct p2pmem_info - what a region is (P2PMEM_IOC_INFO, out)
 * @size: in: sizeof(struct p2pmem_info)
 * @flags: P2PMEM_REGION_*
 * @region_bytes: length of the region
 * @available_bytes: memory that files can still take; 0 for P2PMEM_KIND_GPU_NVIDIA, where files
 *	have only what they pin, and for P2PMEM_PAGES_PMEM
 * @bus_address: the address that a device on the same PCI bus puts into a TLP
 * @granule_bytes: allocation unit; offsets and lengths are multiples of it
 * @kind: enum p2pmem_kind
 * @page_type: enum p2pmem_page_type; the type that the region has, never
 *	P2PMEM_PAGES_DEFAULT
 * @memtype: enum p2pmem_memtype, by which the CPU maps the region; P2PMEM_MEMTYPE_DEFAULT
 *	if the module cannot tell
 * @state: enum p2pmem_state; P2PMEM_STATE_READY, since the call fails with ENODEV in the
 *	others
 * @pci_domain: PCI segment of the function that has the memory
 * @pci_bus: bus number of that function, 0..255
 * @pci_devfn: slot (0..31) times 8, plus the number of that function in the slot (0..7)
 * @bar: which BAR of that function the region lies in, 0..5
 * @reserved0: reads as zero
 * @resets: grows when a reset, an error or a suspend of the device may have lost the region's
 *	bytes; several of them may count as one, and one as several
 * @name: of the device node, such as "p2pmem0"; NUL-terminated
 * @folio_bytes: size of the pieces that have one owner each.  A file that maps, claims or
 *	exports a part of a piece takes all of it.  It is granule_bytes, unless the region
 *	was added with larger folios; 0 if the kernel's module is older than this field
 */
struct p2pmem_info {
	__u32 size;
	__u32 flags;
	__u64 region_bytes;
	__u64 available_bytes;
	__u64 bus_address;
	__u64 granule_bytes;
	__u32 kind;
	__u32 page_type;
	__u32 memtype;
	__u32 state;
	__u32 pci_domain;
	__u8 pci_bus;
	__u8 pci_devfn;
	__u8 bar;
	__u8 reserved0;
	__u64 resets;
	char name[P2PMEM_NAME_BYTES];
	__u64 folio_bytes;
};

/**
 * struct p2pmem_status - what has become of the region (P2PMEM_IOC_STATUS, out)
 * @size: in: sizeof(struct p2pmem_status)
 * @state: enum p2pmem_state
 * @resets: as in struct p2pmem_info.  The call does not ask the device, so it leaves out a reset
 *	of a drive or GPU that p2pmem has not noticed yet
 *
 * The call never waits, and works as long as the file is open.  poll() says when to
 * make it:
 *
 *   POLLPRI            let go: the region is being removed.  Mappings are gone;
 *                      pins, RDMA memory regions, rings' buffers and imported dma-bufs
 *                      hold up the removal
 *   POLLPRI | POLLERR  the device went away; the kernel keeps the memory that is still
 *                      pinned for those who pin it (P2PMEM_STATE_QUARANTINED)
 *   POLLPRI | POLLERR | POLLHUP
 *                      the region has ended
 *
 * poll() reports POLLIN and POLLOUT in every state, as for a regular file: read() and
 * write() do not wait for bytes to come.  So wait for POLLPRI alone.
 */
struct p2pmem_status {
	__u32 size;
	__u32 state;
	__u64 resets;
};

/**
 * struct p2pmem_claim - own a given range of a region
 * @size: in: sizeof(struct p2pmem_claim)
 * @flags: must be zero
 * @region_offset: where in the region; multiple of granule_bytes
 * @length: bytes; multiple of granule_bytes, > 0
 * @file_offset: where the range appears in this open file, for mmap
 *
 * A plain mmap() of a volatile region is backed by whatever memory is free.
 * A claim asks for one range instead, so that two programs can use the same
 * bytes one after the other.  The bytes keep their contents only if the range was
 * last owned by the same user of the initial user namespace without CAP_SYS_RAWIO, or
 * if the program that opened the file has CAP_SYS_RAWIO, with which it may read the BAR
 * anyway; otherwise they read as zero.  In a persistent region mmap() itself claims; there
 * file_offset must equal region_offset.  The region gets the range back once the file is
 * closed and nobody maps, imports or pins it.
 *
 * In a region of large folios (folio_bytes) the claim takes whole folios, and
 * file_offset must equal region_offset modulo folio_bytes.
 * Errors: EBUSY, ENXIO, EINVAL, ENODEV, ENOMEM; EEXIST if file_offset is in use; EOPNOTSUPP in
 * a region whose only memory is what files pin (gpu-nvidia), and for a pmem device; EIO if the
 * range is claimed, but its device is not ready again after a reset; EINTR after a fatal signal,
 * whether the range is claimed by then or not.
 */
struct p2pmem_claim {
	__u32 size;
	__u32 flags;
	__u64 region_offset;
	__u64 length;
	__u64 file_offset;
};

#define P2PMEM_SYNC_DURABLE	(1U << 0)

/**
 * struct p2pmem_sync - barrier: all bytes that were written before are at the device
 * @size: in: sizeof(struct p2pmem_sync)
 * @flags: P2PMEM_SYNC_DURABLE asks that they survive a power cut
 * @file_offset: range in this open file; 0/0 means all of it
 * @length: bytes
 *
 * The call waits for the caller's own stores and then runs the device's barrier: for
 * a PMR the read that PMRCAP.PMRWBM names (NVMe Base 2.0, 3.1.4.21; REGION_ADD refuses
 * a PMR that names none), for other kinds a read from the BAR.
 * EOPNOTSUPP for P2PMEM_SYNC_DURABLE on volatile memory;
 * EIO if the device was reset since the last SYNC.  fsync(), fdatasync() and
 * msync(MS_SYNC) do the same for the whole file, and count as a SYNC.
 */
struct p2pmem_sync {
	__u32 size;
	__u32 flags;
	__u64 file_offset;
	__u64 length;
};

/*
 * How a client reaches a region.  The topology decides, by the rules that the kernel
 * has for P2PDMA pages (drivers/pci/p2pdma.c), never more permissively.  An IOMMU
 * does not make a route: requests that it translates pass the root complex, which
 * must be known to forward the requests of peers, wherever the two functions lie.
 */
enum p2pmem_route {
	P2PMEM_ROUTE_NONE = 0,		/* refused; the reason says why */
	P2PMEM_ROUTE_SWITCH = 1,	/* turns around at a PCIe switch */
	P2PMEM_ROUTE_BRIDGE = 2,	/* through a host bridge */
	P2PMEM_ROUTE_IOMMU = 3,		/* translated by a root complex that forwards it */
	P2PMEM_ROUTE_BOUNCED = 4,	/* the kernel would copy through DRAM */
};

#define P2PMEM_PROBE_SAME_DEVICE	(1U << 0) /* client and memory are one function */
#define P2PMEM_PROBE_UNLISTED_BRIDGE	(1U << 1) /* crosses a host bridge that is on no allow-list */
#define P2PMEM_PROBE_ACS_REDIRECT	(1U << 2) /* ACS sends requests upstream */
#define P2PMEM_PROBE_MAPPED		(1U << 3) /* dma_address is valid */
#define P2PMEM_PROBE_PASSTHROUGH	(1U << 4) /* IOMMU present, identity domain */
#define P2PMEM_PROBE_TRANSLATED		(1U << 5) /* an IOMMU translates what the client sends */
#define P2PMEM_PROBE_BEYOND_MASK	(1U << 6) /* the client's DMA mask, or its bus's limit, ends below the memory */

/**
 * struct p2pmem_probe - can this PCI function reach the region?
 * @size: in: sizeof(struct p2pmem_probe)
 * @pci_domain: in: PCI segment of the client
 * @pci_bus: in: its bus number
 * @pci_devfn: in: its slot (0..31) times 8, plus its function number (0..7)
 * @bridge_bus: out: bus number of the bridge that decides: the port at which ACS redirects
 *	requests, else the common switch port, else the client's root port; this and the next
 *	two are 0 where there is none, as for the client's own memory and on a root bus
 * @bridge_devfn: out: slot and function of that bridge, as in @pci_devfn
 * @bridge_domain: out: PCI segment of that bridge
 * @route: out: enum p2pmem_route
 * @flags: out: P2PMEM_PROBE_*; in: must be zero
 * @distance: out: steps between the two, up and down the tree of PCI functions: 0 for the
 *	client's own memory, 4 below one switch
 * @reserved0: in: must be zero
 * @bus_address: out: bus address of the region's first page
 * @dma_address: out: the address that the DMA API gave the client for that page; valid
 *	only with P2PMEM_PROBE_MAPPED
 * @reason: out: a sentence, NUL-terminated
 *
 * The verdict is a prediction: the call judges the topology, maps one page for the client, and
 * unmaps it again without any transfer.  For a function that does no DMA (a bridge, one without
 * a driver, one that VFIO has, one that is not bus master) it judges only the topology.  The
 * call tries for 100 ms to take the client's device lock (EAGAIN if somebody else has it), and
 * holds it while the page is mapped, so that the driver stays.  A bridge, a function without a
 * driver and one that VFIO has are judged without that lock.
 */
struct p2pmem_probe {
	__u32 size;
	__u32 pci_domain;
	__u8 pci_bus;
	__u8 pci_devfn;
	__u8 bridge_bus;
	__u8 bridge_devfn;
	__u32 bridge_domain;
	__u32 route;
	__u32 flags;
	__u32 distance;
	__u32 reserved0;
	__u64 bus_address;
	__u64 dma_address;
	char reason[P2PMEM_REASON_BYTES];
};

#define P2PMEM_EXPORT_ALLOW_UNLISTED	(1U << 0) /* cross a host bridge that is on no allow-list; CAP_SYS_RAWIO */

/**
 * struct p2pmem_export_dmabuf - let other devices import a range as a dma-buf
 * @size: in: sizeof(struct p2pmem_export_dmabuf)
 * @flags: P2PMEM_EXPORT_*
 * @file_offset: range in this open file; multiple of granule_bytes
 * @length: bytes; multiple of granule_bytes, > 0
 * @fd_flags: O_RDONLY or O_RDWR, and O_CLOEXEC
 * @reserved0: must be zero
 *
 * The call returns a file descriptor.  It gives memory to parts of the range that
 * have none yet, as mmap() would; these read as zero.  The dma-buf keeps the open
 * file, and so all that the file owns, until the last reference is gone.  Devices
 * can only read an O_RDONLY dma-buf; O_RDWR needs a file that was opened for
 * writing.
 *
 * Attachments must accept memory without struct pages (peer2peer), be made for
 * a PCI function, and have a route (P2PMEM_IOC_PROBE_PEER).  When the region goes
 * away, the kernel revokes their mappings; an importer that pinned the dma-buf and
 * cannot let go makes the removal wait.  A reset of the device ends attachments for good:
 * importers let go, and attach again afterwards.  After a reset the next end of a
 * DMA_BUF_IOCTL_SYNC fails once with EIO.
 * Errors: EINVAL, EACCES, ENOSPC, EBUSY, ENXIO, ENODEV, EIO, EINTR, ENOMEM; EMFILE, ENFILE;
 * EOPNOTSUPP for a pmem device; EPERM for P2PMEM_EXPORT_ALLOW_UNLISTED without CAP_SYS_RAWIO.
 */
struct p2pmem_export_dmabuf {
	__u32 size;
	__u32 flags;
	__u64 file_offset;
	__u64 length;
	__u32 fd_flags;
	__u32 reserved0;
};

/**
 * struct p2pmem_copy - copy from another open file of a region (P2PMEM_IOC_COPY)
 * @size: in: sizeof(struct p2pmem_copy)
 * @flags: must be zero
 * @from_fd: an open file of any region, this one included
 * @reserved0: must be zero
 * @to_offset: in this open file; gets memory as with mmap()
 * @from_offset: in the file behind @from_fd, which must own the range (else ENXIO)
 * @length: bytes; any number and any alignment, but multiples of 8 bytes are fast
 *
 * The CPU loads from the one device and stores to the other; no buffer in DRAM
 * holds the bytes in between.  Ranges of one file may overlap.  When the call
 * returns, the bytes are at the device, where other devices see them.  After a
 * failure any part may have been copied; EIO means that one of the devices was reset
 * or is away, and that the copied bytes mean nothing.  Once bytes move, only a fatal
 * signal ends the call: copy some MiB at a time.
 * Errors: EBADF; EINVAL if @from_fd is not a region's; EACCES unless that file is
 * open for reading and this one for writing; EOPNOTSUPP if this file is a pmem device's;
 * EINTR after a fatal signal, or after any while the call waits for memory that is on its way
 * back, when nothing was copied; ENOSPC, EBUSY, ENXIO, ENODEV, EIO, ENOMEM.
 */
struct p2pmem_copy {
	__u32 size;
	__u32 flags;
	__s32 from_fd;
	__u32 reserved0;
	__u64 to_offset;
	__u64 from_offset;
	__u64 length;
};

/**
 * struct p2pmem_locate - where in the region an open file's offset lies
 * @size: in: sizeof(struct p2pmem_locate)
 * @flags: must be zero
 * @file_offset: in: multiple of granule_bytes
 * @region_offset: out: where the same byte lies in the region
 * @length: out: how many bytes lie there without a gap, at least; the bytes after
 *	them may or may not follow directly
 *
 * The answer stays true while the file is open, unless the memory is a GPU's and its owner
 * frees it.  Errors: ENXIO if the file owns no
 * memory there; EINVAL, ENODEV.
 */
struct p2pmem_locate {
	__u32 size;
	__u32 flags;
	__u64 file_offset;
	__u64 region_offset;
	__u64 length;
};

/**
 * struct p2pmem_locate_dmabuf - where in the region a dma-buf's offset lies
 * @size: in: sizeof(struct p2pmem_locate_dmabuf)
 * @flags: in: must be zero
 * @dmabuf_fd: in: a dma-buf that P2PMEM_IOC_EXPORT_DMABUF made with any open file of this region
 * @reserved0: in: must be zero
 * @offset: in: in the dma-buf; multiple of granule_bytes
 * @region_offset: out: where the same byte lies in the region
 * @length: out: how many bytes lie there without a gap
 *
 * With this call a program that was handed a dma-buf learns which memory that is.  The
 * program does not become an owner: the dma-buf keeps the memory, and is what to map.
 * /proc/PID/fdinfo of the descriptor names the region as the exporter
 * ("exp_name: p2pmem0"), and thereby the node to open for this call.
 * Errors: EBADF; EINVAL if @dmabuf_fd is not a dma-buf of this region, also if it is one of
 * an earlier region of the same name; ENXIO past its end; ENODEV.
 */
struct p2pmem_locate_dmabuf {
	__u32 size;
	__u32 flags;
	__s32 dmabuf_fd;
	__u32 reserved0;
	__u64 offset;
	__u64 region_offset;
	__u64 length;
};

/**
 * struct p2pmem_pin_gpu - give this file memory of a GPU, pinned (P2PMEM_IOC_PIN_GPU)
 * @size: in: sizeof(struct p2pmem_pin_gpu)
 * @flags: in: must be zero
 * @va: in: address in the calling process, as cuMemAlloc() gave it
 * @length: in: bytes, > 0; @va and @length are multiples of 64 KiB, and the range
 *	lies in one allocation
 * @offset: in: where it appears in this open file; a multiple of 64 KiB where nothing is yet
 * @reason: out: on failure, cause and remedy, NUL-terminated
 *
 * From then on the file has the GPU's own bytes, which are never zeroed: mmap(), O_DIRECT, exports and so on
 * work there as on any memory.  The memory is unpinned when the file is closed and nobody refers to a page of
 * it.  If the program frees it in the GPU's own API before that, a driver that pins persistently keeps it in
 * place.  With any other driver (of a partitioned or virtual GPU, or before 535) the call that frees it waits
 * for the transfers under way; then the file has nothing at @offset (ENXIO, SIGBUS).
 * Errors: EINVAL (alignment; the driver knows no such memory), ENXIO (another GPU's),
 * EEXIST (the file has memory there, or the driver took back memory there, or on both sides of it, that had been
 * exported as a dma-buf), EBUSY (pinned already), ENOSPC (BAR1 is too small),
 * EOPNOTSUPP (no driver, or one that cannot; a region of another kind), EIO, ENODEV,
 * ENOMEM, EINTR.
 */
struct p2pmem_pin_gpu {
	__u32 size;
	__u32 flags;
	__u64 va;
	__u64 length;
	__u64 offset;
	char reason[P2PMEM_REASON_BYTES];
};

#define P2PMEM_IOC_MAGIC	0xB9
#define P2PMEM_IOC_INFO		_IOWR(P2PMEM_IOC_MAGIC, 0x00, struct p2pmem_info)
#define P2PMEM_IOC_CLAIM		_IOWR(P2PMEM_IOC_MAGIC, 0x01, struct p2pmem_claim)
#define P2PMEM_IOC_SYNC		_IOWR(P2PMEM_IOC_MAGIC, 0x02, struct p2pmem_sync)
#define P2PMEM_IOC_PROBE_PEER		_IOWR(P2PMEM_IOC_MAGIC, 0x03, struct p2pmem_probe)
#define P2PMEM_IOC_EXPORT_DMABUF	_IOWR(P2PMEM_IOC_MAGIC, 0x04, struct p2pmem_export_dmabuf)
#define P2PMEM_IOC_STATUS		_IOWR(P2PMEM_IOC_MAGIC, 0x05, struct p2pmem_status)
#define P2PMEM_IOC_COPY		_IOWR(P2PMEM_IOC_MAGIC, 0x06, struct p2pmem_copy)
#define P2PMEM_IOC_LOCATE		_IOWR(P2PMEM_IOC_MAGIC, 0x07, struct p2pmem_locate)
#define P2PMEM_IOC_PIN_GPU		_IOWR(P2PMEM_IOC_MAGIC, 0x08, struct p2pmem_pin_gpu)
#define P2PMEM_IOC_LOCATE_DMABUF	_IOWR(P2PMEM_IOC_MAGIC, 0x09, struct p2pmem_locate_dmabuf)

/**
 * struct p2pmem_uring_buffer - a range of an open file as a fixed buffer of a
 * ring, without a mapping (P2PMEM_URING_BUFFER, in the cmd of an SQE)
 * @file_offset: multiple of the granule; gets memory as with mmap(), zeroed
 * @granules: the length in granules, below 4 GiB in bytes
 * @index: of an empty slot in the ring's table of buffers
 *
 * This is an IORING_OP_URING_CMD.  It may sleep as an ioctl does, in a worker of the ring.  It
 * completes with 0 or an errno: besides those of mmap(), EBUSY if the slot is not empty, EINVAL
 * if there is no such slot, and EOPNOTSUPP for P2PDMA pages, for memory that a GPU's driver may
 * take back (P2PMEM_IOC_PIN_GPU), and before Linux 7.3, where the file accepts no commands at
 * all.  Requests name the buffer by its index, and their address is the distance from the
 * beginning of the buffer.  A buffer of a file that was opened only for reading can be the
 * source of data but not the destination.
 *
 * The buffer holds the memory like any pin, until IORING_REGISTER_BUFFERS_UPDATE or the
 * end of the ring removes it and no request uses it.
 */
struct p2pmem_uring_buffer {
	__u64 file_offset;
	__u32 granules;
	__u32 index;
};

#define P2PMEM_URING_BUFFER	_IOW(P2PMEM_IOC_MAGIC, 0x20, struct p2pmem_uring_buffer)

/**
 * struct p2pmem_region_add - offer device memory as /dev/p2pmemN
 * @size: in: sizeof(struct p2pmem_region_add)
 * @flags: in: must be zero
 * @kind: in: enum p2pmem_kind
 * @pci_domain: in: PCI segment of the function that has the memory
 * @pci_bus: in: its bus number
 * @pci_devfn: in: its slot (0..31) times 8, plus its function number (0..7)
 * @bar: in: BAR number 0..5, for P2PMEM_KIND_PCI_BAR, and for P2PMEM_KIND_GPU_NVIDIA if
 *	it is not the largest prefetchable one; else 0
 * @reserved0: in: must be zero
 * @page_type: in: enum p2pmem_page_type; out: the type that the region has
 * @memtype: in: enum p2pmem_memtype
 * @region: out: N of /dev/p2pmemN
 * @offset: in: bytes to skip, of the BAR or of the controller's CMB or PMR; a multiple of
 *	2 MiB
 * @length: in: bytes to offer; a multiple of 2 MiB, 0 for as much as can be had behind
 *	@offset
 * @reason: out: on failure, cause and remedy; on success which functions decided
 *	the page type, or which have no route although the caller asked for that type.
 *	NUL-terminated
 * @folio_bytes: in: 0 or 4096: struct pages of 4 KiB each; 2 MiB or 1 GiB:
 *	folios of that size from the start of the region, which save most of the
 *	memory that struct pages take, and have one owner each (docs/uapi.md)
 *
 * The default page type is generic if each NVMe controller and RDMA function of
 * the machine has a route to the region; else p2pdma, if the kernel has it, the kind is
 * pci-bar or gpu-nvidia, and the kernel then stops each one without a route; else the call fails with EHOSTUNREACH.  The kernel maps generic
 * pages for any device without a look at the route.  Memory that its own driver
 * has published is p2pdma.  Page type pmem makes persistent memory a pmem
 * device (docs/uapi.md).
 *
 * pci-bar needs the function to be bound to the driver "p2pmem" first
 * (driver_override, then bind); nvme-cmb and nvme-pmr need it to stay bound
 * to the nvme driver, gpu-nvidia to the driver "nvidia".  A gpu-nvidia region has no
 * free memory: an open file has only what it pins (P2PMEM_IOC_PIN_GPU).
 */
struct p2pmem_region_add {
	__u32 size;
	__u32 flags;
	__u32 kind;
	__u32 pci_domain;
	__u8 pci_bus;
	__u8 pci_devfn;
	__u8 bar;
	__u8 reserved0;
	__u32 page_type;
	__u32 memtype;
	__u32 region;
	__u64 offset;
	__u64 length;
	char reason[P2PMEM_REASON_BYTES];
	__u64 folio_bytes;
};

#define P2PMEM_REMOVE_IF_IDLE	(1U << 0)	/* EBUSY instead of revoking */

/**
 * struct p2pmem_region_remove - take a region away
 * @size: in: sizeof(struct p2pmem_region_remove)
 * @flags: P2PMEM_REMOVE_*
 * @region: in: N of /dev/p2pmemN
 * @reserved0: in: must be zero
 * @reason: out: with EBUSY who holds it; with EINTR that the removal goes on; on success
 *	that the region stays in quarantine, if it does.  NUL-terminated
 *
 * The call revokes mappings (SIGBUS), then waits until no device and no pin refers to
 * the memory.  A signal ends the wait, not the removal.  EBUSY for a pmem device whose
 * disk is open, because it is mounted for example.
 */
struct p2pmem_region_remove {
	__u32 size;
	__u32 flags;
	__u32 region;
	__u32 reserved0;
	char reason[P2PMEM_REASON_BYTES];
};

/**
 * struct p2pmem_nvme_memory - what an NVMe controller says about its memory (P2PMEM_CTL_NVME_MEMORY)
 * @size: in: sizeof(struct p2pmem_nvme_memory)
 * @flags: in: must be zero
 * @pci_domain: in: PCI segment of the controller, which the nvme driver runs
 * @pci_bus: in: its bus number
 * @pci_devfn: in: its slot (0..31) times 8, plus its function number (0..7)
 * @reserved0: in: must be zero
 * @cap: out: CAP; its bits 56 and 57 say whether there is a PMR and a CMB
 * @cmbloc: out: CMBLOC, where the CMB lies; zero while the CMB is disabled
 * @cmbsz: out: CMBSZ, how large the CMB is and what it is for; zero while it is disabled
 * @pmrcap: out: PMRCAP; zero without a PMR
 * @reserved1: in: must be zero
 * @reason: out: on failure, cause and remedy, NUL-terminated
 *
 * The call reads registers (NVMe Base 2.0, 3.1.4) and changes none.  Userspace cannot map
 * them if the kernel keeps the memory of drivers to itself (CONFIG_IO_STRICT_DEVMEM).  EBUSY
 * after ten seconds in which the function was being bound, reset or taken away.
 */
struct p2pmem_nvme_memory {
	__u32 size;
	__u32 flags;
	__u32 pci_domain;
	__u8 pci_bus;
	__u8 pci_devfn;
	__u8 reserved0[2];
	__u64 cap;
	__u32 cmbloc;
	__u32 cmbsz;
	__u32 pmrcap;
	__u32 reserved1;
	char reason[P2PMEM_REASON_BYTES];
};

#define P2PMEM_CTL_REGION_ADD		_IOWR(P2PMEM_IOC_MAGIC, 0x40, struct p2pmem_region_add)
#define P2PMEM_CTL_REGION_REMOVE	_IOWR(P2PMEM_IOC_MAGIC, 0x41, struct p2pmem_region_remove)
#define P2PMEM_CTL_NVME_MEMORY		_IOWR(P2PMEM_IOC_MAGIC, 0x42, struct p2pmem_nvme_memory)

#endif /* _UAPI_P2PMEM_H */
