// SPDX-License-Identifier: Apache-2.0
/*
 * To be preloaded: libdonard gets no memory. What other libraries ask for they get. LIBS: -shared -fPIC
 *
 * FAILALLOC=N: its N-th allocation fails, and stderr says "failalloc: failed". FAILALLOC_WHILE=FILE: all fail while
 * there is that file.
 */
#define _GNU_SOURCE
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);

static uintptr_t first, behind;
static unsigned long number;
static const char *while_there;

static int find(struct dl_phdr_info *info, size_t size, void *user)
{
	(void)size;
	(void)user;
	if (!strstr(info->dlpi_name, "libdonard.so"))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];

		if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
			continue;
		first = info->dlpi_addr + part->p_vaddr;
		behind = first + part->p_memsz;
	}
	return 1;
}

__attribute__((constructor)) static void set_up(void)
{
	const char *word = getenv("FAILALLOC");

	dl_iterate_phdr(find, NULL);
	number = word ? strtoul(word, NULL, 10) : 0;
	while_there = getenv("FAILALLOC_WHILE");
}

static bool fails(const void *caller)
{
	static const char said[] = "failalloc: failed\n";
	uintptr_t at = (uintptr_t)caller;

	if (at < first || at >= behind)
		return false;
	if (while_there && !access(while_there, F_OK))
		return true;
	if (!number || __atomic_sub_fetch(&number, 1, __ATOMIC_RELAXED))
		return false;
	return write(STDERR_FILENO, said, sizeof(said) - 1) > 0;
}

void *malloc(size_t bytes)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(old, bytes);
}
