# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A cache server of this machine, and its clients, which are on the other machine where there are two. Sourced by suites,
# never run.

# shellcheck source=helpers/served.sh
. helpers/served.sh

readonly PORT=7078
# A test may name others.
NVRAM=p2pmem2 BACKING=
# A program and its arguments that run the server.
SERVE_BY=()

# --- the server ---

start_server() {
	start_serving "${SERVE_BY[@]}" donard-cli cache serve --nvram "$NVRAM" --backing "${BACKING:-$LAB_ALPHA}" \
		--listen "$LAB_ADDR" "$@"
	at_end "kill -KILL $SERVER 2>/dev/null; wait $SERVER"
}

serve() {
	within 10 region_is_free "$NVRAM"
	start_server "$@"
	until_listening
}

# Zeros where there is anything.
forget_log() {
	within 10 region_is_free "$NVRAM"
	head -c "$(attr "$NVRAM" size)" /dev/zero >"/dev/$NVRAM"
}

# forget_volatile_log - of a server that runs
forget_volatile_log() {
	kill_server
	zero_volatile_log
}

# The beginning of it, where the next server looks: the bytes outlive the region that they lie in.
zero_volatile_log() {
	within 10 region_is_free p2pmem0	# a drive may still read what its killed server gave it
	head -c 65536 /dev/zero >"$WORK/zeros"
	regio write p2pmem0 0 65536 "$WORK/zeros"
}

# fresh ARGUMENT... - starts the server on a drive without bytes of earlier tests, which reads without a record in the log would return.
fresh() {
	[[ -n $BACKING ]] || blkdiscard -f -z -l 16M "$LAB_ALPHA"
	forget_log
	serve --format "$@"
}

# without_uring FUNCTION... - of the server, as in most containers.
# shellcheck disable=SC2034  # suites
without_uring() {
	SERVE_BY=(forbid EPERM io_uring) BY_AIO=true
	"$@"
}

kill_server() {
	kill -KILL "$SERVER"
	wait "$SERVER" || true
}

drain() {
	kill -TERM "$SERVER"
	server_ends 0
}

# refuses STATUS CODE ARGUMENT... - a server with these arguments
refuses() {
	local want=$1 code=$2 status=0 seen
	shift 2
	within 10 region_is_free "$NVRAM"
	seen=$(limited donard-cli cache serve --nvram "$NVRAM" --backing "${BACKING:-$LAB_ALPHA}" --listen "$LAB_ADDR" \
		--json "$@" 2>"$WORK/refused") || status=$?
	equal "status of cache serve $* (it said: $seen)" "$want" "$status"
	equal "code of cache serve $* (it said: $seen)" "$code" "$(jq -rs '.[-1].error.code' <<<"$seen")"
}

# log_of_version DIGIT - in the NVRAM: both of its copies say so.
log_of_version() {
	local at
	fresh --no-cleaner
	kill_server
	within 10 region_is_free "$NVRAM"
	regio read "$NVRAM" 0 8192 "$WORK/supers"
	for at in 8 $((4096 + 8)); do
		printf '%b' "\\x0$1" | dd of="$WORK/supers" bs=1 seek="$at" conv=notrunc status=none
	done
	regio write "$NVRAM" 0 8192 "$WORK/supers"
}

# of WORD - from the status
of() {
	donard-cli cache status "$NVRAM" --json | jq -r ".$1"
}

log_is_empty() {
	[[ $(of records) == 0 ]]
}

# --- clients ---

# client ARGUMENT... - on the other machine, if there is one
client() {
	limited ${LAB_PEER_ADDR:+labctl peer} cacheio "$LAB_ADDR" "$PORT" "$@" </dev/null
}

# kill_client - the client in the background, whose pid here is CLIENT
kill_client() {
	if [[ -n ${LAB_PEER_ADDR-} ]]; then
		labctl peer pkill -KILL -x cacheio </dev/null
	else
		pkill -KILL -x cacheio
	fi
	wait "$CLIENT" || true
}

# same_word WHAT EXPECTED SEEN - of a client: bytes that differ are no work of a slow host.
same_word() {
	if [[ $3 == 'differs at '* ]]; then exactly "$@"; else equal "$@"; fi
}

# says EXPECTED ARGUMENT... - a client with these arguments
says() {
	local expected=$1 seen status=0
	shift
	seen=$(client "$@" 2>"$WORK/client.err") || status=$?
	same_word "client $* ($(cat "$WORK/client.err"); server: $(cat "$WORK/served" "$WORK/served.err"))" "$expected" "$seen"
	equal "status of client $*" "$(status_with "$expected")" "$status"
}

# status_with WORD - of a client that says that, and comes to its end.
status_with() {
	case $1 in
	acknowledged* | equal* | 'done') echo 0 ;;
	*) echo 1 ;;
	esac
}

# on_drive EXPECTED OFFSET BYTES SEED
on_drive() {
	local seen
	seen=$(cacheio check "$LAB_ALPHA" "$2" "$3" "$4") || true
	same_word "bytes of the drive from $2 on, seed $4" "$1" "$seen"
}

# --- acknowledged data ---

# newest_acknowledged - "OFFSET SEED" of each block that was, with its last seed; the newest block is the last
newest_acknowledged() {
	awk 'NF == 2 { seed[$1] = $2; line[$1] = NR } END { for (offset in seed) print line[offset], offset, seed[offset] }' \
		"$WORK/acknowledged" | sort -n | cut -d ' ' -f 2-
}

# A block has the seed that was acknowledged last, or, of the one that was under way, the next.
all_acknowledged_is_there() {
	local offset seed seen checked=0
	while read -r offset seed; do
		seen=$(client read "$offset" 4096 "$seed" 4096 2>"$WORK/client.err") || true
		[[ $seen != 'differs at '* ]] || seen=$(client read "$offset" 4096 $((seed + 1)) 4096 2>"$WORK/client.err") || true
		same_word "block at $offset, acknowledged with seed $seed ($(cat "$WORK/client.err"))" 'equal 4096' "$seen"
		checked=$((checked + 1))
	done < <(newest_acknowledged | tac)
	((checked > 0)) || fail "nothing was acknowledged: $(cat "$WORK/acknowledged")"
}

lost() {
	has_event lost
}
