# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Counts results and prints them. Sourced by tests/check, never run.

PASSED=0 FAILED=0 SKIPPED=0
LOGS=

results_begin() {
	LOGS=$(mktemp -d "${TMPDIR:-/tmp}/donard-check.XXXXXX")
	trap results_clean_up EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
}

# Guests may still run when the whole is broken off: they clean up after themselves when told to end.
results_clean_up() {
	local -a running
	mapfile -t running < <(jobs -p)
	[[ -z $HOST ]] || kill -- "-$HOST" 2>/dev/null
	((${#running[@]} == 0)) || { kill "${running[@]}"; wait; } 2>/dev/null
	rm -rf "$LOGS"
}

progress() {
	printf 'check: [%d:%02d] %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$*" >&2
}

pass() {
	PASSED=$((PASSED + 1))
	printf 'ok - %s\n' "$1"
}

# failed NAME [LOG] - with the end of a log.
failed() {
	FAILED=$((FAILED + 1))
	printf 'not ok - %s\n' "$1"
	[[ -z ${2-} ]] || tail -n 40 "$2" | cut -c1-300 | sed 's/^/#   | /'
}

skipped() {
	SKIPPED=$((SKIPPED + 1))
	printf 'skip - %s: %s\n' "$1" "$2"
}

# try NAME COMMAND... - one test that is one command.
try() {
	local name=$1 log=$LOGS/try.log
	shift
	if "$@" >"$log" 2>&1; then
		pass "$name"
	else
		failed "$name" "$log"
		printf '#   again: %s\n' "$*"
	fi
}

results_end() {
	if ((PASSED + FAILED + SKIPPED == 0)); then
		failed "nothing was run: no guest has that suite, kernel and topology"
	fi
	printf '%d passed, %d failed, %d skipped\n' "$PASSED" "$FAILED" "$SKIPPED"
	((FAILED == 0))
}
