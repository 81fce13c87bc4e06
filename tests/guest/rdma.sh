# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# donard-cli rdma between two guests: this one is the client, the peer serves. What arrived is read from the
# files behind both guests' BARs, without donard.

# shellcheck source=helpers/fabric.sh
. helpers/fabric.sh
# shellcheck source=helpers/served.sh
. helpers/served.sh
# shellcheck source=helpers/gpu.sh
. helpers/gpu.sh
# shellcheck source=helpers/settled.sh
. helpers/settled.sh
# shellcheck source=helpers/ownclient.sh
. helpers/ownclient.sh
# shellcheck source=helpers/unservable.sh
. helpers/unservable.sh
# shellcheck source=helpers/nicprobe.sh
. helpers/nicprobe.sh

readonly SIZE=$((4 * MIB))

# --- the server, in the second guest ---

start_server() {
	start_serving labctl peer donard-cli rdma serve "$@" --bind "$LAB_PEER_ADDR"
	at_end "kill -KILL $SERVER 2>/dev/null; wait $SERVER"
}

serve() {
	start_server "$@"
	until_listening
}

peer_signals() {
	labctl peer pkill "-$1" -x donard-cli </dev/null
}

# --- the client ---

client() {
	client_of rdma "$@"
}

# client_fails STATUS CODE COMMAND [ARGUMENT...]
client_fails() {
	local want=$1 code=$2 status=0
	shift 2
	RESULT=$(donard-cli rdma "$1" "$LAB_PEER_ADDR" --json "${@:2}" 2>"$WORK/client.err") || status=$?
	equal "status of rdma $* (it said: $RESULT)" "$want" "$status"
	equal "code of rdma $* (it said: $RESULT)" "$code" "$(field error.code)"
}

# start_client COMMAND [ARGUMENT...] - in the background; CLIENT is its pid.
start_client() {
	donard-cli rdma "$1" "$LAB_PEER_ADDR" --json "${@:2}" >"$WORK/client" 2>"$WORK/client.err" &
	CLIENT=$!
	at_end "kill -KILL $CLIENT 2>/dev/null; wait $CLIENT"
}

# background COMMAND [ARGUMENT...] - one that goes on until something happens.
background() {
	start_client "$@"
	within 15 has_event came
	sleep 0.5
	! ended "$CLIENT" || fail "the client ended: $(cat "$WORK/client")"
}

# client_ends CODE - the background client, by itself, failing with that code.
client_ends() {
	local status=0
	within "$SECONDS_TO_NOTICE" ended "$CLIENT"
	wait "$CLIENT" || status=$?
	equal "status of the client ($(cat "$WORK/client"))" 1 "$status"
	matches "code of the client" "^($1)$" "$(jq -r .error.code "$WORK/client")"
}

# A load that does not end by itself.
readonly FOREVER=(bw --iterations 10000000 --block-size 64K)

# compared_by - "server+client", or one of them.
compared_by() {
	field 'verified_by | join("+")'
}

# All of the run compared, where it arrived at least.
verified() {
	exactly "verified bytes of $RESULT" "$1" "$(field verified_bytes)"
	exactly "bytes of $RESULT" "$1" "$(field bytes)"
}

# --- moving data ---

# both_ways TARGET [LOCAL [ARGUMENT...]] - further arguments are the server's
both_ways() {
	serve "$1" --size "$SIZE" "${@:3}"
	client write --verify --local "${2:-dram}"
	verified "$SIZE"
	client read --verify --local "${2:-dram}"
	verified "$SIZE"
	equal "method" mapping "$(field remote.method)"
	equal "remote target" "${1%%+*}" "$(field remote.target)"
	equal "clients that left well" 2 "$(events left)"
}

# A PMR is persistent, so it is not overwritten with test data.
from_pmr() {
	serve dram --size "$SIZE"
	client_fails 3 unsupported write --verify --local p2pmem2
	client write --local p2pmem2 --size 1M
	client read --verify --local p2pmem2 --allow-persistent
	verified "$SIZE"
}

