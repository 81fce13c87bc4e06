// SPDX-License-Identifier: Apache-2.0
/* See device.h. */
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <unistd.h>

#include "rdma/address.h"
#include "rdma/device.h"

#define MAX_PORTS	8
#define LIST_BYTES	448
#define DEVICE_BYTES	80

/* The state of a port; IBV_PORT_NOP (0) if there is no such port. */
static enum ibv_port_state port_state(struct ibv_context *verbs, uint8_t port)
{
	struct ibv_port_attr attr;

	return ibv_query_port(verbs, port, &attr) ? IBV_PORT_NOP : attr.state;
}

/* The port that is closest to being active: the states have that order. */
static uint8_t best_port(struct ibv_context *verbs, enum ibv_port_state *state)
{
	enum ibv_port_state seen;
	uint8_t best = 1;

	*state = IBV_PORT_DOWN;
	for (uint8_t port = 1; port <= MAX_PORTS && *state != IBV_PORT_ACTIVE; port++) {
		seen = port_state(verbs, port);
		if (seen <= *state || seen > IBV_PORT_ACTIVE)
			continue;
		*state = seen;
		best = port;
	}
	return best;
}

static bool has_active_port(struct ibv_context *verbs)
{
	enum ibv_port_state state;

	best_port(verbs, &state);
	return state == IBV_PORT_ACTIVE;
}

/* Why no device that fits is open: one has no active port, or could not be opened; "" if none. */
struct obstacle {
	char down[DEVICE_BYTES], closed[DEVICE_BYTES];
	uint8_t port;			/* of the device without an active one */
	enum ibv_port_state state;	/* of that port */
	int error_number;
};

#define NODES	"/dev/infiniband"

/*
 * Why a node cannot be opened.  @error_number is what libibverbs or librdmacm left: when they may not open it, they look for another
 * one in /dev/char, which may be missing, as in a container; then they say ENOENT.
 */
static int node_error(const char *node, int error_number)
{
	return access(node, R_OK | W_OK) && errno != ENOENT ? errno : error_number;
}

static void note_closed(struct obstacle *obstacle, struct ibv_device *device, int error_number)
{
	char node[PATH_MAX];

	snprintf(node, sizeof(node), NODES "/%s", device->dev_name);
	snprintf(obstacle->closed, sizeof(obstacle->closed), "%s", ibv_get_device_name(device));
	obstacle->error_number = node_error(node, error_number);
}

/* Writes "rxe0 (active), rxe1 (port down)", or "". */
static void list_devices(struct ibv_device **devices, int count, char *text, size_t text_bytes, struct obstacle *obstacle)
{
	size_t used = 0;

	text[0] = '\0';
	for (int i = 0; i < count && used < text_bytes; i++) {
		struct ibv_context *verbs = ibv_open_device(devices[i]);

		if (!verbs)
			note_closed(obstacle, devices[i], errno);
		used += (size_t)snprintf(text + used, text_bytes - used, "%s%s (%s)",
					 used ? ", " : "", ibv_get_device_name(devices[i]),
					 !verbs ? "cannot be opened" : has_active_port(verbs) ?
					 "active" : "port down");
		if (verbs)
			ibv_close_device(verbs);
	}
}

/* Asks the connection manager which device has the address, because routes and GIDs differ between transports. */
static bool has_device(struct sockaddr *address, char device[DEVICE_BYTES])
{
	struct rdma_cm_id *id;
	bool found;

	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP))
		return false;
	found = !rdma_bind_addr(id, address) && id->verbs;
	if (found)
		snprintf(device, DEVICE_BYTES, "%s%s", ibv_get_device_name(id->verbs->device),
			 port_state(id->verbs, id->port_num) == IBV_PORT_ACTIVE ? "" :
			 ", port down");
	rdma_destroy_id(id);
	return found;
}

/* Is the address neither loopback nor valid on one link only? */
static bool is_of_use(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET6)
		return !dnd_address_is_loopback(address) &&
		       !IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)address)->sin6_addr);
	return address->sa_family == AF_INET && !dnd_address_is_loopback(address);
}

/* Writes "192.0.2.1 (rxe0), 2001:db8::1 (rxe0)", or "". */
static void list_addresses(char *text, size_t text_bytes)
{
	struct ifaddrs *all = NULL;
	char device[DEVICE_BYTES], host[DND_PEER_BYTES];
	size_t used = 0;

	text[0] = '\0';
	if (getifaddrs(&all))
		return;
	for (const struct ifaddrs *one = all; one && used < text_bytes; one = one->ifa_next) {
		if (!one->ifa_addr || !is_of_use(one->ifa_addr) || !has_device(one->ifa_addr, device))
			continue;
		dnd_address_host(one->ifa_addr, host);
		used += (size_t)snprintf(text + used, text_bytes - used, "%s%s (%s)",
					 used ? ", " : "", host, device);
	}
	freeifaddrs(all);
}

