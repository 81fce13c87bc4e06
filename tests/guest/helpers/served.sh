# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# For suites whose servers are donard-cli's: what they say while they serve, and how they end. Sourced by them, from the
# directory of the suites.

# A client that goes away, a server that ends: the other side notices within so many.
readonly SECONDS_TO_NOTICE=20

# start_serving COMMAND... - SERVER is its pid, or that of what stands for it here; its events are in $WORK/served.
start_serving() {
	: >"$WORK/served"
	"$@" --json >"$WORK/served" 2>"$WORK/served.err" </dev/null &
	SERVER=$!
}

has_event() {
	grep -q "\"event\":\"$1\"" "$WORK/served"
}

# events WORD - how many there were.
events() {
	grep -c "\"event\":\"$1\"" "$WORK/served" || true
}

listens_or_ended() {
	has_event listening || ended "$SERVER"
}

until_listening() {
	within "$SECONDS_TO_NOTICE" listens_or_ended
	has_event listening || fail "the server ended: $(what_was_served)"
}

what_was_served() {
	cat "$WORK/served" "$WORK/served.err"
}

# server_ends STATUS - by itself.
server_ends() {
	local status=0
	within 60 ended "$SERVER"
	wait "$SERVER" || status=$?
	equal "status of the server ($(what_was_served))" "$1" "$status"
}

# client_of rdma|cache COMMAND [ARGUMENT...] - of the peer's server; it must succeed, and its JSON is in RESULT.
client_of() {
	local status=0
	RESULT=$(donard-cli "$1" "$2" "$LAB_PEER_ADDR" --json "${@:3}" 2>"$WORK/client.err") || status=$?
	((status == 0)) ||
		fail "donard-cli $*: status $status, $RESULT, $(cat "$WORK/client.err"); server: $(what_was_served)"
}

# Between watch_dma and seen_dma: reads of PMRSTS, which are a PMR's barrier.
barriers_seen() {
	grep -c 'pci_nvme_mmio_read.*0xe08' "$WORK/trace" || true
}
