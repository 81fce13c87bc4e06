// SPDX-License-Identifier: Apache-2.0
/* Whether requests can be handed to the kernel by io_uring, or by Linux AIO if io_uring is refused. */
#include <errno.h>
#include <string.h>

#include "checks.h"
#include "lib/base/uring_refused.h"

#define AIO_REMEDY	"it is enough that a seccomp filter allows io_setup, io_submit, io_getevents and io_destroy, " \
			"and that the kernel has CONFIG_AIO"

/* Returns 0, or the errno with which AIO is refused. A shortage of contexts (fs.aio-max-nr) is transient, and no refusal. */
static int aio_is_refused(void)
{
	int error_number = dnd_aio_ask();

	return error_number == EAGAIN || error_number == ENOMEM ? 0 : error_number;
}

/* Asks the kernel about this process, which may be refused what others may do. */
static void check_live(struct examination *x)
{
	struct dnd_uring_refusal refusal;
	int aio, error_number = dnd_uring_ask();

	if (!error_number)
		return;
	dnd_uring_refusal(error_number, &refusal);
	aio = aio_is_refused();
	if (aio)
		find_remedy(find(x, CODE_NO_ASYNC_IO, "", "io_uring is refused (%s): %s; Linux AIO is, too (%s)",
				 strerror(error_number), refusal.cause, strerror(aio)),
			    "%s; " AIO_REMEDY ".", refusal.remedy);
	else
		find_remedy(find(x, CODE_NO_IO_URING, "", "io_uring is refused (%s): %s", strerror(error_number), refusal.cause),
			    "%s.", refusal.remedy);
}

/* Finds what a captured machine's kernel refuses to every process. */
static void check_captured(struct examination *x)
{
	bool aio = kernel_option(&x->kernel, "AIO");
	enum code code = aio ? CODE_NO_IO_URING : CODE_NO_ASYNC_IO;
	const char *besides = aio ? "" : ", nor CONFIG_AIO";
	int64_t disabled = source_number(&x->source, 0, "/proc/sys/kernel/io_uring_disabled");

	if (!kernel_option(&x->kernel, "IO_URING"))
		find(x, code, "", "kernel %s has no CONFIG_IO_URING%s", x->kernel.release, besides);
	else if (disabled >= 2)
		find(x, code, "", "the sysctl kernel.io_uring_disabled is %d, which forbids it to every process%s", (int)disabled,
		     aio ? "" : "; the kernel has no CONFIG_AIO");
}

void check_requests(struct examination *x)
{
	if (x->source.live)
		check_live(x);
	else
		check_captured(x);
}
