// SPDX-License-Identifier: Apache-2.0
/*
 * donard_copy_between(): the program passes handles.  It opened them some time ago, so the copy repeats the checks of
 * the opening.  The program's memory exists and has its bytes already, and the copy touches nothing outside its range.
 * The copy holds the handles until it ends, as a request does, because a function that it calls may close them.
 */
#include <stdio.h>

#include "copy/copy.h"

static bool is_written(const struct dnd_copy *copy, const struct dnd_side *side)
{
	return side == &copy->dst;
}

static int take_end(struct dnd_copy *copy, const struct dnd_side *side, const struct donard_copy_end *given,
		    struct donard_copy_end *end)
{
	const char *which = is_written(copy, side) ? "destination" : "source";
	int rc = given ? DND_TAKE(copy->ctx, end, given, "donard_copy_end") :
		 dnd_fail_member(copy->ctx, DND_E_BAD_OPTION, DND_AT(which), "a copy without a %s. Name one.", which);

	if (rc || !end->memory != !end->file)
		return rc;
	return dnd_fail_member(copy->ctx, DND_E_BAD_OPTION, DND_AT(which),
			       "the %s of a copy is a memory or a file, and this one is %s. Set one of the two.", which,
			       end->file ? "both" : "neither");
}

static int of_another_context(struct dnd_copy *copy, const char *name)
{
	return dnd_fail_member(copy->ctx, DND_E_BAD_OPTION, DND_AT("destination"),
			       "%s: it was made with another context than the source. Use one for both.", name);
}

/* --- a memory --- */

/* Only memory of a region has a route that can be judged. */
static int check_memory(struct dnd_copy *copy, const struct dnd_side *side, const struct donard_memory *memory)
{
	int rc;

	if (memory->ctx != copy->ctx)
		return of_another_context(copy, side->label);
	rc = dnd_memory_check_mapped(memory);
	if (!rc && is_written(copy, side))
		rc = dnd_memory_check_writable(memory);
	if (rc || dnd_memory_is_region(memory))
		return rc;
	return dnd_fail(copy->ctx, DND_E_UNSUPPORTED, "%s: a copy is between devices, and this memory is of no region. Use memory of "
			"a region, or a queue, which serves plain memory.", side->label);
}

/*
 * Asks the region about a reset that the program does not know of, because the contents are then lost, and the copy
 * itself looks only for later resets.  The sync brings the program's own stores to the device for others to read.
 */
static int settle_memory(struct dnd_copy *copy, struct dnd_side *side)
{
	int rc = dnd_region_ask_again(copy->ctx, &side->region);

	return rc ? rc : dnd_memory_barrier(side->memory, false);
}

static int take_memory(struct dnd_copy *copy, struct dnd_side *side, struct donard_memory *memory)
{
	int rc;

	snprintf(side->memory_label, sizeof(side->memory_label), "memory of %s", dnd_memory_name(memory));
	side->label = side->memory_label;
	rc = check_memory(copy, side, memory);
	if (rc)
		return rc;
	dnd_handle_get(&memory->handle);
	dnd_side_of_memory(copy, side, memory);
	side->at = side->offset;
	side->size_bytes = memory->length;
	return settle_memory(copy, side);
}

/* The kernel copies only between memory that open region files own, and a dma-buf hides what it was exported from. */
static int check_memories(struct dnd_copy *copy)
{
	const struct dnd_side *side = copy->src.memory && dnd_memory_giver(copy->src.memory) ? &copy->dst : &copy->src;

	if (!copy->src.memory || !copy->dst.memory || dnd_memory_giver(side->memory))
		return 0;
	return dnd_fail(copy->ctx, DND_E_UNSUPPORTED, "%s: it came as a dma-buf, which is not copied to or from other memory. Copy in "
			"the process that exported it.", side->label);
}

/* --- a file --- */

