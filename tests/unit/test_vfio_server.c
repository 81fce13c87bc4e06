// SPDX-License-Identifier: Apache-2.0
/* The lab's half of vfio-user: what an emulator asks is answered, and no client, however wrong, does any harm. */
#include "vfio_client.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/pci_regs.h>
#include <linux/vfio.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define BAR_BYTES 0x1000

/* A device whose BAR 0 is memory. */
struct scene {
	struct server server;
	struct client client;
	uint8_t bar[BAR_BYTES];
	unsigned int reads, writes, resets, attached, detached;
	unsigned int descriptors;
};

static void bar_read(void *device, unsigned int bar, uint64_t offset, void *data, uint32_t len_bytes)
{
	struct scene *scene = device;

	assert_int_equal(bar, 0);
	assert_in_range(offset + len_bytes, 1, BAR_BYTES);
	memcpy(data, scene->bar + offset, len_bytes);
	scene->reads++;
}

static void bar_write(void *device, unsigned int bar, uint64_t offset, const void *data, uint32_t len_bytes)
{
	struct scene *scene = device;

	assert_int_equal(bar, 0);
	assert_in_range(offset + len_bytes, 1, BAR_BYTES);
	memcpy(scene->bar + offset, data, len_bytes);
	scene->writes++;
}

static void was_reset(void *device) { ((struct scene *)device)->resets++; }
static void was_attached(void *device) { ((struct scene *)device)->attached++; }
static void was_detached(void *device) { ((struct scene *)device)->detached++; }

static const struct device_ops ops = {
	.read = bar_read, .write = bar_write, .reset = was_reset, .attached = was_attached, .detached = was_detached,
};

static const struct pci_identity identity = {
	.vendor = 0x1234, .device = 0x5678, .class = 0x058000, .vectors = 24,
	.bars = { [0] = { .len_bytes = BAR_BYTES }, [2] = { .len_bytes = 1 << 20, .is_64bit = true, .prefetchable = true } },
	.table_offset = 0x800, .pending_offset = 0xc00, .link_speed = 4, .link_width = 16,
};

static int set_up(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	scene->descriptors = open_descriptors();
	server_init(&scene->server, "server under test", &identity, &ops, scene);
	client_connect(&scene->client, &scene->server);
	*state = scene;
	return 0;
}

/* The server keeps no descriptor of a client that is gone, whatever that client sent. */
static int tear_down(void **state)
{
	struct scene *scene = *state;

	client_disconnect(&scene->client);
	server_close(&scene->server);
	assert_int_equal(scene->attached, scene->detached);
	assert_int_equal(open_descriptors(), scene->descriptors);
	free(scene);
	return 0;
}

static int set_up_greeted(void **state)
{
	set_up(state);
	client_greet(&((struct scene *)*state)->client);
	return 0;
}

/* --- the version --- */

static int say_version(struct client *client, uint16_t major, uint16_t minor, const char *json, size_t json_bytes)
{
	uint8_t payload[256];

	memcpy(payload, &(struct vfu_version){ major, minor }, sizeof(struct vfu_version));
	memcpy(payload + sizeof(struct vfu_version), json, json_bytes);
	return client_call(client, VFU_VERSION, payload, sizeof(struct vfu_version) + json_bytes);
}

static void the_version_comes_first(void **state)
{
	struct scene *scene = *state;
	const struct vfu_version *version = client_payload(&scene->client);

	assert_int_equal(client_try_read(&scene->client, 0, 0, 4), EPROTO);
	assert_int_equal(client_call(&scene->client, VFU_RESET, NULL, 0), EPROTO);
	assert_int_equal(scene->attached, 0);
	assert_int_equal(say_version(&scene->client, 0, 7, "{}", 3), 0);
	assert_int_equal(version->major, 0);
	assert_int_equal(version->minor, 1);
	assert_string_equal((const char *)(version + 1),
			    "{\"capabilities\":{\"max_msg_fds\":16,\"max_data_xfer_size\":65536}}");
	assert_int_equal(scene->attached, 1);
	assert_int_equal(say_version(&scene->client, 0, 1, "{}", 3), EINVAL);
	assert_int_equal(scene->attached, 1);
}

