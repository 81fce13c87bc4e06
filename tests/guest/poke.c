// SPDX-License-Identifier: Apache-2.0
/*
 * poke BDF OFFSET VALUE - writes a 32-bit register in the first page of BAR 0; what a device that is
 * reset behind the kernel's back does to itself. Needs iomem=relaxed on the kernel's command line.
 */
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

int main(int argc, char **argv)
{
	volatile uint32_t *registers;
	unsigned long offset;
	char path[128];
	int fd;

	if (argc != 4)
		errx(2, "usage: poke BDF OFFSET VALUE");
	offset = strtoul(argv[2], NULL, 0);
	if (offset >= 4096 || offset % 4)
		errx(2, "no offset of a register: %s", argv[2]);
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/resource0", argv[1]);
	fd = open(path, O_RDWR);
	if (fd < 0)
		err(1, "%s", path);
	registers = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (registers == MAP_FAILED)
		err(1, "%s: mmap", path);
	registers[offset / 4] = (uint32_t)strtoul(argv[3], NULL, 0);
	/* A read keeps the write from staying under way. */
	(void)registers[offset / 4];
	return 0;
}
