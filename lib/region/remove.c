// SPDX-License-Identifier: Apache-2.0
/*
 * Removes a region.  The ioctl blocks until nothing refers to the memory, so
 * another thread makes it, while the caller's thread reads sysfs and reports what
 * the removal waits for.  The caller's thread blocks SIGINT and SIGTERM, so that they
 * go to the other one: if the program handles them, the ioctl returns EINTR.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "region/control.h"
#include "region/holders.h"
#include "region/names.h"

/* What the removal needs to know of the region after it has ended. */
struct target {
	char name[P2PMEM_NAME_BYTES];
	char bdf[DONARD_BDF_BYTES];
	enum donard_region_kind kind;
};

struct removal {
	int control;
	int error_number;
	struct p2pmem_region_remove remove;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool done;
};

static void *removal_thread(void *argument)
{
	struct removal *removal = argument;
	int error_number;

	error_number = ioctl(removal->control, P2PMEM_CTL_REGION_REMOVE, &removal->remove) < 0 ?
		errno : 0;
	pthread_mutex_lock(&removal->lock);
	removal->error_number = error_number;
	removal->done = true;
	pthread_cond_signal(&removal->ended);
	pthread_mutex_unlock(&removal->lock);
	return NULL;
}

static void say_what_it_waits_for(struct donard_context *ctx, const char *name,
				  donard_wait_fn wait_fn, void *user)
{
	char holders[256], state[16], text[384];

	if (!wait_fn)
		return;
	dnd_sysfs_read(ctx, state, sizeof(state), "class/p2pmem/%s/state", name);
	dnd_region_holders_text(ctx, name, holders, sizeof(holders));
	snprintf(text, sizeof(text), "%s: waiting until nothing uses it (%s%s)", name,
		 state[0] ? state : "going away", holders);
	wait_fn(user, text);
}

/* Returns true if the removal ended within a second. */
static bool wait_a_second(struct removal *removal)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec++;
	while (!removal->done)
		if (pthread_cond_clockwait(&removal->ended, &removal->lock, CLOCK_MONOTONIC, &until))
			break;
	return removal->done;
}

static void wait_for_end(struct donard_context *ctx, struct removal *removal, const char *name,
			 donard_wait_fn wait_fn, void *user)
{
	pthread_mutex_lock(&removal->lock);
	while (!wait_a_second(removal)) {
		pthread_mutex_unlock(&removal->lock);
		say_what_it_waits_for(ctx, name, wait_fn, user);
		pthread_mutex_lock(&removal->lock);
	}
	pthread_mutex_unlock(&removal->lock);
}

