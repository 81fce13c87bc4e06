// SPDX-License-Identifier: Apache-2.0
/* See heard.h. */
#include "rdma/heard.h"

/* Notes the good-bye at once, because the end of the connection may be the next thing that is read. */
static int take_bye(struct dnd_heard *heard, const struct dnd_message *bye)
{
	heard->said_bye = true;
	heard->bye_status = bye->status;
	return heard->request.type ? -ECONNRESET : 0;
}

static int take_request(struct dnd_heard *heard, const struct dnd_message *message)
{
	int rc = message->type == DND_BYE ? take_bye(heard, message) : 0;

	if (rc)
		return rc;
	/* A client sends its own types of request, one at a time; before it took the offer and after a bye, only bye. */
	if (message->type > DND_BYE || heard->request.type ||
	    (message->type != DND_BYE && (!heard->took || heard->said_bye)))
		return -EPROTO;
	heard->request = *message;
	return 0;
}

int dnd_hear(struct dnd_heard *heard, const struct dnd_message *message)
{
	if (heard->cut_off)
		return 0;
	heard->any = true;
	if (message->type == DND_PING)
		return DND_HEARD_PING;
	if (message->type != DND_TAKE)
		return take_request(heard, message);
	heard->took = true;
	return 0;
}

bool dnd_heard_cut_off(struct dnd_heard *heard)
{
	if (heard->cut_off || (heard->said_bye && !heard->request.type))
		return false;
	heard->cut_off = true;
	return true;
}

enum donard_rdma_event_type dnd_heard_end(const struct dnd_heard *heard)
{
	if (!heard->took)
		return DONARD_RDMA_CLIENT_REFUSED;
	return heard->said_bye && !heard->cut_off ? DONARD_RDMA_CLIENT_LEFT : DONARD_RDMA_CLIENT_LOST;
}
