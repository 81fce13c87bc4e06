// SPDX-License-Identifier: Apache-2.0
/*
 * Registers memory with the ring for all requests, if the kernel allows that.  This pins the pages of a
 * region: no request would fail when the region is removed, and the removal would wait for the queue.
 * So the queue checks its regions now and then, and unregisters the memory of one that is being removed.
 */
#include "queue/queue.h"

#define LOOK_EVERY_SECONDS	0.1
#define UNIT_BYTES		(2ULL << 20)	/* chunks are multiples of it: requests seldom cross their borders */

struct dnd_queue_registration *dnd_queue_registration_find(struct donard_queue *queue,
							   const struct donard_memory *memory)
{
	for (size_t i = 0; i < queue->registration_count; i++)
		if (queue->registrations[i].memory == memory)
			return &queue->registrations[i];
	return NULL;
}

static struct dnd_queue_registration *free_place(struct donard_queue *queue)
{
	struct dnd_queue_registration *registration = dnd_queue_registration_find(queue, NULL);

	if (!registration && queue->registration_count < DND_REGISTRATIONS_MAX)
		registration = &queue->registrations[queue->registration_count++];
	return registration;
}

static void let_go(struct donard_queue *queue, struct dnd_queue_registration *registration)
{
	struct donard_memory *memory = registration->memory;

	dnd_queue_watch(queue, memory, false);
	dnd_buffers_unregister(&registration->buffers, &queue->ring);
	memset(registration, 0, sizeof(*registration));
	dnd_memory_put(memory);
}

/* An exporter takes its pages back without notice, and the drive would go on to use pages that the ring pins. */
static bool may_hold(const struct donard_memory *memory)
{
	return dnd_memory_is_region(memory) || !dnd_memory_is_imported(memory);
}

/*
 * A region does not register memory with a ring if a GPU's driver may take it back.  A mapping of that memory must not be
 * registered in its place: the driver would wait a minute for the pin, and the drive would then write into memory that belongs
 * to another process.
 */
static int register_pages(struct donard_queue *queue, const struct donard_memory *memory, struct dnd_buffers *buffers)
{
	const struct dnd_holding holding = {
		.base = memory->window.data,
		.bytes = memory->length,
		.unit_bytes = UNIT_BYTES,
		.align_bytes = 512,
		.region = dnd_memory_giver(memory),
		.window = dnd_memory_is_region(memory) ? &memory->window : NULL,
	};

	return dnd_region_may_revoke(&memory->region) ? 0 : dnd_buffers_register(buffers, &queue->ring, &holding);
}

static int hold(struct donard_queue *queue, struct donard_memory *memory)
{
	struct dnd_queue_registration *registration = free_place(queue);
	int rc;

	if (!registration)
		return dnd_fail_member(queue->ctx, DND_E_NO_SPACE, DND_MOST(NULL, DND_REGISTRATIONS_MAX + 1, DND_REGISTRATIONS_MAX),
				       "the queue holds %d memories, registered or not, and takes no more. Unregister "
				       "one, or use another queue.", DND_REGISTRATIONS_MAX);
	rc = register_pages(queue, memory, &registration->buffers);
	if (rc)
		return dnd_fail_errno(queue->ctx, -rc, "%s: cannot be registered", dnd_memory_name(memory));
	dnd_handle_get(&memory->handle);
	registration->memory = memory;
	dnd_queue_watch(queue, memory, true);
	return registration->buffers.base != NULL;
}

DND_PUBLIC int donard_queue_register(struct donard_queue *queue, struct donard_memory *memory)
{
	DND_USES(QUEUE, queue);
	DND_USES(MEMORY, memory);
	const struct dnd_queue_registration *registration;
	int rc = dnd_queue_check_thread(queue);

	if (rc)
		return rc;
	if (memory->ctx != queue->ctx)
		return dnd_fail_member(queue->ctx, DND_E_BAD_OPTION, DND_AT("memory"),
				       "%s: the memory was made with another context than "
				       "the queue. Use one.", dnd_memory_name(memory));
	rc = dnd_memory_check_mapped(memory);
	if (rc)
		return rc;
	if (!may_hold(memory))
		return 0;
	registration = dnd_queue_registration_find(queue, memory);
	if (registration)
		return registration->buffers.base != NULL;
	rc = dnd_queue_drain(queue, NULL);
	return rc ? rc : hold(queue, memory);
}

DND_PUBLIC int donard_queue_unregister(struct donard_queue *queue, struct donard_memory *memory)
{
	DND_USES(QUEUE, queue);
	DND_USES(MEMORY, memory);
	struct dnd_queue_registration *registration;
	int rc = dnd_queue_check_thread(queue);

	if (rc || !memory)
		return rc;
	registration = dnd_queue_registration_find(queue, memory);
	if (!registration && !dnd_queue_has_attached(queue, memory))
		return 0;
	rc = dnd_queue_drain(queue, registration);
	if (!rc && registration)
		let_go(queue, registration);
	if (!rc)
		dnd_queue_detach(queue, memory);
	return rc;
}

static void look_at(struct donard_queue *queue, struct dnd_queue_registration *registration)
{
	struct donard_memory *memory = registration->memory;

	if (!memory)
		return;
	if (!registration->leaving && dnd_memory_is_region(memory) &&
	    dnd_region_called_back(&memory->region)) {
		registration->leaving = true;
		dnd_queue_watch(queue, memory, false);	/* the region stays readable */
	}
	if (registration->leaving && !registration->users)
		let_go(queue, registration);
}

void dnd_queue_look_after(struct donard_queue *queue)
{
	double now = dnd_now_seconds();

	if (now - queue->looked_seconds < LOOK_EVERY_SECONDS)
		return;
	queue->looked_seconds = now;
	for (size_t i = 0; i < queue->registration_count; i++)
		look_at(queue, &queue->registrations[i]);
	dnd_queue_detach_given_up(queue);
}

bool dnd_queue_pins_region(const struct donard_queue *queue)
{
	for (size_t i = 0; i < queue->registration_count; i++) {
		const struct dnd_queue_registration *registration = &queue->registrations[i];

		if (registration->buffers.count && dnd_memory_is_region(registration->memory))
			return true;
	}
	return false;
}

void dnd_queue_begin_batch(struct donard_queue *queue)
{
	if (queue->batch_begun)
		return;
	queue->batch_begun = true;
	dnd_queue_look_after(queue);
}

void dnd_queue_end_batch(struct donard_queue *queue)
{
	dnd_queue_begin_batch(queue);
	queue->batch_begun = false;
}

void dnd_queue_unregister_all(struct donard_queue *queue)
{
	for (size_t i = 0; i < queue->registration_count; i++)
		if (queue->registrations[i].memory)
			let_go(queue, &queue->registrations[i]);
	dnd_queue_detach(queue, NULL);
}
