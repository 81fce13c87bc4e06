// SPDX-License-Identifier: Apache-2.0
/* NVMe commands past the block layer: which commands are sent, and to which drive. */
#include <liburing.h>
#include <linux/nvme_ioctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "unit.h"
#include "fake_sysfs.h"
#include "drive/blockdev.h"
#include "drive/generic.h"
#include "says.h"
#include "drive/drive.h"

static const struct dnd_generic generic = { .fd = 7, .nsid = 3, .lba_bytes = 4096,
					    .start_bytes = 1 << 20, .limit_bytes = 128 << 10 };

static const struct nvme_uring_cmd *prepared(struct io_uring_sqe sqe[2], bool reads, int index)
{
	struct dnd_command command = {
		.generic = &generic,
		.reads = reads,
		.memory = (void *)0x10000,
		.length_bytes = 32768,
		.offset_bytes = 1ULL << 45,
		.fixed_index = index,
	};

	memset(sqe, 0xff, DND_NVME_SQE_BYTES);
	dnd_nvme_prepare(sqe, &command);
	return (const struct nvme_uring_cmd *)sqe->cmd;
}

static void a_read(void **state)
{
	struct io_uring_sqe sqe[2];
	const struct nvme_uring_cmd *nvme = prepared(sqe, true, 5);
	uint64_t lba = ((1ULL << 45) + (1 << 20)) / 4096;

	(void)state;
	assert_int_equal(sqe->opcode, IORING_OP_URING_CMD);
	assert_int_equal(sqe->fd, 7);
	assert_int_equal(sqe->cmd_op, NVME_URING_CMD_IO);
	assert_int_equal(sqe->rw_flags, IORING_URING_CMD_FIXED);
	assert_int_equal(sqe->buf_index, 5);
	assert_int_equal(nvme->opcode, 2);
	assert_int_equal(nvme->nsid, 3);
	assert_int_equal(nvme->addr, 0x10000);
	assert_int_equal(nvme->data_len, 32768);
	assert_int_equal(nvme->cdw10, (uint32_t)lba);
	assert_int_equal(nvme->cdw11, lba >> 32);
	assert_int_equal(nvme->cdw12, 7);	/* eight blocks */
}

/* The kernel reads the whole entry, so nothing of an earlier command may be left in it. */
static void a_write(void **state)
{
	struct io_uring_sqe sqe[2];
	const struct nvme_uring_cmd *nvme = prepared(sqe, false, -1);

	(void)state;
	assert_int_equal(sqe->rw_flags, 0);
	assert_int_equal(sqe->flags, 0);
	assert_int_equal(sqe->buf_index, 0);
	assert_int_equal(nvme->opcode, 1);
	assert_int_equal(nvme->flags, 0);
	assert_int_equal(nvme->metadata, 0);
	assert_int_equal(nvme->cdw13 | nvme->cdw14 | nvme->cdw15 | nvme->timeout_ms, 0);
}

static void results(void **state)
{
	uint32_t status = 0;

	(void)state;
	assert_int_equal(dnd_nvme_result(0, 4096, &status), 4096);
	assert_int_equal(dnd_nvme_result(-EREMOTEIO, 4096, &status), -EREMOTEIO);
	assert_int_equal(status, 0);
	assert_int_equal(dnd_nvme_result(0x4281, 4096, &status), -EIO);	/* do not retry */
	assert_int_equal(status, 0x281);
	assert_string_equal(dnd_nvme_status_text(status), "unrecovered read error");
	assert_non_null(dnd_nvme_status_text(0x7ff));
}

static void formats(void **state)
{
	uint8_t identify[4096] = { 0 };

	(void)state;
	identify[26] = 1 | 1 << 5;	/* format 17 */
	identify[128 + 4 * 17 + 2] = 12;
	assert_null(dnd_generic_unfit(identify, 4096));
	assert_non_null(dnd_generic_unfit(identify, 512));
	identify[29] = 1;
	assert_says(dnd_generic_unfit(identify, 4096), "protection");
	identify[29] = 0;
	identify[128 + 4 * 17] = 8;
	assert_says(dnd_generic_unfit(identify, 4096), "metadata");
	identify[128 + 4 * 17] = 0;
	identify[128 + 4 * 17 + 2] = 200;
	assert_non_null(dnd_generic_unfit(identify, 4096));
}

