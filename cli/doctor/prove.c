// SPDX-License-Identifier: Apache-2.0
/*
 * The library proves the route of each pair of a file and memory at their first request,
 * if it can without harm; so this file makes such requests.
 *
 *   read:  one block of the drive into free memory of the region.  A persistent region's
 *          last blocks serve for it, and get their bytes back.
 *   write: a nonce to --scratch, if that is on the drive, and back through DRAM.  Else the drive has to compare its
 *          block with the region's copy of it: equal, different once the CPU has
 *          changed the copy, and equal when that is undone.  This shows that the drive reads the region.
 *
 * RDMA NICs: prove_nic.c.  Signals that end a program are blocked meanwhile, so that a persistent region gets its bytes back.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compare.h"
#include "prove.h"
#include "prove_nic.h"

#define TRIES		8	/* another program may write to the block meanwhile */

/* Does the drive see the region's memory? */
enum sight {
	SIGHT_YES,
	SIGHT_DISTURBED,	/* another program wrote to the block */
	SIGHT_TOLD,		/* no, or unknown: say() was told which */
};

/* Waits for a request.  Returns how many bytes it moved, or -errno; *@done then has the device's failure, if it was one. */
static int64_t finish(struct trial *trial, int rc, struct donard_completion *done)
{
	done->error = NULL;
	if (rc)
		return rc;
	do {
		rc = donard_queue_wait(trial->queue, 1, -1, done, 1);
	} while (rc == -EINTR);
	if (rc < 0)
		return rc;
	if (done->result >= 0)
		done->error = NULL;
	return done->result;
}

static int64_t move_in(struct trial *trial, struct donard_file *file, struct donard_memory *memory,
		       struct donard_completion *done)
{
	return finish(trial, donard_queue_read(trial->queue, file, 0, memory, 0, trial->bytes, NULL), done);
}

static int64_t move_out(struct trial *trial, struct donard_file *file, struct donard_completion *done)
{
	return finish(trial, donard_queue_write(trial->queue, file, 0, trial->memory, 0, trial->bytes, NULL), done);
}

/* The file that was to be written had no room, so no byte was moved, and the route stays unknown. */
static bool had_no_room(int64_t rc)
{
	return rc == -ENOSPC || rc == -EDQUOT || rc == -EFBIG;
}

static void say_not_moved(struct trial *trial, enum direction direction, int64_t rc,
			  const struct donard_completion *done)
{
	char text[CLI_ERROR_BYTES];

	if (!done->error) {
		say_failure(trial, direction, (int)rc);
		return;
	}
	cli_in_options(done->error, text, sizeof(text));
	say(trial, direction, had_no_room(rc) ? PROOF_NOT_TRIED : PROOF_FAILED, "%s", cli_say_whose_option(text));
}

static void try_read(struct trial *trial)
{
	struct donard_completion done;
	int64_t rc = move_in(trial, trial->drive, trial->memory, &done);

	if (rc < 0)
		say_not_moved(trial, DIRECTION_READ, rc, &done);
	else if (done.evidence == DONARD_EVIDENCE_PROVEN)
		say(trial, DIRECTION_READ, PROOF_PROVEN, "%s", "");
	else
		say(trial, DIRECTION_READ, PROOF_PREDICTED, "the block was moved, but would look the same had it not arrived");
}

/*
 * Makes a file without a name, which nobody else can find, in the directory @given, or in the directory of a new file @given.
 * Returns a descriptor or -errno: -EEXIST if @given exists, even as a dangling link, and is no directory.
 */
static int make_scratch(const char *given)
{
	const int flags = O_TMPFILE | O_RDWR | O_CLOEXEC;
	const char *folder = given;
	char copy[PATH_MAX];
	struct stat st;
	int fd;

	if (!given[0])
		return -ENOENT;
	if (stat(given, &st) || !S_ISDIR(st.st_mode)) {
		if (!lstat(given, &st))
			return -EEXIST;
		snprintf(copy, sizeof(copy), "%s", given);
		folder = dirname(copy);
	}
	fd = open(folder, flags | O_DIRECT, 0600);
	if (fd < 0 && errno == EINVAL)		/* the file system refuses O_DIRECT: the library explains that better */
		fd = open(folder, flags, 0600);
	return fd < 0 ? -errno : fd;
}

static int fail_to_make(struct examination *x, int error_number)
{
	char text[CLI_ERROR_BYTES];

	snprintf(text, sizeof(text), "--scratch %s: no file can be made there: %s. Name a file, an unmounted drive or a directory "
		 "that may be written, on the drive that is to be probed.", x->request->scratch, strerror(error_number));
	return donard_fail(x->ctx, -error_number, "", text);
}

