// SPDX-License-Identifier: Apache-2.0
/* The configuration of permanent regions: what it accepts, what it refuses, and what it means. */
#include <errno.h>
#include <ftw.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"
#include "says.h"
#include "cli/regionmatch.h"
#include "cli/regionwrite.h"

struct place {
	char dir[64];
	struct region_config config;
};

static int remove_entry(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static int setup(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	strcpy(place->dir, "/tmp/donard-conf-XXXXXX");
	*state = place;
	return mkdtemp(place->dir) ? 0 : -1;
}

static int teardown(void **state)
{
	struct place *place = *state;

	regionconf_free(&place->config);
	nftw(place->dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	free(place);
	return 0;
}

static void put(struct place *place, const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/regions.d", place->dir);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/%s", place->dir, name);
	file = fopen(path, "w");
	fputs(text, file);
	fclose(file);
}

static int load(struct place *place, const char *text)
{
	put(place, "regions.conf", text);
	regionconf_free(&place->config);
	return regionconf_load(&place->config, place->dir);
}

/* After a power cut, a file of ext4 may have its length, but zeros as its content. */
static void zeros(void **state)
{
	struct place *place = *state;
	char path[256];

	put(place, "regions.conf", "[gpu]\nkind = nvme-cmb\n");
	snprintf(path, sizeof(path), "%s/regions.conf", place->dir);
	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(truncate(path, 100), 0);
	assert_int_equal(regionconf_load(&place->config, place->dir), -1);
	assert_says(place->config.error, "regions.conf:1: it has bytes of zero");
}

static void all_keys(void **state)
{
	struct place *place = *state;
	const struct region_section *s;

	assert_int_equal(load(place, "# of ours\n\n[gpu]\npath = pci-0000:00:03.0/00.0 ; below the switch\n"
			      "function = 1\nkind = pci-bar\nbar=2\noffset = 64M\nlength = 1GiB\n"
			      "page-type = p2pdma\nmemtype = uc\nfolio = 1G\npinned-importers = yes\nuser = daemon\n"
			      "group = root\nmode = 600\n"), 0);
	assert_int_equal(place->config.count, 1);
	s = regionconf_find(&place->config, "gpu");
	assert_non_null(s);
	assert_int_equal(s->line, 3);
	assert_string_equal(s->path, "pci-0000:00:03.0/00.0");
	assert_int_equal(s->function, 1);
	assert_int_equal(s->kind, DONARD_KIND_PCI_BAR);
	assert_int_equal(s->bar, 2);
	assert_int_equal(s->offset_bytes, 64 << 20);
	assert_int_equal(s->length_bytes, 1 << 30);
	assert_int_equal(s->page_type, DONARD_PAGES_P2PDMA);
	assert_int_equal(s->memtype, DONARD_MEMTYPE_UC);
	assert_int_equal(s->folio_bytes, 1 << 30);
	assert_true(s->pinned_importers);
	assert_string_equal(s->user, "daemon");
	assert_string_equal(s->group, "root");
	assert_int_equal(s->mode, 0600);
}

static void defaults(void **state)
{
	struct place *place = *state;
	const struct region_section *s;

	assert_int_equal(load(place, "[a] # of ours\nserial=S#1\nkind=nvme-cmb\n"), 0);
	assert_int_equal(load(place, "[a]\t ; as it came\r\nserial=S#1\nkind=nvme-cmb\n"), 0);
	s = regionconf_find(&place->config, "a");
	assert_string_equal(s->serial, "S#1");
	assert_int_equal(s->function, -1);
	assert_int_equal(s->length_bytes, 0);
	assert_int_equal(s->page_type, DONARD_PAGES_DEFAULT);
	assert_string_equal(s->user, "root");
	assert_string_equal(s->group, "p2pmem");
	assert_int_equal(s->mode, 0660);
}

static void files_in_order(void **state)
{
	struct place *place = *state;

	put(place, "regions.d/20.conf", "[c]\nslot = 7\nkind = nvme-pmr\n");
	put(place, "regions.d/10.conf", "[b]\nslot = 7\nkind = nvme-pmr\n");
	put(place, "regions.d/15.conf.new", "half a file");
	put(place, "regions.d/.hidden.conf", "?");
	assert_int_equal(load(place, "[a]\nslot = 7\nkind = nvme-pmr\n"), 0);
	assert_int_equal(place->config.count, 3);
	assert_string_equal(place->config.sections[0].name, "a");
	assert_string_equal(place->config.sections[1].name, "b");
	assert_string_equal(place->config.sections[2].name, "c");
}

static void nothing(void **state)
{
	struct place *place = *state;
	char path[256];

	assert_int_equal(regionconf_load(&place->config, "/nowhere"), 0);
	assert_int_equal(place->config.count, 0);
	/* It is somewhere that is not mounted yet, and may be what keeps others out. */
	assert_int_equal(load(place, ""), 0);
	snprintf(path, sizeof(path), "%s/regions.d/own.conf", place->dir);
	assert_int_equal(symlink("/nowhere/own.conf", path), 0);
	assert_int_equal(regionconf_load(&place->config, place->dir), -1);
	assert_says(place->config.error, "regions.d/own.conf: cannot be read (No such file or directory). Mend that");
	unlink(path);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(regionconf_load(&place->config, place->dir), -1);
	assert_says(place->config.error, "regions.d/own.conf: cannot be read (Is a directory). Mend that");
	assert_int_equal(place->config.exit_code, 1);
	rmdir(path);
	/* So may all of it be. */
	snprintf(path, sizeof(path), "%s/all", place->dir);
	assert_int_equal(symlink("/nowhere", path), 0);
	assert_int_equal(regionconf_load(&place->config, path), -1);
	assert_says(place->config.error, "all/regions.conf: cannot be read (No such file or directory). Mend that");
	unlink(path);
	assert_int_equal(symlink("/", path), 0);
	assert_int_equal(regionconf_load(&place->config, path), 0);
}

struct group *__real_getgrnam(const char *name);
struct group *__wrap_getgrnam(const char *name);

/* A directory service that is not up yet. */
struct group *__wrap_getgrnam(const char *name)
{
	if (strcmp(name, "of-ldap"))
		return __real_getgrnam(name);
	errno = ECONNREFUSED;
	return NULL;
}

/* Each text is refused at that line, with these words. */
static void refusals(void **state)
{
	static const struct {
		const char *text;
		unsigned int line;
		const char *says;
	} cases[] = {
		{ "[a]\nserial = S\nkind = nvme-cmb\npagetype = generic\n", 4,
		  "'pagetype' is no key. Did you mean 'page-type'?" },
		{ "[a]\nfrobnicate = 1\n", 2, "'frobnicate' is no key. donard-regions.conf(5)" },
		{ "kind = nvme-cmb\n", 1, "before the first section. Begin with [NAME]" },
		{ "[a]\nserial = S\nkind = cmb\n", 3, "kind: 'cmb' is unknown. Choose one of pci-bar" },
		{ "[a]\nserial = S\nkind = nvme-cmb\npage-type = huge\n", 4, "Choose one of generic, p2pdma" },
		{ "[a]\nserial = S\nkind = nvme-cmb\nmemtype = wt\n", 4, "Choose one of uc, wc, wb" },
		{ "[a]\nserial = S\nkind = pci-bar\nfolio = 4M\n", 4, "folio: '4M' is unknown. Choose one of 4K, 2M, 1G" },
		{ "[a]\nserial = S\nkind = pci-bar\nbar = 6\n", 4, "bar: '6' is no number from 0 to 5" },
		{ "[a]\nserial = S\nkind = pci-bar\nbar = 2x\n", 4, "bar: '2x' is no number from 0 to 5" },
		{ "[a]\nserial = S\nfunction = 8\n", 3, "'8' is no number from 0 to 7" },
		{ "[a]\nserial = S\nkind = pci-bar\noffset = 1M\n", 4, "'1M' is not a multiple of 2 MiB" },
		{ "[a]\nserial = S\nkind = pci-bar\nlength = 0\n", 4, "'0' is not a multiple of 2 MiB" },
		{ "[a]\nserial = S\nkind = pci-bar\nlength = all\n", 4, "'all' is not a multiple of 2 MiB" },
		{ "[a]\nuser = nobody-of-that-name\n", 2, "no user 'nobody-of-that-name'. Create it" },
		{ "[a]\ngroup = none-of-that-name\n", 2, "no group 'none-of-that-name'. Create it" },
		{ "[a]\ngroup = of-ldap\n", 2, "whether there is a group 'of-ldap', the user database does not say (Connection refused)" },
		{ "[a]\nmode = 0777\n", 2, "'0777' is no mode of a device" },
		{ "[a]\nmode = rw\n", 2, "'rw' is no mode of a device" },
		{ "[a]\npinned-importers = maybe\n", 2, "Choose one of yes, no" },
		{ "[a]\npath = 0000:03:00.0\n", 2, "'0000:03:00.0' is no path" },
		{ "[a]\nserial =\n", 2, "there is no value" },
		{ "[a]\nserial = S # of ours\n", 2, "serial: 'S # of ours' has a # behind a blank. A comment there begins with ';'" },
		{ "[a]\nslot = 7\t# of ours\n", 2, "has a # behind a blank" },
		{ "[a]\npath = pci-0000:00:03.0/00.0 # of ours\n", 2,
		  "path: 'pci-0000:00:03.0/00.0 # of ours' has a # behind a blank. A comment there begins with ';'." },
		{ "[a]\nkind = nvme-cmb\n", 1, "[a] does not name its device" },
		{ "[a]\nserial = S\nslot = 1\nkind = nvme-cmb\n", 1, "[a] names its device in several ways" },
		{ "[a]\nserial = S\n", 1, "[a] has no kind" },
		{ "[a]\nserial = S\nkind = nvme-pmr\nbar = 4\n", 1, "a bar, which is only for pci-bar" },
		{ "[a]\nserial = S\nkind = nvme-pmr\nbar = 0\n", 1, "a bar, which is only for pci-bar" },
		{ "[a]\nserial = S\nkind = gpu-nvidia\nbar = 0\n", 1,
		  "[a] has bar 0, where a GPU has its registers. Remove the line" },
		{ "[a]\nserial = S\nserial = T\n", 3, "'serial' is given twice" },
		{ "[a]\nserial = S\n  T\nkind = nvme-cmb\n", 3, "begin no line with a blank" },
		{ "[a]\nserial = S\nkind = nvme-cmb\n\n[a]\nserial = T\nkind = nvme-cmb\n", 5,
		  "regions.conf:1 already. Choose another name" },
		{ "\n[a]\n[b]\nserial = S\nkind = nvme-cmb\n", 2, "the section is empty" },
		{ "[a]\nserial = S\nkind = nvme-cmb\n[b]\n", 4, "the section is empty" },
		{ "[a]\nserial = S\nkind = nvme-cmb\n  [b]\nserial = T\nkind = nvme-cmb\n", 4,
		  "a blank stands before the head, [NAME]. Begin it" },
		{ "[a b]\nserial = S\n", 1, "'a b' is no name of a region" },
		{ "[../x]\nserial = S\n", 1, "'../x' is no name of a region" },
		{ "[a]\nserial S\n", 2, "neither [NAME] nor KEY = VALUE" },
		{ "[a\nserial = S\n", 1, "the head has no ']'" },
		{ "[a] mode = 0600\nserial = S\nkind = nvme-cmb\n", 1, "something stands behind the head" },
	};
	struct place *place = *state;
	char where[128];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(load(place, cases[i].text), -1);
		snprintf(where, sizeof(where), "%s/regions.conf:%u: ", place->dir, cases[i].line);
		assert_says(place->config.error, where);
		assert_says(place->config.error, cases[i].says);
	}
}

