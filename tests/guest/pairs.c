// SPDX-License-Identifier: Apache-2.0
/*
 * Two processes on one open file of a region, in every pair of calls (pairs_calls.h): one of them, or both, are killed
 * at any moment, and start anew. Beside them a victim, another user, opens the region, fills its memory, looks at it
 * and closes, again and again: so memory changes hands. In some rounds the region's function is reset, in others the
 * region is removed.
 * LIBS: -luring
 *
 *	pairs [-s SEED] [-t SECONDS] [-a] [-p CALL:CALL] [-r ROUND] [-R FILE] [-e] [-m] [-o NODE] NODE DRIVE
 *
 * Nobody sees another's byte, nor one of an earlier file; LOCATE stays true; each error is one that the call has; and
 * after each round all memory is back. Time bounds only the rounds: each call has one at least, as has each kind of
 * round; with -a each pair.
 *
 *	-R FILE  to write to for a reset of the function        -e  removes the region, and adds it again
 *	-o NODE  of another region, for the other end of COPY   -m  memory whose accesses are slow: less of each
 *	-p, -r   rounds of this pair only; this round only, again and again
 *
 * A round's calls, offsets, sizes and the moments of its kills come from SEED and its number; a moment is a part of the
 * time that the call took before. What the two have done by then is up to the scheduler. DRIVE is overwritten.
 */
#define _GNU_SOURCE
#include <err.h>
#include <grp.h>
#include <sched.h>
#include <setjmp.h>
#include <sys/stat.h>
#include "pairs_words.h"
#include "pairs_calls.h"

#define CHUNK		(2UL << 20)
#define CONTROL		"/dev/p2pmem_control"
#define VICTIM_UID	61000
#define ROUND_UID	20000	/* and above: no round's bytes are kept for the next one's */
#define ROUND_UIDS	40000
/* The limit of a wait for something that must come: longer than even a host that stalls now and then needs. */
#define PATIENCE_S	60

static struct {
	uint64_t seed;
	unsigned int seconds;
	bool all, ends, slow;
	const char *pair, *reset, *other, *node, *drive;
	uint64_t only;
} options = { .seed = 1, .seconds = 10, .only = UINT64_MAX };

/* The region as it is now; root's file holds all of it but the window. */
static struct {
	struct p2pmem_info info;
	int holder;
	gid_t group;
	uint64_t window, window_bytes, free_bytes, other_bytes;
} region;

static int drive, memory, other_asked = -1;
static pid_t victim;

static const char *telling(void)
{
	while (shared->failing == TELLING)
		nap_ns(1000000);
	return shared->failing ? shared->failure : NULL;
}

static void become(uid_t uid)
{
	close(region.holder);
	if (setgroups(1, &region.group) || setgid(uid) || setuid(uid))
		broken("no user %u: %s", uid, strerrorname_np(errno));
}

/* --- the region --- */

static struct p2pmem_info info_of(int fd)
{
	struct p2pmem_info info = { .size = sizeof(info) };

	if (ioctl(fd, P2PMEM_IOC_INFO, &info))
		err(2, "INFO");
	return info;
}

static void hold(uint64_t from, uint64_t to)
{
	struct p2pmem_claim claim = { .size = sizeof(claim), .region_offset = from, .file_offset = from, .length = to - from };

	if (to > from && ioctl(region.holder, P2PMEM_IOC_CLAIM, &claim))
		err(2, "CLAIM of %#" PRIx64 " to %#" PRIx64, from, to);
}

/* The window has chunks, and single pages behind them, so that a large mapping has some of each. */
static void hold_all_but_a_window(void)
{
	uint64_t whole = options.slow ? 1 : 4, in_pieces = options.slow ? 2 : 8, page, at;

	region.holder = open(options.node, O_RDWR | O_CLOEXEC);
	if (region.holder < 0)
		err(2, "%s", options.node);
	region.info = info_of(region.holder);
	region.window = region.info.region_bytes / 2 / CHUNK * CHUNK;
	region.window_bytes = (whole + in_pieces) * CHUNK;
	at = region.window + whole * CHUNK;
	hold(0, region.window);
	for (page = 0; page < in_pieces * CHUNK / PAGE; page += 2)
		hold(at + page * PAGE, at + (page + 1) * PAGE);
	hold(region.window + region.window_bytes, region.info.region_bytes);
	region.free_bytes = info_of(region.holder).available_bytes;
	if (region.free_bytes != whole * CHUNK + in_pieces * CHUNK / 2)
		errx(2, "%s: somebody else has memory of it", options.node);
}

