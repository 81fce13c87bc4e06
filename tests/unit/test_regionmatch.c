// SPDX-License-Identifier: Apache-2.0
/* Which memory a section means, over an invented machine: two drives, and a card with two functions. */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include "unit.h"
#include "says.h"
#include "cli/regionmatch.h"
#include "cli/regionwrite.h"
#include "fake_sysfs.h"

#define SERIAL	"00-11-22-33-44-55-66-77"

static void invent(struct fake *fake)
{
	fake_cmb_drive(fake, "0000:04:00.0", "pci0000:00/0000:00:03.0", "S1");
	fake_cmb_drive(fake, "0000:05:00.0", "pci0000:00/0000:00:04.0", "S2");
	fake_pci(fake, "0000:06:00.0", "pci0000:00/0000:00:05.0", "0x120000", FAKE_64M);
	fake_pci_serial(fake, "0000:06:00.0");
	fake_pci(fake, "0000:06:00.1", "pci0000:00/0000:00:05.0", "0x120000", FAKE_64M);
	fake_pci_serial(fake, "0000:06:00.1");
	fake_file(fake, "bus/pci/slots/7/address", "0000:05:00");
}

static struct region_section section(enum donard_region_kind kind)
{
	struct region_section made = { .kind = kind, .function = -1 };

	return made;
}

/* The BDF that the section means; "" for none, "several" for more than one. */
static const char *means(const struct machine *machine, const struct region_section *what)
{
	const struct donard_candidate_info *found;
	unsigned int count = machine_find(machine, what, &found);

	return count > 1 ? "several" : count ? found->bdf : "";
}

static void identities(void **state)
{
	struct fake *fake = *state;
	struct region_section cmb = section(DONARD_KIND_NVME_CMB);
	struct region_section bar = section(DONARD_KIND_PCI_BAR);
	struct machine machine;

	invent(fake);
	assert_int_equal(machine_look(fake->ctx, &machine, false), 0);
	strcpy(cmb.serial, "S2");
	assert_string_equal(means(&machine, &cmb), "0000:05:00.0");
	strcpy(cmb.serial, "S");	/* the beginning of a number is another number */
	assert_string_equal(means(&machine, &cmb), "");
	cmb.serial[0] = '\0';
	strcpy(cmb.path, "pci-0000:00:03.0/00.0");
	assert_string_equal(means(&machine, &cmb), "0000:04:00.0");
	cmb.path[0] = '\0';
	strcpy(cmb.slot, "7");
	assert_string_equal(means(&machine, &cmb), "0000:05:00.0");
	cmb.function = 1;
	assert_string_equal(means(&machine, &cmb), "");
	strcpy(bar.serial, SERIAL);
	assert_string_equal(means(&machine, &bar), "several");
	bar.function = 1;
	assert_string_equal(means(&machine, &bar), "0000:06:00.1");
	bar.bar = 2;
	assert_string_equal(means(&machine, &bar), "");
	machine_forget(&machine);
}

/* The number goes with the drive; nothing else is the same. */
static void another_slot(void **state)
{
	struct fake *fake = *state;
	struct region_section by_serial = section(DONARD_KIND_NVME_CMB), by_path = by_serial;
	struct machine machine;

	strcpy(by_serial.serial, "S1");
	strcpy(by_path.path, "pci-0000:00:03.0/00.0");
	fake_cmb_drive(fake, "0000:0b:00.0", "pci0000:00/0000:00:09.0/0000:0a:02.0", "S1");
	assert_int_equal(machine_look(fake->ctx, &machine, false), 0);
	assert_string_equal(means(&machine, &by_serial), "0000:0b:00.0");
	assert_string_equal(means(&machine, &by_path), "");
	machine_forget(&machine);
}

