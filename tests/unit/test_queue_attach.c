// SPDX-License-Identifier: Apache-2.0
/*
 * Requests to memory that the drive's driver imports.  The kernel is played: it accepts the registration of a dma-buf, which no
 * kernel here does, and turns reads and writes of such a slot into those of the memory itself.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engines.h"
#include "queue_scene.h"
#include "ring/uring_dmabuf.h"
#include "says.h"

#define OFFSET	8192U	/* where the memory begins in its dma-buf */

static struct {
	int answer;		/* the errno of a registration, or 0 */
	unsigned int asked, let_go;
	int dmabuf_fd, file_fd;	/* of the last one */
	unsigned int slot;
	bool holds[DND_SLOTS_MAX];	/* by slot */
	uint8_t *bytes;		/* of the dma-buf */
	unsigned int entries;	/* requests that named the slot, */
	uint64_t address;	/* and of the last one the address, */
	int entry_fd, opcode;	/* descriptor and opcode */
	int moves;		/* -1, or a descriptor that one request reads instead, and so ends with EAGAIN */
} kernel;

static long registers(const struct dnd_uring_update *update)
{
	const struct dnd_uring_buffer *buffer = (const struct dnd_uring_buffer *)(uintptr_t)update->data;

	kernel.asked++;
	assert_int_equal(update->nr, 1);
	assert_true(!update->tags && !update->reserved && update->flags == DND_UPDATE_EXTENDED);
	assert_int_equal(buffer->type, DND_BUFFER_DMABUF);
	assert_true(!buffer->flags && !buffer->size && !buffer->uaddr);
	for (size_t i = 0; i < 6; i++)
		assert_true(!buffer->reserved[i]);
	kernel.dmabuf_fd = buffer->dmabuf_fd;
	kernel.file_fd = buffer->target_fd;
	kernel.slot = update->offset;
	kernel.holds[update->offset] = !kernel.answer;
	errno = kernel.answer;
	return kernel.answer ? -1 : 1;
}

long __real_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	if (number != SYS_io_uring_register || b == IORING_UNREGISTER_EVENTFD)
		return __real_syscall(number, a, b, c, d, e, f);
	assert_int_equal(b, IORING_REGISTER_BUFFERS_UPDATE);
	assert_int_equal(d, sizeof(struct dnd_uring_update));
	return registers((const struct dnd_uring_update *)c);
}

/* When the slot is emptied, the dma-buf is open still. */
int __real_io_uring_register_buffers_update_tag(struct io_uring *ring, unsigned int slot, const struct iovec *vectors,
						const __u64 *tags, unsigned int count);
int __wrap_io_uring_register_buffers_update_tag(struct io_uring *ring, unsigned int slot, const struct iovec *vectors,
						const __u64 *tags, unsigned int count);
int __wrap_io_uring_register_buffers_update_tag(struct io_uring *ring, unsigned int slot, const struct iovec *vectors,
						const __u64 *tags, unsigned int count)
{
	assert_null(vectors->iov_base);
	assert_true(kernel.holds[slot]);
	kernel.holds[slot] = false;
	assert_true(fcntl(kernel.dmabuf_fd, F_GETFD) >= 0);
	kernel.let_go++;
	return __real_io_uring_register_buffers_update_tag(ring, slot, vectors, tags, count);
}

static void play(struct io_uring_sqe *sqe)
{
	if (sqe->opcode != IORING_OP_READ_FIXED && sqe->opcode != IORING_OP_WRITE_FIXED)
		return;
	assert_true(kernel.holds[sqe->buf_index]);
	kernel.entries++;
	kernel.address = sqe->addr;
	kernel.entry_fd = sqe->fd;
	kernel.opcode = sqe->opcode;
	sqe->opcode = sqe->opcode == IORING_OP_READ_FIXED ? IORING_OP_READ : IORING_OP_WRITE;
	sqe->addr += (uintptr_t)kernel.bytes;
	sqe->buf_index = 0;
	if (kernel.moves < 0)
		return;
	sqe->fd = kernel.moves;
	sqe->off = 0;
	sqe->rw_flags = RWF_NOWAIT;
	kernel.moves = -1;
}

