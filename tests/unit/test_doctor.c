// SPDX-License-Identifier: Apache-2.0
/* How the doctor reads configuration space, and which answers it leaves to the kernel. Whole machines: tests/data/machines. */
#include <sys/utsname.h>

#include "says.h"
#include "unit.h"
#include "cli/doctor/checks.h"
#include "cli/doctor/route.h"
#include "fake_sysfs.h"

static void acs_of_a_port(void **state)
{
	static const struct {
		unsigned int control;
		bool redirects;
	} cases[] = { { 0x00, false }, { 0x01, false }, { 0x04, true }, { 0x08, true }, { 0x20, true },
		      { 0x11, false }, { 0x1d, true } };
	struct dnd_config config = { .count = DND_CONFIG_BYTES, .bytes = {
		[0x06] = 0x10, [0x34] = 0x50, [0x50] = 0x05, [0x51] = 0x60, [0x60] = 0x10, [0x62] = 0x62, [0x100] = 0x0d,
		[0x102] = 0x01,
	} };
	struct pci_function function = { .driver = "" };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		config.bytes[0x106] = (uint8_t)cases[i].control;
		pci_parse_config(&function, &config);
		assert_true(function.has_acs && function.config_whole);
		assert_int_equal(function.port, PCI_PORT_DOWNSTREAM);
		assert_int_equal(pci_redirects(&function), cases[i].redirects);
	}
}

/* Others than root read 64 bytes: that is no absence of ACS. */
static void part_of_a_port(void **state)
{
	const struct dnd_config config = { .count = 64, .bytes = { [0x06] = 0x10, [0x34] = 0x50 } };
	struct pci_function function;

	(void)state;
	pci_parse_config(&function, &config);
	assert_false(function.config_whole);
	assert_int_equal(function.port, -1);
	assert_false(function.has_acs);
}

/* The same holds for a function whose extended part exists, but is not shown. */
static void ordinary_part_of_a_port(void **state)
{
	struct dnd_config config = { .count = 256, .bytes = { [0x06] = 0x10, [0x34] = 0x60, [0x60] = 0x10, [0x62] = 0x62 } };
	struct pci_function function;

	(void)state;
	pci_parse_config(&function, &config);
	assert_int_equal(function.port, PCI_PORT_DOWNSTREAM);
	assert_false(function.config_whole);
	config.bytes[0x60] = 0x05;	/* a conventional one, which has no more */
	pci_parse_config(&function, &config);
	assert_true(function.config_whole);
}

/* A machine that somebody else captured: the link of a port leads to the function below it. */
static void port_below_its_function(void **state)
{
	static const char *const names[] = { "0000:00:01.0", "0000:01:00.0", "0000:02:00.0" };
	struct fake *fake = *state;
	struct source source = { .live = false };
	struct pci pci;

	fake_folder(fake, "sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0");
	fake_link(fake, "sys/bus/pci/devices/0000:00:01.0", "sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0");
	fake_link(fake, "sys/bus/pci/devices/0000:01:00.0", "sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0");
	fake_link(fake, "sys/bus/pci/devices/0000:02:00.0", "sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0");
	snprintf(source.root, sizeof(source.root), "%s", fake->root);
	assert_int_equal(pci_read(&source, &pci), 0);
	assert_int_equal(pci.count, 3);
	for (size_t i = 0; i < 3; i++)
		assert_non_null(pci_root_of(pci_find(&pci, names[i])));
	assert_string_equal(pci_root_of(pci_find(&pci, names[2]))->bdf, names[0]);
	pci_forget(&pci);
}

/* A drive and a card, each on its own root port, or both below the first.  The drive may have an IOMMU group. */
struct small {
	struct pci_function ports[2], drive, card;
};

static void make_small(struct small *small, bool one_port, const char *iommu)
{
	memset(small, 0, sizeof(*small));
	strcpy(small->ports[0].bdf, "0000:00:01.0");
	strcpy(small->ports[1].bdf, "0000:00:02.0");
	strcpy(small->drive.bdf, "0000:01:00.0");
	strcpy(small->card.bdf, "0000:02:00.0");
	strcpy(small->drive.driver, "nvme");
	strcpy(small->drive.iommu, iommu);
	small->drive.up = &small->ports[0];
	small->card.up = &small->ports[!one_port];
	small->ports[0].config_whole = small->ports[1].config_whole = true;
	small->drive.config_whole = small->card.config_whole = true;
}

