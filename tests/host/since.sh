# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Which suites a change calls for: tests/check --since COMMIT, by the rows "touches" of tests/matrix. Sourced by tests/check,
# never run.

# The suites, once each, if --since was given.
declare -A SINCE=()
# TOUCHES[PATH] - the suites of that row.
declare -A TOUCHES=()

touches_read() {
	local path suites
	((${#TOUCHES[@]} == 0)) || return 0
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

# touched_by FILE - suites. A file that no row names calls for all.
touched_by() {
	local row
	row_of "$1"
	case ${row:-ALL} in
	ALL) all_suites ;;
	USERS) users_of "$1" ;;
	-) ;;
	*) xargs -n 1 <<<"$row" ;;
	esac
}

# users_of FILE - tests/matrix says who that is.
users_of() {
	local name=${1#tests/guest/} suite users=''
	case $name in
	modules/*/*) name=${name#modules/} name=${name%%/*} ;;
	*.h) name=${name##*/} name=${name%.h} name=${name%%_*} ;;
	*) name=${name##*/} name=${name%.*} ;;
	esac
	! grep -qxF -- "$name" < <(matrix_suites) || { printf '%s\n' "$name"; return; }
	for suite in $(matrix_suites); do
		! grep -qw -- "$name" "tests/guest/$suite.sh" || users+=" $suite"
	done
	# shellcheck disable=SC2086  # words
	printf '%s\n' ${users:-$(matrix_suites)}
}
