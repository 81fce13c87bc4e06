// SPDX-License-Identifier: Apache-2.0
/*
 * Random programs against the device nodes of p2pmem (fuzz_calls.h), from several threads that share files.
 * LIBS: -luring -libverbs
 *
 *	fuzz [-s SEED] [-t SECONDS] [-j THREADS] [-c CORPUS] [-o FILE] [-d DRIVE] [-p BDF] [-v] NODE...
 *	fuzz -r FILE ...	each program of FILE once, by one thread
 *
 * With an RDMA device, memory is registered with it; with the module importer, BDF imports dma-bufs.
 *
 * Where the kernel shows the module's coverage (KCOV) a program that reaches something new is kept, changed and run
 * again, and -o writes all that were kept. A program is a line of words NAME(A,B,C,D). Each is written to the kernel's
 * log before it runs, with seed and thread: the last ones before a crash are in the console's log; put them into a file
 * for -r. The same seed makes the same programs as long as nothing was learned, which other threads may decide.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include "fuzz_calls.h"
#include "fuzz_coverage.h"

#define STEPS_MAX	16
#define THREADS_MAX	8
#define CORPUS_MAX	8192
#define LINE_BYTES	1200

struct step {
	uint32_t call;
	uint64_t arg[ARGS];
};

struct program {
	uint32_t steps;
	struct step step[STEPS_MAX];
};

static int kmsg = -1;
static uint64_t seed = 1;
static atomic_bool stop;
static _Thread_local struct worker *self;

static pthread_mutex_t corpus_lock = PTHREAD_MUTEX_INITIALIZER;
static struct program corpus[CORPUS_MAX];
static unsigned int corpus_count, learned, seen_count;

/* --- programs --- */

static uint64_t offset(struct worker *w)
{
	switch (below(w, 8)) {
	case 0: return below(w, 1UL << 29);
	case 1: return next(w) >> below(w, 64);
	case 2: return below(w, 16) << 21;
	case 3: return -(below(w, 4) * PAGE);
	default: return below(w, 32) * PAGE;
	}
}

static uint64_t number(struct worker *w, enum number kind)
{
	switch (kind) {
	case SLOT: return below(w, SLOTS);
	case FLAGS: return next(w) & 0xfff;
	case OFFSET: return offset(w);
	case LENGTH: return below(w, 4) ? (1 + below(w, 16)) * PAGE : offset(w);
	default: return next(w) >> below(w, 64);
	}
}

static void any_step(struct worker *w, struct step *step)
{
	unsigned int i, weight = 0;
	uint64_t at;

	for (i = 0; i < CALLS; i++)
		weight += calls[i].weight;
	at = below(w, weight);
	for (i = 0; at >= calls[i].weight; i++)
		at -= calls[i].weight;
	step->call = i;
	for (i = 0; i < ARGS; i++)
		step->arg[i] = number(w, calls[step->call].arg[i]);
}

/* Makes a program from the corpus with a change, or a new one. */
static void make_program(struct worker *w, struct program *p)
{
	unsigned int changes = 1 + below(w, 4), i;

	p->steps = 0;
	pthread_mutex_lock(&corpus_lock);
	if (corpus_count && below(w, 4))
		*p = corpus[below(w, corpus_count)];
	pthread_mutex_unlock(&corpus_lock);
	if (!p->steps) {
		p->steps = 4 + below(w, STEPS_MAX - 3);
		for (i = 0; i < p->steps; i++)
			any_step(w, &p->step[i]);
		return;
	}
	while (changes--) {
		struct step *step = &p->step[below(w, p->steps)];

		i = below(w, ARGS);
		if (below(w, 3))
			step->arg[i] = number(w, calls[step->call].arg[i]);
		else if (p->steps < STEPS_MAX && below(w, 2))
			any_step(w, &p->step[p->steps++]);
		else
			any_step(w, step);
	}
}

