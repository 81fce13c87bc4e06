# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Commands in the background whose end is not missed. Sourced by the lab and by tests/check, never run.

# as_job COMMAND... - for "&": ends with the status of COMMAND, and passes on what tells it to end. bash forgets a job that a
# signal ended before it was waited for: "wait -n" then knows no such job, or waits for the others alone. This one ends by itself.
as_job() {
	local pid='' told='' status
	trap 'told=1; [[ -z $pid ]] || kill "$pid" 2>/dev/null' TERM INT HUP
	"$@" &
	pid=$!
	[[ -z $told ]] || kill "$pid"
	while :; do
		status=0
		wait "$pid" 2>/dev/null || status=$?
		# A trap ends a wait, too.
		kill -0 "$pid" 2>/dev/null || break
	done
	return "$status"
}

# await_any PID... - until one of these children has ended: sets CHILD to it, and CHILD_STATUS to its status.
#
# "wait -n" may know no child that ended before it is called, such as one that a signal ended, and then waits for the others
# alone. "wait PID" has its status all the same. Between the two there are only builtins.
# shellcheck disable=SC2034  # read by the callers
await_any() {
	local pid
	CHILD_STATUS=0
	for pid; do
		kill -0 "$pid" 2>/dev/null && continue
		CHILD=$pid
		wait "$pid" || CHILD_STATUS=$?
		return 0
	done
	wait -n -p CHILD "$@" || CHILD_STATUS=$?
}
