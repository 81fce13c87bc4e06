// SPDX-License-Identifier: Apache-2.0
/* The benchmark's report of links between regions and drives or NICs; routes are played. */
#include <errno.h>
#include <json-c/json.h>

#include "bench/links.h"
#include "fake_sysfs.h"
#include "tool/command.h"
#include "unit.h"

#define DRIVE		"0000:01:00.0"
#define REGION		"0000:02:00.0"
#define NIC		"0000:81:00.0"
#define REGISTERS(payload, request, region_payload) \
	"\"client_payload_bytes_max\":" payload ",\"client_request_bytes_max\":" request ",\"region_payload_bytes_max\":" \
	region_payload ",\"client_ecrc\":false,\"region_ecrc\":false,\"flits\":false"

static int probe_rc;

int __wrap_donard_route_probe(struct donard_context *ctx, const char *region, const char *bdf, struct donard_route *route);
int __wrap_donard_route_probe(struct donard_context *ctx, const char *region, const char *bdf, struct donard_route *route)
{
	(void)ctx;
	assert_string_equal(region, "p2pmem0");
	assert_true(!strcmp(bdf, DRIVE) || !strcmp(bdf, NIC));
	route->route = DONARD_ROUTE_SWITCH;
	route->bus_address = 1ULL << 32;
	return probe_rc;
}

/* A function with a PCI Express capability, whose Device Control has these two sizes as powers of two of 128 bytes. */
static void function(struct fake *fake, const char *bdf, unsigned int payload, unsigned int request)
{
	uint8_t config[256] = { [0x06] = 0x10, [0x34] = 0x50, [0x50] = 0x10, [0x52] = 0x02, [0x58] = (uint8_t)(payload << 5),
				[0x59] = (uint8_t)(request << 4) };
	char path[128];

	fake_pci(fake, bdf, "pci", "0x020000", FAKE_16K);
	snprintf(path, sizeof(path), "bus/pci/devices/%s/config", bdf);
	fake_bytes(fake, path, config, sizeof(config));
}

static int machine_setup(void **state)
{
	struct fake *fake;
	int rc = fake_setup(state);

	fake = *state;
	probe_rc = 0;
	fake_region(fake, "p2pmem0", "generic", REGION);
	function(fake, REGION, 1, 2);
	function(fake, DRIVE, 2, 2);
	fake_nvme(fake, 0, DRIVE);
	function(fake, NIC, 2, 5);
	fake_link(fake, "class/infiniband/mlx5_0/device", "devices/pci/" NIC);
	return rc;
}

/* Adds a link, and returns the text of @links. */
static const char *add(struct fake *fake, struct json_object *links, const char *direction, enum donard_client_type type,
		       const char *name)
{
	struct cli cli = { .ctx = fake->ctx };

	bench_add_links(&cli, links, direction, type, name, "p2pmem0");
	return json_object_to_json_string_ext(links, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
}

static void nic_to_region(void **state)
{
	static const char path[] = "[{\"direction\":\"to-region\",\"client_type\":\"rdma\",\"client\":\"mlx5_0\","
		"\"client_function\":\"" NIC "\",\"region_function\":\"" REGION "\",\"route\":\"switch\",\"wide_address\":true,"
		REGISTERS("512", "4096", "256") ",\"unknown\":null}]";
	struct json_object *links = json_object_new_array();

	assert_string_equal(add(*state, links, "to-region", DONARD_CLIENT_RDMA, "mlx5_0"), path);
	/* Once is enough. */
	assert_string_equal(add(*state, links, "to-region", DONARD_CLIENT_RDMA, "mlx5_0"), path);
	add(*state, links, "from-region", DONARD_CLIENT_RDMA, "mlx5_0");
	assert_int_equal(json_object_array_length(links), 2);
	json_object_put(links);
}

static void partition_of_drive(void **state)
{
	struct json_object *links = json_object_new_array();

	probe_rc = -EBUSY;
	assert_string_equal(add(*state, links, "from-region", DONARD_CLIENT_NVME, "/dev/nvme0n1p1"),
			    "[{\"direction\":\"from-region\",\"client_type\":\"nvme\",\"client\":\"/dev/nvme0n1p1\","
			    "\"client_function\":\"" DRIVE "\",\"region_function\":\"" REGION "\",\"route\":null,"
			    "\"wide_address\":null," REGISTERS("512", "512", "256") ",\"unknown\":\"" DRIVE ": the kernel does "
			    "not tell its route, as while the function is bound or reset\"}]");
	json_object_put(links);
}

/* A device has one such object, however much it moves. */
static void nic_in_software(void **state)
{
	struct json_object *links = json_object_new_array();

	fake_folder(*state, "class/infiniband/rxe0");
	add(*state, links, "to-region", DONARD_CLIENT_RDMA, "rxe0");
	assert_string_equal(add(*state, links, "from-region", DONARD_CLIENT_RDMA, "rxe0"),
			    "[{\"direction\":null,\"client_type\":\"rdma\",\"client\":\"rxe0\","
			    "\"unknown\":\"rxe0: it is RDMA in software: the CPU copies, and it has no link\"}]");
	json_object_put(links);
}

static void says(void **state, enum donard_client_type type, const char *name, const char *unknown)
{
	struct json_object *links = json_object_new_array(), *link;

	add(*state, links, "to-region", type, name);
	assert_int_equal(json_object_array_length(links), 1);
	link = json_object_array_get_idx(links, 0);
	assert_string_equal(json_object_get_string(json_object_object_get(link, "unknown")), unknown);
	assert_string_equal(json_object_get_string(json_object_object_get(link, "direction")), "to-region");
	json_object_put(links);
}

/* A device whose function is hidden by a container, or gone, is not taken for a software device. */
static void no_function(void **state)
{
	fake_link(*state, "class/infiniband/mlx5_1/device", "devices/hidden");
	says(state, DONARD_CLIENT_RDMA, "mlx5_1", "mlx5_1: sysfs does not tell its PCI function");
	says(state, DONARD_CLIENT_RDMA, "mlx5_9", "mlx5_9: sysfs does not tell its PCI function");
	says(state, DONARD_CLIENT_NVME, "/dev/md0", "/dev/md0: it is no namespace of an NVMe drive, nor a partition of one");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, machine_setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nic_to_region),
		TEST(partition_of_drive),
		TEST(nic_in_software),
		TEST(no_function),
	};

	return cmocka_run_group_tests_name("bench_links", tests, NULL, NULL);
}
