# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What is left of what failed when the run is over: its logs, and what runs it again. Sourced by tests/check, never run.

# A folder: logs, the "ring" with its seed and soak, and in "again" a row for each failure, "host SUITE [TEST]" or "guest KERNEL
# TOPOLOGY FABRIC SUITE[/TEST]...", its words between tabs. "ended" is there when the run has come to its end, with how much
# failed; until then "before" has the rows that --failed asked it for. Of one run: the next one in this work tree clears it.
# Another place is for runs within a run.
KEPT=${DONARD_FAILED:-$REPO/build/failed}
# The rows of the run before, where --failed asks for them.
FAILED_ROWS=()

# only_run - two would clear each other's results, and build in one folder at once. Runs within a run have other places. The lock is
# descriptor 7, which what goes on in the background does not have: that may outlive a run.
only_run() {
	local lock=${KEPT%/*}/.lock-check status=0
	[[ -z ${DONARD_FAILED-} ]] || return 0
	# Where that cannot be made, failures_begin says why.
	{ mkdir -p "${lock%/*}" && exec 7>"$lock"; } 2>/dev/null || return 0
	# Any other status: the file system has no locks.
	flock -n 7 || status=$?
	((status != 1)) || unsupported "another tests/check runs in this work tree: wait for its end, or use another work tree ('fuser $lock' finds it)"
}

failures_begin() {
	local remedy='If root has run the tests here: sudo rm -r build'
	rm -rf "$KEPT" 2>/dev/null || unsupported "$KEPT cannot be removed. $remedy"
	mkdir -p "$KEPT" || unsupported "no folder can be made at $KEPT"
	[[ ! -e $BUILD || -w $BUILD ]] || unsupported "make cannot write to $BUILD. $remedy"
	printf '%s\n' "$OPT_RING $SEED $OPT_SOAK" >"$KEPT/ring"
	# Not lost if this run is broken off.
	[[ -z $OPT_FAILED ]] || printf '%s\n' "${FAILED_ROWS[@]}" >"$KEPT/before"
}

# failures_read - for --failed: what failed last, in its ring.
failures_read() {
	mapfile -t FAILED_ROWS < <(cat "$KEPT/again" "$KEPT/before" 2>/dev/null | awk '!seen[$0]++')
	if ((${#FAILED_ROWS[@]} == 0)); then
		[[ ! -e $KEPT/ring || -e $KEPT/ended ]] ||
			{ echo "check: the last run was broken off, and nothing had failed until then" >&2; exit 1; }
		! grep -q '[1-9]' "$KEPT/ended" 2>/dev/null ||
			{ echo "check: the last run failed, and has no test to run again" >&2; exit 1; }
		echo "check: nothing failed last" >&2
		exit 0
	fi
	# shellcheck disable=SC2034  # tests/check
	read -r OPT_RING OPT_SEED OPT_SOAK <"$KEPT/ring"
}

# has_failed SUITE [TEST] - of the host, when it was last run? Of a row that names no test, all.
has_failed() {
	local row=$'host\t'$1 name=${2-}
	# By the environment: of "-v" awk would take backslashes for its own.
	printf '%s\n' "${FAILED_ROWS[@]}" | ROW=$row NAME=${name#"$1: "} awk '
		BEGIN { row = ENVIRON["ROW"]; name = ENVIRON["NAME"] }
		$0 == row || index($0, row "\t") == 1 && (name == "" || $0 == row "\t" name) { found = 1 } END { exit !found }'
}

# failed_guests - as planned_guests: each machine once, with all that failed on it.
failed_guests() {
	printf '%s\n' "${FAILED_ROWS[@]}" | awk -F '\t' '$1 == "guest" {
		where = $2 FS $3 FS $4
		if (!(where in suites))
			order[++count] = where
		for (i = 5; i <= NF; i++)
			if (!seen[where, $i]++)
				suites[where] = suites[where] FS $i
	} END {
		for (i = 1; i <= count; i++)
			print order[i] suites[order[i]]
	}'
}

# note_again WORD... - a row.
note_again() {
	(IFS=$'\t'; printf '%s\n' "$*" >>"$KEPT/again")
}

# note_ran WORD... - for --failed: the test that a row names has a result.
note_ran() {
	# shellcheck disable=SC2153  # results.sh has LOGS
	[[ -z $OPT_FAILED ]] || (IFS=$'\t'; printf '%s\n' "$*" >>"$LOGS/ran")
}

# note_host_ran NAME - of the suite of the host that runs.
note_host_ran() {
	[[ -z $SUITE ]] || note_ran host "$SUITE" "${1#"$SUITE: "}"
}

# single_rows - rows on stdin, of a guest's one a suite or test.
single_rows() {
	awk -F '\t' '$1 != "guest" { print } $1 == "guest" { for (i = 5; i <= NF; i++) print $1 FS $2 FS $3 FS $4 FS $i }'
}

# count_unheard - of the single tests that --failed asks for, each without a result has failed, and is asked for again: of that
# name there is none any more, or nothing ran it. Not where its suite has failed as a whole.
count_unheard() {
	local row suite seen
	local -a words
	seen=$(cat "$LOGS/ran" "$KEPT/again" 2>/dev/null | single_rows)
	while IFS= read -r row; do
		suite=${row%%/*}
		[[ $row != host* ]] || suite=${row%$'\t'*}
		! grep -qxF -e "$row" -e "$suite" <<<"$seen" || continue
		IFS=$'\t' read -ra words <<<"$row"
		failed "${row//$'\t'/ }: failed last, and has no result now. If no test has this name any more, any other run forgets it" '' \
			"${words[@]}"
	done < <(printf '%s\n' "${FAILED_ROWS[@]}" | single_rows | grep -E $'^host\t[^\t]*\t|^guest\t.*/')
}

# again_command WORD... - that of a row, for a shell. Of several suites in a guest it names none: all of that machine run.
again_command() {
	printf 'tests/check%s' "$(ring_options)"
	if [[ $1 == host ]]; then
		printf ' --only %q\n' "$2${3:+/$3}"
	else
		(($# != 5)) || printf ' --only %q' "$5"
		printf ' --kernel %q --topology %q --fabric %q\n' "${@:2:3}"
	fi
}

# keep_log NAME LOG - of a test on the host; prints where it is.
keep_log() {
	local file=${1//[^[:alnum:].-]/_}
	file=$KEPT/${file:0:150}.log
	cp "$2" "$file"
	printf '%s\n' "$file"
}

# keep_guest DIR - beside the logs that the lab left.
keep_guest() {
	local logs
	logs=$(<"$1/logs")
	mkdir -p "$logs"
	cp "$1/out" "$1/err" "$logs/"
}

forget_guest() {
	rm -rf "$(<"$1/logs")"
}

# failures_tell - where the logs are, and what runs all of it again.
failures_tell() {
	echo "$FAILED" >"$KEPT/ended"
	rm -f "$KEPT/before"
	[[ -s $KEPT/again ]] || return 0
	echo "# The logs of what failed:"
	find "$KEPT" -mindepth 1 -maxdepth 1 -not -name ring -not -name again -not -name ended | sort | sed 's/^/#   /'
	echo "# All of it again: tests/check --failed"
}
