// SPDX-License-Identifier: Apache-2.0
/*
 * Has a drive's driver import a dma-buf, which needs no struct pages for that (Linux 7.4).  io_uring holds the dma-buf in
 * one of the ring's slots, for requests to one open file, and only drives' own nodes can do it, not files of a file system.
 *
 * The slot has references of its own to the dma-buf and to the open file.  They end when the slot was emptied and
 * the last request that used it has ended, or with the ring.  When the exporter moves the memory or takes it back
 * (invalidate_mappings()), the kernel waits for the requests in flight and unmaps it; the next request maps it anew, wherever
 * it lies then, or fails.  One that comes in between may end with EAGAIN, and the ring tries it again, as it does all.  A drive
 * that is reset or removed unmaps it, too; its requests then end as all requests to such a drive do.
 */
#include <sys/syscall.h>
#include <unistd.h>

#include "ring/ring.h"
#include "ring/uring_dmabuf.h"

/* The kernel says how many it took: one, or -1 with errno. */
static int put_into_slot(const struct dnd_ring *ring, unsigned int slot, int dmabuf_fd, int file_fd)
{
	const struct dnd_uring_buffer buffer = { .type = DND_BUFFER_DMABUF, .dmabuf_fd = dmabuf_fd, .target_fd = file_fd };
	const struct dnd_uring_update update = {
		.offset = slot, .flags = DND_UPDATE_EXTENDED, .data = (uintptr_t)&buffer, .nr = 1,
	};

	return syscall(SYS_io_uring_register, ring->uring.ring_fd, IORING_REGISTER_BUFFERS_UPDATE, &update,
		       sizeof(update)) == 1 ? 0 : -errno;
}

int dnd_ring_attach(struct dnd_ring *ring, int dmabuf_fd, int file_fd, struct dnd_attached *attached)
{
	int slot = dnd_slots_find(&ring->slots, 1);
	int rc;

	if (slot < 0)
		return ring->slots.count ? -ENOSPC : -EOPNOTSUPP;
	rc = put_into_slot(ring, (unsigned int)slot, dmabuf_fd, file_fd);
	if (rc)
		return rc;
	ring->slots.taken[slot] = 1;
	attached->slot = (unsigned int)slot;
	return 0;
}

void dnd_ring_detach(struct dnd_ring *ring, const struct dnd_attached *attached)
{
	dnd_slots_empty(ring, attached->slot, 1);
	ring->slots.taken[attached->slot] = 0;
}
