// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "kernel.h"
#include "lib/base/printable.h"

#define TIB	(1ULL << 40)
#define LAST_MAJOR	7	/* kernel/dkms.conf.in */

/* The first line "name<tabs>: value" of /proc/cpuinfo, made printable; "" without one. */
static void cpu_line(const char *cpuinfo, const char *name, char *value, size_t value_bytes)
{
	size_t name_bytes = strlen(name);

	value[0] = '\0';
	for (const char *line = cpuinfo; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, name_bytes) || !strchr("\t :", line[name_bytes]))
			continue;
		line += strcspn(line, ":\n");
		if (*line == ':')
			snprintf(value, value_bytes, "%.*s", (int)strcspn(line + 1, "\n"), line + 1);
		memmove(value, value + strspn(value, " "), strlen(value + strspn(value, " ")) + 1);
		dnd_make_printable(value, value_bytes);
		return;
	}
}

static bool has_word(const char *text, const char *word)
{
	size_t bytes = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at += bytes)
		if ((at == text || strchr(" \t\n", at[-1])) && (!at[bytes] || strchr(" \t\n", at[bytes])))
			return true;
	return false;
}

/* Returns the value of the argument's last occurrence, which counts; "" if there is none. */
static void argument_value(const struct kernel *kernel, const char *name, char *value, size_t value_bytes)
{
	const char *at = kernel->cmdline;
	size_t bytes = strlen(name);

	value[0] = '\0';
	for (; (at = strstr(at, name)); at += bytes)
		if ((at == kernel->cmdline || at[-1] == ' ') && at[bytes] == '=')
			snprintf(value, value_bytes, "%.*s", (int)strcspn(at + bytes + 1, " "), at + bytes + 1);
}

/*
 * The module does not load if cc_platform_has(CC_ATTR_MEM_ENCRYPT) is true.  The flag "sme" is there only if the firmware
 * allows it.  The flag "sev" means on a host that guests can encrypt memory, and in a guest that it does.
 */
static bool encrypts_memory(const struct source *source, const struct kernel *kernel, const char *flags)
{
	bool sev = has_word(flags, "sev") || has_word(flags, "sev_es") || has_word(flags, "sev_snp");
	char sme[16];

	if (kernel->module_loaded)
		return false;
	argument_value(kernel, "mem_encrypt", sme, sizeof(sme));
	if (!sme[0] && kernel_option(kernel, "AMD_MEM_ENCRYPT_ACTIVE_BY_DEFAULT") == 1)
		strcpy(sme, "on");
	return has_word(flags, "tdx_guest") || (kernel->virtual && sev) ||
	       (has_word(flags, "sme") && !strcmp(sme, "on")) ||
	       source_exists(source, "/sys/devices/system/cpu/sev/vmpl");
}

static void read_cpu(const struct source *source, struct kernel *kernel)
{
	char *cpuinfo = source_whole(source, "/proc/cpuinfo");
	char vendor[32], text[4096];

	cpu_line(cpuinfo, "vendor_id", vendor, sizeof(vendor));
	cpu_line(cpuinfo, "model name", kernel->cpu_model, sizeof(kernel->cpu_model));
	cpu_line(cpuinfo, "flags", text, sizeof(text));
	kernel->is_x86 = vendor[0] && text[0];	/* s390 has a vendor, too */
	kernel->virtual = has_word(text, "hypervisor");
	kernel->encrypts = encrypts_memory(source, kernel, text);
	free(cpuinfo);
}

static void read_config(const struct source *source, struct kernel *kernel)
{
	static const struct {
		const char *before, *after;
	} places[] = {
		{ "/boot/config-", "" }, { "/lib/modules/", "/config" },
		{ "/lib/modules/", "/build/.config" }, { "/usr/lib/modules/", "/config" },
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && !kernel->config; i++)
		kernel->config = source_whole(source, "%s%s%s", places[i].before, kernel->release,
					      places[i].after);
}

/* If the kernel's options cannot be read: a function that exists only with CONFIG_PCI_P2PDMA is in a list that all may read. */
static bool has_symbol(const struct source *source, const char *name)
{
	char *symbols = source_whole(source, "/proc/kallsyms");
	bool found = symbols && has_word(symbols, name);

	free(symbols);
	return found;
}

/* "MemTotal:  16307744 kB" is the first line. */
static uint64_t read_ram(const struct source *source)
{
	unsigned long long kib = 0;
	char text[128];

	source_lines(source, text, sizeof(text), "/proc/meminfo");
	return sscanf(text, "MemTotal: %llu", &kib) == 1 ? kib << 10 : 0;
}