/* Called right before entries are handed over. */
void __real_dnd_ring_vet(struct dnd_ring *ring);
void __wrap_dnd_ring_vet(struct dnd_ring *ring);
void __wrap_dnd_ring_vet(struct dnd_ring *ring)
{
	struct io_uring_sq *sq = &ring->uring.sq;

	if (!ring->aio)
		for (unsigned int at = io_uring_smp_load_acquire(sq->khead); at != sq->sqe_tail; at++)
			play(dnd_ring_entry(ring, at));
	__real_dnd_ring_vet(ring);
}

/* Makes the memory that donard_memory_from_dmabuf() makes of page frames, or of a dma-buf that its exporter does not map. */
static void take_dmabuf(struct scene *scene, bool mapped)
{
	struct donard_memory *memory = dnd_memory_new(scene->ctx, "");

	memory->dmabuf.fd = memfd_create("dma-buf", MFD_CLOEXEC);
	assert_int_equal(ftruncate(memory->dmabuf.fd, OFFSET + BYTES), 0);
	memory->dmabuf.writable = true;
	memory->dmabuf.bytes = OFFSET + BYTES;
	strcpy(memory->dmabuf.exporter, "stranger");
	strcpy(memory->dmabuf.name, "dma-buf of stranger");
	memory->dmabuf_offset = OFFSET;
	memory->length = BYTES;
	memory->pages = DONARD_PAGES_NONE;
	kernel = (typeof(kernel)){ .moves = -1 };
	kernel.bytes = mmap(NULL, OFFSET + BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memory->dmabuf.fd, 0);
	assert_true(kernel.bytes != MAP_FAILED);
	if (mapped) {
		memory->window.map_bytes = BYTES;
		memory->window.file_offset = OFFSET;
		memory->window.map = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memory->dmabuf.fd, OFFSET);
		memory->window.data = memory->window.map;
	} else {
		strcpy(memory->unmapped, "its exporter does not map it");
	}
	donard_memory_free(scene->memory);
	scene->memory = memory;
}

static struct scene *scene_with(void **state, bool mapped)
{
	struct scene *scene = scene_of(state, 8, 0);

	take_dmabuf(scene, mapped);
	return scene;
}

static void done(struct scene *scene, int64_t result)
{
	assert_int_equal(waits(scene, 1), 1);
	assert_int_equal(scene->got[0].result, result);
	assert_int_equal(scene->got[0].route, DONARD_ROUTE_NONE);
	assert_int_equal(scene->got[0].evidence, DONARD_EVIDENCE_PREDICTED);
	assert_int_equal(scene->got[0].flags, 0);
}

/* The texts are those of a kernel that has no such call, whatever the reason. */
static void refused_as_ever(void **state)
{
	static const int answers[] = { EINVAL, EOPNOTSUPP, ENOMEM, EBADF };
	struct scene *scene = scene_with(state, true);

	for (unsigned int i = 0; i < 4; i++) {
		kernel.answer = answers[i];
		assert_refused(scene, reads(scene, 0, 0, 4096, 0), EOPNOTSUPP, "unsupported");
		assert_says(donard_error(scene->ctx), "dma-buf of stranger: its exporter maps it without struct pages, which the kernel "
			    "needs to let a drive reach it.");
		assert_int_equal(kernel.asked, refused_with ? 0 : i + 1);	/* Linux AIO asks nothing */
	}
	take_dmabuf(scene, false);
	kernel.answer = EINVAL;
	assert_refused(scene, writes(scene, 0, 0, 4096, 0), EOPNOTSUPP, "unsupported");
	assert_says(donard_error(scene->ctx), "dma-buf of stranger: neither the CPU nor a drive's driver reaches it: its exporter "
		    "does not map it.");
	open_queue(scene, 8, DONARD_QUEUE_ALLOW_BOUNCE);
	assert_refused(scene, reads(scene, 0, 0, 4096, 0), EOPNOTSUPP, "unsupported");
	assert_refused(scene, reads(scene, 0, 1, 4096, 0), EOPNOTSUPP, "unsupported");
	assert_int_equal(kernel.entries + kernel.let_go, 0);
}