static int print_program(const struct program *p, char *text, size_t bytes)
{
	size_t at = 0;
	uint32_t i;

	for (i = 0; i < p->steps && at < bytes; i++) {
		const struct step *s = &p->step[i];

		at += snprintf(text + at, bytes - at, "%s%s(%" PRIx64 ",%" PRIx64 ",%" PRIx64 ",%" PRIx64 ")",
			       i ? " " : "", calls[s->call].name, s->arg[0], s->arg[1], s->arg[2], s->arg[3]);
	}
	return at < bytes ? (int)at : (int)bytes - 1;
}

static bool parse_program(const char *line, struct program *p)
{
	char name[16];
	int used;

	p->steps = 0;
	while (p->steps < STEPS_MAX) {
		struct step *s = &p->step[p->steps];

		if (sscanf(line, " %15[a-z_](%" SCNx64 ",%" SCNx64 ",%" SCNx64 ",%" SCNx64 ")%n", name, &s->arg[0],
			   &s->arg[1], &s->arg[2], &s->arg[3], &used) != 5)
			break;
		line += used;
		for (s->call = 0; s->call < CALLS && strcmp(calls[s->call].name, name); s->call++)
			;
		if (s->call == CALLS)
			errx(2, "no call '%s'", name);
		p->steps++;
	}
	return p->steps;
}

static void announce(const struct worker *w, const struct program *p)
{
	char text[LINE_BYTES];
	int at = snprintf(text, sizeof(text), "<7>fuzz seed %" PRIu64 " thread %u: ", seed, w->number);

	at += print_program(p, text + at, sizeof(text) - at);
	if (kmsg >= 0 && write(kmsg, text, at < 950 ? at : 950) < 0)
		kmsg = -1;
}

static void learn(struct worker *w, const struct program *p)
{
	unsigned int found;

	if (!w->cover)
		return;
	found = new_coverage(w);
	if (!found)
		return;
	pthread_mutex_lock(&corpus_lock);
	seen_count += found;
	if (corpus_count < CORPUS_MAX) {
		corpus[corpus_count++] = *p;
		learned++;
	}
	pthread_mutex_unlock(&corpus_lock);
}

/* --- running them --- */

static void on_fault(int signal_number)
{
	(void)signal_number;
	siglongjmp(self->fault, 1);
}

static void begin(struct worker *w)
{
	unsigned int i;

	for (i = 0; i < SLOTS; i++) {
		w->file[i] = w->buf[i] = w->import[i] = -1;
		w->map[i] = NULL;
		w->mr[i] = NULL;
		w->gpu_memory[i] = 0;
	}
	w->gpu = -1;
	memset(w->in_ring, 0, sizeof(w->in_ring));
	if (io_uring_queue_init(4, &w->ring, 0) || io_uring_register_buffers_sparse(&w->ring, RING_BUFFERS))
		errx(1, "io_uring");
}

static void end(struct worker *w)
{
	unsigned int i;

	join_beside(w);
	for (i = 0; i < SLOTS; i++) {
		drop_mr(w, i);
		unmap(w, i);
		if (w->import[i] >= 0)
			close(w->import[i]);
		if (w->buf[i] >= 0)
			close(w->buf[i]);
		if (w->file[i] >= 0)
			close(w->file[i]);
	}
	if (w->gpu >= 0)
		close(w->gpu);
	io_uring_queue_exit(&w->ring);
}

static void run_program(struct worker *w, const struct program *p)
{
	uint32_t i;

	announce(w, p);
	begin(w);
	if (w->cover)
		__atomic_store_n(&w->cover[0], 0, __ATOMIC_RELAXED);
	for (i = 0; i < p->steps; i++)
		calls[p->step[i].call].run(w, p->step[i].arg);
	learn(w, p);
	end(w);
	w->programs++;
}

static void *work(void *argument)
{
	struct worker *w = argument;
	struct program p;

	self = w;
	open_coverage(w);
	while (!stop) {
		make_program(w, &p);
		run_program(w, &p);
	}
	return NULL;
}

static void read_corpus(const char *path)
{
	FILE *file = fopen(path, "r");
	char line[LINE_BYTES * 2];

	if (!file)
		err(1, "%s", path);
	while (corpus_count < CORPUS_MAX && fgets(line, sizeof(line), file)) {
		if (line[0] != '#' && parse_program(line, &corpus[corpus_count]))
			corpus_count++;
	}
	fclose(file);
}

