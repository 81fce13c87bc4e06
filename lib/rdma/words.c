// SPDX-License-Identifier: Apache-2.0
/* The words for the enumerations of the RDMA interface. */
#include "base/base.h"
#include "donard/rdma.h"

DND_PUBLIC const char *donard_rdma_method_text(enum donard_rdma_method method)
{
	switch (method) {
	case DONARD_RDMA_UNREGISTERED:
		return "";
	case DONARD_RDMA_MAPPED:
		return "mapping";
	case DONARD_RDMA_DMABUF:
		return "dma-buf";
	}
	return "unknown";
}

DND_PUBLIC const char *donard_rdma_transport_text(enum donard_rdma_transport transport)
{
	switch (transport) {
	case DONARD_RDMA_UNCONNECTED:
		return "";
	case DONARD_RDMA_INFINIBAND:
		return "InfiniBand";
	case DONARD_RDMA_ROCE:
		return "RoCE";
	case DONARD_RDMA_IWARP:
		return "iWARP";
	}
	return "unknown";
}
