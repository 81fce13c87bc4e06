// SPDX-License-Identifier: Apache-2.0
/*
 * See pci_names.h.  This uses only the database, and does not call pci_init(), which may exit().  pci_init() would
 * also set libpci's print functions, so they are set here.
 */
#include <pci/pci.h>

#include "region/pci_names.h"

static void say_nothing(char *format, ...)
{
	(void)format;
}

struct pci_access *dnd_pci_names_open(void)
{
	struct pci_access *names = pci_alloc();

	if (!names)
		return NULL;
	names->warning = say_nothing;
	names->debug = say_nothing;
	return names;
}

void dnd_pci_names_close(struct pci_access *names)
{
	if (names)
		pci_cleanup(names);
}

void dnd_pci_name(const struct donard_context *ctx, struct pci_access *names, const char *bdf, char *name,
		  size_t name_bytes)
{
	uint64_t vendor = 0, device = 0;

	dnd_sysfs_read_u64(ctx, &vendor, "bus/pci/devices/%s/vendor", bdf);
	dnd_sysfs_read_u64(ctx, &device, "bus/pci/devices/%s/device", bdf);
	/* NO_HWDB: udev's database has the same names, and libpci leaks memory if there is none. */
	pci_lookup_name(names, name, (int)name_bytes, PCI_LOOKUP_VENDOR | PCI_LOOKUP_DEVICE | PCI_LOOKUP_NO_HWDB,
			(int)vendor, (int)device);
}
