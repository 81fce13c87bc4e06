# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Commands in the background whose end is not missed. Sourced by the lab and by tests/check, never run.

# as_job COMMAND... - to be started with "&": ends with the status of COMMAND, and passes signals that end it on to COMMAND.
# bash would report a job that a signal ended on standard error; this one exits by itself.
as_job() {
	local pid='' told='' status again=0
	trap 'told=1; [[ -z $pid ]] || kill "$pid" 2>/dev/null' TERM INT HUP
	"$@" &
	pid=$!
	[[ -z $told ]] || kill "$pid"
	while :; do
		told='' status=0
		wait "$pid" 2>/dev/null || status=$?
		[[ -n $told ]] || return "$status"
		# A trap ends a wait, too, and the status is then the signal's.
		kill -0 "$pid" 2>/dev/null || break
	done
	# COMMAND may have ended before the trap or since. In the first case a shell by POSIX knows nothing of it any more: 127.
	wait "$pid" 2>/dev/null || again=$?
	((again == 127)) || status=$again
	return "$status"
}

# end_by_signal STATUS - for a trap: exits with STATUS, and ignores further signals, which would break off the cleanup.
end_by_signal() {
	trap '' INT TERM HUP
	exit "$1"
}

PAUSE=

# pause SECONDS - without a process, which a wait of minutes by many short ones would start by the thousand: nobody writes to the pipe.
pause() {
	[[ -n $PAUSE ]] || exec {PAUSE}<> <(:)
	read -rt "$1" -u "$PAUSE" || true
}

# await_any PID... - until one of these children has ended: sets CHILD to it, and CHILD_STATUS to its status.
#
# "wait -n" does not do it: bash 5.2 may know no child that ended just before it is called. It then waits for the others alone, or
# returns at once without a name. "wait PID" has the status of each.
# shellcheck disable=SC2034  # read by the callers
await_any() {
	local pid
	while :; do
		for pid; do
			kill -0 "$pid" 2>/dev/null && continue
			CHILD=$pid CHILD_STATUS=0
			wait "$pid" 2>/dev/null || CHILD_STATUS=$?
			return 0
		done
		pause 0.2
	done
}