/* Whether a host bridge forwards is the running kernel's to say; below one bridge nobody is asked. */
static void the_kernels_word(void **state)
{
	static const struct {
		bool one_port;
		const char *iommu;
		enum kernel_word word;
		enum donard_route_type route;
		bool unlisted, undecided;
	} cases[] = {
		{ true, "", KERNEL_NOT_ASKED, DONARD_ROUTE_SWITCH, false, false },
		{ true, "", KERNEL_UNLISTED, DONARD_ROUTE_SWITCH, false, false },
		{ false, "", KERNEL_NOT_ASKED, DONARD_ROUTE_NONE, true, true },
		{ false, "", KERNEL_UNLISTED, DONARD_ROUTE_NONE, true, false },
		{ false, "", KERNEL_FORWARDS, DONARD_ROUTE_BRIDGE, false, false },
		{ true, "DMA", KERNEL_NOT_ASKED, DONARD_ROUTE_NONE, true, true },
		{ true, "DMA", KERNEL_UNLISTED, DONARD_ROUTE_NONE, true, false },
		{ true, "DMA", KERNEL_FORWARDS, DONARD_ROUTE_IOMMU, false, false },
	};
	const struct kernel kernel = { .major = 7 }, bouncing = { .major = 7, .cmdline = "swiotlb=force" };
	struct tree_route route;
	struct small small;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		make_small(&small, cases[i].one_port, cases[i].iommu);
		route_predict(&kernel, &small.card, &small.drive, DONARD_PAGES_GENERIC, cases[i].word, &route);
		assert_int_equal(route.route.route, cases[i].route);
		assert_int_equal(route.route.unlisted_bridge, cases[i].unlisted);
		assert_int_equal(route.undecided, cases[i].undecided);
	}
	/* Nobody needs to know of the bridge: it does not go there. */
	make_small(&small, false, "");
	route_predict(&bouncing, &small.card, &small.drive, DONARD_PAGES_GENERIC, KERNEL_NOT_ASKED, &route);
	assert_int_equal(route.route.route, DONARD_ROUTE_BOUNCED);
	assert_false(route.undecided);
}

/* Behind an IOMMU that translates, ACS takes no route away, and gives p2pdma pages theirs. */
static void acs_and_translation(void **state)
{
	static const struct {
		bool redirects;
		const char *iommu;
		enum donard_page_type page_type;
		enum donard_route_type route;
	} cases[] = {
		{ true, "DMA-FQ", DONARD_PAGES_P2PDMA, DONARD_ROUTE_IOMMU },
		{ false, "DMA-FQ", DONARD_PAGES_P2PDMA, DONARD_ROUTE_NONE },
		{ true, "DMA-FQ", DONARD_PAGES_GENERIC, DONARD_ROUTE_IOMMU },
		{ false, "DMA-FQ", DONARD_PAGES_GENERIC, DONARD_ROUTE_IOMMU },
		{ true, "identity", DONARD_PAGES_P2PDMA, DONARD_ROUTE_BRIDGE },
		{ false, "identity", DONARD_PAGES_P2PDMA, DONARD_ROUTE_SWITCH },
	};
	const struct kernel kernel = { .major = 7 };
	struct tree_route route;
	struct small small;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		make_small(&small, true, cases[i].iommu);
		small.ports[0].has_acs = true;
		small.ports[0].acs_control = cases[i].redirects ? 0x1d : 0;
		route_predict(&kernel, &small.card, &small.drive, cases[i].page_type, KERNEL_FORWARDS, &route);
		assert_int_equal(route.route.route, cases[i].route);
		assert_int_equal(route.behind_redirect, cases[i].redirects);
	}
}

/* kernel/route.c: a client whose domain may change at any moment is taken to be translated. */
static void translation(void **state)
{
	static const struct {
		const char *group, *driver;
		bool translated;
	} cases[] = {
		{ "", "nvme", false }, { "DMA", "nvme", true }, { "DMA-FQ", "nvme", true }, { "identity", "nvme", false },
		{ "identity", "", true }, { "identity", "vfio-pci", true }, { "unknown", "nvme", true }, { "", "", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pci_function client = { .vendor = 0 };

		strcpy(client.iommu, cases[i].group);
		strcpy(client.driver, cases[i].driver);
		assert_int_equal(route_translated(&client), cases[i].translated);
	}
}

/* A difference that comes from facts outside of sysfs does not contradict the doctor's rules. */
static void contradictions(void **state)
{
	static const struct {
		struct donard_route module;
		const char *arguments;
		bool contradicts;
	} cases[] = {
		{ { .route = DONARD_ROUTE_SWITCH }, "", false }, { { .route = DONARD_ROUTE_BRIDGE }, "", true },
		{ { .route = DONARD_ROUTE_SWITCH, .unlisted_bridge = true }, "", true }, { { .route = DONARD_ROUTE_NONE }, "", true },
		{ { .route = DONARD_ROUTE_NONE, .beyond_mask = true }, "", false }, { { .route = DONARD_ROUTE_BOUNCED }, "", false },
		{ { .route = DONARD_ROUTE_BOUNCED }, "swiotlb=force", true },
	};
	struct tree_route tree = { .route.route = DONARD_ROUTE_SWITCH, .certain = true };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct kernel kernel = { .major = 7 };

		strcpy(kernel.cmdline, cases[i].arguments);
		assert_int_equal(route_contradicts(&kernel, &tree, &cases[i].module), cases[i].contradicts);
	}
	tree.certain = false;
	assert_false(route_contradicts(&(struct kernel){ .major = 7 }, &tree, &cases[1].module));
}

