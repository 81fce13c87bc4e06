// SPDX-License-Identifier: Apache-2.0
/* Events for the caller of a server, and the check for a drive that is gone. */
#include "cache/server.h"
#include "drive/drive.h"

DND_PUBLIC const char *donard_cache_event_text(enum donard_cache_event_type type)
{
	static const char *const words[] = {
		[DONARD_CACHE_FORMATTED] = "formatted", [DONARD_CACHE_RECOVERED] = "recovered",
		[DONARD_CACHE_LISTENING] = "listening", [DONARD_CACHE_CLIENT_CAME] = "came",
		[DONARD_CACHE_CLIENT_LEFT] = "left", [DONARD_CACHE_CLIENT_LOST] = "lost",
		[DONARD_CACHE_CLIENT_REFUSED] = "refused",
		[DONARD_CACHE_DRIVE_FAILED] = "drive-failed",
		[DONARD_CACHE_DRIVE_WORKS] = "drive-works", [DONARD_CACHE_DRAINING] = "draining",
	};

	return (size_t)type < sizeof(words) / sizeof(words[0]) ? words[type] : "unknown";
}

void dnd_cache_tell(const struct dnd_cache_server *server, enum donard_cache_event_type type,
		    const char *peer, const char *text, uint64_t number)
{
	const struct donard_cache_event event = {
		.size = sizeof(event),
		.type = type,
		.port = type == DONARD_CACHE_LISTENING ?
			be16toh(rdma_get_src_port(server->listener.id)) : 0,
		.peer = peer,
		.text = text,
		.number = number,
		.identity = server->log.super.identity,
	};

	if (server->options.event_fn)
		server->options.event_fn(server->options.user, &event);
}

/*
 * A drive is gone for good if it does not come back under the same descriptor.  If the request looked up its
 * route first, it failed with another code, so this checks the drive itself, too.
 */
void dnd_cache_check_gone(struct dnd_cache_server *server, const char *code)
{
	if (strcmp(code, dnd_error_word(DND_E_DRIVE_GONE)) && !dnd_drive_lost(server->ctx, &server->file->drive))
		return;
	server->drive_gone = true;
	dnd_cache_server_fail(server, dnd_fail(server->ctx, DND_E_DRIVE_GONE, "%s: the drive is gone. What it has not "
			      "received is kept in %s: bring it back, and start the cache again.",
			      server->drive.path, dnd_memory_name(server->nvram.memory)));
}
