// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"
#include "base/files.h"
#include "fake_sysfs.h"
#include "play_ioctl.h"
#include "region/control.h"
#include "region/holders.h"
#include "region/region.h"

static void regions(void **state)
{
	struct fake *fake = *state;
	const struct donard_region_info *info;
	struct donard_region_list *list;
	char text[128];

	fake_region(fake, "p2pmem10", "nvme-pmr", "0000:02:00.0");
	fake_region(fake, "p2pmem2", "pci-bar", "0000:03:00.0");
	assert_int_equal(donard_region_list(fake->ctx, &list), 2);
	info = donard_region_get(list, 0);
	assert_string_equal(info->name, "p2pmem2");
	assert_int_equal(info->size, sizeof(*info));
	assert_int_equal(info->kind, DONARD_KIND_PCI_BAR);
	assert_int_equal(info->size_bytes, 256 << 20);
	assert_false(info->persistent);
	assert_int_equal(info->granule_bytes, 0);
	assert_string_equal(info->unrouted, "0000:05:00.0\n0000:06:00.0");
	assert_non_null(strstr(info->unknown, "p2pmem2"));	/* there is no such node */
	assert_string_equal(info->pmem, "");
	assert_true(donard_region_get(list, 1)->persistent);
	assert_string_equal(donard_region_get(list, 1)->pmem, "pmem0");
	assert_null(donard_region_get(list, 2));
	donard_region_list_free(list);
	dnd_region_holders_text(fake->ctx, "p2pmem2", text, sizeof(text));
	assert_string_equal(text, "; held by fio (pid 12), \"my tool\" (pid 13, device 0000:01:00.0)");
	dnd_region_holders_text(fake->ctx, "p2pmem2", text, 40);
	assert_string_equal(text, "; held by 2");
	fake_file(fake, "class/p2pmem/p2pmem2/holders",
		  "0 systemd (pid 1) 0 0\n14 a\033[2J\\x0ab 4096 0\nand 7 more");
	dnd_region_holders_text(fake->ctx, "p2pmem2", text, sizeof(text));
	assert_string_equal(text, "; held by \"systemd (pid 1)\" (no pid), \"a\\x1b[2J\\x0ab\" (pid 14), and 7 more");
	fake_file(fake, "class/p2pmem/p2pmem2/state", "draining");
	snprintf(text, sizeof(text), "%s/p2pmem2", fake->root);	/* as a device node is written */
	assert_int_equal(donard_region_find(fake->ctx, text, &list), 0);
	assert_string_equal(donard_region_get(list, 0)->name, "p2pmem2");
	assert_non_null(strstr(donard_region_get(list, 0)->unknown, "draining"));
	donard_region_list_free(list);
	assert_int_equal(donard_region_find(fake->ctx, "p2pmem2+4K", &list), -EINVAL);
	assert_int_equal(donard_region_find(fake->ctx, "p2pmem3", &list), -ENODEV);
	assert_string_equal(donard_error_code(fake->ctx), "no-such-region");
}

/* Parts that were not asked for are not read, so a node that cannot be opened does not matter. */
static void only_parts_of_regions(void **state)
{
	struct fake *fake = *state;
	struct donard_region_list *list;

	fake_region(fake, "p2pmem2", "pci-bar", "0000:03:00.0");
	assert_int_equal(donard_region_list_parts(fake->ctx, 0, &list), 1);
	assert_int_equal(donard_region_get(list, 0)->size_bytes, 256 << 20);
	assert_null(donard_region_get(list, 0)->holders);
	assert_null(donard_region_get(list, 0)->unrouted);
	assert_string_equal(donard_region_get(list, 0)->unknown, "nobody asked for it");
	donard_region_list_free(list);
	assert_int_equal(donard_region_list_parts(fake->ctx, DONARD_REGION_UNROUTED, &list), 1);
	assert_string_equal(donard_region_get(list, 0)->unrouted, "0000:05:00.0\n0000:06:00.0");
	donard_region_list_free(list);
	assert_int_equal(donard_region_list_parts(fake->ctx, DONARD_REGION_HOLDERS, &list), 1);
	assert_non_null(strstr(donard_region_get(list, 0)->holders, "12 fio"));
	assert_string_equal(donard_region_get(list, 0)->unknown, "nobody asked for it");
	donard_region_list_free(list);
	assert_int_equal(donard_region_list_parts(fake->ctx, DONARD_REGION_NODE, &list), 1);
	assert_null(donard_region_get(list, 0)->holders);
	assert_non_null(strstr(donard_region_get(list, 0)->unknown, "no node of it"));
	donard_region_list_free(list);
	assert_int_equal(donard_region_list_parts(fake->ctx, 8, &list), -EINVAL);
	assert_string_equal(donard_error_code(fake->ctx), "bad-option");
}

