// SPDX-License-Identifier: Apache-2.0
/* Uses the library's queue as a program does: the region has one place for each request in flight, which is reused. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "bench_copy.h"
#include "command.h"
#include "donard/queue.h"
#include "gpu.h"
#include "progress.h"
#include "terms.h"

#define TAKEN_AT_ONCE	64

struct load {
	const struct bench_piece *piece;
	struct donard_context *ctx;
	struct donard_queue *queue;
	struct donard_file *file;
	struct donard_memory *memory;
	struct bench_gpu gpu;	/* whose memory it is, if any */
	uint64_t next_bytes;	/* where in the piece the next request begins */
	uintptr_t last_place;	/* the place of the piece's last block */
	bool is_registered;
};

static bool is_gpu(const struct load *load)
{
	return bench_gpu_number(load->piece->region) >= 0;
}

static int take_memory(struct load *load)
{
	const struct bench_piece *piece = load->piece;
	uint64_t bytes = piece->queue_depth * piece->block_bytes;
	int rc;

	if (!is_gpu(load))
		return donard_memory_claim(load->ctx, piece->region, piece->region_offset, bytes, &load->memory);
	rc = bench_gpu_alloc(&load->gpu, piece->region, bytes);
	if (!rc)
		rc = bench_gpu_scramble(&load->gpu, piece);
	if (!rc)
		rc = donard_memory_from_cuda(load->ctx, load->gpu.address, bytes, &load->memory);
	return rc;
}

static int set_up(struct load *load, bool registers)
{
	const struct bench_piece *piece = load->piece;
	const struct donard_queue_options options = {
		.size = sizeof(options), .depth = piece->queue_depth,
	};
	int rc = donard_queue_open(load->ctx, &options, &load->queue);

	if (!rc)
		rc = donard_file_open(load->ctx, piece->drive, piece->to_region ? 0 : DONARD_FILE_WRITE, &load->file);
	if (!rc)
		rc = take_memory(load);
	if (!rc && registers)
		rc = donard_queue_register(load->queue, load->memory);
	load->is_registered = rc > 0;
	return rc < 0 ? rc : 0;
}

/* Starts the next request. @place: a place in the memory that no request uses. */
static int ask(struct load *load, uintptr_t place)
{
	const struct bench_piece *piece = load->piece;
	uint64_t at = piece->drive_offset + load->next_bytes;

	if (load->next_bytes >= piece->bytes)
		return 0;
	load->next_bytes += piece->block_bytes;
	load->last_place = place;
	if (piece->to_region)
		return donard_queue_read(load->queue, load->file, at, load->memory,
					 place * piece->block_bytes, piece->block_bytes, (void *)place);
	return donard_queue_write(load->queue, load->file, at, load->memory, place * piece->block_bytes,
				  piece->block_bytes, (void *)place);
}

/* Waits for completions, and starts a request in the place of each. */
static int go_on(struct load *load)
{
	struct donard_completion completions[TAKEN_AT_ONCE];
	char text[CLI_ERROR_BYTES];
	int count;

	do {
		count = donard_queue_wait(load->queue, 1, -1, completions, TAKEN_AT_ONCE);
	} while (count == -EINTR && !cli_stopped(NULL));
	for (int i = 0; i < count; i++) {
		int rc = completions[i].result == (int64_t)load->piece->block_bytes ?
			 ask(load, (uintptr_t)completions[i].user) : -EIO;

		if (rc) {
			if (completions[i].result < 0)
				dprintf(STDERR_FILENO, "%s: %s\n", cli_name,
					cli_in_options(completions[i].error, text, sizeof(text)));
			return rc;
		}
	}
	return count;
}

static int move(struct load *load)
{
	int rc = 0;

	for (uintptr_t place = 0; place < load->piece->queue_depth && !rc; place++)
		rc = ask(load, place);
	while (!rc) {
		rc = go_on(load);
		if (rc == 0)
			return 0;
		if (rc > 0)
			rc = 0;
	}
	return rc;
}

static int run(const struct bench_piece *piece, bool registers)
{
	struct donard_queue_info info = { .size = sizeof(info), .no_io_uring = "" };
	struct load load = { .piece = piece };
	char text[CLI_ERROR_BYTES];
	double start;
	int rc = donard_open(&load.ctx, NULL);

	if (rc) {
		errno = -rc;
		bench_complain("donard_open()");
		return EXIT_FAILED;
	}
	rc = set_up(&load, registers);
	if (!rc)
		rc = donard_queue_info(load.queue, &info);
	start = cli_now_seconds();
	if (!rc)
		rc = move(&load);
	if (rc)
		dprintf(STDERR_FILENO, "%s: %s\n", cli_name,
			cli_in_options(donard_error(load.ctx), text, sizeof(text)));
	else
		dprintf(STDOUT_FILENO, "{\"seconds\":%.9f,\"aio\":%s,\"registered\":%s}\n", cli_now_seconds() - start,
			*info.no_io_uring ? "true" : "false", load.is_registered ? "true" : "false");
	if (!rc && is_gpu(&load))
		rc = bench_gpu_check(&load.gpu, piece, load.last_place);
	donard_queue_close(load.queue);
	donard_file_close(load.file);
	donard_memory_free(load.memory);
	bench_gpu_free(&load.gpu);
	donard_close(load.ctx);
	return rc ? EXIT_FAILED : EXIT_DONE;
}

int bench_queue(const void *piece)
{
	return run(piece, false);
}

int bench_queue_registered(const void *piece)
{
	return run(piece, true);
}