/* On this machine uname() has the release even if /proc is not mounted, as in a chroot. */
static void read_release(const struct source *source, struct kernel *kernel)
{
	struct utsname name;

	source_text(source, kernel->release, sizeof(kernel->release), "/proc/sys/kernel/osrelease");
	if (!kernel->release[0] && source->live && !uname(&name))
		snprintf(kernel->release, sizeof(kernel->release), "%s", name.release);
	sscanf(kernel->release, "%u.%u", &kernel->major, &kernel->minor);
}

/* "none [integrity] confidentiality": the word in brackets is the present state. */
static void read_lockdown(const struct source *source, struct kernel *kernel)
{
	const char *open;
	char text[64];

	source_text(source, text, sizeof(text), "/sys/kernel/security/lockdown");
	open = strchr(text, '[');
	if (!open || sscanf(open, "[%31[a-z]]", kernel->lockdown) != 1)
		kernel->lockdown[0] = '\0';
}

void kernel_read(const struct source *source, struct kernel *kernel)
{
	int option;

	memset(kernel, 0, sizeof(*kernel));
	read_release(source, kernel);
	source_text(source, kernel->cmdline, sizeof(kernel->cmdline), "/proc/cmdline");
	kernel->module_loaded = source_exists(source, "/sys/module/p2pmem");
	read_lockdown(source, kernel);
	read_config(source, kernel);
	read_cpu(source, kernel);
	kernel->ram_bytes = read_ram(source);
	kernel->direct_map_end = (uint64_t)source_number(source, 0, "/sys/module/p2pmem/parameters/direct_map_end");
	option = kernel_option(kernel, "PCI_P2PDMA");
	if (option < 0)
		option = has_symbol(source, "pci_p2pdma_distance_many");
	kernel->p2pdma = option && kernel_since(kernel, 6, 13);
}

bool kernel_is_locked_down(const struct kernel *kernel)
{
	return kernel->lockdown[0] && strcmp(kernel->lockdown, "none");
}

void kernel_forget(struct kernel *kernel)
{
	free(kernel->config);
	kernel->config = NULL;
}

bool kernel_since(const struct kernel *kernel, unsigned int major, unsigned int minor)
{
	return kernel->major > major || (kernel->major == major && kernel->minor >= minor);
}

bool kernel_is_too_new(const struct kernel *kernel)
{
	return kernel->major > LAST_MAJOR;
}

int kernel_option(const struct kernel *kernel, const char *name)
{
	char line[64];
	const char *at;

	if (!kernel->config)
		return -1;
	snprintf(line, sizeof(line), "\nCONFIG_%s=", name);
	at = strstr(kernel->config, line);
	return at && strchr("ym", at[strlen(line)]);
}

uint64_t kernel_option_number(const struct kernel *kernel, const char *name, uint64_t otherwise)
{
	const char *at;
	char line[64];

	snprintf(line, sizeof(line), "\nCONFIG_%s=", name);
	at = kernel->config ? strstr(kernel->config, line) : NULL;
	return at ? strtoull(at + strlen(line), NULL, 0) : otherwise;
}

/* arch/x86/mm/kaslr.c; Linux 6.19 leaves the direct map as it is wherever devices have struct pages. */
uint64_t kernel_kaslr_leaves(const struct kernel *kernel)
{
	if (!kernel->is_x86 || kernel_since(kernel, 6, 19) || kernel_option(kernel, "RANDOMIZE_MEMORY") != 1 ||
	    has_word(kernel->cmdline, "nokaslr"))
		return 0;
	return ((kernel->ram_bytes ? (kernel->ram_bytes - 1) / TIB : 0) + 1 +
		kernel_option_number(kernel, "RANDOMIZE_MEMORY_PHYSICAL_PADDING", 0xa)) * TIB - 1;
}

bool kernel_forces_swiotlb(const struct kernel *kernel)
{
	static const char name[] = "swiotlb=";

	for (const char *at = kernel->cmdline; (at = strstr(at, name)); at++) {
		const char *value = at + strlen(name);

		value += strspn(value, "0123456789,");
		if ((at == kernel->cmdline || at[-1] == ' ') && strcspn(value, " ") == strlen("force") &&
		    !strncmp(value, "force", strlen("force")))
			return true;
	}
	return false;
}
