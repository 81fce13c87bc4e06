# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The lab's own bridge between two machines, under the kernel's unmodified drivers: what their files say, the other
# machine's memory and the bridge's own counts agree. What is tested here is the lab.

# shellcheck source=helpers/ntb.sh
. helpers/ntb.sh

readonly WINDOW_BYTES=65536

# lend_window - the peer's memory behind our first window; its address there is in LENT.
lend_window() {
	tell peer peer0/mw_trans0 "$WINDOW_BYTES"
	tell here peer0/peer_mw_trans0 "0:${1:-$WINDOW_BYTES}"
	LENT=$(tool peer peer0/mw_trans0 | sed -n 's/^DMA Address *\t//p')
	matches "the address that the peer lends" '^0x[0-9a-f]+$' "$LENT"
}

# window_has FILE - the peer's memory, as its own processor sees it.
window_has() {
	local seen
	# shellcheck disable=SC2016  # the other shell's
	seen=$(sh_on peer 'dd if="$DIR/peer0/mw0" bs="$1" count=1 status=none | sha1sum' "$WINDOW_BYTES")
	exactly "digest of the peer's memory" "$(sha1sum <"$1")" "$seen"
}

# write_window FILE [OPTION-OF-DD...] - and it has arrived.
write_window() {
	dd if="$1" of="$(echo /sys/kernel/debug/ntb_tool/*)/peer0/peer_mw0" bs=4096 "${@:2}" status=none
	tool here db >/dev/null
}

link_comes_up() {
	with_tool
	equal "the bridge" "link up" "$(labctl ntb counts | sed -n 1p)"
	matches "who we are" '^0' "$(tool here port)"
	matches "who the peer is" '^1' "$(tool peer port)"
}

scratchpads() {
	with_tool
	tell here peer0/spad3 0x11223344
	tell peer peer0/spad7 0x55667788
	equal "the peer's scratchpad" 0x11223344 "$(tool peer spad3)"
	equal "our scratchpad" 0x55667788 "$(tool here spad7)"
}

doorbells() {
	with_tool
	bridge_counts
	tell peer db_mask 'c 0x21'
	tell here peer_db 's 0x21'
	equal "the peer's doorbells" 0x21 "$(tool peer db)"
	equal "doorbells rung" 1 "$(counted lab doorbells)"
	tell peer db 'c 0x20'
	equal "the peer's doorbells" 0x1 "$(tool peer db)"
	equal "our doorbells" 0x0 "$(tool here db)"
}

window() {
	random_file "$WORK/data" "$WINDOW_BYTES"
	with_tool
	lend_window
	bridge_counts
	write_window "$WORK/data"
	window_has "$WORK/data"
	exactly "bytes into the peer's RAM" "$WINDOW_BYTES" "$(counted lab write ram)"
	exactly "bytes at what it lent" "$WINDOW_BYTES" "$(bytes_at lab write "$LENT" "$WINDOW_BYTES")"
	equal "reads across the bridge" 0 "$(counted lab read ram)"
	exactly "bytes the other way" 0 "$(counted peer write ram)"
}

beyond_the_limit() {
	random_file "$WORK/data" "$WINDOW_BYTES"
	with_tool
	lend_window $((2 * WINDOW_BYTES))
	write_window "$WORK/data"
	bridge_counts
	write_window /dev/zero count=1 seek=16
	exactly "bytes into the peer's RAM" 0 "$(counted lab write ram)"
	(($(counted lab dropped beyond-limit) > 0)) || fail "nothing was dropped"
	window_has "$WORK/data"
}

cut_and_mend() {
	random_file "$WORK/data" "$WINDOW_BYTES"
	with_tool
	lend_window
	write_window "$WORK/data"
	bridge_counts
	labctl ntb cut
	within 20 both_links_are N
	write_window /dev/zero count=1
	exactly "bytes into the peer's RAM" 0 "$(counted lab write ram)"
	(($(counted lab dropped no-link) > 0)) || fail "nothing was dropped"
	window_has "$WORK/data"
	labctl ntb mend
	within 20 both_links_are Y
	random_file "$WORK/data" "$WINDOW_BYTES"
	write_window "$WORK/data"
	window_has "$WORK/data"
}

# The memory that the driver had lent is not reached any more, since it may have other owners.
driver_leaves() {
	with_tool
	lend_window
	labctl peer bash -c "$(declare -p CLIENTS); $(declare -f unload_clients); unload_clients; rmmod ntb_hw_amd" </dev/null
	at_end "labctl peer bash -c '[[ -d /sys/module/ntb_hw_amd ]] || insmod /opt/lab/ntb/ntb_hw_amd.ko' </dev/null"
	within 20 link_is here N
	bridge_counts
	write_window /dev/zero count=1
	exactly "bytes into the peer's RAM" 0 "$(counted lab write ram)"
	labctl peer insmod /opt/lab/ntb/ntb_hw_amd.ko </dev/null
	labctl peer insmod /opt/lab/ntb/ntb_tool.ko </dev/null
	within 20 both_links_are Y
}

