/* SPDX-License-Identifier: Apache-2.0 */
/* A queue, a file of a faked drive, and plain memory: no device, no root.  Needs ext4 or xfs under /tmp. */
#ifndef QUEUE_SCENE_H
#define QUEUE_SCENE_H

#include "unit.h"
#include "fake_sysfs.h"
#include "donard/queue.h"
#include "queue/queue.h"

#define BYTES (1U << 20)

struct scene {
	struct fake *fake;
	struct donard_context *ctx;
	char path[128];
	uint8_t *data;
	struct donard_queue *queue;
	struct donard_file *file;
	struct donard_memory *memory;
	uint8_t *bytes;		/* of the memory */
	uint32_t align;
	struct donard_completion got[64];
};

int queue_setup(void **state);
int queue_teardown(void **state);
/* The scene of a test, with a queue. */
struct scene *scene_of(void **state, uint32_t depth, uint32_t flags);
void open_queue(struct scene *scene, uint32_t depth, uint32_t flags);
void write_file(const char *path, const uint8_t *data, size_t bytes);

int reads(struct scene *scene, uint64_t from, uint64_t to, uint64_t bytes, uintptr_t user);
int writes(struct scene *scene, uint64_t to, uint64_t from, uint64_t bytes, uintptr_t user);
int waits(struct scene *scene, unsigned int least);
struct donard_queue_info about(struct scene *scene);
void assert_refused(struct scene *scene, int rc, int error, const char *word);

#endif /* QUEUE_SCENE_H */