static void other_versions_are_refused(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(say_version(&scene->client, 1, 0, "{}", 3), EINVAL);
	assert_int_equal(say_version(&scene->client, 0, 1, "{}", 2), EINVAL);	/* without its NUL */
	assert_int_equal(scene->attached, 0);
	assert_int_equal(say_version(&scene->client, 0, 0, "", 0), 0);
}

/* --- the device's description --- */

static void it_says_what_it_has(void **state)
{
	struct scene *scene = *state;
	struct client *client = &scene->client;
	const struct vfu_device_info *info = client_payload(client);
	const struct vfu_device_info asked = { .argsz = sizeof(asked) };
	const struct vfu_region_info *region = client_payload(client);
	const struct vfu_irq_info *irq = client_payload(client);
	const uint64_t bytes[VFIO_PCI_NUM_REGIONS] = { [0] = BAR_BYTES, [2] = 1 << 20,
						       [VFIO_PCI_CONFIG_REGION_INDEX] = 4096 };

	assert_int_equal(client_call(client, VFU_GET_INFO, &asked, sizeof(asked)), 0);
	assert_int_equal(info->flags, VFIO_DEVICE_FLAGS_PCI | VFIO_DEVICE_FLAGS_RESET);
	assert_int_equal(info->regions, VFIO_PCI_NUM_REGIONS);
	assert_int_equal(info->irqs, VFIO_PCI_NUM_IRQS);
	for (uint32_t i = 0; i < VFIO_PCI_NUM_REGIONS; i++) {
		const struct vfu_region_info which = { .argsz = sizeof(which), .index = i };

		assert_int_equal(client_call(client, VFU_GET_REGION_INFO, &which, sizeof(which)), 0);
		assert_int_equal(region->bytes, bytes[i]);
		assert_int_equal(region->flags, bytes[i] ? VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE : 0);
	}
	for (uint32_t i = 0; i <= VFIO_PCI_MSIX_IRQ_INDEX; i++) {
		const struct vfu_irq_info which = { .argsz = sizeof(which), .index = i };

		assert_int_equal(client_call(client, VFU_GET_IRQ_INFO, &which, sizeof(which)), 0);
		assert_int_equal(irq->count, i == VFIO_PCI_MSIX_IRQ_INDEX ? 24 : 0);
	}
}

static void it_says_nothing_of_what_it_has_not(void **state)
{
	struct client *client = &((struct scene *)*state)->client;
	const struct vfu_device_info small = { .argsz = sizeof(small) - 1 };
	const struct vfu_region_info region = { .argsz = sizeof(region), .index = VFIO_PCI_NUM_REGIONS };
	const struct vfu_irq_info irq = { .argsz = sizeof(irq), .index = VFIO_PCI_ERR_IRQ_INDEX };

	assert_int_equal(client_call(client, VFU_GET_INFO, &small, sizeof(small)), EINVAL);
	assert_int_equal(client_call(client, VFU_GET_REGION_INFO, &region, sizeof(region)), EINVAL);
	assert_int_equal(client_call(client, VFU_GET_IRQ_INFO, &irq, sizeof(irq)), EINVAL);
	assert_int_equal(client_call(client, VFU_GET_REGION_IO_FDS, NULL, 0), EOPNOTSUPP);
	assert_int_equal(client_call(client, 0, NULL, 0), EOPNOTSUPP);
	assert_int_equal(client_call(client, 14, NULL, 0), EOPNOTSUPP);
	assert_int_equal(client_call(client, 0xffff, NULL, 0), EOPNOTSUPP);
}

/* --- configuration space --- */

#define CONFIG VFIO_PCI_CONFIG_REGION_INDEX

