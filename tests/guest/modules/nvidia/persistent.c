// SPDX-License-Identifier: GPL-2.0
/* The calls that drivers have since 535.  nvidia_callback.c leaves them out. */
#include <linux/module.h>

#include "lab.h"

int nvidia_p2p_get_pages_persistent(u64 virtual_address, u64 length,
				    struct nvidia_p2p_page_table **page_table,
				    u32 flags)
{
	if (flags)
		return -EINVAL;
	return lab_get(true, virtual_address, length, page_table, NULL, NULL);
}
EXPORT_SYMBOL_GPL(nvidia_p2p_get_pages_persistent);

int nvidia_p2p_put_pages_persistent(u64 virtual_address,
				    struct nvidia_p2p_page_table *page_table,
				    u32 flags)
{
	if (flags)
		return -EINVAL;
	return lab_put(true, virtual_address, page_table);
}
EXPORT_SYMBOL_GPL(nvidia_p2p_put_pages_persistent);