/* Adds the region again as it was, under the same name. */
static void add_again(void)
{
	struct p2pmem_region_add add = {
		.size = sizeof(add), .kind = region.info.kind, .pci_domain = region.info.pci_domain,
		.pci_bus = region.info.pci_bus, .pci_devfn = region.info.pci_devfn, .bar = region.info.bar,
		.page_type = region.info.page_type, .memtype = region.info.memtype,
	};
	int control = open(CONTROL, O_RDWR | O_CLOEXEC);

	close(region.holder);
	if (control < 0 || ioctl(control, P2PMEM_CTL_REGION_ADD, &add))
		err(2, "the region is not added again: %s", add.reason);
	close(control);
	if (chown(options.node, 0, region.group) || chmod(options.node, 0660))
		err(2, "%s", options.node);
	hold_all_but_a_window();
}

static void remove_region(void)
{
	struct p2pmem_region_remove request = { .size = sizeof(request) };
	int control = open(CONTROL, O_RDWR | O_CLOEXEC);

	sscanf(region.info.name, "p2pmem%u", &request.region);
	if (control < 0 || ioctl(control, P2PMEM_CTL_REGION_REMOVE, &request))
		broken("removal: %s, %s", strerrorname_np(errno), request.reason);
	close(control);
}

static void reset_function(void)
{
	int fd = open(options.reset, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "1", 1) != 1)
		err(2, "%s", options.reset);
	close(fd);
}

/* --- the victim --- */

static sigjmp_buf fault;

static void on_fault(int number)
{
	(void)number;
	siglongjmp(fault, 1);
}

struct cycle {
	unsigned long number, ended;
	int fd;
	uint64_t *map, pages;
};

/* A reset, or the end of the region, has not been over when the cycle began. */
static bool disturbed(const struct cycle *c)
{
	return shared->begun != c->ended;
}

/* Bytes may be lost then, and none are another's. */
static bool lost(const struct cycle *c, uint64_t word)
{
	return (word == ONES || word == IN_FLIGHT || !word) && disturbed(c);
}

static void victim_looks(const struct cycle *c, const char *where, const uint64_t *words, uint64_t page, bool written)
{
	uint64_t expected = written ? victim_word(c->number, page) : 0;
	unsigned int i;

	for (i = 0; i < WORDS; i++) {
		uint64_t word = ((const volatile uint64_t *)words)[i];

		if (word != expected && !lost(c, word))
			broken("the victim, in %s: page %" PRIu64 " of %" PRIu64 ", word %u: expected %#" PRIx64
			       ", seen %#" PRIx64, where, page, c->pages, i, expected, word);
	}
}

static void victim_reads(const struct cycle *c)
{
	uint64_t words[WORDS], page = c->number % c->pages;

	if (pread(c->fd, words, PAGE, (off_t)(page * PAGE)) == (ssize_t)PAGE)
		victim_looks(c, "what it reads", words, page, true);
	else if (!disturbed(c))
		broken("the victim's read: %s", strerrorname_np(errno));
}

static void victim_uses(const struct cycle *c)
{
	uint64_t page;
	unsigned int i;

	for (page = 0; page < c->pages; page++) {
		uint64_t *words = c->map + page * WORDS;

		victim_looks(c, "what nobody wrote", words, page, false);
		for (i = 0; i < WORDS; i++)
			((volatile uint64_t *)words)[i] = victim_word(c->number, page);
	}
	victim_reads(c);
	for (page = 0; page < c->pages; page++)
		victim_looks(c, "what it wrote", c->map + page * WORDS, page, true);
}

/* Mostly few pages, which quickly meet memory that another process has just lost. */
static uint64_t victim_pages(uint64_t *random)
{
	static const uint64_t most[] = { 1, 4, 16, 16, 16, 16, 300, 1500 };

	return 1 + below(random, most[below(random, options.slow ? 6 : 8)]);
}

/* Uses loads and stores; a fault can only mean the end of the region. */
static void victim_cycle(struct cycle *c, uint64_t *random)
{
	volatile bool mapped = false;

	c->ended = shared->ended;
	c->fd = open(options.node, O_RDWR | O_CLOEXEC);
	if (c->fd < 0)
		return;
	c->pages = victim_pages(random);
	c->map = mmap(NULL, c->pages * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd, 0);
	mapped = c->map != MAP_FAILED;
	if (mapped && sigsetjmp(fault, 1)) {
		if (!disturbed(c))
			broken("the victim: SIGBUS, while the region stays");
	} else if (mapped) {
		victim_uses(c);
	}
	if (mapped)
		munmap(c->map, c->pages * PAGE);
	close(c->fd);
}

