// SPDX-License-Identifier: Apache-2.0
/*
 * Copies to and from a GPU's memory by programs that do not call libdonard. One uses cuFile, by the library that the loader
 * finds: donard's, by LD_LIBRARY_PATH, or NVIDIA's. The other uses a buffer in DRAM, the usual first attempt. Both have one
 * request in flight, because their calls are synchronous. The writes end without a flush, as those of the queue and of fio do.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_copy.h"
#include "command.h"
#include "gpu.h"
#include "progress.h"

#define BLOCK_ALIGN	4096

/* Declared after cuFile's public documentation, with the library's binary layout. */
struct cufile_error {
	int code, cuda;
};

struct cufile_descriptor {
	int type;		/* 1: a descriptor */
	union {
		int fd;
		void *handle;
	} file;
	const void *operations;
};

static struct {
	struct cufile_error (*driver_open)(void);
	struct cufile_error (*driver_close)(void);
	struct cufile_error (*handle_register)(void **handle, struct cufile_descriptor *descriptor);
	void (*handle_deregister)(void *handle);
	struct cufile_error (*buffer_register)(const void *buffer, size_t bytes, int flags);
	struct cufile_error (*buffer_deregister)(const void *buffer);
	ssize_t (*read)(void *handle, void *buffer, size_t bytes, off_t file_offset, off_t offset);
	ssize_t (*write)(void *handle, const void *buffer, size_t bytes, off_t file_offset, off_t offset);
} cufile;

static const struct {
	const char *name;
	void *place;
} names[] = {
	{ "cuFileDriverOpen", &cufile.driver_open },
	{ "cuFileDriverClose", &cufile.driver_close },
	{ "cuFileHandleRegister", &cufile.handle_register },
	{ "cuFileHandleDeregister", &cufile.handle_deregister },
	{ "cuFileBufRegister", &cufile.buffer_register },
	{ "cuFileBufDeregister", &cufile.buffer_deregister },
	{ "cuFileRead", &cufile.read },
	{ "cuFileWrite", &cufile.write },
};

struct load {
	const struct bench_piece *piece;
	struct bench_gpu gpu;
	void *handle;		/* cuFile's; NULL: by DRAM */
	void *dram;
	int fd;
};

static int complain(const char *what, long code)
{
	dprintf(STDERR_FILENO, "%s: %s: %ld (%s)\n", cli_name, what, code,
		code < -5000 || code > 0 ? "cuFile's code" : strerror((int)-code));
	return -EIO;
}

static int load_library(void)
{
	void *library = dlopen("libcufile.so.0", RTLD_NOW);

	if (!library) {
		dprintf(STDERR_FILENO, "%s: %s. docs/cufile.md says where donard's is, and how it is used\n", cli_name, dlerror());
		return -ENOENT;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *symbol = dlsym(library, names[i].name);

		if (!symbol)
			return complain(names[i].name, -ENOENT);
		memcpy(names[i].place, &symbol, sizeof(symbol));
	}
	return 0;
}

/* ---- one block ---- */

/* Returns -errno for a call that leaves its error in errno; cuFile's own errors are returned as they are. */
static ssize_t with_errno(ssize_t moved)
{
	return moved == -1 ? -errno : moved;
}

static ssize_t by_cufile(const struct load *load, uint64_t at)
{
	const struct bench_piece *piece = load->piece;
	void *buffer = (void *)(uintptr_t)load->gpu.address;
	off_t offset = (off_t)(piece->drive_offset + at);

	return with_errno(piece->to_region ? cufile.read(load->handle, buffer, piece->block_bytes, offset, 0) :
					     cufile.write(load->handle, buffer, piece->block_bytes, offset, 0));
}

