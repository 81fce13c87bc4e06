# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Which suites a change calls for: tests/check --since COMMIT, by the rows "touches" of tests/matrix. Sourced by tests/check,
# never run.

# The suites, once each, if --since was given.
declare -A SINCE=()
# TOUCHES[PATH] - the suites of that row.
declare -A TOUCHES=()
# All of the guests', a line each.
GUEST_SUITES=

touches_read() {
	local path suites
	((${#TOUCHES[@]} == 0)) || return 0
	GUEST_SUITES=$(matrix_suites)
	while read -r path suites; do
		TOUCHES[$path]=$suites
	done < <(matrix_rows touches)
}

# since_read - what differs from OPT_SINCE, in commits, in the work tree and in files that git does not know yet.
since_read() {
	local file suites suite
	local -A told=()
	git rev-parse --verify --quiet "$OPT_SINCE^{commit}" >/dev/null || wrong_use "--since: git knows no commit '$OPT_SINCE'"
	touches_read
	SINCE[style]=1
	while IFS= read -r -d '' file; do
		suites=$(touched_by "$file")
		for suite in $suites; do
			# shellcheck disable=SC2034  # wanted_suites, on_host
			SINCE[$suite]=1
		done
		suites=$(xargs <<<"$suites")
		told[${suites:-style alone}]+=" $file"
	done < <(changed_files)
	for suites in "${!told[@]}"; do
		printf 'check: %s: for%s\n' "$suites" "${told[$suites]}"
	done | sort | cut -c1-400 >&2
	tell_left
}

# tell_left - which of the suites this ring does not have.
tell_left() {
	local left
	left=$(printf '%s\n' "${!SINCE[@]}" | grep -vxFf <(matrix_host "$OPT_RING"; matrix_suites "$OPT_RING"; echo verdict) | sort | xargs)
	[[ -z $left ]] || printf 'check: not in the ring "%s", so not run: %s\n' "$OPT_RING" "$left" >&2
}

changed_files() {
	git diff --name-only --no-renames -z "$OPT_SINCE" --
	git ls-files -z --others --exclude-standard
}

# row_of FILE - leaves the suites of the longest row that matches in "row".
row_of() {
	local path longest=0
	row=''
	for path in "${!TOUCHES[@]}"; do
		# shellcheck disable=SC2053  # a pattern
		if ((${#path} > longest)) && [[ $1 == $path || $1 == $path/* ]]; then
			longest=${#path} row=${TOUCHES[$path]}
		fi
	done
}

# touched_by FILE - suites, once each. A file that no row names calls for all.
touched_by() {
	local row word
	row_of "$1"
	for word in ${row:-ALL}; do
		case $word in
		ALL) all_suites ;;
		USERS) users_of "$1" ;;
		-) ;;
		*) echo "$word" ;;
		esac
	done | awk '!seen[$0]++'
}

# users_of FILE - of tests/guest; tests/matrix says who that is.
users_of() {
	local users
	users=$(suites_of "$1")
	printf '%s\n' "${users:-$GUEST_SUITES}"
}

suites_of() {
	local path=${1#tests/guest/} taker
	if [[ $path != *.h && $'\n'$GUEST_SUITES$'\n' == *$'\n'"${path%.*}"$'\n'* ]]; then
		echo "${path%.*}"
		return
	fi
	for taker in $(takers_of "$path"); do
		suites_of "$taker"
	done
}

# What comes before a word that is in no comment.
readonly NO_COMMENT='^([^#]|[^[:space:]#]#)*'

# takers_of PATH - files of tests/guest that source, include or run the one of that PATH in it.
takers_of() {
	local path=$1 name=${1##*/}
	name=${name%.*}
	case $path in
	*.sh) scripts_with "^[[:space:]]*\. (\./)?$path\$" ;;
	cuda/*) echo helpers/gpu.sh ;;
	*.h) grep -lE "^#include \"(\.\./)*$path\"" tests/guest/{,cuda/,modules/*/}*.[ch] ;;&
	modules/*) name=${path#modules/} && scripts_with "$NO_COMMENT\<${name%%/*}\>" ;;
	*.h) ;;
	*/*) scripts_with "$NO_COMMENT\<$path\>" ;;
	*) scripts_with "$NO_COMMENT\<$name\>" ;;
	esac
}

# scripts_with REGEX - lib.sh and run.sh, which all suites have, run none of these programs.
scripts_with() {
	LC_ALL=C grep -lE --exclude={lib,run}.sh -- "$1" tests/guest/*.sh tests/guest/helpers/*.sh
}
