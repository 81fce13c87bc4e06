/* SPDX-License-Identifier: Apache-2.0 */
/* Does an RDMA NIC reach the memory of a region? */
#ifndef DONARD_DOCTOR_PROVE_NIC_H
#define DONARD_DOCTOR_PROVE_NIC_H

#include "trial.h"

/* Moves a nonce each way. The caller blocks signals that end a program until it has called give_memory(). */
void try_nic(struct trial *trial);

#endif /* DONARD_DOCTOR_PROVE_NIC_H */
