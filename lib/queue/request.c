// SPDX-License-Identifier: Apache-2.0
/* Takes a request from the call to its first transfer, and checks it before anything changes. */
#include "queue/queue.h"

#define REQUEST_BYTES_MAX	(1ULL << 30)

static int check_file(struct donard_queue *queue, const struct dnd_queue_request *request)
{
	const struct dnd_drive *drive = &request->file->drive;

	if (request->file->ctx != queue->ctx)
		return dnd_fail_member(queue->ctx, DND_E_BAD_OPTION, DND_AT("file"),
				       "%s: it was opened with another context than the "
				       "queue. Use one.", drive->path);
	if (request->kind == DND_IO_READ || drive->writable)
		return 0;
	return dnd_fail(queue->ctx, DND_E_READ_ONLY, "%s: it was opened for reading. Open it with "
			"DONARD_FILE_WRITE.", drive->path);
}

static struct dnd_fault bad_range(const struct dnd_queue_request *request)
{
	if (!request->length)
		return DND_LEAST("length", request->length, 1);
	if (request->length > REQUEST_BYTES_MAX)
		return DND_MOST("length", request->length, REQUEST_BYTES_MAX);
	return DND_MOST("offset", request->file_offset, INT64_MAX - request->length);
}

static int check_length(struct donard_queue *queue, const struct dnd_queue_request *request)
{
	const struct dnd_drive *drive = &request->file->drive;
	uint64_t end = request->file_offset + request->length;

	if (!request->length || request->length > REQUEST_BYTES_MAX || end > INT64_MAX || end < request->length)
		return dnd_fail_member(queue->ctx, DND_E_BAD_OPTION, bad_range(request),
				       "%s: %llu bytes at offset %llu are not a valid request. Use a "
				       "length from 1 byte to 1 GiB, and an offset below 8 EiB.", drive->path,
				       (unsigned long long)request->length, (unsigned long long)request->file_offset);
	if (drive->is_file || end <= drive->size_bytes)
		return 0;
	return dnd_fail_member(queue->ctx, DND_E_PAST_END, dnd_past_end(request->file_offset, request->length, drive->size_bytes),
			       "%s: %llu bytes from offset %llu go past its end, which was at %llu when it was opened. If it has grown, "
			       "open it again.", drive->path, (unsigned long long)request->length,
			       (unsigned long long)request->file_offset, (unsigned long long)drive->size_bytes);
}

static int check_memory(struct donard_queue *queue, const struct dnd_queue_request *request)
{
	int rc;

	if (request->memory->ctx != queue->ctx)
		return dnd_fail_member(queue->ctx, DND_E_BAD_OPTION, DND_AT("memory"),
				       "%s: the memory was made with another context than "
				       "the queue. Use one.", dnd_memory_name(request->memory));
	rc = dnd_queue_may_attach(queue, request->memory) ? 0 : dnd_memory_check_mapped(request->memory);
	if (!rc && request->kind == DND_IO_READ)
		rc = dnd_memory_check_writable(request->memory);
	return rc ? rc : dnd_memory_check_range(request->memory, request->memory_offset, request->length);
}

static struct dnd_fault unaligned(const struct dnd_queue_request *request)
{
	const struct dnd_drive *drive = &request->file->drive;

	if ((request->file_offset | request->length) % drive->align_bytes)
		return dnd_unaligned(request->file_offset, request->length, drive->align_bytes);
	return DND_MULTIPLE("address", dnd_memory_address(request->memory, request->memory_offset), drive->memory_align_bytes);
}

