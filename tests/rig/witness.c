// SPDX-License-Identifier: Apache-2.0
/*
 * witness - where did the drives' DMA go?
 *
 * Reads the emulator's trace of NVMe commands and adds up, for reads (the drive writes memory) and
 * writes (the drive reads memory), the bytes mapped inside each named area of physical memory. It is
 * told what to expect, and fails when the trace says otherwise.
 *
 * How a line is classified: the emulator handles one command at a time, so the pci_nvme_map_addr lines
 * after a pci_nvme_read or pci_nvme_write line are that command's data. Any other command (admin,
 * compare, dataset management) ends that; its mappings count as "other" and are never taken for data.
 * pci_nvme_map_addr_cmb repeats the line before it, for a drive's own CMB: ignored.
 *
 * A trace shows where a drive was told to put the data. With an IOMMU these are not physical addresses.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_MISMATCH = 4, EXIT_WRONG_USE = 2 };
enum { MAX_AREAS = 16, MAX_EXPECTATIONS = 32, NAME_LEN = 32 };

enum direction { DIR_READ, DIR_WRITE, DIR_OTHER, DIRECTIONS };

static const char *const direction_names[DIRECTIONS] = { "read", "write", "other" };

struct area {
	char name[NAME_LEN];
	uint64_t start, len_bytes;
	uint64_t mapped_bytes[DIRECTIONS];
};

struct expectation {
	bool in_direction[DIRECTIONS];
	char area[NAME_LEN];
	uint64_t bytes;
};

struct witness {
	/* areas[0] is "elsewhere": what no other area holds. */
	struct area areas[MAX_AREAS];
	size_t area_count;
	struct expectation expectations[MAX_EXPECTATIONS];
	size_t expectation_count;
	uint64_t commands[DIRECTIONS];
	enum direction current;
};

static const char usage_text[] =
	"usage: witness [OPTION...]\n"
	"\n"
	"Adds up the bytes that NVMe commands moved to and from areas of memory, and checks them.\n"
	"\n"
	"  --trace FILE              the emulator's trace (default /mnt/lab/trace.log)\n"
	"  --map FILE                areas, one \"NAME START LENGTH\" a line, as labctl map prints them\n"
	"  --bar NAME=START+LENGTH   one more area\n"
	"  --expect-read AREA=BYTES  NVMe reads must have put exactly BYTES there\n"
	"  --expect-write AREA=BYTES NVMe writes must have fetched exactly BYTES from there\n"
	"  --expect-ram BYTES        reads and writes together, in the area \"ram\"\n"
	"  --json                    print JSON\n"
	"\n"
	"BYTES takes K, M and G (powers of 1024). The area \"elsewhere\" is what no other one holds.\n"
	"Exit status: 0 as expected, 1 cannot read the trace, 2 wrong use, 4 not as expected.\n";

static void wrong_use(const char *what, const char *value)
{
	fprintf(stderr, "witness: %s '%s'\n%s", what, value, usage_text);
	exit(EXIT_WRONG_USE);
}

static uint64_t parse_bytes(const char *text)
{
	static const char suffixes[] = "KMG";
	const char *suffix;
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno || end == text)
		wrong_use("not a number of bytes:", text);
	if (!*end)
		return value;
	suffix = strchr(suffixes, *end);
	if (!suffix || end[1])
		wrong_use("not a number of bytes:", text);
	return value << (10 * (suffix - suffixes + 1));
}

static struct area *find_area(struct witness *w, const char *name)
{
	for (size_t i = 0; i < w->area_count; i++)
		if (!strcmp(w->areas[i].name, name))
			return &w->areas[i];
	return NULL;
}

static void add_area(struct witness *w, const char *name, uint64_t start, uint64_t len_bytes)
{
	struct area *area = &w->areas[w->area_count];

	if (w->area_count == MAX_AREAS || find_area(w, name))
		wrong_use("too many areas, or twice the same:", name);
	if (strlen(name) >= sizeof(area->name))
		wrong_use("name too long:", name);
	strcpy(area->name, name);
	area->start = start;
	area->len_bytes = len_bytes;
	w->area_count++;
}

