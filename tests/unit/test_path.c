// SPDX-License-Identifier: Apache-2.0
/*
 * The module's walk between two PCI functions, the very file that the kernel runs, over generated trees, against
 * a model of the rule in drivers/pci/p2pdma.c that was written from its description: nothing that the kernel
 * would refuse is allowed.
 */
#include "unit.h"
#include "../../kernel/path.c"

#define MAX_NODES	40
#define TREES		20000
#define SHOWN		8

struct node {
	const struct node *up;
	bool acs;
	int number;
};

struct machine {
	struct node nodes[MAX_NODES];
	int count;
};

/* The kernel's answer about a pair. */
enum upstream { REFUSED, BUS_ADDRESS, HOST_BRIDGE };

static uint32_t seed;

/* The same trees in each run. */
static unsigned int draw(unsigned int below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

static const void *node_up(const void *node)
{
	return ((const struct node *)node)->up;
}

static bool node_redirects(const void *node)
{
	return ((const struct node *)node)->acs;
}

static const struct p2pmem_tree tree = { .up = node_up, .redirects = node_redirects };

/* Each node hangs below an earlier one, or is on a root bus: deep and flat trees, one root port or several. */
static void generate(struct machine *machine)
{
	unsigned int roots = 1 + draw(3), one_in = 1 + draw(8);

	machine->count = 2 + (int)draw(MAX_NODES - 2);
	for (int i = 0; i < machine->count; i++) {
		struct node *node = &machine->nodes[i];
		unsigned int near = draw(2) && i > 4 ? (unsigned int)i - 4 : 0;

		node->number = i;
		node->up = (unsigned int)i < roots ? NULL :
			   &machine->nodes[near + draw((unsigned int)i - near)];
		node->acs = one_in > 1 && !draw(one_in);
	}
}

static int model_depth(const struct node *node)
{
	return node ? 1 + model_depth(node->up) : 0;
}

/* The deepest node that is above, or is, both; the two meet by climbing from the deeper one. */
static const struct node *model_meet(const struct node *a, const struct node *b)
{
	if (a == b)
		return a;
	if (model_depth(a) >= model_depth(b))
		return model_meet(a->up, b);
	return model_meet(a, b->up);
}

static int model_acs_until(const struct node *node, const struct node *end)
{
	return node == end ? 0 : node->acs + model_acs_until(node->up, end);
}

/*
 * "If ACS redirect is set on any port in the path, traffic between the devices will go through the host bridge";
 * the two functions and the port where they meet are of the path.
 */
static enum upstream model(const struct node *provider, const struct node *client, bool listed)
{
	const struct node *meet = model_meet(provider, client);

	if (meet && !meet->acs && !model_acs_until(provider, meet) && !model_acs_until(client, meet))
		return BUS_ADDRESS;
	return listed ? HOST_BRIDGE : REFUSED;
}

static unsigned int model_distance(const struct node *provider, const struct node *client)
{
	const struct node *meet = model_meet(provider, client);
	int links = model_depth(provider) + model_depth(client);

	return (unsigned int)(links - 2 * model_depth(meet));
}

static void show(const struct machine *machine)
{
	for (int i = 0; i < machine->count; i++)
		print_message("  node %d below %d%s\n", i,
			      machine->nodes[i].up ? machine->nodes[i].up->number : -1,
			      machine->nodes[i].acs ? ", ACS redirects" : "");
}

static bool is_allowed(uint32_t route)
{
	return route != P2PMEM_ROUTE_NONE;
}

/* Checks that the module's answer and the kernel's fit together; returns NULL, or what is wrong. */
static const char *complaint(const struct p2pmem_way *way, uint32_t route, uint32_t flags,
			     enum upstream upstream)
{
	if (is_allowed(route) && upstream == REFUSED)
		return "allowed, and the kernel would refuse it";
	if (route == P2PMEM_ROUTE_SWITCH && upstream != BUS_ADDRESS)
		return "taken for a switch's, and the kernel gives no bus address";
	if (!way->translated && is_allowed(route) != (upstream != REFUSED))
		return "refused, and the kernel would allow it";
	if (way->translated && is_allowed(route) && route != P2PMEM_ROUTE_IOMMU && !way->same)
		return "translated, and not called so";
	if (route == P2PMEM_ROUTE_IOMMU && (!way->translated || !way->forwards))
		return "through a root complex that is not known to forward";
	if (way->translated != !!(flags & P2PMEM_PROBE_TRANSLATED))
		return "the flag does not say whether it is translated";
	if (!is_allowed(route) && flags & P2PMEM_PROBE_UNLISTED_BRIDGE && way->forwards)
		return "called unlisted, and it is listed";
	return NULL;
}

static int judge_pair(const struct machine *machine, const struct node *provider, const struct node *client)
{
	int allowed = 0;

	for (unsigned int bits = 0; bits < 8; bits++) {
		struct p2pmem_way way = {
			.same = provider == client, .forwards = bits & 1, .translated = bits & 2,
			.page_type = bits & 4 ? P2PMEM_PAGES_P2PDMA : P2PMEM_PAGES_GENERIC,
		};
		uint32_t flags = 0, route;
		const char *wrong;

		p2pmem_path_find(&tree, provider, client, &way.path);
		route = p2pmem_way_judge(&way, &flags);
		wrong = complaint(&way, route, flags, model(provider, client, way.forwards));
		if (!wrong && way.path.distance != model_distance(provider, client))
			wrong = "wrong distance";
		if (!wrong && way.path.common != model_meet(provider, client))
			wrong = "wrong common node";
		if (wrong) {
			show(machine);
			fail_msg("memory at %d, client %d, %s%s%s: route %u: %s", provider->number,
				 client->number, way.forwards ? "listed" : "unlisted",
				 way.translated ? ", translated" : "", bits & 4 ? ", p2pdma" : "",
				 route, wrong);
		}
		allowed += is_allowed(route);
	}
	return allowed;
}

static void never_more_permissive(void **state)
{
	struct machine machine;
	long pairs = 0, allowed = 0;

	(void)state;
	for (seed = 0; seed < TREES; seed++) {
		uint32_t keep = seed;

		generate(&machine);
		for (int i = 0; i < SHOWN; i++) {
			int a = (int)draw((unsigned int)machine.count), b = (int)draw((unsigned int)machine.count);

			pairs += 8;
			allowed += judge_pair(&machine, &machine.nodes[a], &machine.nodes[b]);
		}
		seed = keep;
	}
	/* Trees of one kind only would show nothing. */
	assert_in_range(allowed, pairs / 10, pairs * 9 / 10);
}

/* Two functions below one root port whose ACS redirects: the port itself is of the path. */
static void common_port_redirects(void **state)
{
	struct node port = { .acs = true }, a = { .up = &port }, b = { .up = &port };
	struct p2pmem_way way = { .page_type = P2PMEM_PAGES_GENERIC };
	uint32_t flags = 0;

	(void)state;
	p2pmem_path_find(&tree, &a, &b, &way.path);
	assert_ptr_equal(way.path.redirect, &port);
	assert_int_equal(p2pmem_way_judge(&way, &flags), P2PMEM_ROUTE_NONE);
	assert_int_equal(flags, P2PMEM_PROBE_ACS_REDIRECT | P2PMEM_PROBE_UNLISTED_BRIDGE);
	port.acs = false;
	a.acs = true;
	p2pmem_path_find(&tree, &a, &b, &way.path);
	assert_ptr_equal(way.path.redirect, &a);
	p2pmem_path_find(&tree, &b, &a, &way.path);
	assert_ptr_equal(way.path.redirect, &a);
}

static void addresses(void **state)
{
	const uint64_t bus = 0x1000, phys = 0x9000, iova = 0x5000, dram = 0x7000;

	(void)state;
	/* Without an IOMMU only the bus address leads to the memory. */
	assert_int_equal(p2pmem_address_judge(P2PMEM_ROUTE_SWITCH, bus, bus, phys, 0), P2PMEM_ROUTE_SWITCH);
	assert_int_equal(p2pmem_address_judge(P2PMEM_ROUTE_BRIDGE, bus, bus, bus, 0), P2PMEM_ROUTE_BRIDGE);
	assert_int_equal(p2pmem_address_judge(P2PMEM_ROUTE_SWITCH, phys, bus, phys, 0), P2PMEM_ROUTE_NONE);
	assert_int_equal(p2pmem_address_judge(P2PMEM_ROUTE_SWITCH, dram, bus, phys, 0), P2PMEM_ROUTE_BOUNCED);
	assert_int_equal(p2pmem_address_judge(P2PMEM_ROUTE_NONE, dram, bus, phys, 0), P2PMEM_ROUTE_BOUNCED);
	/* With an IOMMU the translation of the address decides, whatever the address looks like. */
	assert_int_equal(p2pmem_address_judge(P2PMEM_ROUTE_IOMMU, iova, bus, phys, phys), P2PMEM_ROUTE_IOMMU);
	assert_int_equal(p2pmem_address_judge(P2PMEM_ROUTE_IOMMU, bus, bus, phys, dram), P2PMEM_ROUTE_BOUNCED);
	assert_int_equal(p2pmem_address_judge(P2PMEM_ROUTE_IOMMU, phys, bus, phys, dram), P2PMEM_ROUTE_BOUNCED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(never_more_permissive),
		cmocka_unit_test(common_port_redirects),
		cmocka_unit_test(addresses),
	};

	return cmocka_run_group_tests_name("path", tests, NULL, NULL);
}
