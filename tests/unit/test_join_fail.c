// SPDX-License-Identifier: Apache-2.0
/*
 * The texts about a route that is refused, and about a drive's errno when DRAM gets the block but the region does not.  Needs
 * neither a device nor root.
 */
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "drive/stack.h"
#include "fake_sysfs.h"
#include "join/join.h"
#include "says.h"
#include "unit.h"

#define GPU "0000:03:00.0"

int __wrap_dnd_drive_lost(struct donard_context *ctx, const struct dnd_drive *drive);
int __wrap_dnd_drive_lost(struct donard_context *ctx, const struct dnd_drive *drive)
{
	(void)ctx, (void)drive;
	return 0;
}

static int sync_says;

int __wrap_dnd_region_try_sync(const struct dnd_region *region, bool durable);
int __wrap_dnd_region_try_sync(const struct dnd_region *region, bool durable)
{
	(void)region, (void)durable;
	return sync_says;
}

static struct dnd_region region_of(uint32_t kind)
{
	return (struct dnd_region){
		.fd = -1, .name = "p2pmem0", .bdf = GPU, .info = { .kind = kind, .page_type = P2PMEM_PAGES_P2PDMA },
	};
}

static bool unlisted;

/* Returns the text about a read that the kernel refuses, by a switch, or by a bridge that is tried. */
static const char *refused(struct fake *fake, struct dnd_drive *drive, const struct dnd_region *region)
{
	struct dnd_join join = {
		.ctx = fake->ctx, .region = region, .drive = drive, .align = 4096, .dram = DND_DRAM_GETS,
		.route = { .route = DONARD_ROUTE_SWITCH, .bridge = "0000:02:00.0" },
	};

	if (unlisted)
		join.route.route = DONARD_ROUTE_BRIDGE;
	join.route.unlisted_bridge = unlisted;
	assert_int_equal(dnd_join_failed(&join, false, 0, EREMOTEIO, 0), -EHOSTUNREACH);
	return donard_error(fake->ctx);
}

static void generic_pages_where_they_can_be_had(void **state)
{
	struct fake *fake = *state;
	struct dnd_drive drive = { .fd = -1, .path = "/dev/dm-0", .blockdev = { .disk = "dm-0" } };
	struct dnd_region region = region_of(P2PMEM_KIND_PCI_BAR);

	assert_says(refused(fake, &drive, &region), "does not let P2PDMA pages, which p2pmem0 has, pass through dm-0. Give "
		    "the region generic pages (donard_region_set_page_type(p2pmem0, generic)), or pass ALLOW_BOUNCE.");
	region = region_of(P2PMEM_KIND_NVME_CMB);
	assert_says(refused(fake, &drive, &region), "The nvme driver owns this Controller Memory Buffer, so that its page type "
		    "stays p2pdma. Use a region of another kind, or pass ALLOW_BOUNCE.");
	region = region_of(P2PMEM_KIND_GPU_NVIDIA);
	assert_says(refused(fake, &drive, &region), "donard_region_set_page_type(p2pmem0, generic)");
	fake_file(fake, "bus/pci/devices/" GPU "/p2pmem/size", "268435456");
	fake_file(fake, "bus/pci/devices/" GPU "/p2pmem/available", "0");	/* p2pmem's own pool */
	assert_says(refused(fake, &drive, &region), "donard_region_set_page_type(p2pmem0, generic)");
	fake_file(fake, "bus/pci/devices/" GPU "/p2pmem/available", "268435456");
	assert_says(refused(fake, &drive, &region), "static BAR1), so that the page type stays p2pdma. Remove the region, start "
		    "the driver without RMForceStaticBar1 and add it anew, or pass ALLOW_BOUNCE.");
}

/* Linux 6.13 has P2PDMA pages, and passes them on to no leg and by no head. */
static void arrays_and_paths(void **state)
{
	static struct dnd_stack stack = {
		.leg_count = 2, .legs = { { .name = "nvme0n1", .under = "md0" }, { .name = "nvme1n1", .under = "md0" } },
	};
	struct dnd_drive array = { .fd = -1, .path = "/dev/md0", .blockdev = { .disk = "md0", .stack = &stack } };
	struct dnd_drive head = { .fd = -1, .path = "/dev/nvme2n1", .blockdev = { .disk = "nvme2n1", .multipath = true } };
	struct dnd_drive plain = { .fd = -1, .path = "/dev/nvme3n1", .blockdev = { .disk = "nvme3n1" } };
	struct dnd_region region = region_of(P2PMEM_KIND_PCI_BAR);
	struct fake *fake = *state;

	assert_says(refused(fake, &array, &region), "pass through md0. Give the region generic pages (");
	assert_says(refused(fake, &head, &region), "pass through nvme2n1. Give the region generic pages (");
	assert_says(refused(fake, &plain, &region), "are joined at bridge 0000:02:00.0. Put both below one PCIe switch");
	unlisted = true;
	assert_says(refused(fake, &array, &region), "are joined at bridge 0000:02:00.0. Put both below one PCIe switch");
	unlisted = false;
	region.info.page_type = P2PMEM_PAGES_GENERIC;
	assert_says(refused(fake, &array, &region), "are joined at bridge 0000:02:00.0. Put both below one PCIe switch");
}

