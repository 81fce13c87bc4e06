// SPDX-License-Identifier: Apache-2.0
/* STATX_DIOALIGN by the raw call: older C libraries lack the members. */
#include <fcntl.h>
#include <linux/stat.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

uint32_t dnd_dioalign(int fd);

uint32_t dnd_dioalign(int fd)
{
#ifdef STATX_DIOALIGN
	struct statx st = { 0 };

	if (!syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &st) &&
	    (st.stx_mask & STATX_DIOALIGN))
		return st.stx_dio_offset_align;
#else
	(void)fd;
#endif
	return 0;
}
