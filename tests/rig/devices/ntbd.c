// SPDX-License-Identifier: Apache-2.0
/*
 * ntbd DIR WINDOW-MIB - the lab's non-transparent bridge, as a process.
 *
 * Listens at DIR/ntb-lab.sock and DIR/ntb-peer.sock for the two machines' emulators, and at DIR/ntb.sock for commands
 * (labctl ntb): "cut", "mend", "counts". Writes to DIR/ntb.log what it moved. It ends by a signal; the lab takes any other
 * end, and an end before that of the guests, for a failure of the run. Each turn of the loop sets an alarm anew, so that
 * a hang ends the process as well.
 */
#include "control.h"
#include "ntb.h"
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WEDGED_SECONDS 60
#define TURN_MS 10000

static const char *const names[NTB_SIDES] = { "lab", "peer" };

static bool obey(void *device, const char *line, FILE *answer)
{
	struct ntb *ntb = device;

	ntb_flush(ntb);
	if (!strcmp(line, "cut"))
		ntb_cut(ntb);
	else if (!strcmp(line, "mend"))
		ntb_mend(ntb);
	else if (!strcmp(line, "counts"))
		ntb_counts(ntb, answer);
	else
		return false;
	return true;
}

static void check(int rc, const char *what)
{
	if (rc)
		errx(1, "%s: %s", what, strerror(-rc));
}

static char *path_in(const char *dir, const char *prefix, const char *name, const char *suffix)
{
	char *path;

	if (asprintf(&path, "%s/%s%s%s", dir, prefix, name, suffix) < 0)
		err(1, "asprintf");
	return path;
}

static void open_all(struct ntb *ntb, struct control *control, const char *dir, uint64_t window_bytes)
{
	char *log = path_in(dir, "ntb", "", ".log"), *words = path_in(dir, "ntb", "", ".sock");
	FILE *trace = fopen(log, "w");

	if (!trace)
		err(1, "%s", log);
	ntb_init(ntb, names, window_bytes, trace);
	for (int i = 0; i < NTB_SIDES; i++) {
		char *path = path_in(dir, "ntb-", names[i], ".sock");

		ntb->sides[i].server.log = stderr;
		check(server_listen(&ntb->sides[i].server, path), path);
		free(path);
	}
	/* The last one: who finds it finds the others. */
	check(control_listen(control, words, obey, ntb), words);
	free(words);
	free(log);
}

static void serve(struct ntb *ntb, struct control *control)
{
	struct pollfd polled[NTB_SIDES + CONTROL_CLIENTS + 1];

	for (;;) {
		int ready;

		for (int i = 0; i < NTB_SIDES; i++)
			polled[i] = server_wants(&ntb->sides[i].server);
		control_wants(control, polled + NTB_SIDES);
		alarm(WEDGED_SECONDS);
		ready = poll(polled, NTB_SIDES + CONTROL_CLIENTS + 1, TURN_MS);
		if (ready < 0 && errno != EINTR)
			err(1, "poll");
		for (int i = 0; ready > 0 && i < NTB_SIDES; i++)
			if (polled[i].revents)
				server_serve(&ntb->sides[i].server);
		if (ready > 0)
			control_serve(control, polled + NTB_SIDES);
	}
}

int main(int argc, char **argv)
{
	static struct ntb ntb;
	static struct control control;
	unsigned long window_mib = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;

	if (!window_mib || window_mib & (window_mib - 1) || window_mib > 65536)
		errx(2, "usage: ntbd DIR WINDOW-MIB, which is a power of two");
	signal(SIGPIPE, SIG_IGN);
	check(dma_catch_truncation(), "sigaction");
	open_all(&ntb, &control, argv[1], window_mib << 20);
	serve(&ntb, &control);
}
