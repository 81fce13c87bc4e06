/* SPDX-License-Identifier: Apache-2.0 */
/* The administrator's node, /dev/p2pmem_control. */
#ifndef DONARD_CONTROL_H
#define DONARD_CONTROL_H

#include "region/region.h"

int dnd_control_open(struct donard_context *ctx);

#endif /* DONARD_CONTROL_H */
