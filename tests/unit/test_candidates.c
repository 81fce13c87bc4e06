// SPDX-License-Identifier: Apache-2.0
/* Memory that could be a region, and how it is recognized later: on an invented machine. */
#include <errno.h>
#include <sys/utsname.h>

#include "unit.h"
#include "base/pciconfig.h"
#include "donard/candidate.h"
#include "fake_sysfs.h"
#include "play_ioctl.h"

static const struct donard_candidate_info *only(struct fake *fake,
						struct donard_candidate_list **list)
{
	assert_int_equal(donard_candidate_list(fake->ctx, list), 1);
	return donard_candidate_get(*list, 0);
}

static void a_bar(void **state)
{
	struct fake *fake = *state;
	const struct donard_candidate_info *info;
	struct donard_candidate_list *list;

	fake_pci(fake, "0000:03:00.0", "pci0000:00/0000:00:03.0/0000:01:00.0/0000:02:01.0", "0x050000",
		 FAKE_16K FAKE_NO_BAR FAKE_64M FAKE_NO_BAR FAKE_NO_BAR FAKE_NO_BAR);
	fake_pci_serial(fake, "0000:03:00.0");
	fake_file(fake, "bus/pci/slots/7/address", "0000:03:00");
	fake_file(fake, "bus/pci/slots/8/address", "0000:03:01");
	info = only(fake, &list);
	assert_int_equal(info->size, sizeof(*info));
	assert_int_equal(info->kind, DONARD_KIND_PCI_BAR);
	assert_int_equal(info->bar, 2);
	assert_int_equal(info->size_bytes, 64 << 20);
	assert_string_equal(info->bdf, "0000:03:00.0");
	assert_string_equal(info->driver, "");
	assert_string_equal(info->serial, "00-11-22-33-44-55-66-77");
	assert_string_equal(info->path, "pci-0000:00:03.0/00.0/01.0/00.0");
	assert_string_equal(info->slot, "7");
	assert_string_equal(info->by_id, "pci-00-11-22-33-44-55-66-77-bar2");
	assert_string_equal(info->by_path, "pci-0000:00:03.0-00.0-01.0-00.0-bar2");
	assert_string_equal(info->obstacle, "");
	assert_null(donard_candidate_get(list, 1));
	donard_candidate_list_free(list);
}

/*
 * The kernel takes the address away from a BAR that lies on memory in quarantine, and the firmware's setup cannot restore it.
 */
static void a_bar_on_memory_in_quarantine(void **state)
{
	static const char unset[] = "0x0000000000000000 0x0000000003ffffff 0x000000002014220c\n";
	struct fake *fake = *state;
	struct donard_candidate_list *list;

	fake_pci(fake, "0000:03:00.0", "pci0000:00", "0x050000", unset);
	assert_non_null(strstr(only(fake, &list)->obstacle, "firmware's setup"));
	donard_candidate_list_free(list);
	fake_region(fake, "p2pmem3", "pci-bar", "0000:03:00.0");
	assert_non_null(strstr(only(fake, &list)->obstacle, "firmware's setup"));
	donard_candidate_list_free(list);
	fake_file(fake, "class/p2pmem/p2pmem3/state", "quarantined");
	assert_non_null(strstr(only(fake, &list)->obstacle, "the memory of p2pmem3, which is in quarantine: end its holders"));
	assert_non_null(strstr(donard_candidate_get(list, 0)->obstacle, "/0000:03:00.0/remove;"));
	donard_candidate_list_free(list);
	fake_file(fake, "devices/0000:02:00.0/sriov_numvfs", "2");
	fake_link(fake, "bus/pci/devices/0000:03:00.0/physfn", "devices/0000:02:00.0");
	assert_non_null(strstr(only(fake, &list)->obstacle, "/0000:02:00.0/sriov_numvfs"));
	donard_candidate_list_free(list);
}

static void a_drive(void **state)
{
	struct fake *fake = *state;
	const struct donard_candidate_info *cmb, *other;
	struct donard_candidate_list *list;

	fake_cmb_drive(fake, "0000:04:00.0", "pci0000:00", "  S4YNNE0M1  ");
	assert_int_equal(donard_candidate_list(fake->ctx, &list), 2);
	cmb = donard_candidate_get(list, 0);
	other = donard_candidate_get(list, 1);
	assert_int_equal(cmb->kind, DONARD_KIND_NVME_CMB);
	assert_int_equal(cmb->bar, 2);
	assert_int_equal(cmb->offset_bytes, 2 << 20);
	assert_int_equal(cmb->size_bytes, 32 << 20);
	assert_string_equal(cmb->serial, "S4YNNE0M1");
	assert_string_equal(cmb->by_id, "nvme-Fast_Drive-2_S4YNNE0M1-cmb");
	assert_string_equal(cmb->by_path, "pci-0000:04:00.0-cmb");
	assert_string_equal(cmb->obstacle, "");
	/* Only registers, which the module reads, show that it is a PMR: tests/guest/regions.sh. */
	assert_int_equal(other->kind, DONARD_KIND_PCI_BAR);
	assert_int_equal(other->bar, 4);
	assert_int_equal(other->size_bytes, 64 << 20);
	assert_non_null(strstr(other->obstacle, "can tell root whether this is its Controller Memory Buffer or Persistent Memory "
			       "Region: modprobe p2pmem"));
	donard_candidate_list_free(list);
}

