# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The commands of "RDMA Warming Up", as they are written there, on RoCE and on iWARP, alone and between
# two machines.

# shellcheck source=helpers/fabric.sh
. helpers/fabric.sh
# shellcheck source=helpers/foreign.sh
. helpers/foreign.sh

readonly PINGS=20
readonly PINGPONG_PORT=18515 RPING_PORT=7174

device_is_listed() {
	matches "ibv_devices" "${LAB_RDMA_DEVICE}[[:space:]]+[0-9a-f]{16}" "$(on "$1" ibv_devices)"
}

port_is_active() {
	local info transport=InfiniBand
	[[ $LAB_FABRIC != siw ]] || transport=iWARP
	info=$(on "$1" ibv_devinfo -d "$LAB_RDMA_DEVICE")
	matches "hca_id" "hca_id:[[:space:]]*$LAB_RDMA_DEVICE" "$info"
	matches "transport" "transport:[[:space:]]*$transport " "$info"
	matches "state" 'state:[[:space:]]*PORT_ACTIVE \(4\)' "$info"
	matches "active_mtu" 'active_mtu:[[:space:]]*4096 \(5\)' "$info"
	matches "link_layer" 'link_layer:[[:space:]]*Ethernet' "$info"
}

# The wire is cut: the port says so, and again when it is mended.
port_follows_wire() {
	labctl wire down
	at_end "labctl wire up"
	within 10 port_state_is here PORT_DOWN
	within 10 port_state_is peer PORT_DOWN
	labctl wire up
	within 10 port_state_is here PORT_ACTIVE
	within 10 port_state_is peer PORT_ACTIVE
}

port_state_is() {
	[[ $(on "$1" ibv_devinfo -d "$LAB_RDMA_DEVICE") == *state:*"$2"* ]]
}

# --- ibv_rc_pingpong ---

# pingpong SERVER CLIENT
pingpong() {
	local -a command=(ibv_rc_pingpong -g 0 -d "$LAB_RDMA_DEVICE" -i 1)
	local host=localhost
	[[ $1 == "$2" ]] || host=$(address_of "$1")
	SERVER_SIDE=("$1" "${command[@]}") CLIENT_SIDE=("$2" "${command[@]}" "$host")
	foreign_pair "$PINGPONG_PORT" tcp_listens "$1" "$PINGPONG_PORT"
	both_succeeded
	for side in server client; do
		matches "$side" '8192000 bytes in .*1000 iters in ' "$(tr '\n' ' ' <"$WORK/$side")"
	done
}

# iWARP connects by rdma_cm and nothing else: a QP gets to RTS only with the TCP connection that rdma_cm
# made, so the pingpongs of libibverbs, which exchange numbers on a socket of their own, cannot run.
pingpong_cannot_connect() {
	local status=0 server
	ibv_rc_pingpong -g 0 -d "$LAB_RDMA_DEVICE" -i 1 >"$WORK/server" 2>&1 &
	server=$!
	within 20 tcp_listens here "$PINGPONG_PORT"
	ibv_rc_pingpong -g 0 -d "$LAB_RDMA_DEVICE" -i 1 localhost >"$WORK/client" 2>&1 || status=$?
	equal "status of the client" 1 "$status"
	wait "$server" && fail "the server succeeded"
	matches "its message" 'Failed to modify QP to RTS' "$(cat "$WORK/server")"
}

# --- rping ---

# ping_lines PREFIX - the twenty, each one letter further on: 63 characters from A to z in a ring.
ping_lines() {
	local ring='ABCDEFGHIJKLMNOPQRSTUVWXYZ[\]^_`abcdefghijklmnopqrstuvwxyz' i text
	for ((i = 0; i < PINGS; i++)); do
		text="rdma-ping-$i: "
		printf '%s%s%s\n' "$1" "$text" "$(cut -c "$((i + 1))-$((i + 63 - ${#text}))" <<<"$ring$ring")"
	done
}

# rping_between SERVER CLIENT [ADDRESS]
rping_between() {
	local address=${3:-$(address_of "$1")} bind=()
	# Runs the command as written there, unless the address is of the other family.
	[[ $address != *:* ]] || bind=(-a "$address")
	SERVER_SIDE=("$1" rping -s -v -C "$PINGS" "${bind[@]}")
	CLIENT_SIDE=("$2" rping -c -v -a "$address" -C "$PINGS")
	foreign_pair "$RPING_PORT" cm_listens "$1" rping "$RPING_PORT"
	both_succeeded
	equal "the client's lines" "$(ping_lines 'ping data: ')" "$(grep '^ping data' "$WORK/client")"
	equal "the server's lines" "$(ping_lines 'server ping data: ')" \
		"$(grep '^server ping data' "$WORK/server")"
	# The client may be gone before it hears of the disconnection.
	matches "the server's end" 'server DISCONNECT EVENT' "$(cat "$WORK/server")"
}

core t "ibv_devices" device_is_listed here
core t "ibv_devices, other machine" device_is_listed peer
core t "ibv_devinfo: PORT_ACTIVE" port_is_active here
core t "ibv_devinfo: PORT_ACTIVE, other machine" port_is_active peer
t "rping, loopback" rping_between here here
core t "rping, two machines" rping_between peer here
t "rping, two machines, the other way round" rping_between here peer
t "rping, two machines, IPv6" rping_between peer here "$LAB_PEER_ADDR6"
if [[ $LAB_FABRIC == rxe ]]; then
	t "ibv_rc_pingpong, loopback" pingpong here here
	core t "ibv_rc_pingpong, two machines" pingpong peer here
	t "ibv_devinfo: PORT_DOWN when the wire is cut" port_follows_wire
else
	core t "ibv_rc_pingpong cannot connect by iWARP" pingpong_cannot_connect
fi
