// SPDX-License-Identifier: Apache-2.0
/* The module p2pmem: whether it is installed, has this release, is loaded, and may be loaded. */
#include <stdlib.h>
#include <string.h>

#include "checks.h"
#include "donard/version.h"

bool is_installed(const struct examination *x, const char *file)
{
	char *modules = source_whole(&x->source, "/lib/modules/%s/modules.dep", x->kernel.release);
	bool found = modules && strstr(modules, file);

	free(modules);
	return found;
}

/* Reads a variable of the firmware: four bytes of attributes, then its value. */
static bool secure_boot(const struct examination *x)
{
	unsigned char value[5] = { 0 };

	source_bytes(&x->source, value, sizeof(value),
		     "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c");
	return value[4] == 1;
}

static bool enforces_signatures(const struct examination *x)
{
	char text[8];

	source_text(&x->source, text, sizeof(text), "/sys/module/module/parameters/sig_enforce");
	return text[0] == 'Y' || kernel_option(&x->kernel, "MODULE_SIG_FORCE") == 1;
}

/*
 * Checks what the kernel's module_sig_check() checks: sig_enforce and lockdown.  Secure Boot by itself does not matter, but
 * makes many kernels set one of the two, unless the boot loader was told not to validate.
 */
static void check_signature(struct examination *x)
{
	const char *why = secure_boot(x) ? "; Secure Boot is on" : "";

	if (enforces_signatures(x))
		find(x, CODE_SIGNATURE_NEEDED, "", "module.sig_enforce is on%s", why);
	else if (kernel_is_locked_down(&x->kernel))
		find(x, CODE_SIGNATURE_NEEDED, "", "the kernel's lockdown is %s%s", x->kernel.lockdown, why);
}

static void check_version(struct examination *x)
{
	char version[32];

	source_text(&x->source, version, sizeof(version), "/sys/module/p2pmem/version");
	if (version[0] && strcmp(version, donard_version()))
		find(x, CODE_MODULE_DIFFERS, "", "the module is %s, this program %s", version, donard_version());
}

/* False for kernels for which the module cannot be built; check_kernel() has reported them. */
static bool can_be_built(const struct kernel *kernel)
{
	return kernel->release[0] && kernel_since(kernel, 6, 1) && !kernel_is_too_new(kernel);
}

/* If DKMS has only the source, the kernel's headers are missing, or the module does not compile. */
static void report_missing(struct examination *x)
{
	const char *release = x->kernel.release;
	struct finding *finding = find(x, CODE_MODULE_MISSING, "", "/lib/modules/%s has no p2pmem.ko", release);

	if (source_exists(&x->source, "/var/lib/dkms/p2pmem"))
		find_remedy(finding, "DKMS has its source, and builds it with the kernel's headers (Debian: sudo apt install "
			    "linux-headers-%s && sudo dkms autoinstall -k %s). Where that fails, "
			    "/var/lib/dkms/p2pmem/VERSION/build/make.log says why.", release, release);
}

void check_module(struct examination *x)
{
	if (source_exists(&x->source, "/sys/class/p2pmem_device"))
		find(x, CODE_FOREIGN_MODULE, "", "/sys/class/p2pmem_device exists");
	if (x->kernel.module_loaded) {
		check_version(x);
		return;
	}
	if (is_installed(x, "/p2pmem.ko"))
		find(x, CODE_MODULE_NOT_LOADED, "", "p2pmem is installed for kernel %s and not loaded",
		     x->kernel.release);
	else if (can_be_built(&x->kernel))
		report_missing(x);
	check_signature(x);
}