# The near side's PMR is overwritten for verification or measurement only with consent. Sending from it leaves it alone.
near_pmr_is_not_spoiled() {
	local how
	random_file "$WORK/data" "$MIB"
	regio write p2pmem2 0 "$MIB" "$WORK/data"
	serve dram --size 1M
	for how in "lat --direction read" "bw --direction read" "lat --verify" "bw --verify" "read --verify" "write --verify"; do
		# shellcheck disable=SC2086  # words
		client_fails 3 unsupported $how --local p2pmem2
	done
	client lat --local p2pmem2 --iterations 5
	same_bytes "the PMR" "$(backing beta)" "$WORK/data" "$MIB"
	client lat --direction read --local p2pmem2 --allow-persistent --iterations 5
	client bw --direction read --local p2pmem2 --allow-persistent --iterations 5
}

# peer_holds FILE OFFSET BYTES - puts them into the other guest's p2pmem0.
peer_holds() {
	labctl peer sh -c "cat >/tmp/held && regio write p2pmem0 $2 $3 /tmp/held" <"$1"
}

# Bytes that donard did not make, from BAR to BAR, seen by the host on both sides.
bar_to_bar() {
	random_file "$WORK/data" "$SIZE"
	regio write p2pmem0 $((2 * MIB)) "$SIZE" "$WORK/data"
	serve p2pmem0+8M --size "$SIZE" --once
	client write --local p2pmem0+2M
	same_bytes "host's view of the peer's BAR" /mnt/lab/peer/gpu.bar "$WORK/data" "$SIZE" $((8 * MIB))
	server_ends 0
}

# Memory of a GPU at either end; its bytes are compared at both.
gpu_sides() {
	# shellcheck disable=SC2119
	with_gpu
	exits 1 "region add --kind gpu-nvidia --device $LAB_GPU_BDF" donard-cli rdma serve gpu:0 --bind "$LAB_ADDR"
	donard-cli region add --kind gpu-nvidia --device "$LAB_GPU_BDF" --page-type generic
	exits 1 "none of CUDA's 1 GPUs has this address" donard-cli rdma serve gpu:0000:7f:00.0 --bind "$LAB_ADDR"
	exits 1 'gpu:9: there is no such GPU' donard-cli rdma serve gpu:9 --bind "$LAB_ADDR"
	exits 2 'gpu:0: .*pass no offset' donard-cli rdma serve gpu:0+64M --bind "$LAB_ADDR"
	serve dram --size "$SIZE" --clients 2
	client write --verify --local gpu:0
	verified "$SIZE"
	equal "who compared" server+client "$(compared_by)"
	equal "near side" gpu:0 "$(field local.target)"
	client read --verify --local "gpu:$LAB_GPU_BDF"
	verified "$SIZE"
	server_ends 0
	within 10 nothing_is_pinned
	gpu_far_side
	within 10 nothing_is_pinned
}

# The other guest's clients, of a server here.
gpu_far_side() {
	local direction
	serve_here "gpu:$LAB_GPU_BDF" --size "$SIZE" --clients 2
	for direction in write read; do
		far_client "$direction" --verify
		verified "$SIZE"
	done
	server_ends 0
}

bar_to_bar_reading() {
	random_file "$WORK/data" "$SIZE"
	peer_holds "$WORK/data" $((8 * MIB)) "$SIZE"
	serve p2pmem0+8M --size "$SIZE" --access read --once
	client read --local p2pmem0+2M
	same_bytes "host's view of the BAR" "$(backing gpu)" "$WORK/data" "$SIZE" $((2 * MIB))
	server_ends 0
}

# shape ARGUMENT... - odd sizes and depths, both directions.
shape() {
	serve p2pmem0+4M --size $((MIB + 12345))
	client write --verify "$@"
	client read --verify "$@"
}

passes() {
	serve p2pmem0 --size 1M
	client write --verify --iterations 5
	verified $((5 * MIB))
}

# All bytes that a client wrote are read back over the wire and compared here.
read_back() {
	local before
	serve p2pmem0+16M --size $((9 * MIB + 777))
	before=$(received_bytes)
	client write --verify --block-size 100000
	verified $((9 * MIB + 777))
	equal "who compared" server+client "$(compared_by)"
	equal "what the server compared" $((9 * MIB + 777)) \
		"$(within 10 has_event left; jq 'select(.event == "left").checked_bytes' "$WORK/served")"
	jq -es 'any(.event == "left" and .user_seconds + .system_seconds > 0)' "$WORK/served" >/dev/null || fail "what the comparison cost is not told"
	(($(received_bytes) - before > 9 * MIB)) || fail "only $(($(received_bytes) - before)) bytes came back"
	client write --local p2pmem0
	equal "who compared when nobody was asked to" '' "$(compared_by)"
}

