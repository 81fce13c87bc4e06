/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scene of libcufile's tests: a machine with a drive, a file on it, and a GPU
 * whose memory is DRAM and whose streams are threads.
 */
#ifndef CUFILE_SCENE_H
#define CUFILE_SCENE_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"
#include "fake_sysfs.h"
#include "cufile/calls.h"
#include "cufile/donard-cufile.h"

#define BYTES	(4U << 20)
#define GPU_BYTES	(64U << 20)

struct fake_gpu {
	uint8_t *memory;
	size_t used, skew;	/* the skew: how far behind a page CUDA allocates, as in a chunk */
	uint64_t pinned;	/* the latest address, */
	const void *freed;	/* and the one that was freed last */
	int pin_fails;		/* -errno */
	int lock_fails;		/* a CUresult */
	bool managed;		/* its memory moves between host and GPU */
	unsigned int pins, copies, frees, locks, settled;
	unsigned int streams, ordered_streams;	/* in threads of the pool, and of the program */
	unsigned int resets;	/* with each, other allocations are at the same places */
	struct { uint64_t start, bytes; } allocations[64];
	unsigned int count;
	pthread_mutex_t lock;	/* of the allocations */
	pthread_mutex_t gate;	/* held: no copy ends */
	pthread_mutex_t pin_gate;	/* held: nothing is pinned to its end */
};

/* A stream is its last thread, and each thread waits for the one before. */
struct fake_turn {
	void (*call)(void *);
	void *data;
	pthread_t before, me;
	bool first;
};

struct fake_stream {
	struct fake_turn turns[16];
	unsigned int count, calls;
	int rc;			/* a CUresult: it failed, and no turn comes */
	bool captured, repeats;
	pthread_mutex_t gate;	/* held: no turn begins */
};

extern struct fake_gpu gpu;
extern struct fake_stream stream;
extern const struct cuf_gpu fake_gpu_calls;

int gpu_allocate(void *context, size_t bytes, void **pointer);
int gpu_wait_for_stream(void *which);

struct scene {
	char path[128], json[128], log[128];
	uint8_t *data;		/* what the file has */
	int fd;
	void *handle;
	uint8_t *device, *host;
};

extern struct fake *machine;

int make_machine(void **state);
int remove_machine(void **state);
int scene_setup(void **state);
int scene_teardown(void **state);
/* Returns the scene with its file registered, or skips the test. */
struct scene *scene_of(void **state);
struct scene *scene_with(void **state, int flags);

void write_text(const char *path, const char *text);
struct cuf_error register_fd(int fd, void **handle);
struct donard_cufile_counts counted(void);
void assert_says(const struct scene *scene, const char *text);
/* How many descriptors of the file this process has. */
int fds_of_file(const struct scene *scene);
/* Asserts that the first @bytes of the file are those of the scene, as the kernel has them. */
void assert_file(const struct scene *scene, uint64_t bytes);

#define SCENE_TEST(name) cmocka_unit_test_setup_teardown(name, scene_setup, scene_teardown)

#endif /* CUFILE_SCENE_H */
