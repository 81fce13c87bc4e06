# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Counts results and prints them. Sourced by tests/check, never run.

PASSED=0 FAILED=0 SKIPPED=0
LOGS=

results_begin() {
	local place=${TMPDIR:-/tmp}
	# make builds in it, and takes no path with a space.
	[[ $place != *[[:space:]]* ]] || place=/tmp
	LOGS=$(mktemp -d "$place/donard-check.XXXXXX")
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

# failed NAME [LOG [AGAIN]] - with the end of a log, and the command that runs it alone.
failed() {
	local text=$LOGS/failed.$BASHPID
	[[ -z ${2-} ]] || tail -n 40 "$2" | cut -c1-300 | sed 's/^/#   | /' >"$text"
	[[ -z ${3-} ]] || printf '#   again: %s\n' "$3" >>"$text"
	count_failure "$1" "$text"
	rm -f "$text"
}

# count_failure NAME [FILE] - FILE has what is told of it, each line behind "#   ".
count_failure() {
	FAILED=$((FAILED + 1))
	printf 'not ok - %s\n' "$1"
	[[ ! -s ${2-} ]] || cat "$2"
	note_failure "$1" "${2-}" >>"$LOGS/failures"
}

# note_failure NAME [FILE] - the same in short, for the end of the run: what was seen last, and the command.
note_failure() {
	printf 'not ok - %s\n' "$1"
	[[ -s ${2-} ]] || return 0
	grep '^#   | ' "$2" | grep -v '^#   | \[ *[0-9.]*\]' | tail -n 10
	grep '^#   again: ' "$2" | tail -n 1
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
		failed "$name" "$log" "tests/check$(ring_option) --only ${name%%: *}    # $*"
	fi
}

# results_tell - at the end of the run, where it is read: what failed, and what was flaky.
results_tell() {
	if ((PASSED + FAILED + SKIPPED == 0)); then
		failed "nothing was run: no guest of this ring has that suite, kernel and topology (tests/check --list, --long)"
	fi
	[[ ! -s $LOGS/failures ]] || { echo "# What failed:"; cat "$LOGS/failures"; }
	[[ ! -s $LOGS/flaky ]] || { echo "# What passed only when it was run once more, alone:"; cat "$LOGS/flaky"; }
}

results_end() {
	((FLAKY == 0)) || printf '%d of those that passed: flaky\n' "$FLAKY"
	printf '%d passed, %d failed, %d skipped\n' "$PASSED" "$FAILED" "$SKIPPED"
	((FAILED == 0))
}

# --- the work tree that passed ---

# green_file - which names it, for who merges.
green_file() {
	git rev-parse --git-path donard-green 2>/dev/null
}

# clean_tree - the hash of the work tree, if it is that of HEAD.
clean_tree() {
	[[ -z $(git status --porcelain 2>/dev/null) ]] && git rev-parse 'HEAD^{tree}' 2>/dev/null
}

# note_green STATUS TREE - of a whole gate that began with the clean TREE (or none).
note_green() {
	local file
	file=$(green_file) || return 0
	if (($1 != 0)); then
		rm -f "$file"
	elif [[ -n $2 && $2 == "$(clean_tree)" ]]; then
		echo "$2" >"$file"
	fi
}
