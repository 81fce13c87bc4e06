# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What RDMA makes durable, and what becomes of a transfer when a device is reset or deleted: tests of rdma.sh, which sources
# this and has the servers and clients.

# A server of this machine, whose devices can be watched; its clients are the other's.
serve_here() {
	start_serving donard-cli rdma serve "$@" --bind "$LAB_ADDR"
	at_end "kill -KILL $SERVER 2>/dev/null; wait $SERVER"
	until_listening
}

far_client() {
	RESULT=$(labctl peer donard-cli rdma "$1" "$LAB_ADDR" --json "${@:2}" </dev/null) ||
		fail "$*: $RESULT; the server: $(what_was_served)"
}

# is_durable true|false REASON - of the last client's result
is_durable() {
	equal "durable, and why not" "$1 $2" "$(field durable) $(field durable_reason)"
}

# with_barrier COMMAND... - that the device sees
with_barrier() {
	watch_dma
	"$@"
	seen_dma
	(($(barriers_seen) > 0)) || fail "no barrier of the PMR by $*"
}

durable_there() {
	serve_here p2pmem2 --size 1M
	with_barrier far_client write
	is_durable true ''
	within 10 has_event left
	equal "the server's word" true "$(jq 'select(.event == "left").durable' "$WORK/served")"
}

volatile_there() {
	serve p2pmem0 --size 1M
	client write
	is_durable false 'p2pmem0 is volatile'
	within 10 has_event left
	equal "the server's word" false "$(jq 'select(.event == "left").durable' "$WORK/served")"
	client read
	is_durable false 'dram is volatile'
}

durable_here() {
	serve dram --size 1M
	with_barrier client read --local p2pmem2
	is_durable true ''
}

# For a NIC that does DMA, the end of the written data is read back over the wire. That is impossible without the right to read.
read_back_before_the_barrier() {
	serve p2pmem2 --size 1M --read-back
	client write
	is_durable true ''
	client write --size 5 --offset 3
	is_durable true ''
	peer_signals TERM
	server_ends 0
	serve p2pmem2 --size 1M --access write --read-back
	client write
	matches "durable, and why not" '^false p2pmem2 keeps its bytes without power, but .*no client may read' \
		"$(field durable) $(field durable_reason)"
	equal "clients that were refused" 0 "$(events refused)"
}

# what_is_lost REMOTE-RESETS LOCAL-RESETS - the client in the background ends, and nothing that it moved counts.
what_is_lost() {
	client_ends device
	equal "bytes, durable, resets" "0 false $1 $2" \
		"$(jq -r '"\(.bytes) \(.durable) \(.remote.resets) \(.local.resets)"' "$WORK/client")"
	matches "the client's message" 'was reset .*meanwhile: what was read or written may be lost' "$(cat "$WORK/client")"
}

# words EVENT... - each that the server said of these, with its code and number of resets
words() {
	jq -r --arg words " $* " 'select(" \(.event) " as $word | $words | contains($word)) | "\(.event) \(.code // "-") \(.resets // "-")"' \
		"$WORK/served" | paste -sd,
}

served_device_is_reset() {
	serve p2pmem0 --size 2M
	background "${FOREVER[@]}" --direction "$1"
	# shellcheck disable=SC2016  # the peer's variable
	labctl peer sh -c 'echo 1 >"/sys/bus/pci/devices/$LAB_GPU_BDF/reset"' </dev/null
	what_is_lost 1 0
	within "$SECONDS_TO_NOTICE" has_event lost
	equal "the server's words" "reset device 1,lost device 1" "$(words reset lost left)"
	next_client_works
}

near_device_is_reset() {
	serve dram --size 2M
	background "${FOREVER[@]}" --direction "$1" --local p2pmem0
	echo 1 >"/sys/bus/pci/devices/$LAB_GPU_BDF/reset"
	what_is_lost 0 1
	within "$SECONDS_TO_NOTICE" has_event left
	equal "the server's words" "left device -" "$(words reset lost left)"
	within 10 region_is_free p2pmem0
}

# A controller's reset is not reported; the barrier before the answer to the good-bye finds it.
reset_is_found_at_the_end() {
	local -a controller=("/sys/bus/pci/devices/$LAB_BETA_BDF/nvme/"nvme*/reset_controller)
	serve_here p2pmem2 --size 2M
	labctl peer donard-cli rdma "${FOREVER[0]}" "$LAB_ADDR" --json "${FOREVER[@]:1}" </dev/null >"$WORK/client" 2>&1 &
	CLIENT=$!
	at_end "kill -KILL $CLIENT 2>/dev/null; wait $CLIENT"
	within 15 has_event came
	echo 1 >"${controller[0]}"
	labctl peer pkill -INT -x donard-cli </dev/null
	within "$SECONDS_TO_NOTICE" has_event lost
	equal "the server's words" "reset device 1,lost device 1" "$(words reset lost left)"
	far_client write
	is_durable true ''
}

# A reset between two clients is not reported either, and neither client is to blame.
reset_between_clients() {
	local -a controller=("/sys/bus/pci/devices/$LAB_BETA_BDF/nvme/"nvme*/reset_controller)
	serve_here p2pmem2 --size 2M
	far_client write
	within 10 has_event left
	echo 1 >"${controller[0]}"
	far_client write
	is_durable true ''
	within 10 has_events left 2
	equal "the server's words" "left - -,reset device 1,left - -" "$(words reset lost left)"
}

# has_events WORD NUMBER
has_events() {
	(($(events "$1") >= $2))
}

# device_deleted here|peer write|read - under a transfer: that end names it, the other notices, and the command waits for neither
# for long.
device_deleted() {
	local -a there=()
	[[ $1 == here ]] || there=(labctl peer)
	serve p2pmem0 --size 2M
	background "${FOREVER[@]}" --direction "$2" --local p2pmem0
	at_end renew_both
	limited "${there[@]}" rdma link delete "$LAB_RDMA_DEVICE" </dev/null
	if [[ $1 == here ]]; then
		client_loses_device
		within "$SECONDS_TO_NOTICE" has_event lost
		peer_signals TERM
		server_ends 0
	else
		client_ends 'peer-lost|peer-silent|withdrawn'
		server_ends 3
		matches "the server's words" "no-rdma-device.*device of the server's address was removed" "$(tail -n 1 "$WORK/served")"
	fi
	within 10 region_is_free p2pmem0
	within 10 peer_is_free p2pmem0
	limited "${there[@]}" donard-cli region remove p2pmem0 </dev/null
	"${there[@]}" sh -c "$(peer_region_back)" </dev/null
	renew_both
	serve p2pmem0 --size 2M
	client write --verify
}

client_loses_device() {
	local status=0
	within "$SECONDS_TO_NOTICE" ended "$CLIENT"
	wait "$CLIENT" || status=$?
	equal "status and code of the client ($(cat "$WORK/client"))" "3 no-rdma-device" "$status $(jq -r .error.code "$WORK/client")"
	matches "its message" 'the RDMA device of this end was removed' "$(cat "$WORK/client")"
}