static void swiotlb_arguments(void **state)
{
	static const struct {
		const char *arguments;
		bool forced;
	} cases[] = {
		{ "ro swiotlb=force quiet", true }, { "swiotlb=65536,force", true }, { "swiotlb=65536,4,force", true },
		{ "swiotlb=65536", false }, { "swiotlb=noforce", false }, { "noswiotlb=force", false },
		{ "swiotlb=forced", false }, { "swiotlb=force swiotlb=65536", true }, { "", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct kernel kernel = { .major = 7 };

		strcpy(kernel.cmdline, cases[i].arguments);
		assert_int_equal(kernel_forces_swiotlb(&kernel), cases[i].forced);
	}
}

/* The shortest direct map that KASLR can leave: arch/x86/mm/kaslr.c, before 6.19. */
static void kaslr(void **state)
{
	static const struct {
		const char *config, *arguments;
		unsigned int major, minor;
		uint64_t ram_tib_tenths;
		uint64_t tib;	/* 0: not at all */
	} cases[] = {
		{ "#\nCONFIG_RANDOMIZE_MEMORY=y\n", "quiet", 6, 12, 1, 11 },
		{ "#\nCONFIG_RANDOMIZE_MEMORY=y\n", "quiet", 6, 12, 0, 11 },
		{ "#\nCONFIG_RANDOMIZE_MEMORY=y\n", "quiet", 6, 12, 10, 11 },
		{ "#\nCONFIG_RANDOMIZE_MEMORY=y\n", "quiet", 6, 12, 11, 12 },
		{ "#\nCONFIG_RANDOMIZE_MEMORY=y\nCONFIG_RANDOMIZE_MEMORY_PHYSICAL_PADDING=0x40\n", "", 6, 1, 1, 65 },
		{ "#\nCONFIG_RANDOMIZE_MEMORY=y\n", "quiet nokaslr", 6, 12, 1, 0 },
		{ "#\nCONFIG_RANDOMIZE_MEMORY=y\n", "x.nokaslr", 6, 12, 1, 11 },
		{ "#\nCONFIG_RANDOMIZE_MEMORY=y\n", "", 6, 19, 1, 0 }, { "#\nCONFIG_RANDOMIZE_MEMORY=y\n", "", 7, 3, 1, 0 },
		{ "#\n# CONFIG_RANDOMIZE_MEMORY is not set\n", "", 6, 12, 1, 0 }, { NULL, "", 6, 12, 1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct kernel kernel = {
			.config = (char *)cases[i].config, .major = cases[i].major, .minor = cases[i].minor, .is_x86 = true,
			.ram_bytes = (cases[i].ram_tib_tenths << 40) / 10,
		};

		strcpy(kernel.cmdline, cases[i].arguments);
		assert_int_equal(kernel_kaslr_leaves(&kernel), cases[i].tib ? (cases[i].tib << 40) - 1 : 0);
		kernel.is_x86 = false;
		assert_int_equal(kernel_kaslr_leaves(&kernel), 0);
	}
}

/* Without /proc, as in a chroot, the release is known for this machine, but not for a captured one. */
static void kernel_without_proc(void **state)
{
	struct source source = { .root = "/nonexistent" };
	struct kernel kernel;
	struct utsname name;

	(void)state;
	kernel_read(&source, &kernel);
	assert_string_equal(kernel.release, "");
	kernel_forget(&kernel);
	source.live = true;
	kernel_read(&source, &kernel);
	assert_int_equal(uname(&name), 0);
	assert_string_equal(kernel.release, name.release);
	assert_int_not_equal(kernel.major, 0);
	kernel_forget(&kernel);
}

/* Whole names alone: half of one may be another's. */
static void many_nodes(void **state)
{
	struct fake *fake = *state;
	struct examination x = { .ctx = fake->ctx };
	char name[32];

	for (int i = 100; i < 180; i++) {
		snprintf(name, sizeof(name), "p2pmem%d", i);
		fake_region(fake, name, "pci-bar", "0000:06:00.0");
	}
	snprintf(x.source.root, sizeof(x.source.root), "%s", fake->root);
	assert_int_equal(donard_region_list(fake->ctx, &x.regions), 80);
	check_nodes(&x);
	assert_int_equal(x.finding_count, 1);
	assert_int_equal(x.findings[0].code, CODE_NODE_MISSING);
	assert_says(x.findings[0].object, "p2pmem141, p2pmem142, and 37 more");
	findings_forget(&x);
	donard_region_list_free(x.regions);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(acs_of_a_port), cmocka_unit_test(part_of_a_port),
		cmocka_unit_test(ordinary_part_of_a_port), cmocka_unit_test(the_kernels_word),
		cmocka_unit_test(acs_and_translation), cmocka_unit_test(translation),
		cmocka_unit_test(contradictions),
		cmocka_unit_test_setup_teardown(port_below_its_function, fake_setup, fake_teardown),
		cmocka_unit_test(swiotlb_arguments), cmocka_unit_test(kaslr), cmocka_unit_test(kernel_without_proc),
		cmocka_unit_test_setup_teardown(many_nodes, fake_setup, fake_teardown),
	};

	return cmocka_run_group_tests_name("doctor", tests, NULL, NULL);
}
