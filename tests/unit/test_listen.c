// SPDX-License-Identifier: Apache-2.0
/*
 * Why a server cannot listen, or no device be used: the connection manager, the RDMA devices of this machine and their nodes are
 * played by this program.
 */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <unistd.h>

#include "unit.h"
#include "donard/rdma.h"
#include "fake_sysfs.h"
#include "rdma/device.h"
#include "rdma/listen.h"
#include "rdma/reach.h"
#include "says.h"

#define PORT	7077

static struct {
	struct fake *fake;
	struct donard_context *ctx;	/* its own */
	struct rdma_event_channel events;
	struct rdma_cm_id ids[2];
	unsigned int id_count;
	int bind_error, listen_error;	/* 0: it works */
	int any_port_error;		/* as bind_error, where the kernel chooses the port */
	struct ibv_device device;
	struct ibv_device *devices[2];	/* those of this machine, if any */
	int open_error;			/* 0: it works */
	int channel_error, access_error;	/* the latter of each node, which is there */
	struct ibv_context verbs;
	enum ibv_port_state ports[2];	/* their states */
	struct sockaddr_in own;		/* the address of this machine's one interface, if its family is set */
	struct ifaddrs interface;
} scene;

struct rdma_event_channel *rdma_create_event_channel(void)
{
	errno = scene.channel_error;
	scene.events.fd = -1;
	return scene.channel_error ? NULL : &scene.events;
}

void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	assert_ptr_equal(channel, &scene.events);
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context, enum rdma_port_space space)
{
	(void)channel;
	(void)context;
	(void)space;
	assert_true(scene.id_count < 2);
	*id = &scene.ids[scene.id_count++];
	(*id)->verbs = scene.devices[0] ? &scene.verbs : NULL;
	(*id)->port_num = 1;
	return 0;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	assert_ptr_equal(id, &scene.ids[--scene.id_count]);
	return 0;
}

int __real_access(const char *path, int mode);
int __wrap_access(const char *path, int mode);
int __wrap_access(const char *path, int mode)
{
	if (strncmp(path, "/dev/infiniband/", 16))
		return __real_access(path, mode);
	errno = scene.access_error;
	return scene.access_error && mode != F_OK ? -1 : 0;
}

int __wrap_getifaddrs(struct ifaddrs **all);
int __wrap_getifaddrs(struct ifaddrs **all)
{
	scene.interface.ifa_addr = (struct sockaddr *)&scene.own;
	*all = scene.own.sin_family ? &scene.interface : NULL;
	return 0;
}

void __wrap_freeifaddrs(struct ifaddrs *all);
void __wrap_freeifaddrs(struct ifaddrs *all)
{
	assert_true(!all || all == &scene.interface);
}

static int fails(int error_number)
{
	errno = error_number;
	return error_number ? -1 : 0;
}

int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *address)
{
	(void)id;
	return fails(((struct sockaddr_in *)address)->sin_port ? scene.bind_error : scene.any_port_error);
}

int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	(void)id;
	(void)backlog;
	return fails(scene.listen_error);
}

struct ibv_device **ibv_get_device_list(int *count)
{
	*count = scene.devices[0] ? 1 : 0;
	return scene.devices;
}

void ibv_free_device_list(struct ibv_device **list)
{
	assert_ptr_equal(list, scene.devices);
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	assert_ptr_equal(device, &scene.device);
	errno = scene.open_error;
	return scene.open_error ? NULL : &scene.verbs;
}

int ibv_close_device(struct ibv_context *verbs)
{
	assert_ptr_equal(verbs, &scene.verbs);
	return 0;
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *verbs, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	assert_ptr_equal(verbs, &scene.verbs);
	if (port > 2)
		return EINVAL;
	((struct ibv_port_attr *)attr)->state = scene.ports[port - 1];
	return 0;
}

static int setup(void **state)
{
	memset(&scene, 0, sizeof(scene));
	if (fake_setup(state))
		return -1;
	scene.fake = *state;
	scene.ctx = scene.fake->ctx;
	return 0;
}

static int teardown(void **state)
{
	assert_int_equal(scene.id_count, 0);
	return fake_teardown(state);
}

static int listens(const char *host)
{
	struct dnd_listener listener;
	int rc = dnd_listener_open(scene.ctx, &listener, host, PORT);

	if (!rc)
		rc = dnd_listen(scene.ctx, &listener);
	dnd_listener_close(&listener);
	return rc;
}

static void assert_in_use(const char *host)
{
	assert_int_equal(listens(host), -EBUSY);
	assert_string_equal(donard_error_code(scene.ctx), "busy");
	assert_says(donard_error(scene.ctx), host ? host : "127.0.0.1");
	assert_says(donard_error(scene.ctx), "port 7077 is in use");
}

/* The kernel reports a port in use if both listeners name the same address. */
static void port_in_use(void **state)
{
	(void)state;
	scene.bind_error = EADDRINUSE;
	assert_in_use("192.0.2.1");
}

/* The kernel's errno differs if one of them is at loopback, or at all addresses. */
static void port_in_use_at_loopback(void **state)
{
	(void)state;
	scene.bind_error = EADDRNOTAVAIL;
	assert_in_use(NULL);
	assert_in_use("192.0.2.1");
	assert_in_use("::");
}

/* siw learns it from TCP. */
static void port_in_use_by_tcp(void **state)
{
	(void)state;
	scene.listen_error = EADDRINUSE;
	assert_in_use("192.0.2.1");
	scene.listen_error = ENOMEM;
	assert_int_equal(listens("192.0.2.1"), -ENOMEM);
	assert_says(donard_error(scene.ctx), "192.0.2.1: port 7077");
}

