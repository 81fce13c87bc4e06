# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Every run begins alike, whoever starts it: results say nothing about the terminal, the locale or the shell that they were
# asked for in. tests/host/started.sh tries it. Sourced by tests/check, never run.

# Signals that the starter of a run may ignore: nohup, a script's background job, a service of systemd.
readonly IGNORABLE=(HUP INT QUIT PIPE)

# begin_alike ARGUMENT... - of tests/check. It comes back in a run that has what the tests need.
begin_alike() {
	exec </dev/null
	umask 022
	# The distribution's programs, and not what a version manager puts before them: pyenv's python3 is a shell, and takes eight
	# times as long to begin.
	export LC_ALL=C.UTF-8 TERM=dumb PATH=/usr/sbin:/usr/bin:/sbin:/bin:$PATH
	unset LANGUAGE LOCPATH COLUMNS LINES
	forget_git
	forget_make
	! ignores_signals || begin_again "$@"
}

# forget_git - a hook or an alias of git's leaves variables that say which repository is meant (GIT_DIR). A test that makes one of
# its own would write into that. What they say of its configuration stays: it may be why git reads this checkout at all.
forget_git() {
	local -a names
	mapfile -t names < <(git rev-parse --local-env-vars 2>/dev/null | grep -v '^GIT_CONFIG')
	((${#names[@]} == 0)) || unset "${names[@]}"
}

# forget_make - what "make -C DIR check" hands on: an inner make would say which folder it enters, or count this run's jobs for
# its own. The variables of that make's command line stay.
forget_make() {
	unset MFLAGS GNUMAKEFLAGS MAKELEVEL
	if [[ ${MAKEFLAGS-} == *' -- '* ]]; then
		MAKEFLAGS=" -- ${MAKEFLAGS#* -- }"
	else
		unset MAKEFLAGS
	fi
}

# ignores_signals - asked of a child: this shell has its own ideas.
ignores_signals() {
	local ignored signal
	ignored=$(sed -n 's/^SigIgn:[[:space:]]*//p' /proc/self/status 2>/dev/null)
	for signal in "${IGNORABLE[@]}"; do
		! ((16#${ignored:-0} >> ($(kill -l "$signal") - 1) & 1)) || return 0
	done
	return 1
}

# begin_again ARGUMENT... - a shell cannot give to its children the signals that it was started without. So another tests/check
# runs with all of them, in a session of its own: what was to be ignored is sent to the terminal's group, and does not reach
# it. What is not ignored ends this one, which ends the other.
begin_again() {
	local status=0
	as_job env "--default-signal=$(IFS=,; echo "${IGNORABLE[*]}")" setsid "$REPO/tests/check" "$@" || status=$?
	exit "$status"
}