/* NAME=START+LENGTH */
static void add_bar(struct witness *w, const char *spec)
{
	char name[NAME_LEN], start[NAME_LEN], len[NAME_LEN];

	if (sscanf(spec, "%31[^=]=%31[^+]+%31s", name, start, len) != 3)
		wrong_use("not NAME=START+LENGTH:", spec);
	add_area(w, name, parse_bytes(start), parse_bytes(len));
}

static void add_map(struct witness *w, const char *path)
{
	char line[128], name[NAME_LEN], start[NAME_LEN], len[NAME_LEN];
	FILE *file = fopen(path, "re");

	if (!file)
		wrong_use("cannot read the map", path);
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%31s %31s %31s", name, start, len) != 3)
			wrong_use("not NAME START LENGTH:", line);
		add_area(w, name, parse_bytes(start), parse_bytes(len));
	}
	fclose(file);
}

/* spec is AREA=BYTES, or BYTES alone if the area is given. */
static struct expectation *expect(struct witness *w, const char *area, const char *spec)
{
	struct expectation *e = &w->expectations[w->expectation_count];
	char bytes[NAME_LEN];

	if (w->expectation_count == MAX_EXPECTATIONS)
		wrong_use("too many expectations:", spec);
	if (area)
		snprintf(e->area, sizeof(e->area), "%s", area);
	else if (sscanf(spec, "%31[^=]=%31s", e->area, bytes) != 2)
		wrong_use("not AREA=BYTES:", spec);
	e->bytes = parse_bytes(area ? spec : bytes);
	w->expectation_count++;
	return e;
}

static uint64_t overlap(const struct area *area, uint64_t start, uint64_t end)
{
	uint64_t area_end = area->start + area->len_bytes;
	uint64_t from = start > area->start ? start : area->start;
	uint64_t to = end < area_end ? end : area_end;

	return from < to ? to - from : 0;
}

static void account(struct witness *w, uint64_t addr, uint64_t len_bytes)
{
	uint64_t left = len_bytes;

	for (size_t i = 1; i < w->area_count; i++) {
		uint64_t bytes = overlap(&w->areas[i], addr, addr + len_bytes);

		w->areas[i].mapped_bytes[w->current] += bytes;
		left -= bytes;
	}
	w->areas[0].mapped_bytes[w->current] += left;
}

static bool is_event(const char *line, const char *event)
{
	size_t len = strlen(event);

	return !strncmp(line, event, len) && line[len] == ' ';
}

static void begin(struct witness *w, enum direction direction)
{
	w->current = direction;
	w->commands[direction]++;
}

static void take_line(struct witness *w, const char *line)
{
	uint64_t addr, len_bytes;

	if (is_event(line, "pci_nvme_map_addr")) {
		if (sscanf(line, "%*s addr %" SCNx64 " len %" SCNu64, &addr, &len_bytes) == 2)
			account(w, addr, len_bytes);
	} else if (is_event(line, "pci_nvme_read")) {
		begin(w, DIR_READ);
	} else if (is_event(line, "pci_nvme_write")) {
		begin(w, DIR_WRITE);
	} else if (is_event(line, "pci_nvme_io_cmd") || is_event(line, "pci_nvme_admin_cmd")) {
		/* A read or write says so in its next line. */
		w->current = DIR_OTHER;
	}
}

static int read_trace(struct witness *w, const char *path)
{
	char line[512];
	FILE *file = fopen(path, "re");

	if (!file) {
		fprintf(stderr, "witness: %s: %s\n", path, strerror(errno));
		return -1;
	}
	while (fgets(line, sizeof(line), file))
		take_line(w, line);
	fclose(file);
	return 0;
}