/* Its link is made before its files are. */
static void a_region_that_is_being_added(void **state)
{
	struct fake *fake = *state;
	struct donard_region_list *list;

	fake_region(fake, "p2pmem2", "pci-bar", "0000:03:00.0");
	fake_file(fake, "class/p2pmem/p2pmem1/bar", "2");
	assert_int_equal(donard_region_list(fake->ctx, &list), 1);
	assert_string_equal(donard_region_get(list, 0)->name, "p2pmem2");
	donard_region_list_free(list);
	assert_int_equal(donard_region_find(fake->ctx, "p2pmem1", &list), -ENODEV);
}

static const char *going;	/* a region goes once this file of it was read */

int __wrap_dnd_text_at(const char *path, char *text, size_t text_bytes);
int __real_dnd_text_at(const char *path, char *text, size_t text_bytes);

int __wrap_dnd_text_at(const char *path, char *text, size_t text_bytes)
{
	int rc = __real_dnd_text_at(path, text, text_bytes);
	char state[PATH_MAX];

	if (going && strstr(path, going)) {
		snprintf(state, sizeof(state), "%.*s/state", (int)(strrchr(path, '/') - path), path);
		unlink(state);
	}
	return rc;
}

/* A region that goes away while it is read is left out of the list. */
static void a_region_that_goes(void **state)
{
	struct fake *fake = *state;
	struct donard_region_list *list;

	fake_region(fake, "p2pmem1", "pci-bar", "0000:03:00.0");
	fake_region(fake, "p2pmem2", "nvme-pmr", "0000:02:00.0");
	going = "p2pmem2/kind";
	assert_int_equal(donard_region_list(fake->ctx, &list), 1);
	going = NULL;
	assert_string_equal(donard_region_get(list, 0)->name, "p2pmem1");
	donard_region_list_free(list);
}

static void no_module(void **state)
{
	struct fake *fake = *state;
	struct donard_copy_result result = { .size = sizeof(result) };
	struct donard_region_list *list;
	struct dnd_region region;

	assert_int_equal(donard_region_list(fake->ctx, &list), -EOPNOTSUPP);
	assert_non_null(strstr(donard_error(fake->ctx), "modprobe p2pmem"));
	assert_int_equal(donard_copy(fake->ctx, "p2pmem0", "p2pmem1", NULL, &result), -EOPNOTSUPP);
	/* Wrong arguments are reported first, since they stay wrong with the module loaded. */
	assert_int_equal(dnd_region_open(fake->ctx, "p2pmem0+4K", &region), -EINVAL);
	assert_int_equal(dnd_region_open(fake->ctx, "p2pmem0", &region), -EOPNOTSUPP);
	assert_int_equal(result.route, DONARD_ROUTE_NONE);
}

/* A folder that cannot be read is not taken for an empty one. */
static void unreadable_folders(void **state)
{
	struct fake *fake = *state;
	struct donard_client_list *clients;
	struct donard_region_list *regions;

	fake_file(fake, "class/p2pmem", "no folder");
	fake_file(fake, "class/infiniband", "no folder");
	assert_int_equal(donard_region_list(fake->ctx, &regions), -ENOTDIR);
	assert_non_null(strstr(donard_error(fake->ctx), "class/p2pmem cannot be read"));
	assert_int_equal(donard_client_list(fake->ctx, &clients), -ENOTDIR);
	assert_non_null(strstr(donard_error(fake->ctx), "class/infiniband cannot be read"));
}

