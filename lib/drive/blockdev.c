// SPDX-License-Identifier: Apache-2.0
/* Resolves block devices through sysfs; see blockdev.h. */
#include <stdio.h>
#include <sys/sysmacros.h>

#include "drive/blockdev.h"
#include "drive/disk.h"
#include "drive/stack.h"

/* The kernel splits a request that crosses a chunk's border, and io_uring hands such a request to a worker thread. */
static void fit_to_stack(struct dnd_blockdev *blockdev)
{
	const struct dnd_stack *stack = blockdev->stack;

	if (stack->chunk_bytes && (!blockdev->request_bytes || blockdev->request_bytes > stack->chunk_bytes))
		blockdev->request_bytes = stack->chunk_bytes;
	for (size_t i = 0; i < stack->leg_count; i++)
		blockdev->memory_align_bytes = (uint32_t)dnd_max(blockdev->memory_align_bytes,
				stack->legs[i].blockdev.memory_align_bytes);
}

static int resolve(struct donard_context *ctx, dev_t device, const char *label, struct dnd_blockdev *blockdev)
{
	char number[32];
	int rc = dnd_disk_look_up(ctx, device, label, number, blockdev);

	if (rc)
		return rc;
	if (!dnd_disk_is_stack(blockdev->disk))
		rc = dnd_disk_find_controllers(ctx, label, blockdev);
	else
		rc = dnd_stack_resolve(ctx, number, label, &blockdev->stack);
	if (!rc && blockdev->stack)
		fit_to_stack(blockdev);
	if (!rc)
		dnd_blockdev_read_integrity(ctx, blockdev);
	return rc;
}

int dnd_blockdev_resolve_again(struct donard_context *ctx, dev_t device, const char *label,
			       struct dnd_blockdev *blockdev)
{
	unsigned int unread = dnd_sysfs_unread(ctx);
	int rc = resolve(ctx, device, label, blockdev), checked = dnd_sysfs_check(ctx, unread, rc);

	if (!rc && checked)
		dnd_blockdev_release(blockdev);
	return checked;
}

int dnd_blockdev_resolve(struct donard_context *ctx, dev_t device, const char *label,
			 struct dnd_blockdev *blockdev)
{
	int rc = dnd_blockdev_resolve_again(ctx, device, label, blockdev);

	if (rc || !blockdev->stack || !blockdev->stack->suspended[0])
		return rc;
	rc = dnd_fail(ctx, DND_E_UNSUPPORTED, "%s: %s is suspended: requests would wait without end. "
		      "Resume it (dmsetup resume).", label, blockdev->stack->suspended);
	dnd_blockdev_release(blockdev);
	return rc;
}

bool dnd_blockdev_is_zoned(struct donard_context *ctx, const struct dnd_blockdev *blockdev)
{
	char zoned[32];

	for (size_t leg = 0; leg < dnd_blockdev_leg_count(blockdev); leg++)
		if (!dnd_sysfs_read(ctx, zoned, sizeof(zoned), "block/%s/queue/zoned",
				    dnd_blockdev_leg(blockdev, leg)->disk) && !strcmp(zoned, "host-managed"))
			return true;
	return false;
}

void dnd_blockdev_release(struct dnd_blockdev *blockdev)
{
	dnd_stack_free(blockdev->stack);
	blockdev->stack = NULL;
}

size_t dnd_blockdev_leg_count(const struct dnd_blockdev *blockdev)
{
	return blockdev->stack ? blockdev->stack->leg_count : 1;
}

const struct dnd_blockdev *dnd_blockdev_leg(const struct dnd_blockdev *blockdev, size_t leg)
{
	return blockdev->stack ? &blockdev->stack->legs[leg].blockdev : blockdev;
}

bool dnd_blockdev_has_paths(const struct dnd_blockdev *blockdev)
{
	for (size_t leg = 0; leg < dnd_blockdev_leg_count(blockdev); leg++)
		if (dnd_blockdev_leg(blockdev, leg)->controller_count > 1)
			return true;
	return false;
}

bool dnd_blockdev_is_mirrored(const struct dnd_blockdev *blockdev)
{
	return blockdev->stack && blockdev->stack->mirrored;
}

bool dnd_blockdev_is_replacing(const struct dnd_blockdev *blockdev)
{
	return blockdev->stack && blockdev->stack->replacing;
}

void dnd_blockdev_leg_names(const struct dnd_blockdev *blockdev, size_t leg, const char **name,
			    const char **under)
{
	*name = blockdev->stack ? blockdev->stack->legs[leg].name : "";
	*under = blockdev->stack ? blockdev->stack->legs[leg].under : "";
}

const char *dnd_blockdev_leg_text(const struct dnd_blockdev *blockdev, size_t leg,
				  char text[DND_LEG_TEXT_BYTES])
{
	text[0] = '\0';
	if (blockdev->stack)
		snprintf(text, DND_LEG_TEXT_BYTES, "leg %s of %s", blockdev->stack->legs[leg].name,
			 blockdev->stack->legs[leg].under);
	return text;
}

