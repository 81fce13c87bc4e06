/* SPDX-License-Identifier: GPL-2.0 */
/* Controller registers of NVMe (Base Specification 2.0, section 3.1.4). */
#ifndef P2PMEM_NVME_REGS_H
#define P2PMEM_NVME_REGS_H

#include <linux/bits.h>
#include <linux/io.h>
#include <linux/io-64-nonatomic-hi-lo.h>
#include <linux/pci.h>

#define NVME_CAP		0x00
#define NVME_CAP_PMRS		BIT_ULL(56)
#define NVME_CAP_CMBS		BIT_ULL(57)
#define NVME_CMBLOC		0x38
#define NVME_CMBSZ		0x3c
#define NVME_CMBSZ_RDS		BIT(3)
#define NVME_CMBSZ_WDS		BIT(4)
#define NVME_CMBMSC		0x50
#define NVME_CMBMSC_CRE		BIT(0)
#define NVME_CMBMSC_CMSE	BIT(1)
#define NVME_PMRCAP		0xe00
#define NVME_PMRCAP_RDS		BIT(3)
#define NVME_PMRCAP_WDS		BIT(4)
#define NVME_PMRCAP_CMSS	BIT(24)
#define NVME_PMRCTL		0xe04
#define NVME_PMRCTL_EN		BIT(0)
#define NVME_PMRSTS		0xe08
#define NVME_PMRSTS_ERR		GENMASK(7, 0)
#define NVME_PMRSTS_NRDY	BIT(8)
#define NVME_PMRSTS_HSTS	GENMASK(11, 9)	/* 0: its content is sound */
#define NVME_PMRSTS_CBAI	BIT(12)		/* the address in PMRMSC was refused */
#define NVME_PMRMSCL		0xe14
#define NVME_PMRMSC_CMSE	BIT(1)

/* Registers up to PMRMSCU; the doorbells that follow belong to the nvme driver. */
#define NVME_REGS_BYTES		0x1000

/*
 * Maps BAR0 of a controller that the nvme driver runs.  Returns an ERR_PTR(), with the
 * cause in @reason, if that fails.
 */
void __iomem *p2pmem_nvme_map(struct pci_dev *pdev, char *reason);

/*
 * Stores @value in CMBMSC or PMRMSC, at @msc: an address and CMSE, the bit that makes the
 * controller take its own accesses to that address for accesses to its memory.  Returns
 * false if the register did not keep the address.
 */
bool p2pmem_nvme_space_on(void __iomem *msc, u64 value);
/* Stores @value, which lacks CMSE, in the same register. */
void p2pmem_nvme_space_off(void __iomem *msc, u64 value);

struct p2pmem_nvme_memory;
/* Fills in the registers in which the controller describes its memory. */
int p2pmem_nvme_look(struct p2pmem_nvme_memory *req);

#endif
