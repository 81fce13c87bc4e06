/* SPDX-License-Identifier: Apache-2.0 */
/* Where a command's bytes come from, or go to: a file, a pipe, a region, or plain memory. */
#ifndef DONARD_CACHEPORT_H
#define DONARD_CACHEPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "command.h"
#include "donard/memory.h"

/*
 * A file or a pipe is read into, and written from, @slots places of plain memory.  A region has
 * all bytes itself, at their places.
 */
struct cli_port {
	const char *name;		/* "-": standard input or output */
	int fd;				/* -1: no file */
	bool regular;			/* with an end that is known */
	uint64_t file_bytes;		/* of a regular one */
	struct donard_memory *memory;
	uint8_t *bytes;			/* of plain memory */
	uint64_t offset;		/* where to begin */
	/* Called now and then while a pipe has nothing, or takes nothing. */
	void (*while_waiting)(void *user);
	void *user;
};

/* Opens @port->name from @port->offset on; @length_bytes 0 is what there is.  0, or an exit code after an error was told. */
int cli_port_open(const struct cli *cli, struct cli_port *port, bool writes, uint64_t length_bytes);
/* What is left from its offset on; 0 if it is not known. */
uint64_t cli_port_left(const struct cli_port *port);
/* Memory for requests: of a file, @slots of them, each as long as a block. */
int cli_port_memory(const struct cli *cli, struct cli_port *port, unsigned int slots, uint64_t block_bytes);
/*
 * Reads up to @length bytes, fewer only at the end; @at from the port's offset on.  The number, or minus an
 * exit code after an error was told.  Of what is no file it does nothing.
 */
int64_t cli_port_read(const struct cli *cli, const struct cli_port *port, uint64_t at, uint8_t *to, uint64_t length);
int64_t cli_port_write(const struct cli *cli, const struct cli_port *port, uint64_t at, const uint8_t *from,
		       uint64_t length);
/* 0, or an exit code: what was written may fail only now. */
int cli_port_close(const struct cli *cli, struct cli_port *port);

#endif /* DONARD_CACHEPORT_H */
