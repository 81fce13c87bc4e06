/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For fuzz.c: the module's coverage, as the kernel shows it to each thread (KCOV): which places follow one another, and
 * which functions were entered. What the module does in a work item or an interrupt is not seen.
 */
#include <ctype.h>
#include <err.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#define KCOV_INIT_TRACE	_IOR('c', 1, unsigned long)
#define KCOV_ENABLE	_IO('c', 100)
#define KCOV_DISABLE	_IO('c', 101)
#define KCOV_TRACE_PC	0
#define KCOV_WORDS	(64UL << 10)
#define MAP_BITS	(1U << 16)
#define FUNCTIONS_MAX	8192

/* Pairs of places that were seen. */
static unsigned char seen[MAP_BITS];

/*
 * Functions of all modules by address: another one may lie right behind ours. What the compiler made of a function
 * ("f.cold") counts for that one.
 */
static struct function {
	uint64_t address;
	char name[56];
	bool ours;
	int reached;
} functions[FUNCTIONS_MAX];
static unsigned int function_count;

static int by_address(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static void read_functions(void)
{
	FILE *symbols = fopen("/proc/kallsyms", "r");
	char line[256], type, name[128];
	uint64_t address;

	while (symbols && fgets(line, sizeof(line), symbols) && function_count < FUNCTIONS_MAX) {
		if (!strchr(line, '[') || sscanf(line, "%" SCNx64 " %c %127s", &address, &type, name) != 3 ||
		    tolower(type) != 't' || !strncmp(name, "__", 2))
			continue;
		name[strcspn(name, ".")] = '\0';
		functions[function_count].ours = strstr(line, "[p2pmem]");
		functions[function_count].address = address;
		snprintf(functions[function_count++].name, sizeof(functions->name), "%.55s", name);
	}
	if (symbols)
		fclose(symbols);
	qsort(functions, function_count, sizeof(*functions), by_address);
}

/* Ours that a place lies in, or NULL. The last one of all is taken to have a page at most. */
static struct function *function_at(uint64_t place)
{
	unsigned int from = 0, to = function_count;

	while (to - from > 1) {
		unsigned int middle = (from + to) / 2;

		if (functions[middle].address <= place)
			from = middle;
		else
			to = middle;
	}
	if (!function_count || place < functions[from].address || place >= functions[function_count - 1].address + 4096)
		return NULL;
	return functions[from].ours ? &functions[from] : NULL;
}

static bool is_reached(const char *name)
{
	unsigned int i;

	for (i = 0; i < function_count; i++)
		if (functions[i].reached && !strcmp(functions[i].name, name))
			return true;
	return false;
}

/* Is the one at @i the first of ours by that name? */
static bool counts(unsigned int i)
{
	unsigned int k;

	for (k = 0; k < i; k++)
		if (functions[k].ours && !strcmp(functions[k].name, functions[i].name))
			return false;
	return functions[i].ours;
}

/* How many functions of the module were entered, of how many, and the names of the others. */
static void print_functions(void)
{
	unsigned int i, all = 0, reached = 0;

	for (i = 0; i < function_count; i++) {
		if (!counts(i))
			continue;
		all++;
		reached += is_reached(functions[i].name);
	}
	printf("fuzz: %u of %u functions of the module entered; not:", reached, all);
	for (i = 0; i < function_count; i++)
		if (counts(i) && !is_reached(functions[i].name))
			printf(" %s", functions[i].name);
	puts("");
}

/* -v: says so, and with it which program of the corpus was the first to get there. */
static bool names_functions;

static void found_function(const char *name)
{
	if (names_functions)
		printf("fuzz: enters %s\n", name);
}

/* For the thread that calls it. */
static void open_coverage(struct worker *w)
{
	w->kcov = open("/sys/kernel/debug/kcov", O_RDWR | O_CLOEXEC);
	if (w->kcov < 0)
		return;
	if (ioctl(w->kcov, KCOV_INIT_TRACE, KCOV_WORDS))
		err(1, "KCOV_INIT_TRACE");
	w->cover = mmap(NULL, KCOV_WORDS * sizeof(*w->cover), PROT_READ | PROT_WRITE, MAP_SHARED, w->kcov, 0);
	if (w->cover == MAP_FAILED || ioctl(w->kcov, KCOV_ENABLE, KCOV_TRACE_PC))
		err(1, "KCOV_ENABLE");
}

/* Pairs of places that follow one another; how many of them nobody saw before. */
static unsigned int new_coverage(struct worker *w)
{
	uint64_t count = __atomic_load_n(&w->cover[0], __ATOMIC_RELAXED), i, last = 0;
	unsigned int found = 0;

	for (i = 1; i <= count && i < KCOV_WORDS; i++) {
		struct function *f = function_at(w->cover[i]);
		unsigned int at = (w->cover[i] * 0x9e3779b1u ^ last) % MAP_BITS;

		last = w->cover[i] * 0x9e3779b1u >> 1;
		if (!__atomic_exchange_n(&seen[at], 1, __ATOMIC_RELAXED))
			found++;
		if (f && !__atomic_exchange_n(&f->reached, 1, __ATOMIC_RELAXED))
			found_function(f->name);
	}
	return found;
}