static int run_removal(struct donard_context *ctx, struct removal *removal, const char *name,
		       donard_wait_fn wait_fn, void *user)
{
	sigset_t stops, before;
	pthread_t thread;
	int rc;

	sigemptyset(&stops);
	sigaddset(&stops, SIGINT);
	sigaddset(&stops, SIGTERM);
	sigaddset(&stops, SIGHUP);
	pthread_mutex_init(&removal->lock, NULL);
	pthread_cond_init(&removal->ended, NULL);
	rc = pthread_create(&thread, NULL, removal_thread, removal);
	if (rc) {
		rc = dnd_fail_errno(ctx, rc, "%s: no thread to remove it", name);
	} else {
		pthread_sigmask(SIG_BLOCK, &stops, &before);
		wait_for_end(ctx, removal, name, wait_fn, user);
		pthread_join(thread, NULL);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	pthread_cond_destroy(&removal->ended);
	pthread_mutex_destroy(&removal->lock);
	return rc;
}

static bool is_bound(struct donard_context *ctx, const struct target *target)
{
	char driver[64];

	return target->kind == DONARD_KIND_PCI_BAR &&
	       !dnd_sysfs_link_name(ctx, driver, sizeof(driver), "bus/pci/devices/%s/driver", target->bdf) &&
	       !strcmp(driver, "p2pmem");
}

/* The region ends by itself: no program is there then to unbind its function. */
static void say_what_stays_bound(struct donard_context *ctx, const struct target *target)
{
	const char *bdf = target->bdf, *root = ctx->sysfs_root;

	if (is_bound(ctx, target))
		dnd_fail_more(ctx, " %s stays bound to p2pmem: once it has no region, run: echo %s | sudo tee "
			      "%s/bus/pci/drivers/p2pmem/unbind; echo | sudo tee %s/bus/pci/devices/%s/driver_override", bdf, bdf, root, root, bdf);
}

/* The removal itself has ended: the module gives a @reason only if the region is in quarantine now. */
static int ended(struct donard_context *ctx, const struct target *target, const char *reason)
{
	char holders[256];

	if (!reason[0])
		return 0;
	dnd_region_holders_text(ctx, target->name, holders, sizeof(holders));
	dnd_fail(ctx, DND_E_BUSY, "%s: %.200s%s. End its holders; the region then ends by itself.", target->name, reason, holders);
	say_what_stays_bound(ctx, target);
	return -EBUSY;
}

static int removal_result(struct donard_context *ctx, const struct target *target,
			  const struct removal *removal)
{
	const char *reason = removal->remove.reason, *name = target->name;
	char holders[256], disk[32];

	switch (removal->error_number) {
	case 0:
		return ended(ctx, target, reason);
	case EBUSY:
		if (!dnd_sysfs_read(ctx, disk, sizeof(disk), "class/p2pmem/%s/pmem", name) && disk[0])
			return dnd_fail(ctx, DND_E_BUSY, "%s: its pmem device /dev/%s is in use. Unmount it, or end what "
					"has it open.", name, disk);
		dnd_region_holders_text(ctx, name, holders, sizeof(holders));
		return dnd_fail(ctx, DND_E_BUSY, "%s: it is in use%s. Wait for that to end, or "
				"leave out IF_IDLE to revoke it.", name,
				holders[0] ? holders : ", or being removed already");
	case EINTR:
		dnd_fail(ctx, DND_E_CANCELED, "%s: no longer waiting; the removal goes on by itself.", name);
		say_what_stays_bound(ctx, target);
		return -EINTR;
	case ENODEV:
		return dnd_region_missing(ctx, name);
	}
	if (!reason[0])
		return dnd_fail_errno(ctx, removal->error_number, "%s: cannot be removed", name);
	dnd_fail(ctx, dnd_error_of(NULL, removal->error_number), "%s: cannot be removed: %.*s.", name,
		 (int)sizeof(removal->remove.reason) - 1, reason);
	return -removal->error_number;
}

static bool other_region_on(struct donard_context *ctx, const char *bdf)
{
	struct donard_region_list *list;
	int count = donard_region_list_parts(ctx, 0, &list);
	bool found = false;

	for (int i = 0; i < count; i++)
		if (!strcmp(donard_region_get(list, (size_t)i)->bdf, bdf))
			found = true;
	if (count >= 0)
		donard_region_list_free(list);
	return found || count < 0;
}

static int unbind_unless_needed(struct donard_context *ctx, const struct target *target)
{
	int lock, rc = dnd_pci_lock(ctx, target->bdf, &lock);

	if (rc)
		return rc;
	if (is_bound(ctx, target) && !other_region_on(ctx, target->bdf))
		rc = dnd_pci_unbind(ctx, target->bdf, "");	/* the override from before the region is not known any more */
	dnd_pci_unlock(lock);
	return rc;
}

/* Unbinds a pci-bar function when its last region is removed. */
static int give_back(struct donard_context *ctx, const struct target *target)
{
	int rc;

	if (target->kind != DONARD_KIND_PCI_BAR)
		return 0;
	rc = unbind_unless_needed(ctx, target);
	if (!rc)
		return 0;
	dnd_fail_more(ctx, " Its region was removed.");
	say_what_stays_bound(ctx, target);
	return rc;
}

static int remove_known(struct donard_context *ctx, const struct target *target, unsigned int flags,
			donard_wait_fn wait_fn, void *user)
{
	const char *name = target->name;
	struct removal removal = {
		.remove = {
			.size = sizeof(removal.remove),
			.flags = flags & DONARD_REMOVE_IF_IDLE ? P2PMEM_REMOVE_IF_IDLE : 0,
			.region = (uint32_t)dnd_region_number(name),
		},
	};
	int rc;

	removal.control = dnd_control_open(ctx);
	if (removal.control < 0)
		return removal.control;
	rc = run_removal(ctx, &removal, name, wait_fn, user);
	close(removal.control);
	return rc ? rc : removal_result(ctx, target, &removal);
}

DND_PUBLIC int donard_region_remove(struct donard_context *ctx, const char *name,
				    unsigned int flags, donard_wait_fn wait_fn, void *user)
{
	DND_USES(CONTEXT, ctx);
	struct donard_region_list *list;
	struct target target;
	int rc;

	if (flags & ~DONARD_REMOVE_IF_IDLE)
		return dnd_fail_member(ctx, DND_E_BAD_OPTION, DND_VALUE("flags", flags & ~DONARD_REMOVE_IF_IDLE),
				       "unknown removal flags %#x", flags);
	rc = dnd_region_find(ctx, name, 0, &list);
	if (rc)
		return rc;
	snprintf(target.name, sizeof(target.name), "%s", donard_region_get(list, 0)->name);
	snprintf(target.bdf, sizeof(target.bdf), "%s", donard_region_get(list, 0)->bdf);
	target.kind = donard_region_get(list, 0)->kind;
	donard_region_list_free(list);
	rc = remove_known(ctx, &target, flags, wait_fn, user);
	return rc ? rc : give_back(ctx, &target);
}