/*
 * Do requests hold the file?  They must not: the copy may take O_DIRECT off the descriptor for its last bytes, and a
 * copy of a whole source cuts the file.
 */
static bool has_requests(const struct dnd_copy *copy, const struct donard_file *file)
{
	return dnd_file_users(file) > 1U + (copy->src.file == file);
}

static int check_file(struct dnd_copy *copy, const struct dnd_side *side, const struct donard_file *file)
{
	if (file->ctx != copy->ctx)
		return of_another_context(copy, side->label);
	if (!is_written(copy, side))
		return 0;
	if (!file->drive.writable)
		return dnd_fail(copy->ctx, DND_E_READ_ONLY, "%s: it was opened for reading. Open it with DONARD_FILE_WRITE.",
				side->label);
	return has_requests(copy, file) ?
	       dnd_fail(copy->ctx, DND_E_BUSY, "%s: it has requests in a queue, or takes part in another copy. Let them end first.",
			side->label) : 0;
}

/* The file's size, and what its file system says of it, may have changed since it was opened. */
static int take_file(struct dnd_copy *copy, struct dnd_side *side, struct donard_file *file)
{
	int rc;

	side->label = file->path;
	rc = check_file(copy, side, file);
	if (rc)
		return rc;
	dnd_handle_get(&file->handle);
	dnd_side_of_file(side, file);
	rc = dnd_drive_check_held(copy->ctx, &side->drive, is_written(copy, side));
	side->size_bytes = side->drive.size_bytes;
	return rc;
}

/* --- */

static int take(struct dnd_copy *copy, struct dnd_side *side, const struct donard_copy_end *given)
{
	struct donard_copy_end end;
	int rc = take_end(copy, side, given, &end);

	if (rc)
		return rc;
	return end.memory ? take_memory(copy, side, end.memory) : take_file(copy, side, end.file);
}

static int take_ends(struct dnd_copy *copy, const struct donard_copy_end *source, const struct donard_copy_end *destination)
{
	int rc;

	copy->held = true;
	rc = take(copy, &copy->src, source);
	if (!rc)
		rc = take(copy, &copy->dst, destination);
	if (!rc)
		rc = dnd_copy_check_options(copy);
	return rc ? rc : check_memories(copy);
}

/* The handles of an end, also of one that will be refused. */
static struct donard_copy_end handles_of(const struct donard_copy_end *given)
{
	struct donard_copy_end end = { .size = 0 };

	if (given && dnd_struct_has_size(given))
		memcpy(&end, given, dnd_min(given->size, sizeof(end)));
	return end;
}

static int check_handles(const struct donard_copy_end *given)
{
	struct donard_copy_end end = handles_of(given);
	int rc = dnd_handle_check(DND_A_MEMORY, end.memory, "donard_copy_between");

	return rc ? rc : dnd_handle_check(DND_A_FILE, end.file, "donard_copy_between");
}

/* Returns the handle's region, or NULL if it has none. */
static struct donard_context *context_of(const struct donard_copy_end *given)
{
	struct donard_copy_end end = handles_of(given);

	if (end.memory)
		return end.memory->ctx;
	return end.file ? end.file->ctx : NULL;
}

DND_PUBLIC int donard_copy_between(const struct donard_copy_end *source, const struct donard_copy_end *destination,
				   const struct donard_copy_options *options, struct donard_copy_result *result)
{
	struct donard_context *ctx;
	struct dnd_copy copy;
	int rc = check_handles(source);

	if (!rc)
		rc = check_handles(destination);
	if (rc)
		return rc;
	ctx = context_of(source);
	if (!ctx)
		ctx = context_of(destination);
	if (!ctx)
		return -EINVAL;	/* nobody could read a text */
	rc = dnd_copy_begin(&copy, ctx, options, result);
	if (!rc)
		rc = take_ends(&copy, source, destination);
	if (!rc)
		rc = dnd_copy_run(&copy);
	return dnd_copy_end(&copy, rc);
}
