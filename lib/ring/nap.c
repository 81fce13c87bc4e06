// SPDX-License-Identifier: Apache-2.0
/* Rests between tries of what the kernel had no memory for. */
#include <unistd.h>

#include "ring/ring.h"

void dnd_ring_nap(unsigned int tries)
{
	if (tries % 10 == 9)
		usleep(1000);
}
