// SPDX-License-Identifier: GPL-2.0
/*
 * Registers a notifier of the PCI bus, as drivers do when they are loaded, and
 * nothing else.  That takes the chain's lock for writing: it waits for every
 * notifier that is under way, and all later ones wait for it.
 */
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/pci.h>

static int notify(struct notifier_block *nb, unsigned long action, void *data)
{
	return NOTIFY_DONE;
}

static struct notifier_block latecomer_nb = { .notifier_call = notify };

static int __init latecomer_init(void)
{
	return bus_register_notifier(&pci_bus_type, &latecomer_nb);
}

static void __exit latecomer_exit(void)
{
	bus_unregister_notifier(&pci_bus_type, &latecomer_nb);
}

module_init(latecomer_init);
module_exit(latecomer_exit);

MODULE_DESCRIPTION("A late notifier of the PCI bus, for tests");
MODULE_LICENSE("GPL");