static void regions(void **state)
{
	struct fake *fake = *state;
	struct region_section bar = section(DONARD_KIND_PCI_BAR);
	const struct donard_candidate_info *candidate;
	const struct donard_region_info *region;
	struct machine machine;

	invent(fake);
	fake_region(fake, "p2pmem0", "pci-bar", "0000:06:00.1");
	fake_file(fake, "class/p2pmem/p2pmem0/bar", "0");
	fake_file(fake, "class/p2pmem/p2pmem0/offset", "2097152");
	fake_file(fake, "class/p2pmem/p2pmem0/size", "4194304");
	assert_int_equal(machine_look(fake->ctx, &machine, true), 0);
	region = donard_region_get(machine.regions, 0);
	candidate = machine_candidate_of(&machine, region);
	assert_string_equal(candidate->bdf, "0000:06:00.1");
	assert_false(machine_has_twin(&machine, candidate));	/* the other function has the number, and another name */
	assert_int_equal(region_offset(candidate, region), 2 << 20);
	assert_false(section_is_region(&bar, candidate, region));
	bar.offset_bytes = 2 << 20;
	assert_true(section_is_region(&bar, candidate, region));
	bar.length_bytes = 2 << 20;
	assert_false(section_is_region(&bar, candidate, region));
	machine_forget(&machine);
}

/* The only region of the machine: 64 MiB of a BAR. */
static const struct donard_region_info *region_of_bar(struct fake *fake, struct machine *machine)
{
	invent(fake);
	fake_region(fake, "p2pmem0", "pci-bar", "0000:06:00.1");
	fake_file(fake, "class/p2pmem/p2pmem0/bar", "0");
	fake_file(fake, "class/p2pmem/p2pmem0/size", "67108864");
	assert_int_equal(machine_look(fake->ctx, machine, true), 0);
	return donard_region_get(machine->regions, 0);
}

/* A saved section means this region and no other. */
static void described(void **state)
{
	struct fake *fake = *state;
	const struct donard_candidate_info *candidate;
	const struct donard_region_info *region;
	struct region_section made;
	struct machine machine;
	char why[REGIONWRITE_WHY_BYTES];

	region = region_of_bar(fake, &machine);
	candidate = machine_candidate_of(&machine, region);
	assert_true(regionwrite_describe(&machine, candidate, region, &made, why));
	assert_string_equal(made.serial, SERIAL);	/* which the other function has, too */
	assert_int_equal(made.function, 1);
	assert_int_equal(made.length_bytes, 0);		/* all of the BAR */
	assert_int_equal(made.page_type, DONARD_PAGES_GENERIC);
	assert_string_equal(means(&machine, &made), "0000:06:00.1");
	assert_true(section_is_region(&made, candidate, region));
	machine_forget(&machine);
}

/* The errno that a lookup of a node's owner leaves when it finds none; if negative, it finds one. */
static int no_user = -1, no_group = -1;
static char group_name[REGIONCONF_WHO_BYTES + 1] = "others";

struct passwd *__wrap_getpwuid(uid_t uid);
struct group *__wrap_getgrgid(gid_t gid);

struct passwd *__wrap_getpwuid(uid_t uid)
{
	static char name[] = "somebody";
	static struct passwd found = { .pw_name = name };

	(void)uid;
	errno = no_user;
	return no_user < 0 ? &found : NULL;
}

struct group *__wrap_getgrgid(gid_t gid)
{
	static struct group found;

	(void)gid;
	found.gr_name = group_name;
	errno = no_group;
	return no_group < 0 ? &found : NULL;
}

