// SPDX-License-Identifier: Apache-2.0
/*
 * A dma-buf that a caller handed over, and the CPU's access to a mapping of it.
 *
 * The kernel makes the accesses, by process_vm_readv() and process_vm_writev() with this
 * process at both ends: if the exporter took the memory back, the call fails, where a load
 * would raise SIGBUS.  The mapping is always the local end of the call, which the kernel
 * copies by address; the remote end needs struct pages, which few exporters map.
 */
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/base.h"

static bool is_dmabuf(int fd)
{
	struct statfs found;

	return !fstatfs(fd, &found) && found.f_type == DMA_BUF_MAGIC;
}

/* Finds the name that the exporter's driver gives itself. */
static int read_exporter(struct donard_context *ctx, struct dnd_dmabuf *dmabuf)
{
	char path[64], line[128];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", dmabuf->fd);
	file = fopen(path, "re");
	if (!file && dnd_error_is_want(errno))
		return dnd_fail_errno(ctx, errno, "%s, which names the exporter of the dma-buf, cannot be opened", path);
	if (!file)
		return dnd_fail(ctx, DND_E_UNSUPPORTED, "%s, which names the exporter of the dma-buf, cannot be opened (%s). "
				"Mount /proc.", path, strerror(errno));
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "exp_name: %31s", dmabuf->exporter) == 1)
			break;
	fclose(file);
	snprintf(dmabuf->name, sizeof(dmabuf->name), "dma-buf of %s",
		 *dmabuf->exporter ? dmabuf->exporter : "an unknown exporter");
	return 0;
}

bool dnd_dmabuf_is_forbidden(int error_number)
{
	return error_number == EPERM || error_number == ENOSYS;
}

int dnd_dmabuf_forbidden(struct donard_context *ctx, int error_number, const char *name)
{
	return dnd_fail_errno(ctx, error_number, "%s: this process may not call process_vm_readv() and process_vm_writev(), by which "
			      "its bytes are accessed. Allow them in the filter of its sandbox (seccomp)", name);
}

static int refuse(struct donard_context *ctx, int fd)
{
	if (fcntl(fd, F_GETFD) < 0)
		return dnd_fail_member(ctx, DND_E_BAD_NAME, DND_AT("descriptor"),
				       "descriptor %d is not open. Pass the descriptor of a "
				       "dma-buf before it is closed.", fd);
	return dnd_fail_member(ctx, DND_E_BAD_NAME, DND_AT("descriptor"),
			       "descriptor %d is not a dma-buf's. Pass one that an exporter returned, "
			       "such as donard_memory_export() or cuMemGetHandleForAddressRange().", fd);
}

int dnd_dmabuf_open(struct donard_context *ctx, int fd, struct dnd_dmabuf *dmabuf)
{
	off_t end;

	dmabuf->fd = -1;
	if (!is_dmabuf(fd))
		return refuse(ctx, fd);
	dmabuf->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (dmabuf->fd < 0)
		return dnd_fail_errno(ctx, errno, "descriptor %d of a dma-buf cannot be duplicated", fd);
	end = lseek(dmabuf->fd, 0, SEEK_END);
	dmabuf->bytes = end < 0 ? 0 : (uint64_t)end;
	dmabuf->writable = (fcntl(dmabuf->fd, F_GETFL) & O_ACCMODE) == O_RDWR;
	return read_exporter(ctx, dmabuf);
}

void dnd_dmabuf_close(struct dnd_dmabuf *dmabuf)
{
	if (dmabuf->fd >= 0)
		close(dmabuf->fd);
	dmabuf->fd = -1;
}

/* Waits for the fences of devices, and has the exporter keep the CPU's caches coherent. */
static int bracket(const struct dnd_dmabuf *dmabuf, uint64_t flags)
{
	struct dma_buf_sync sync = { .flags = flags };
	int rc;

	do
		rc = ioctl(dmabuf->fd, DMA_BUF_IOCTL_SYNC, &sync);
	while (rc && (errno == EINTR || errno == EAGAIN));
	return rc ? -errno : 0;
}

int dnd_dmabuf_sync(const struct dnd_dmabuf *dmabuf)
{
	int rc = bracket(dmabuf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW);

	return rc ? rc : bracket(dmabuf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW);
}

static ssize_t move_some(uint8_t *mapping, uint8_t *dram, size_t bytes, bool stores)
{
	struct iovec near = { mapping, bytes }, far = { dram, bytes };

	return stores ? process_vm_readv(getpid(), &near, 1, &far, 1, 0) :
			process_vm_writev(getpid(), &near, 1, &far, 1, 0);
}

/* Returns -ENODEV if the exporter took the mapping back, or -EFAULT if the other end is not plain memory. */
static int whose_fault(uint8_t *mapping)
{
	uint8_t byte;

	return move_some(mapping, &byte, 1, false) == 1 ? -EFAULT : -ENODEV;
}

/* The kernel may move less than asked at a time. */
static int move(uint8_t *mapping, uint8_t *dram, size_t bytes, bool stores)
{
	while (bytes) {
		ssize_t moved = move_some(mapping, dram, bytes, stores);

		if (moved <= 0)
			return moved && errno != EFAULT ? -errno : whose_fault(mapping);
		mapping += moved;
		dram += moved;
		bytes -= (size_t)moved;
	}
	return 0;
}

static int access_mapping(const struct dnd_dmabuf *dmabuf, uint8_t *mapping, uint8_t *dram, size_t bytes,
			  bool stores)
{
	uint64_t direction = stores ? DMA_BUF_SYNC_WRITE : DMA_BUF_SYNC_READ;
	int rc = bracket(dmabuf, DMA_BUF_SYNC_START | direction), end;

	if (rc)
		return rc;
	rc = move(mapping, dram, bytes, stores);
	end = bracket(dmabuf, DMA_BUF_SYNC_END | direction);
	return rc ? rc : end;
}

int dnd_dmabuf_load(const struct dnd_dmabuf *dmabuf, const void *mapping, void *to, size_t bytes)
{
	return access_mapping(dmabuf, (uint8_t *)(uintptr_t)mapping, to, bytes, false);
}

int dnd_dmabuf_store(const struct dnd_dmabuf *dmabuf, void *mapping, const void *from, size_t bytes)
{
	return access_mapping(dmabuf, mapping, (uint8_t *)(uintptr_t)from, bytes, true);
}