static void clients(void **state)
{
	struct fake *fake = *state;
	struct donard_client_list *list;
	const struct donard_client_info *info;

	fake_nvme(fake, 0, "0000:01:00.0");
	fake_file(fake, "class/nvme/nvme9/transport", "tcp");
	fake_file(fake, "class/nvme/nvme8/transport", "pcie");	/* its other files went before they were read */
	fake_file(fake, "bus/pci/devices/0000:05:00.0/class", "0x030000");
	fake_file(fake, "bus/pci/devices/0000:05:00.0/vendor", "0x10de");
	fake_file(fake, "bus/pci/devices/0000:05:00.0/device", "0x1db6");
	fake_file(fake, "bus/pci/devices/0000:06:00.0/class", "0x020000");
	fake_link(fake, "class/infiniband/mlx5_0/device", "bus/pci/devices/0000:06:00.0");
	fake_file(fake, "class/infiniband/rxe0/hca_type", "soft");
	assert_int_equal(donard_client_list(fake->ctx, &list), 3);
	info = donard_client_get(list, 0);
	assert_string_equal(info->name, "nvme0");
	assert_string_equal(info->bdf, "0000:01:00.0");
	assert_int_equal(info->namespace_count, 1);
	assert_string_equal(info->namespaces[0], "nvme0n1");
	assert_int_equal(donard_client_get(list, 1)->type, DONARD_CLIENT_RDMA);
	assert_string_equal(donard_client_get(list, 1)->bdf, "0000:06:00.0");
	assert_int_equal(donard_client_get(list, 2)->type, DONARD_CLIENT_GPU);
	donard_client_list_free(list);
}

static int add_bar(struct fake *fake)
{
	struct donard_region_add what = { .size = sizeof(what), .kind = DONARD_KIND_PCI_BAR,
					  .bdf = "0000:03:00.0", .bar = 2 };

	return donard_region_add(fake->ctx, &what);
}

static void add_refuses_other_driver(void **state)
{
	struct fake *fake = *state;

	fake_folder(fake, "class/p2pmem");
	assert_int_equal(add_bar(fake), -ENODEV);
	fake_folder(fake, "bus/pci/drivers/vfio-pci");
	fake_link(fake, "bus/pci/devices/0000:03:00.0/driver", "bus/pci/drivers/vfio-pci");
	assert_int_equal(add_bar(fake), -EBUSY);
	assert_string_equal(donard_error_code(fake->ctx), "other-driver");
	assert_non_null(strstr(donard_error(fake->ctx), "vfio-pci"));
}

/* The unbind waits for the GPU's users, and nothing stops it. */
static void add_names_users_of_a_gpu(void **state)
{
	struct fake *fake = *state;

	fake_folder(fake, "class/p2pmem");
	fake_driver(fake, "0000:03:00.0", "nvidia");
	assert_int_equal(add_bar(fake), -EBUSY);
	assert_non_null(strstr(donard_error(fake->ctx), "If that may end, first end what has /dev/nvidia* open"));
	assert_non_null(strstr(donard_error(fake->ctx), "then run: echo 0000:03:00.0 | sudo tee "));
}

static const char *removal_reason;	/* what the module says of a removal that has ended */
static int removal_errno;

static int play_ioctl(int fd, unsigned long request, void *argument)
{
	(void)fd;
	if (request != P2PMEM_CTL_REGION_REMOVE)
		return ASK_THE_KERNEL;
	strcpy(((struct p2pmem_region_remove *)argument)->reason, removal_reason);
	errno = removal_errno;
	return removal_errno ? -1 : 0;
}

/* The device went away during the removal: the region is not gone before its holders let go. */
static void remove_leaves_quarantine(void **state)
{
	struct fake *fake = *state;

	fake_region(fake, "p2pmem0", "nvme-pmr", "0000:03:00.0");
	fake_file(fake, "p2pmem_control", "");
	removal_reason = "";
	assert_int_equal(donard_region_remove(fake->ctx, "p2pmem0", 0, NULL, NULL), 0);
	removal_reason = "the device is gone; p2pmem0 stays in quarantine until its last holder lets go";
	assert_int_equal(donard_region_remove(fake->ctx, "p2pmem0", 0, NULL, NULL), -EBUSY);
	assert_string_equal(donard_error_code(fake->ctx), "busy");
	assert_non_null(strstr(donard_error(fake->ctx), "p2pmem0: the device is gone; "));
	assert_non_null(strstr(donard_error(fake->ctx), "; held by fio (pid 12)"));
}