/* Users of containers have no name outside.  A section without one would give the region to root. */
static void nameless(void **state)
{
	struct fake *fake = *state;
	const struct donard_candidate_info *candidate;
	struct donard_region_info region;
	struct region_section made;
	struct machine machine;
	char why[REGIONWRITE_WHY_BYTES];

	region = *region_of_bar(fake, &machine);
	region.name = "null";	/* a node that each machine has */
	candidate = machine_candidate_of(&machine, &region);
	assert_true(regionwrite_describe(&machine, candidate, &region, &made, why));
	assert_string_equal(made.user, "somebody");
	assert_string_equal(made.group, "others");
	memset(group_name, 'g', REGIONCONF_WHO_BYTES - 1);	/* of a directory service */
	assert_true(regionwrite_describe(&machine, candidate, &region, &made, why));
	assert_string_equal(made.group, group_name);
	group_name[REGIONCONF_WHO_BYTES - 1] = 'g';
	assert_false(regionwrite_describe(&machine, candidate, &region, &made, why));
	assert_says(why, "...', and a section takes names of at most 160 characters. Give the node to another");
	no_group = ESRCH;
	assert_false(regionwrite_describe(&machine, candidate, &region, &made, why));
	assert_says(why, "its node belongs to group ");
	assert_says(why, ", which has no name, and the configuration takes names alone. Give that group a name");
	no_user = ECONNREFUSED;
	assert_false(regionwrite_describe(&machine, candidate, &region, &made, why));
	assert_says(why, "its node belongs to user ");
	assert_says(why, ", whose name the user database does not say (Connection refused). Try again");
	no_user = no_group = -1;
	machine_forget(&machine);
}

struct passwd *__real_getpwnam(const char *name);
struct group *__real_getgrnam(const char *name);
struct passwd *__wrap_getpwnam(const char *name);
struct group *__wrap_getgrnam(const char *name);

struct passwd *__wrap_getpwnam(const char *name)
{
	static struct passwd person = { .pw_uid = 1000 }, service = { .pw_uid = 999 };

	return !strcmp(name, "person") ? &person : !strcmp(name, "service") ? &service : __real_getpwnam(name);
}

struct group *__wrap_getgrnam(const char *name)
{
	static struct group people = { .gr_gid = 1000 };

	return !strcmp(name, "people") ? &people : __real_getgrnam(name);
}

/* Ordinary users and groups whose node is root's. */
static void passed_over(void **state)
{
	struct region_section made = section(DONARD_KIND_NVME_CMB);
	struct stat node = { .st_uid = 0, .st_gid = 900 };
	char who[SECTION_WHO_BYTES];

	(void)state;
	strcpy(made.user, "person");
	strcpy(made.group, "people");
	assert_true(section_is_passed_over(&made, &node, who));
	assert_string_equal(who, "user person");
	node.st_gid = 0;
	assert_true(section_is_passed_over(&made, &node, who));
	assert_string_equal(who, "user person and group people");
	node.st_uid = 1000;
	assert_true(section_is_passed_over(&made, &node, who));
	assert_string_equal(who, "group people");
	node.st_uid = 0;
	strcpy(made.user, "service");
	strcpy(made.group, "root");
	assert_false(section_is_passed_over(&made, &node, who));
}

/* A section that a person wrote describes the region that it made, also if it leaves most to the defaults. */
static void left_open(void **state)
{
	struct fake *fake = *state;
	struct region_section before = section(DONARD_KIND_PCI_BAR), now;
	const struct donard_region_info *region;
	struct machine machine;
	char why[REGIONWRITE_WHY_BYTES];

	region = region_of_bar(fake, &machine);
	assert_true(regionwrite_describe(&machine, machine_candidate_of(&machine, region), region, &now, why));
	assert_int_not_equal(now.page_type, 0);
	assert_int_not_equal(now.memtype, 0);
	before.length_bytes = 64 << 20;		/* all of it, by its number */
	before.mode = now.mode;
	strcpy(before.user, now.user);
	strcpy(before.group, now.group);
	regionwrite_keep(&before, region, &now);
	assert_true(regionwrite_equal(&before, &now));
	assert_true(regionwrite_describe(&machine, machine_candidate_of(&machine, region), region, &now, why));
	before.page_type = DONARD_PAGES_P2PDMA;
	regionwrite_keep(&before, region, &now);
	assert_false(regionwrite_equal(&before, &now));
	machine_forget(&machine);
}

/*
 * A slot that a person wrote into the file stays when the file is rewritten.  A link, and the file behind it, are left alone.
 */
