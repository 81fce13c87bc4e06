/* SPDX-License-Identifier: GPL-2.0 */
/* Telling the importers of a region's dma-bufs to let go, and waiting for them. */
#ifndef P2PMEM_IMPORTERS_H
#define P2PMEM_IMPORTERS_H

#include <linux/workqueue.h>

#include "p2pmem.h"

/* What kind of importer still has mappings of a revoked dma-buf. */
enum p2pmem_importers {
	P2PMEM_IMPORTERS_NONE,
	P2PMEM_IMPORTERS_LEAVE,	/* one that was told to let go */
	P2PMEM_IMPORTERS_STAY,	/* one that may never let go */
};

/* dmabuf_tell.c */
int p2pmem_exports_init(void);
void p2pmem_exports_exit(void);
enum p2pmem_importers p2pmem_exports_revoke(struct p2pmem_region *r);
enum p2pmem_importers p2pmem_exports_revoke_part(struct p2pmem_region *r,
						 const struct p2pmem_part *part);

/* dmabuf_epoch.c */
void p2pmem_imports_outdate(struct p2pmem_region *r);

/* dmabuf_reset.c */
void p2pmem_imports_await(struct p2pmem_region *r);
bool p2pmem_imports_are_outdated(struct p2pmem_region *r, u64 epoch);
void p2pmem_outdate_fn(struct work_struct *work);
void p2pmem_imports_watch(struct p2pmem_region *r);
void p2pmem_imports_unwatch(struct p2pmem_region *r);
void p2pmem_watch_fn(struct work_struct *work);

#endif