static void moves_bytes(struct scene *scene)
{
	assert_int_equal(reads(scene, 131072, 4096, 65536, 0), 0);
	done(scene, 65536);
	assert_memory_equal(kernel.bytes + OFFSET + 4096, scene->data + 131072, 65536);
	assert_true(kernel.opcode == IORING_OP_READ_FIXED && kernel.address == OFFSET + 4096);
	assert_int_equal(kernel.dmabuf_fd, scene->memory->dmabuf.fd);
	assert_int_equal(kernel.file_fd, scene->file->drive.fd);
	assert_int_equal(kernel.entry_fd, scene->file->drive.fd);
	assert_int_equal(writes(scene, 0, 4096, 65536, 0), 0);
	done(scene, 65536);
	assert_int_equal(kernel.opcode, IORING_OP_WRITE_FIXED);
	assert_int_equal(reads(scene, 0, 0, BYTES, 0), 0);
	done(scene, BYTES);
	assert_memory_equal(kernel.bytes + OFFSET, scene->data + 131072, 65536);
	assert_memory_equal(kernel.bytes + OFFSET + 65536, scene->data + 65536, BYTES - 65536);
	assert_int_equal(kernel.entries, 2 + BYTES / 131072);
	assert_int_equal(kernel.asked, 1);
}

static void goes_by_its_import(void **state)
{
	for (int mapped = 0; mapped < 2; mapped++) {
		struct scene *scene = scene_with(state, mapped);

		moves_bytes(scene);
		write_file(scene->path, scene->data, BYTES);
	}
}

/* An aligned request is attached even if the queue could bounce it; an unaligned one goes by the CPU, if that has a mapping. */
static void bounces_only_what_it_must(void **state)
{
	struct scene *scene = scene_with(state, false);

	open_queue(scene, 8, DONARD_QUEUE_ALLOW_BOUNCE);
	assert_int_equal(reads(scene, 0, 0, 4096, 0), 0);
	done(scene, 4096);
	assert_refused(scene, reads(scene, 0, 1, 4096, 0), EOPNOTSUPP, "unsupported");
	open_queue(scene, 8, 0);
	assert_refused(scene, reads(scene, 0, 1, 4096, 0), EINVAL, "alignment");
	assert_refused(scene, reads(scene, 0, BYTES, 4096, 0), ENXIO, "past-end");
	scene->memory->dmabuf.writable = false;
	assert_refused(scene, reads(scene, 0, 0, 4096, 0), EROFS, "read-only");
}

/* The exporter moved it meanwhile. */
static void repeated_when_it_moved(void **state)
{
	struct scene *scene = scene_with(state, false);
	int pipes[2];

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	kernel.moves = pipes[0];
	assert_int_equal(reads(scene, 0, 0, 4096, 0), 0);
	done(scene, 4096);
	assert_int_equal(kernel.entries, 2);
	assert_memory_equal(kernel.bytes + OFFSET, scene->data, 4096);
	close(pipes[0]);
	close(pipes[1]);
}

static void look_after(struct scene *scene)
{
	scene->queue->looked_seconds = 0;
	assert_int_equal(donard_queue_poll(scene->queue, scene->got, 64), 0);
}

