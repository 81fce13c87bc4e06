/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints, for perf and bpftrace: /sys/kernel/tracing/events/p2pmem.  docs/tracing.md
 * explains each field.  Events carry only numbers: a pointer to a string could outlive the
 * region, and how an event copies a string differs between kernels.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM p2pmem

#if !defined(P2PMEM_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define P2PMEM_TRACE_H

#include <linux/tracepoint.h>

#include "p2pmem.h"

/* perf and other tools format events by themselves, and do not know the names of enums. */
TRACE_DEFINE_ENUM(P2PMEM_STATE_READY);
TRACE_DEFINE_ENUM(P2PMEM_STATE_DRAINING);
TRACE_DEFINE_ENUM(P2PMEM_STATE_QUARANTINED);
TRACE_DEFINE_ENUM(P2PMEM_STATE_GONE);
TRACE_DEFINE_ENUM(P2PMEM_ROUTE_NONE);
TRACE_DEFINE_ENUM(P2PMEM_ROUTE_SWITCH);
TRACE_DEFINE_ENUM(P2PMEM_ROUTE_BRIDGE);
TRACE_DEFINE_ENUM(P2PMEM_ROUTE_IOMMU);
TRACE_DEFINE_ENUM(P2PMEM_ROUTE_BOUNCED);
TRACE_DEFINE_ENUM(P2PMEM_PINNER_RING);
TRACE_DEFINE_ENUM(P2PMEM_PINNER_DMABUF);

/* A mapping was made by mmap(), or refused. */
TRACE_EVENT(p2pmem_map,
	TP_PROTO(const struct p2pmem_region *r, u64 offset, u64 length, int ret),
	TP_ARGS(r, offset, length, ret),
	TP_STRUCT__entry(
		__field(u64, offset)
		__field(u64, length)
		__field(u32, region)
		__field(int, ret)
	),
	TP_fast_assign(
		__entry->offset = offset;
		__entry->length = length;
		__entry->region = r->id;
		__entry->ret = ret;
	),
	TP_printk("p2pmem%u offset=%llu length=%llu ret=%d", __entry->region,
		  __entry->offset, __entry->length, __entry->ret)
);

/*
 * A ring's buffer, or the mapping of a dma-buf, begins or ceases to hold memory.  The event
 * has the region's number and no pointer, because the region may end as soon as its last
 * holder lets go.
 */
DECLARE_EVENT_CLASS(p2pmem_pins,
	TP_PROTO(unsigned int region, enum p2pmem_pinner pinner, u64 length),
	TP_ARGS(region, pinner, length),
	TP_STRUCT__entry(
		__field(u64, length)
		__field(u32, region)
		__field(u32, pinner)
	),
	TP_fast_assign(
		__entry->length = length;
		__entry->region = region;
		__entry->pinner = pinner;
	),
	TP_printk("p2pmem%u by=%s length=%llu", __entry->region,
		  __print_symbolic(__entry->pinner,
				   { P2PMEM_PINNER_RING, "ring" },
				   { P2PMEM_PINNER_DMABUF, "dma-buf" }),
		  __entry->length)
);

DEFINE_EVENT(p2pmem_pins, p2pmem_pin,
	TP_PROTO(unsigned int region, enum p2pmem_pinner pinner, u64 length),
	TP_ARGS(region, pinner, length)
);

DEFINE_EVENT(p2pmem_pins, p2pmem_unpin,
	TP_PROTO(unsigned int region, enum p2pmem_pinner pinner, u64 length),
	TP_ARGS(region, pinner, length)
);

/* The route of a function was judged: P2PMEM_IOC_PROBE_PEER, or an importer of a dma-buf. */
TRACE_EVENT(p2pmem_route,
	TP_PROTO(const struct p2pmem_region *r, struct pci_dev *client, u32 route,
		 u32 distance, u32 flags),
	TP_ARGS(r, client, route, distance, flags),
	TP_STRUCT__entry(
		__field(u32, region)
		__field(u32, domain)
		__field(u8, bus)
		__field(u8, devfn)
		__field(u32, route)
		__field(u32, distance)
		__field(u32, flags)
	),
	TP_fast_assign(
		__entry->region = r->id;
		__entry->domain = pci_domain_nr(client->bus);
		__entry->bus = client->bus->number;
		__entry->devfn = client->devfn;
		__entry->route = route;
		__entry->distance = distance;
		__entry->flags = flags;
	),
	TP_printk("p2pmem%u client=%04x:%02x:%02x.%u route=%s distance=%u flags=0x%x",
		  __entry->region, __entry->domain, __entry->bus,
		  PCI_SLOT(__entry->devfn), PCI_FUNC(__entry->devfn),
		  __print_symbolic(__entry->route,
				   { P2PMEM_ROUTE_NONE, "none" },
				   { P2PMEM_ROUTE_SWITCH, "switch" },
				   { P2PMEM_ROUTE_BRIDGE, "bridge" },
				   { P2PMEM_ROUTE_IOMMU, "iommu" },
				   { P2PMEM_ROUTE_BOUNCED, "bounced" }),
		  __entry->distance, __entry->flags)
);

/*
 * A region was added, is being removed, lost its device, or has ended.  If the pages could
 * not be made again after a change of the page type, no event is traced; the log says so.
 */
TRACE_EVENT(p2pmem_state,
	TP_PROTO(const struct p2pmem_region *r, u32 state),
	TP_ARGS(r, state),
	TP_STRUCT__entry(
		__field(u32, region)
		__field(u32, state)
	),
	TP_fast_assign(
		__entry->region = r->id;
		__entry->state = state;
	),
	TP_printk("p2pmem%u %s", __entry->region,
		  __print_symbolic(__entry->state,
				   { P2PMEM_STATE_READY, "ready" },
				   { P2PMEM_STATE_DRAINING, "draining" },
				   { P2PMEM_STATE_QUARANTINED, "quarantined" },
				   { P2PMEM_STATE_GONE, "gone" }))
);

/* A removal has checked whether anybody still holds memory.  It checks until nobody does. */
TRACE_EVENT(p2pmem_drain,
	TP_PROTO(const struct p2pmem_region *r, bool pages_held, bool imported),
	TP_ARGS(r, pages_held, imported),
	TP_STRUCT__entry(
		__field(u32, region)
		__field(u8, pages_held)
		__field(u8, imported)
	),
	TP_fast_assign(
		__entry->region = r->id;
		__entry->pages_held = pages_held;
		__entry->imported = imported;
	),
	TP_printk("p2pmem%u pages_held=%u imported=%u", __entry->region,
		  __entry->pages_held, __entry->imported)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
