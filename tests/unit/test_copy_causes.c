// SPDX-License-Identifier: Apache-2.0
/* What failures of whole copies are called, when the usual cause is not theirs. */
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "copy_scene.h"
#include "donard/candidate.h"
#include "donard/gpu.h"
#include "says.h"

static void no_sysfs(void **state)
{
	struct scene *scene = *state;
	struct donard_config config = { .size = sizeof(config), .dev_root = scene->fake->root };
	struct donard_candidate_list *candidates;
	struct donard_region_list *regions;
	struct donard_client_list *clients;
	struct donard_gpu_list *gpus;
	struct donard_context *ctx;
	char empty[128];

	snprintf(empty, sizeof(empty), "%s/empty", scene->fake->root);
	fake_folder(scene->fake, "empty");
	config.sysfs_root = empty;
	assert_int_equal(donard_open(&ctx, &config), 0);
	write_file(scene->in, scene->data, 65536);
	assert_int_equal(donard_copy(ctx, scene->in, "p2pmem0", &scene->options, &scene->result), -EOPNOTSUPP);
	assert_says(donard_error(ctx), "no sysfs is mounted there");
	scene->options.flags = DONARD_COPY_FORCE_BOUNCE;	/* no module is asked for */
	assert_int_equal(donard_copy(ctx, scene->in, scene->out, &scene->options, &scene->result), -EOPNOTSUPP);
	assert_says(donard_error(ctx), "no sysfs is mounted there");
	assert_int_equal(donard_region_list(ctx, &regions), -EOPNOTSUPP);
	assert_says(donard_error(ctx), "no sysfs is mounted there");
	assert_int_equal(donard_client_list(ctx, &clients), -EOPNOTSUPP);
	assert_int_equal(donard_candidate_list(ctx, &candidates), -EOPNOTSUPP);
	assert_int_equal(donard_gpu_list(ctx, &gpus), -EOPNOTSUPP);
	donard_close(ctx);
}

static void assert_of_descriptors(const struct donard_context *ctx, int rc)
{
	assert_int_equal(rc, -EMFILE);
	assert_says(donard_error(ctx), "Too many open files");
	assert_says(donard_error(ctx), "ulimit -n");
}

/* With ever more descriptors: each failure says of what it is, and no list is shorter for it. */
static void few_descriptors(void **state)
{
	struct scene *scene = *state;
	struct donard_context *ctx = scene->fake->ctx;
	struct donard_region_list *regions;
	struct donard_client_list *clients;
	struct rlimit before, few;
	unsigned int failures = 0;
	int first = dup(0), rc = -1;

	close(first);
	write_file(scene->in, scene->data, 65536);
	assert_int_equal(copy(scene, scene->in, scene->out), 0);	/* or skipped */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	for (few = before, few.rlim_cur = (rlim_t)first; rc; few.rlim_cur++) {
		setrlimit(RLIMIT_NOFILE, &few);
		rc = donard_region_list(ctx, &regions);
		if (rc < 0)
			assert_of_descriptors(ctx, rc);
		else
			donard_region_list_free(regions);
		assert_true(rc < 0 || rc == 1);
		rc = donard_client_list(ctx, &clients);
		if (rc < 0)
			assert_of_descriptors(ctx, rc);
		else
			donard_client_list_free(clients);
		assert_true(rc < 0 || rc == 1);
		rc = donard_copy(ctx, scene->in, scene->out, &scene->options, &scene->result);
		if (rc)
			assert_of_descriptors(ctx, rc);
		failures += rc != 0;
	}
	setrlimit(RLIMIT_NOFILE, &before);
	assert_true(failures >= 4);
}

static void dangling_links(void **state)
{
	struct scene *scene = *state;
	const struct donard_context *ctx = scene->fake->ctx;
	char path[192];

	fake_link(scene->fake, "d/link", "nowhere");
	snprintf(path, sizeof(path), "%s/d/link", scene->fake->root);
	assert_int_equal(copy(scene, path, "p2pmem0"), -ENOENT);
	assert_says(donard_error(ctx), "it is a link to");
	assert_says(donard_error(ctx), "/nowhere, which does not exist");
	assert_int_equal(copy(scene, "p2pmem0", path), -ENOENT);
	assert_says(donard_error(ctx), "/nowhere, which does not exist");
	snprintf(path, sizeof(path), "%s/d/link/file", scene->fake->root);
	assert_int_equal(copy(scene, "p2pmem0", path), -ENOENT);
	assert_says(donard_error(ctx), "/nowhere, which does not exist");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(no_sysfs), CASE(few_descriptors),
		CASE(dangling_links),
	};

	return cmocka_run_group_tests_name("copy_causes", tests, NULL, NULL);
}