/* Names --scratch in the library's text, since the file without a name has a meaningless one. */
static int fail_with_name(struct examination *x, int rc)
{
	char text[PATH_MAX + CLI_ERROR_BYTES], why[CLI_ERROR_BYTES];

	cli_in_options(donard_error(x->ctx), why, sizeof(why));
	snprintf(text, sizeof(text), "--scratch %s: %s", x->request->scratch, why);
	return donard_fail(x->ctx, rc, donard_error_code(x->ctx), text);
}

/* Returns what donard_file_open() returns, with the failure in the context. */
static int open_scratch(struct examination *x, struct donard_file **file)
{
	int rc, fd = make_scratch(x->request->scratch);

	if (fd == -EEXIST)
		return donard_file_open(x->ctx, x->request->scratch, DONARD_FILE_WRITE, file);
	if (fd < 0)
		return fail_to_make(x, -fd);
	rc = donard_file_adopt(x->ctx, fd, file);
	close(fd);
	return rc < 0 ? fail_with_name(x, rc) : rc;
}

/* Says why no block of @file can prove a route, or "". */
static void find_doubt(const struct donard_file *file, char *text, size_t text_bytes)
{
	struct donard_file_info info = { .size = sizeof(info) };

	donard_file_info(file, &info);
	text[0] = '\0';
	if (info.bounces[0])
		snprintf(text, text_bytes, "its bytes would go through DRAM: %s. Name another place on that drive, or the drive itself "
			 "while it is not mounted", info.bounces);
	else if (info.client_count > 1)
		snprintf(text, text_bytes, "it lies on several drives, or one that several controllers serve, and nobody knows which of "
			 "them a block comes by. Name a place on one drive");
}

int prove_check_scratch(struct examination *x)
{
	struct donard_file *file;
	char doubt[CLI_ERROR_BYTES / 2], text[PATH_MAX + CLI_ERROR_BYTES];
	int rc = open_scratch(x, &file);

	if (rc < 0)
		return rc;
	find_doubt(file, doubt, sizeof(doubt));
	donard_file_close(file);
	if (!doubt[0])
		return 0;
	snprintf(text, sizeof(text), "--scratch %s: %s.", x->request->scratch, doubt);
	return donard_fail(x->ctx, -EOPNOTSUPP, "", text);
}

static bool is_on_drive(const struct trial *trial, const struct donard_file *file)
{
	const char *client = donard_file_client(file, 0);

	return client && !strcmp(client, trial->pair->client->bdf);
}

/* Reads the file through DRAM.  Returns 0 if it holds @expected, 1 if not, or -errno. */
static int64_t compare_file(struct trial *trial, struct donard_file *file, const uint8_t *expected,
			    struct donard_completion *done)
{
	struct donard_memory *dram;
	uint8_t *seen = malloc(trial->bytes);
	int64_t rc = seen ? donard_memory_dram(trial->x->ctx, trial->bytes, &dram) : -ENOMEM;

	if (!rc) {
		rc = move_in(trial, file, dram, done);
		if (rc >= 0)
			rc = donard_memory_read(dram, 0, seen, trial->bytes);
		if (!rc)
			rc = memcmp(seen, expected, trial->bytes) != 0;
		donard_memory_free(dram);
	}
	free(seen);
	return rc;
}

/* Writes a nonce from the region to the file, and reads it back through DRAM. */
static void try_write(struct trial *trial, struct donard_file *file)
{
	struct donard_completion done = { .error = NULL };
	uint8_t *nonce = malloc(trial->bytes);
	int64_t rc = -ENOMEM;

	if (nonce && getrandom(nonce, trial->bytes, 0) == (ssize_t)trial->bytes)
		rc = donard_memory_write(trial->memory, 0, nonce, trial->bytes);
	if (!rc)
		rc = move_out(trial, file, &done);
	if (rc >= 0)
		rc = compare_file(trial, file, nonce, &done);
	free(nonce);
	if (rc < 0)
		say_not_moved(trial, DIRECTION_WRITE, rc, &done);
	else if (rc)
		lost(trial, DIRECTION_WRITE, "the drive reported that it wrote, and holds other bytes than the region");
	else
		say(trial, DIRECTION_WRITE, PROOF_PROVEN, "%s", "");
}

