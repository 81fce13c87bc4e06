// SPDX-License-Identifier: GPL-2.0
/*
 * The same driver without the persistent calls, as it was before 535: whoever
 * looks them up does not find them.  A file for both modules would need each
 * object twice; so all sources are one here.
 */
#include "main.c"
#include "vram.c"
#include "p2p.c"
#include "export.c"
#include "node.c"