static void config_is_that_of_a_function(void **state)
{
	struct client *client = &((struct scene *)*state)->client;
	uint64_t at = client_read(client, CONFIG, PCI_CAPABILITY_LIST, 1);

	assert_int_equal(client_read(client, CONFIG, PCI_VENDOR_ID, 4), 0x56781234);
	assert_int_equal(client_read(client, CONFIG, PCI_CLASS_REVISION, 4), 0x05800000);
	assert_int_equal(client_read(client, CONFIG, PCI_BASE_ADDRESS_2, 4), 0xc);
	assert_int_equal(client_read(client, CONFIG, at, 1), PCI_CAP_ID_EXP);
	assert_int_equal(client_read(client, CONFIG, at + PCI_EXP_LNKCTL, 4), 0x01040000);
	at = client_read(client, CONFIG, at + 1, 1);
	assert_int_equal(client_read(client, CONFIG, at, 1), PCI_CAP_ID_MSIX);
	assert_int_equal(client_read(client, CONFIG, at + PCI_MSIX_FLAGS, 2), 23);
	assert_int_equal(client_read(client, CONFIG, at + PCI_MSIX_TABLE, 4), 0x800);
	assert_int_equal(client_read(client, CONFIG, at + PCI_MSIX_PBA, 4), 0xc00);
	assert_int_equal(client_read(client, CONFIG, at + 1, 1), 0);
	assert_int_equal(client_try_read(client, CONFIG, 0, 4096), 0);
	assert_int_equal(client_try_read(client, CONFIG, 1, 4096), EINVAL);
}

static void config_takes_what_may_be_written(void **state)
{
	struct scene *scene = *state;
	struct client *client = &scene->client;

	for (uint32_t i = 0; i < 4096; i += 8)
		client_write(client, CONFIG, i, UINT64_MAX, 8);
	assert_int_equal(client_read(client, CONFIG, PCI_VENDOR_ID, 4), 0x56781234);
	assert_int_equal(client_read(client, CONFIG, PCI_COMMAND, 2), 0x406);
	assert_int_equal(client_read(client, CONFIG, PCI_BASE_ADDRESS_0, 4), 0xfffff000);
	assert_true(client_read(client, CONFIG, PCI_BASE_ADDRESS_2, 8) == 0xfffffffffff0000c);
	assert_int_equal(client_read(client, CONFIG, PCI_BASE_ADDRESS_4, 4), 0);
	assert_true(pci_is_master(&scene->server.config));
	assert_int_equal(client_call(client, VFU_RESET, NULL, 0), 0);
	assert_int_equal(scene->resets, 1);
	assert_false(pci_is_master(&scene->server.config));
	assert_int_equal(client_read(client, CONFIG, PCI_BASE_ADDRESS_2, 8), 0xc);
}

/* --- BARs --- */

static void accesses_reach_the_device(void **state)
{
	struct scene *scene = *state;
	struct client *client = &scene->client;

	client_write(client, 0, BAR_BYTES - 8, 0x1122334455667788, 8);
	assert_true(client_read(client, 0, BAR_BYTES - 4, 4) == 0x11223344);
	assert_int_equal(client_read(client, 0, BAR_BYTES - 1, 1), 0x11);
	assert_int_equal(client_try_read(client, 0, 0, BAR_BYTES), 0);
	assert_int_equal(scene->reads, 3);
	assert_int_equal(scene->writes, 1);
}

