// SPDX-License-Identifier: Apache-2.0
/* Who holds a region: turns the kernel's lines into text for people. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/printable.h"
#include "region/holders.h"

#define SMALL_BYTES	(2U << 20)	/* two blocks of at most 1 MiB */
#define LINES_BYTES	4096		/* the most that a sysfs file shows */
#define HOLDER_BYTES	256

/* @device: the PCI function for which a dma-buf was imported, the RDMA device that pins, or "" */
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

/* Parses a line of the kernel from its end, since a command may hold spaces. */
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

/* The last line may count the holders that did not fit into the file; 0 if @line is not that line. */
static unsigned long left_out_by(const char *line)
{
	unsigned long count;

	return sscanf(line, "and %lu more", &count) == 1 ? count : 0;
}

bool dnd_region_has_small_holder(struct donard_context *ctx, const char *name, uint64_t folio_bytes)
{
	uint64_t small = dnd_max((uint64_t)SMALL_BYTES, 2 * folio_bytes);
	char lines[LINES_BYTES], *line, *next;
	struct holder holder;

	dnd_sysfs_lines(ctx, lines, sizeof(lines), "class/p2pmem/%s/holders", name);
	for (line = strtok_r(lines, "\n", &next); line; line = strtok_r(NULL, "\n", &next))
		if (parse_holder(line, &holder) && holder.bytes && holder.bytes <= small)
			return true;
	return false;
}

/* Writes "fio (pid 12)"; "no pid" if the kernel shows none.  Quotes a name that could be read as more than a name. */
static void describe(struct holder *holder, char text[HOLDER_BYTES])
{
	const char *quote = dnd_quote_of(holder->command);
	char pid[32] = "no pid";

	if (holder->pid)
		snprintf(pid, sizeof(pid), "pid %d", holder->pid);
	if (!holder->device[0] && holder->pins && holder->pid)
		dnd_rdma_devices_of(holder->pid, holder->device, sizeof(holder->device));
	snprintf(text, HOLDER_BYTES, "%s%s%s (%s%s%s)", quote, holder->command, quote, pid,
		 holder->device[0] ? ", device " : "", holder->device);
}

struct sentence {
	char *text;
	size_t bytes;
	size_t used;
	unsigned long left_out;
};

/* Keeps room for the last words. */
static void add_holder(struct sentence *s, const char *holder)
{
	size_t need = strlen(holder) + strlen("; held by ");

	if (s->left_out || s->used + need + sizeof(", and 18446744073709551615 more") > s->bytes) {
		s->left_out++;
		return;
	}
	s->used += (size_t)snprintf(s->text + s->used, s->bytes - s->used, "%s%s",
				    s->used ? ", " : "; held by ", holder);
}

static void end_sentence(struct sentence *s)
{
	if (s->left_out)
		snprintf(s->text + s->used, s->bytes - s->used, "%s%lu%s",
			 s->used ? ", and " : "; held by ", s->left_out, s->used ? " more" : "");
}

void dnd_region_holders_text(struct donard_context *ctx, const char *name, char *text,
			     size_t text_bytes)
{
	struct sentence s = { .text = text, .bytes = text_bytes };
	char lines[LINES_BYTES], one[HOLDER_BYTES], *line, *next;
	struct holder holder;

	text[0] = '\0';
	if (dnd_sysfs_lines(ctx, lines, sizeof(lines), "class/p2pmem/%s/holders", name) == -EACCES)
		snprintf(text, text_bytes,
			 "; only root and the region's group may see who holds it");
	for (line = strtok_r(lines, "\n", &next); line; line = strtok_r(NULL, "\n", &next)) {
		unsigned long more = left_out_by(line);

		s.left_out += more;
		if (more || !parse_holder(line, &holder) || holder.pid == (int)getpid())
			continue;
		describe(&holder, one);
		add_holder(&s, one);
	}
	end_sentence(&s);
}
