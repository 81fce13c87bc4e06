// SPDX-License-Identifier: Apache-2.0
/* Binds and unbinds functions by driver_override, bind and unbind in sysfs. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "region/control.h"
#include "region/holders.h"

#define DRIVER "p2pmem"

static int check_function(struct donard_context *ctx, const char *bdf)
{
	if (!dnd_sysfs_exists(ctx, "bus/pci/devices/%s", bdf))
		return dnd_fail(ctx, DND_E_NO_SUCH_DEVICE, "%s: there is no such PCI function; "
				"lspci -D shows what exists.", bdf);
	return 0;
}

static int refuse_other_driver(struct donard_context *ctx, const char *bdf, const char *driver)
{
	if (!strcmp(driver, "pcieport"))
		return dnd_fail(ctx, DND_E_OTHER_DRIVER, "%s: it is a bridge, and the devices below it need its driver "
				"(%s). donard_candidate_list() shows what can be a region.", bdf, driver);
	if (!strcmp(driver, "nvme"))
		return dnd_fail(ctx, DND_E_OTHER_DRIVER, "%s: it is a drive, and its driver (%s) is using it. Add its "
				"memory as nvme-cmb or nvme-pmr; donard_candidate_list() shows which it has.",
				bdf, driver);
	/* NVIDIA's driver, told to let go, waits for its users without an end, and heeds no signal. */
	return dnd_fail(ctx, DND_E_OTHER_DRIVER, "%s: the driver %s is using it. If that may "
			"end, %srun: echo %s | sudo tee %s/bus/pci/drivers/%s/unbind", bdf, driver, strcmp(driver, "nvidia") ? "" :
			"first end what has /dev/nvidia* open, or the unbind hangs (sudo systemctl stop nvidia-persistenced; sudo "
			"fuser -v /dev/nvidia*), then ", bdf, ctx->sysfs_root, driver);
}

/* The kernel shows that there is none as "(null)". */
static void read_override(struct donard_context *ctx, const char *bdf, char override[DND_OVERRIDE_BYTES])
{
	if (dnd_sysfs_read(ctx, override, DND_OVERRIDE_BYTES, "bus/pci/devices/%s/driver_override", bdf) ||
	    !strcmp(override, "(null)"))
		override[0] = '\0';
}

/* An empty line clears it. */
static void set_override(struct donard_context *ctx, const char *bdf, const char *override)
{
	dnd_sysfs_write(ctx, override[0] ? override : "\n", "bus/pci/devices/%s/driver_override", bdf);
}

/* A rescan finds no virtual functions: their physical one makes them, all at once. */
void dnd_pci_anew(const struct donard_context *ctx, const char *bdf, char text[DND_ANEW_BYTES])
{
	const char *root = ctx->sysfs_root;
	char physical[DONARD_BDF_BYTES];

	if (dnd_sysfs_link_name(ctx, physical, sizeof(physical), "bus/pci/devices/%s/physfn", bdf))
		snprintf(text, DND_ANEW_BYTES, "echo 1 | sudo tee %s/bus/pci/devices/%s/remove; echo 1 | sudo tee %s/bus/pci/rescan",
			 root, bdf, root);
	else
		snprintf(text, DND_ANEW_BYTES, "echo 0 | sudo tee %s/bus/pci/devices/%s/sriov_numvfs, then the number of virtual "
			 "functions in place of 0", root, physical);
}

/* The kernel takes its address from a card that lies on memory in quarantine, and gives it no driver. */
static int refused(struct donard_context *ctx, const char *bdf, int rc)
{
	char region[P2PMEM_NAME_BYTES], holders[256], anew[DND_ANEW_BYTES];

	if (!dnd_region_quarantined_of(ctx, bdf, region))
		return dnd_fail_errno(ctx, rc, "%s: the driver " DRIVER " refused it (dmesg says more)", bdf);
	dnd_region_holders_text(ctx, region, holders, sizeof(holders));
	dnd_pci_anew(ctx, bdf, anew);
	return dnd_fail(ctx, DND_E_BUSY, "%s: the driver " DRIVER " refused it, since it may lie on the memory of %s, which is in "
			"quarantine%s. End its holders, then run: %s", bdf, region, holders, anew);
}

int dnd_pci_bind(struct donard_context *ctx, const char *bdf, char override[DND_OVERRIDE_BYTES])
{
	char driver[64];
	int rc;

	rc = check_function(ctx, bdf);
	if (rc)
		return rc;
	rc = dnd_sysfs_link_name(ctx, driver, sizeof(driver), "bus/pci/devices/%s/driver", bdf);
	if (!rc)
		return strcmp(driver, DRIVER) ? refuse_other_driver(ctx, bdf, driver) : 0;
	read_override(ctx, bdf, override);
	rc = dnd_sysfs_write(ctx, DRIVER, "bus/pci/devices/%s/driver_override", bdf);
	if (rc)
		return dnd_fail_sysfs_write(ctx, -rc, "%s: driver_override cannot be set", bdf);
	rc = dnd_sysfs_write(ctx, bdf, "bus/pci/drivers/" DRIVER "/bind");
	if (!rc)
		return 1;
	set_override(ctx, bdf, override);
	return refused(ctx, bdf, rc);
}

int dnd_pci_unbind(struct donard_context *ctx, const char *bdf, const char *override)
{
	int rc = dnd_sysfs_write(ctx, bdf, "bus/pci/drivers/" DRIVER "/unbind");

	set_override(ctx, bdf, override);
	if (rc)
		return dnd_fail_sysfs_write(ctx, -rc, "%s: cannot be unbound from " DRIVER, bdf);
	return 0;
}

/*
 * Nothing is written to "rescan".  It is one of the function's files that root alone can open, so that no user can hold
 * the lock.
 */
int dnd_pci_lock(struct donard_context *ctx, const char *bdf, int *lock)
{
	char path[PATH_MAX];

	*lock = -1;
	if (dnd_sysfs_path(ctx, path, "bus/pci/devices/%s/rescan", bdf))
		return 0;
	*lock = open(path, O_WRONLY | O_CLOEXEC);
	if (*lock < 0 || !flock(*lock, LOCK_EX) || errno != EINTR)
		return 0;
	dnd_pci_unlock(*lock);
	*lock = -1;
	dnd_fail(ctx, DND_E_CANCELED, "%s: no longer waiting for another program, which adds or removes a region of it.", bdf);
	return -EINTR;
}

void dnd_pci_unlock(int lock)
{
	if (lock < 0)
		return;
	/* A child that was forked meanwhile has the open file, too. */
	flock(lock, LOCK_UN);
	close(lock);
}
