// SPDX-License-Identifier: Apache-2.0
/* Who holds a region: the kernel's lines, as words for a person. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "region.h"

/* @device: the PCI function that a dma-buf was imported for, or the RDMA device that pins, or "" */
struct holder {
	int pid;
	const char *command;
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
	char *word = cut_word(line), *command;

	holder->device[0] = '\0';
	if (word && strchr(word, ':')) {
		snprintf(holder->device, sizeof(holder->device), "%s", word);
		word = cut_word(line);
	}
	if (!word || !cut_word(line))
		return false;
	holder->pid = (int)strtol(line, &command, 10);
	if (command == line || *command != ' ')
		return false;
	holder->command = command + 1;
	if (!holder->device[0] && strtoull(word, NULL, 10))
		dnd_rdma_devices_of(holder->pid, holder->device, sizeof(holder->device));
	return true;
}

void dnd_region_holders_text(struct donard_context *ctx, const char *name, char *text,
			     size_t text_bytes)
{
	char lines[1024], *line, *next;
	struct holder holder;
	size_t used = 0;

	text[0] = '\0';
	dnd_sysfs_read(ctx, lines, sizeof(lines), "class/p2pmem/%s/holders", name);
	for (line = strtok_r(lines, "\n", &next); line; line = strtok_r(NULL, "\n", &next)) {
		if (!parse_holder(line, &holder) || holder.pid == (int)getpid())
			continue;
		used += (size_t)snprintf(text + used, text_bytes - used, "%s%s (pid %d%s%s)",
					 used ? ", " : "; held by ", holder.command, holder.pid,
					 holder.device[0] ? ", device " : "", holder.device);
		if (used >= text_bytes)
			return;
	}
}
