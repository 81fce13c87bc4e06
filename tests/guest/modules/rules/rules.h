/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* The answer of /dev/pci_rules, shared with the program that asks. */
#ifndef RULES_H
#define RULES_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define RULES_NODE	"pci_rules"

struct rules_function {
	__u32 domain;
	__u8 bus;
	__u8 devfn;
	__u8 bar;		/* of the memory */
	__u8 reserved;
};

enum rules_type {		/* as enum pci_p2pdma_map_type */
	RULES_NOT_SUPPORTED = 2,
	RULES_BUS_ADDRESS = 3,
	RULES_HOST_BRIDGE = 4,
};

/**
 * struct rules_pair - what the kernel's own rules for P2PDMA say
 * @provider: in: the function whose BAR the requests go to
 * @client: in: the function that makes the requests; its bar means nothing
 * @distance: out: pci_p2pdma_distance_many(); -1 without a route
 * @type: out: pci_p2pdma_map_type(), enum rules_type
 */
struct rules_pair {
	struct rules_function provider;
	struct rules_function client;
	__s32 distance;
	__u32 type;
};

/* EOPNOTSUPP: this kernel has no such rules. */
#define RULES_ASK	_IOWR(0xBA, 0, struct rules_pair)
/* Take the device lock of a function until the file is closed. */
#define RULES_LOCK	_IOW(0xBA, 1, struct rules_function)

#endif
