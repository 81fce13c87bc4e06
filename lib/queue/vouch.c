// SPDX-License-Identifier: Apache-2.0
/*
 * Did the bytes of a file really bypass DRAM?  The file system decides that anew when
 * each request begins, and falls back to the page cache silently (fs/ext4/file.c,
 * ext4_file_write_iter()).  So the queue asks it again when requests have ended, before
 * it hands out their completions.
 */
#include "queue/queue.h"

static bool claims_straight(const struct dnd_queue_request *request)
{
	return request->file->drive.is_file && request->memory && !request->dram &&
	       request->completion.route != DONARD_ROUTE_DRAM && request->completion.result > 0;
}

static void call_bounced(struct donard_queue *queue, struct dnd_queue_request *request)
{
	request->completion.route = DONARD_ROUTE_BOUNCED;
	request->completion.evidence = DONARD_EVIDENCE_PREDICTED;
	request->completion.flags |= DONARD_COMPLETION_BOUNCED;
	queue->info.bounced_bytes += (uint64_t)request->completion.result;
	dnd_pairs_judge_again(queue, request->file);
}

void dnd_queue_vouch(struct donard_queue *queue, struct dnd_queue_request *ended)
{
	const struct donard_file *asked = NULL;
	bool direct = true;

	for (; ended; ended = ended->next) {
		if (!claims_straight(ended))
			continue;
		if (ended->file != asked)
			direct = dnd_drive_is_direct(&ended->file->drive);
		asked = ended->file;
		if (!direct)
			call_bounced(queue, ended);
	}
}
