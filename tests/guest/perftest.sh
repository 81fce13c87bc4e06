# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# perftest as Debian ships it: the server's buffer in a region by nothing but a path, the client in the
# other machine, its buffer in the BAR there. What arrived is compared by the files behind both BARs.

# shellcheck source=helpers/fabric.sh
. helpers/fabric.sh
# shellcheck source=helpers/foreign.sh
. helpers/foreign.sh

readonly BYTES=65536 COUNT=100 PORT=18515
# Other than this machine's, which labctl knows.
readonly PEER_BAR=/mnt/lab/peer/gpu.bar

# server_is_up TOOL [ARG...] - before the client may come. perftest listens by rdma_cm with -R, else on a socket.
server_is_up() {
	if [[ " $* " == *' -R '* ]]; then
		cm_listens here "$1" "$PORT"
	else
		tcp_listens here "$PORT"
	fi
}

# reported WHO BYTES - checks for the tool's row of figures. On a busy host a tool fails to measure its clock, and with -F prints "inf"
# or "nan": the test compares the moved bytes, not the speed.
reported() {
	matches "the $1's figures" " $2 +$COUNT +-?([0-9]|inf|nan)" "$(cat "$WORK/$1")"
}

# end_is_well WHO STATUS BYTES - accepts an end after the tool has moved its bytes. Its ends then tell each other that they are done. One
# whose peer leaves first fails ("Failed to close connection"), or waits until it is killed (124, 137). The moved bytes are compared
# all the same.
end_is_well() {
	local said
	said=$(cat "$WORK/$1")
	(($2 == 0)) && return
	(($2 == 124 || $2 == 137)) || [[ $said == *"Failed to close connection between server and client"* ]] ||
		fail "$1: status $2, $said"
	reported "$1" "$3"
	printf '# perftest: the %s failed to part, after it was done\n' "$1"
}

# run_pair REGION BYTES TOOL [ARG...] - and both ends' memory is free again.
run_pair() {
	local region=$1
	local -a command=("${@:3}" -d "$LAB_RDMA_DEVICE" -s "$2" -n "$COUNT" -F)
	SERVER_SIDE=(here "${command[@]}" "--mmap=/dev/$region")
	CLIENT_SIDE=(peer "${command[@]}" --mmap=/dev/p2pmem0 "$LAB_ADDR")
	foreign_pair "$PORT" server_is_up "${@:3}"
	end_is_well client "$CLIENT_STATUS" "$2"
	end_is_well server "$SERVER_STATUS" "$2"
	reported client "$2"
	within 5 region_is_free "$region"
	within 5 peer_is_free p2pmem0
}

# bytes_of_region REGION BYTES FILE - copies the first bytes of the region, where the allocator puts a lone owner.
bytes_of_region() {
	case $1 in
	p2pmem0) head -c "$2" "$(backing gpu)" >"$3" ;;
	p2pmem1) regio read p2pmem1 0 "$2" "$3" ;;
	p2pmem2) head -c "$2" "$(backing beta)" >"$3" ;;
	esac
}

# moves REGION TOOL [ARG...] - each end fills its buffer by chance. The first half of the client's, that it
# sends or receives, is afterwards what lies in the second half of the server's, that is open to it.
moves() {
	run_pair "$1" "$BYTES" "${@:2}"
	bytes_of_region "$1" $((2 * BYTES)) "$WORK/here"
	same_bytes "the BARs" "$PEER_BAR" "$WORK/here" "$BYTES" 0 "$BYTES"
	(($(tr -d '\0' <"$WORK/here" | wc -c) > BYTES)) || fail "the BARs hold nothing but zeros"
}

# ping_pongs REGION [ARG...] - the two ends poll for a counter in each other's last byte.
ping_pongs() {
	run_pair "$1" 2 ib_write_lat "${@:2}"
	bytes_of_region "$1" 8192 "$WORK/here"
	equal "the counter" "$COUNT" "$(od -An -tu1 -j $((4096 + 1)) -N 1 "$WORK/here" | tr -d ' ')"
}

cmb_is_refused() {
	local status=0
	limited ib_write_bw -d "$LAB_RDMA_DEVICE" -s "$BYTES" --mmap=/dev/p2pmem1 >"$WORK/server" 2>&1 &
	within 20 server_is_up ib_write_bw
	limited labctl peer ib_write_bw -d "$LAB_RDMA_DEVICE" -s "$BYTES" "$LAB_ADDR" >"$WORK/client" 2>&1 ||
		status=$?
	((status != 0)) || fail "the client succeeded: $(cat "$WORK/client")"
	wait "$!" && fail "the server succeeded"
	matches "the server's message" "Couldn't allocate MR" "$(cat "$WORK/server")"
	within 5 region_is_free p2pmem1
}

# all_tools REGION WHAT [ARG...]
all_tools() {
	t "ib_write_bw${3:+ $3}, $2" moves "$1" ib_write_bw "${@:3}"
	t "ib_read_bw${3:+ $3}, $2" moves "$1" ib_read_bw "${@:3}"
	t "ib_write_lat${3:+ $3}, $2" ping_pongs "$1" "${@:3}"
}

all_tools p2pmem0 bar -R
all_tools p2pmem2 pmr -R
# iWARP connects by rdma_cm (-R) alone.
[[ $LAB_FABRIC != rxe ]] || all_tools p2pmem0 bar
if can p2pdma; then
	t "ib_write_bw, a cmb of the kernel's is refused" cmb_is_refused
else
	all_tools p2pmem1 cmb -R
fi
