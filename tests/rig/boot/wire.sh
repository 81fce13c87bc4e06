# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The second guest, and the two wires between the guests. Sourced, never run.
#
#   guest A  wire0 10.77.0.1 -------- wire0 10.77.0.2  guest B     the RDMA device is on it; can be cut
#            ctl0  10.78.0.1 -------- ctl0  10.78.0.2              labctl peer: never cut
#
# Each wire is a stream between two emulators over a socket in the run directory: it loses nothing.

# shellcheck disable=SC2034  # lab
readonly FABRICS=(rxe siw ntb)

# wire NAME NUMBER - this guest's end of it: GUEST is 1 or 2. The guest names the device by its address.
wire() {
	local name=$1 ends=(server=on reconnect-ms=100)
	qemu_arg -netdev "stream,id=$name,${ends[2 - GUEST]},addr.type=unix,addr.path=$LAB_DIR/$name.sock" \
		-device "virtio-net-pci,netdev=$name,mac=52:54:00:00:0$2:0$GUEST,romfile="
}

# The port by which either guest has the second one's power cut (run.sh).
power_port() {
	qemu_arg -chardev "pipe,id=power,path=$LAB_DIR/power" -device virtserialport,chardev=power,name=lab.power
}

wires() {
	power_port
	wire wire0 0
	wire ctl0 1
}

# wire_env - as seen by GUEST. A guest by itself talks to itself.
wire_env() {
	local other=$((3 - GUEST))
	echo "export LAB_ADDR=10.77.0.$GUEST LAB_ADDR6=fd77::$GUEST"
	[[ -z $OPT_FABRIC ]] || echo "export LAB_FABRIC=$OPT_FABRIC"
	[[ $OPT_FABRIC != @(rxe|siw) ]] || echo "export LAB_RDMA_DEVICE=${OPT_FABRIC}0"
	[[ -n $OPT_PEER ]] || return 0
	echo "export LAB_PEER_ADDR=10.77.0.$other LAB_PEER_ADDR6=fd77::$other LAB_CONTROL_ADDR=10.78.0.$GUEST"
	((GUEST == 2)) || echo "export LAB_PEER_CONTROL_ADDR=10.78.0.$other"
}

# configure_peer - collects PEER_ARGS. Its files lie in a directory of the same form as the first guest's.
configure_peer() {
	mkfifo "$LAB_DIR/power.in" "$LAB_DIR/power.out"
	# shellcheck disable=SC2034  # boot/guest.sh
	local RUN_DIR=$LAB_DIR/peer GUEST=2 OPT_KERNEL=${OPT_PEER_KERNEL:-$OPT_KERNEL} MODE=serve
	make_guest_dir
	configure
	# shellcheck disable=SC2034  # boot/run.sh
	PEER_ARGS=("${QEMU_ARGS[@]}")
}