# flip_bit OFFSET - one bit of the peer's BAR, on and off, behind everybody's back.
flip_bit() {
	labctl peer python3 -c 'import mmap, os
bar = mmap.mmap(os.open("/sys/bus/pci/devices/%s/resource2" % os.environ["LAB_GPU_BDF"], os.O_RDWR), 1 << 24)
while True: bar['"$1"'] ^= 16' </dev/null &
	at_end "kill -KILL $! 2>/dev/null"
}

# One wrong bit among many passes over right ones.
spoiled() {
	local status=0
	serve p2pmem0+8M --size 64K
	background "$1" --verify --iterations 10000000
	flip_bit $((8 * MIB + 4321))
	within 30 ended "$CLIENT"
	wait "$CLIENT" || status=$?
	equal "status of the client ($(cat "$WORK/client"))" 4 "$status"
	matches "the error" '"mismatch".*at byte 4321 of p2pmem0' "$(cat "$WORK/client")"
}

# Blocks that are longer under way than anybody may be silent: signs of life do not wait behind them.
large_blocks() {
	slow_wire
	serve dram --size 32M
	client bw --direction "$1" --block-size 32M --size 32M --queue-depth 2 --iterations 2
	equal requests 2 "$(field requests)"
	exactly bytes $((2 * 32 * MIB)) "$(field bytes)"
	equal "longer than the time limit" true "$(field 'seconds > 10')"
}

bandwidth() {
	serve p2pmem0 --size 4M
	client bw --direction "$1" --iterations 300 --block-size 16K --queue-depth 32 --verify
	equal requests 300 "$(field requests)"
	exactly bytes $((300 * 16384)) "$(field bytes)"
	verified $((300 * 16384))
	equal "who compared" "$([[ $1 == read ]] && echo client || echo server+client)" "$(compared_by)"
	matches "rate" '^[0-9]+' "$(field bytes_per_second)"
}

latency() {
	serve p2pmem0 --size 4M
	client lat --direction "$1" --iterations 200 --verify
	verified $((200 * 8))
	equal requests 200 "$(field requests)"
	equal "percentiles in order" true "$(jq '.latency_ns | [.min, .p50, .p90, .p99, ."p99.9", .max] |
		(. == sort) and .[0] > 0' <<<"$RESULT")"
}

# --- refusals ---

past_the_end() {
	serve p2pmem0 --size 1M
	client_fails 1 past-end write --offset 512K --size 513K
	client_fails 1 past-end read --offset 1M
	client_fails 1 past-end write --offset 9223372036854775807
	client write --offset 512K --size 512K --verify
}

rights() {
	serve p2pmem0 --size 1M --access read --clients 5
	client_fails 1 not-offered write
	client_fails 1 not-offered read --verify
	client read
	peer_signals TERM
	server_ends 0
	serve p2pmem0 --size 1M --access write
	client_fails 1 not-offered read
	client_fails 1 not-offered write --verify
	peer_signals TERM
	server_ends 0
	serve p2pmem0 --size 1M --access write --compare
	client write --verify
	verified "$MIB"
	equal "who compared what may not be read" server "$(compared_by)"
}

fill_on_request() {
	serve p2pmem0 --size 1M --access read --fill
	client read --verify
	verified "$MIB"
}

# A verification does not overwrite a server's PMR without consent.
persistent_is_not_filled() {
	local how
	random_file "$WORK/data" "$MIB"
	regio write p2pmem0 $((2 * MIB)) "$MIB" "$WORK/data"
	serve p2pmem2 --size 1M
	client write --local p2pmem0+2M
	client_fails 1 not-offered read --verify
	for how in bw lat; do
		client_fails 1 not-offered "$how" --direction read --verify
	done
	client read --local p2pmem0+8M
	same_bytes "persistent bytes" "$(backing gpu)" "$WORK/data" "$MIB" $((8 * MIB))
	client write --verify
	verified "$MIB"
}

