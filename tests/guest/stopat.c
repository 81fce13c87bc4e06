// SPDX-License-Identifier: Apache-2.0
/*
 * stopat OBJECT SYMBOL COUNT COMMAND... - runs COMMAND, stops it where one of its threads enters SYMBOL of the file OBJECT
 * for the COUNT-th time, and then writes "stopped", a line of its own, to stdout: behind whatever COMMAND wrote there. From
 * then on no thread of it runs, until this program is killed and COMMAND with it. If COMMAND ends before, its status is
 * this program's.
 *
 * A debug register of each thread has the address: the program under test is not changed, runs at full speed up to there,
 * and has not begun the function when it stops. Workers of io_uring have no tracer, and go on with what was submitted.
 *
 * OBJECT is the program or a library that it is linked with, and must have its symbols.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_THREADS	256U

static pid_t threads[MOST_THREADS];
static unsigned int thread_count;
static uint64_t address;		/* in every thread's debug register */
static pid_t program;

/* ---- where it is ---- */

static const char *map_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat stat;
	void *bytes;

	if (fd < 0 || fstat(fd, &stat))
		err(2, "%s", path);
	bytes = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		err(2, "%s", path);
	close(fd);
	return bytes;
}

static uint64_t value_of(const char *file, const char *symbol)
{
	const Elf64_Ehdr *head = (const void *)file;
	const Elf64_Shdr *sections = (const void *)(file + head->e_shoff);

	for (unsigned int i = 0; i < head->e_shnum; i++) {
		const Elf64_Sym *symbols = (const void *)(file + sections[i].sh_offset);
		const char *names = file + sections[sections[i].sh_link].sh_offset;

		if (sections[i].sh_type != SHT_SYMTAB)
			continue;
		for (size_t at = 0; at < sections[i].sh_size / sizeof(*symbols); at++)
			if (ELF64_ST_TYPE(symbols[at].st_info) == STT_FUNC &&
			    !strcmp(names + symbols[at].st_name, symbol))
				return symbols[at].st_value;
	}
	return 0;
}

/* Returns the offset in the file at which the function begins. */
static uint64_t offset_of(const char *path, const char *symbol)
{
	const char *file = map_file(path);
	const Elf64_Ehdr *head = (const void *)file;
	const Elf64_Phdr *parts = (const void *)(file + head->e_phoff);
	uint64_t value = value_of(file, symbol);

	if (!value)
		errx(2, "%s has no function %s, or not its symbols", path, symbol);
	for (unsigned int i = 0; i < head->e_phnum; i++)
		if (parts[i].p_type == PT_LOAD && value - parts[i].p_vaddr < parts[i].p_filesz)
			return value - parts[i].p_vaddr + parts[i].p_offset;
	errx(2, "%s: %s is in no part of it", path, symbol);
}

static FILE *open_proc(const char *name)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/%s", program, name);
	file = fopen(path, "re");
	if (!file)
		err(2, "%s", path);
	return file;
}

/* Returns the address of the program's first instruction: when it is reached, all its libraries are mapped. */
static uint64_t entry(void)
{
	FILE *file = open_proc("auxv");
	uint64_t pair[2];

	while (fread(pair, sizeof(pair), 1, file) == 1)
		if (pair[0] == AT_ENTRY) {
			fclose(file);
			return pair[1];
		}
	errx(2, "auxv has no entry");
}

/* Returns the address at which that byte of the file is mapped; /proc has "START-END PERMISSIONS OFFSET DEVICE INODE PATH". */
static uint64_t mapped_at(const char *path, uint64_t offset)
{
	char *real = realpath(path, NULL), line[4096 + 128];
	FILE *maps = open_proc("maps");

	while (fgets(line, sizeof(line), maps)) {
		uint64_t start, end, from;
		char may[5], *name = strchr(line, '/');

		if (!name || sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64, &start, &end, may, &from) != 4)
			continue;
		name[strcspn(name, "\n")] = '\0';
		if (may[2] == 'x' && !strcmp(name, real) && offset >= from && offset - from < end - start) {
			fclose(maps);
			free(real);
			return start + offset - from;
		}
	}
	errx(2, "the program is not linked with %s", path);
}

/* ---- threads ---- */

static void set_register(pid_t thread, unsigned int number, uint64_t value)
{
	if (ptrace(PTRACE_POKEUSER, thread, offsetof(struct user, u_debugreg) + 8 * number, value))
		err(2, "debug register %u", number);
}