/* Returns false if --scratch is on another drive. */
static bool write_scratch(struct trial *trial)
{
	struct donard_file *file;
	bool told;
	int rc;

	if (!trial->x->request->scratch)
		return false;
	rc = open_scratch(trial->x, &file);
	if (rc < 0) {
		say_failure(trial, DIRECTION_WRITE, rc);
		return true;
	}
	told = is_on_drive(trial, file);
	if (told)
		try_write(trial, file);
	donard_file_close(file);
	return told;
}

static void say_no_compare(struct trial *trial, const char *why)
{
	say(trial, DIRECTION_WRITE, PROOF_NOT_TRIED, "%s. --scratch PATH, a file or folder on this drive, is written instead", why);
}

/* Has the drive compare its block with the region's copy.  Reports a failure. */
static enum compare_result ask_drive(struct trial *trial, int fd)
{
	enum compare_result result;
	char why[128];
	int status;

	result = compare_with(fd, trial->info.address, trial->bytes, &status);
	if (result != COMPARE_FAILED)
		return result;
	snprintf(why, sizeof(why), "the drive does not compare its block with the region (status %d)", status);
	if (compare_unsupported(status))
		say_no_compare(trial, why);
	else
		say(trial, DIRECTION_WRITE, PROOF_FAILED, "%s", why);
	return result;
}

/*
 * Reads the block into the region again.  Returns 1 if the CPU sees the same bytes there as before, 0 if another program has
 * written to the block, or -errno, which it has reported.
 */
static int64_t unwritten(struct trial *trial)
{
	struct donard_completion done = { .error = NULL };
	uint8_t *before = malloc(trial->bytes), *after = malloc(trial->bytes);
	int64_t rc = before && after ? donard_memory_read(trial->memory, 0, before, trial->bytes) : -ENOMEM;

	if (!rc)
		rc = move_in(trial, trial->drive, trial->memory, &done);
	if (rc >= 0)
		rc = donard_memory_read(trial->memory, 0, after, trial->bytes);
	if (!rc)
		rc = !memcmp(before, after, trial->bytes);
	else
		say_not_moved(trial, DIRECTION_WRITE, rc, &done);
	free(before);
	free(after);
	return rc;
}

static enum sight sees_copy(struct trial *trial, int fd)
{
	enum compare_result result = ask_drive(trial, fd);
	int64_t rc;

	if (result != COMPARE_DIFFERENT)
		return result == COMPARE_EQUAL ? SIGHT_YES : SIGHT_TOLD;
	rc = unwritten(trial);
	if (!rc)
		return SIGHT_DISTURBED;
	if (rc > 0)
		lost(trial, DIRECTION_WRITE, "the drive does not see in the region what it has just put there: what it reads comes "
		     "from elsewhere");
	return SIGHT_TOLD;
}

/* Inverts a byte of the copy; a second call restores it. Reports a failure. */
static bool change(struct trial *trial)
{
	unsigned char byte;
	int rc = donard_memory_read(trial->memory, 0, &byte, 1);

	byte ^= 0xff;
	if (!rc)
		rc = donard_memory_write(trial->memory, 0, &byte, 1);
	if (rc)
		say_failure(trial, DIRECTION_WRITE, rc);
	return !rc;
}

/* A block that another program writes to differs, too, but would then differ from the unchanged copy as well. */
static enum sight sees_change(struct trial *trial, int fd)
{
	enum compare_result result;

	if (!change(trial))
		return SIGHT_TOLD;
	result = ask_drive(trial, fd);
	if (result == COMPARE_EQUAL)
		lost(trial, DIRECTION_WRITE, "the drive does not see what the CPU has changed in the region: what it reads comes from "
		     "elsewhere");
	if (result != COMPARE_DIFFERENT || !change(trial))
		return SIGHT_TOLD;
	result = ask_drive(trial, fd);
	if (result == COMPARE_DIFFERENT)
		return SIGHT_DISTURBED;
	return result == COMPARE_EQUAL ? SIGHT_YES : SIGHT_TOLD;
}

static void write_compared(struct trial *trial)
{
	struct donard_file_info file = { .size = sizeof(file) };
	enum sight sight = SIGHT_DISTURBED;
	char unfit[COMPARE_TEXT_BYTES] = "the region cannot be mapped";

	donard_file_info(trial->drive, &file);
	if (!trial->info.address || !compare_fit(file.fd, unfit)) {
		say_no_compare(trial, unfit);
		return;
	}
	for (int i = 0; i < TRIES && sight == SIGHT_DISTURBED; i++) {
		sight = sees_copy(trial, file.fd);
		if (sight == SIGHT_YES)
			sight = sees_change(trial, file.fd);
	}
	if (sight == SIGHT_YES)
		say(trial, DIRECTION_WRITE, PROOF_PROVEN, "%s", "");
	else if (sight == SIGHT_DISTURBED)
		say_no_compare(trial, "somebody writes to the start of the drive all the time");
}

