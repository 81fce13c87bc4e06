/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What gpu offers to the rest of the library: the GPUs that CUDA finds, and memory of
 * theirs, pinned into an open file of the GPU's region.
 */
#ifndef DND_GPU_H
#define DND_GPU_H

#include "gpu/device.h"
#include "gpu/pin.h"

#endif /* DND_GPU_H */