static void accesses_past_the_end_do_not(void **state)
{
	struct scene *scene = *state;
	struct client *client = &scene->client;
	const uint64_t value = 0;

	assert_int_equal(client_try_read(client, 0, BAR_BYTES - 3, 4), EINVAL);
	assert_int_equal(client_try_read(client, 0, BAR_BYTES, 1), EINVAL);
	assert_int_equal(client_try_read(client, 0, UINT64_MAX, 1), EINVAL);
	assert_int_equal(client_try_read(client, 0, UINT64_MAX - 3, 8), EINVAL);
	assert_int_equal(client_try_read(client, 0, 0, 0), EINVAL);
	assert_int_equal(client_try_read(client, 2, 0, VFU_MAX_TRANSFER + 1), EINVAL);
	assert_int_equal(client_try_read(client, 2, 0, UINT32_MAX), EINVAL);
	assert_int_equal(client_try_read(client, 1, 0, 4), EINVAL);
	assert_int_equal(client_try_read(client, VFIO_PCI_ROM_REGION_INDEX, 0, 4), EINVAL);
	assert_int_equal(client_try_read(client, UINT32_MAX, 0, 4), EINVAL);
	assert_int_equal(client_try_write(client, 0, BAR_BYTES - 3, &value, 4), EINVAL);
	assert_int_equal(client_try_write(client, 0, UINT64_MAX - 1, &value, 4), EINVAL);
	assert_int_equal(client_try_write(client, 1, 0, &value, 4), EINVAL);
	assert_int_equal(scene->reads + scene->writes, 0);
}

/* --- the stream --- */

static void messages_arrive_in_pieces(void **state)
{
	struct scene *scene = *state;
	const struct { struct vfu_header header; struct vfu_region_access access; uint32_t value; } message = {
		.header = { .command = VFU_REGION_WRITE, .bytes = 36 }, .access = { .offset = 8, .count = 4 },
		.value = 0xabcdef01,
	};

	for (size_t i = 0; i < message.header.bytes; i++) {
		assert_int_equal(scene->writes, 0);
		client_send(&scene->client, (const uint8_t *)&message + i, 1, NULL, 0);
		client_pump(&scene->client);
	}
	assert_true(client_take(&scene->client));
	assert_int_equal(client_read(&scene->client, 0, 8, 4), 0xabcdef01);
}

static void posted_writes_have_no_answer(void **state)
{
	struct scene *scene = *state;
	const struct { struct vfu_header header; struct vfu_region_access access; uint32_t value; } message = {
		.header = { .command = VFU_REGION_WRITE, .bytes = 36, .flags = VFU_NO_REPLY }, .access = { .count = 4 },
	};
	struct vfu_header unknown = { .command = 99, .bytes = sizeof(unknown), .flags = VFU_NO_REPLY };

	client_send(&scene->client, &message, message.header.bytes, NULL, 0);
	client_send(&scene->client, &unknown, sizeof(unknown), NULL, 0);
	client_pump(&scene->client);
	assert_int_equal(scene->writes, 1);
	assert_false(client_take(&scene->client));
	client_read(&scene->client, 0, 0, 4);
}

/* A client that takes no answers is not served, and goes on where it stopped once it does. */
static void who_does_not_listen_waits(void **state)
{
	struct scene *scene = *state;
	const struct { struct vfu_header header; struct vfu_region_access access; } message = {
		.header = { .command = VFU_REGION_READ, .bytes = 32 }, .access = { .count = BAR_BYTES },
	};
	unsigned int sent = 0, answered = 0;

	while (send(scene->client.socket, &message, sizeof(message), MSG_DONTWAIT) == sizeof(message)) {
		sent++;
		client_pump(&scene->client);
		if (server_wants(&scene->server).events == POLLOUT)
			break;
	}
	assert_int_equal(server_wants(&scene->server).events, POLLOUT);
	assert_int_equal(scene->reads, sent);
	client_send(&scene->client, &message, sizeof(message), NULL, 0);
	client_pump(&scene->client);
	assert_int_equal(scene->reads, sent);
	while (client_take(&scene->client)) {
		answered++;
		client_pump(&scene->client);
	}
	assert_int_equal(answered, sent + 1);
}

