// SPDX-License-Identifier: Apache-2.0
/* The methods that bench copy compares: donard's, and tools as Debian ships them. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_copy.h"
#include "process.h"

/* ---- command lines ---- */

__attribute__((format(printf, 2, 3)))
static void add(struct bench_command *command, const char *format, ...)
{
	char *at = command->text + command->text_used;
	size_t room = sizeof(command->text) - command->text_used;
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(at, room, format, args);
	va_end(args);
	/* The longest argument holds one or two paths, so running out of room would be a bug of the caller. */
	if (length < 0 || (size_t)length >= room || command->argument_count + 1 >= BENCH_ARGUMENTS_MAX)
		abort();
	command->argv[command->argument_count++] = at;
	command->text_used += (size_t)length + 1;
}

static int one_program(struct bench_command *command, int output_fd)
{
	command->jobs[0] = (struct cli_job){ .argv = command->argv, .stdin_fd = -1,
					       .stdout_fd = output_fd };
	return 1;
}

static int one_call(struct bench_command *command, int output_fd, int (*call)(const void *),
		    const struct bench_piece *piece)
{
	command->jobs[0] = (struct cli_job){ .call = call, .argument = piece, .stdin_fd = -1,
					       .stdout_fd = output_fd };
	return 1;
}

/* ---- donard ---- */

static int donard(const struct bench_piece *piece, int output_fd, struct bench_command *command)
{
	char program[PATH_MAX];

	if (cli_find_program("donard-cli", program, sizeof(program)))
		return -ENOENT;
	add(command, "%s", program);
	add(command, "copy");
	if (piece->to_region) {
		add(command, "%s", piece->drive);
		add(command, "%s", piece->region);
	} else {
		add(command, "%s", piece->region);
		add(command, "%s", piece->drive);
	}
	add(command, "--size=%" PRIu64, piece->bytes);
	add(command, "--src-offset=%" PRIu64, piece->to_region ? piece->drive_offset :
							 piece->region_offset);
	add(command, "--dst-offset=%" PRIu64, piece->to_region ? piece->region_offset :
							 piece->drive_offset);
	add(command, "--block-size=%" PRIu64, piece->block_bytes);
	add(command, "--queue-depth=%u", piece->queue_depth);
	add(command, "--json");
	return one_program(command, output_fd);
}

static int bounce(const struct bench_piece *piece, int output_fd, struct bench_command *command)
{
	int count = donard(piece, output_fd, command);

	if (count < 0)
		return count;
	add(command, "--force-bounce");
	return count;
}

static int passthrough(const struct bench_piece *piece, int output_fd, struct bench_command *command)
{
	int count = donard(piece, output_fd, command);

	if (count < 0)
		return count;
	add(command, "--passthrough");
	return count;
}

static double field(const char *report, const char *name)
{
	struct json_object *model = json_tokener_parse(report), *value;
	double seconds = -1;

	if (json_object_object_get_ex(model, name, &value))
		seconds = json_object_get_double(value);
	json_object_put(model);
	return seconds;
}

static double own_seconds(const char *report)
{
	return field(report, "seconds");
}

bool bench_went_by_aio(const char *report)
{
	return field(report, "aio") > 0;
}

bool bench_was_unregistered(const char *report)
{
	return field(report, "registered") == 0;
}

/* ---- plain programs ---- */

static int plain(const struct bench_piece *piece, int output_fd, struct bench_command *command)
{
	return one_call(command, output_fd, bench_plain_copy, piece);
}

static int queue(const struct bench_piece *piece, int output_fd, struct bench_command *command)
{
	return one_call(command, output_fd, bench_queue, piece);
}

static int queue_registered(const struct bench_piece *piece, int output_fd, struct bench_command *command)
{
	return one_call(command, output_fd, bench_queue_registered, piece);
}

static int cufile(const struct bench_piece *piece, int output_fd, struct bench_command *command)
{
	return one_call(command, output_fd, bench_cufile, piece);
}

static int cufile_compat(const struct bench_piece *piece, int output_fd, struct bench_command *command)
{
	return one_call(command, output_fd, bench_cufile_compat, piece);
}

static int gpu_memcpy(const struct bench_piece *piece, int output_fd, struct bench_command *command)
{
	return one_call(command, output_fd, bench_gpu_memcpy, piece);
}

/* dd cannot write into a mapping, so its output goes through a pipe to a process that can. */
static int dd(const struct bench_piece *piece, int output_fd, struct bench_command *command)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	add(command, "dd");
	add(command, "if=%s", piece->drive);
	add(command, "bs=%" PRIu64, piece->block_bytes);
	add(command, "count=%" PRIu64, piece->bytes);
	add(command, "skip=%" PRIu64, piece->drive_offset);
	add(command, "iflag=direct,count_bytes,skip_bytes");
	add(command, "status=none");
	one_program(command, ends[1]);
	command->jobs[1] = (struct cli_job){ .call = bench_plain_sink, .argument = piece,
					       .stdin_fd = ends[0], .stdout_fd = output_fd };
	return 2;
}

/* ---- fio ---- */

static void fio_common(const struct bench_piece *piece, struct bench_command *command)
{
	add(command, "fio");
	add(command, "--name=peer");
	add(command, "--output-format=json");
	add(command, "--rw=%s", piece->to_region ? "read" : "write");
	add(command, "--bs=%" PRIu64, piece->block_bytes);
	add(command, "--iodepth=%u", piece->queue_depth);
	add(command, "--size=%" PRIu64, piece->bytes);
	add(command, "--offset=%" PRIu64, piece->drive_offset);
	/* By default fio's CPU stores 24 bytes into each 512 of a buffer before it writes it, which donard does not do. */
	add(command, "--scramble_buffers=0");
	/* fio always maps from file offset 0, which in persistent memory is the region's first byte. */
	add(command, "--iomem=mmapshared:/dev/%s", piece->region);
}

