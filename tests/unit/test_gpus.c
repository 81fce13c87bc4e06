// SPDX-License-Identifier: Apache-2.0
/* The list of GPUs over a fake sysfs tree. */
#include "unit.h"
#include "donard/gpu.h"
#include "fake_sysfs.h"

#define BDF	"0000:05:00.0"
#define BARS	"0x00000000f6000000 0x00000000f6ffffff 0x0000000000040200\n" \
		"0x0000004000000000 0x000000400fffffff 0x000000000014220c\n" FAKE_NO_BAR \
		"0x0000005000000000 0x0000005001ffffff 0x000000000014220c\n"

static void add_gpu(struct fake *fake, const char *driver)
{
	fake_pci(fake, BDF, "pci0000:00", "0x030000", BARS);
	fake_file(fake, "bus/pci/devices/" BDF "/vendor", "0x10de");
	if (!driver)
		return;
	fake_driver(fake, BDF, driver);
	fake_folder(fake, "module/nv");
	fake_link(fake, "bus/pci/drivers/nvidia/module", "module/nv");
}

static const struct donard_gpu_info *only(struct fake *fake, struct donard_gpu_list **list)
{
	assert_int_equal(donard_gpu_list(fake->ctx, list), 1);
	assert_int_equal(donard_gpu_count(*list), 1);
	assert_null(donard_gpu_get(*list, 1));
	return donard_gpu_get(*list, 0);
}

static void of_the_open_driver(void **state)
{
	struct fake *fake = *state;
	const struct donard_gpu_info *info;
	struct donard_gpu_list *list;

	add_gpu(fake, "nvidia");
	fake_file(fake, "module/nv/version", "595.58.03");
	fake_file(fake, "module/nv/taint", "OE");
	fake_file(fake, "bus/pci/devices/" BDF "/resource1_resize", "000000000000ffc0");
	info = only(fake, &list);
	assert_string_equal(info->bdf, BDF);
	assert_string_equal(info->driver, "nvidia");
	assert_string_equal(info->driver_version, "595.58.03");
	assert_int_equal(info->driver_kind, DONARD_GPU_DRIVER_OPEN);
	assert_int_equal(info->bar, 1);
	assert_int_equal(info->bar_bytes, 256ULL << 20);
	assert_int_equal(info->bar_largest_bytes, 32ULL << 30);
	assert_false(info->static_bar1);
	assert_string_equal(info->region, "");
	assert_non_null(strstr(info->obstacle, "donard_region_add(gpu-nvidia, " BDF ")"));
	donard_gpu_list_free(list);
}

static void with_a_region(void **state)
{
	struct fake *fake = *state;
	const struct donard_gpu_info *info;
	struct donard_gpu_list *list;

	add_gpu(fake, "nvidia");
	fake_region(fake, "p2pmem3", "gpu-nvidia", BDF);
	info = only(fake, &list);
	assert_string_equal(info->region, "p2pmem3");
	assert_string_equal(info->obstacle, "");
	donard_gpu_list_free(list);
}

static void with_a_region_that_leaves(void **state)
{
	struct fake *fake = *state;
	const struct donard_gpu_info *info;
	struct donard_gpu_list *list;

	add_gpu(fake, "nvidia");
	fake_region(fake, "p2pmem3", "gpu-nvidia", BDF);
	fake_file(fake, "class/p2pmem/p2pmem3/state", "draining");
	info = only(fake, &list);
	assert_string_equal(info->region, "");
	assert_non_null(strstr(info->obstacle, "its region p2pmem3 is being taken away"));
	assert_non_null(strstr(info->obstacle, "donard_region_add(gpu-nvidia, " BDF ")"));
	donard_gpu_list_free(list);
	fake_region(fake, "p2pmem1", "gpu-nvidia", BDF);	/* listed before it */
	info = only(fake, &list);
	assert_string_equal(info->region, "p2pmem1");
	assert_string_equal(info->obstacle, "");
	donard_gpu_list_free(list);
}

/* refused KIND WORDS - as things are in the tree. */
static void refused(struct fake *fake, enum donard_gpu_driver kind, const char *words)
{
	struct donard_gpu_list *list;
	const struct donard_gpu_info *info = only(fake, &list);

	assert_int_equal(info->driver_kind, kind);
	assert_non_null(strstr(info->obstacle, words));
	donard_gpu_list_free(list);
}

