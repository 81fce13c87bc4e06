/* SPDX-License-Identifier: GPL-2.0 */
/* The export of a range of an open file as a dma-buf. */
#ifndef P2PMEM_DMABUF_H
#define P2PMEM_DMABUF_H

#include "lines.h"
#include "p2pmem.h"

long p2pmem_dmabuf_export(struct p2pmem_file *f,
			  const struct p2pmem_export_dmabuf *req);
long p2pmem_dmabuf_locate(struct p2pmem_file *f,
			  struct p2pmem_locate_dmabuf *l);
void p2pmem_importers_lines(struct p2pmem_region *r, struct p2pmem_lines *lines);

#endif