static void written_anew(void **state)
{
	struct fake *fake = *state;
	char dir[] = "/tmp/donard-match-XXXXXX", path[PATH_MAX], link_path[PATH_MAX + 8], why[REGIONWRITE_WHY_BYTES];
	struct region_section before = { .function = -1, .slot = "5" }, now;
	const struct donard_region_info *region;
	struct region_config config;
	struct machine machine;

	region = region_of_bar(fake, &machine);
	assert_non_null(mkdtemp(dir));
	assert_true(regionwrite_describe(&machine, machine_candidate_of(&machine, region), region, &now, why));
	regionwrite_keep(&before, region, &now);
	strcpy(now.name, "bay");
	strcpy(now.user, "root");
	strcpy(now.group, "root");
	assert_int_equal(regionwrite_file(&now, dir, path, sizeof(path), why), 0);
	assert_int_equal(regionconf_load(&config, dir), 0);
	assert_string_equal(config.sections[0].slot, "5");
	assert_string_equal(config.sections[0].serial, "");
	assert_int_equal(config.sections[0].function, -1);
	snprintf(link_path, sizeof(link_path), "%s.link", path);
	assert_int_equal(symlink(path, link_path), 0);
	assert_true(regionwrite_owns(path));
	assert_false(regionwrite_owns(link_path));
	assert_int_equal(unlink(link_path), 0);
	assert_int_equal(unlink(path), 0);
	*strrchr(path, '/') = '\0';
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(dir), 0);
	regionconf_free(&config);
	machine_forget(&machine);
}

/* If the memory ends within a unit, the region that takes all of it is a little shorter. */
static void all_but_part_of_a_unit(void **state)
{
	struct fake *fake = *state;
	const struct donard_region_info *region;
	struct donard_candidate_info candidate;
	struct region_section now;
	struct machine machine;
	char why[REGIONWRITE_WHY_BYTES];

	invent(fake);
	fake_region(fake, "p2pmem0", "pci-bar", "0000:06:00.1");
	fake_file(fake, "class/p2pmem/p2pmem0/bar", "0");
	fake_file(fake, "class/p2pmem/p2pmem0/size", "67108864");
	assert_int_equal(machine_look(fake->ctx, &machine, true), 0);
	region = donard_region_get(machine.regions, 0);
	candidate = *machine_candidate_of(&machine, region);
	candidate.size_bytes = (64 << 20) + 4096;
	assert_true(regionwrite_describe(&machine, &candidate, region, &now, why));
	assert_int_equal(now.length_bytes, 0);
	candidate.size_bytes = 66 << 20;
	assert_true(regionwrite_describe(&machine, &candidate, region, &now, why));
	assert_int_equal(now.length_bytes, 64 << 20);
	machine_forget(&machine);
}

/* Two drives of one number, as clones in a virtual machine have: the path tells them apart, and the number gives to nobody. */
static void twins(void **state)
{
	struct fake *fake = *state;
	struct region_section sections[] = { section(DONARD_KIND_NVME_CMB), section(DONARD_KIND_NVME_CMB) };
	struct region_config config = { .count = 2, .sections = sections };
	const struct donard_region_info *region;
	struct region_section made;
	struct machine machine;
	char why[REGIONWRITE_WHY_BYTES];

	fake_cmb_drive(fake, "0000:04:00.0", "pci0000:00/0000:00:03.0", "S1");
	fake_cmb_drive(fake, "0000:05:00.0", "pci0000:00/0000:00:04.0", "S1");
	fake_region(fake, "p2pmem0", "nvme-cmb", "0000:05:00.0");
	fake_file(fake, "class/p2pmem/p2pmem0/page_type", "p2pdma");
	assert_int_equal(machine_look(fake->ctx, &machine, true), 0);
	region = donard_region_get(machine.regions, 0);
	assert_true(regionwrite_describe(&machine, machine_candidate_of(&machine, region), region, &made, why));
	assert_string_equal(made.serial, "");
	assert_string_equal(made.path, "pci-0000:00:04.0/00.0");
	assert_int_equal(made.function, -1);
	assert_true(machine_has_twin(&machine, machine_candidate_of(&machine, region)));
	strcpy(sections[0].serial, "S1");
	assert_true(machine_means(&machine, &sections[0], "0000:04:00.0"));
	assert_true(machine_means(&machine, &sections[0], "0000:05:00.0"));
	strcpy(sections[1].path, "pci-0000:00:03.0/00.0");	/* the other drive */
	assert_false(machine_means(&machine, &sections[1], "0000:05:00.0"));
	assert_int_equal(machine_match(fake->ctx, &machine, &config), 0);
	assert_null(machine_section_of(&machine, region));
	assert_ptr_equal(machine_doubt(&machine, &config, region), &sections[0]);
	sections[0].offset_bytes = 32 << 20;			/* another part */
	assert_null(machine_doubt(&machine, &config, region));
	machine_forget(&machine);
}