/* Lines and names that libinih would split or truncate. */
static void long_things(void **state)
{
	struct place *place = *state;
	char text[512];

	snprintf(text, sizeof(text), "[a]\nserial = %0250d\n", 7);
	assert_int_equal(load(place, text), -1);
	assert_says(place->config.error, ":2: the line has more than 198 characters");
	snprintf(text, sizeof(text), "[a%060d]\nserial = 7\n", 7);
	assert_int_equal(load(place, text), -1);
	assert_says(place->config.error, "is no name of a region. Use up to 48 letters");
	snprintf(text, sizeof(text), "[a]\nserial = %070d\n", 7);
	assert_int_equal(load(place, text), -1);
	assert_says(place->config.error, ":2: serial: the value has more than 63 characters");
}

/* 'region apply' reads the same section that 'region save' has written. */
static void there_and_back(void **state)
{
	struct place *place = *state;
	struct region_section section = {
		.name = "gpu", .path = "pci-0000:00:03.0/00.0", .function = 1,
		.kind = DONARD_KIND_PCI_BAR, .bar = 2, .offset_bytes = 64 << 20,
		.length_bytes = 128 << 20, .page_type = DONARD_PAGES_GENERIC,
		.memtype = DONARD_MEMTYPE_WC, .folio_bytes = 2 << 20, .pinned_importers = true, .user = "daemon",
		.group = "root", .mode = 0640,
	};
	const struct region_section *read;
	char path[256], why[REGIONWRITE_WHY_BYTES];

	assert_int_equal(regionwrite_file(&section, place->dir, path, sizeof(path), why), 0);
	assert_true(regionwrite_owns(path));
	assert_int_equal(regionconf_load(&place->config, place->dir), 0);
	read = regionconf_find(&place->config, "gpu");
	assert_non_null(read);
	assert_true(regionwrite_equal(&section, read));
	assert_string_equal(read->path, section.path);
	assert_int_equal(read->function, 1);
	/* A GPU's largest BAR has no number here, and 0 would be refused. */
	section.kind = DONARD_KIND_GPU_NVIDIA;
	section.bar = 0;
	assert_int_equal(regionwrite_file(&section, place->dir, path, sizeof(path), why), 0);
	regionconf_free(&place->config);
	assert_int_equal(regionconf_load(&place->config, place->dir), 0);
	/* A second section shows that a person edited the file. */
	put(place, "regions.d/own.conf", "[own]\nserial = S\nkind = nvme-cmb\n");
	snprintf(path, sizeof(path), "%s/regions.d/own.conf", place->dir);
	assert_false(regionwrite_owns(path));
}

