// SPDX-License-Identifier: Apache-2.0
/* The driver that a device has at the next boot, by depmod's list. */
#include <unistd.h>

#include "unit.h"
#include "cli/owndriver.h"

#define GPU	"pci:v00001002d00007408sv00001002sd00000B0Cbc03sc80i00"
#define CARD	"pci:v00001AF4d00001110sv00001AF4sd00001100bc05sc00i00"

static const char aliases[] =
	"# Aliases extracted from modules themselves.\n"
	"alias fs-ext4 ext4\n"
	"alias vfio_pci:v*d*sv*sd*bc*sc*i* vfio_pci\n"
	"alias pci:v00001AF4d*sv*sd*bc*sc*i* virtio_pci\n"
	"alias pci:v00001002d00007409sv*sd*bc*sc*i* other\n"
	"alias pci:v00001002d*sv*sd*bc03sc80i00* amdgpu\n";

static void drivers(void **state)
{
	char path[] = "/tmp/donard-aliases-XXXXXX", driver[OWNDRIVER_BYTES];
	int fd = mkstemp(path);

	(void)state;
	assert_int_equal(write(fd, aliases, strlen(aliases)), (ssize_t)strlen(aliases));
	close(fd);
	assert_true(owndriver_in(path, GPU, driver));
	assert_string_equal(driver, "amdgpu");
	assert_false(owndriver_in(path, CARD, driver));		/* virtio's driver leaves it */
	unlink(path);
	assert_false(owndriver_in(path, GPU, driver));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(drivers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