static const char *kernel = "6.13.0";

int __wrap_uname(struct utsname *name);
int __wrap_uname(struct utsname *name)
{
	memset(name, 0, sizeof(*name));
	strcpy(name->release, kernel);
	return 0;
}

/* The CMB's driver publishes it as P2PDMA memory, on a kernel where p2pmem does not use such memory. */
static void a_published_cmb(void **state)
{
	static const char *const kernels[] = { "6.13.0", "6.12.117+deb13-amd64", "7.0-rc1", "6.8.0-57-generic" };
	struct fake *fake = *state;
	struct donard_candidate_list *list;

	fake_cmb_drive(fake, "0000:04:00.0", "pci0000:00", "S4");
	fake_file(fake, "bus/pci/devices/0000:04:00.0/p2pmem/published", "1");
	for (size_t i = 0; i < 4; i++) {
		kernel = kernels[i];
		assert_int_equal(donard_candidate_list(fake->ctx, &list), 2);
		assert_string_equal(donard_candidate_get(list, 0)->obstacle, i % 2 ? "the nvme driver has published the CMB, and p2pmem "
				    "can share it from Linux 6.13 on: use such a kernel" : "");
		donard_candidate_list_free(list);
	}
	/* The driver of a kernel without P2PDMA publishes nothing. */
	fake_file(fake, "bus/pci/devices/0000:04:00.0/p2pmem/published", "0");
	assert_int_equal(donard_candidate_list(fake->ctx, &list), 2);
	assert_string_equal(donard_candidate_get(list, 0)->obstacle, "");
	donard_candidate_list_free(list);
}

/* A captured machine's kernel differs from that of the machine where it is examined. */
static void a_published_cmb_captured(void **state)
{
	static const struct {
		const char *here, *there;
		bool reached;
	} cases[] = { { "6.1.0-50-amd64", "7.3.4", true }, { "7.3.4", "6.8.0-57-generic", false } };
	struct fake *fake = *state, captured = *fake;
	struct donard_config config = { .size = sizeof(config), .sysfs_root = captured.root };
	struct donard_candidate_list *list;

	strcat(captured.root, "/sys");
	fake_cmb_drive(&captured, "0000:04:00.0", "pci0000:00", "S4");
	fake_file(&captured, "bus/pci/devices/0000:04:00.0/p2pmem/published", "1");
	assert_int_equal(donard_open(&captured.ctx, &config), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		kernel = cases[i].here;
		fake_file(fake, "proc/sys/kernel/osrelease", cases[i].there);
		assert_int_equal(donard_candidate_list(captured.ctx, &list), 2);
		assert_int_equal(donard_candidate_get(list, 0)->obstacle[0] == '\0', cases[i].reached);
		donard_candidate_list_free(list);
	}
	donard_close(captured.ctx);
}

static uint32_t pmrcap;	/* of the controller; 0 without a PMR */

static int play_ioctl(int fd, unsigned long request, void *argument)
{
	struct p2pmem_nvme_memory *memory = argument;

	(void)fd;
	if (request != P2PMEM_CTL_NVME_MEMORY)
		return ASK_THE_KERNEL;
	memory->cap = pmrcap ? 1ULL << 56 : 0;
	memory->pmrcap = pmrcap;
	return 0;
}

/* A PMR that the module would refuse is not listed as available. */
static void a_pmr(void **state)
{
	static const struct {
		uint32_t cap;
		const char *obstacle;
	} drives[] = {
		{ 0x0498, "" }, { 0x0898, "" },
		{ 0x0488, "the PMR takes no data (PMRCAP.RDS/WDS)" }, { 0x0490, "the PMR takes no data (PMRCAP.RDS/WDS)" },
		{ 0x3098, "names no barrier that makes writes persistent (PMRCAP is 0x3098" },
		{ 0x0418, "the PMR names BAR0, where registers lie" },
	};
	struct fake *fake = *state;
	const struct donard_candidate_info *info;
	struct donard_candidate_list *list;

	fake_cmb_drive(fake, "0000:04:00.0", "pci0000:00", "S4");
	fake_file(fake, "p2pmem_control", "");
	for (size_t i = 0; i < sizeof(drives) / sizeof(drives[0]); i++) {
		pmrcap = drives[i].cap;
		assert_true(donard_candidate_list(fake->ctx, &list) >= 2);
		info = donard_candidate_get(list, 1);
		assert_int_equal(info->kind, DONARD_KIND_NVME_PMR);
		assert_int_equal(info->bar, pmrcap >> 5 & 7);
		if (drives[i].obstacle[0])
			assert_non_null(strstr(info->obstacle, drives[i].obstacle));
		else
			assert_string_equal(info->obstacle, "");
		donard_candidate_list_free(list);
	}
	pmrcap = 0;
}