static ssize_t by_dram(const struct load *load, uint64_t at)
{
	const struct bench_piece *piece = load->piece;
	off_t offset = (off_t)(piece->drive_offset + at);
	ssize_t moved;

	if (!piece->to_region)
		return bench_gpu_load(&load->gpu, 0, load->dram, piece->block_bytes) ?:
		       with_errno(pwrite(load->fd, load->dram, piece->block_bytes, offset));
	moved = with_errno(pread(load->fd, load->dram, piece->block_bytes, offset));
	return moved < 0 ? moved : bench_gpu_store(&load->gpu, 0, load->dram, (size_t)moved) ?: moved;
}

static int every_block(struct load *load, ssize_t (*step)(const struct load *, uint64_t))
{
	const struct bench_piece *piece = load->piece;
	double started = cli_now_seconds();
	ssize_t moved;

	for (uint64_t at = 0; at < piece->bytes; at += piece->block_bytes) {
		moved = step(load, at);
		if (moved != (ssize_t)piece->block_bytes)
			return complain(piece->drive, moved < 0 ? moved : -EIO);
	}
	dprintf(STDOUT_FILENO, "{\"seconds\":%.9f}\n", cli_now_seconds() - started);
	return 0;
}

/* ---- before and after ---- */

static int set_up(struct load *load, const struct bench_piece *piece)
{
	int rc;

	*load = (struct load){ .piece = piece, .fd = -1 };
	rc = bench_gpu_alloc(&load->gpu, piece->region, piece->block_bytes);
	if (rc)
		return rc;
	load->fd = open(piece->drive, (piece->to_region ? O_RDONLY : O_RDWR) | O_DIRECT | O_CLOEXEC);
	if (load->fd < 0)
		return complain(piece->drive, -errno);
	return bench_gpu_scramble(&load->gpu, piece);
}

static int register_all(struct load *load)
{
	struct cufile_descriptor descriptor = { .type = 1, .file.fd = load->fd };
	struct cufile_error error;
	int rc = load_library();

	if (rc)
		return rc;
	error = cufile.driver_open();
	if (error.code)
		return complain("cuFileDriverOpen", error.code);
	error = cufile.handle_register(&load->handle, &descriptor);
	if (error.code)
		return complain("cuFileHandleRegister", error.code);
	error = cufile.buffer_register((void *)(uintptr_t)load->gpu.address, load->gpu.bytes, 0);
	return error.code ? complain("cuFileBufRegister", error.code) : 0;
}

static void tear_down(struct load *load)
{
	if (load->handle) {
		cufile.buffer_deregister((void *)(uintptr_t)load->gpu.address);
		cufile.handle_deregister(load->handle);
		cufile.driver_close();
	}
	bench_gpu_free(&load->gpu);
	if (load->fd >= 0)
		close(load->fd);
	free(load->dram);
}

/* The environment sets whether the library may use compatibility mode, and takes precedence over its configuration file. */
static int run_cufile(const struct bench_piece *piece, const char *compat)
{
	struct load load;
	int rc;

	setenv("CUFILE_ALLOW_COMPAT_MODE", compat, 1);
	setenv("CUFILE_FORCE_COMPAT_MODE", compat, 1);
	rc = set_up(&load, piece);
	if (!rc)
		rc = register_all(&load);
	if (!rc)
		rc = every_block(&load, by_cufile);
	if (!rc)
		rc = bench_gpu_check(&load.gpu, piece, 0);
	tear_down(&load);
	return rc ? EXIT_FAILED : EXIT_DONE;
}

int bench_cufile(const void *piece)
{
	return run_cufile(piece, "false");
}

int bench_cufile_compat(const void *piece)
{
	return run_cufile(piece, "true");
}

int bench_gpu_memcpy(const void *argument)
{
	const struct bench_piece *piece = argument;
	struct load load;
	int rc = set_up(&load, piece);

	if (!rc && posix_memalign(&load.dram, BLOCK_ALIGN, piece->block_bytes))
		rc = complain("memory", -ENOMEM);
	if (!rc)
		rc = every_block(&load, by_dram);
	if (!rc)
		rc = bench_gpu_check(&load.gpu, piece, 0);
	tear_down(&load);
	return rc ? EXIT_FAILED : EXIT_DONE;
}