/* 1: of this task alone; what follows in it is zero: one byte, to be executed. */
static void break_at_address(pid_t thread)
{
	set_register(thread, 7, 0);
	set_register(thread, 0, address);
	set_register(thread, 7, 1);
}

static void add_thread(pid_t thread)
{
	for (unsigned int i = 0; i < thread_count; i++)
		if (threads[i] == thread)
			return;
	if (thread_count == MOST_THREADS)
		errx(2, "more than %u threads", MOST_THREADS);
	threads[thread_count++] = thread;
	if (address)
		break_at_address(thread);
}

static void remove_thread(pid_t thread)
{
	for (unsigned int i = 0; i < thread_count; i++)
		if (threads[i] == thread)
			threads[i--] = threads[--thread_count];
}

/* Did the thread stop because of the debug register, and not because of a signal to the program? */
static bool is_hit(pid_t thread, int status)
{
	siginfo_t info;

	return WSTOPSIG(status) == SIGTRAP && !(status >> 16) && !ptrace(PTRACE_GETSIGINFO, thread, 0, &info) &&
	       info.si_code == TRAP_HWBKPT;
}

static void go_on(pid_t thread, int status)
{
	/* An event is none of its signals. */
	int signal = status >> 16 ? 0 : WSTOPSIG(status);

	if (ptrace(PTRACE_CONT, thread, 0, signal) && errno != ESRCH)
		err(2, "PTRACE_CONT");
}

/* The next thread that stops, with its status; ends when the program does. */
static pid_t next_stop(int *status)
{
	for (;;) {
		pid_t thread = waitpid(-1, status, __WALL);

		if (thread < 0)
			err(2, "waitpid");
		if (WIFSTOPPED(*status)) {
			add_thread(thread);
			return thread;
		}
		remove_thread(thread);
		if (thread == program)
			exit(WIFEXITED(*status) ? WEXITSTATUS(*status) : 128 + WTERMSIG(*status));
	}
}

/* Which thread comes there, to be stopped there. */
static pid_t next_hit(void)
{
	int status;

	for (;;) {
		pid_t thread = next_stop(&status);

		if (is_hit(thread, status))
			return thread;
		go_on(thread, status);
	}
}

/* All but @stopped, which is. */
static void stop_others(pid_t stopped)
{
	int status;

	for (unsigned int i = 0; i < thread_count; i++)
		if (threads[i] != stopped && ptrace(PTRACE_INTERRUPT, threads[i], 0, 0) && errno != ESRCH)
			err(2, "PTRACE_INTERRUPT");
	/* One that was made meanwhile stays in its first stop. */
	for (unsigned int i = 0; i < thread_count; i++)
		if (threads[i] != stopped && waitpid(threads[i], &status, __WALL) < 0 && errno != ECHILD)
			err(2, "waitpid");
}

/* ---- the program ---- */

static void begin(char **command)
{
	const int options = PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
	int go[2];

	if (pipe2(go, O_CLOEXEC))
		err(2, "pipe");
	program = fork();
	if (program < 0)
		err(2, "fork");
	if (!program) {
		char byte;

		close(go[1]);
		if (read(go[0], &byte, 1) != 1)
			_exit(2);
		execvp(command[0], command);
		err(2, "%s", command[0]);
	}
	if (ptrace(PTRACE_SEIZE, program, 0, options))
		err(2, "PTRACE_SEIZE");
	if (write(go[1], "", 1) != 1)
		err(2, "pipe");
	close(go[0]);
	close(go[1]);
}

/* Runs the program until its libraries are mapped. */
static void run_to_entry(void)
{
	int status;

	while (next_stop(&status) != program || status >> 16 != PTRACE_EVENT_EXEC)
		go_on(program, status);
	address = entry();
	break_at_address(program);
	go_on(program, status);
	next_hit();
}

int main(int argc, char **argv)
{
	uint64_t offset, count;
	pid_t thread;

	if (argc < 5)
		errx(2, "usage: stopat OBJECT SYMBOL COUNT COMMAND...");
	offset = offset_of(argv[1], argv[2]);
	count = strtoull(argv[3], NULL, 10);
	begin(argv + 4);
	run_to_entry();
	address = mapped_at(argv[1], offset);
	break_at_address(program);
	for (thread = program; count; count--) {
		if (ptrace(PTRACE_CONT, thread, 0, 0))
			err(2, "PTRACE_CONT");
		thread = next_hit();
	}
	stop_others(thread);
	if (write(STDOUT_FILENO, "\nstopped\n", 9) != 9)
		err(2, "stdout");
	for (;;)
		pause();
}