/* Pages of devices come for whole 2 MiB, and no offset mends where a CMB begins. */
static void a_cmb_without_pages(void **state)
{
	static const struct {
		const char *registers, *obstacle;
	} drives[] = {
		{ "cmbloc : 0x00002002\ncmbsz  : 0x0000221f", "" },
		{ "cmbloc : 0x00002002\ncmbsz  : 0x0000121f", "the CMB has 1048576 bytes" },
		{ "cmbloc : 0x00001002\ncmbsz  : 0x0002021f", "the CMB begins at 0x800100000, no multiple of 2 MiB" },
	};
	struct fake *fake = *state;
	struct donard_candidate_list *list;
	const char *obstacle;

	fake_cmb_drive(fake, "0000:04:00.0", "pci0000:00", "S4");
	for (size_t i = 0; i < sizeof(drives) / sizeof(drives[0]); i++) {
		fake_file(fake, "bus/pci/devices/0000:04:00.0/nvme/nvme0/cmb", drives[i].registers);
		assert_true(donard_candidate_list(fake->ctx, &list) > 0);
		obstacle = donard_candidate_get(list, 0)->obstacle;
		if (strncmp(obstacle, drives[i].obstacle, strlen(drives[i].obstacle)) || !drives[i].obstacle[0] != !obstacle[0])
			fail_msg("%s: expected \"%s\", is \"%s\"", drives[i].registers, drives[i].obstacle, obstacle);
		donard_candidate_list_free(list);
	}
}

static void a_pmr_without_pages(void **state)
{
	struct fake *fake = *state;
	struct donard_candidate_list *list;

	fake_pci(fake, "0000:04:00.0", "pci0000:00", "0x010802", FAKE_16K FAKE_NO_BAR FAKE_NO_BAR FAKE_NO_BAR
		 "0x0000000800000000 0x00000008000fffff 0x000000000014220c\n" FAKE_NO_BAR);
	fake_driver(fake, "0000:04:00.0", "nvme");
	fake_file(fake, "bus/pci/devices/0000:04:00.0/nvme/nvme0/model", "Small");
	fake_file(fake, "p2pmem_control", "");
	pmrcap = 0x0498;
	assert_non_null(strstr(only(fake, &list)->obstacle, "the PMR has 1048576 bytes"));
	pmrcap = 0;
	donard_candidate_list_free(list);
}

/* A CMB that nobody has enabled is listed once, and its BAR not again. */
static void a_hidden_cmb(void **state)
{
	struct fake *fake = *state;
	const struct donard_candidate_info *cmb;
	struct donard_candidate_list *list;

	fake_cmb_drive(fake, "0000:04:00.0", "pci0000:00", "S4");
	fake_file(fake, "bus/pci/devices/0000:04:00.0/nvme/nvme0/cmb", "cmbloc : 0x00000000\ncmbsz  : 0x00000000");
	cmb = only(fake, &list);
	assert_int_equal(cmb->kind, DONARD_KIND_NVME_CMB);
	assert_int_equal(cmb->size_bytes, 0);
	assert_string_equal(cmb->obstacle, "");
	donard_candidate_list_free(list);
}

static void obstacles(void **state)
{
	struct fake *fake = *state;
	const struct donard_candidate_info *info;
	struct donard_candidate_list *list;

	fake_pci(fake, "0000:05:00.1", "pci0000:00", "0x030000", FAKE_64M);
	fake_driver(fake, "0000:05:00.1", "amdgpu");
	fake_pci_serial(fake, "0000:05:00.1");
	info = only(fake, &list);
	assert_non_null(strstr(info->obstacle, "the driver amdgpu uses 0000:05:00.1: unbind it first (echo 0000:05:00.1 | sudo tee "));
	/* Functions of one card share its number. */
	assert_string_equal(info->by_id, "pci-00-11-22-33-44-55-66-77.1-bar0");
	donard_candidate_list_free(list);
	fake_pci(fake, "0000:06:00.0", "pci0000:00", "0x030000",
		 "0x0000000000000000 0x0000000003ffffff 0x000000002014220c\n");
	assert_int_equal(donard_candidate_list(fake->ctx, &list), 2);
	assert_non_null(strstr(donard_candidate_get(list, 1)->obstacle, "above 4 GiB"));
	donard_candidate_list_free(list);
}

