// SPDX-License-Identifier: Apache-2.0
/* See cufile_scene.h. */
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "cufile_scene.h"
#include "cufile/driver.h"
#include "cufile/gpu.h"

void write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void make_data(struct scene *scene)
{
	int fd = open(scene->path, O_CREAT | O_RDWR | O_TRUNC, 0600);

	scene->data = malloc(BYTES);
	dnd_nonce(scene->data, BYTES);
	assert_int_equal(write(fd, scene->data, BYTES), BYTES);
	close(fd);
}

/* One for all tests: the engine of their thread looks there until the program ends. */
struct fake *machine;
static struct donard_config config;

int make_machine(void **state)
{
	struct stat st;
	char link[96];

	(void)state;
	if (fake_setup((void **)&machine) || stat(machine->root, &st))
		return -1;
	fake_nvme(machine, 7, "0000:01:00.0");
	fake_file(machine, "block/nvme7n1/queue/max_sectors_kb", "128");
	snprintf(link, sizeof(link), "dev/block/%u:%u", major(st.st_dev), minor(st.st_dev));
	fake_link(machine, link, "block/nvme7n1");
	fake_folder(machine, "class/p2pmem");
	fake_folder(machine, "d");
	config = (struct donard_config){
		.size = sizeof(config), .sysfs_root = machine->root, .dev_root = machine->root,
	};
	cuf_donard_config = &config;
	cuf_gpu = &fake_gpu_calls;
	return 0;
}

int remove_machine(void **state)
{
	void *fake = machine;

	(void)state;
	return fake_teardown(&fake);
}

static void name_files(struct scene *scene)
{
	snprintf(scene->path, sizeof(scene->path), "%s/d/file", machine->root);
	snprintf(scene->json, sizeof(scene->json), "%s/cufile.json", machine->root);
	snprintf(scene->log, sizeof(scene->log), "%s/cufile.log", machine->root);
	setenv("CUFILE_ENV_PATH_JSON", scene->json, 1);
	setenv("CUFILE_LOGFILE_PATH", scene->log, 1);
	write_text(scene->json, "{ \"logging\": { \"level\": \"INFO\" } } // as shipped\n");
}

int scene_setup(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	*state = scene;
	name_files(scene);
	make_data(scene);
	gpu.used = gpu.skew = gpu.count = gpu.pins = gpu.copies = gpu.frees = gpu.locks = 0;
	gpu.settled = gpu.streams = gpu.ordered_streams = 0;
	gpu.pin_fails = gpu.lock_fails = stream.rc = 0;
	gpu.resets = 0;
	gpu.managed = false;
	stream.captured = stream.repeats = false;
	gpu.memory = mmap(NULL, GPU_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_int_equal(gpu_allocate(NULL, BYTES, (void **)&scene->device), 0);
	scene->host = aligned_alloc(4096, BYTES);
	memset(scene->host, 0, BYTES);
	scene->fd = -1;
	return 0;
}

int scene_teardown(void **state)
{
	struct scene *scene = *state;

	while (cuFileUseCount())
		assert_int_equal(cuFileDriverClose_v2().code, 0);
	if (scene->fd >= 0)
		close(scene->fd);
	munmap(gpu.memory, GPU_BYTES);
	free(scene->data);
	free(scene->host);
	unlink(scene->log);
	free(scene);
	return 0;
}

struct cuf_error register_fd(int fd, void **handle)
{
	struct cuf_descriptor descriptor = { .type = CUF_DESCRIPTOR_FD, .file.fd = fd };

	return cuFileHandleRegister(handle, &descriptor);
}

struct scene *scene_with(void **state, int flags)
{
	struct scene *scene = *state;

	needs_supported_file_system(scene->path);
	scene->fd = open(scene->path, flags, 0600);
	assert_true(scene->fd >= 0);
	assert_int_equal(register_fd(scene->fd, &scene->handle).code, 0);
	assert_non_null(scene->handle);
	return scene;
}

struct scene *scene_of(void **state)
{
	return scene_with(state, O_RDWR | O_DIRECT);
}

struct donard_cufile_counts counted(void)
{
	struct donard_cufile_counts counts = { .size = sizeof(counts) };

	assert_int_equal(donard_cufile_counts(&counts), 0);
	return counts;
}

static bool says(const char *path, const char *text)
{
	char line[4096];
	FILE *file = fopen(path, "re");
	bool found = false;

	while (file && fgets(line, sizeof(line), file))
		found |= !!strstr(line, text);
	if (file)
		fclose(file);
	return found;
}

void assert_says(const struct scene *scene, const char *text)
{
	if (!says(scene->log, text))
		fail_msg("the log does not say: %s", text);
}

int fds_of_file(const struct scene *scene)
{
	char link[64], target[256];
	int count = 0;

	for (int fd = 0; fd < 1024; fd++) {
		ssize_t bytes;

		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		bytes = readlink(link, target, sizeof(target) - 1);
		target[bytes > 0 ? bytes : 0] = '\0';
		count += !strcmp(target, scene->path);
	}
	return count;
}

/* Asserts the file's contents, as the kernel has them. */
void assert_file(const struct scene *scene, uint64_t bytes)
{
	uint8_t *seen = malloc(bytes + 1);
	int fd = open(scene->path, O_RDONLY);

	assert_int_equal(read(fd, seen, bytes + 1), bytes);
	assert_memory_equal(seen, scene->data, bytes);
	close(fd);
	free(seen);
}
