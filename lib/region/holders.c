// SPDX-License-Identifier: Apache-2.0
/* Who holds a region: the kernel's lines, as words for a person. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "region/holders.h"

#define SMALL_BYTES	(2U << 20)	/* two blocks, of 1 MiB at most */

/* @device: the PCI function that a dma-buf was imported for, or the RDMA device that pins, or "" */
struct holder {
	int pid;
	const char *command;
	uint64_t bytes;
	bool pins;
	char device[128];
};

/* Cuts the last word off @line and returns it, or NULL. */
static char *cut_word(char *line)
{
	char *space = strrchr(line, ' ');

	if (!space)
		return NULL;
	*space = '\0';
	return space + 1;
}

/* Takes a line of the kernel's apart from its end, since a command may hold spaces. */
static bool parse_holder(char *line, struct holder *holder)
{
	char *word = cut_word(line), *bytes, *command;

	holder->device[0] = '\0';
	if (word && strchr(word, ':')) {
		snprintf(holder->device, sizeof(holder->device), "%s", word);
		word = cut_word(line);
	}
	bytes = word ? cut_word(line) : NULL;
	if (!bytes)
		return false;
	holder->bytes = strtoull(bytes, NULL, 10);
	holder->pins = strtoull(word, NULL, 10) != 0;
	holder->pid = (int)strtol(line, &command, 10);
	if (command == line || *command != ' ')
		return false;
	holder->command = command + 1;
	return true;
}

bool dnd_region_has_small_holder(struct donard_context *ctx, const char *name, uint64_t folio_bytes)
{
	uint64_t small = dnd_max((uint64_t)SMALL_BYTES, 2 * folio_bytes);
	char lines[4096], *line, *next;
	struct holder holder;

	dnd_sysfs_read(ctx, lines, sizeof(lines), "class/p2pmem/%s/holders", name);
	for (line = strtok_r(lines, "\n", &next); line; line = strtok_r(NULL, "\n", &next))
		if (parse_holder(line, &holder) && holder.bytes && holder.bytes <= small)
			return true;
	return false;
}

void dnd_region_holders_text(struct donard_context *ctx, const char *name, char *text,
			     size_t text_bytes)
{
	char lines[1024], *line, *next;
	struct holder holder;
	size_t used = 0;

	text[0] = '\0';
	if (dnd_sysfs_read(ctx, lines, sizeof(lines), "class/p2pmem/%s/holders", name) == -EACCES)
		snprintf(text, text_bytes,
			 "; only root and the group p2pmem may see who holds it");
	for (line = strtok_r(lines, "\n", &next); line; line = strtok_r(NULL, "\n", &next)) {
		if (!parse_holder(line, &holder) || holder.pid == (int)getpid())
			continue;
		if (!holder.device[0] && holder.pins)
			dnd_rdma_devices_of(holder.pid, holder.device, sizeof(holder.device));
		used += (size_t)snprintf(text + used, text_bytes - used, "%s%s (pid %d%s%s)",
					 used ? ", " : "; held by ", holder.command, holder.pid,
					 holder.device[0] ? ", device " : "", holder.device);
		if (used >= text_bytes)
			return;
	}
}