static unsigned int mode_of(const char *path)
{
	struct stat facts;

	assert_int_equal(stat(path, &facts), 0);
	return facts.st_mode & 07777;
}

/* Everybody may read what 'region save' writes, whatever the umask. */
static void for_everybody(void **state)
{
	struct place *place = *state;
	struct region_section section = {
		.name = "own", .serial = "S", .kind = DONARD_KIND_NVME_CMB, .user = "root", .group = "root", .mode = 0600,
	};
	char why[REGIONWRITE_WHY_BYTES], path[256], dir[256], folder[sizeof(dir) + sizeof("/regions.d")];
	mode_t before = umask(077);

	snprintf(dir, sizeof(dir), "%s/new", place->dir);
	snprintf(folder, sizeof(folder), "%s/regions.d", dir);
	assert_int_equal(regionwrite_file(&section, dir, path, sizeof(path), why), 0);
	umask(before);
	assert_int_equal(mode_of(dir), 0755);
	assert_int_equal(mode_of(folder), 0755);
	assert_int_equal(mode_of(path), 0644);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(zeros, setup, teardown),
		cmocka_unit_test_setup_teardown(all_keys, setup, teardown),
		cmocka_unit_test_setup_teardown(defaults, setup, teardown),
		cmocka_unit_test_setup_teardown(files_in_order, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(refusals, setup, teardown),
		cmocka_unit_test_setup_teardown(long_things, setup, teardown),
		cmocka_unit_test_setup_teardown(there_and_back, setup, teardown),
		cmocka_unit_test_setup_teardown(for_everybody, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