static void address_of_no_device(void **state)
{
	(void)state;
	scene.bind_error = scene.any_port_error = EADDRNOTAVAIL;
	assert_int_equal(listens("192.0.2.1"), -EOPNOTSUPP);
	assert_string_equal(donard_error_code(scene.ctx), "no-rdma-device");
	assert_says(donard_error(scene.ctx), "192.0.2.1: this machine has no RDMA device");
	fake_file(scene.fake, "class/infiniband/rxe0/node_desc", "soft");
	assert_int_equal(listens("192.0.2.1"), -EOPNOTSUPP);
	assert_says(donard_error(scene.ctx), "has the RDMA device rxe0, and no node of it is in /dev/infiniband");
}

/* One that has an address. */
static void set_up_device(void)
{
	strcpy(scene.device.name, "rxe0");
	scene.devices[0] = &scene.device;
	scene.verbs.device = &scene.device;
	scene.ports[0] = IBV_PORT_ACTIVE;
	scene.own.sin_family = AF_INET;
	assert_int_equal(inet_pton(AF_INET, "192.0.2.5", &scene.own.sin_addr), 1);
}

static void finds_none(const char *address, const char *said)
{
	struct dnd_reach reach = { .ctx = scene.ctx, .server = "a server", .listen_option = "options.listen", .timeout_ms = 100 };

	scene.channel_error = ENODEV;
	assert_int_equal(dnd_reach_find(&reach, address, PORT), -EOPNOTSUPP);
	assert_says(donard_error(scene.ctx), said);
	dnd_reach_close(&reach);
}

/* A client's text names the option of its server's call.  The server's own text says nothing about clients. */
static void loopback_of_no_device(void **state)
{
	(void)state;
	set_up_device();
	scene.bind_error = ENODEV;
	assert_int_equal(listens(NULL), -EOPNOTSUPP);
	assert_says(donard_error(scene.ctx), "127.0.0.1: no RDMA device has this address or a route to it. The RDMA devices of this "
		    "machine have: 192.0.2.5 (rxe0).");
	finds_none("127.0.0.1", "127.0.0.1:7077: no RDMA device serves loopback");
	finds_none("127.0.0.1", "start the server with options.listen and that address: 192.0.2.5 (rxe0).");
	finds_none("192.0.2.9", "192.0.2.9:7077: no RDMA device has this address or a route to it");
}

static void assert_not_active(enum ibv_port_state first, enum ibv_port_state second, const char *port, const char *remedy)
{
	struct ibv_context *verbs;

	scene.ports[0] = first;
	scene.ports[1] = second;
	assert_int_equal(donard_rdma_open_device(scene.ctx, NULL, &verbs), -ENETDOWN);
	assert_null(verbs);
	assert_says(donard_error(scene.ctx), port);
	assert_says(donard_error(scene.ctx), remedy);
}

/* A cable does not help where a fabric lacks its manager. */
static void ports_that_are_not_active(void **state)
{
	struct ibv_context *verbs;

	(void)state;
	strcpy(scene.device.name, "mlx5_0");
	scene.devices[0] = &scene.device;
	assert_not_active(IBV_PORT_DOWN, IBV_PORT_DOWN, "mlx5_0: port 1 is not active", "check the cable");
	assert_not_active(IBV_PORT_DOWN, IBV_PORT_INIT, "mlx5_0: port 2 is not active", "subnet manager");
	assert_not_active(IBV_PORT_ARMED, IBV_PORT_INIT, "mlx5_0: port 1 is not active", "subnet manager");
	scene.ports[1] = IBV_PORT_ACTIVE;
	assert_int_equal(donard_rdma_open_device(scene.ctx, NULL, &verbs), 0);
	assert_ptr_equal(verbs, &scene.verbs);
}

/* librdmacm says no more of a device that it may not open than of none. */
static void device_that_may_not_be_opened(void **state)
{
	(void)state;
	strcpy(scene.device.name, "rxe0");
	strcpy(scene.device.dev_name, "uverbs0");
	scene.devices[0] = &scene.device;
	scene.open_error = ENOENT;	/* there is none in /dev/char, where libibverbs looks at last */
	scene.access_error = EPERM;
	scene.bind_error = scene.any_port_error = ENODEV;
	assert_int_equal(listens("192.0.2.1"), -EPERM);
	assert_says(donard_error(scene.ctx), "rxe0 cannot be opened");
	assert_says(donard_error(scene.ctx), "/dev/infiniband");
}

static void manager_that_may_not_be_opened(void **state)
{
	(void)state;
	scene.channel_error = ENOENT;
	scene.access_error = EACCES;
	assert_int_equal(listens("192.0.2.1"), -EACCES);
	assert_says(donard_error(scene.ctx), "/dev/infiniband/rdma_cm has to be open to this user");
}

static void port_of_root(void **state)
{
	(void)state;
	scene.bind_error = EACCES;
	assert_int_equal(listens("192.0.2.1"), -EACCES);
	assert_says(donard_error(scene.ctx), "CAP_NET_BIND_SERVICE");
}

static void listening_works(void **state)
{
	(void)state;
	assert_int_equal(listens(NULL), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(port_in_use), CASE(port_in_use_at_loopback), CASE(port_in_use_by_tcp), CASE(address_of_no_device),
		CASE(loopback_of_no_device),
		CASE(port_of_root), CASE(device_that_may_not_be_opened), CASE(manager_that_may_not_be_opened),
		CASE(ports_that_are_not_active), CASE(listening_works),
	};

	return cmocka_run_group_tests_name("listen", tests, NULL, NULL);
}