static void a_client_comes_after_another(void **state)
{
	struct scene *scene = *state;
	int ram = memory_file(8192), vector = client_vector(&scene->client, 3);

	assert_int_equal(client_map(&scene->client, ram, 0, 0x10000, 8192), 0);
	client_write(&scene->client, CONFIG, PCI_COMMAND, PCI_COMMAND_MASTER, 2);
	client_disconnect(&scene->client);
	assert_int_equal(scene->detached, 1);
	assert_int_equal(scene->server.dma.count, 0);
	assert_false(pci_is_master(&scene->server.config));
	server_raise(&scene->server, 3);
	assert_int_equal(raised(vector), 0);
	client_connect(&scene->client, &scene->server);
	assert_int_equal(client_try_read(&scene->client, 0, 0, 4), EPROTO);
	client_greet(&scene->client);
	close(ram);
	close(vector);
}

/* --- descriptors --- */

static void descriptors_that_nobody_asked_for_are_closed(void **state)
{
	struct scene *scene = *state;
	int fds[VFU_MAX_FDS];
	unsigned int before = open_descriptors();
	const struct vfu_region_access access = { .count = 4 };

	for (int i = 0; i < VFU_MAX_FDS; i++)
		fds[i] = scene->client.socket;
	assert_int_equal(client_call_fds(&scene->client, VFU_REGION_READ, &access, sizeof(access), fds, VFU_MAX_FDS), 0);
	assert_int_equal(client_call_fds(&scene->client, 99, NULL, 0, fds, VFU_MAX_FDS), EOPNOTSUPP);
	assert_int_equal(open_descriptors(), before);
}

static void too_many_descriptors_end_it(void **state)
{
	struct scene *scene = *state;
	int fds[VFU_MAX_FDS + 1];
	unsigned int before = open_descriptors();
	const struct vfu_header header = { .command = VFU_RESET, .bytes = sizeof(header) };

	for (int i = 0; i <= VFU_MAX_FDS; i++)
		fds[i] = scene->client.socket;
	client_send(&scene->client, &header, sizeof(header), fds, VFU_MAX_FDS + 1);
	client_pump(&scene->client);
	assert_true(client_is_dropped(&scene->client));
	assert_int_equal(open_descriptors(), before - 1);
}

/* Some with each piece: they are one message's. */
static void descriptors_add_up(void **state)
{
	struct scene *scene = *state;
	int fds[10];
	const struct { struct vfu_header header; struct vfu_region_access access; } message = {
		.header = { .command = VFU_REGION_READ, .bytes = 32 }, .access = { .count = 4 },
	};

	for (int i = 0; i < 10; i++)
		fds[i] = scene->client.socket;
	client_send(&scene->client, &message, 20, fds, 10);
	client_pump(&scene->client);
	client_send(&scene->client, (const uint8_t *)&message + 20, 12, fds, 10);
	client_pump(&scene->client);
	assert_true(client_is_dropped(&scene->client));
}

/* Two messages that the kernel would hand over in one piece. */
static void descriptors_stay_with_their_message(void **state)
{
	struct scene *scene = *state;
	int ram = memory_file(4096);
	const struct vfu_header reset = { .command = VFU_RESET, .bytes = sizeof(reset) };
	const struct { struct vfu_header header; struct vfu_dma_map map; } message = {
		.header = { .command = VFU_DMA_MAP, .bytes = 48 },
		.map = { .argsz = 32, .flags = VFIO_DMA_MAP_FLAG_READ, .address = 0x1000, .bytes = 4096 },
	};

	client_send(&scene->client, &reset, sizeof(reset), NULL, 0);
	client_send(&scene->client, &message, sizeof(message), &ram, 1);
	client_pump(&scene->client);
	assert_int_equal(scene->server.dma.count, 1);
	assert_non_null(scene->server.dma.ranges[0].memory);
	close(ram);
}

/* --- interrupts --- */

static void vectors_are_raised(void **state)
{
	struct scene *scene = *state;
	int first = client_vector(&scene->client, 0), last = client_vector(&scene->client, 23);

	server_raise(&scene->server, 0);
	server_raise(&scene->server, 23);
	server_raise(&scene->server, 23);
	server_raise(&scene->server, 7);
	server_raise(&scene->server, 24);
	server_raise(&scene->server, UINT32_MAX);
	assert_int_equal(raised(first), 1);
	assert_int_equal(raised(last), 2);
	assert_int_equal(client_set_vectors(&scene->client, 0, 24, NULL, 0), 0);
	server_raise(&scene->server, 0);
	assert_int_equal(raised(first), 0);
	close(first);
	close(last);
}