/* Serves an unaligned request only if it may bounce, and not by commands, which bypass the page cache. */
static int check_alignment(struct donard_queue *queue, const struct dnd_queue_request *request)
{
	const struct dnd_drive *drive = &request->file->drive;

	if (dnd_queue_request_is_aligned(request) ||
	    (dnd_queue_may_bounce(queue) && !(queue->options.flags & DONARD_QUEUE_PASSTHROUGH)))
		return 0;
	return dnd_fail_member(queue->ctx, DND_E_ALIGNMENT, unaligned(request),
			       "%s: offset %llu and length %llu must be multiples of "
			       "%u, and the address of the memory, %p, of %u. Align them, or %s.", drive->path,
			       (unsigned long long)request->file_offset, (unsigned long long)request->length,
			       drive->align_bytes, (void *)dnd_memory_address(request->memory, request->memory_offset),
			       drive->memory_align_bytes,
			       queue->options.flags & DONARD_QUEUE_PASSTHROUGH ? "use a queue without passthrough" :
			       "let the queue bounce (ALLOW_BOUNCE)");
}

static int check(struct donard_queue *queue, const struct dnd_queue_request *request)
{
	int rc = check_file(queue, request);

	if (!rc && request->memory)
		rc = check_length(queue, request);
	if (!rc && request->kind == DND_IO_WRITE)
		rc = dnd_drive_check_limit(queue->ctx, &request->file->drive, request->file_offset + request->length);
	if (!rc && request->memory)
		rc = check_memory(queue, request);
	if (!rc && request->memory)
		rc = check_alignment(queue, request);
	return rc;
}

/* Writes back the page cache before the drive's first command, and after writes through the page cache. */
static int use_commands(struct donard_queue *queue, struct dnd_queue_request *request)
{
	struct donard_file *file = request->file;
	bool opens = file->generic.fd < 0;
	int rc;

	if (!(queue->options.flags & DONARD_QUEUE_PASSTHROUGH))
		return 0;
	request->generic = &file->generic;
	if (!opens && !file->plain_written)
		return 0;
	rc = opens ? dnd_generic_open(queue->ctx, &file->drive, file->drive.align_bytes, &file->generic) : 0;
	if (!rc)
		rc = dnd_generic_write_back(queue->ctx, &file->drive, 0, 0);
	/* Commands that are under way, or prepared, name a descriptor that was open before. */
	if (rc && opens)
		dnd_generic_close(&file->generic);
	if (rc)
		return rc;
	dnd_generic_drop_cached(&file->drive, 0, 0);
	file->plain_written = false;
	return 0;
}

/* If the drive has several paths, it is not known which of them a request takes. */
static bool is_proven(const struct dnd_queue_request *request, const struct dnd_pair *pair)
{
	if (pair->route.route != DONARD_ROUTE_DRAM && dnd_blockdev_has_paths(&request->file->drive.blockdev))
		return false;
	return request->kind == DND_IO_READ ? pair->read_proven : pair->write_proven;
}

/*
 * A proof fails with -EBUSY if the drive is written meanwhile.  Those writes may be the queue's own, so it waits for them and
 * tries again.
 */
static int find_pair(struct donard_queue *queue, const struct dnd_queue_request *request, struct dnd_pair **pair)
{
	int rc = dnd_pair_find(queue, request, pair);

	if (rc != -EBUSY || request->kind != DND_IO_WRITE || !queue->working)
		return rc;
	rc = dnd_queue_drain(queue, NULL);
	return rc ? rc : dnd_pair_find(queue, request, pair);
}

static int choose_way(struct donard_queue *queue, struct dnd_queue_request *request)
{
	struct dnd_queue_registration *registration;
	struct dnd_pair *pair;
	bool aligned = dnd_queue_request_is_aligned(request);
	int rc = use_commands(queue, request);

	/* This comes before the pair is found, because the pair's proof may write. */
	if (!rc && (!aligned || queue->plain_working))
		rc = dnd_queue_keep_apart(queue, request);
	if (!rc)
		rc = dnd_queue_transfer_reserve(queue, request);
	if (rc)
		return rc;
	if (!aligned)
		return dnd_queue_bounce_prepare(queue, request);
	rc = find_pair(queue, request, &pair);
	if (rc)
		return rc;
	if (pair->bounced)
		return dnd_queue_bounce_prepare(queue, request);
	request->completion.route = pair->route.route;
	if (is_proven(request, pair))
		request->completion.evidence = DONARD_EVIDENCE_PROVEN;
	if (pair->attaches)
		request->attached = dnd_queue_attached(queue, request);
	registration = dnd_queue_registration_find(queue, request->memory);
	if (registration && !registration->leaving)
		request->registration = registration;
	return 0;
}