static void kernels(void **state)
{
	(void)state;
	assert_true(dnd_generic_kernel_fits("7.3.4+deb13-amd64"));
	assert_true(dnd_generic_kernel_fits("6.12.107+deb13-amd64"));
	assert_false(dnd_generic_kernel_fits("6.11.6"));
	assert_false(dnd_generic_kernel_fits("6.1.0-50-amd64"));
	assert_false(dnd_generic_kernel_fits("5.19"));
	assert_false(dnd_generic_kernel_fits("new"));
}

static void fake_drive(struct fake *fake, struct dnd_drive *drive)
{
	memset(drive, 0, sizeof(*drive));
	fake_nvme(fake, 0, "0000:01:00.0");
	drive->path = "/dev/nvme0n1p1";
	assert_int_equal(dnd_blockdev_resolve(fake->ctx, makedev(259, 1), drive->path,
					      &drive->blockdev), 0);
}

static void found_beside_the_disk(void **state)
{
	struct fake *fake = *state;
	struct dnd_drive drive;
	char name[64];
	dev_t device;

	fake_drive(fake, &drive);
	assert_int_equal(dnd_generic_find(fake->ctx, &drive, name, sizeof(name), &device),
			 -EOPNOTSUPP);
	fake_file(fake, "devices/pci/0000:01:00.0/nvme/nvme0/ng0n1/dev", "242:9");
	assert_int_equal(dnd_generic_find(fake->ctx, &drive, name, sizeof(name), &device), 0);
	assert_string_equal(name, "ng0n1");
	assert_int_equal(device, makedev(242, 9));
}

/* The text has to fit a queue and the server of a cache, too. */
static void needs_a_device(void **state)
{
	struct fake *fake = *state;
	struct dnd_drive drive = { .path = "/mnt/file", .fd = -1, .is_file = true };
	struct dnd_generic opened = { .fd = -1 };

	assert_int_equal(dnd_generic_open(fake->ctx, &drive, 512, &opened), -EOPNOTSUPP);
	assert_says(donard_error(fake->ctx), "Name one, or leave PASSTHROUGH out.");
}

static void limits(void **state)
{
	struct fake *fake = *state;
	struct dnd_generic limited;
	struct dnd_drive drive;

	fake_drive(fake, &drive);
	assert_int_equal(dnd_generic_limits(fake->ctx, &drive, &limited), -EOPNOTSUPP);
	fake_file(fake, "block/nvme0n1/queue/max_hw_sectors_kb", "510");
	fake_file(fake, "block/nvme0n1/queue/max_segments", "1000");
	assert_int_equal(dnd_generic_limits(fake->ctx, &drive, &limited), 0);
	assert_int_equal(limited.limit_bytes, 508 << 10);	/* whole blocks of 4096 */
	assert_int_equal(limited.start_bytes, 1024 * 512);
	assert_int_equal(limited.memory_align_bytes, 512);
	fake_file(fake, "block/nvme0n1/queue/max_segments", "65");
	fake_file(fake, "block/nvme0n1/queue/dma_alignment", "3");
	assert_int_equal(dnd_generic_limits(fake->ctx, &drive, &limited), 0);
	assert_int_equal(limited.limit_bytes, 64 * sysconf(_SC_PAGESIZE));
	assert_int_equal(limited.memory_align_bytes, 4);
	fake_file(fake, "block/nvme0n1/queue/max_segments", "1000000");
	fake_file(fake, "block/nvme0n1/queue/max_hw_sectors_kb", "1000000");
	assert_int_equal(dnd_generic_limits(fake->ctx, &drive, &limited), 0);
	assert_int_equal(limited.limit_bytes, 65536ULL * 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_read),
		cmocka_unit_test(a_write),
		cmocka_unit_test(results),
		cmocka_unit_test(formats),
		cmocka_unit_test(kernels),
		cmocka_unit_test_setup_teardown(found_beside_the_disk, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(needs_a_device, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(limits, fake_setup, fake_teardown),
	};

	return cmocka_run_group_tests_name("generic", tests, NULL, NULL);
}