/* A region of the nvme driver's pool, as the module shows it. */
static void pooled(struct fake *fake, const char *name, const char *size)
{
	char path[64];

	fake_region(fake, name, "nvme-cmb", "0000:04:00.0");
	snprintf(path, sizeof(path), "class/p2pmem/%s/page_type", name);
	fake_file(fake, path, "p2pdma");
	snprintf(path, sizeof(path), "class/p2pmem/%s/size", name);
	fake_file(fake, path, size);
}

static struct region_section equal_section(const char *name, uint64_t length_bytes)
{
	struct region_section made = section(DONARD_KIND_NVME_CMB);

	strcpy(made.serial, "S1");
	strcpy(made.name, name);
	made.length_bytes = length_bytes;
	return made;
}

static const char *name_of_section(const struct machine *machine, size_t region)
{
	const struct region_section *found = machine_section_of(machine, donard_region_get(machine->regions, region));

	return found ? found->name : "";
}

/* Two users have equal sections: each gets a region.  A third region has none. */
static void each_has_one(void **state)
{
	struct fake *fake = *state;
	struct region_section sections[] = { equal_section("all", 0), equal_section("a", 16 << 20), equal_section("b", 16 << 20) };
	struct region_config config = { .count = 3, .sections = sections };
	struct machine machine;

	invent(fake);
	pooled(fake, "p2pmem0", "16777216");
	pooled(fake, "p2pmem1", "16777216");
	pooled(fake, "p2pmem2", "4194304");
	assert_int_equal(machine_look(fake->ctx, &machine, true), 0);
	assert_int_equal(machine_match(fake->ctx, &machine, &config), 0);
	assert_string_equal(name_of_section(&machine, 0), "a");
	assert_string_equal(name_of_section(&machine, 1), "b");
	assert_string_equal(name_of_section(&machine, 2), "all");
	assert_string_equal(machine_region_of(&machine, &sections[2])->name, "p2pmem1");
	machine_forget(&machine);
	config.count = 2;
	assert_int_equal(machine_look(fake->ctx, &machine, true), 0);
	assert_int_equal(machine_match(fake->ctx, &machine, &config), 0);
	assert_string_equal(name_of_section(&machine, 1), "all");
	assert_string_equal(name_of_section(&machine, 2), "");
	machine_forget(&machine);
}

static bool has_all(struct fake *fake)
{
	const struct donard_region_info *region;
	struct machine machine;
	bool all;

	assert_int_equal(machine_look(fake->ctx, &machine, true), 0);
	region = donard_region_get(machine.regions, 0);
	all = machine_has_all_of_pool(&machine, region, machine_candidate_of(&machine, region));
	machine_forget(&machine);
	return all;
}

/* Only a region that has all of the pool can be recognized by the device.  Regions of an earlier pool do not count. */
static void parts_of_a_pool(void **state)
{
	struct fake *fake = *state;

	invent(fake);
	pooled(fake, "p2pmem0", "16777216");
	assert_false(has_all(fake));
	fake_file(fake, "class/p2pmem/p2pmem0/size", "33554432");
	assert_true(has_all(fake));
	pooled(fake, "p2pmem1", "16777216");
	assert_false(has_all(fake));
	fake_file(fake, "class/p2pmem/p2pmem1/state", "quarantined");
	assert_true(has_all(fake));
}