# raw ARGUMENT... - what happened to a client that checks nothing.
raw() {
	limited rdmaraw "$LAB_PEER_ADDR" 7077 "$@" || echo "rdmaraw: status $?"
}

# refused_access [write|read] OFFSET LENGTH [RKEY] - by the device of the server. siw learns of it when its
# queue pair is taken from under it, maybe while the request is still being sent.
refused_access() {
	local seen
	seen=$(raw "$@")
	if [[ $LAB_FABRIC == siw && $seen =~ ^(cut off|local QP operation error)$ ]]; then
		return
	fi
	equal "completion of $*" "remote access error" "$seen"
}

# A neighbour in the same region, whose bytes must stay.
exceed_range() {
	random_file "$WORK/before" $((2 * MIB))
	peer_holds "$WORK/before" $((3 * MIB)) $((2 * MIB))
	serve p2pmem0+4M --size 4096
	refused_access write 4096 8
	refused_access write 4090 8
	refused_access write -8 8
	refused_access write -4096 8192
	refused_access read 4096 8
	refused_access read -1 1
	refused_access read 0 4097
	same_bytes "bytes before the range" /mnt/lab/peer/gpu.bar "$WORK/before" "$MIB" $((3 * MIB)) 0
	same_bytes "bytes behind the range" /mnt/lab/peer/gpu.bar "$WORK/before" $((MIB - 4096)) \
		$((4 * MIB + 4096)) $((MIB + 4096))
}

exceed_rights() {
	serve p2pmem0 --size 1M --access read --clients 2
	refused_access write 0 8
	equal "reading" success "$(raw read 0 8)"
	server_ends 0
	serve p2pmem0 --size 1M --access write --once
	# Not even a connection that could carry a read: siw does not look at the memory's rights.
	equal "reading" rejected "$(raw read 0 8)"
	equal "writing" success "$(raw write 0 8)"
	server_ends 0
}

# The key that an earlier client had is worth nothing to the next.
stale_key() {
	local key
	serve p2pmem0 --size 1M
	read -r key _ < <(raw offer)
	matches "the key of the offer" '^[0-9]+$' "$key"
	refused_access write 0 8 "$key"
	refused_access write 0 8 $((key + 0x10000))
}

garbage() {
	serve p2pmem0 --size 1M
	equal "what a client without a hello sees" rejected "$(raw hello)"
	equal "what a client without messages sees" "cut off" "$(raw message)"
	equal "to fill past the end" "cut off" "$(raw fill 0 $((MIB + 1)))"
	equal "to fill past 2^64" "cut off" "$(raw fill -1 2)"
	equal "to fill nothing" "cut off" "$(raw fill 0 0)"
	client write --verify
	equal "refused" 2 "$(events refused)"
	equal "lost" 3 "$(events lost)"
}

# A client that does not take the offer leaves the only place to the client that it is meant for.
refused_do_not_count() {
	serve p2pmem0 --size 1M --access read --once
	equal "without a hello" rejected "$(raw hello)"
	equal "without messages" "cut off" "$(raw message)"
	matches "the offer" '^[0-9]+ 0x' "$(raw offer)"
	client_fails 1 past-end read --offset 1M
	client_fails 1 not-offered write
	client_fails 1 no-such-region read --local p2pmem9
	client read
	server_ends 0
	equal "clients that came" 1 "$(events came)"
	equal "clients that were refused" 6 "$(events refused)"
}

busy() {
	serve p2pmem0 --size 1M
	background "${FOREVER[@]}"
	client_fails 1 busy write
	kill -TERM "$CLIENT"
	within 10 ended "$CLIENT"
	within 10 has_event left
	client write --verify
}

not_elsewhere() {
	start_serving labctl peer donard-cli rdma serve p2pmem0 --size 1M
	at_end "kill -KILL $SERVER 2>/dev/null; wait $SERVER"
	until_listening
	matches "address" '"address":"127\.0\.0\.1:' "$(cat "$WORK/served")"
	client_fails 1 refused write
	# siw listens at the given address, 127.0.0.1, which no client can reach by an RDMA device.
	exits 0 "serves loopback.*--bind and that address: .*$LAB_PEER_ADDR \\($LAB_RDMA_DEVICE\\)" \
		labctl peer sh -c '! donard-cli rdma write 127.0.0.1' </dev/null
	[[ $LAB_FABRIC != siw ]] || return 0
	labctl peer donard-cli rdma write "$LAB_PEER_ADDR" --verify </dev/null >"$WORK/client" ||
		fail "a client of the same machine: $(cat "$WORK/client" "$WORK/served")"
}

