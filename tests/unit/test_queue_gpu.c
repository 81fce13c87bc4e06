// SPDX-License-Identifier: Apache-2.0
/* A queue, and memory of a GPU's region that its driver may take back: a file is the region, and has the memory. */
#include <sys/mman.h>
#include <unistd.h>

#include "engines.h"
#include "play_ioctl.h"
#include "queue_scene.h"

static uint32_t played_flags;	/* of the region */

static int play_ioctl(int fd, unsigned long request, void *argument)
{
	struct p2pmem_info *info = argument;

	(void)fd;
	switch (request) {
	case P2PMEM_IOC_INFO:
		info->flags = played_flags;
		info->granule_bytes = 4096;
		return 0;
	case P2PMEM_IOC_PROBE_PEER:
		((struct p2pmem_probe *)argument)->route = P2PMEM_ROUTE_SWITCH;
		return 0;
	case P2PMEM_IOC_SYNC:
	case P2PMEM_IOC_STATUS:
		return 0;
	}
	return ASK_THE_KERNEL;
}

/* Makes the memory that donard_memory_from_cuda() makes. */
static void take_gpu_memory(struct scene *scene)
{
	struct donard_memory *memory = dnd_memory_new(scene->ctx, "p2pmem3");

	memory->region.fd = memfd_create("p2pmem3", MFD_CLOEXEC);
	assert_int_equal(ftruncate(memory->region.fd, BYTES), 0);
	memory->region.info.kind = P2PMEM_KIND_GPU_NVIDIA;
	memory->region.info.page_type = P2PMEM_PAGES_GENERIC;
	memory->region.info.granule_bytes = 4096;
	memory->length = memory->window.map_bytes = BYTES;
	memory->window.map = memory->window.data = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memory->region.fd, 0);
	assert_true(memory->window.map != MAP_FAILED);
	donard_memory_free(scene->memory);
	scene->memory = memory;
}

/* The driver waits for the ring's pins for a minute, and then others get the memory that the drive still reaches. */
static void revocable_is_not_pinned(void **state)
{
	struct scene *scene = scene_of(state, 8, 0);
	int takes_plain = donard_queue_register(scene->queue, scene->memory);

	donard_queue_unregister(scene->queue, scene->memory);
	take_gpu_memory(scene);
	played_flags = P2PMEM_REGION_FOLIOS | P2PMEM_REGION_REVOCABLE;
	assert_int_equal(donard_queue_register(scene->queue, scene->memory), 0);
	assert_false(dnd_queue_pins_region(scene->queue));
	assert_int_equal(donard_queue_unregister(scene->queue, scene->memory), 0);
	played_flags = P2PMEM_REGION_FOLIOS;
	assert_int_equal(donard_queue_register(scene->queue, scene->memory), takes_plain);
	assert_int_equal(donard_queue_unregister(scene->queue, scene->memory), 0);
}

/* The pages are gone, so that the kernel says EFAULT, which would be blamed on the drive. */
static void freed_before_a_request(void **state)
{
	struct scene *scene = scene_of(state, 8, 0);

	take_gpu_memory(scene);
	assert_int_equal(reads(scene, 0, 0, 65536, 0), 0);	/* settles the pair */
	assert_int_equal(waits(scene, 1), 1);
	assert_int_equal(scene->got[0].result, 65536);
	assert_int_equal(ftruncate(scene->memory->region.fd, 0), 0);
	assert_int_equal(reads(scene, 0, 0, 65536, 0), 0);
	assert_int_equal(waits(scene, 1), 1);
	assert_int_equal(scene->got[0].result, -ENODEV);
	assert_string_equal(scene->got[0].error_code, "region-gone");
	assert_non_null(strstr(scene->got[0].error, "its memory was freed"));
}

int main(void)
{
#define test(name) cmocka_unit_test_setup_teardown(name, queue_setup, queue_teardown)
	const struct CMUnitTest tests[] = {
		test(revocable_is_not_pinned),
		test(freed_before_a_request),
	};

	return run_by_both_engines(tests);
}
