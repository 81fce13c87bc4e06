// SPDX-License-Identifier: Apache-2.0
/* Registration of memory with verbs, whose device and routes this program plays. */
#include <fcntl.h>
#include <sys/mman.h>

#include "unit.h"
#include "fake_sysfs.h"
#include "memory/memory.h"
#include "play_ioctl.h"
#include "rdma/register.h"
#include "says.h"

/* ---- the played device and kernel ---- */

static enum donard_route_type found_route;
static char asked_bdf[DONARD_BDF_BYTES];

int __wrap_dnd_route_probe(struct donard_context *ctx, const struct dnd_region *region, const char *client_bdf, struct donard_route *route);
int __wrap_dnd_route_probe(struct donard_context *ctx, const struct dnd_region *region, const char *client_bdf, struct donard_route *route)
{
	(void)ctx;
	(void)region;
	strcpy(asked_bdf, client_bdf);
	route->route = found_route;
	strcpy(route->reason, "its host bridge is not listed");
	return 0;
}

static uint32_t vendor_id;	/* of the device */

int ibv_query_device(struct ibv_context *verbs, struct ibv_device_attr *attr)
{
	(void)verbs;
	attr->vendor_id = vendor_id;
	return 0;
}

static struct ibv_mr pinned_mr, imported_mr;
static unsigned int pins;	/* how often one of these two was called */

/* The macro of this name calls one of these two, as far as the compiler knows the access flags. */
#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access)
{
	(void)pd;
	(void)address;
	(void)length;
	(void)access;
	pins++;
	return &pinned_mr;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *address, size_t length, uint64_t iova, unsigned int access)
{
	(void)pd;
	(void)address;
	(void)length;
	(void)iova;
	(void)access;
	pins++;
	return &pinned_mr;
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	(void)mr;
	return 0;
}

static int export_error, import_error;	/* with which it is refused */
static int exporting_fd = -1, exported_fd;	/* of the region; of the dma-buf that it gives out */
static struct p2pmem_export_dmabuf exported;

static int play_ioctl(int fd, unsigned long request, void *argument)
{
	if (fd != exporting_fd || request != P2PMEM_IOC_EXPORT_DMABUF)
		return ASK_THE_KERNEL;
	if (export_error) {
		errno = export_error;
		return -1;
	}
	exported = *(struct p2pmem_export_dmabuf *)argument;
	return fcntl(exported_fd, F_DUPFD_CLOEXEC, 0);
}

static void begin_exports(void)
{
	exporting_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	exported_fd = memfd_create("of-a-test", MFD_CLOEXEC);
}

static void end_exports(void)
{
	close(exported_fd);
	close(exporting_fd);
	exporting_fd = -1;
	export_error = import_error = 0;
}

/* ---- pages that a device pins ---- */

static int registers_of(struct fake *fake, const char *device_name, uint32_t kind, uint32_t page_type)
{
	const struct donard_memory memory = {
		.ctx = fake->ctx, .region = { .fd = exporting_fd < 0 ? 1000000 : exporting_fd, .name = "p2pmem0", .bdf = "0000:03:00.0", .info = {
			.kind = kind, .page_type = page_type, .granule_bytes = 4096,
		} }, .dmabuf.fd = -1, .length = 4096,
	};
	struct ibv_device device = { 0 };
	struct ibv_context verbs = { .device = &device };
	struct ibv_pd pd = { .context = &verbs };
	struct dnd_registration registration;

	strcpy(device.name, device_name);
	return dnd_register(&memory, 0, 4096, &pd, DONARD_RDMA_WRITE, &registration);
}

static int registers(struct fake *fake, const char *device_name)
{
	return registers_of(fake, device_name, P2PMEM_KIND_PCI_BAR, P2PMEM_PAGES_GENERIC);
}

