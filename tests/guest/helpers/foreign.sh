# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Two ends of somebody else's program that talk to each other over the lossy wire. Sourced by suites.
#
# Such programs have limits of their own: on a busy host one end gives up after its retries, and the other polls
# without end. That is no fault of what is tested. Both ends are ended in any case; where a transport gave up the pair
# is run again, a few times, and says so. Whatever else goes wrong fails.

# Each end, and how often a pair is run before its limits are a fault of ours. An end that hangs is told before the
# time of its test is up.
readonly FOREIGN_SECONDS=$((HANG_SECONDS / 2)) FOREIGN_TRIES=4
# How long one end may go on after the other has failed.
readonly FOREIGN_GRACE_SECONDS=$((5 * PATIENCE))

# gave_up - a program says that its transport did: retries exceeded (12), receiver not ready (13) for too long, or the
# connection manager's rejection before the server's transport took connections (8, include/rdma/ib_cm.h). A server
# that rejects for reasons of its own, such as memory that it could not register, has another number. Over siw a
# connection that breaks in the handshake is a refusal, too (siw_cm.c, SIW_CM_WORK_PEER_CLOSE), though the server listens.
gave_up() {
	local limits='retry counter exceeded|[Ff]ailed[, ]*status:? (12|13)\b|RDMA_CM_EVENT_REJECTED; error: 8\.'
	[[ ${LAB_FABRIC-} != siw ]] || limits+='|ERRNO: Connection refused'
	grep -hE "$limits" "$WORK/server" "$WORK/client" | sed 's/^/# once more: /'
	((PIPESTATUS[0] == 0))
}

# stop_other WHERE PID PROGRAM - what polls for an end that is gone, also in the other machine.
stop_other() {
	on "$1" pkill -KILL -x "${3:0:15}" || true
	kill -KILL "$2" 2>/dev/null || true
}

# wait_for_both - sets the status of each. The one that is left when the other has failed is ended after a while.
wait_for_both() {
	local first status=0 deadline
	wait -n -p first "$SERVER" "$CLIENT" || status=$?
	if ((status != 0)); then
		deadline=$((SECONDS + FOREIGN_GRACE_SECONDS))
		while kill -0 $((SERVER + CLIENT - first)) 2>/dev/null && ((SECONDS < deadline)); do sleep 0.2; done
		((first == SERVER)) || stop_other "${SERVER_SIDE[0]}" "$SERVER" "${SERVER_SIDE[1]##*/}"
		((first == CLIENT)) || stop_other "${CLIENT_SIDE[0]}" "$CLIENT" "${CLIENT_SIDE[1]##*/}"
	fi
	SERVER_STATUS=0 CLIENT_STATUS=0
	if ((first == SERVER)); then
		SERVER_STATUS=$status
		wait "$CLIENT" || CLIENT_STATUS=$?
	else
		CLIENT_STATUS=$status
		wait "$SERVER" || SERVER_STATUS=$?
	fi
}

# run_both PORT READY... - SERVER_SIDE and CLIENT_SIDE are "here" or "peer" and a command; READY succeeds once the client
# may come.
run_both() {
	within 10 port_is_quiet "${SERVER_SIDE[0]}" "$1"
	on "${SERVER_SIDE[0]}" timeout -k 5 "$FOREIGN_SECONDS" "${SERVER_SIDE[@]:1}" >"$WORK/server" 2>&1 &
	SERVER=$!
	within 20 "${@:2}"
	on "${CLIENT_SIDE[0]}" timeout -k 5 "$FOREIGN_SECONDS" "${CLIENT_SIDE[@]:1}" >"$WORK/client" 2>&1 &
	CLIENT=$!
	wait_for_both
}

# foreign_pair PORT READY... - until neither end gave up. SERVER_STATUS and CLIENT_STATUS are the caller's to judge.
foreign_pair() {
	local try
	for ((try = 1; try < FOREIGN_TRIES; try++)); do
		run_both "$@"
		((SERVER_STATUS != 0 || CLIENT_STATUS != 0)) && gave_up || return 0
	done
	run_both "$@"
}

# both_succeeded - fails with what both ends said.
both_succeeded() {
	((SERVER_STATUS == 0 && CLIENT_STATUS == 0)) ||
		fail "$(printf '%s' "both ends end with 0: seen server $SERVER_STATUS, client $CLIENT_STATUS (124, 137: ended" \
			" after $FOREIGN_SECONDS s or because the other end had failed). The server said: $(cat "$WORK/server")" \
			" The client said: $(cat "$WORK/client")")"
}
