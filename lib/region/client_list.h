/* SPDX-License-Identifier: Apache-2.0 */
/* The list of clients, to which the scanners append. */
#ifndef DONARD_CLIENT_LIST_H
#define DONARD_CLIENT_LIST_H

#include "base/base.h"

struct dnd_dma_client {
	struct donard_client_info info;
	char name[64];
	char bdf[DONARD_BDF_BYTES];
	char model[128];
	char serial[64];
	char **namespaces;
};

struct donard_client_list {
	size_t count;
	struct dnd_dma_client **clients;	/* each is allocated, so that pointers to it stay valid */
};

/* The list owns the record; NULL if memory is lacking. */
struct dnd_dma_client *dnd_client_list_add(struct donard_client_list *list, enum donard_client_type type,
					   const char *name, const char *bdf);
int dnd_client_list_add_namespace(struct dnd_dma_client *client, const char *name);

#endif /* DONARD_CLIENT_LIST_H */