/* Does one of the first @legs legs have this controller, too, as another partition of the same drive would? */
static bool is_repeated(const struct dnd_blockdev *blockdev, size_t legs, const char *client)
{
	for (size_t i = 0; i < legs; i++) {
		const struct dnd_blockdev *leg = dnd_blockdev_leg(blockdev, i);

		for (size_t j = 0; j < leg->controller_count; j++)
			if (!strcmp(leg->controllers[j], client))
				return true;
	}
	return false;
}

const char *dnd_blockdev_client(const struct dnd_blockdev *blockdev, size_t index)
{
	for (size_t i = 0; i < dnd_blockdev_leg_count(blockdev); i++) {
		const struct dnd_blockdev *leg = dnd_blockdev_leg(blockdev, i);

		for (size_t j = 0; j < leg->controller_count; j++)
			if (!is_repeated(blockdev, i, leg->controllers[j]) && !index--)
				return leg->controllers[j];
	}
	return NULL;
}

static const struct dnd_bounce behind = {
	"raid1 with write-mostly legs and a backlog writes behind, from copies in DRAM",
	"Set its backlog to 0 (mdadm --grow --bitmap=none, then --bitmap=internal), or make no leg write-mostly"
};

static const struct dnd_bounce summed = {
	"a drive is formatted with protection information, and the CPU reads all data for its checksums",
	"Write 0 to read_verify and to write_generate in the folder integrity of the drive, of each of its paths (nvme0c0n1 is one of "
	"nvme0n1) and of a device that is made of it, below /sys/block"
};

void dnd_blockdev_read_integrity(struct donard_context *ctx, struct dnd_blockdev *blockdev)
{
	struct dnd_stack *stack = blockdev->stack;

	dnd_disk_read_integrity(ctx, blockdev);
	for (size_t i = 0; stack && i < stack->leg_count; i++)
		dnd_disk_read_integrity(ctx, &stack->legs[i].blockdev);
}

/* A destination is read back, too, so checked reads count in either case. */
static bool is_summed(const struct dnd_blockdev *blockdev, bool writes)
{
	return blockdev->reads_checked || (writes && blockdev->writes_summed);
}

const struct dnd_bounce *dnd_blockdev_bounce(const struct dnd_blockdev *blockdev, bool writes)
{
	if (is_summed(blockdev, writes))
		return &summed;
	for (size_t i = 0; i < dnd_blockdev_leg_count(blockdev); i++)
		if (is_summed(dnd_blockdev_leg(blockdev, i), writes))
			return &summed;
	return writes && blockdev->stack && blockdev->stack->behind ? &behind : NULL;
}

bool dnd_blockdev_is_partition(struct donard_context *ctx, dev_t device)
{
	return dnd_sysfs_exists(ctx, "dev/block/%u:%u/partition", major(device), minor(device));
}

static enum dnd_health controller_health(struct donard_context *ctx, const char *name)
{
	char state[32];

	if (dnd_sysfs_read(ctx, state, sizeof(state), "class/nvme/%s/state", name) ||
	    !strncmp(state, "deleting", strlen("deleting")) || !strcmp(state, "dead"))
		return DND_HEALTH_GONE;
	return strcmp(state, "live") ? DND_HEALTH_RESETTING : DND_HEALTH_LIVE;
}

const char *dnd_blockdev_controller_left(struct donard_context *ctx, const struct dnd_blockdev *blockdev)
{
	for (size_t i = 0; i < blockdev->controller_count; i++)
		if (controller_health(ctx, blockdev->controller_names[i]) != DND_HEALTH_GONE)
			return blockdev->controllers[i];
	return NULL;
}

static enum dnd_health drive_health(struct donard_context *ctx, const struct dnd_blockdev *blockdev)
{
	enum dnd_health best = DND_HEALTH_GONE, health;

	if (!dnd_sysfs_exists(ctx, "block/%s", blockdev->disk))
		return DND_HEALTH_GONE;
	for (size_t i = 0; i < blockdev->controller_count; i++) {
		health = controller_health(ctx, blockdev->controller_names[i]);
		if (health > best)
			best = health;
	}
	return best;
}

enum dnd_health dnd_blockdev_health(struct donard_context *ctx,
				    const struct dnd_blockdev *blockdev, size_t *leg)
{
	enum dnd_health worst = DND_HEALTH_LIVE, health;

	if (!dnd_sysfs_exists(ctx, "block/%s", blockdev->disk))
		return DND_HEALTH_GONE;
	for (size_t i = 0; i < dnd_blockdev_leg_count(blockdev); i++) {
		/* A mirror goes on without a lost leg. */
		if (dnd_blockdev_is_mirrored(blockdev) && dnd_blockdev_legs_left(blockdev) & 1U << i)
			continue;
		health = drive_health(ctx, dnd_blockdev_leg(blockdev, i));
		if (health >= worst)
			continue;
		worst = health;
		*leg = i;
	}
	return worst;
}
