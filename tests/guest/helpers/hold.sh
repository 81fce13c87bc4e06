# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A program that holds memory of a region (holder.c) until it is told to let go. Sourced by suites with removal.sh, never run.

readonly HELD_BYTES=$((2 * MIB))

start_rdma() {
	[[ -z $(ls /sys/class/infiniband 2>/dev/null) ]] || return 0
	modprobe -a rdma_rxe ib_uverbs || give_up_as_skip "no rdma_rxe module"
	rdma link add rxe0 type rxe netdev lo || give_up_as_skip "no rxe device"
}

# hold KIND - starts a holder of p2pmem0, waits until it holds; HOLDER is its pid.
hold() {
	local status=0
	[[ $1 != longterm ]] || start_rdma
	: >"$WORK/holder"
	holder "$1" "${2:-p2pmem0}" "$HELD_BYTES" "$LAB_ALPHA" >"$WORK/holder" 2>&1 &
	HOLDER=$!
	at_end "kill -KILL $HOLDER 2>/dev/null"
	until grep -q ready "$WORK/holder"; do
		if [[ ! -e /proc/$HOLDER ]]; then
			wait "$HOLDER" || status=$?
			fail "the holder ended with $status: $(cat "$WORK/holder")"
		fi
		sleep 0.05
	done
}

let_go() {
	kill -USR2 "$HOLDER"
	wait "$HOLDER" || fail "holder: status $?, $(cat "$WORK/holder")"
}
