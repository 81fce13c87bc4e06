#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Power cuts of the cache's server in the second guest, with a client in this one: as cuts.sh has them. Sourced by run.sh.

# shellcheck source=helpers/cuts.sh
. helpers/cuts.sh

# DATA: the bytes have come, and the message that says so.
readonly CACHE_STEPS=(DATA:dnd_cache_check_turn ACK:dnd_cache_answer "${STEPS[@]}")
readonly CACHE=/usr/lib/libdonard.so.0

# cache_serve - in the background only. It is soon told to destage.
cache_serve() {
	exec labctl peer "$@" donard-cli cache serve --nvram p2pmem2 --backing "$PEER_ALPHA" --listen "$LAB_PEER_ADDR" \
		--high 4 --low 2 --json "${FORMAT[@]}" </dev/null
}

# end_server PID - of the way to it, which ends when the server has.
end_server() {
	labctl peer pkill -TERM -x donard-cli </dev/null || true
	wait "$1" || true
}

# cache_life LIFE [WRITES]
cache_life() {
	local FORMAT=() server status=0
	cache_serve "${AT[@]}" >"$WORK/server.$1" 2>&1 &
	server=$!
	cutclient "$LAB_PEER_ADDR" "$SEED" "$@" || status=$?
	end_server "$server"
	return "$status"
}

cache_begins() {
	local FORMAT=(--format)
	find_peer_drive
	labctl peer blkdiscard -f -z "$PEER_ALPHA" -l 1M
	labctl peer sh -c "head -c \$(cat /sys/class/p2pmem/p2pmem2/size) /dev/zero >/dev/p2pmem2"
	cache_serve >"$WORK/format" 2>&1 &
	within 60 grep -q '"event":"listening"' "$WORK/format"
	end_server "$!"
}

# A life of the server takes minutes on a busy host.
RANDOM_CUTS=2
if can long; then
	RANDOM_CUTS=$((45 * SOAK))
	within_cuts "${#CACHE_STEPS[@]}" t "at every step" cut_at_every_step cache_begins cache_life "$CACHE" "${CACHE_STEPS[@]}"
fi
within_cuts "$RANDOM_CUTS" t "at any moment" cut_at_random cache_begins cache_life "$RANDOM_CUTS"
