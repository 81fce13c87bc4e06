/* SPDX-License-Identifier: Apache-2.0 */
/* One file a subject; each adds what it finds. */
#ifndef DONARD_DOCTOR_CHECKS_H
#define DONARD_DOCTOR_CHECKS_H

#include "examination.h"

void check_kernel(struct examination *x);
void check_requests(struct examination *x);
void check_module(struct examination *x);
void check_rights(struct examination *x);
void check_nodes(struct examination *x);
void check_memory(struct examination *x);
void check_direct_map(struct examination *x);
/* The kernel says that it has no room for struct pages of all of it. */
bool is_beyond_direct_map(const struct examination *x, const struct donard_candidate_info *candidate);
void check_clients(struct examination *x);
void check_raids(struct examination *x);
/* Appends each, as JSON, to @models. */
void check_gpus(struct examination *x, struct json_object *models);

#endif /* DONARD_DOCTOR_CHECKS_H */
