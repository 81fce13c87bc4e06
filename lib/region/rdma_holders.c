// SPDX-License-Identifier: Apache-2.0
/*
 * Finds the RDMA device that pins for a process.  The kernel keeps a list of memory regions with their
 * owners, which "rdma resource show mr" prints, and which is read here by netlink.  If that fails, no
 * device is named.
 */
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "region/holders.h"

enum { MAX_DEVICES = 64, REPLY_BYTES = 16 * 1024, REPLY_SECONDS = 1 };

/* The pid that a dump looks for; the callbacks fill in the rest. */
struct search {
	uint32_t pid;
	bool found;
	unsigned int devices;
	struct {
		uint32_t index;
		char name[64];
	} device[MAX_DEVICES];
};

typedef void (*message_fn)(struct search *search, const struct nlattr *attr, int bytes);

static const struct nlattr *attr_next(const struct nlattr *attr, int *bytes)
{
	int step = (int)NLA_ALIGN(attr->nla_len);

	*bytes -= step;
	return (const void *)((const char *)attr + step);
}

static bool attr_ok(const struct nlattr *attr, int bytes)
{
	return bytes >= (int)sizeof(*attr) && attr->nla_len >= sizeof(*attr) &&
	       attr->nla_len <= bytes;
}

/* The attribute @type among those in @attr, or NULL. */
static const struct nlattr *attr_find(const struct nlattr *attr, int bytes, int type)
{
	for (; attr_ok(attr, bytes); attr = attr_next(attr, &bytes))
		if ((attr->nla_type & NLA_TYPE_MASK) == type)
			return attr;
	return NULL;
}

static const void *attr_data(const struct nlattr *attr)
{
	return (const char *)attr + NLA_HDRLEN;
}

static int attr_bytes(const struct nlattr *attr)
{
	return (int)attr->nla_len - NLA_HDRLEN;
}

static bool attr_u32(const struct nlattr *attr, int bytes, int type, uint32_t *value)
{
	attr = attr_find(attr, bytes, type);
	if (!attr || attr_bytes(attr) < (int)sizeof(*value))
		return false;
	memcpy(value, attr_data(attr), sizeof(*value));
	return true;
}

static void note_device(struct search *search, const struct nlattr *attr, int bytes)
{
	const struct nlattr *name = attr_find(attr, bytes, RDMA_NLDEV_ATTR_DEV_NAME);
	unsigned int n = search->devices;

	if (!name || n == MAX_DEVICES ||
	    !attr_u32(attr, bytes, RDMA_NLDEV_ATTR_DEV_INDEX, &search->device[n].index))
		return;
	snprintf(search->device[n].name, sizeof(search->device[n].name), "%.*s",
		 attr_bytes(name), (const char *)attr_data(name));
	search->devices++;
}

static void note_region(struct search *search, const struct nlattr *attr, int bytes)
{
	const struct nlattr *table = attr_find(attr, bytes, RDMA_NLDEV_ATTR_RES_MR), *entry;
	uint32_t pid;

	if (!table)
		return;
	entry = attr_data(table);
	bytes = attr_bytes(table);
	for (; attr_ok(entry, bytes); entry = attr_next(entry, &bytes))
		if (attr_u32(attr_data(entry), attr_bytes(entry), RDMA_NLDEV_ATTR_RES_PID, &pid) &&
		    pid == search->pid)
			search->found = true;
}

/* Asks for a dump; of the device *@index, unless that is NULL. */
static bool ask(int fd, int command, const uint32_t *index)
{
	struct {
		struct nlmsghdr header;
		struct nlattr attr;
		uint32_t index;
	} request = {
		.header = {
			.nlmsg_len = index ? sizeof(request) : NLMSG_HDRLEN,
			.nlmsg_type = (uint16_t)RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command),
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		},
		.attr = {
			.nla_len = NLA_HDRLEN + sizeof(request.index),
			.nla_type = RDMA_NLDEV_ATTR_DEV_INDEX,
		},
		.index = index ? *index : 0,
	};

	return send(fd, &request, request.header.nlmsg_len, 0) == (ssize_t)request.header.nlmsg_len;
}

/* Returns true if more of the dump is to come. */
static bool take_reply(struct search *search, const char *reply, long bytes, message_fn message)
{
	const struct nlmsghdr *header = (const void *)reply;

	for (; NLMSG_OK(header, bytes); header = NLMSG_NEXT(header, bytes)) {
		if (header->nlmsg_type == NLMSG_DONE || header->nlmsg_type == NLMSG_ERROR)
			return false;
		message(search, NLMSG_DATA(header), (int)header->nlmsg_len - NLMSG_HDRLEN);
	}
	return true;
}

static void dump(int fd, int command, const uint32_t *index, struct search *search,
		 message_fn message)
{
	_Alignas(struct nlmsghdr) char reply[REPLY_BYTES];
	ssize_t bytes;

	if (!ask(fd, command, index))
		return;
	do
		bytes = recv(fd, reply, sizeof(reply), 0);
	while (bytes > 0 && take_reply(search, reply, bytes, message));
}

static int open_netlink(void)
{
	struct timeval patience = { .tv_sec = REPLY_SECONDS };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);

	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return fd;
}

void dnd_rdma_devices_of(int pid, char *text, size_t text_bytes)
{
	struct search search = { .pid = (uint32_t)pid };
	int fd = open_netlink();
	size_t used = 0;

	text[0] = '\0';
	if (fd < 0)
		return;
	dump(fd, RDMA_NLDEV_CMD_GET, NULL, &search, note_device);
	for (unsigned int i = 0; i < search.devices && used < text_bytes; i++) {
		search.found = false;
		dump(fd, RDMA_NLDEV_CMD_RES_MR_GET, &search.device[i].index, &search, note_region);
		if (search.found)
			used += (size_t)snprintf(text + used, text_bytes - used, "%s%s",
						 used ? " and " : "", search.device[i].name);
	}
	close(fd);
}
