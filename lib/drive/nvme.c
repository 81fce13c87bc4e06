// SPDX-License-Identifier: Apache-2.0
/*
 * Sends requests as the drive's own commands, by IORING_OP_URING_CMD on the generic
 * device of a namespace.  The kernel maps the memory and rings the doorbell; it
 * splits, merges, schedules and accounts nothing.
 */
#include <liburing.h>
#include <linux/nvme_ioctl.h>

#include "drive/drive.h"

#define NVME_WRITE	0x01
#define NVME_READ	0x02
#define STATUS_MASK	0x7ffU		/* type and code, without "more" and "do not retry" */
#define NO_COMMAND	0U		/* no operation that the NVMe driver knows */

_Static_assert(sizeof(struct nvme_uring_cmd) <= 80, "fits behind the head of a large entry");

static void begin(struct io_uring_sqe *sqe, int fd, unsigned int operation)
{
	memset(sqe, 0, DND_NVME_SQE_BYTES);
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = fd;
	sqe->cmd_op = operation;
}

void dnd_nvme_prepare(struct io_uring_sqe *sqe, const struct dnd_command *command)
{
	const struct dnd_generic *generic = command->generic;
	uint64_t lba = (generic->start_bytes + command->offset_bytes) / generic->lba_bytes;
	struct nvme_uring_cmd *nvme = (struct nvme_uring_cmd *)sqe->cmd;

	begin(sqe, generic->fd, NVME_URING_CMD_IO);
	if (command->fixed_index >= 0) {
		sqe->rw_flags = IORING_URING_CMD_FIXED;
		sqe->buf_index = (uint16_t)command->fixed_index;
	}
	nvme->opcode = command->reads ? NVME_READ : NVME_WRITE;
	nvme->nsid = generic->nsid;
	nvme->addr = (uintptr_t)command->memory;
	nvme->data_len = command->length_bytes;
	nvme->cdw10 = (uint32_t)lba;
	nvme->cdw11 = (uint32_t)(lba >> 32);
	nvme->cdw12 = command->length_bytes / generic->lba_bytes - 1;
}

/* A command is done as a whole, or has failed: in the kernel (< 0) or in the drive (> 0). */
int dnd_nvme_result(int result, uint32_t length_bytes, uint32_t *status)
{
	if (result < 0)
		return result;
	*status = (uint32_t)result & STATUS_MASK;
	return result ? -EIO : (int)length_bytes;
}

const char *dnd_nvme_status_text(uint32_t status)
{
	static const struct {
		uint32_t status;
		const char *text;
	} known[] = {
		{ 0x002, "invalid field in the command" },
		{ 0x004, "data transfer error" },
		{ 0x006, "internal error" },
		{ 0x00b, "invalid namespace or format" },
		{ 0x012, "invalid use of the Controller Memory Buffer" },
		{ 0x020, "the namespace is write-protected" },
		{ 0x080, "LBA out of range" },
		{ 0x081, "capacity exceeded" },
		{ 0x082, "namespace not ready" },
		{ 0x083, "reservation conflict" },
		{ 0x182, "write to a read-only range" },
		{ 0x280, "write fault" },
		{ 0x281, "unrecovered read error" },
		{ 0x286, "access denied" },
		{ 0x287, "deallocated or unwritten block" },
		{ 0x370, "host path error" },
		{ 0x371, "aborted by the host" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].status == status)
			return known[i].text;
	return "see the NVMe specification";
}

/*
 * Sends an operation that the NVMe driver does not know.  The driver answers ENOTTY if
 * it takes commands in this way at all, and the drive sees nothing of it.
 */
static int ask(struct io_uring *ring, int fd)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
	struct io_uring_cqe *cqe;
	int rc;

	if (!sqe)
		return -EBUSY;
	begin(sqe, fd, NO_COMMAND);
	rc = io_uring_submit_and_wait(ring, 1);
	if (rc < 0)
		return rc;
	rc = io_uring_wait_cqe(ring, &cqe);
	return rc ? rc : cqe->res;
}

int dnd_nvme_probe(int fd, int *setup)
{
	struct io_uring ring;
	int rc;

	*setup = io_uring_queue_init(1, &ring, IORING_SETUP_SQE128 | IORING_SETUP_CQE32);
	if (*setup)
		return *setup;
	rc = ask(&ring, fd);
	io_uring_queue_exit(&ring);
	return rc == -ENOTTY ? 0 : rc < 0 ? rc : -EOPNOTSUPP;
}