/* The kernel asks for the route of who imports a dma-buf, and pins for anybody; a subfunction lies below the NIC's function. */
static void pinned_pages_need_a_route(void **state)
{
	struct fake *fake = *state;

	fake_file(fake, "devices/pci0000:00/0000:06:00.0/mlx5_core.sf.4/infiniband/mlx5_2/node_guid", "1");
	fake_link(fake, "class/infiniband/mlx5_2/device", "devices/pci0000:00/0000:06:00.0/mlx5_core.sf.4");
	fake_file(fake, "class/infiniband/rxe0/node_guid", "2");
	found_route = DONARD_ROUTE_NONE;
	assert_int_equal(registers(fake, "mlx5_2"), -EHOSTUNREACH);
	assert_string_equal(asked_bdf, "0000:06:00.0");
	assert_says(donard_error(fake->ctx), "mlx5_2 (0000:06:00.0) cannot reach p2pmem0 (0000:03:00.0): its host bridge is not listed");
	found_route = DONARD_ROUTE_BOUNCED;
	assert_int_equal(registers(fake, "mlx5_2"), -EHOSTUNREACH);
	found_route = DONARD_ROUTE_SWITCH;
	assert_int_equal(registers(fake, "mlx5_2"), 0);
	found_route = DONARD_ROUTE_NONE;
	vendor_id = 0xffffff;	/* of rxe */
	assert_int_equal(registers(fake, "rxe0"), 0);
	vendor_id = 0x02c9;
	assert_int_equal(registers(fake, "mlx5_9"), -EHOSTUNREACH);
	assert_says(donard_error(fake->ctx), "mlx5_9: sysfs does not tell its PCI function");
}

/* ---- memory that only a dma-buf registers ---- */

/* The remedy for pages that cannot be pinned is another page type, if the region can have it. */
static void p2pdma_pages_need_an_importer(void **state)
{
	struct fake *fake = *state;
	const struct donard_context *ctx = fake->ctx;

	begin_exports();
	import_error = EOPNOTSUPP;
	assert_int_equal(registers_of(fake, "rxe0", P2PMEM_KIND_PCI_BAR, P2PMEM_PAGES_P2PDMA), -EOPNOTSUPP);
	assert_says(donard_error(ctx), "rxe0 cannot register p2pmem0: its pages are of type p2pdma, which can only be "
		    "registered as a dma-buf, and rxe0 imports no dma-buf (Operation not supported).");
	assert_says(donard_error(ctx), "Give the region generic pages (donard_region_set_page_type(p2pmem0, generic)), or use "
		    "a device that imports dma-bufs.");
	assert_int_equal(registers_of(fake, "rxe0", P2PMEM_KIND_NVME_CMB, P2PMEM_PAGES_P2PDMA), -EOPNOTSUPP);
	assert_says(donard_error(ctx), "Use a region of another kind, or use a device that imports dma-bufs.");
	fake_file(fake, "bus/pci/devices/0000:03:00.0/p2pmem/size", "268435456");
	fake_file(fake, "bus/pci/devices/0000:03:00.0/p2pmem/available", "268435456");
	assert_int_equal(registers_of(fake, "rxe0", P2PMEM_KIND_GPU_NVIDIA, P2PMEM_PAGES_P2PDMA), -EOPNOTSUPP);
	assert_says(donard_error(ctx), "static BAR1), so that the page type stays p2pdma. Remove the region, start the driver "
		    "without RMForceStaticBar1 and add it anew, or use a device that imports dma-bufs.");
	end_exports();
}

/* A NIC that imports dma-bufs, which is below a function. */
static int registers_p2pdma(struct fake *fake)
{
	return registers_of(fake, "mlx5_2", P2PMEM_KIND_PCI_BAR, P2PMEM_PAGES_P2PDMA);
}

static void add_importer(struct fake *fake)
{
	fake_file(fake, "devices/pci0000:00/0000:06:00.0/infiniband/mlx5_2/node_guid", "1");
	fake_link(fake, "class/infiniband/mlx5_2/device", "devices/pci0000:00/0000:06:00.0");
}

/* The kernel checks the importer's route; a refusal because of it is not reported as a lack of imports. */
static void p2pdma_pages_need_a_route(void **state)
{
	static const int refusals[] = { EHOSTUNREACH, ERANGE };
	struct fake *fake = *state;

	add_importer(fake);
	begin_exports();
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		import_error = refusals[i];
		found_route = DONARD_ROUTE_NONE;
		assert_int_equal(registers_p2pdma(fake), -EHOSTUNREACH);
		assert_string_equal(donard_error_code(fake->ctx), "unreachable");
		assert_says(donard_error(fake->ctx), "mlx5_2 (0000:06:00.0) cannot reach p2pmem0 (0000:03:00.0): its host bridge is not listed");
		found_route = DONARD_ROUTE_SWITCH;	/* as the route of its pages, which is not that of a dma-buf */
		assert_int_equal(registers_p2pdma(fake), -EHOSTUNREACH);
		assert_says(donard_error(fake->ctx), "mlx5_2 cannot reach p2pmem0: the import of its dma-buf was refused (");
	}
	end_exports();
}

