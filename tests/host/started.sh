# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The suites of the host again, by runs that are started in other ways: nothing of it changes the outcome (alike.sh). Sourced
# by tests/check, never run.

# The gate's suites, and one that it lacks. Without style and model, which take minutes, and run nothing of donard's.
readonly STARTED_SUITES=(unit install cli abi lab report "verdict --long")
# The setting that lets git read this checkout may be in a file that it does not find then.
readonly TRUSTED=(GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory "GIT_CONFIG_VALUE_0=$REPO")

# pass_started WAY... - runs the suites once for each WAY to start them, and reports what failed.
pass_started() {
	local started bad=0
	local -a suite
	for started in "${STARTED_SUITES[@]}"; do
		read -ra suite <<<"$started"
		! "$@" env "DONARD_FAILED=$LOGS/kept" "$REPO/tests/check" --only "${suite[@]}" >"$LOGS/started" 2>&1 || continue
		bad=1
		printf '%s: ' "$started"
		what_failed
	done
	return "$bad"
}

# what_failed - in the run that was started.
what_failed() {
	sed -n '/^# What failed:/,$p' "$LOGS/started" | grep . || tail -n 3 "$LOGS/started"
}

# Signals are ignored, as by nohup, in a script's background job, or by systemd.
ignoring_signals() (
	trap '' HUP INT QUIT PIPE
	exec "$@"
)

without_input() {
	"$@" <&-
}

# A setting of the lab's cache folder still holds.
with_path_alone() {
	env -i "PATH=$PATH" "${TRUSTED[@]}" ${DONARD_CACHE:+"DONARD_CACHE=$DONARD_CACHE"} ${XDG_CACHE_HOME:+"XDG_CACHE_HOME=$XDG_CACHE_HOME"} "$@"
}

for_owner_alone() (
	umask 077
	exec "$@"
)

below_a_space() {
	mkdir -p "$LOGS/a folder"
	TMPDIR="$LOGS/a folder" "$@"
}

# Numbers have a comma in Turkish, and 'i' is no small 'I'.
in_turkish() {
	localedef -i tr_TR -f UTF-8 "$LOGS/tr_TR.UTF-8" || return
	LOCPATH=$LOGS LC_ALL=tr_TR.UTF-8 LANGUAGE=tr "$@"
}

in_20_columns() {
	COLUMNS=20 LINES=5 script -qec "stty cols 20 rows 5; $(printf '%q ' "$@")" /dev/null
}

# Started by a git hook in another work tree, for a user whose commits are signed.
in_a_hook() {
	mkdir -p "$LOGS/home"
	printf '[commit]\n\tgpgsign = true\n[gpg]\n\tprogram = false\n' >"$LOGS/home/gitconfig"
	env "GIT_DIR=$LOGS/home/.git" "GIT_CONFIG_GLOBAL=$LOGS/home/gitconfig" "${TRUSTED[@]}" "$@"
}

# The command line alone, which is built there. A copy has what git may not know of yet.
in_a_path_with_a_space() {
	local dir="$LOGS/a checkout of its own"
	mkdir -p "$dir"
	sources | tar -c -T - | tar -x -C "$dir"
	git -C "$dir" init -q && git -C "$dir" add -A || return
	env -u BUILD "DONARD_FAILED=$LOGS/kept" "$dir/tests/check" --only cli >"$LOGS/started" 2>&1 || { what_failed; return 1; }
}

run_started() {
	progress "started in other ways"
	try "started: with signals ignored" pass_started ignoring_signals
	try "started: without input" pass_started without_input
	try "started: with PATH alone" pass_started with_path_alone
	try "started: with umask 077" pass_started for_owner_alone
	try "started: with a space in TMPDIR" pass_started below_a_space
	try "started: without TERM" pass_started env -u TERM
	try "started: in another locale" pass_started in_turkish
	try "started: by POSIX" pass_started env POSIXLY_CORRECT=1
	try "started: in 20 columns" pass_started in_20_columns
	try "started: in a hook of git's" pass_started in_a_hook
	try "started: by make in another folder" pass_started env MAKEFLAGS=w MAKELEVEL=1
	try "started: in a checkout with a space in its path" in_a_path_with_a_space
}