/* The next request is decided anew, whether the pair was attached or refused before. */
static void refused_after_it_was_attached(void **state)
{
	struct scene *scene = scene_with(state, false);

	assert_int_equal(reads(scene, 0, 0, 4096, 0), 0);
	done(scene, 4096);
	assert_int_equal(donard_queue_unregister(scene->queue, scene->memory), 0);
	kernel.answer = ENOMEM;
	assert_refused(scene, reads(scene, 0, 0, 4096, 0), EOPNOTSUPP, "unsupported");
	assert_refused(scene, reads(scene, 0, 0, 4096, 0), EOPNOTSUPP, "unsupported");
	assert_refused(scene, writes(scene, 0, 0, 4096, 0), EOPNOTSUPP, "unsupported");
	kernel.answer = 0;
	assert_int_equal(reads(scene, 0, 0, 4096, 0), 0);
	done(scene, 4096);
	assert_int_equal(donard_queue_unregister(scene->queue, NULL), 0);
	assert_int_equal(kernel.let_go, 1);
}

static void let_go_by_the_program(void **state)
{
	struct scene *scene = scene_with(state, false);

	assert_int_equal(donard_queue_unregister(scene->queue, scene->memory), 0);
	assert_int_equal(kernel.let_go, 0);
	assert_int_equal(reads(scene, 0, 0, 4096, 0), 0);
	assert_int_equal(donard_queue_unregister(scene->queue, scene->memory), 0);	/* waits for it */
	assert_int_equal(kernel.let_go, 1);
	done(scene, 4096);
	assert_int_equal(scene->memory->attachments + scene->file->attachments, 0);
	assert_int_equal(reads(scene, 0, 0, 4096, 0), 0);
	done(scene, 4096);
	assert_int_equal(kernel.asked, 2);
	look_after(scene);
	assert_int_equal(kernel.let_go, 1);
	donard_queue_close(scene->queue);
	scene->queue = NULL;
	assert_int_equal(kernel.let_go, 2);
}

/* The exporter gets its memory back, though the queue goes on; not before the request has ended. */
static void let_go_with_the_memory(void **state)
{
	struct scene *scene = scene_with(state, false);
	int fd = scene->memory->dmabuf.fd;

	assert_int_equal(reads(scene, 0, 0, 4096, 0), 0);
	donard_memory_free(scene->memory);
	scene->memory = NULL;
	assert_int_equal(donard_queue_submit(scene->queue), 0);
	assert_int_equal(kernel.let_go, 0);
	done(scene, 4096);
	assert_true(fcntl(fd, F_GETFD) >= 0);
	look_after(scene);
	assert_int_equal(kernel.let_go, 1);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(scene->queue->ring.slots.taken[kernel.slot], 0);
}

static void let_go_with_the_file(void **state)
{
	struct scene *scene = scene_with(state, false);
	struct donard_file *file;

	assert_int_equal(donard_file_open(scene->ctx, scene->path, 0, &file), 0);
	assert_int_equal(reads(scene, 0, 0, 4096, 0), 0);
	done(scene, 4096);
	assert_int_equal(donard_queue_read(scene->queue, file, 0, scene->memory, 0, 4096, NULL), 0);
	done(scene, 4096);
	assert_int_equal(kernel.asked, 2);	/* a registration is for one open file */
	assert_int_equal(scene->memory->attachments, 2);
	assert_int_equal(dnd_memory_users(scene->memory), 1);
	assert_int_equal(dnd_file_users(scene->file), 1);	/* a copy may have it for itself */
	donard_file_close(file);
	look_after(scene);
	assert_int_equal(kernel.let_go, 1);
	assert_int_equal(scene->memory->attachments, 1);
}

int main(void)
{
#define test(name) cmocka_unit_test_setup_teardown(name, queue_setup, queue_teardown)
	const struct CMUnitTest by_io_uring[] = {	/* Linux AIO cannot import */
		test(goes_by_its_import),
		test(bounces_only_what_it_must),
		test(repeated_when_it_moved),
		test(refused_after_it_was_attached),
		test(let_go_by_the_program),
		test(let_go_with_the_memory),
		test(let_go_with_the_file),
	};
	const struct CMUnitTest tests[] = {
		test(refused_as_ever),
	};
	return run_by_io_uring(by_io_uring) + run_by_both_engines(tests);
}