static int begin(struct donard_queue *queue, struct dnd_queue_request *request)
{
	int rc = check(queue, request);

	request->fd = request->file->drive.fd;
	if (!rc)
		rc = request->memory ? choose_way(queue, request) : dnd_queue_transfer_reserve(queue, request);
	if (!rc)
		dnd_queue_transfer_start(queue, request);
	return rc;
}

/* Takes a place in the queue for the request, and gives it back if the request fails. */
static int add(struct donard_queue *queue, const struct dnd_queue_request *asked)
{
	struct dnd_queue_request *request = queue->idle;
	int rc = dnd_queue_check_thread(queue);

	if (rc)
		return rc;
	if (!asked->file || (!asked->memory && asked->kind != DND_IO_FLUSH))
		return dnd_fail_member(queue->ctx, DND_E_BAD_OPTION, DND_AT(asked->file ? "memory" : "file"),
				       "a request without a %s. Name one.",
				       asked->file ? "memory" : "file");
	if (!request)
		return dnd_fail(queue->ctx, DND_E_QUEUE_FULL, "the queue holds %u requests, as many as it was "
				"opened for. Take completions first, or open it with a larger depth.",
				queue->options.depth);
	dnd_queue_begin_batch(queue);
	queue->idle = request->next;
	*request = *asked;
	dnd_handle_get(&request->file->handle);
	if (request->memory)
		dnd_handle_get(&request->memory->handle);
	rc = begin(queue, request);
	if (rc) {
		dnd_queue_request_recycle(queue, request);
		queue->batch_begun = false;	/* nothing may come to be submitted */
		return rc;
	}
	if (request->registration)
		request->registration->users++;
	queue->working++;
	queue->plain_working += dnd_queue_request_is_plain(request);
	return 0;
}

DND_PUBLIC int donard_queue_read(struct donard_queue *queue, struct donard_file *file,
				 uint64_t file_offset, struct donard_memory *memory,
				 uint64_t memory_offset, uint64_t length_bytes, void *user)
{
	DND_USES(QUEUE, queue);
	DND_USES(FILE, file);
	DND_USES(MEMORY, memory);
	return add(queue, &(struct dnd_queue_request){
		.completion.user = user, .kind = DND_IO_READ, .file = file, .memory = memory,
		.file_offset = file_offset, .memory_offset = memory_offset, .length = length_bytes,
	});
}

DND_PUBLIC int donard_queue_write(struct donard_queue *queue, struct donard_file *file,
				  uint64_t file_offset, struct donard_memory *memory,
				  uint64_t memory_offset, uint64_t length_bytes, void *user)
{
	DND_USES(QUEUE, queue);
	DND_USES(FILE, file);
	DND_USES(MEMORY, memory);
	return add(queue, &(struct dnd_queue_request){
		.completion.user = user, .kind = DND_IO_WRITE, .file = file, .memory = memory,
		.file_offset = file_offset, .memory_offset = memory_offset, .length = length_bytes,
	});
}

DND_PUBLIC int donard_queue_flush(struct donard_queue *queue, struct donard_file *file, void *user)
{
	DND_USES(QUEUE, queue);
	DND_USES(FILE, file);
	return add(queue, &(struct dnd_queue_request){
		.completion.user = user, .kind = DND_IO_FLUSH, .file = file,
		.completion.flags = file && file->doubt.text[0] ? DONARD_COMPLETION_VOLATILE : 0,
	});
}
