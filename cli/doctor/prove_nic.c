// SPDX-License-Identifier: Apache-2.0
/*
 * The NIC is its own peer: it accesses the region in the same way whichever peer asks for it.
 *
 *   read:  an RDMA WRITE of a nonce from DRAM into memory of the region, where the CPU sees it.
 *   write: the CPU puts another nonce there, and an RDMA READ brings it to DRAM.
 *
 * loopback_open() does the same between DRAM and DRAM first: a NIC that fails then says nothing about the region.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "loopback.h"
#include "prove_nic.h"

/* A NIC may report a write before its last bytes have arrived. */
#define LOOKS		100
#define BETWEEN_US	10000

static const char instead[] = " 'donard-cli rdma serve' here, and 'donard-cli rdma write --verify' on another machine, prove it.";

static void say_device_failed(struct trial *trial, const struct loopback *loopback, enum direction direction)
{
	char text[CLI_ERROR_BYTES];

	cli_in_options(donard_error(trial->x->ctx), text, sizeof(text));
	say(trial, direction, loopback->posted ? PROOF_FAILED : PROOF_NOT_TRIED, "%s", text);
}

static int make_nonce(struct trial *trial, void *nonce)
{
	if (getrandom(nonce, trial->bytes, 0) == (ssize_t)trial->bytes)
		return 0;
	return donard_fail(trial->x->ctx, EIO, "", "getrandom() gives no bytes");
}

/* 1 if the region holds what was sent, 0 if it still does not, or -errno. */
static int has_arrived(struct trial *trial, const struct loopback *loopback)
{
	uint8_t seen[LEAST_BYTES];
	int rc;

	for (int i = 0; i < LOOKS; i++) {
		rc = donard_memory_read(trial->memory, 0, seen, trial->bytes);
		if (rc)
			return rc;
		if (!memcmp(seen, loopback->moved, trial->bytes))
			return 1;
		usleep(BETWEEN_US);
	}
	return 0;
}

static void try_into(struct trial *trial, struct loopback *loopback, const struct loopback_place *place)
{
	int rc = make_nonce(trial, loopback->moved);

	if (rc) {
		say_failure(trial, DIRECTION_READ, rc);
		return;
	}
	if (loopback_write(loopback, place)) {
		say_device_failed(trial, loopback, DIRECTION_READ);
		return;
	}
	rc = has_arrived(trial, loopback);
	if (rc < 0)
		say_failure(trial, DIRECTION_READ, rc);
	else if (!rc)
		lost(trial, DIRECTION_READ, "the NIC reported that it wrote, and the region holds other bytes than were sent");
	else
		say(trial, DIRECTION_READ, PROOF_PROVEN, "%s", "");
}

static void try_out_of(struct trial *trial, struct loopback *loopback, const struct loopback_place *place)
{
	uint8_t nonce[LEAST_BYTES];
	int rc = make_nonce(trial, nonce);

	if (!rc)
		rc = donard_memory_write(trial->memory, 0, nonce, trial->bytes);
	if (rc) {
		say_failure(trial, DIRECTION_WRITE, rc);
		return;
	}
	memset(loopback->moved, 0, trial->bytes);
	if (loopback_read(loopback, place))
		say_device_failed(trial, loopback, DIRECTION_WRITE);
	else if (memcmp(loopback->moved, nonce, trial->bytes))
		lost(trial, DIRECTION_WRITE, "the NIC reported that it read, and has other bytes than the region holds");
	else
		say(trial, DIRECTION_WRITE, PROOF_PROVEN, "%s", "");
}

/* A device that cannot register memory of this kind, or has no route to it, is refused in both directions. */
static void say_not_registered(struct trial *trial, int rc)
{
	char text[CLI_ERROR_BYTES];

	if (!is_refusal(DIRECTION_READ, rc)) {
		say_not_opened(trial, instead);
		return;
	}
	cli_in_options(donard_error(trial->x->ctx), text, sizeof(text));
	say_both(trial, PROOF_REFUSED, text);
}

static void try_registered(struct trial *trial, struct loopback *loopback)
{
	struct loopback_place place = { NULL };
	int rc = loopback_register(loopback, trial->memory, &place);

	if (rc) {
		say_not_registered(trial, rc);
		return;
	}
	try_into(trial, loopback, &place);
	try_out_of(trial, loopback, &place);
	loopback_deregister(&place);
}

void try_nic(struct trial *trial)
{
	struct loopback loopback;

	trial->bytes = LEAST_BYTES;
	if (loopback_open(&loopback, trial->x->ctx, trial->pair->client->name, trial->bytes) || take_memory(trial))
		say_not_opened(trial, instead);
	else
		try_registered(trial, &loopback);
	loopback_close(&loopback);
	give_memory(trial);
}