/* These failures are transient: they end by themselves, or when the program releases something. */
static void p2pdma_pages_may_have_to_wait(void **state)
{
	struct fake *fake = *state;

	add_importer(fake);
	begin_exports();
	found_route = DONARD_ROUTE_NONE;	/* which is not the reason */
	import_error = EAGAIN;
	assert_int_equal(registers_p2pdma(fake), -EBUSY);
	assert_string_equal(donard_error_code(fake->ctx), "busy");
	assert_says(donard_error(fake->ctx), "mlx5_2 cannot register p2pmem0 now: its device is being reset");
	import_error = ENOMEM;
	assert_int_equal(registers_p2pdma(fake), -ENOMEM);
	assert_says(donard_error(fake->ctx), "mlx5_2 cannot register p2pmem0 as a dma-buf now: Cannot allocate memory.");
	export_error = EMFILE;
	assert_int_equal(registers_p2pdma(fake), -EMFILE);
	assert_says(donard_error(fake->ctx), "Too many open files. This process has as many descriptors as it may");
	end_exports();
}

/* Pins of the mapping would stay when that has passed: nobody can revoke them, and their device hears of no reset. */
static void pages_are_not_pinned_for_what_passes(void **state)
{
	static const struct {
		int error_number, rc;
		const char *text;
	} passes[] = {
		{ EAGAIN, -EBUSY, "mlx5_2 cannot register p2pmem0 now: its device is being reset" },
		{ EINTR, -EINTR, "mlx5_2 cannot register p2pmem0 as a dma-buf now: Interrupted system call." },
		{ ENOMEM, -ENOMEM, "mlx5_2 cannot register p2pmem0 as a dma-buf now: Cannot allocate memory." },
	};
	static const int never[] = { EOPNOTSUPP, EINVAL, 524 };	/* the kernel's own ENOTSUPP */
	struct fake *fake = *state;

	add_importer(fake);
	begin_exports();
	found_route = DONARD_ROUTE_SWITCH;
	pins = 0;
	for (size_t i = 0; i < sizeof(passes) / sizeof(passes[0]); i++) {
		import_error = passes[i].error_number;
		assert_int_equal(registers(fake, "mlx5_2"), passes[i].rc);
		assert_says(donard_error(fake->ctx), passes[i].text);
		assert_int_equal(pins, 0);
	}
	for (unsigned int i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
		import_error = never[i];
		assert_int_equal(registers(fake, "mlx5_2"), 0);
		assert_int_equal(pins, i + 1);
	}
	end_exports();
}

/* ---- registration as a dma-buf ---- */

/* The last registration that verbs were asked for, and its file. */
static struct {
	uint64_t offset, length, iova;
	int fd, access;
	ino_t file;
} asked;

static ino_t file_of(int fd)
{
	struct stat file;

	assert_int_equal(fstat(fd, &file), 0);
	return file.st_ino;
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access)
{
	(void)pd;
	asked.offset = offset;
	asked.length = length;
	asked.iova = iova;
	asked.fd = fd;
	asked.access = access;
	asked.file = file_of(fd);
	if (!import_error)
		return &imported_mr;
	errno = import_error;
	return NULL;
}

/* A part of the memory, which lies at @at of the file of @dmabuf, becomes known by that file, and under its address. */
static void registers_dmabuf(struct donard_memory *memory, uint64_t offset, uint64_t length, int dmabuf, uint64_t at)
{
	struct donard_rdma_registration_info info = { .size = sizeof(info) };
	struct donard_rdma_registration *registration;
	struct ibv_device device = { .name = "mlx5_2" };
	struct ibv_context verbs = { .device = &device };
	struct ibv_pd pd = { .context = &verbs };

	pins = 0;
	assert_int_equal(donard_rdma_register(memory, offset, length, &pd, DONARD_RDMA_WRITE, &registration), 0);
	assert_int_equal(asked.offset, at);
	assert_int_equal(asked.length, length);
	assert_int_equal(asked.iova % 4096, at % 4096);	/* else the kernel refuses it */
	assert_int_equal(asked.access, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE);
	assert_int_equal(asked.file, file_of(dmabuf));
	assert_int_not_equal(asked.fd, dmabuf);
	assert_int_equal(fcntl(asked.fd, F_GETFD), -1);	/* it was closed again */
	assert_int_equal(donard_rdma_registration_info(registration, &info), 0);
	assert_ptr_equal(info.mr, &imported_mr);
	assert_int_equal((uintptr_t)info.address, asked.iova);
	assert_int_equal(info.length_bytes, length);
	assert_int_equal(info.method, DONARD_RDMA_DMABUF);
	assert_int_equal(pins, 0);
	donard_rdma_deregister(registration);
}

