# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# p2pmem0 taken away while the other machine writes into it by RDMA. The server is perftest as Debian ships it:
# it knows nothing of regions, holds its pins until it is killed, and nobody may take the memory before.

# shellcheck source=helpers/fabric.sh
. helpers/fabric.sh
# shellcheck source=helpers/foreign.sh
. helpers/foreign.sh
# shellcheck source=removal.sh
. ./removal.sh

readonly PORT=18515
readonly WRITES=(ib_write_bw -R -d "$LAB_RDMA_DEVICE" -s 65536 -D 120 -p "$PORT")

# start_pair - SERVER is the pid of the one who holds p2pmem0, CLIENT of what stands here for the one who writes.
start_pair() {
	within 10 port_is_quiet here "$PORT"
	"${WRITES[@]}" --mmap=/dev/p2pmem0 >"$WORK/server" 2>&1 &
	SERVER=$!
	at_end "kill -KILL $SERVER 2>/dev/null"
	within 20 cm_listens here ib_write_bw "$PORT"
	TRAFFIC_FROM=$(received_bytes)
	labctl peer "${WRITES[@]}" "$LAB_ADDR" </dev/null >"$WORK/client" 2>&1 &
	CLIENT=$!
	at_end "kill -KILL $CLIENT 2>/dev/null; wait $CLIENT"
}

# start_traffic - by a new pair where a transport gave up.
start_traffic() {
	local try
	for ((try = 1; try < FOREIGN_TRIES; try++)); do
		start_pair
		# The message about the time comes before the output of both ends.
		(within 20 flows_or_ended) || true
		! traffic_flows || return 0
		kill -KILL "$CLIENT" 2>/dev/null || true
		stop_traffic
		gave_up || break
	done
	fail "no traffic. The server said: $(<"$WORK/server") The client said: $(<"$WORK/client")"
}

flows_or_ended() {
	traffic_flows || ended "$SERVER" || ended "$CLIENT"
}

# A megabyte more than at first.
traffic_flows() {
	(($(received_bytes) > TRAFFIC_FROM + MIB)) && [[ -e /proc/$SERVER ]]
}

stop_traffic() {
	kill -KILL "$SERVER" 2>/dev/null || true
	wait "$SERVER" 2>/dev/null || true
}

# taken_away EVENT... - waits for the server, names it, and goes on as soon as it is gone.
taken_away() {
	start_traffic
	in_background "$@"
	event_waits "$SERVER ib_write_bw [0-9]+ [1-9]"
	stop_traffic
	event_succeeds
	within 20 region_gone p2pmem0
}

removed() {
	taken_away donard-cli region remove p2pmem0
	matches "what the removal said" "ib_write_bw \(pid $SERVER, device $LAB_RDMA_DEVICE\)" "$(cat "$WORK/event")"
	copy_again
}

unbound() {
	taken_away unbind_gpu
	copy_again
}

unplugged() {
	taken_away labctl unplug gpu
	plug_gpu
	copy_again
}

rmmod_refused() {
	start_traffic
	exits 1 'in use|busy' rmmod p2pmem
	equal state ready "$(attr p2pmem0 state)"
	stop_traffic
	copy_again
}

# Writes that were under way when the server died never reach the next owners, who also look for such.
killed_mid_write() {
	local round
	for ((round = 0; round < 3; round++)); do
		start_traffic
		stop_traffic
		folio owners p2pmem0
	done
	within 10 region_is_free p2pmem0
	copy_again
}

lt "region remove under RDMA writes" removed
lt "driver unbind under RDMA writes" unbound
lt "hot-unplug under RDMA writes" unplugged
lt "rmmod under RDMA writes" rmmod_refused
lt "death under RDMA writes" killed_mid_write