static int fio(const struct bench_piece *piece, int output_fd, struct bench_command *command)
{
	fio_common(piece, command);
	add(command, "--filename=%s", piece->drive);
	add(command, "--direct=1");
	add(command, "--ioengine=io_uring");
	return one_program(command, output_fd);
}

static int fio_fixed(const struct bench_piece *piece, int output_fd, struct bench_command *command)
{
	fio(piece, output_fd, command);
	add(command, "--fixedbufs=1");
	add(command, "--registerfiles=1");
	return 1;
}

/* Uses the namespace's character device, past the block layer: /dev/nvme0n1 -> /dev/ng0n1. */
static int fio_passthrough(const struct bench_piece *piece, int output_fd,
			   struct bench_command *command)
{
	const char *number = strstr(piece->drive, "nvme");

	if (!number)
		return -ENOTBLK;
	fio_common(piece, command);
	add(command, "--filename=/dev/ng%s", number + strlen("nvme"));
	add(command, "--ioengine=io_uring_cmd");
	add(command, "--cmd_type=nvme");
	add(command, "--fixedbufs=1");
	return one_program(command, output_fd);
}

/* fio reports whole milliseconds, rounded up; from this duration on the error is at most a twentieth. */
#define FIO_LEAST_MS	20

/* fio warns on stdout before its JSON. */
static double fio_seconds(const char *report)
{
	const char *start = strchr(report, '{');
	struct json_object *model = start ? json_tokener_parse(start) : NULL, *jobs, *value;
	double milliseconds = 0;

	if (json_object_object_get_ex(model, "jobs", &jobs) && json_object_array_length(jobs)) {
		static const char *const sides[] = { "read", "write" };
		struct json_object *job = json_object_array_get_idx(jobs, 0), *side;

		for (size_t i = 0; i < 2; i++) {
			if (!json_object_object_get_ex(job, sides[i], &side) ||
			    !json_object_object_get_ex(side, "io_bytes", &value) ||
			    json_object_get_double(value) <= 0)
				continue;
			if (json_object_object_get_ex(side, "runtime", &value))
				milliseconds = json_object_get_double(value);
		}
	}
	json_object_put(model);
	return milliseconds >= FIO_LEAST_MS ? milliseconds / 1000 : -1;
}

#define BOTH_WAYS	(BENCH_REGION | BENCH_BACK)
#define OF_FIO		(BOTH_WAYS | BENCH_AT_START)
#define OF_GPU		(BENCH_GPU | BENCH_BACK | BENCH_SINGLE)

const struct bench_method bench_methods[] = {
	{ "donard", "donard-cli copy, peer-to-peer", BOTH_WAYS | BENCH_KEEPS, donard, own_seconds },
	{ "donard-bounce", "donard-cli copy --force-bounce: the same engine through DRAM",
	  BOTH_WAYS | BENCH_KEEPS, bounce, own_seconds },
	{ "donard-passthrough", "donard-cli copy --passthrough: NVMe commands past the block layer",
	  BOTH_WAYS | BENCH_KEEPS, passthrough, own_seconds },
	{ "queue", "the library's queue, its memory used again and again", BOTH_WAYS | BENCH_GPU, queue, own_seconds },
	{ "queue-registered", "the same with registered memory", BOTH_WAYS | BENCH_GPU | BENCH_REGISTERS,
	  queue_registered, own_seconds },
	{ "cufile", "cuFileRead() and cuFileWrite(), straight", OF_GPU, cufile, own_seconds },
	{ "cufile-compat", "the same in cuFile's compatibility mode, through DRAM", OF_GPU, cufile_compat, own_seconds },
	{ "gpu-memcpy", "read(2) with O_DIRECT into DRAM, then cuMemcpyHtoD(); or back", OF_GPU, gpu_memcpy,
	  own_seconds },
	{ "memcpy", "read(2) with O_DIRECT into DRAM, then memcpy into the BAR; or back", BOTH_WAYS | BENCH_KEEPS,
	  plain, own_seconds },
	{ "dd", "dd iflag=direct into a pipe that ends in the BAR", BENCH_REGION | BENCH_KEEPS, dd, own_seconds },
	{ "fio", "fio's io_uring, buffers in the region", OF_FIO, fio, fio_seconds },
	{ "fio-fixed", "the same with registered buffers and files", OF_FIO, fio_fixed, fio_seconds },
	{ "fio-passthrough", "fio's io_uring_cmd: NVMe commands past the block layer", OF_FIO, fio_passthrough,
	  fio_seconds },
	{ 0 },
};

const struct bench_method *bench_find_method(const char *name)
{
	for (const struct bench_method *method = bench_methods; method->name; method++)
		if (!strcmp(method->name, name))
			return method;
	return NULL;
}

/* Only persistent memory is shared by offset: each open file of volatile memory has bytes of its own. */
const char *bench_why_not(const struct bench_method *method, uint64_t threads, bool region_is_persistent)
{
	if (threads < 2 || !region_is_persistent || !(method->traits & BENCH_AT_START))
		return NULL;
	return "with more than one thread each would take the first bytes of the region, and the kernel gives persistent bytes "
	       "to one process at a time";
}