static void be_victim(void)
{
	struct sigaction action = { .sa_handler = on_fault };
	uint64_t random = options.seed;
	struct cycle c = { 0 };

	become(VICTIM_UID);
	sigaction(SIGBUS, &action, NULL);
	while (!shared->over) {
		shared->paused = shared->pause;
		if (shared->paused) {
			nap_ns(100000);
			continue;
		}
		c.number = ++shared->cycles;
		victim_cycle(&c, &random);
	}
	_exit(0);
}

static void start_victim(void)
{
	victim = fork();
	if (!victim)
		be_victim();
	if (victim < 0)
		err(2, "fork");
}

static void let_victim_go(void)
{
	shared->pause = false;
	while (shared->paused)
		nap_ns(100000);
}

/* It owns nothing then. */
static void stop_victim(void)
{
	shared->pause = true;
	while (!shared->paused && !shared->failing)
		nap_ns(100000);
}

/* --- a round --- */

struct round {
	uint64_t number, random;
	unsigned int call[2];
	bool resets, ends;
};

/* No access to a mapping may fail while the region stays. */
static void on_attackers_fault(int number)
{
	(void)number;
	if (shared->ends)
		_exit(0);
	broken("an attacker: SIGBUS, while the region stays");
}

static void attack(struct attacker *a)
{
	struct sigaction action = { .sa_handler = on_attackers_fault };
	uint64_t from, took, before;

	sigaction(SIGBUS, &action, NULL);
	shared->ready++;
	while (!shared->go)
		sched_yield();
	from = now_ns();
	calls[a->call].make(a);
	took = now_ns() - from;
	/* Decays slowly, since a short call may only have had little to do. */
	before = shared->took_ns[a->call] / 8 * 7;
	shared->took_ns[a->call] = took > before ? took : before;
	while (!shared->stop) {
		shared->made[a->call]++;
		calls[a->call].make(a);
	}
	_exit(0);
}

static pid_t start_attacker(struct round *round, unsigned int call, const struct attacker *common)
{
	struct attacker a = *common;
	pid_t pid;

	a.call = call;
	a.random = next(&round->random);
	pid = fork();
	if (!pid)
		attack(&a);
	if (pid < 0)
		err(2, "fork");
	return pid;
}

/* At a moment of the first call that it makes. */
static uint64_t when(struct round *round, unsigned int call)
{
	return shared->took_ns[call] * below(&round->random, 1000) / 1000;
}