/* A region that ends when its removal does not wait any more leaves its function bound; others have drivers of their own. */
static void remove_says_what_stays_bound(void **state)
{
	static const char bound[] = " 0000:03:00.0 stays bound to p2pmem: once it has no region, run: echo 0000:03:00.0 | sudo tee ";
	struct fake *fake = *state;

	fake_region(fake, "p2pmem0", "pci-bar", "0000:03:00.0");
	fake_file(fake, "p2pmem_control", "");
	removal_reason = "p2pmem0 still drains; the removal goes on by itself";
	removal_errno = EINTR;
	assert_int_equal(donard_region_remove(fake->ctx, "p2pmem0", 0, NULL, NULL), -EINTR);
	assert_string_equal(donard_error(fake->ctx), "p2pmem0: no longer waiting; the removal goes on by itself.");
	fake_driver(fake, "0000:03:00.0", "p2pmem");
	assert_int_equal(donard_region_remove(fake->ctx, "p2pmem0", 0, NULL, NULL), -EINTR);
	assert_string_equal(donard_error_code(fake->ctx), "canceled");
	assert_non_null(strstr(donard_error(fake->ctx), bound));
	assert_non_null(strstr(donard_error(fake->ctx), "/bus/pci/devices/0000:03:00.0/driver_override"));
	removal_reason = "the device is gone; p2pmem0 stays in quarantine until its last holder lets go";
	removal_errno = 0;
	assert_int_equal(donard_region_remove(fake->ctx, "p2pmem0", 0, NULL, NULL), -EBUSY);
	assert_non_null(strstr(donard_error(fake->ctx), bound));
}

static void ignore(int number)
{
	(void)number;
}

