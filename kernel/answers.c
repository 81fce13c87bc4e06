// SPDX-License-Identifier: GPL-2.0
/*
 * Whether a PCI function answers for its memory.  A reset clears BARs and command
 * register, and its vendor ID can be read long before both are restored.  Until then
 * loads of its memory return ones, and stores are lost.
 */
#include <linux/pci.h>

#include "answers.h"

/* The command register of what is gone reads as ones. */
bool p2pmem_function_answers(struct pci_dev *pdev)
{
	u16 command;

	pci_read_config_word(pdev, PCI_COMMAND, &command);
	if (PCI_POSSIBLE_ERROR(command))
		return false;
	/* The bit of a virtual function is always 0 (PCIe 6.0, 9.3.4.1.3). */
	return pdev->no_command_memory || command & PCI_COMMAND_MEMORY;
}

bool p2pmem_function_works(struct pci_dev *pdev)
{
	return READ_ONCE(pdev->error_state) == pci_channel_io_normal &&
	       p2pmem_function_answers(pdev);
}