static int open_drive(struct trial *trial)
{
	struct donard_queue_options options = {
		.size = sizeof(options),
		.flags = trial->x->request->unlisted ? DONARD_QUEUE_ALLOW_UNLISTED : 0,
	};
	struct donard_file_info info = { .size = sizeof(info) };
	char path[128];
	int rc;

	snprintf(path, sizeof(path), "/dev/%s", trial->pair->client->namespaces[0]);
	rc = donard_file_open(trial->x->ctx, path, 0, &trial->drive);
	if (rc < 0)
		return rc;
	donard_file_info(trial->drive, &info);
	trial->controllers = info.client_count;
	trial->bytes = info.align_bytes > LEAST_BYTES ? info.align_bytes : LEAST_BYTES;
	rc = donard_queue_open(trial->x->ctx, &options, &trial->queue);
	return rc ? rc : take_memory(trial);
}

static void try_both(struct trial *trial)
{
	trial->info.size = sizeof(trial->info);
	donard_memory_info(trial->memory, &trial->info);
	try_read(trial);
	if (!is(trial, DIRECTION_READ, PROOF_PROVEN))
		say(trial, DIRECTION_WRITE, PROOF_NOT_TRIED, "reading comes first");
	else if (!write_scratch(trial))
		write_compared(trial);
}

static void try_drive(struct trial *trial)
{
	int rc = open_drive(trial);

	if (rc) {
		say_not_opened(trial, "");
	} else if (trial->controllers > 1) {
		try_neither(trial, "several controllers serve this drive, and the kernel chooses one for each block");
	} else {
		try_both(trial);
	}
	donard_queue_close(trial->queue);
	give_memory(trial);
	donard_file_close(trial->drive);
}

/* Blocks signals meanwhile, so that Ctrl-C or a shutdown leaves no test bytes in a region or in --scratch. */
static void try_whole(struct trial *trial, void (*try)(struct trial *trial))
{
	sigset_t ending, before;

	sigemptyset(&ending);
	sigaddset(&ending, SIGINT);
	sigaddset(&ending, SIGTERM);
	sigaddset(&ending, SIGHUP);
	sigaddset(&ending, SIGQUIT);
	sigprocmask(SIG_BLOCK, &ending, &before);
	try(trial);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* Sets the verdict to what was seen. A refusal for want of --allow-unlisted-bridge shows nothing, and leaves the prediction. */
static void correct(const struct trial *trial)
{
	struct pair *pair = trial->pair;

	pair->proven = is(trial, DIRECTION_READ, PROOF_PROVEN) && is(trial, DIRECTION_WRITE, PROOF_PROVEN);
	if (pair->proven)
		pair_set_verdict(pair, DONARD_VERDICT_YES);
	else if (either(trial, PROOF_FAILED))
		pair_set_verdict(pair, DONARD_VERDICT_NO);
	else if (either(trial, PROOF_REFUSED) && (pair->verdict == DONARD_VERDICT_YES || trial->x->request->unlisted))
		pair_set_verdict(pair, DONARD_VERDICT_NO);
}

static void try_pair(struct examination *x, struct pair *pair, struct proof_tally *tally)
{
	struct trial trial = { .x = x, .pair = pair };
	bool good = pair->verdict == DONARD_VERDICT_YES;

	if (!pair->memory->region)
		try_neither(&trial, "it is no region yet");
	else if (pair->client->type == DONARD_CLIENT_RDMA && good)
		try_whole(&trial, try_nic);
	else if (pair->client->type == DONARD_CLIENT_RDMA)
		say_both(&trial, pair->verdict == DONARD_VERDICT_NO ? PROOF_REFUSED : PROOF_NOT_TRIED, pair->route.reason);
	else if (pair->client->type != DONARD_CLIENT_NVME)
		try_neither(&trial, "donard starts no DMA of a GPU");
	else if (!pair->client->namespace_count)
		try_neither(&trial, "the controller has no namespace");
	else
		try_whole(&trial, try_drive);
	correct(&trial);
	tally->undelivered += trial.undelivered;
	tally->failed += trial.spoiled || (good && either(&trial, PROOF_FAILED));
}

void prove_pairs(struct examination *x, const struct pairs *pairs, struct proof_tally *tally)
{
	memset(tally, 0, sizeof(*tally));
	for (size_t i = 0; i < pairs->count; i++)
		try_pair(x, &pairs->pairs[i], tally);
}