/* Each kind of route that kernel/path.c and kernel/probe.c refuse: both may be below one switch already. */
static void remedies_of_no_route(void **state)
{
	static const struct {
		struct donard_route route;
		const char *says;
	} cases[] = {
		{ { .unlisted_bridge = true, .reason = "the path crosses" },
		  "path crosses, at 0000:00:01.0. Put both below one PCIe switch, or pass ALLOW_UNLISTED to try it, or ALLOW_BOUNCE." },
		{ { .unlisted_bridge = true, .acs_redirect = true },
		  "Switch ACS redirection off at the ports that join the two (boot with pci=disable_acs_redir=PORTS), or pass ALLOW_UN" },
		{ { .unlisted_bridge = true, .acs_redirect = true, .translated = true },
		  ". Boot with iommu=pt, and switch ACS redirection off if it is still in the way then. Or pass ALLOW_UNLISTED to try " },
		{ { .unlisted_bridge = true, .translated = true },
		  ". Boot with iommu=pt, and have both below one PCIe switch. Or pass ALLOW_UNLISTED to try it, or ALLOW_BOUNCE." },
		{ { .unlisted_bridge = true, .translated = true, .same_device = true }, ". Boot with iommu=pt, or pass ALLOW_UNLISTED" },
		{ { .translated = true, .reason = "or boot with iommu=pt" }, "pt. Boot with iommu=pt, or pass ALLOW_BOUNCE." },
		{ { .acs_redirect = true, .bus_address = 1, .dma_address = 2 }, ". Let an IOMMU translate for it (boot without iommu=pt), "
		  "or use page type p2pdma, if the region can have it, with both below one PCIe switch. Or pass ALLOW_BOUNCE." },
		{ { .translated = true, .route = DONARD_ROUTE_BOUNCED }, ". Boot without swiotlb=force, " },
	};
	struct dnd_drive drive = { .fd = -1, .path = "/dev/nvme0n1", .blockdev = { .disk = "nvme0n1" } };
	struct dnd_region region = region_of(P2PMEM_KIND_PCI_BAR);
	struct dnd_join join = { .region = &region, .drive = &drive, .client = "0000:01:00.0", .dram = DND_DRAM_GETS };
	struct fake *fake = *state;

	join.ctx = fake->ctx;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		join.route = cases[i].route;
		strcpy(join.route.bridge, "0000:00:01.0");
		assert_int_equal(dnd_join_decide(&join), -EHOSTUNREACH);
		assert_says(donard_error(fake->ctx), cases[i].says);
	}
	join.route = (struct donard_route){ .route = DONARD_ROUTE_BRIDGE, .unlisted_bridge = true, .acs_redirect = true };
	assert_int_equal(dnd_join_failed(&join, false, 0, EREMOTEIO, 0), -EHOSTUNREACH);	/* which was tried */
	assert_says(donard_error(fake->ctx), "by an unknown path. Switch ACS redirection off at the ports");
}

/* Pages that were not touched yet cannot be used while their device is being reset. */
static void pages_that_are_away(void **state)
{
	struct dnd_drive drive = { .fd = -1, .path = "/dev/nvme0n1", .blockdev = { .disk = "nvme0n1" } };
	struct dnd_region region = region_of(P2PMEM_KIND_PCI_BAR);
	struct dnd_join join = { .region = &region, .drive = &drive, .dram = DND_DRAM_GETS };
	struct fake *fake = *state;

	join.ctx = fake->ctx;
	region.fd = eventfd(0, EFD_CLOEXEC);
	sync_says = -EIO;
	assert_int_equal(dnd_join_failed(&join, false, 0, EFAULT, 0), -EIO);
	assert_says(donard_error(fake->ctx), "p2pmem0: the device was reset meanwhile");
	sync_says = 0;
	assert_int_equal(dnd_join_failed(&join, false, 0, EFAULT, 0), -EFAULT);
	assert_says(donard_error(fake->ctx), "/dev/nvme0n1: read at offset 0 failed");
	close(region.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(generic_pages_where_they_can_be_had, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(arrays_and_paths, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(remedies_of_no_route, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(pages_that_are_away, fake_setup, fake_teardown),
	};

	return cmocka_run_group_tests_name("join_fail", tests, NULL, NULL);
}
