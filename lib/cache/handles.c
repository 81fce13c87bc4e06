// SPDX-License-Identifier: Apache-2.0
/*
 * The memory and the drive of a server: opened by their names, or handles that the program passed.  The server holds such
 * handles until it ends, as a request in flight does, because a function of the program that it calls may close them.
 */
#include <sys/file.h>

#include "cache/server.h"
#include "drive/drive.h"

static int check_given(struct donard_context *ctx, const void *nvram, const void *backing)
{
	return nvram && backing ? 0 :
	       dnd_fail_member(ctx, DND_E_BAD_OPTION, DND_AT(nvram ? "backing" : "nvram"), "a cache without %s. Name one.",
			       nvram ? "a drive behind it" : "a region for its log");
}

int dnd_cache_open_handles(struct dnd_cache_server *server, const char *nvram, const char *backing)
{
	int rc = check_given(server->ctx, nvram, backing);

	if (!rc)
		rc = donard_memory_claim(server->ctx, nvram, 0, 0, &server->nvram.memory);
	return rc ? rc : donard_file_open(server->ctx, backing, DONARD_FILE_WRITE, &server->file);
}

/*
 * A log in a part of a region would not be found by a server that searches all regions for logs of its drive (others.c), and
 * nobody could tell which part the next server has to claim.
 */
static int check_extent(const struct donard_memory *nvram)
{
	const struct p2pmem_info *info = &nvram->region.info;

	return nvram->length == info->region_bytes ? 0 :
	       dnd_fail_member(nvram->ctx, DND_E_BAD_OPTION, DND_AT("nvram"), "%s: a cache needs a whole region, and this memory is %llu "
			       "of its %llu bytes. Claim all of it.", dnd_memory_name(nvram),
			       (unsigned long long)nvram->length, (unsigned long long)info->region_bytes);
}

/* A reset before this call does not matter, because nothing that the memory holds has been read yet. */
static int check_nvram(struct donard_memory *nvram)
{
	int rc = dnd_memory_check_mapped(nvram);

	if (!rc)
		rc = dnd_memory_check_writable(nvram);
	if (!rc && !dnd_memory_giver(nvram))
		rc = dnd_fail(nvram->ctx, DND_E_UNSUPPORTED, "%s: a cache keeps its log in a region, and this memory belongs to none. "
			      "Claim all of a region.", dnd_memory_name(nvram));
	if (!rc)
		rc = dnd_region_ask_again(nvram->ctx, &nvram->region);
	return rc ? rc : check_extent(nvram);
}

/* Nobody else may write to the drive: a device that was opened by its name is open exclusively. */
static int check_backing(struct donard_context *ctx, struct donard_file *backing)
{
	if (backing->ctx != ctx)
		return dnd_fail_member(ctx, DND_E_BAD_OPTION, DND_AT("backing"),
				       "%s: it was opened with another context than the NVRAM. Use one for both.", backing->path);
	if (!backing->drive.writable)
		return dnd_fail(ctx, DND_E_READ_ONLY, "%s: it was opened for reading. Open it with DONARD_FILE_WRITE.", backing->path);
	if (backing->drive.adopted)
		return dnd_fail(ctx, DND_E_UNSUPPORTED, "%s: it came as a descriptor, which others may have as well. Open it by its "
				"name, so that it is this server's alone.", backing->path);
	if (dnd_file_users(backing) > 1)
		return dnd_fail(ctx, DND_E_BUSY, "%s: a queue, a copy or another cache uses it. Take all completions, and let the "
				"others end.", backing->path);
	return dnd_drive_check_held(ctx, &backing->drive, true);
}

int dnd_cache_take_handles(struct dnd_cache_server *server, struct donard_memory *nvram, struct donard_file *backing)
{
	int rc = check_given(server->ctx, nvram, backing);

	if (!rc)
		rc = check_nvram(nvram);
	if (!rc)
		rc = check_backing(server->ctx, backing);
	if (rc)
		return rc;
	dnd_handle_get(&nvram->handle);
	dnd_handle_get(&backing->handle);
	server->nvram.memory = nvram;
	server->file = backing;
	server->of_program = true;
	return 0;
}

/* A device is opened exclusively, but any number of programs can open a file, so a file is locked. */
int dnd_cache_lock_file(struct dnd_cache_server *server)
{
	if (server->drive.kind != DONARD_FILE_KIND_REGULAR)
		return 0;
	server->file_locked = !flock(server->drive.fd, LOCK_EX | LOCK_NB);
	if (server->file_locked)
		return 0;
	if (errno != EWOULDBLOCK)
		return dnd_fail_errno(server->ctx, errno, "%s: it cannot be locked", server->drive.path);
	return dnd_fail(server->ctx, DND_E_BUSY, "%s: another program has locked it, for instance a cache that is served from "
			"another region in front of it. End that program, or take another file.", server->drive.path);
}

/*
 * Closing the file would not release the lock: the program may keep the file open, and a child that it forked has a copy of the
 * descriptor.  The lock stays as long as requests that have not ended hold the file, because the drive may still write.
 */
void dnd_cache_unlock_file(struct dnd_cache_server *server)
{
	unsigned int users = server->of_program ? 2 : 1;

	if (server->file_locked && dnd_file_users(server->file) <= users)
		flock(server->drive.fd, LOCK_UN);
}
