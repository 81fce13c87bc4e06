# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A command in the background whose end is not missed. Sourced by the lab and by tests/check, never run.

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