/* The card is back while memory that it had before is still held: the held region is not the configured one. */
static void leaving(void **state)
{
	struct fake *fake = *state;
	struct region_section sections[] = { section(DONARD_KIND_PCI_BAR), section(DONARD_KIND_PCI_BAR) };
	struct region_config config = { .count = 1, .sections = sections };
	struct machine machine;

	invent(fake);
	strcpy(sections[0].path, "pci-0000:00:05.0/00.0");
	strcpy(sections[0].name, "card");
	strcpy(sections[1].path, "pci-0000:00:05.0/00.0");
	strcpy(sections[1].name, "other");
	fake_region(fake, "p2pmem0", "pci-bar", "0000:06:00.0");
	fake_file(fake, "class/p2pmem/p2pmem0/bar", "0");
	fake_file(fake, "class/p2pmem/p2pmem0/state", "quarantined");
	assert_int_equal(machine_look(fake->ctx, &machine, true), 0);
	assert_int_equal(machine_match(fake->ctx, &machine, &config), 0);
	assert_string_equal(name_of_section(&machine, 0), "card");	/* as long as it is alone */
	machine_forget(&machine);
	fake_region(fake, "p2pmem1", "pci-bar", "0000:06:00.0");
	fake_file(fake, "class/p2pmem/p2pmem1/bar", "0");
	assert_int_equal(machine_look(fake->ctx, &machine, true), 0);
	assert_int_equal(machine_match(fake->ctx, &machine, &config), 0);
	assert_string_equal(name_of_section(&machine, 0), "");
	assert_string_equal(name_of_section(&machine, 1), "card");
	machine_forget(&machine);
	config.count = 2;
	assert_int_equal(machine_look(fake->ctx, &machine, true), 0);
	assert_int_equal(machine_match(fake->ctx, &machine, &config), 0);
	assert_string_equal(name_of_section(&machine, 0), "other");
	assert_string_equal(name_of_section(&machine, 1), "card");
	machine_forget(&machine);
}

/* A pool's regions have any size, but a configuration only multiples of 2 MiB: a saved section can be read again. */
static void odd_size(void **state)
{
	struct fake *fake = *state;
	char dir[] = "/tmp/donard-match-XXXXXX", path[PATH_MAX], why[REGIONWRITE_WHY_BYTES];
	const struct donard_region_info *region;
	struct region_config config;
	struct region_section made;
	struct machine machine;

	invent(fake);
	pooled(fake, "p2pmem0", "50200576");
	assert_non_null(mkdtemp(dir));
	assert_int_equal(machine_look(fake->ctx, &machine, true), 0);
	region = donard_region_get(machine.regions, 0);
	assert_true(regionwrite_describe(&machine, machine_candidate_of(&machine, region), region, &made, why));
	strcpy(made.name, "odd");
	strcpy(made.group, "root");
	assert_int_equal(regionwrite_file(&made, dir, path, sizeof(path), why), 0);
	assert_string_equal(why, "");
	assert_int_equal(regionconf_load(&config, dir), 0);
	assert_int_equal(config.sections[0].length_bytes, 46 << 20);
	assert_int_equal(machine_match(fake->ctx, &machine, &config), 0);
	assert_string_equal(name_of_section(&machine, 0), "odd");
	strcpy(made.user, "nobody has such a name");
	assert_int_equal(regionwrite_file(&made, dir, path, sizeof(path), why), EINVAL);
	assert_non_null(strstr(why, "there is no user 'nobody has such a name'. Create it, or name another. Write its section"));
	assert_int_equal(unlink(path), 0);	/* the one before, which is whole */
	snprintf(path, sizeof(path), "%s/regions.d", dir);
	assert_int_equal(rmdir(path), 0);	/* no part is left */
	assert_int_equal(rmdir(dir), 0);
	regionconf_free(&config);
	machine_forget(&machine);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(identities, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(another_slot, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(regions, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(described, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(nameless, fake_setup, fake_teardown),
		cmocka_unit_test(passed_over),
		cmocka_unit_test_setup_teardown(left_open, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(written_anew, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(all_but_part_of_a_unit, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(twins, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(each_has_one, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(parts_of_a_pool, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(leaving, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(odd_size, fake_setup, fake_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
