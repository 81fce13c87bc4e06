// SPDX-License-Identifier: Apache-2.0
/*
 * Holds p2pmem's verdicts against the kernel's own rules.
 *
 *   rules pairs        every region and every PCI function: p2pmem allows nothing that the kernel refuses
 *   rules probe REGION BDF         "ROUTE FLAGS", or the errno
 *   rules locked BDF COMMAND...    runs it while the function's device lock is held
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "modules/rules/rules.h"
#include "uapi/p2pmem.h"

static const char *const words[] = { "none", "switch", "bridge", "iommu", "bounced" };
static unsigned int pairs, allowed, wrong;

static struct rules_function function_of(const char *bdf)
{
	unsigned int domain, bus, device, function;
	struct rules_function f = { 0 };

	if (sscanf(bdf, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4)
		errx(2, "%s: no PCI address", bdf);
	f.domain = domain;
	f.bus = (__u8)bus;
	f.devfn = (__u8)(device << 3 | function);
	return f;
}

static int open_rules(void)
{
	int fd = open("/dev/" RULES_NODE, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		err(1, "/dev/" RULES_NODE);
	return fd;
}

static int open_region(const char *name)
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "/dev/%s", name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		err(1, "%s", path);
	return fd;
}

static int probe(int region, const char *bdf, struct p2pmem_probe *p)
{
	struct rules_function f = function_of(bdf);

	memset(p, 0, sizeof(*p));
	p->size = sizeof(*p);
	p->pci_domain = f.domain;
	p->pci_bus = f.bus;
	p->pci_devfn = f.devfn;
	return ioctl(region, P2PMEM_IOC_PROBE_PEER, p) < 0 ? errno : 0;
}

/* Returns NULL, or what is wrong with p2pmem's verdict. */
static const char *complaint(const struct p2pmem_probe *p, const struct rules_pair *pair)
{
	bool translated = p->flags & P2PMEM_PROBE_TRANSLATED;

	if (p->route == P2PMEM_ROUTE_BOUNCED)
		return NULL;	/* refused, for another reason than the path */
	if ((pair->distance < 0) != (pair->type == RULES_NOT_SUPPORTED))
		return "the kernel contradicts itself";
	if (p->route && pair->distance < 0)
		return "allowed, and the kernel refuses it";
	if (p->route == P2PMEM_ROUTE_SWITCH && pair->type != RULES_BUS_ADDRESS)
		return "a switch's, and the kernel gives no bus address";
	if (p->route == P2PMEM_ROUTE_BRIDGE && pair->type != RULES_HOST_BRIDGE)
		return "a host bridge's, and the kernel gives bus addresses";
	if (!p->route && !translated && pair->distance >= 0 && !strstr(p->reason, "refuses to map"))
		return "refused, and the kernel allows it";
	if (p->route && (int)p->distance != pair->distance)
		return "another distance";
	return NULL;
}

static void compare(int rules, int region, const struct p2pmem_info *info, const char *bdf)
{
	struct rules_pair pair = {
		.provider = { .domain = info->pci_domain, .bus = info->pci_bus, .devfn = info->pci_devfn,
			      .bar = info->bar },
		.client = function_of(bdf),
	};
	struct p2pmem_probe p;
	const char *bad;
	int error = probe(region, bdf, &p);

	if (error)
		errx(1, "%s from %s: %s", info->name, bdf, strerror(error));
	if (ioctl(rules, RULES_ASK, &pair) < 0)
		err(1, "the kernel's rules for %s from %s", info->name, bdf);
	bad = complaint(&p, &pair);
	pairs++;
	allowed += p.route != P2PMEM_ROUTE_NONE;
	wrong += !!bad;
	printf("%s from %s: %s%s, distance %u; the kernel: %u, distance %d%s%s\n", info->name, bdf,
	       words[p.route], p.flags & P2PMEM_PROBE_TRANSLATED ? " (translated)" : "", p.distance,
	       pair.type, pair.distance, bad ? ": WRONG: " : "", bad ? bad : "");
}

static void each_function(int rules, const char *region_name)
{
	struct p2pmem_info info = { .size = sizeof(info) };
	int region = open_region(region_name);
	DIR *dir = opendir("/sys/bus/pci/devices");
	struct dirent *entry;

	if (!dir || ioctl(region, P2PMEM_IOC_INFO, &info) < 0)
		err(1, "%s", region_name);
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			compare(rules, region, &info, entry->d_name);
	closedir(dir);
	close(region);
}

static int run_pairs(void)
{
	DIR *dir = opendir("/sys/class/p2pmem");
	struct dirent *entry;
	int rules = open_rules();

	if (!dir)
		err(1, "/sys/class/p2pmem");
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			each_function(rules, entry->d_name);
	printf("%u pairs, %u allowed, %u wrong\n", pairs, allowed, wrong);
	return wrong || !pairs;
}

static int run_probe(const char *region, const char *bdf)
{
	struct p2pmem_probe p;
	int error = probe(open_region(region), bdf, &p);

	if (error)
		errx(1, "%s", strerrorname_np(error));
	printf("%s%s%s%s%s\n", words[p.route], p.flags & P2PMEM_PROBE_MAPPED ? " mapped" : "",
	       p.flags & P2PMEM_PROBE_ACS_REDIRECT ? " redirected" : "",
	       p.flags & P2PMEM_PROBE_TRANSLATED ? " translated" : "",
	       p.flags & P2PMEM_PROBE_PASSTHROUGH ? " passthrough" : "");
	return 0;
}

static int run_locked(const char *bdf, char **command)
{
	struct rules_function f = function_of(bdf);
	int rules = open_rules(), status;
	pid_t child;

	if (ioctl(rules, RULES_LOCK, &f) < 0)
		err(1, "the device lock of %s", bdf);
	child = fork();
	if (!child) {
		execvp(command[0], command);
		err(127, "%s", command[0]);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		err(1, "%s", command[0]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "pairs"))
		return run_pairs();
	if (argc == 4 && !strcmp(argv[1], "probe"))
		return run_probe(argv[2], argv[3]);
	if (argc > 3 && !strcmp(argv[1], "locked"))
		return run_locked(argv[2], argv + 3);
	errx(2, "usage: rules pairs | probe REGION BDF | locked BDF COMMAND...");
}