static void proprietary(void **state)
{
	struct fake *fake = *state;

	add_gpu(fake, "nvidia");
	fake_file(fake, "module/nv/taint", "POE");
	refused(fake, DONARD_GPU_DRIVER_PROPRIETARY, "apt install nvidia-open-kernel-dkms");
}

/* Its region uses the pages that the driver made. */
static void static_bar1(void **state)
{
	struct fake *fake = *state;
	const struct donard_gpu_info *info;
	struct donard_gpu_list *list;

	add_gpu(fake, "nvidia");
	fake_file(fake, "bus/pci/devices/" BDF "/p2pmem/size", "268435456");
	fake_file(fake, "bus/pci/devices/" BDF "/p2pmem/available", "268435456");
	info = only(fake, &list);
	assert_true(info->static_bar1);
	assert_non_null(strstr(info->obstacle, "donard_region_add("));
	donard_gpu_list_free(list);
}

/* p2pmem made the pages, for a region of page type p2pdma. */
static void pool_of_a_region(void **state)
{
	struct fake *fake = *state;
	const struct donard_gpu_info *info;
	struct donard_gpu_list *list;

	add_gpu(fake, "nvidia");
	fake_region(fake, "p2pmem3", "gpu-nvidia", BDF);
	fake_file(fake, "bus/pci/devices/" BDF "/p2pmem/size", "268435456");
	fake_file(fake, "bus/pci/devices/" BDF "/p2pmem/available", "0");
	info = only(fake, &list);
	assert_false(info->static_bar1);
	donard_gpu_list_free(list);
}

static void without_a_driver(void **state)
{
	struct fake *fake = *state;

	add_gpu(fake, NULL);
	refused(fake, DONARD_GPU_DRIVER_NONE, "is driven by nothing: programs' memory on it needs NVIDIA's open kernel module");
}

static void of_another_driver(void **state)
{
	struct fake *fake = *state;

	add_gpu(fake, "nouveau");
	refused(fake, DONARD_GPU_DRIVER_OTHER, "is driven by nouveau");
}

static void of_another_vendor(void **state)
{
	struct fake *fake = *state;

	add_gpu(fake, "amdgpu");
	fake_file(fake, "bus/pci/devices/" BDF "/vendor", "0x1002");
	refused(fake, DONARD_GPU_DRIVER_OTHER, "donard_memory_from_dmabuf()");
}

static void without_an_aperture(void **state)
{
	struct fake *fake = *state;

	fake_pci(fake, BDF, "pci0000:00", "0x030200", FAKE_16K FAKE_NO_BAR);
	fake_driver(fake, BDF, "nvidia");
	refused(fake, DONARD_GPU_DRIVER_OPEN, "Above 4G");
}

/* The firmware found no room for it: the kernel knows its size, and nobody can use it. */
static void without_an_address(void **state)
{
	struct fake *fake = *state;
	struct donard_gpu_list *list;

	fake_pci(fake, BDF, "pci0000:00", "0x030200", FAKE_16K "0x0000000000000000 0x000000000fffffff 0x000000002014220c\n");
	fake_driver(fake, BDF, "nvidia");
	assert_int_equal(only(fake, &list)->bar_bytes, 0);
	donard_gpu_list_free(list);
	refused(fake, DONARD_GPU_DRIVER_OPEN, "Above 4G");
}

static void none(void **state)
{
	struct fake *fake = *state;
	struct donard_gpu_list *list;

	fake_pci(fake, BDF, "pci0000:00", "0x010802", FAKE_16K);
	assert_int_equal(donard_gpu_list(fake->ctx, &list), 0);
	donard_gpu_list_free(list);
	donard_gpu_list_free(NULL);
	assert_int_equal(donard_gpu_count(NULL), 0);
	assert_string_equal(donard_gpu_driver_text(DONARD_GPU_DRIVER_OPEN), "open");
	assert_string_equal(donard_gpu_driver_text((enum donard_gpu_driver)99), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(of_the_open_driver, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(with_a_region, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(with_a_region_that_leaves, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(proprietary, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(static_bar1, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(pool_of_a_region, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(without_a_driver, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(of_another_driver, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(of_another_vendor, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(without_an_aperture, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(without_an_address, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(none, fake_setup, fake_teardown),
	};

	return cmocka_run_group_tests_name("gpus", tests, NULL, NULL);
}