static void kill_and_wait(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Waits a moment, in which memory of killed processes is freed and gets other owners. */
static void let_memory_change_hands(void)
{
	unsigned long cycle = shared->cycles;
	int naps;

	for (naps = 0; naps < 20 && shared->cycles < cycle + 2; naps++)
		nap_ns(500000);
}

static void end_attacker(pid_t pid, unsigned int call)
{
	int status;

	waitpid(pid, &status, 0);
	if (WIFSIGNALED(status))
		broken("%s: expected no signal, seen %s", call_name(call), strsignal(WTERMSIG(status)));
}

static void open_files(struct round *round, struct attacker *a)
{
	a->node = options.node;
	a->window = region.window;
	a->window_bytes = region.window_bytes;
	a->drive = drive;
	a->memory = memory;
	a->file = open(options.node, O_RDWR | O_CLOEXEC);
	a->other = open(options.other && below(&round->random, 2) ? options.other : options.node, O_RDWR | O_CLOEXEC);
	if (a->file < 0 || a->other < 0 || pipe2(a->pipe, O_NONBLOCK | O_CLOEXEC))
		broken("%s: %s", options.node, strerrorname_np(errno));
	if (below(&round->random, 2))
		write_bytes(a, a->file, 0, MOVED_PAGES * PAGE);
}

#define KILLS	4

/* Again and again, while the other one goes on; the file is what both left behind. */
static void kill_some(struct round *round, const struct attacker *a, pid_t *pid)
{
	unsigned int victims = round->number < CALLS ? 0 : below(&round->random, 3), i, kills;

	for (kills = 0; kills < KILLS; kills++) {
		i = victims < 2 ? victims : kills % 2;
		nap_ns(when(round, round->call[i]));
		kill_and_wait(pid[i]);
		if (victims == 2)
			kill_and_wait(pid[!i]);
		let_memory_change_hands();
		pid[i] = start_attacker(round, round->call[i], a);
		if (victims == 2)
			pid[!i] = start_attacker(round, round->call[!i], a);
	}
}

/* Pages in the pipe outlive the files, and must not get another owner yet. */
static void outlive_files(struct attacker *a)
{
	close(a->file);
	close(a->other);
	let_memory_change_hands();
	while (look_into_pipe(a))
		;
}

/* The files' opener, and parent of the two. */
static void run_round(struct round *round)
{
	struct attacker a = { .call = round->call[0] };
	pid_t pid[2];
	int i;

	become(ROUND_UID + round->number % ROUND_UIDS);
	open_files(round, &a);
	for (i = 0; i < 2; i++)
		pid[i] = start_attacker(round, round->call[i], &a);
	while (shared->ready < 2)
		sched_yield();
	shared->go = true;
	kill_some(round, &a, pid);
	while (round->resets && !shared->event_over)
		nap_ns(100000);
	shared->stop = true;
	for (i = 0; i < 2; i++)
		end_attacker(pid[i], round->call[i]);
	outlive_files(&a);
	_exit(0);
}

/* Resets or removes the region while the attackers work. */
static void make_event(struct round *round)
{
	if (!round->resets && !round->ends)
		return;
	while (!shared->go && !shared->failing)
		sched_yield();
	nap_ns(below(&round->random, 3000000));
	shared->begun++;
	if (round->resets)
		reset_function();
	else
		remove_region();
	shared->event_over = true;
}

/* A region that was removed is there again, and the victim has no file of the old one. */
static void end_event(const struct round *round)
{
	if (round->ends)
		add_again();
	shared->ended = shared->begun;
}

static bool all_is_back(void)
{
	return info_of(region.holder).available_bytes == region.free_bytes &&
	       (other_asked < 0 || info_of(other_asked).available_bytes == region.other_bytes);
}

/* Memory that pages of a pipe or a drive held is freed a moment after the last of them. */
static void expect_all_back(void)
{
	uint64_t from = now_ns(), ns = 100000;

	while (!all_is_back()) {
		if (now_ns() - from > PATIENCE_S * 1000000000ULL)
			broken("memory: expected %#" PRIx64 " bytes to be back after the round, seen %#" PRIx64, region.free_bytes,
			       (uint64_t)info_of(region.holder).available_bytes);
		nap_ns(ns);
		ns = ns < 10000000 ? 2 * ns : ns;
	}
}

static void begin_round(const struct round *round)
{
	unsigned int i;

	shared->number = round->number;
	shared->resets = round->resets;
	shared->ends = round->ends;
	shared->reads_drive = false;
	for (i = 0; i < 2; i++)
		if (calls[round->call[i]].make == direct)
			shared->reads_drive = true;
	shared->ready = 0;
	shared->go = shared->stop = shared->event_over = false;
	memset(shared->place, 0, sizeof(shared->place));
}

static void make_round(struct round *round)
{
	int status;
	pid_t pid;

	begin_round(round);
	pid = fork();
	if (!pid)
		run_round(round);
	make_event(round);
	waitpid(pid, &status, 0);
	if (!WIFEXITED(status) || (WEXITSTATUS(status) && !shared->failing))
		errx(2, "a round's processes ended with %#x", (unsigned int)status);
	stop_victim();
	end_event(round);
	if (!shared->failing)
		expect_all_back();
	let_victim_go();
}

/* --- all rounds --- */

/*
 * Each call beside the one that takes most pieces first, which is killed there: so none is left out. Then all pairs in
 * a random order.
 */
static unsigned int order(unsigned int (*pair)[2])
{
	uint64_t random = options.seed;
	unsigned int count = 0, i, j, at;

	for (i = 0; i < CALLS; i++, count++) {
		at = below(&random, count + 1);
		memcpy(pair[count], pair[at], sizeof(*pair));
		pair[at][0] = MAP_ALL;
		pair[at][1] = i;
	}
	for (i = 0; i < CALLS; i++) {
		for (j = 0; j <= i; j++, count++) {
			at = CALLS + below(&random, count - CALLS + 1);
			memcpy(pair[count], pair[at], sizeof(*pair));
			pair[at][0] = i;
			pair[at][1] = j;
		}
	}
	return count;
}

static void only_pair(unsigned int *call)
{
	const char *colon = strchrnul(options.pair, ':');

	call[0] = call_named(options.pair, colon - options.pair);
	call[1] = *colon ? call_named(colon + 1, strlen(colon + 1)) : CALLS;
	if (call[0] == CALLS || call[1] == CALLS)
		errx(2, "'%s' is no pair of calls", options.pair);
}

#define EACH_RESETS	8
#define EACH_ENDS	64

static void make_up(struct round *round, uint64_t number, unsigned int (*pair)[2], unsigned int pairs)
{
	round->number = number;
	round->random = options.seed * 1000003 + number;
	memcpy(round->call, pair[number % pairs], sizeof(round->call));
	if (options.pair)
		only_pair(round->call);
	round->ends = options.ends && number % EACH_ENDS == 5;
	round->resets = options.reset && !round->ends && number % EACH_RESETS == 3;
}

static void tell(const struct round *round)
{
	printf("WRONG: seed %" PRIu64 ", round %" PRIu64 "%s, %s beside %s: %s\n", options.seed, round->number,
	       round->resets ? " with a reset" : round->ends ? " with a removal" : "", call_name(round->call[0]),
	       call_name(round->call[1]), telling());
	printf("again: pairs -s %" PRIu64 " -r %" PRIu64 " -t 60%s%s%s%s%s%s %s %s\n", options.seed, round->number,
	       options.reset ? " -R " : "", options.reset ?: "", options.ends ? " -e" : "", options.slow ? " -m" : "",
	       options.other ? " -o " : "", options.other ?: "", options.node, options.drive);
}

/* How many of each call were made, and how many of its steps worked. */
static void count(uint64_t rounds)
{
	unsigned int i;

	for (i = 0; i < CALLS; i++)
		printf("pairs: %s: %lu, %lu worked\n", call_name(i), (unsigned long)shared->made[i],
		       (unsigned long)shared->worked[i]);
	printf("pairs: seed %" PRIu64 ", %" PRIu64 " rounds, %lu events, %lu cycles of the victim\n", options.seed, rounds,
	       (unsigned long)shared->begun, (unsigned long)shared->cycles);
}

static int make_rounds(void)
{
	static unsigned int pair[CALLS_MAX + CALLS_MAX * CALLS_MAX][2];
	unsigned int pairs = order(pair), least = options.all ? pairs : CALLS;
	uint64_t until = now_ns() + options.seconds * 1000000000ULL, rounds;
	bool once = options.only != UINT64_MAX || options.pair;

	for (rounds = 0; now_ns() < until || (!once && rounds < least); rounds++) {
		struct round round;

		make_up(&round, options.only != UINT64_MAX ? options.only : rounds, pair, pairs);
		make_round(&round);
		if (telling()) {
			tell(&round);
			return 4;
		}
	}
	count(rounds);
	return 0;
}

/* Bytes for a drive to give, and a file in DRAM for rings to move bytes to. */
static void prepare(void)
{
	static uint64_t page[64 * WORDS] __attribute__((aligned(PAGE)));
	unsigned int i;

	for (i = 0; i < 64 * WORDS; i++)
		page[i] = of_byte(DRIVE_BYTE);
	drive = open(options.drive, O_RDWR | O_DIRECT | O_CLOEXEC);
	if (drive < 0 || pwrite(drive, page, sizeof(page), 0) != sizeof(page))
		err(2, "%s", options.drive);
	memory = memfd_create("pairs", MFD_CLOEXEC);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory < 0 || shared == MAP_FAILED)
		err(2, "memory");
	for (i = 0; i < CALLS; i++)
		shared->took_ns[i] = 1000000;
}

