/* SPDX-License-Identifier: Apache-2.0 */
/* The checks, one file for each subject; each adds its findings. */
#ifndef DONARD_DOCTOR_CHECKS_H
#define DONARD_DOCTOR_CHECKS_H

#include "examination.h"

void check_kernel(struct examination *x);
void check_requests(struct examination *x);
void check_module(struct examination *x);
/* Is a module of this file, "/p2pmem.ko", installed for the kernel, compressed or not? */
bool is_installed(const struct examination *x, const char *file);
void check_rights(struct examination *x);
void check_nodes(struct examination *x);
void check_memory(struct examination *x);
void check_direct_map(struct examination *x);
/* Does this memory end behind the kernel's direct map, as far as the module says where that ends? */
bool is_beyond_direct_map(const struct examination *x, const struct donard_candidate_info *candidate);
void check_clients(struct examination *x);
/* Will this drive never take requests again, as far as its controller's state says? */
bool is_drive_gone(const struct examination *x, const struct donard_client_info *client);
void check_raids(struct examination *x);
/* Also appends each GPU, as JSON, to @models. */
void check_gpus(struct examination *x, struct json_object *models);

#endif /* DONARD_DOCTOR_CHECKS_H */