static void a_client_raises_and_drops_them(void **state)
{
	struct scene *scene = *state;
	struct vfu_irq_set set = { .argsz = sizeof(set), .index = VFIO_PCI_MSIX_IRQ_INDEX, .start = 5, .count = 1,
				   .flags = VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_TRIGGER };
	int fd = client_vector(&scene->client, 5);

	assert_int_equal(client_call(&scene->client, VFU_SET_IRQS, &set, sizeof(set)), 0);
	assert_int_equal(raised(fd), 1);
	set.start = set.count = 0;
	assert_int_equal(client_call(&scene->client, VFU_SET_IRQS, &set, sizeof(set)), 0);
	server_raise(&scene->server, 5);
	assert_int_equal(raised(fd), 0);
	close(fd);
}

/* One that blocks when it is full, and is full: the server does not wait for it. */
static void a_full_eventfd_blocks_nobody(void **state)
{
	struct scene *scene = *state;
	int fd = eventfd(0, 0);
	uint64_t most = UINT64_MAX - 1;

	assert_int_equal(write(fd, &most, sizeof(most)), sizeof(most));
	assert_int_equal(client_set_vectors(&scene->client, 0, 1, &fd, 1), 0);
	server_raise(&scene->server, 0);
	assert_true(raised(fd) == most);
	close(fd);
}

/* --- bytes of chance --- */

/* Makes a message of any kind, with a valid head about half of the time. */
static size_t make_message(uint8_t *message)
{
	struct vfu_header *header = (struct vfu_header *)message;
	size_t bytes = sizeof(*header) + random() % 64;

	for (size_t i = 0; i < bytes; i++)
		message[i] = random() % 3 ? 0 : random();
	header->command = random() % 16;
	header->flags = random() % 8 ? 0 : random();
	header->bytes = random() % 64 ? bytes : (size_t)random();
	return bytes;
}

static void random_messages(void **state)
{
	struct scene *scene = *state;
	_Alignas(8) uint8_t message[256];
	int ram = memory_file(1 << 16);

	srandom(14);
	for (int round = 0; round < 20000; round++) {
		int fds[2] = { ram, scene->client.socket };
		size_t bytes = make_message(message);

		client_send(&scene->client, message, bytes, fds, random() % 8 ? 0 : random() % 3);
		client_pump(&scene->client);
		while (client_take(&scene->client))
			continue;
		if (!client_is_dropped(&scene->client))
			continue;
		client_disconnect(&scene->client);
		client_connect(&scene->client, &scene->server);
		client_greet(&scene->client);
	}
	close(ram);
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define GREETED(name)	cmocka_unit_test_setup_teardown(name, set_up_greeted, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_version_comes_first), TEST(other_versions_are_refused),
		GREETED(it_says_what_it_has), GREETED(it_says_nothing_of_what_it_has_not),
		GREETED(config_is_that_of_a_function), GREETED(config_takes_what_may_be_written),
		GREETED(accesses_reach_the_device), GREETED(accesses_past_the_end_do_not),
		GREETED(messages_arrive_in_pieces), GREETED(posted_writes_have_no_answer),
		GREETED(who_does_not_listen_waits), GREETED(a_client_comes_after_another),
		GREETED(descriptors_that_nobody_asked_for_are_closed), GREETED(too_many_descriptors_end_it),
		GREETED(descriptors_add_up), GREETED(descriptors_stay_with_their_message),
		GREETED(vectors_are_raised), GREETED(a_client_raises_and_drops_them),
		GREETED(a_full_eventfd_blocks_nobody), GREETED(random_messages),
	};

	return cmocka_run_group_tests_name("vfio-user server", tests, NULL, NULL);
}