p2pdma_is_refused() {
	with_page_type p2pmem0 p2pdma
	exits 3 'page-type generic' donard-cli rdma serve p2pmem0 --bind "$LAB_ADDR" --once
	equal "code" unsupported "$(rdmareg "$LAB_RDMA_DEVICE" p2pmem0 4096 3 2>/dev/null)"
}

registration() {
	matches "any range" "^mapping, 12345 bytes: .*dma-buf" \
		"$(rdmareg "$LAB_RDMA_DEVICE" p2pmem0+777 12345 3)"
	matches "read only" "^mapping, 4096 bytes" "$(rdmareg "$LAB_RDMA_DEVICE" p2pmem2 4096 1)"
	matches "plain memory" "^mapping, 65536 bytes: plain memory" \
		"$(rdmareg "$LAB_RDMA_DEVICE" dram 65536 2)"
	exits 1 "no such RDMA device; there are: $LAB_RDMA_DEVICE \\(active\\)" \
		rdmareg nothing0 p2pmem0 4096 3
	within 5 region_is_free p2pmem0
}

# Imported dma-bufs: soft devices import none, so registration depends on the pages.
registration_of_imported() {
	[[ -d /sys/module/exporter ]] || insmod /opt/donard/modules/exporter.ko
	matches "a region's" "^mapping, 8192 bytes: $LAB_RDMA_DEVICE imports no dma-buf" \
		"$(rdmareg "$LAB_RDMA_DEVICE" dma-buf 8192 3)"
	matches "a stranger's, with pages" "^mapping, 1048576 bytes: $LAB_RDMA_DEVICE imports no dma-buf" \
		"$(rdmareg "$LAB_RDMA_DEVICE" pages 0 3)"
	for what in frames unmapped wrapped; do
		exits 1 "$LAB_RDMA_DEVICE cannot register dma-buf of stranger: it has no pages of the host.s memory to pin, and $LAB_RDMA_DEVICE imports no dma-buf" \
			rdmareg "$LAB_RDMA_DEVICE" "$what" 4096 3
	done
	within 5 region_is_free p2pmem0
}

