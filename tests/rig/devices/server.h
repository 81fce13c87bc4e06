/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One PCI device behind a socket: the server's half of vfio-user.
 *
 * The client is an emulator, and nothing that it sends is trusted. What is wrong within a message is answered with an
 * error; what makes the stream itself doubtful (a length that cannot be, a message cut short, descriptors beyond the
 * limit) ends the connection, and the device is as if its machine had lost power. A client that does not read its
 * answers is not read from either, so it holds up nobody else.
 *
 * No call blocks. Give server_wants() to poll(), and call server_serve() when that has something to say.
 */
#ifndef LAB_DEVICES_SERVER_H
#define LAB_DEVICES_SERVER_H

#include "dma.h"
#include "pci.h"
#include "protocol.h"
#include <poll.h>
#include <stdio.h>

#define SERVER_MAX_VECTORS 32

struct device_ops {
	/* An access inside of a BAR. A bus reports no errors: what is not there reads as ones and takes no write. */
	void (*read)(void *device, unsigned int bar, uint64_t offset, void *data, uint32_t len_bytes);
	void (*write)(void *device, unsigned int bar, uint64_t offset, const void *data, uint32_t len_bytes);
	/* The machine resets the device. */
	void (*reset)(void *device);
	/* A machine is there, or gone with its memory and interrupts. */
	void (*attached)(void *device);
	void (*detached)(void *device);
};

struct server {
	const struct device_ops *ops;
	void *device;
	const char *name;
	/* For complaints about the client; NULL: nobody wants to know. */
	FILE *log;
	int listener, client;
	struct pci_config config;
	struct dma dma;
	/* Of MSI-X: eventfds, or -1. */
	int vectors[SERVER_MAX_VECTORS];
	/* Did the client say its version? */
	bool greeted;
	/* The message that arrives, and the descriptors that came with it. */
	_Alignas(8) uint8_t in[VFU_MAX_MESSAGE];
	size_t in_bytes;
	int fds[VFU_MAX_FDS];
	size_t fd_count;
	/* The answer that waits to be sent. */
	_Alignas(8) uint8_t out[VFU_MAX_MESSAGE];
	size_t out_bytes, sent_bytes;
};

/* server_init() - before anything else; no socket yet. */
void server_init(struct server *server, const char *name, const struct pci_identity *identity,
		 const struct device_ops *ops, void *device);
/* Listens at PATH, which must not exist. Returns 0 or an errno. */
int server_listen(struct server *server, const char *path);
/* Takes a connected socket as the client; it is the server's from here on. */
void server_attach(struct server *server, int client);
struct pollfd server_wants(const struct server *server);
void server_serve(struct server *server);
/* Drops the client, if there is one. */
void server_detach(struct server *server);
void server_close(struct server *server);

/* Interrupts the machine, if its driver has that vector. */
void server_raise(const struct server *server, unsigned int vector);

#endif
