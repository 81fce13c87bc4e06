/* SPDX-License-Identifier: Apache-2.0 */
/* The source or destination of a command's bytes: a file, a pipe, a region, or plain memory. */
#ifndef DONARD_CACHEPORT_H
#define DONARD_CACHEPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "command.h"
#include "donard/donard.h"
#include "donard/memory.h"

/*
 * A file or a pipe is read into, and written from, @slots blocks of plain memory.  A region
 * already has all bytes at their places.
 */
struct cli_port {
	const char *name;		/* "-": standard input or output */
	int fd;				/* -1: it is no file or pipe */
	bool regular;			/* a file or device whose end is known */
	bool device;			/* which cannot grow */
	bool made;			/* a file that was not there before */
	uint64_t file_bytes;		/* its size, if regular */
	struct donard_memory *memory;
	uint8_t *bytes;			/* the plain memory */
	uint64_t offset;		/* where to begin */
	/* Called several times a second while a file or pipe is read or written, however long that takes. */
	void (*while_moving)(void *user);
	void *user;
	double ticked_seconds;		/* when it was called last */
};

/*
 * Opens @port->name from @port->offset on.  @length_bytes 0: all that there is.  Returns 0, or an exit code after it
 * has printed an error, as the functions below do.
 */
int cli_port_open(const struct cli *cli, struct cli_port *port, bool writes, uint64_t length_bytes);
/* How many bytes are left from its offset on; 0 if that is not known. */
uint64_t cli_port_left(const struct cli_port *port);
/* Makes the memory for requests: @slots blocks, unless the port is a region, which is its own memory. */
int cli_port_memory(const struct cli *cli, struct cli_port *port, unsigned int slots, uint64_t block_bytes);
/* Is there room for @length bytes, from the port's offset on?  A file system reserves it. */
int cli_port_reserve(const struct cli *cli, const struct cli_port *port, uint64_t length);
/*
 * Reads @length bytes, or fewer at the end, from @at bytes behind the port's offset.  Returns how many it read, or minus an
 * exit code.  It has printed an error then, except for EXIT_STOPPED, for which the caller prints one.  Does nothing if the port
 * is neither a file nor a pipe.
 */
int64_t cli_port_read(const struct cli *cli, struct cli_port *port, uint64_t at, uint8_t *to, uint64_t length);
int64_t cli_port_write(const struct cli *cli, struct cli_port *port, uint64_t at, const uint8_t *from,
		       uint64_t length);
/* Call it after everything was read from the port.  Fails if the port is a region that lost its bytes to a reset meanwhile. */
int cli_port_check_source(const struct cli *cli, const struct cli_port *port);
/*
 * Flushes what was written, as a copy does.  Returns 0 or an exit code.  After 0, @doubt says why the bytes are not durable,
 * and is "" if they are.  @held_back: the device that wrote into a region may still hold the last bytes back.
 */
int cli_port_settle(const struct cli *cli, const struct cli_port *port, bool held_back, char doubt[DONARD_REASON_BYTES]);
/*
 * Returns 0, or an exit code: an earlier write may fail only now.  With @failed, removes an empty file that the port created.
 */
int cli_port_close(const struct cli *cli, struct cli_port *port, bool failed);

#endif /* DONARD_CACHEPORT_H */
