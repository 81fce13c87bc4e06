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
	(void)fd;
	if (request != P2PMEM_IOC_INFO)
		return ASK_THE_KERNEL;
	((struct p2pmem_info *)argument)->flags = played_flags;
	return 0;
}

/* What donard_memory_from_cuda() makes, with pages that a ring can pin by their mapping. */
static void take_gpu_memory(struct scene *scene)
{
	struct donard_memory *memory = dnd_memory_new(scene->ctx, "p2pmem3");

	memory->region.fd = memfd_create("p2pmem3", MFD_CLOEXEC);
	assert_int_equal(ftruncate(memory->region.fd, BYTES), 0);
	memory->region.info.kind = P2PMEM_KIND_GPU_NVIDIA;
	memory->region.info.page_type = P2PMEM_PAGES_GENERIC;
	memory->region.info.granule_bytes = 4096;
	memory->length = memory->window.map_bytes = BYTES;
	memory->window.map = memory->window.data = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
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

int main(void)
{
#define test(name) cmocka_unit_test_setup_teardown(name, queue_setup, queue_teardown)
	const struct CMUnitTest tests[] = {
		test(revocable_is_not_pinned),
	};

	return run_by_both_engines(tests);
}
