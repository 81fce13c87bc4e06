# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Counts results and prints them in the Test Anything Protocol. Sourced by tests/check, never run.

PASSED=0 FAILED=0 SKIPPED=0
# How many passed for others to stand on, and were not asked for themselves.
BESIDE=0
LOGS=
# The suite of the host that runs.
SUITE=

results_begin() {
	local place=${TMPDIR:-/tmp}
	# make builds in it, and takes no path with a space.
	[[ $place != *[[:space:]]* ]] || place=/tmp
	# Without a folder, a run as root would work in "/".
	LOGS=$(mktemp -d "$place/donard-check.XXXXXX") || unsupported "no folder can be made in '$place' (TMPDIR)"
	trap results_clean_up EXIT
	trap 'progress "ending what runs"; end_by_signal 130' INT
	trap 'progress "ending what runs"; end_by_signal 143' TERM HUP
	# Tests put programs there.
	printf '#!/bin/sh\n' >"$LOGS/program"
	chmod +x "$LOGS/program"
	"$LOGS/program" 2>/dev/null || unsupported "no program can be run in '$place' (noexec?). Name another folder in TMPDIR"
	only_run
	failures_begin
}

# in_group COMMAND... - in the background, as "$!", in a process group of its own. Whatever takes long is run so: a shell that waits
# for a download or a build would heed what tells it to end only behind that. What results_clean_up tells the whole group, the
# download hears, too. Without the terminal, from which a group in the background may not read: it would be stopped.
in_group() {
	set -m
	"$@" </dev/null &
	set +m
}

# Seconds that a guest, a download or a build has to clean up after itself.
readonly END_SECONDS=30

# groups_run GROUP... - does any process of them? A group may outlive its first process; what has ended is there until init asks.
groups_run() {
	awk -v groups=" $* " '$1 != "Z" && index(groups, " " $3 " ") { found = 1 } END { exit !found }' \
		< <(sed 's/^.*) //' /proc/[0-9]*/stat 2>/dev/null)
}