static void ask_region(void)
{
	struct stat node;

	if (stat(options.node, &node))
		err(2, "%s", options.node);
	region.group = node.st_gid;
	hold_all_but_a_window();
	if (!options.other)
		return;
	other_asked = open(options.other, O_RDONLY | O_CLOEXEC);
	if (other_asked < 0)
		err(2, "%s", options.other);
	region.other_bytes = info_of(other_asked).available_bytes;
}

static void read_options(int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "s:t:ap:r:R:emo:")) != -1) {
		switch (option) {
		case 's': options.seed = strtoull(optarg, NULL, 0); break;
		case 't': options.seconds = strtoul(optarg, NULL, 0); break;
		case 'a': options.all = true; break;
		case 'p': options.pair = optarg; break;
		case 'r': options.only = strtoull(optarg, NULL, 0); break;
		case 'R': options.reset = optarg; break;
		case 'e': options.ends = true; break;
		case 'm': options.slow = true; break;
		case 'o': options.other = optarg; break;
		default: exit(2);
		}
	}
	if (argc - optind != 2)
		errx(2, "wants a node and a drive");
	options.node = argv[optind];
	options.drive = argv[optind + 1];
}

int main(int argc, char **argv)
{
	int result;

	read_options(argc, argv);
	prepare();
	ask_region();
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("pairs: seed %" PRIu64 ", %u calls\n", options.seed, CALLS);
	start_victim();
	result = make_rounds();
	shared->over = true;
	waitpid(victim, NULL, 0);
	return result;
}
