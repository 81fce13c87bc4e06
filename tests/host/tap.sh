# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Reads results in the Test Anything Protocol, which guests, cmocka, tap.py and bench/guard print, as tests/check itself does.
# Sourced by tests/check, never run.

# tap_each FILE COMMAND... - for each result, in order: COMMAND... ok|skip|fail NAME TEXT. TEXT is why it was skipped; of a
# failure, the file with what was printed behind it, up to the next result.
tap_each() {
	local tap_file=$1 tap_line tap_name='' tap_told=$LOGS/told.$BASHPID tap_fails='' TAP
	shift
	while IFS= read -r tap_line <&"$TAP"; do
		if ! [[ $tap_line =~ ^(not\ )?ok(\ [0-9]+)?(\ -)?\ (.+)$ ]]; then
			[[ -z $tap_fails ]] || printf '%s\n' "$tap_line" >>"$tap_told"
			continue
		fi
		[[ -z $tap_fails ]] || "$@" fail "$tap_name" "$tap_told"
		tap_fails=${BASH_REMATCH[1]} tap_name=${BASH_REMATCH[4]}
		if [[ -n $tap_fails ]]; then
			: >"$tap_told"
		elif [[ $tap_name == *' # SKIP'* ]]; then
			"$@" skip "${tap_name%% # SKIP*}" "${tap_name#* # SKIP}"
		else
			"$@" ok "$tap_name"
		fi
	done {TAP}<"$tap_file"
	exec {TAP}<&-
	[[ -z $tap_fails ]] || "$@" fail "$tap_name" "$tap_told"
}

# tap_is_whole FILE - does it have as many results as its plans say? What dies prints no plan.
tap_is_whole() {
	awk '/^1\.\.[0-9]+$/ { planned += substr($0, 4); plans++ }
		/^(not )?ok / { seen++ }
		END { exit !(plans && planned == seen) }' "$1"
}
