# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# RDMA between two machines, or in one that was booted without. Sourced by suites, from their directory.

# on here|peer COMMAND...
on() {
	local where=$1
	shift
	case $where in
	here) "$@" ;;
	peer) labctl peer "$@" ;;
	esac
}

# address_of here|peer
address_of() {
	case $1 in
	here) echo "$LAB_ADDR" ;;
	peer) echo "$LAB_PEER_ADDR" ;;
	esac
}

# Both ends of the wire carry 4 MB a second and drop nothing.
slow_wire() {
	local slow='tc qdisc add dev wire0 root tbf rate 32mbit burst 256k limit 4m'
	at_end 'tc qdisc del dev wire0 root; labctl peer tc qdisc del dev wire0 root </dev/null'
	$slow
	labctl peer sh -c "$slow" </dev/null
}

# tcp_listens here|peer PORT
tcp_listens() {
	[[ -n $(on "$1" ss -Hltn "sport = :$2") ]]
}

# cm_listens here|peer PROGRAM PORT - by rdma_cm. For siw that comes to a TCP socket of the kernel's.
cm_listens() {
	grep -q "state LISTEN .*comm $2 " < <(on "$1" rdma resource show cm_id) || return
	[[ $LAB_FABRIC != siw ]] || tcp_listens "$1" "$3" || return
	# The state is set a moment before the transport takes connections.
	sleep 1
}

# port_is_quiet here|peer PORT - what listened there before is gone; with RDMA that takes a moment.
port_is_quiet() {
	! tcp_listens "$1" "$2" && ! grep -q "state LISTEN .*:$2 " < <(on "$1" rdma resource show cm_id)
}

# peer_is_free REGION - of the other machine.
peer_is_free() {
	labctl peer cmp -s "/sys/class/p2pmem/$1/available" "/sys/class/p2pmem/$1/size" </dev/null
}

# received_bytes - over the wire, so far.
received_bytes() {
	echo "$(</sys/class/net/wire0/statistics/rx_bytes)"
}

# renew_both - an RDMA device that has not outlived its wire is made anew, at either end.
renew_both() {
	/opt/lab/fabric renew
	labctl peer /opt/lab/fabric renew </dev/null
}

# with_rdma - a soft device on an interface without a wire, as the lab makes it for a machine alone, until the end of the test: other
# counts are to know none.
with_rdma() {
	export LAB_FABRIC=rxe LAB_RDMA_DEVICE=rxe0 LAB_ADDR=10.77.0.1 LAB_ADDR6=fd77::1
	at_end "within 20 /opt/lab/fabric down; ip link delete wire0"
	/opt/lab/fabric up
}