static void print_table(const struct witness *w)
{
	printf("%-12s %16s %16s %16s\n", "bytes", "read", "write", "other");
	for (size_t i = 0; i < w->area_count; i++) {
		const uint64_t *mapped = w->areas[i].mapped_bytes;

		printf("%-12s %16" PRIu64 " %16" PRIu64 " %16" PRIu64 "\n", w->areas[i].name,
		       mapped[DIR_READ], mapped[DIR_WRITE], mapped[DIR_OTHER]);
	}
	printf("%-12s %16" PRIu64 " %16" PRIu64 "\n", "commands", w->commands[DIR_READ],
	       w->commands[DIR_WRITE]);
}

static void print_json(const struct witness *w)
{
	printf("{\"commands\":{\"read\":%" PRIu64 ",\"write\":%" PRIu64 "},\"bytes\":{",
	       w->commands[DIR_READ], w->commands[DIR_WRITE]);
	for (int d = 0; d < DIRECTIONS; d++) {
		printf("%s\"%s\":{", d ? "," : "", direction_names[d]);
		for (size_t i = 0; i < w->area_count; i++)
			printf("%s\"%s\":%" PRIu64, i ? "," : "", w->areas[i].name,
			       w->areas[i].mapped_bytes[d]);
		printf("}");
	}
	printf("}}\n");
}

static bool is_met(struct witness *w, const struct expectation *e)
{
	const struct area *area = find_area(w, e->area);
	uint64_t bytes = 0;

	if (!area)
		wrong_use("expectation of an unknown area:", e->area);
	for (int d = 0; d < DIRECTIONS; d++)
		bytes += e->in_direction[d] ? area->mapped_bytes[d] : 0;
	if (bytes == e->bytes)
		return true;
	fprintf(stderr, "witness: %s%s%s: expected %" PRIu64 " bytes, the trace has %" PRIu64 "\n",
		e->area, e->in_direction[DIR_READ] ? " read" : "",
		e->in_direction[DIR_WRITE] ? " write" : "", e->bytes, bytes);
	return false;
}

static bool all_met(struct witness *w)
{
	bool met = true;

	for (size_t i = 0; i < w->expectation_count; i++)
		met = is_met(w, &w->expectations[i]) && met;
	return met;
}

struct options {
	const char *trace;
	bool json;
};

static const struct option long_options[] = {
	{ "trace", required_argument, NULL, 't' },
	{ "map", required_argument, NULL, 'm' },
	{ "bar", required_argument, NULL, 'b' },
	{ "expect-read", required_argument, NULL, 'r' },
	{ "expect-write", required_argument, NULL, 'w' },
	{ "expect-ram", required_argument, NULL, 'R' },
	{ "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static void take_option(struct witness *w, struct options *options, int option)
{
	struct expectation *e;

	switch (option) {
	case 't':
		options->trace = optarg;
		break;
	case 'm':
		add_map(w, optarg);
		break;
	case 'b':
		add_bar(w, optarg);
		break;
	case 'r':
		expect(w, NULL, optarg)->in_direction[DIR_READ] = true;
		break;
	case 'w':
		expect(w, NULL, optarg)->in_direction[DIR_WRITE] = true;
		break;
	case 'R':
		e = expect(w, "ram", optarg);
		e->in_direction[DIR_READ] = e->in_direction[DIR_WRITE] = true;
		break;
	case 'j':
		options->json = true;
		break;
	case 'h':
		fputs(usage_text, stdout);
		exit(EXIT_SUCCESS);
	default:
		fputs(usage_text, stderr);
		exit(EXIT_WRONG_USE);
	}
}

int main(int argc, char **argv)
{
	static struct witness w = { .current = DIR_OTHER };
	struct options options = { .trace = "/mnt/lab/trace.log" };
	int option;

	add_area(&w, "elsewhere", 0, 0);
	while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1)
		take_option(&w, &options, option);
	if (optind < argc)
		wrong_use("unexpected argument", argv[optind]);
	if (read_trace(&w, options.trace))
		return EXIT_FAILURE;
	(options.json ? print_json : print_table)(&w);
	if (fflush(stdout) || ferror(stdout)) {
		perror("witness: stdout");
		return EXIT_FAILURE;
	}
	return all_met(&w) ? EXIT_SUCCESS : EXIT_MISMATCH;
}