/* BAR1 as NVIDIA's driver leaves it; the registers are no candidate. */
static void a_gpu(void **state)
{
	struct fake *fake = *state;
	const struct donard_candidate_info *info;
	struct donard_candidate_list *list;

	fake_pci(fake, "0000:05:00.0", "pci0000:00", "0x030000",
		 "0x00000000f6000000 0x00000000f6ffffff 0x0000000000040200\n"
		 "0x0000004000000000 0x0000004fffffffff 0x000000000014220c\n" FAKE_NO_BAR
		 "0x0000005000000000 0x0000005001ffffff 0x000000000014220c\n");
	fake_driver(fake, "0000:05:00.0", "nvidia");
	info = only(fake, &list);
	assert_int_equal(info->kind, DONARD_KIND_GPU_NVIDIA);
	assert_int_equal(info->bar, 1);
	assert_int_equal(info->size_bytes, 64ULL << 30);
	assert_string_equal(info->by_path, "pci-0000:05:00.0-gpu");
	assert_string_equal(info->obstacle, "");
	donard_candidate_list_free(list);
	fake_folder(fake, "module/nv");
	fake_link(fake, "bus/pci/drivers/nvidia/module", "module/nv");
	fake_file(fake, "module/nv/taint", "POE");
	info = only(fake, &list);
	assert_non_null(strstr(info->obstacle, "NVIDIA's proprietary module, which GPL modules cannot use: install"));
	donard_candidate_list_free(list);
}

static void nothing(void **state)
{
	struct fake *fake = *state;
	struct donard_candidate_list *list;

	assert_int_equal(donard_candidate_list(fake->ctx, &list), 0);
	assert_null(donard_candidate_get(list, 0));
	donard_candidate_list_free(list);
	/* The windows of a bridge, a register BAR, an I/O BAR. */
	fake_pci(fake, "0000:00:01.0", "pci0000:00", "0x060400", FAKE_64M);
	fake_pci(fake, "0000:00:02.0", "pci0000:00", "0x020000", FAKE_16K
		 "0x0000000000000000 0x0000000007ffffff 0x0000000000040101\n");
	assert_int_equal(donard_candidate_list(fake->ctx, &list), 0);
	donard_candidate_list_free(list);
}

/* Class 0680, as non-transparent bridges have it. */
static void an_other_bridge(void **state)
{
	struct fake *fake = *state;
	struct donard_candidate_list *list;

	fake_pci(fake, "0000:00:03.0", "pci0000:00", "0x068000", FAKE_64M);
	assert_int_equal(only(fake, &list)->size_bytes, 64 << 20);
	donard_candidate_list_free(list);
}

/* A list of capabilities that goes in a circle ends. */
static void a_circle(void **state)
{
	struct fake *fake = *state;
	struct donard_candidate_list *list;
	uint8_t config[4096] = { 0 };

	memcpy(config + 0x100, "\x01\x00\x02\x10", 4);
	fake_pci(fake, "0000:03:00.0", "pci0000:00", "0x050000", FAKE_64M);
	fake_bytes(fake, "bus/pci/devices/0000:03:00.0/config", config, sizeof(config));
	assert_string_equal(only(fake, &list)->serial, "");
	donard_candidate_list_free(list);
}

static bool no_descriptors;

int __wrap_dnd_config_read(const char *path, struct dnd_config *config);
int __real_dnd_config_read(const char *path, struct dnd_config *config);

int __wrap_dnd_config_read(const char *path, struct dnd_config *config)
{
	return no_descriptors ? -EMFILE : __real_dnd_config_read(path, config);
}

/* A serial number that could not be read is not one that the card lacks. */
static void without_descriptors(void **state)
{
	struct fake *fake = *state;
	struct donard_candidate_list *list;

	fake_pci(fake, "0000:03:00.0", "pci0000:00", "0x050000", FAKE_64M);
	fake_pci_serial(fake, "0000:03:00.0");
	no_descriptors = true;
	assert_int_equal(donard_candidate_list(fake->ctx, &list), -EMFILE);
	no_descriptors = false;
	assert_non_null(strstr(donard_error(fake->ctx), "0000:03:00.0/config cannot be read"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_bar, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(a_bar_on_memory_in_quarantine, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(a_drive, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(a_published_cmb, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(a_published_cmb_captured, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(a_pmr, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(a_cmb_without_pages, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(a_pmr_without_pages, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(a_hidden_cmb, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(obstacles, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(a_gpu, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(nothing, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(an_other_bridge, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(a_circle, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(without_descriptors, fake_setup, fake_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
