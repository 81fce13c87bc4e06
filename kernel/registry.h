/* SPDX-License-Identifier: GPL-2.0 */
/* All regions: their numbers, publication and lookup. */
#ifndef P2PMEM_REGISTRY_H
#define P2PMEM_REGISTRY_H

#include "p2pmem.h"

extern struct workqueue_struct *p2pmem_wq;
extern struct workqueue_struct *p2pmem_remove_wq;
int p2pmem_registry_init(void);
void p2pmem_registry_exit(void);
int p2pmem_region_number(void);
void p2pmem_region_number_free(unsigned int id);
void p2pmem_region_place_node(struct p2pmem_region *r);
int p2pmem_region_publish(struct p2pmem_region *r);
bool p2pmem_region_is_published(struct p2pmem_region *r);
void p2pmem_region_forget(struct p2pmem_region *r);
struct p2pmem_region *p2pmem_region_get(unsigned int id);
void p2pmem_region_put(struct p2pmem_region *r);
bool p2pmem_region_exists(struct pci_dev *pdev, u32 kind);
int p2pmem_region_refuse_quarantined(int id, char *reason);
int p2pmem_region_refuse_second(struct pci_dev *pdev, u32 kind, const char *memory, char *reason);
int p2pmem_region_at(phys_addr_t phys, u64 bytes, bool quarantined);
struct p2pmem_region *p2pmem_region_of(struct pci_dev *pdev);
void p2pmem_for_each_region(void (*each)(struct p2pmem_region *r, void *data),
			    void *data);
void p2pmem_for_regions_of(struct pci_dev *pdev, void (*call)(struct p2pmem_region *r));

#endif
