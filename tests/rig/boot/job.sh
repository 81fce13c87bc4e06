# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Commands in the background whose end is not missed. Sourced by the lab and by tests/check, never run.

# as_job COMMAND... - for "&": ends with the status of COMMAND, and passes on what tells it to end. bash tells of a job that a
# signal ended on its standard error; this one ends by itself.
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
# "wait -n" does not do it: bash 5.2 may know no child that ended just before it is called. It then waits for the others alone, or
# returns at once without a name. "wait PID" has the status of each.
# shellcheck disable=SC2034  # read by the callers
await_any() {
	local pid never=''
	while :; do
		for pid; do
			kill -0 "$pid" 2>/dev/null && continue
			CHILD=$pid CHILD_STATUS=0
			wait "$pid" 2>/dev/null || CHILD_STATUS=$?
			[[ -z $never ]] || exec {never}>&-
			return 0
		done
		# A pipe that nobody writes to is a pause without a process.
		[[ -n $never ]] || exec {never}<> <(:)
		read -rt 0.2 -u "$never" || true
	done
}
