# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Why a machine's memory cannot be served, or its RDMA device not be used: tests of rdma.sh, which sources this.

# An address that no RDMA device has: the message names those that there are, or that there are none.
no_such_address() {
	exits 3 "no-rdma-device.*machine have: .*$LAB_ADDR \\($LAB_RDMA_DEVICE\\)" \
		donard-cli rdma serve dram --bind 10.99.0.1 --json
	exits 3 "no RDMA device has an address; there are: $LAB_RDMA_DEVICE \\(active\\)" \
		unshare --net donard-cli rdma serve dram --bind 10.99.0.1
	exits 3 "the RDMA device $LAB_RDMA_DEVICE, and no node of it is in /dev/infiniband" unshare --mount \
		sh -c 'mount -t tmpfs none /dev/infiniband; exec donard-cli rdma serve dram --bind 10.99.0.1'
	cp -a /dev/infiniband "$WORK/nodes"
	rm "$WORK/nodes/rdma_cm"
	exits 3 'there is no /dev/infiniband/rdma_cm.*modprobe rdma_ucm' unshare --mount \
		sh -c "mount --bind $WORK/nodes /dev/infiniband; exec donard-cli rdma serve dram --bind 10.99.0.1"
	at_end "ip link set wire0 up; within 10 port_is ACTIVE"
	ip link set wire0 down
	within 10 port_is DOWN
	exits 3 "machine have: .*$LAB_ADDR \\($LAB_RDMA_DEVICE, port down\\)" donard-cli rdma serve dram --bind 10.99.0.1
}

# The device is closed to a user, here or in a container.
closed_device() {
	local denied='has to be open to this user'
	at_end "chmod 666 /dev/infiniband/*"
	chmod 666 /dev/infiniband/*
	chmod 600 /dev/infiniband/uverbs*
	exits 1 "$LAB_RDMA_DEVICE cannot be opened: Permission denied.*/dev/infiniband $denied" \
		as user donard-cli rdma serve dram --size 1M --bind "$LAB_ADDR"
	exits 1 "$LAB_RDMA_DEVICE cannot be opened: Permission denied.*/dev/infiniband $denied" \
		as user donard-cli rdma write "$LAB_PEER_ADDR" --size 64K
	chmod 666 /dev/infiniband/*
	chmod 600 /dev/infiniband/rdma_cm
	exits 1 "connection manager cannot be used: Permission denied.*/dev/infiniband/rdma_cm $denied" \
		as user donard-cli rdma serve dram --size 1M --bind "$LAB_ADDR"
}

port_down() {
	at_end "ip link set wire0 up; within 10 port_is ACTIVE"
	ip link set wire0 down
	within 10 port_is DOWN
	exits 1 'port 1 is not active.*ip link set' rdmareg "$LAB_RDMA_DEVICE" p2pmem0 4096 3
}

port_is() {
	[[ $(cat "/sys/class/infiniband/$LAB_RDMA_DEVICE/ports/1/state") == *"$1"* ]]
}

# A listener at loopback counts as one at each address, and siw shares its ports with TCP.
port_in_use() {
	local server
	donard-cli rdma serve dram --size 1M --json >"$WORK/first" 2>&1 </dev/null &
	server=$!
	at_end "kill -KILL $server 2>/dev/null; wait $server"
	within 10 grep -q listening "$WORK/first"
	exits 1 '"busy".*127.0.0.1: port 7077 is in use.*--port' donard-cli rdma serve dram --size 1M --json
	exits 1 "$LAB_ADDR: port 7077 is in use.*--port" donard-cli rdma serve dram --size 1M --bind "$LAB_ADDR"
	kill -TERM "$server"
	within 10 ended "$server"
	chmod 666 /dev/infiniband/*
	exits 1 "$LAB_ADDR: port 80 cannot be bound.*CAP_NET_BIND_SERVICE.*--port" \
		as user donard-cli rdma serve dram --size 1M --bind "$LAB_ADDR" --port 80
	[[ $LAB_FABRIC == siw ]] || return 0
	python3 -m http.server 7077 --bind "$LAB_ADDR" >/dev/null 2>&1 </dev/null &
	at_end "kill -KILL $! 2>/dev/null; wait $!"
	within 10 tcp_answers 7077
	exits 1 "$LAB_ADDR: port 7077 is in use.*--port" donard-cli rdma serve dram --size 1M --bind "$LAB_ADDR"
}

tcp_answers() {
	(: <"/dev/tcp/$LAB_ADDR/$1") 2>/dev/null
}
