// SPDX-License-Identifier: Apache-2.0
/*
 * The caller's functions at the begin and end of the timed part of a copy: when they are called, with what, and the effect of
 * their results.
 */
#include <unistd.h>

#include "copy_scene.h"

#define BYTES	300001

static struct {
	struct scene *scene;
	unsigned int begins, ends;
	int begin_rc, end_rc, work_rc;
	const char *text;	/* with which the failing one leaves; NULL: none */
	unsigned int nap_us;
	uint64_t payload_bytes, payloads;
	bool moved_before;
	const void *payload;
} seen;

static bool has_arrived(void)
{
	char path[128];
	uint8_t bytes[512];
	FILE *file;
	size_t got;

	snprintf(path, sizeof(path), "%s/p2pmem0", seen.scene->fake->root);
	file = fopen(path, "r");
	assert_non_null(file);
	got = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	return got == sizeof(bytes) && !memcmp(bytes, seen.scene->data, sizeof(bytes));
}

static int leave(const struct donard_interval *interval, int rc)
{
	assert_int_equal(interval->size, sizeof(*interval));
	assert_ptr_equal(interval->ctx, seen.scene->fake->ctx);
	usleep(seen.nap_us);
	return rc < 0 && seen.text ? donard_fail(interval->ctx, rc, "busy", seen.text) : rc;
}

static int begin(void *user, const struct donard_interval *interval)
{
	assert_ptr_equal(user, &seen);
	seen.begins++;
	seen.moved_before = has_arrived();
	seen.payloads = interval->payload_count;
	seen.payload = interval->payload;
	for (size_t i = 0; i < interval->payload_count; i++) {
		const volatile char *address = interval->payload[i].address;

		seen.payload_bytes += interval->payload[i].length_bytes;
		(void)address[interval->payload[i].length_bytes - 1];
	}
	return leave(interval, seen.begin_rc);
}

static int end(void *user, const struct donard_interval *interval, int rc)
{
	assert_ptr_equal(user, &seen);
	assert_ptr_equal(interval->payload, seen.payload);
	seen.ends++;
	seen.work_rc = rc;
	if (!rc)
		assert_true(has_arrived());
	return leave(interval, seen.end_rc);
}

/* The data of each copy is new: what arrived before is not taken for it. */
static void expect(struct scene *scene)
{
	memset(&seen, 0, sizeof(seen));
	seen.scene = scene;
	dnd_nonce(scene->data, BYTES);
	write_file(scene->in, scene->data, BYTES);
	scene->options.begin_fn = begin;
	scene->options.end_fn = end;
	scene->options.interval_user = &seen;
}

static int copies(struct scene *scene)
{
	return copy(scene, scene->in, "p2pmem0");
}

static void assert_failure(struct scene *scene, int rc, const char *code, const char *text)
{
	assert_int_equal(copies(scene), rc);
	assert_string_equal(donard_error_code(scene->fake->ctx), code);
	assert_string_equal(donard_error(scene->fake->ctx), text);
}

static void surrounds_what_is_timed(void **state)
{
	struct scene *scene = *state;
	double began;

	expect(scene);
	seen.nap_us = 300000;
	began = dnd_now_seconds();
	assert_int_equal(copies(scene), 0);
	/* Neither of the two naps is in it. */
	assert_true(scene->result.seconds < dnd_now_seconds() - began - 0.59);
	assert_int_equal(seen.begins, 1);
	assert_int_equal(seen.ends, 1);
	assert_false(seen.moved_before);
	assert_true(scene->result.verified);
	assert_int_equal(seen.payloads, 0);
	assert_null(seen.payload);
	scene->options.begin_fn = NULL;
	assert_int_equal(copies(scene), 0);
	assert_int_equal(seen.ends, 2);
	scene->options.begin_fn = begin;
	scene->options.end_fn = NULL;
	assert_int_equal(copies(scene), 0);
	assert_int_equal(seen.begins, 2);
	assert_int_equal(seen.ends, 2);
}

static void is_told_of_the_bounce(void **state)
{
	struct scene *scene = *state;

	expect(scene);
	scene->options.queue_depth = 2;
	scene->options.flags = DONARD_COPY_FORCE_BOUNCE;
	assert_int_equal(copies(scene), 0);
	assert_int_equal(seen.payloads, 1);
	assert_int_equal(seen.payload_bytes, 2 * scene->result.block_bytes);
}

static void begin_refuses(void **state)
{
	struct scene *scene = *state;

	expect(scene);
	seen.begin_rc = -EBUSY;
	seen.text = "scales: somebody else weighs.";
	assert_failure(scene, -EBUSY, "busy", seen.text);
	assert_int_equal(scene->result.bytes, 0);
	assert_false(has_arrived());
	seen.text = NULL;
	assert_failure(scene, -EBUSY, "busy", "the program's own function, options.begin_fn, failed: Device or resource busy.");
	seen.begin_rc = 1;
	assert_failure(scene, -ECANCELED, "canceled", "stopped");
	assert_false(has_arrived());
	assert_int_equal(seen.ends, 0);
}

static void end_fails(void **state)
{
	struct scene *scene = *state;

	expect(scene);
	seen.end_rc = -EIO;
	seen.text = "scales: they broke.";
	assert_failure(scene, -EIO, "busy", seen.text);
	assert_int_equal(scene->result.bytes, BYTES);
	seen.text = NULL;
	scene->options.begin_fn = NULL;
	assert_failure(scene, -EIO, "system", "the program's own function, options.end_fn, failed: Input/output error.");
	seen.end_rc = 7;
	assert_failure(scene, -ECANCELED, "canceled", "stopped");
	assert_int_equal(seen.ends, 3);
}

static int begin_of_a_failure(void *user, const struct donard_interval *interval)
{
	played_failed_reads = true;
	return begin(user, interval);
}

/* The copy's own failure is the one that is reported. */
static void end_after_a_failure(void **state)
{
	struct scene *scene = *state;

	expect(scene);
	seen.end_rc = -EBUSY;
	seen.text = "scales: they broke.";
	scene->options.begin_fn = begin_of_a_failure;
	assert_int_equal(copies(scene), -EIO);
	assert_int_equal(seen.ends, 1);
	assert_int_equal(seen.work_rc, -EIO);
	assert_non_null(strstr(donard_error(scene->fake->ctx), "Input/output error"));
}

static void nothing_is_nothing(void **state)
{
	struct scene *scene = *state;

	expect(scene);
	write_file(scene->in, scene->data, 0);
	assert_int_equal(copies(scene), 0);
	write_file(scene->in, scene->data, BYTES);
	played_route = P2PMEM_ROUTE_NONE;
	assert_int_equal(copies(scene), -EHOSTUNREACH);
	assert_int_equal(seen.begins + seen.ends, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(surrounds_what_is_timed), CASE(is_told_of_the_bounce), CASE(begin_refuses), CASE(end_fails),
		CASE(end_after_a_failure), CASE(nothing_is_nothing),
	};

	return cmocka_run_group_tests_name("interval", tests, NULL, NULL);
}
