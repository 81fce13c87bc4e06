# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Programs with clients of their own, by donard/rdma.h: tests of rdma.sh, which sources this and has the servers.

# A program that has the memory and makes the requests itself.
own_client() {
	serve dram --size 1M --timeout 2
	limited rdmaclient "$LAB_PEER_ADDR" || fail "the server: $(what_was_served)"
	within 10 has_event left
}

has_written() {
	grep -q written "$WORK/own"
}

own_client_is_told() {
	local status=0
	serve dram --size 1M
	rdmaclient "$LAB_PEER_ADDR" withdrawn >"$WORK/own" 2>&1 &
	CLIENT=$!
	at_end "kill -KILL $CLIENT 2>/dev/null; wait $CLIENT"
	within 15 has_written
	peer_signals TERM
	within "$SECONDS_TO_NOTICE" ended "$CLIENT"
	wait "$CLIENT" || status=$?
	equal "status of the program ($(cat "$WORK/own"))" 0 "$status"
	server_ends 0
}
