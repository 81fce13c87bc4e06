// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <linux/fs.h>
#include <linux/nvme_ioctl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include "compare.h"

#define IDENTIFY		0x06
#define IDENTIFY_CONTROLLER	1
#define IDENTIFY_BYTES		4096
#define ONCS			520	/* optional commands, in 16 bits */
#define ONCS_COMPARE		0x01
#define COMPARE			0x05
#define STATUS_MASK		0x7ff	/* without "do not retry" and "more" */
#define STATUS_INVALID_OPCODE	0x001
#define STATUS_INVALID_FIELD	0x002
#define STATUS_DIFFERENT	0x285

bool compare_fit(int fd, char why[COMPARE_TEXT_BYTES])
{
	uint8_t identify[IDENTIFY_BYTES] = { 0 };
	struct nvme_admin_cmd command = {
		.opcode = IDENTIFY, .cdw10 = IDENTIFY_CONTROLLER,
		.addr = (uintptr_t)identify, .data_len = sizeof(identify),
	};
	int status = ioctl(fd, NVME_IOCTL_ADMIN_CMD, &command);

	if (status < 0 && (errno == EACCES || errno == EPERM))
		snprintf(why, COMPARE_TEXT_BYTES, "only root may send the drive a command that compares");
	else if (status < 0)
		snprintf(why, COMPARE_TEXT_BYTES, "the drive cannot be asked whether it compares: %m");
	else if (status > 0)
		snprintf(why, COMPARE_TEXT_BYTES, "the drive does not say whether it compares (status 0x%x)", status);
	else if (!(identify[ONCS] & ONCS_COMPARE))
		snprintf(why, COMPARE_TEXT_BYTES, "the drive has no command that compares");
	else
		return true;
	return false;
}

bool compare_unsupported(int status)
{
	return status < 0 || (status & STATUS_MASK) == STATUS_INVALID_OPCODE ||
	       (status & STATUS_MASK) == STATUS_INVALID_FIELD;
}

enum compare_result compare_with(int fd, const void *memory, size_t bytes, int *status)
{
	int block_bytes = 0, namespace = ioctl(fd, NVME_IOCTL_ID);
	struct nvme_passthru_cmd command = {
		.opcode = COMPARE, .nsid = (uint32_t)namespace,
		.addr = (uintptr_t)memory, .data_len = (uint32_t)bytes,
	};

	*status = -EINVAL;
	if (namespace <= 0 || ioctl(fd, BLKSSZGET, &block_bytes) || block_bytes <= 0)
		return COMPARE_FAILED;
	command.cdw12 = (uint32_t)(bytes / (size_t)block_bytes - 1);
	*status = ioctl(fd, NVME_IOCTL_IO_CMD, &command);
	if (*status < 0)
		*status = -errno;
	if (!*status)
		return COMPARE_EQUAL;
	return *status > 0 && (*status & STATUS_MASK) == STATUS_DIFFERENT ? COMPARE_DIFFERENT : COMPARE_FAILED;
}