locked_memory() {
	chmod 666 /dev/infiniband/*
	exits 1 'ulimit -l' as user bash -c "ulimit -l 256
		donard-cli rdma serve p2pmem0 --size 4M --bind $LAB_ADDR --once"
	# The written bytes fit, but not together with those that are read back.
	serve p2pmem0 --size 4M
	exits 1 'ulimit -l' as user bash -c "ulimit -l 4096
		donard-cli rdma write $LAB_PEER_ADDR --size 3500K --verify"
}

# --- what a client leaves behind ---

zeroed_between() {
	serve p2pmem0+2M --size 1M --clients 2
	client write --verify
	head -c "$MIB" /dev/zero >"$WORK/zeros"
	client read --local p2pmem0+8M
	same_bytes "what the second client read" "$(backing gpu)" "$WORK/zeros" "$MIB" $((8 * MIB))
	server_ends 0
}

# The last client's bytes are what the server was started for; persistent ones stay anyway.
kept_at_the_end() {
	random_file "$WORK/data" "$MIB"
	regio write p2pmem0 $((2 * MIB)) "$MIB" "$WORK/data"
	serve p2pmem0+2M --size 1M --once
	client write --local p2pmem0+2M
	server_ends 0
	same_bytes "the last client's bytes" /mnt/lab/peer/gpu.bar "$WORK/data" "$MIB" $((2 * MIB))
	serve p2pmem2 --size 1M --clients 2
	client write --local p2pmem0+2M
	client read --local p2pmem0+8M
	same_bytes "persistent bytes" "$(backing gpu)" "$WORK/data" "$MIB" $((8 * MIB))
}

# No client that connects while the last one ends is admitted to the last one's bytes.
last_is_last() {
	local -a knocking=()
	local i
	random_file "$WORK/data" "$MIB"
	regio write p2pmem0 $((2 * MIB)) "$MIB" "$WORK/data"
	serve p2pmem0+2M --size 1M --once
	background "${FOREVER[@]}" --size 1M --local p2pmem0+2M
	for i in 1 2 3 4; do
		raw knock 8 >"$WORK/knock.$i" &
		knocking+=($!)
	done
	sleep 2
	kill -TERM "$CLIENT"
	server_ends 0
	wait "${knocking[@]}"
	equal "what those saw that knocked" "never admitted" "$(sort -u "$WORK"/knock.*)"
	equal "clients that came" 1 "$(events came)"
	same_bytes "the last client's bytes" /mnt/lab/peer/gpu.bar "$WORK/data" "$MIB" $((2 * MIB))
}

# --- ends that nobody asked for ---

# The server serves the next client, and nothing of the last one is left.
next_client_works() {
	client write --verify --size 2M
	peer_signals TERM
	server_ends 0
	within 10 peer_is_free p2pmem0
}

client_is_killed() {
	serve p2pmem0 --size 2M
	background "${FOREVER[@]}" --direction "$1" --local p2pmem0
	kill -KILL "$CLIENT"
	within "$SECONDS_TO_NOTICE" has_event lost
	within 10 region_is_free p2pmem0
	next_client_works
}

client_is_stopped() {
	serve p2pmem0 --size 2M --timeout 3
	background "${FOREVER[@]}"
	kill -STOP "$CLIENT"
	within "$SECONDS_TO_NOTICE" has_event lost
	matches "message" 'silent for 3000 ms' "$(grep lost "$WORK/served")"
	kill -CONT "$CLIENT"
	client_ends 'peer-lost|peer-silent'
	next_client_works
}

server_is_killed() {
	serve p2pmem0 --size 2M
	background "${FOREVER[@]}" --direction "$1" --local p2pmem0
	peer_signals KILL
	client_ends 'peer-lost|peer-silent'
	within 10 region_is_free p2pmem0
	within 10 peer_is_free p2pmem0
}

server_is_stopped() {
	serve p2pmem0 --size 2M
	background "${FOREVER[@]}"
	peer_signals TERM
	client_ends withdrawn
	server_ends 0
	equal "the server's word on its client" 1 "$(events lost)"
	within 10 peer_is_free p2pmem0
}

wire_is_cut() {
	serve p2pmem0 --size 2M --timeout 5
	background "${FOREVER[@]}" --direction "$1" --timeout 5 --local p2pmem0
	at_end "labctl wire up"
	labctl wire down
	client_ends 'peer-lost|peer-silent'
	within "$SECONDS_TO_NOTICE" has_event lost
	# What siw had given to TCP refers to the region until TCP can send it.
	[[ $LAB_FABRIC == siw ]] || within 10 region_is_free p2pmem0
	peer_signals TERM
	server_ends 0
	labctl wire up
	within 30 region_is_free p2pmem0
	within 30 peer_is_free p2pmem0
	renew_both
	serve p2pmem0 --size 2M
	client write --verify
}

region_is_removed() {
	serve p2pmem0 --size 2M
	background "${FOREVER[@]}"
	at_end "labctl peer sh -c '$(peer_region_back)' </dev/null"
	limited labctl peer donard-cli region remove p2pmem0 </dev/null
	client_ends withdrawn
	matches "the client's message" 'p2pmem0 was taken away on the server' "$(cat "$WORK/client")"
	server_ends 1
	matches "the server's code" '"code":"region-gone"' "$(jq -c 'select(.error).error' "$WORK/served")"
}

# The command that makes the peer's BAR a region again, in one line for its shell.
peer_region_back() {
	# shellcheck disable=SC2016  # the peer's variables
	echo '[ -e /sys/class/p2pmem/p2pmem0 ] || donard-cli region add --kind pci-bar --device "$LAB_GPU_BDF" --bar 2'
}

local_region_is_removed() {
	serve dram --size 2M
	background "${FOREVER[@]}" --local p2pmem0
	at_end "region_exists p2pmem0 || donard-cli region add --kind pci-bar --device $LAB_GPU_BDF --bar 2; give_to_group p2pmem0"
	limited donard-cli region remove p2pmem0
	client_ends region-gone
	within "$SECONDS_TO_NOTICE" has_event left
}

# crowd_has_asked CLIENTS - those that wait for an answer, and those that have one.
crowd_has_asked() {
	local asking answered
	asking=$(rdma resource show cm_id | grep -c "state CONNECT .*comm donard-cli" || true)
	answered=$(find "$WORK" -name 'crowd.*' -size +0 | wc -l)
	((asking + answered >= $1))
}

# have_left CLIENTS
have_left() {
	(($(events left) == $1))
}

# Many clients ask at once while the server is stopped: each gets an answer, most of them that another client is served, and then one is
# served as usual. Soft iWARP gives a client up after ten seconds of the guest's time, so it gets fewer clients, which have asked long
# before.
crowd() {
	local -a clients=()
	local i status served=0 others=0 count=40
	[[ $LAB_FABRIC != siw ]] || count=16
	serve p2pmem0 --size 64K
	at_end "peer_signals CONT"
	peer_signals STOP
	for ((i = 0; i < count; i++)); do
		limited donard-cli rdma write "$LAB_PEER_ADDR" --verify --json --timeout 60 >"$WORK/crowd.$i" 2>/dev/null &
		clients+=($!)
	done
	within 20 crowd_has_asked "$count"
	peer_signals CONT
	for ((i = 0; i < count; i++)); do
		status=0
		wait "${clients[i]}" || status=$?
		case $status-$(jq -r .error.code "$WORK/crowd.$i") in
		0-null) served=$((served + 1)) ;;
		1-busy) others=$((others + 1)) ;;
		*) fail "client $i: status $status, $(cat "$WORK/crowd.$i")" ;;
		esac
	done
	echo "$served were served, $others were not"
	((served > 0)) || fail "nobody was served"
	within 10 have_left "$served"
	equal "clients that were lost" 0 "$(events lost)"
	client write --verify
	within 10 region_is_free p2pmem0
}

# link_local_of here|peer - without its zone, the interface.
link_local_of() {
	on "$1" ip -6 -o addr show dev wire0 scope link </dev/null | sed -nE 's,.*inet6 ([^/]+)/.*,\1,p'
}

zones() {
	local here LAB_PEER_ADDR
	here=$(link_local_of here)
	LAB_PEER_ADDR=$(link_local_of peer)%wire0
	serve p2pmem0 --size 1M
	matches "where it listens" "\\[$LAB_PEER_ADDR\\]:7077" "$(cat "$WORK/served")"
	client write --verify
	verified "$MIB"
	client read --verify --local p2pmem0
	verified "$MIB"
	matches "who came" "\\[$here(%wire0)?\\]:" "$(grep came "$WORK/served")"
	exits 2 'nosuch0.* is not an address' donard-cli rdma write "${LAB_PEER_ADDR%\%*}%nosuch0"
	exits 2 "$here: it is a link-local address.*Name the interface.*$here%" donard-cli rdma serve dram --bind "$here"
	exits 2 "it is a link-local address.*Name the interface" donard-cli rdma write "${LAB_PEER_ADDR%\%*}"
}

nobody_there() {
	client_fails 1 refused write
}

# A machine that is silent: its address leads to nobody.
nobody_answers() {
	serve p2pmem0 --size 1M
	ip neigh replace "$LAB_PEER_ADDR" lladdr 02:00:00:00:00:99 nud permanent dev wire0
	at_end "ip neigh del $LAB_PEER_ADDR dev wire0"
	start_client write --timeout 2 --size 1M
	client_ends peer-silent
	start_client write --timeout 80
	sleep 2
	is_stopped INT
	at_end "region_exists p2pmem0 || donard-cli region add --kind pci-bar --device $LAB_GPU_BDF --bar 2; give_to_group p2pmem0"
	start_client write --timeout 80 --size 1M --local p2pmem0
	sleep 2 && limited donard-cli region remove p2pmem0
	client_ends region-gone
}

# is_stopped SIGNAL - the client in the background, by that signal, and says so.
is_stopped() {
	local status=0
	kill "-$1" "$CLIENT"
	within 5 ended "$CLIENT"
	wait "$CLIENT" || status=$?
	equal "status of the client ($(cat "$WORK/client"))" 130 "$status"
	equal "code of the client" canceled "$(jq -r .error.code "$WORK/client")"
}

# Its good-bye comes while the server fills or compares, and so does another client, which hears that it is not its turn.
stopped_while_server_works() {
	serve dram --size 128M
	background read --verify --iterations 100 --size 128M
	client_fails 1 busy write --timeout 2
	is_stopped INT
	within 10 has_event left
	equal "clients that were lost" 0 "$(events lost)"
	next_client_works
}

# A program that uses verbs itself registers memory for peers that a drive was read into.
verbs_example() {
	# shellcheck source=helpers/examples.sh
	. helpers/examples.sh
	build_example verbs.c "$WORK/verbs"
	example_says "$WORK/verbs" '^address 0x[0-9a-f]+, length 1048576, rkey 0x[0-9a-f]+, registered by mapping' \
		"$LAB_ALPHA" p2pmem0
	within 10 region_is_free p2pmem0
}

core t "BAR, both ways" both_ways p2pmem0+16M
core t "BAR to BAR" bar_to_bar
core t "region removed while served" region_is_removed
core t "client killed while writing" client_is_killed write
core t "exceeding the range" exceed_range
can thorough || return 0
t "example verbs.c" verbs_example
t "plain memory, both ways" both_ways dram
core t "memory of a GPU at either end" gpu_sides
core t "PMR, both ways" both_ways p2pmem2 dram --fill
core t "durable in a PMR" durable_there
t "not durable in volatile memory" volatile_there
t "durable in the near PMR" durable_here
t "read back before the barrier" read_back_before_the_barrier
t "device reset under writes" served_device_is_reset write
t "device reset under reads" served_device_is_reset read
t "near device reset under writes" near_device_is_reset write
t "near device reset under reads" near_device_is_reset read
t "reset found at the end" reset_is_found_at_the_end
t "reset between two clients" reset_between_clients
t "PMR as the near side" from_pmr
t "a near PMR is not spoiled without consent" near_pmr_is_not_spoiled
t "BAR on both sides" both_ways p2pmem0 p2pmem0+64M
t "BAR to BAR, reading" bar_to_bar_reading
t "one request at a time" shape --queue-depth 1 --block-size 64K
t "odd blocks" shape --queue-depth 7 --block-size 4097
t "many small requests" shape --queue-depth 300 --block-size 1K
t "one large request" shape --queue-depth 4 --block-size 8M
t "odd range" shape --offset 4321 --size 54321 --block-size 777
t "several passes" passes
t "read back" read_back
t "a bit that changes, writing" spoiled write
t "a bit that changes, reading" spoiled read
t "large blocks, writing" large_blocks write
t "large blocks, reading" large_blocks read
t "bandwidth, writing" bandwidth write
t "bandwidth, reading" bandwidth read
t "latency, writing" latency write
t "latency, reading" latency read
t "past the end" past_the_end
core t "rights" rights
t "fill on request" fill_on_request
t "a PMR is not filled without consent" persistent_is_not_filled
t "exceeding the rights" exceed_rights
t "a key from before" stale_key
t "garbage" garbage
t "the refused do not count" refused_do_not_count
t "one client at a time" busy
t "loopback by default" not_elsewhere
t "an address without a device" no_such_address
t "a device that is closed to a user" closed_device
t "a port that is in use" port_in_use
! can p2pdma || core t "p2pdma pages are refused" p2pdma_is_refused
core t "registration by the library" registration
core t "a program's own client" own_client
t "a program's own client is told of a withdrawal" own_client_is_told
t "registration of what came as a dma-buf" registration_of_imported
t "port down" port_down
core t "doctor probes a NIC" nic_is_probed
t "doctor probes no NIC whose port is down" nic_port_is_down
t "limit of locked memory" locked_memory
t "zeroed between clients" zeroed_between
t "kept at the end" kept_at_the_end
t "nobody after the last" last_is_last
t "client killed while reading" client_is_killed read
t "client stopped" client_is_stopped
t "server killed under writes" server_is_killed write
t "server killed under reads" server_is_killed read
t "server told to end" server_is_stopped
core t "wire cut under writes" wire_is_cut write
t "wire cut under reads" wire_is_cut read
t "near device deleted" device_deleted here write
t "server's device deleted" device_deleted peer read
t "forty clients at once" crowd
t "link-local addresses" zones
t "near region removed" local_region_is_removed
core t "nobody there" nobody_there
t "nobody answers" nobody_answers
t "stopped while the server works" stopped_while_server_works