static void write_corpus(const char *path)
{
	FILE *file = fopen(path, "w");
	char text[LINE_BYTES];
	unsigned int i;

	if (!file)
		err(1, "%s", path);
	for (i = 0; i < corpus_count; i++) {
		print_program(&corpus[i], text, sizeof(text));
		fprintf(file, "%s\n", text);
	}
	if (fclose(file))
		err(1, "%s", path);
}

/* Each once: what -r asks for, and what a run with a corpus begins with. */
static void replay(struct worker *w)
{
	unsigned int count = corpus_count, i;

	self = w;
	open_coverage(w);
	for (i = 0; i < count; i++) {
		if (names_functions)
			printf("fuzz: program %u\n", i + 1);
		run_program(w, &corpus[i]);
	}
	if (w->cover)
		ioctl(w->kcov, KCOV_DISABLE, 0);
}

/* The first RDMA device, if there is one. */
static void open_verbs(void)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	struct ibv_context *device = devices && devices[0] ? ibv_open_device(devices[0]) : NULL;

	verbs = device ? ibv_alloc_pd(device) : NULL;
	if (devices)
		ibv_free_device_list(devices);
}

static void close_verbs(void)
{
	struct ibv_context *device = verbs ? verbs->context : NULL;

	if (!verbs)
		return;
	ibv_dealloc_pd(verbs);
	ibv_close_device(device);
}

static void name_peer(const char *bdf)
{
	unsigned int domain, bus, slot, function;

	if (sscanf(bdf, "%x:%x:%x.%x", &domain, &bus, &slot, &function) != 4)
		errx(2, "'%s' is no PCI function", bdf);
	peer.pci_domain = domain;
	peer.pci_bus = bus;
	peer.pci_devfn = slot << 3 | function;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_fault };
	static struct worker workers[THREADS_MAX + 1];
	const char *output = NULL;
	unsigned int threads = 3, seconds = 20, i;
	unsigned long programs = 0;
	int option;

	while ((option = getopt(argc, argv, "s:t:j:c:r:o:d:p:v")) != -1) {
		switch (option) {
		case 's': seed = strtoull(optarg, NULL, 0); break;
		case 't': seconds = atoi(optarg); break;
		case 'j': threads = atoi(optarg); break;
		case 'c': read_corpus(optarg); break;
		case 'r': read_corpus(optarg); threads = seconds = 0; break;
		case 'o': output = optarg; break;
		case 'd': drive = open(optarg, O_RDONLY | O_DIRECT | O_CLOEXEC); break;
		case 'p': name_peer(optarg); break;
		case 'v': names_functions = true; break;
		default: return 2;
		}
	}
	for (; optind < argc && node_count < NODES_MAX; optind++)
		nodes[node_count++] = argv[optind];
	if (!node_count || threads > THREADS_MAX)
		errx(2, "wants one to %d nodes, and at most %d threads", NODES_MAX, THREADS_MAX);
	shared_file = open(nodes[0], O_RDWR | O_CLOEXEC);
	if (shared_file < 0)
		err(1, "%s", nodes[0]);
	kmsg = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	sigaction(SIGBUS, &action, NULL);
	sigaction(SIGSEGV, &action, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("fuzz: seed %" PRIu64 ", %u threads, %u s, a corpus of %u\n", seed, threads, seconds, corpus_count);
	for (i = 0; i <= threads; i++) {
		workers[i].number = i;
		workers[i].random = seed * 1000003 + i;
	}
	open_verbs();
	read_functions();
	replay(&workers[0]);
	for (i = 1; i <= threads; i++)
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	sleep(seconds);
	stop = true;
	for (i = 1; i <= threads; i++)
		pthread_join(workers[i].thread, NULL);
	for (i = 0; i <= threads; i++)
		programs += workers[i].programs;
	close_verbs();
	if (output)
		write_corpus(output);
	if (workers[0].cover)
		print_functions();
	printf("fuzz: %lu raw ioctls that the module knew\n", raw_calls);
	printf("fuzz: %lu programs, %u pairs of places covered, %u programs learned\n", programs, seen_count, learned);
	return 0;
}