/* Signals come until the test ends: whenever the wait begins, one ends it. */
static void signals(suseconds_t every_us)
{
	struct sigaction action = { .sa_handler = ignore };
	struct itimerval timer = { .it_interval.tv_usec = every_us, .it_value.tv_usec = every_us };

	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

/* A program that adds a region to a bound function needs it to stay bound until the region exists. */
static void remove_unbinds_under_a_lock(void **state)
{
	struct fake *fake = *state;
	char path[PATH_MAX], value[64];
	int adder;

	fake_region(fake, "p2pmem0", "pci-bar", "0000:03:00.0");
	fake_file(fake, "p2pmem_control", "");
	fake_file(fake, "bus/pci/devices/0000:03:00.0/rescan", "");
	fake_file(fake, "bus/pci/drivers/p2pmem/unbind", "");
	fake_driver(fake, "0000:03:00.0", "p2pmem");
	snprintf(path, sizeof(path), "%s/bus/pci/devices/0000:03:00.0/rescan", fake->root);
	adder = open(path, O_WRONLY);
	assert_int_equal(flock(adder, LOCK_EX), 0);
	removal_reason = "";
	removal_errno = 0;
	signals(20000);
	assert_int_equal(donard_region_remove(fake->ctx, "p2pmem0", 0, NULL, NULL), -EINTR);
	assert_int_equal(add_bar(fake), -EINTR);
	signals(0);
	assert_non_null(strstr(donard_error(fake->ctx), "another program, which adds or removes a region of it"));
	dnd_sysfs_read(fake->ctx, value, sizeof(value), "bus/pci/drivers/p2pmem/unbind");
	assert_string_equal(value, "");
	close(adder);
}

/* A child has the open file of the lock, and may live long. */
static void forks_do_not_keep_the_lock(void **state)
{
	struct fake *fake = *state;
	int lock, again;
	pid_t child;

	fake_file(fake, "bus/pci/devices/0000:03:00.0/rescan", "");
	assert_int_equal(dnd_pci_lock(fake->ctx, "0000:03:00.0", &lock), 0);
	assert_true(lock >= 0);
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	dnd_pci_unlock(lock);
	signals(20000);
	assert_int_equal(dnd_pci_lock(fake->ctx, "0000:03:00.0", &again), 0);
	signals(0);
	dnd_pci_unlock(again);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

/* No control node: the bind is undone and the override is cleared. */
static void add_undoes_bind(void **state)
{
	struct fake *fake = *state;
	char value[64];

	fake_folder(fake, "class/p2pmem");
	fake_file(fake, "bus/pci/devices/0000:03:00.0/driver_override", "(null)");
	fake_file(fake, "bus/pci/drivers/p2pmem/bind", "");
	fake_file(fake, "bus/pci/drivers/p2pmem/unbind", "");
	assert_true(add_bar(fake) < 0);
	assert_non_null(strstr(donard_error(fake->ctx), "p2pmem_control"));
	dnd_sysfs_read(fake->ctx, value, sizeof(value), "bus/pci/drivers/p2pmem/unbind");
	assert_string_equal(value, "0000:03:00.0");
	dnd_sysfs_read(fake->ctx, value, sizeof(value), "bus/pci/devices/0000:03:00.0/driver_override");
	assert_memory_equal(value, "\\x0a", 4);	/* an empty line, which clears it */
}

static void add_keeps_override(void **state)
{
	struct fake *fake = *state;
	char value[64];

	fake_folder(fake, "class/p2pmem");
	for (int binds = 0; binds < 2; binds++) {
		fake_file(fake, "bus/pci/devices/0000:03:00.0/driver_override", "vfio-pci");
		if (binds)
			fake_file(fake, "bus/pci/drivers/p2pmem/bind", "");
		assert_true(add_bar(fake) < 0);
		dnd_sysfs_read(fake->ctx, value, sizeof(value), "bus/pci/devices/0000:03:00.0/driver_override");
		assert_string_equal(value, "vfio-pci");
	}
}

static void add_refuses_numbers(void **state)
{
	struct fake *fake = *state;
	struct donard_region_add what = { .size = sizeof(what), .bdf = "03:00.0" };

	assert_int_equal(donard_region_add(fake->ctx, &what), -EINVAL);
	what.kind = 9;
	assert_int_equal(donard_region_add(fake->ctx, &what), -EINVAL);
	what.kind = DONARD_KIND_NVME_CMB;
	what.bar = 2;
	assert_int_equal(donard_region_add(fake->ctx, &what), -EINVAL);
	what.bar = 0;
	what.memtype = 9;
	assert_int_equal(donard_region_add(fake->ctx, &what), -EINVAL);
	assert_string_equal(donard_error_code(fake->ctx), "bad-option");
}

static void verdicts(void **state)
{
	struct donard_route route = { .route = DONARD_ROUTE_SWITCH };

	(void)state;
	assert_int_equal(donard_route_verdict(&route), DONARD_VERDICT_YES);
	route.route = DONARD_ROUTE_BRIDGE;
	assert_int_equal(donard_route_verdict(&route), DONARD_VERDICT_YES);
	route.unlisted_bridge = true;
	assert_int_equal(donard_route_verdict(&route), DONARD_VERDICT_UNLISTED);
	route.route = DONARD_ROUTE_NONE;
	assert_int_equal(donard_route_verdict(&route), DONARD_VERDICT_UNLISTED);
	route.unlisted_bridge = false;
	assert_int_equal(donard_route_verdict(&route), DONARD_VERDICT_NO);
	route.route = DONARD_ROUTE_BOUNCED;
	assert_int_equal(donard_route_verdict(&route), DONARD_VERDICT_NO);
	route.route = DONARD_ROUTE_IOMMU;
	assert_int_equal(donard_route_verdict(&route), DONARD_VERDICT_YES);
}

static void errors_have_words(void **state)
{
	(void)state;
	for (int error = DND_OK + 1; error < DND_E_COUNT; error++) {
		assert_non_null(dnd_error_word((enum dnd_error)error));
		assert_true(dnd_error_errno((enum dnd_error)error) > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(regions, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(only_parts_of_regions, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(a_region_that_is_being_added, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(a_region_that_goes, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(no_module, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(unreadable_folders, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(clients, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(add_refuses_other_driver, fake_setup,
						fake_teardown),
		cmocka_unit_test_setup_teardown(add_names_users_of_a_gpu, fake_setup,
						fake_teardown),
		cmocka_unit_test_setup_teardown(add_undoes_bind, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(remove_leaves_quarantine, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(remove_says_what_stays_bound, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(remove_unbinds_under_a_lock, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(forks_do_not_keep_the_lock, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(add_keeps_override, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(add_refuses_numbers, fake_setup, fake_teardown),
		cmocka_unit_test(verdicts), cmocka_unit_test(errors_have_words),
	};

	return cmocka_run_group_tests_name("lists", tests, NULL, NULL);
}