# Much may still run when the whole is broken off.
results_clean_up() {
	local -a groups
	local i
	trap '' INT TERM HUP
	mapfile -t groups < <(jobs -p)
	if ((${#groups[@]})); then
		kill -- "${groups[@]/#/-}" 2>/dev/null
		for ((i = 0; i < 5 * END_SECONDS; i++)); do
			groups_run "${groups[@]}" || break
			pause 0.2
		done
		kill -KILL -- "${groups[@]/#/-}" 2>/dev/null
	fi
	rm -rf "$LOGS"
}

progress() {
	printf 'check: [%d:%02d] %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$*" >&2
}

# by_name - do --only or --failed ask for tests by their names?
by_name() {
	[[ $OPT_ONLY == */* || -n $OPT_FAILED ]]
}

# wanted NAME - of a result of the host's: is it among those that --only or --failed asks for? The other tests do not run.
wanted() {
	local name=${OPT_ONLY#*/}
	if [[ -n $OPT_FAILED ]]; then
		has_failed "$SUITE" "$1"
	else
		[[ $OPT_ONLY != */* || $name == "$1" || $name == "${1#*: }" ]]
	fi
}

# any_wanted PREFIX - of the names on stdin, with PREFIX before each?
any_wanted() {
	local name found=1
	while IFS= read -r name; do
		! wanted "$1$name" || found=0
	done
	return "$found"
}

pass() {
	PASSED=$((PASSED + 1))
	note_host_ran "$1"
	printf 'ok - %s\n' "$1"
}

# failed NAME LOG [ROW-WORD...] - with the end of a log, or none (''), and what runs it again (failures.sh): else the suite of
# the host that runs, and of it the test NAME.
failed() {
	local name=$1 log=$2 text=$LOGS/failed.$BASHPID
	shift 2
	: >"$text"
	if [[ -n $log ]]; then
		tail -n 40 "$log" | cut -c1-300 | sed 's/^/#   | /' >"$text"
		[[ -z $SUITE ]] || printf '#   log: %s\n' "$(keep_log "$name" "$log")" >>"$text"
	fi
	(($# || ${#SUITE} == 0)) || set -- host "$SUITE" "${name#"$SUITE: "}"
	count_failure "$name" "$text" "$@"
	rm -f "$text"
}

# count_failure NAME FILE [ROW-WORD...] - FILE has the report, each line after "#   ".
count_failure() {
	local name=$1 text=$2
	shift 2
	FAILED=$((FAILED + 1))
	if (($#)); then
		printf '#   again: %s\n' "$(again_command "$@")" >>"$text"
		note_again "$@"
	fi
	printf 'not ok - %s\n' "$name"
	cat "$text"
	note_failure "$name" "$text" >>"$LOGS/failures"
}

# note_failure NAME FILE - notes the failure in short, for the end of the run: the expected result, if a guest's test prints it in a line
# of its own, the last output, the log, and the command.
note_failure() {
	printf '# not ok - %s\n' "$1"
	grep '^#   | ' "$2" | grep -v '^#   | \[ *[0-9.]*\]' | last_of 10
	grep -E '^#   (log|again): ' "$2" | tail -n 2
}

# skipped NAME REASON
skipped() {
	SKIPPED=$((SKIPPED + 1))
	note_host_ran "$1"
	[[ -z $SUITE ]] || printf '%s\n' "$SUITE" >>"$LOGS/skips"
	printf 'ok - %s # SKIP %s\n' "$1" "$2"
}

# try NAME COMMAND... - one test that is one command.
try() {
	! wanted "$1" || try_first "$@"
}

# try_first NAME COMMAND... - one that others stand on: it runs whenever one of its suite does.
try_first() {
	local name=$1 log=$LOGS/try.log
	shift
	printf '%s\n' "$name" "$log" >"$LOGS/trying"
	if "$@" >"$log" 2>&1; then
		pass "$name"
		wanted "$name" || BESIDE=$((BESIDE + 1))
	else
		failed "$name" "$log"
	fi
	rm -f "$LOGS/trying"
}

# count_suite PREFIX COMMAND... - a program that prints results; PREFIX is before their names.
count_suite() {
	local prefix=$1 log=$LOGS/suite.log status=0
	shift
	printf '%s\n' "$prefix$*" "$log" >"$LOGS/trying"
	CMOCKA_MESSAGE_OUTPUT=TAP "$@" >"$log" 2>&1 || status=$?
	tap_each "$log" suite_result "$prefix"
	if ((status != 0)) || ! tap_is_whole "$log"; then
		failed "$prefix$* ended with status $status" "$log" host "$SUITE"
	fi
	rm -f "$LOGS/trying"
}

# suite_result PREFIX VERDICT NAME [TEXT] - of tap_each
suite_result() {
	wanted "$1$3" || return 0
	case $2 in
	ok) pass "$1$3" ;;
	skip) skipped "$1$3" "${4:-the test itself skips here}" ;;
	fail) failed "$1$3" "$4" ;;
	esac
}

# results_tell - prints what failed and what was flaky, at the end of the run, where it is read.
results_tell() {
	if ((PASSED + FAILED + SKIPPED == BESIDE)); then
		failed "nothing was run: no test of this ring has that name, or no guest that suite, kernel and topology (tests/check --list, --long)" ''
		[[ -z $OPT_FAILED ]] || printf '%s\n' "${FAILED_ROWS[@]}" >>"$KEPT/again"
	fi
	[[ -z $OPT_FAILED ]] || count_unheard
	[[ ! -s $LOGS/failures ]] || { echo "# What failed:"; cat "$LOGS/failures"; }
	[[ ! -s $LOGS/skips ]] || skips_told
	[[ ! -s $LOGS/flaky ]] || { echo "# What passed only when it was run once more, alone:"; cat "$LOGS/flaky"; }
	failures_tell
	kept_told
}

# skips_told - reports suites with many skipped tests, whose failures this machine may hide. Tests that the matrix lets skip do not count.
skips_told() {
	echo "# What this machine could not run: $(sort "$LOGS/skips" | uniq -c |
		awk '{ printf "%s%d of %s", sep, $1, $2; sep = ", " }'). Their lines above have \"# SKIP\"."
}

results_end() {
	printf '1..%d\n' $((PASSED + FAILED + SKIPPED))
	((FLAKY == 0)) || printf '%d of those that passed: flaky\n' "$FLAKY"
	printf '%d passed, %d failed, %d skipped\n' "$PASSED" "$FAILED" "$SKIPPED"
	((FAILED == 0))
}

# --- the work tree that passed ---

# green_file - which names it, for who merges.
green_file() {
	git rev-parse --git-path donard-green 2>/dev/null
}

# clean_tree - the hash of the work tree, if it is that of HEAD. Whatever status.showUntrackedFiles says: a build takes its files
# by pattern, also those that no commit has.
clean_tree() {
	[[ -z $(git status --porcelain --untracked-files=all 2>/dev/null) ]] && git rev-parse 'HEAD^{tree}' 2>/dev/null
}

# note_green STATUS TREE - of a whole gate that began with the clean TREE (or none).
note_green() {
	local file
	file=$(green_file) || return 0
	if (($1 != 0)); then
		rm -f "$file"
	elif [[ -n $2 && $2 == "$(clean_tree)" ]]; then
		# A file of another user's run could not be overwritten.
		rm -f "$file"
		echo "$2" >"$file"
	fi
}