static uint8_t mapped[4 << 16] __attribute__((aligned(4096)));

static void imported_memory_is_handed_on(void **state)
{
	struct fake *fake = *state;
	struct donard_memory *memory = dnd_memory_new(fake->ctx, "");

	assert_non_null(memory);
	memory->dmabuf = (struct dnd_dmabuf){ .fd = memfd_create("of-a-test", MFD_CLOEXEC), .writable = true };
	memory->dmabuf_offset = 8192 + 100;
	memory->length = 65536;
	registers_dmabuf(memory, 1000, 4096, memory->dmabuf.fd, 9292);
	assert_int_equal(asked.iova, 9292);	/* the CPU has no mapping */
	memory->window.map = mapped;
	memory->window.data = mapped + 100;
	registers_dmabuf(memory, 1000, 4096, memory->dmabuf.fd, 9292);
	assert_int_equal(asked.iova, (uintptr_t)mapped + 1100);
	donard_memory_free(memory);
}

/* Registers memory of another exporter.  The kind of its pages does not matter, since they may not be pinned. */
static int registers_foreign(struct donard_memory *memory, int refusal)
{
	struct donard_rdma_registration *registration;
	struct ibv_device device = { .name = "mlx5_2" };
	struct ibv_context verbs = { .device = &device };
	struct ibv_pd pd = { .context = &verbs };
	int rc;

	import_error = refusal;
	rc = donard_rdma_register(memory, 0, 4096, &pd, DONARD_RDMA_WRITE, &registration);
	import_error = 0;
	return rc;
}

static void imported_memory_may_have_to_wait(void **state)
{
	static const int never[] = { EOPNOTSUPP, EINVAL, 524 };	/* the kernel's own ENOTSUPP */
	struct fake *fake = *state;
	struct donard_memory *memory = dnd_memory_new(fake->ctx, "");

	assert_non_null(memory);
	memory->dmabuf = (struct dnd_dmabuf){
		.fd = memfd_create("of-a-test", MFD_CLOEXEC), .writable = true, .name = "dma-buf of stranger",
	};
	memory->pages = DONARD_PAGES_NONE;
	memory->length = 65536;
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
		assert_int_equal(registers_foreign(memory, never[i]), -EOPNOTSUPP);
		assert_says(donard_error(fake->ctx), "mlx5_2 cannot register dma-buf of stranger: it has no pages of the host's memory to pin");
	}
	assert_int_equal(registers_foreign(memory, EAGAIN), -EBUSY);
	assert_int_equal(registers_foreign(memory, EHOSTUNREACH), -EHOSTUNREACH);
	assert_says(donard_error(fake->ctx), "mlx5_2 cannot reach dma-buf of stranger: the import of its dma-buf was refused (No route to host)");
	assert_int_equal(registers_foreign(memory, ENOMEM), -ENOMEM);
	donard_memory_free(memory);
}

/* Whole granules are exported. */
static void memory_of_a_region_is_exported(void **state)
{
	struct fake *fake = *state;
	struct donard_memory *memory = dnd_memory_new(fake->ctx, "p2pmem0");

	assert_non_null(memory);
	memory->region.info.granule_bytes = 1 << 16;
	begin_exports();
	memory->region.fd = exporting_fd;
	memory->window = (struct dnd_window){ .map = mapped, .file_offset = 2 << 16, .data = mapped + 8192 + 100 };
	memory->length = 2 << 16;
	registers_dmabuf(memory, 66000, 60000, exported_fd, 8192 + 100 + 66000 - (1 << 16));
	assert_int_equal(asked.iova, (uintptr_t)mapped + 8192 + 100 + 66000);
	assert_int_equal(exported.file_offset, 3 << 16);
	assert_int_equal(exported.length, 2 << 16);
	assert_int_equal(exported.fd_flags, O_RDWR | O_CLOEXEC);
	memory->region.fd = -1;
	end_exports();
	donard_memory_free(memory);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(pinned_pages_need_a_route), CASE(p2pdma_pages_need_an_importer), CASE(imported_memory_is_handed_on),
		CASE(memory_of_a_region_is_exported), CASE(p2pdma_pages_need_a_route), CASE(p2pdma_pages_may_have_to_wait),
		CASE(imported_memory_may_have_to_wait), CASE(pages_are_not_pinned_for_what_passes),
	};

	return cmocka_run_group_tests_name("rdma_register", tests, NULL, NULL);
}
