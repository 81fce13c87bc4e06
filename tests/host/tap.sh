# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The one reader of results in the Test Anything Protocol: those of guests, cmocka, tap.py and bench/guard. tests/check itself
# prints them, too, as does tests/gpu/check. Sourced by tests/check, never run.

# tap_each FILE COMMAND... - for each result, in order: COMMAND... ok|skip|fail NAME TEXT. TEXT is why it was skipped; of a
# failure, the file with what was printed behind it, up to the next result.
tap_each() {
	local tap_file=$1 tap_line tap_name='' tap_told=$LOGS/told.$BASHPID tap_fails='' TAP
	local -a tap_parts
	shift
	while IFS= read -r tap_line <&"$TAP"; do
		if ! [[ $tap_line =~ ^(not\ )?ok(\ [0-9]+)?(\ -)?\ (.+)$ ]]; then
			[[ -z $tap_fails ]] || printf '%s\n' "$tap_line" >>"$tap_told"
			continue
		fi
		tap_parts=("${BASH_REMATCH[@]}")
		[[ -z $tap_fails ]] || "$@" fail "$tap_name" "$tap_told"
		tap_fails=${tap_parts[1]} tap_name=${tap_parts[4]}
		case $tap_name in
		'# SKIP '*) # cmocka 1.1: "not ok 3 # SKIP test_name"
			tap_fails=
			"$@" skip "${tap_name#\# SKIP }" ''
			;;
		*' # SKIP '*) tap_fails= && "$@" skip "${tap_name%% # SKIP*}" "${tap_name#* # SKIP }" ;;
		*' # SKIP') tap_fails= && "$@" skip "${tap_name% # SKIP}" '' ;;
		*) if [[ -n $tap_fails ]]; then : >"$tap_told"; else "$@" ok "$tap_name"; fi ;;
		esac
	done {TAP}<"$tap_file"
	exec {TAP}<&-
	[[ -z $tap_fails ]] || "$@" fail "$tap_name" "$tap_told"
}

# tap_is_whole FILE - does it have as many results as its plans say? A program that dies prints no plan.
tap_is_whole() {
	awk '/^1\.\.[0-9]+$/ { planned += substr($0, 4); plans++ }
		/^(not )?ok / { seen++ }
		END { exit !(plans && planned == seen) }' "$1"
}