static int note_device(struct donard_context *ctx, const char *entry, void *name)
{
	(void)ctx;
	snprintf(name, DEVICE_BYTES, "%s", entry);
	return 0;
}

/* Verbs do not list a device without a node in /dev, for instance in a container; sysfs does. */
static int nothing_listed(struct donard_context *ctx, const char *what)
{
	char name[DEVICE_BYTES] = "";
	int rc = dnd_for_each_entry(ctx, "class/infiniband", note_device, name);

	if (rc)
		return rc;
	if (name[0])
		return dnd_fail(ctx, DND_E_NO_RDMA, "%s: this machine has the RDMA device %s, and no node of it is in /dev/infiniband. "
				"Give this container that folder, or load the module (modprobe ib_uverbs).", what, name);
	return dnd_fail(ctx, DND_E_NO_RDMA, "%s: this machine has no RDMA device. Load the driver of "
			"its NIC, or make a soft one: 'modprobe rdma_rxe' and 'rdma link add rxe0 "
			"type rxe netdev NAME'.", what);
}

/* Lists the devices in @text; fails if there are none, or they cannot be listed. */
static int have_devices(struct donard_context *ctx, const char *what, char *text, size_t text_bytes, struct obstacle *obstacle)
{
	struct ibv_device **devices;
	int count = 0;

	devices = ibv_get_device_list(&count);
	if (!devices && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
		return dnd_fail_errno(ctx, errno, "%s: the RDMA devices of this machine cannot be listed", what);
	list_devices(devices, count, text, text_bytes, obstacle);
	if (devices)
		ibv_free_device_list(devices);
	return text[0] ? 0 : nothing_listed(ctx, what);
}

int dnd_no_device(struct donard_context *ctx, const char *name)
{
	struct obstacle obstacle = { 0 };
	char devices[LIST_BYTES];
	int rc = have_devices(ctx, name, devices, sizeof(devices), &obstacle);

	if (rc)
		return rc;
	return dnd_fail(ctx, DND_E_NO_RDMA, "%s: no such RDMA device; there are: %s. 'rdma link' shows "
			"which network interface each belongs to.", name, devices);
}

#define OPEN_TO_USER	" has to be open to this user, and in a container to its devices"

static int not_open(struct donard_context *ctx, const struct obstacle *obstacle)
{
	return dnd_fail_access(ctx, obstacle->error_number, "Its node in " NODES OPEN_TO_USER, "%s cannot be opened",
			       obstacle->closed);
}

int dnd_no_device_at(struct donard_context *ctx, const char *address, const char *listen_option)
{
	char devices[LIST_BYTES], addresses[LIST_BYTES];
	struct obstacle obstacle = { 0 };
	int rc = have_devices(ctx, address, devices, sizeof(devices), &obstacle);

	if (rc)
		return rc;
	list_addresses(addresses, sizeof(addresses));
	/* librdmacm tells no address of a device that it cannot open. */
	if (!addresses[0] && obstacle.closed[0])
		return not_open(ctx, &obstacle);
	if (!addresses[0])
		return dnd_fail(ctx, DND_E_NO_RDMA, "%s: no RDMA device has an address; there are: %s. "
				"Give one to its network interface, which 'rdma link' names.", address,
				devices);
	if (listen_option)
		return dnd_fail(ctx, DND_E_NO_RDMA, "%s: no RDMA device serves loopback; each has the "
				"address of its network interface. Connect to one of these, and start "
				"the server with %s and that address: %s.", address, listen_option, addresses);
	return dnd_fail(ctx, DND_E_NO_RDMA, "%s: no RDMA device has this address or a route to it. The "
			"RDMA devices of this machine have: %s.", address, addresses);
}

/* The node by which librdmacm reaches the kernel; it is missing without the module, and perhaps in a container. */
#define MANAGER_NODE	NODES "/rdma_cm"

int dnd_no_manager(struct donard_context *ctx, const char *address, const char *listen_option, int error_number)
{
	struct obstacle obstacle = { 0 };
	char devices[LIST_BYTES];
	int rc;

	if (access(MANAGER_NODE, F_OK)) {
		rc = have_devices(ctx, address, devices, sizeof(devices), &obstacle);
		return rc ? rc : dnd_fail(ctx, DND_E_NO_RDMA, "%s: there is no " MANAGER_NODE ", by which connections are made. Load "
					  "its module (modprobe rdma_ucm), or give this container that node.", address);
	}
	error_number = node_error(MANAGER_NODE, error_number);
	if (error_number == ENODEV || error_number == ENOENT)
		return dnd_no_device_at(ctx, address, listen_option);
	return dnd_fail_access(ctx, error_number, "Its node " MANAGER_NODE OPEN_TO_USER,
			       "%s: the RDMA connection manager cannot be used", address);
}

static int port_down(struct donard_context *ctx, const char *device, uint8_t port,
		     enum ibv_port_state state)
{
	const char *remedy = "Bring its network interface up ('ip link set NAME up'; 'rdma link' names it) and check the cable";

	if (state == IBV_PORT_INIT || state == IBV_PORT_ARMED)
		remedy = "Start a subnet manager (opensm), which makes the ports of an InfiniBand fabric active";
	return dnd_fail(ctx, DND_E_PORT_DOWN, "%s: port %u is not active (%s). %s.", device, port, ibv_port_state_str(state), remedy);
}

int dnd_device_check_port(struct donard_context *ctx, struct ibv_context *verbs, uint8_t port)
{
	enum ibv_port_state state = port_state(verbs, port);

	if (state == IBV_PORT_ACTIVE)
		return 0;
	return port_down(ctx, ibv_get_device_name(verbs->device), port, state);
}

/* The vendor ids are those of rxe_param.h and siw.h in the kernel's drivers/infiniband/sw. */
bool dnd_device_copies_by_cpu(struct ibv_context *verbs)
{
	static const uint32_t rxe = 0xffffff, siw = 0x626d74;
	struct ibv_device_attr attr;

	if (ibv_query_device(verbs, &attr))
		return false;
	return attr.vendor_id == rxe || attr.vendor_id == siw;
}

unsigned int dnd_device_sink_rights(const struct ibv_context *verbs)
{
	return DONARD_RDMA_LOCAL_WRITE | (verbs->device->transport_type == IBV_TRANSPORT_IWARP ? DONARD_RDMA_WRITE : 0);
}

enum donard_rdma_transport dnd_device_transport(struct ibv_context *verbs, uint8_t port)
{
	struct ibv_port_attr attr;

	if (verbs->device->transport_type == IBV_TRANSPORT_IWARP)
		return DONARD_RDMA_IWARP;
	if (!ibv_query_port(verbs, port, &attr) && attr.link_layer == IBV_LINK_LAYER_ETHERNET)
		return DONARD_RDMA_ROCE;
	return DONARD_RDMA_INFINIBAND;
}

static bool has_gid(struct ibv_context *verbs, uint8_t port, const union ibv_gid *wanted)
{
	struct ibv_port_attr attr;
	union ibv_gid gid;

	if (ibv_query_port(verbs, port, &attr))
		return false;
	for (int i = 0; i < attr.gid_tbl_len; i++)
		if (!ibv_query_gid(verbs, port, i, &gid) && !memcmp(&gid, wanted, sizeof(gid)))
			return true;
	return false;
}

bool dnd_device_route_is_local(struct rdma_cm_id *id)
{
	const struct rdma_route *route = &id->route;

	if (id->verbs->device->transport_type == IBV_TRANSPORT_IWARP)
		return true;
	/* The queue pair sends to the GID of the path; the other GID is the one that the address stands for. */
	return route->num_paths > 0 &&
	       has_gid(id->verbs, id->port_num, &route->path_rec[0].dgid) &&
	       has_gid(id->verbs, id->port_num, &route->addr.addr.ibaddr.dgid);
}

/* Opens the first device that fits. */
static struct ibv_context *find(struct ibv_device **devices, int count, const char *name,
				struct obstacle *obstacle)
{
	struct ibv_context *verbs;

	for (int i = 0; i < count; i++) {
		if (name && strcmp(name, ibv_get_device_name(devices[i])))
			continue;
		verbs = ibv_open_device(devices[i]);
		if (!verbs) {
			note_closed(obstacle, devices[i], errno);
			continue;
		}
		obstacle->port = best_port(verbs, &obstacle->state);
		if (obstacle->state == IBV_PORT_ACTIVE)
			return verbs;
		snprintf(obstacle->down, sizeof(obstacle->down), "%s", ibv_get_device_name(devices[i]));
		ibv_close_device(verbs);
	}
	return NULL;
}

static int not_opened(struct donard_context *ctx, const char *name, const struct obstacle *obstacle)
{
	if (obstacle->down[0])
		return port_down(ctx, obstacle->down, obstacle->port, obstacle->state);
	if (obstacle->closed[0])
		return not_open(ctx, obstacle);
	return dnd_no_device(ctx, name ? name : "RDMA");
}

DND_PUBLIC int donard_rdma_open_device(struct donard_context *ctx, const char *name,
				       struct ibv_context **verbs)
{
	DND_USES(CONTEXT, ctx);
	struct ibv_device **devices;
	struct obstacle obstacle = { 0 };
	int count = 0, rc = 0;

	devices = ibv_get_device_list(&count);
	*verbs = find(devices, count, name, &obstacle);
	if (!*verbs)
		rc = not_opened(ctx, name, &obstacle);
	if (devices)
		ibv_free_device_list(devices);
	return rc;
}
