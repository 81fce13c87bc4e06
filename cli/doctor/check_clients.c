// SPDX-License-Identifier: Apache-2.0
/* Devices that start DMA: drives, RDMA NICs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"

#define FIRST_VMD	0x10000	/* domains from this number on belong to Volume Management Devices */

/*
 * PCI drivers of NICs whose RDMA driver has reg_user_mr_dmabuf(), and the first of the tested kernels where it has:
 * docs/hardware.md. irdma is on top of ice, i40e and idpf.
 */
static const struct {
	const char *driver;
	unsigned int major, minor;
} dma_buf_drivers[] = {
	{ "mlx5_core", 6, 12 }, { "ice", 6, 12 }, { "i40e", 6, 12 }, { "bnxt_en", 6, 12 }, { "efa", 6, 12 },
	{ "mana", 7, 3 }, { "ionic", 7, 3 }, { "idpf", 7, 3 },
};

static bool takes_dma_bufs(const struct kernel *kernel, const char *driver)
{
	for (size_t i = 0; i < sizeof(dma_buf_drivers) / sizeof(dma_buf_drivers[0]); i++)
		if (!strcmp(driver, dma_buf_drivers[i].driver))
			return kernel_since(kernel, dma_buf_drivers[i].major, dma_buf_drivers[i].minor);
	return false;
}

struct ports {
	struct examination *x;
	const char *device;
	bool active;
};

static int see_port(void *user, const char *entry)
{
	struct ports *ports = user;
	char state[32];

	source_text(&ports->x->source, state, sizeof(state), "/sys/class/infiniband/%s/ports/%s/state",
		    ports->device, entry);
	ports->active |= strstr(state, "ACTIVE") != NULL;
	return 0;
}

static void check_ports(struct examination *x, const char *device)
{
	struct ports ports = { .x = x, .device = device };
	char folder[128];

	snprintf(folder, sizeof(folder), "/sys/class/infiniband/%s/ports", device);
	source_each(&x->source, folder, see_port, &ports);
	if (!ports.active)
		find(x, CODE_RDMA_PORT_DOWN, device, "%s has no active port", device);
}

static void check_rdma(struct examination *x, const struct donard_client_info *client)
{
	const struct pci_function *function = pci_find(&x->pci, client->bdf);
	const char *driver = function ? function->driver : "";

	if (takes_dma_bufs(&x->kernel, driver))
		find(x, CODE_RDMA_DMA_BUF, client->name, "the driver of %s is %s", client->name, driver);
	else
		find(x, CODE_RDMA_PINS, client->name, "the driver of %s is %s", client->name,
		     driver[0] ? driver : "not known");
	check_ports(x, client->name);
}

static bool is_client(const struct examination *x, const char *device)
{
	const struct donard_client_info *client;

	for (size_t i = 0; (client = donard_client_get(x->clients, i)); i++)
		if (client->type == DONARD_CLIENT_RDMA && !strcmp(client->name, device))
			return true;
	return false;
}

/* Reports soft RDMA devices, which have no PCI function. */
static int see_rdma(void *user, const char *entry)
{
	struct examination *x = user;

	if (!is_client(x, entry))
		find(x, CODE_RDMA_SOFT, entry, "%s has no PCI function", entry);
	return 0;
}

static bool has_namespace(const struct donard_client_info *client, const char *name)
{
	for (size_t i = 0; i < client->namespace_count; i++)
		if (!strcmp(client->namespaces[i], name))
			return true;
	return false;
}

/*
 * Returns "nvme0 (BDF), nvme1 (BDF)": the clients from @first on that have the namespace.  The caller frees it; NULL without
 * memory.
 */
static char *name_ways(const struct examination *x, const char *name, size_t first, unsigned int *count)
{
	const struct donard_client_info *client;
	size_t bytes;
	char *text = NULL;
	FILE *out = open_memstream(&text, &bytes);

	*count = 0;
	if (!out)
		return NULL;
	for (size_t i = first; (client = donard_client_get(x->clients, i)); i++)
		if (has_namespace(client, name))
			fprintf(out, "%s%s (%s)", (*count)++ ? ", " : "", client->name, client->bdf);
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}

/* The finding is made at the first client that has the namespace, and names the others; find() adds none for them. */
static void check_multipath(struct examination *x, const struct donard_client_info *client, size_t at)
{
	for (size_t i = 0; i < client->namespace_count; i++) {
		const char *name = client->namespaces[i];
		unsigned int count;
		char *ways = name_ways(x, name, at, &count);

		if (ways && count > 1)
			find(x, CODE_MULTIPATH, name, "%s is reached through %s", name, ways);
		free(ways);
	}
}

static void check_vmd(struct examination *x, const struct donard_client_info *client)
{
	if (strtoul(client->bdf, NULL, 16) >= FIRST_VMD)
		find(x, CODE_BEHIND_VMD, client->bdf, "%s (%s) is in a domain of its own", client->name, client->bdf);
}

/* @state is "" if it cannot be read, as on a machine that was captured without it. */
static void read_state(const struct examination *x, const struct donard_client_info *drive, char state[32])
{
	source_text(&x->source, state, 32, "/sys/class/nvme/%s/state", drive->name);
}

bool is_drive_gone(const struct examination *x, const struct donard_client_info *client)
{
	char state[32];

	if (client->type != DONARD_CLIENT_NVME)
		return false;
	read_state(x, client, state);
	return !strcmp(state, "dead") || !strncmp(state, "deleting", strlen("deleting"));
}

static void check_state(struct examination *x, const struct donard_client_info *drive)
{
	char state[32];

	read_state(x, drive, state);
	if (state[0] && strcmp(state, "live"))
		find(x, CODE_DRIVE_NOT_LIVE, drive->bdf, "the state of %s (%s) is '%s'", drive->name, drive->bdf, state);
}

void check_clients(struct examination *x)
{
	const struct donard_client_info *client;
	unsigned int drives = 0, nics = 0;

	for (size_t i = 0; (client = donard_client_get(x->clients, i)); i++) {
		drives += client->type == DONARD_CLIENT_NVME;
		nics += client->type == DONARD_CLIENT_RDMA;
		check_vmd(x, client);
		if (client->type == DONARD_CLIENT_RDMA)
			check_rdma(x, client);
		if (client->type == DONARD_CLIENT_NVME) {
			check_state(x, client);
			check_multipath(x, client, i);
		}
	}
	source_each(&x->source, "/sys/class/infiniband", see_rdma, x);
	if (!drives && !nics)
		find(x, CODE_NO_CLIENT, "", "/sys/class/nvme and /sys/class/infiniband name no PCI function");
	else if (!drives)
		find(x, CODE_NO_DRIVE, "", "/sys/class/nvme names no PCI function");
}
