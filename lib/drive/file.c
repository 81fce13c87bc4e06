// SPDX-License-Identifier: Apache-2.0
/* See donard/file.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drive/stack.h"

#define KNOWN_FLAGS	(DONARD_FILE_WRITE | DONARD_FILE_CREATE)

static const char *const kinds[] = {
	[DONARD_FILE_KIND_DRIVE] = "drive",
	[DONARD_FILE_KIND_PARTITION] = "partition",
	[DONARD_FILE_KIND_REGULAR] = "file",
	[DONARD_FILE_KIND_STACK] = "stack",
};

DND_PUBLIC const char *donard_file_kind_text(enum donard_file_kind kind)
{
	return (size_t)kind < sizeof(kinds) / sizeof(kinds[0]) && kinds[kind] ? kinds[kind] : "unknown";
}

static struct donard_file *file_new(struct donard_context *ctx, const char *path)
{
	struct donard_file *file = calloc(1, sizeof(*file));

	if (file)
		file->path = strdup(path);
	if (!file || !file->path) {
		free(file);
		dnd_fail_memory(ctx);
		return NULL;
	}
	dnd_handle_init(&file->handle);
	dnd_handle_made(DND_A_FILE, file, ctx);
	file->ctx = ctx;
	file->drive.fd = -1;
	file->generic.fd = -1;
	file->plain_fd = -1;
	return file;
}

static int give(struct donard_file *file, int rc, struct donard_file **out)
{
	if (rc) {
		donard_file_close(file);
		return rc;
	}
	*out = file;
	return 0;
}

/* Notes whether flushed data are durable, which a program may ask later. */
static int judge(struct donard_file *file, int rc)
{
	if (!rc)
		dnd_drive_is_durable(file->ctx, &file->drive, &file->doubt);
	return rc;
}

static int open_drive(struct donard_file *file, unsigned int flags)
{
	struct dnd_drive *drive = &file->drive;
	int rc;

	if (!(flags & DONARD_FILE_WRITE))
		return dnd_drive_open_source(file->ctx, file->path, drive);
	rc = dnd_drive_open_target(file->ctx, file->path, flags & DONARD_FILE_CREATE, drive);
	if (rc || !drive->unnamed)
		return rc;
	rc = dnd_drive_name(file->ctx, drive);
	dnd_drive_ask(file->ctx, drive);
	return rc;
}

DND_PUBLIC int donard_file_open(struct donard_context *ctx, const char *path, unsigned int flags,
				struct donard_file **file_out)
{
	DND_USES(CONTEXT, ctx);
	struct donard_file *file;

	if (flags & ~KNOWN_FLAGS || flags == DONARD_FILE_CREATE)
		return dnd_fail_member(ctx, DND_E_BAD_OPTION, DND_VALUE("flags", flags & ~KNOWN_FLAGS ?: flags),
				       "%s: it cannot be opened with the flags %#x. Use 0, "
				       "DONARD_FILE_WRITE, or that with DONARD_FILE_CREATE.", path, flags);
	file = file_new(ctx, path);
	return file ? give(file, judge(file, open_drive(file, flags)), file_out) : -ENOMEM;
}

int dnd_file_open(struct donard_context *ctx, const char *path, bool target, struct donard_file **out)
{
	struct donard_file *file = file_new(ctx, path);

	if (!file)
		return -ENOMEM;
	return give(file, target ? dnd_drive_open_target(ctx, file->path, true, &file->drive) :
				   dnd_drive_open_source(ctx, file->path, &file->drive), out);
}

/* The kernel's name of the open file, for texts of errors. */
static void path_of(int fd, char path[PATH_MAX])
{
	char link[64];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, PATH_MAX - 1);
	if (length > 0)
		path[length] = '\0';
	else
		snprintf(path, PATH_MAX, "descriptor %d", fd);
}

DND_PUBLIC int donard_file_adopt(struct donard_context *ctx, int fd, struct donard_file **file_out)
{
	DND_USES(CONTEXT, ctx);
	struct donard_file *file;
	char path[PATH_MAX];

	path_of(fd, path);
	file = file_new(ctx, path);
	return file ? give(file, judge(file, dnd_drive_adopt(ctx, fd, file->path, &file->drive)), file_out) : -ENOMEM;
}

void dnd_file_put(struct donard_file *file)
{
	if (!file || !dnd_handle_put(&file->handle))
		return;
	if (file->plain_fd >= 0)
		close(file->plain_fd);
	dnd_generic_close(&file->generic);
	dnd_drive_close(&file->drive);
	free(file->path);
	dnd_handle_free(file, sizeof(*file));
}

DND_PUBLIC void donard_file_close(struct donard_file *file)
{
	DND_LETS_GO(FILE, file);
	dnd_file_put(file);
}

static enum donard_file_kind kind_of(const struct donard_file *file)
{
	struct donard_context *ctx = file->ctx;

	if (file->drive.is_file)
		return DONARD_FILE_KIND_REGULAR;
	if (dnd_blockdev_is_partition(ctx, file->drive.device))
		return DONARD_FILE_KIND_PARTITION;
	return file->drive.blockdev.stack ? DONARD_FILE_KIND_STACK : DONARD_FILE_KIND_DRIVE;
}

static size_t client_count(const struct dnd_blockdev *blockdev)
{
	size_t count = 0;

	while (dnd_blockdev_client(blockdev, count))
		count++;
	return count;
}

DND_PUBLIC int donard_file_info(const struct donard_file *file, struct donard_file_info *info)
{
	DND_USES(FILE, file);
	const struct dnd_drive *drive = &file->drive;
	const struct dnd_stack *stack = drive->blockdev.stack;
	const struct donard_file_info found = {
		.kind = kind_of(file),
		.fd = drive->fd,
		.path = file->path,
		.disk = drive->blockdev.disk,
		.size_bytes = drive->size_bytes,
		.align_bytes = drive->align_bytes,
		.memory_align_bytes = drive->memory_align_bytes,
		.request_bytes = drive->blockdev.request_bytes,
		.client_count = client_count(&drive->blockdev),
		.bounces = drive->bounce ? drive->bounce->cause : "",
		.writable = drive->writable,
		.stack = stack ? stack->kind : "",
		.leg_count = stack ? stack->leg_count : 0,
		.not_flushed = file->doubt.text,
	};
	int rc = dnd_struct_check(file->ctx, info, "donard_file_info");

	if (rc)
		return rc;
	dnd_struct_give(info, &found, sizeof(found));
	return 0;
}

DND_PUBLIC const char *donard_file_client(const struct donard_file *file, size_t index)
{
	DND_DEMANDS(FILE, file);
	return dnd_blockdev_client(&file->drive.blockdev, index);
}

DND_PUBLIC const char *donard_file_leg(const struct donard_file *file, size_t index)
{
	DND_DEMANDS(FILE, file);
	const struct dnd_stack *stack = file->drive.blockdev.stack;

	return stack && index < stack->leg_count ? stack->legs[index].name : NULL;
}
