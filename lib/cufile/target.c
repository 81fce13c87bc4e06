// SPDX-License-Identifier: Apache-2.0
/* See target.h. */
#include "cufile/codes.h"
#include "cufile/log.h"
#include "cufile/target.h"

static int out_of_range(const struct cuf_transfer *transfer, int code)
{
	cuf_log(CUF_LOG_ERROR, "%llu bytes at offset %lld of the buffer at %#llx go past its end",
		(unsigned long long)transfer->bytes, (long long)transfer->offset, (unsigned long long)transfer->base);
	return -code;
}

/* No process has memory below the engine's, or that far up: it goes through a stage, whose copy says EFAULT. */
static void take_host(struct cuf_engine *engine, struct cuf_target *target)
{
	uint64_t address = (uintptr_t)target->address, base;
	struct donard_memory *host = cuf_engine_host(engine, &base);

	if (address < base || address > INT64_MAX / 2)
		return;
	target->memory = host;
	target->place = address - base;
}

/* It was pinned when it was given to the stream.  A copy now could wait for ever: see can_wait_for_its_turn() of streams.c. */
static int not_pinned_any_more(const struct cuf_target *target)
{
	cuf_log(CUF_LOG_ERROR, "what a request in a stream means at %p is not, or not all, registered now that it has its turn: the "
		"buffer was deregistered, or the size or offset changed. Leave them until the stream is done", (void *)target->address);
	return -CUF_MEMORY_NOT_REGISTERED;
}

static int take_device(const struct cuf_transfer *transfer, const struct cuf_place *place, struct cuf_target *target)
{
	if (cuf_buffer_is_gone(place->buffer)) {
		cuf_log(CUF_LOG_ERROR, "the buffer at %#llx was freed, or its GPU reset, while it was registered: "
			"deregister it first", (unsigned long long)place->buffer->base);
		return -CUF_CUDA_POINTER_INVALID;
	}
	target->context = place->buffer->pointer.context;
	target->memory = place->memory;
	target->place = (uintptr_t)target->address - place->buffer->base;
	return transfer->in_stream && !target->memory ? not_pinned_any_more(target) : 0;
}

static int take_registered(struct cuf_engine *engine, const struct cuf_transfer *transfer,
			   const struct cuf_place *place, struct cuf_target *target)
{
	uint64_t offset = (uint64_t)transfer->offset, bytes = place->buffer->bytes;

	if (offset > bytes || transfer->bytes > bytes - offset)
		return out_of_range(transfer, CUF_INVALID_MAPPING_RANGE);
	target->kind = place->buffer->pointer.kind;
	if (target->kind == CUF_KIND_HOST)
		take_host(engine, target);
	else if (target->kind == CUF_KIND_DEVICE)
		return take_device(transfer, place, target);
	return 0;
}

/* The pointer leads into a registered buffer, or to memory that is not registered. */
static int take_unregistered(struct cuf_engine *engine, const struct cuf_transfer *transfer,
			     struct cuf_target *target)
{
	uint64_t start = (uintptr_t)target->address;
	struct cuf_pointer pointer;
	struct cuf_place *place;
	int code, cuda = cuf_gpu->look_up(target->address, &pointer);

	if (cuda) {
		cuf_log(CUF_LOG_ERROR, "what CUDA has at %p cannot be told: its error %d", (void *)target->address, cuda);
		return -CUF_CUDA_DRIVER_ERROR;
	}
	target->kind = pointer.kind;
	target->context = pointer.context;
	if (pointer.kind == CUF_KIND_HOST && cuf_engine_is_foreign(engine, target->address, transfer->bytes))
		target->kind = CUF_KIND_FOREIGN;
	else if (pointer.kind == CUF_KIND_HOST)
		take_host(engine, target);
	if (pointer.kind != CUF_KIND_DEVICE)
		return 0;
	if (start - pointer.start > pointer.bytes || transfer->bytes > pointer.bytes - (start - pointer.start))
		return out_of_range(transfer, CUF_CUDA_POINTER_RANGE_ERROR);
	place = cuf_engine_around(engine, start, transfer->bytes, &code);
	if (!place && !code && transfer->in_stream)
		return not_pinned_any_more(target);
	return place ? take_device(transfer, place, target) : -code;
}

int cuf_target_find(struct cuf_engine *engine, const struct cuf_transfer *transfer, const struct cuf_place *place,
		    struct cuf_target *target)
{
	if (!transfer->base || transfer->offset < 0 || transfer->file_offset < 0 ||
	    (uint64_t)transfer->offset > UINTPTR_MAX - transfer->base)
		return -CUF_INVALID_VALUE;
	*target = (struct cuf_target){
		.address = (uint8_t *)(uintptr_t)(transfer->base + (uint64_t)transfer->offset),
	};
	return place ? take_registered(engine, transfer, place, target) :
		       take_unregistered(engine, transfer, target);
}
