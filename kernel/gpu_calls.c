// SPDX-License-Identifier: GPL-2.0
/*
 * The functions of the GPU's driver.  They are looked up for each pin and kept for its
 * lifetime.  So this module loads without that driver, and the driver stays while it is
 * needed.
 */
#include <linux/module.h>

#include "gpu.h"
#include "reason.h"

static void put_pair(const void *get, const void *put, const char *get_name,
		     const char *put_name)
{
	if (get)
		__symbol_put(get_name);
	if (put)
		__symbol_put(put_name);
}

void p2pmem_gpu_calls_put(struct p2pmem_gpu_calls *calls)
{
	put_pair(calls->get_persistent, calls->put_persistent,
		 "nvidia_p2p_get_pages_persistent", "nvidia_p2p_put_pages_persistent");
	put_pair(calls->get, calls->put, "nvidia_p2p_get_pages", "nvidia_p2p_put_pages");
	memset(calls, 0, sizeof(*calls));
}

/* *@persistent says whether both persistent calls are there. */
int p2pmem_gpu_calls_get(struct p2pmem_gpu_calls *calls, bool *persistent, char *reason)
{
	calls->get_persistent = symbol_get(nvidia_p2p_get_pages_persistent);
	calls->put_persistent = symbol_get(nvidia_p2p_put_pages_persistent);
	calls->get = symbol_get(nvidia_p2p_get_pages);
	calls->put = symbol_get(nvidia_p2p_put_pages);
	*persistent = calls->get_persistent && calls->put_persistent;
	if (*persistent || (calls->get && calls->put))
		return 0;
	p2pmem_gpu_calls_put(calls);
	p2pmem_reason(reason, "the GPU's driver offers no nvidia_p2p_get_pages to GPL modules, or is being unloaded: load NVIDIA's open kernel module (Debian contrib: nvidia-open-kernel-dkms); the proprietary one cannot be used");
	return -EOPNOTSUPP;
}
