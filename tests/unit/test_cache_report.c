// SPDX-License-Identifier: Apache-2.0
/* The socket of a cache server's status: what is removed is its own, or a dead one. */
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"
#include "cache/report.h"
#include "cache/server.h"
#include "fake_sysfs.h"
#include "says.h"

struct scene {
	struct fake *fake;
	char path[100];
	struct dnd_cache_server *server;
};

static int setup(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	if (fake_setup((void **)&scene->fake))
		return -1;
	snprintf(scene->path, sizeof(scene->path), "%.80s/status", scene->fake->root);
	scene->server = calloc(1, sizeof(*scene->server));
	scene->server->ctx = scene->fake->ctx;
	scene->server->options.status_path = scene->path;
	scene->server->status_fd = -1;
	*state = scene;
	return 0;
}

static int teardown(void **state)
{
	struct scene *scene = *state;
	void *fake = scene->fake;

	free(scene->server);
	free(scene);
	return fake_teardown(&fake);
}

static bool is_there(const struct scene *scene, struct stat *st)
{
	return !lstat(scene->path, st);
}

static void own_socket(void **state)
{
	struct scene *scene = *state;
	struct stat st;

	assert_int_equal(dnd_cache_report_open(scene->server), 0);
	assert_true(is_there(scene, &st) && S_ISSOCK(st.st_mode));
	dnd_cache_report_close(scene->server);
	assert_false(is_there(scene, &st));
}

/* Of a server that was killed. */
static void dead_socket(void **state)
{
	struct scene *scene = *state;
	struct stat dead, now;

	assert_int_equal(dnd_cache_report_open(scene->server), 0);
	close(scene->server->status_fd);
	assert_true(is_there(scene, &dead));
	assert_int_equal(dnd_cache_report_open(scene->server), 0);
	assert_true(is_there(scene, &now));
	dnd_cache_report_close(scene->server);
	assert_false(is_there(scene, &now));
}

/* Somebody took the socket away, and has the name now. */
static void name_of_another(void **state)
{
	struct scene *scene = *state;
	struct stat before, after;

	assert_int_equal(dnd_cache_report_open(scene->server), 0);
	assert_int_equal(unlink(scene->path), 0);
	fake_file(scene->fake, "status", "somebody's");
	assert_true(is_there(scene, &before));
	dnd_cache_report_close(scene->server);
	assert_true(is_there(scene, &after));
	assert_int_equal(before.st_ino, after.st_ino);
	assert_true(dnd_cache_report_open(scene->server) < 0);
	assert_says(donard_error(scene->fake->ctx), "it is not the socket of a server");
	assert_true(is_there(scene, &after));
	assert_int_equal(before.st_ino, after.st_ino);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = { CASE(own_socket), CASE(dead_socket), CASE(name_of_another) };

	return cmocka_run_group_tests_name("cache_report", tests, NULL, NULL);
}