# --- ntb_transport and ntb_netdev: Ethernet over the bridge ---

# The device that ntb_netdev made; the others have names of the lab's own.
readonly ETHERNET=eth0
readonly PORT=4791

# settle - waits until the link is stable. ntb_hw_amd reports a new link twice: by its interrupt, and by a timer of a second
# (amd_link_hb()). Each time ntb_transport restarts its rings at one end only, so that data sent in between are lost, and all that
# follow.
settle() {
	sleep 3
}

# ethernet_is up|down - at both ends.
ethernet_is() {
	ip link set "$ETHERNET" "$1"
	labctl peer ip link set "$ETHERNET" "$1" </dev/null
}

# with_ethernet - at both ends, until the end of the test. ntb_transport would take a window's size of contiguous memory.
with_ethernet() {
	at_end unload_clients_on_both
	settle
	load_client ntb_transport max_mw_size=2097152
	load_client ntb_netdev
	ip addr add 10.79.0.1/24 dev "$ETHERNET"
	labctl peer ip addr add 10.79.0.2/24 dev "$ETHERNET" </dev/null
	ethernet_is up
	within 30 both_have_carrier
}

has_carrier() {
	[[ $(on "$1" cat "/sys/class/net/$ETHERNET/carrier" </dev/null) == 1 ]]
}

both_have_carrier() {
	has_carrier here && has_carrier peer
}

# send_to_peer FILE - by TCP, and compared there.
send_to_peer() {
	labctl peer python3 -c "import hashlib, socket
with socket.create_server(('10.79.0.2', $PORT)) as s:
    c = s.accept()[0]
    print(hashlib.sha1(c.makefile('rb').read()).hexdigest())" </dev/null >"$WORK/seen" &
	local server=$!
	within 20 tcp_listens peer "$PORT" </dev/null
	cat "$1" >"/dev/tcp/10.79.0.2/$PORT"
	wait "$server"
	exactly "digest of what came" "$(sha1sum <"$1" | cut -d' ' -f1)" "$(<"$WORK/seen")"
}

ethernet() {
	local bytes=$((256 << 10))
	random_file "$WORK/data" "$bytes"
	with_ethernet
	bridge_counts
	send_to_peer "$WORK/data"
	(($(counted lab write ram) > bytes)) || fail "the bridge saw $(counted lab write ram) bytes"
	(($(counted lab doorbells) > 0)) || fail "no doorbell rang"
}

ethernet_over_a_cut() {
	random_file "$WORK/data" 65536
	with_ethernet
	labctl ntb cut
	within 20 has_no_carrier here
	within 20 has_no_carrier peer
	ethernet_is down
	labctl ntb mend
	settle
	ethernet_is up
	within 30 both_have_carrier
	send_to_peer "$WORK/data"
}

has_no_carrier() {
	! has_carrier "$1"
}

# --- the other machine dies ---

# Its emulator is killed, with all that it lent. It comes back with new memory, at whatever addresses.
peer_dies() {
	with_tool
	lend_window
	bridge_counts
	labctl cut-power
	within 20 link_is here N
	write_window /dev/zero count=1
	exactly "bytes into nobody's RAM" 0 "$(counted lab write ram)"
	equal "what reads as ones" "$(printf '\xff%.0s' {1..16} | sha1sum)" \
		"$(head -c 16 /sys/kernel/debug/ntb_tool/*/peer0/peer_mw0 | sha1sum)"
	within 120 test -e /mnt/lab/peer/console.log.1
	labctl wait-peer
	labctl peer insmod /opt/lab/ntb/ntb_tool.ko </dev/null
	within 20 both_links_are Y
	write_window /dev/zero count=1
	exactly "bytes into its new owners' RAM" 0 "$(counted lab write ram)"
	tell here peer0/peer_mw_trans0 0:0
	random_file "$WORK/data" "$WINDOW_BYTES"
	lend_window
	write_window "$WORK/data"
	window_has "$WORK/data"
}

t "link" link_comes_up
t "scratchpads" scratchpads
t "doorbells" doorbells
t "window" window
t "beyond the limit" beyond_the_limit
t "cut and mend" cut_and_mend
t "driver leaves" driver_leaves
t "Ethernet" ethernet
t "Ethernet over a cut" ethernet_over_a_cut
t "peer dies" peer_dies
