# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The lab's judgement of a run, given the logs that kernels left (tests/data/console). Sourced by tests/check, never run.

# in_lab DIR SCRIPT - with the lab's functions; DIR is the directory of a guest. From a file, as the lab itself: what "bash -c"
# knows of jobs that ended differs.
in_lab() {
	# shellcheck disable=SC2016
	bash <(echo 'set -uo pipefail
		RIG_DIR=$1 LAB_DIR=$2 RUN_DIR=$2 OPT_TIMEOUT=600 OPT_KEEP=1 OPT_LOGS=
		. "$RIG_DIR/common.sh"
		for part in ntb job run watch verdict blame; do . "$RIG_DIR/boot/$part.sh"; done
		eval "$3"') "$REPO/tests/rig" "$1" "$2"
}

# guest_left LOG [VERDICT] - prints a directory as a guest with that log leaves it.
guest_left() {
	local dir
	dir=$(mktemp -d "$LOGS/left.XXXXXX")
	cp "tests/data/console/$1.log" "$dir/console.log"
	printf '%s' "${2+$2$'\n'}" >"$dir/verdict"
	: >"$dir/qemu.log"
	echo "$dir"
}

# said_last FILE - the judgement: what comes after the words about the log.
said_last() {
	sed '1,/the whole log:/d' "$1"
}

# judged_as REGEX LOG EMULATOR-STATUS [VERDICT]
judged_as() {
	local regex=$1 dir status=0
	dir=$(guest_left "$2" "${@:4}")
	in_lab "$dir" "judge '$dir' $3" 2>"$dir/said" || status=$?
	printf 'expected 125 and "%s", seen %d and: %s\n' "$regex" "$status" "$(said_last "$dir/said")"
	((status == 125)) && grep -qE -- "$regex" < <(said_last "$dir/said")
}

# could_not_build LAB-STATUS BUILDER-STATUS - what comes of a builder in the cache that fails.
could_not_build() {
	local dir status=0
	dir=$(mktemp -d "$LOGS/left.XXXXXX")
	# shellcheck disable=SC2016  # expanded in the lab's shell
	DONARD_CACHE=$dir in_lab "$dir" "set -e; builder() { : >\"\$1\"; return $2; }"'
		made=$(cached thing builder)
		echo "made: $made"' >"$dir/said" 2>&1 || status=$?
	printf 'expected %d, seen %d: %s\n' "$1" "$status" "$(<"$dir/said")"
	((status == $1)) && [[ ! -e $dir/thing && -z $(compgen -G "$dir/thing.*") ]] && grep -q 'could not build thing in the cache' "$dir/said"
}

# A builder's source is changed to EDIT before the builder reads it, once to the same content, once to another.
what_is_edited_meanwhile_is_not_kept() {
	local dir status=0
	dir=$(mktemp -d "$LOGS/left.XXXXXX")
	echo one >"$dir/source"
	# shellcheck disable=SC2016  # expanded in the lab's shell
	DONARD_CACHE=$dir/cache in_lab "$dir" 'set -e
		key() { content_key "$LAB_DIR/source"; }
		builder() { echo "$EDIT" >"$LAB_DIR/source"; cp "$LAB_DIR/source" "$1"; }
		EDIT=one
		built=$(cached_of thing key builder)
		cat "$built"
		rm "$built"
		EDIT=two
		cached_of thing key builder' >"$dir/said" 2>&1 || status=$?
	printf 'expected 125, seen %d: %s\n' "$status" "$(<"$dir/said")"
	((status == 125)) && [[ $(head -n 1 "$dir/said") == one && -z $(compgen -G "$dir/cache/thing*") ]] &&
		grep -q 'changed while the lab built from them\. Run it again' "$dir/said"
}

# The key changes even if a program loses its execute bit: a script is installed if it may be run.
keys_tell_programs() {
	local dir before
	dir=$(mktemp -d "$LOGS/left.XXXXXX")
	echo true >"$dir/script"
	before=$(in_rig tree_key "$dir")
	chmod 755 "$dir/script"
	[[ $(in_rig tree_key "$dir") != "$before" ]] || { echo "a script and a program have one key"; return 1; }
	chmod 664 "$dir/script"
	[[ $(in_rig tree_key "$dir") == "$before" ]] || { echo "a umask has a key of its own"; return 1; }
}

# The lock's holder is released when the lab has said that it waits.
a_wait_is_told() {
	local dir
	dir=$(mktemp -d "$LOGS/left.XXXXXX")
	# shellcheck disable=SC2016  # expanded in the lab's shell
	DONARD_CACHE=$dir in_lab "$dir" 'builder() { : >"$1"; }
		exec 7>"$LAB_DIR/.lock"
		flock 7
		(exec 7>&-; cached thing builder 2>"$LAB_DIR/said") &
		for ((i = 0; i < 10 * HANG_SECONDS; i++)); do [[ ! -s $LAB_DIR/said ]] || break; sleep 0.1; done
		exec 7>&-
		wait "$!"'
	cat "$dir/said"
	[[ -e $dir/thing ]] && grep -q 'another run builds something in the cache .*; waiting for it' "$dir/said"
}

each_build_failure_is_the_labs() {
	could_not_build 125 1 && could_not_build 125 2 && could_not_build 125 100 && could_not_build 3 3 && could_not_build 143 143
}

# bridge_ended_as REGEX SCRIPT - checks the message about a bridge that ends while guests still run, or after them.
bridge_ended_as() {
	local regex=$1 dir status=0
	dir=$(guest_left module-kasan booted)
	printf 'the last of its words\n' >"$dir/ntbd.log"
	in_lab "$dir" "$2" 2>"$dir/said" || status=$?
	printf 'expected 125 and "%s", seen %d and: %s\n' "$regex" "$status" "$(said_last "$dir/said")"
	((status == 125)) && grep -qE -- "$regex" < <(said_last "$dir/said")
}

# shellcheck disable=SC2016  # expanded in the lab's shell
readonly GUEST_RUNS='sleep 1000 & PID_OF[$LAB_DIR]=$!;'

# is_the_emulators LOG [VERDICT] - would tests/check run that guest again?
is_the_emulators() {
	local dir
	dir=$(guest_left "$@")
	in_lab "$dir" "judge '$dir' 1" 2>"$dir/said"
	said_last "$dir/said"
	in_lab "$dir" "emulators_fault 125 '$dir/said'"
}

is_the_guests() {
	! is_the_emulators "$@"
}

# boots LOG - how often a kernel that always ends so, before its init, is booted.
boots() {
	local dir
	dir=$(guest_left "$1")
	# shellcheck disable=SC2016  # expanded in the lab's shell
	in_lab "$dir" 'start_guest() {
			echo >>"$1/boots"
			false &
			PID_OF[$1]=$!
		}
		start_guest "$LAB_DIR"
		await_boot "$LAB_DIR" 2>/dev/null'
	wc -l <"$dir/boots"
}

booted_times() {
	local seen
	seen=$(boots "$2")
	echo "expected $1 boots, seen $seen"
	((seen == $1))
}

# A run's logs are in the requested folder, and are named.
logs_are_left() {
	local dir status=0
	dir=$(guest_left module-kasan booted)
	in_lab "$dir" "OPT_KEEP='' OPT_LOGS='$dir.logs'; trap end_run EXIT; judge '$dir' 1" 2>"$LOGS/said" || status=$?
	echo "expected status 125, seen $status"
	((status == 125)) && [[ ! -e $dir ]] &&
		cmp tests/data/console/module-kasan.log "$(sed -n 's/^.*the whole log: //p' "$LOGS/said")"
}

# stalled_boot_runs_again [SHELL-LINE] - a kernel that never gets to its init: the lab gives it up, and tests/check takes another
# guest. Because it is silent, or for what the line makes of it.
stalled_boot_runs_again() {
	local dir status=0
	dir=$(guest_left late-kasan)
	# shellcheck disable=SC2016  # expanded in the lab's shell
	in_lab "$dir" "boot_seconds() { echo 0; }; ${1-}"'
		start_guest() {
			echo >>"$1/boots"
			sleep 60 &
			PID_OF[$1]=$!
		}
		start_guest "$LAB_DIR"
		await_boot "$LAB_DIR"' 2>"$dir/said" || status=$?
	printf 'expected 3 boots and 125, seen %d and %d: %s\n' "$(wc -l <"$dir/boots")" "$status" "$(said_last "$dir/said")"
	((status == 125)) && (($(wc -l <"$dir/boots") == 3)) && in_lab "$dir" "emulators_fault 125 '$dir/said'"
}

# lost_timer_boots_again - what the lost boot's kernel said is not the next one's, however late the emulator empties the log.
lost_timer_boots_again() {
	local dir status=0
	dir=$(mktemp -d "$LOGS/left.XXXXXX")
	touch "$dir"/{console.log,verdict}
	# shellcheck disable=SC2016  # expanded in the lab's shell, and in the emulator's
	in_lab "$dir" 'EMULATOR=(sh -c "sleep 0.1; : >console.log; echo >>boots
			[ \"\$(wc -l <boots)\" = 2 ] || { echo \"\$0\" >console.log; exec sleep 60; }
			echo booted >verdict; sleep 1" "$LOST_TIMER")
		FLUSHES=() OPT_TIMEOUT=600
		cd "$LAB_DIR"
		start_guest "$LAB_DIR"
		await_boot "$LAB_DIR"' 2>"$dir/said" || status=$?
	printf 'expected 2 boots and 0, seen %d and %d: %s\n' "$(wc -l <"$dir/boots")" "$status" "$(said_last "$dir/said")"
	((status == 0 && $(wc -l <"$dir/boots") == 2))
}

# emulator_ended_as REGEX SHELL-LINE [SECONDS] - with these as its limit, an emulator that is that line, and at its end before the lab
# waits for it.
emulator_ended_as() {
	local dir status=0
	dir=$(mktemp -d "$LOGS/left.XXXXXX")
	touch "$dir"/{console.log,verdict}
	# shellcheck disable=SC2016  # expanded in the lab's shell
	LINE=$2 SECONDS_LEFT=${3:-600} in_lab "$dir" 'OPT_TIMEOUT=$SECONDS_LEFT EMULATOR=(sh -c "$LINE") FLUSHES=()
		start_guest "$LAB_DIR"
		await_boot "$LAB_DIR"
		while kill -0 "${PID_OF[$LAB_DIR]}" 2>/dev/null; do sleep 0.1; done
		sleep 0.1
		judge_guests' 2>"$dir/said" || status=$?
	printf 'expected 125 and "%s", seen %d and: %s\n' "$1" "$status" "$(said_last "$dir/said")"
	((status == 125)) && grep -qE -- "$1" < <(said_last "$dir/said")
}

# ends_what_it_runs - a job that is told to end passes that on, and has the status of what it ran.
ends_what_it_runs() {
	local status=0 dir
	dir=$(mktemp -d "$LOGS/left.XXXXXX")
	mkfifo "$dir/runs"
	# shellcheck disable=SC2016  # expanded in the lab's shell
	in_lab "$dir" 'as_job sh -c "trap \"exit 7\" TERM; : >\"\$1\"; while :; do sleep 0.1; done" sh "$LAB_DIR/runs" &
		: <"$LAB_DIR/runs"
		kill "$!"
		wait "$!"' || status=$?
	echo "expected 7, seen $status"
	((status == 7))
}

# The code that handles a region's pages and objects, which README.md says is instrumented. "!" names a folder that is kept in.
all_of_ours_is_instrumented() {
	local dir left=tests/rig/debug/uninstrumented
	! grep -xE '(mm|block|io_uring)(/.*)?|lib|drivers/.+' "$left" || return
	for dir in base block dma-buf infiniband iommu nvme pci; do
		grep -qx "!drivers/$dir" "$left" || { echo "$left lacks !drivers/$dir"; return 1; }
	done
}

# trouble_left FILE - what the verdict makes of it.
trouble_left() {
	# shellcheck disable=SC2016  # the lab's
	in_lab "$LOGS" "trouble_in '$1'"
}

# knows_report LOG WORDS LINE - it is taken out, and the lines around it stay.
knows_report() {
	local log=tests/data/console/$1.log trouble
	trouble=$(trouble_left "$log")
	echo "trouble seen: $trouble"
	[[ -z $trouble ]] && grep -q "$2" "$log" && grep -q "$3" < <(tests/rig/guest/known-reports "$log")
}

# knows_no_other_report LOG WORDS SED-SCRIPT - which makes another one of it.
knows_no_other_report() {
	local log=tests/data/console/$1.log
	sed "$3" "$log" >"$LOGS/other.log"
	! cmp -s "$LOGS/other.log" "$log" && trouble_left "$LOGS/other.log" | grep "$2"
}

# races_are_told LOG COUNT - of those that p2pmem has no part in, and the run is sound.
races_are_told() {
	local dir
	dir=$(guest_left "$1" $'status 0\nend')
	in_lab "$dir" "judge '$dir' 0" 2>"$dir/said" || { cat "$dir/said"; return 1; }
	grep -x ".*: data races that p2pmem has no part in: $2" "$dir/said"
}

# with_fake PROGRAM SHELL-LINE COMMAND... - with that line in place of the program; $FAKES is its folder.
with_fake() {
	mkdir -p "$FAKES"
	printf '#!/bin/sh\n%s\n' "$2" >"$FAKES/$1"
	chmod +x "$FAKES/$1"
	PATH=$FAKES:$PATH "${@:3}"
}

# Most containers have no such namespaces.
without_namespaces_nothing_is_fetched() {
	local dir FAKES status=0
	dir=$(mktemp -d "$LOGS/left.XXXXXX") FAKES=$dir/bin
	DONARD_CACHE=$dir/cache with_fake unshare 'exit 1' in_rig guest_root >"$dir/said" 2>&1 || status=$?
	printf 'expected 3, seen %d: %s\n' "$status" "$(<"$dir/said")"
	((status == 3)) && grep -q 'refuses mount namespaces' "$dir/said" && [[ ! -e $dir/cache ]]
}

roots_are_unpacked_on_disk() {
	local FAKES seen
	FAKES=$(mktemp -d "$LOGS/left.XXXXXX")
	# shellcheck disable=SC2016  # the program's
	seen=$(TMPDIR=/nowhere with_fake mmdebstrap 'echo "$TMPDIR $*"' in_rig mmdebstrap --mode=auto)
	echo "expected '/var/tmp --mode=auto', seen '$seen'"
	[[ $seen == '/var/tmp --mode=auto' ]]
}

# mirror_is EXPECTED RELEASE TARGETS - of a host of Debian 12 whose apt has these, a line each.
mirror_is() {
	local FAKES seen
	FAKES=$(mktemp -d "$LOGS/left.XXXXXX")
	seen=$(with_fake apt-get "cat <<'END'"$'\n'"$3"$'\nEND' in_rig eval "host_codename() { echo bookworm; }; mirror_of $2")
	echo "$3: expected '$1', seen '$seen'"
	[[ $seen == "$1" ]]
}

a_mirror_has_many_names() {
	local other=$'stable main http://y/chrome/deb/\n'
	mirror_is http://x/debian bookworm 'bookworm main http://x/debian/' &&
		mirror_is http://x/debian bookworm "${other}stable contrib http://z/debian"$'\nstable main http://x/debian' &&
		mirror_is http://x/deb bookworm $'sid main http://z/debian\nbookworm main http://x/deb' &&
		mirror_is http://x/debian-security bookworm-security $'stable main http://x/debian\nstable-security main http://x/debian-security/' &&
		mirror_is http://x/debian bookworm $'bookworm main http://y/apt\nbookworm main http://x/debian' &&
		mirror_is '' bookworm "$other"
}

# Testing has no backports.
only_debian_12_has_backports() {
	local seen
	# shellcheck disable=SC2016  # the lab's shell's
	seen=$(in_rig eval 'mirror_of() { echo http://x; }
		for name in bookworm forky; do host_codename() { echo "$name"; }; host_sources; done' | grep backports)
	echo "$seen"
	[[ $seen == *' http://x bookworm-backports main contrib' && $(wc -l <<<"$seen") == 1 ]]
}

# Nobody listens at that port.
an_archive_out_of_reach_is_told() {
	local dir status=0
	dir=$(mktemp -d "$LOGS/left.XXXXXX")
	echo 'Acquire::http::Proxy "DIRECT"; Acquire::Retries "0";' >"$dir/conf"
	APT_CONFIG=$dir/conf in_rig eval "sources http://127.0.0.1:9/debian bookworm | private_apt_update '$dir'" >"$dir/said" 2>&1 || status=$?
	printf 'expected 3, seen %d: %s\n' "$status" "$(<"$dir/said")"
	((status == 3)) && grep -q 'could not be fetched' "$dir/said"
}

# Packages on hold do not count as missing.
held_packages_are_there() {
	local FAKES
	FAKES=$(mktemp -d "$LOGS/left.XXXXXX")
	# shellcheck disable=SC2016  # the program's
	DONARD_CACHE=$FAKES/cache with_fake dpkg-query "shift 3; printf 'hi %s 1:99\n' "'"$@"' tests/rig/setup && [[ ! -e $FAKES/cache ]]
}

# The cache's path, as what changes its folder sees it; or a word about it.
caches_are_named_whole() {
	local name out status
	# shellcheck disable=SC2016  # the lab's shell's
	out=$(DONARD_CACHE=a/../cache in_rig eval 'echo "$CACHE_DIR"'; DONARD_CACHE='' XDG_CACHE_HOME='' HOME=/h in_rig eval 'echo "$CACHE_DIR"')
	echo "expected $REPO/cache and /h/.cache/donard, seen: $out"
	[[ $out == "$REPO/cache"$'\n/h/.cache/donard' ]] || return
	for name in '/a disk/cache' /srv/a:b a,b; do
		status=0
		out=$(DONARD_CACHE=$name tests/rig/setup 2>&1) || status=$?
		printf '%s: expected 3, seen %d: %s\n' "$name" "$status" "$out"
		((status == 3)) && [[ $out == *"may have no blank, colon or comma: "*"$name"*DONARD_CACHE ]] || return
	done
}

# refuses REGEX WORD... - with WORD..., assignments, in the environment: the lab, with its status, before anything is in the cache.
refuses() {
	local status=0 out
	out=$(env "${@:2}" tests/rig/lab run -- true 2>&1) || status=$?
	printf 'expected 3 and "%s", seen %d: %s\n' "$1" "$status" "$out"
	((status == 3)) && grep -qE -- "$1" <<<"$out"
}

# A cache whose lock root has made, or a folder that is a file.
folders_are_tried_first() {
	local dir
	dir=$(mktemp -d "$LOGS/left.XXXXXX")
	mkdir -p "$dir/cache/.lock-boot" "$dir/a,b"
	: >"$dir/file"
	refuses "cache/.lock-boot belongs to $(id -un), and cannot be written\. .*sudo rm -r .*DONARD_CACHE" "DONARD_CACHE=$dir/cache" &&
		refuses 'no folder can be made at .*/file/cache\. .*DONARD_CACHE' "DONARD_CACHE=$dir/file/cache" &&
		refuses 'may have no comma: .*/a,b\. Name another folder in TMPDIR' "TMPDIR=$dir/a,b" "DONARD_CACHE=$dir/new" || return
	cp -r tests "$dir/a,b/"
	(cd "$dir/a,b" && refuses "the checkout's path may have no comma: .*/a,b\. Move it" "DONARD_CACHE=$dir/new") && [[ ! -e $dir/new ]]
}

# "rm" may be refused to remove root's files.
forgetting_fails_no_build() {
	local dir
	dir=$(mktemp -d "$LOGS/left.XXXXXX")
	mkdir "$dir/old"
	touch -d '20 days ago' "$dir/old"
	# shellcheck disable=SC2016  # expanded in the lab's shell
	DONARD_CACHE=$dir FAKES=$dir/bin with_fake rm '[ "$2" != --one-file-system ] || case $* in */old*) exit 1 ;; esac; exec /usr/bin/rm "$@"' \
		in_lab "$dir" 'set -e; builder() { : >"$1"; }; cached thing builder' && [[ -e $dir/thing ]]
}

# All that make compiles or installs for a guest must be in PROGRAM_SOURCES: else a guest would get an old build.
programs_are_kept_by_their_sources() {
	local sources said file bad=0
	# shellcheck disable=SC2016  # the lab's
	sources=$(in_rig eval 'cd "$REPO_DIR" && find "${PROGRAM_SOURCES[@]}" -type f') || return
	said=$(make -nB "BUILD=$LOGS/not-built" "DESTDIR=$LOGS/nowhere" PREFIX=/usr userspace python install install-rules install-python |
		tr -s " \t\"';&|(),=" '\n' | sort -u)
	said+=$'\n'$(git ls-files '*.[ch]' ':!kernel' ':!tests/unit' ':!tests/host' ':!tests/guest/modules' | xargs sed -nE 's,^#include "(\.\./)*(kernel/[^"]+)".*,\2,p' | sort -u)
	grep -x 'kernel/path.h' <<<"$said" && grep -x 'kernel/path.c' <<<"$said" && grep -x 'kernel/60-p2pmem.rules' <<<"$said" || return
	while read -r file; do
		[[ $file == /* || ! -f $file || $'\n'$sources$'\n' == *$'\n'"$file"$'\n'* ]] || { echo "not in the key: $file"; bad=1; }
	done <<<"$said"
	return "$bad"
}

run_lab() {
	progress "lab"
	try "lab: programs of guests are kept by what they are made of" programs_are_kept_by_their_sources
	try "lab: KASAN, UBSAN and KCSAN see what handles a region" all_of_ours_is_instrumented
	try "lab: a panic before the first program is told" judged_as 'died before its first program: .*IO-APIC' io-apic 1
	try "lab: and that guest runs again" is_the_emulators io-apic
	try "lab: it is booted again, twice at most" booted_times 3 io-apic
	try "lab: an early report of KASAN is told" judged_as 'first program: BUG: KASAN: .* in do_raw_spin_lock' early-kasan 1
	try "lab: the same report after the first program is a failure" is_the_guests late-kasan
	try "lab: nor is that kernel booted again" booted_times 1 late-kasan
	try "lab: a kernel that stalls before its init is given up, and that guest runs again" stalled_boot_runs_again
	# shellcheck disable=SC2016  # expanded in the lab's shell
	try "lab: a kernel that talks on and on before its init, the same" stalled_boot_runs_again \
		'silence() { case $1 in */started) echo 0 ;; *) echo -1 ;; esac; }'
	# shellcheck disable=SC2016  # expanded in the lab's shell
	try "lab: a kernel that has lost its timer before its init, the same" stalled_boot_runs_again \
		'echo "$LOST_TIMER" >>"$LAB_DIR/console.log"'
	try "lab: one that has lost it once comes up" lost_timer_boots_again
	# shellcheck disable=SC2016  # the emulator's shell's
	try "lab: an emulator that aborts at its start is told" emulator_ended_as \
		'the emulator failed with status 134: its last words' 'echo its last words; kill -ABRT $$'
	# shellcheck disable=SC2016  # the emulator's shell's
	try "lab: so is one that is killed" emulator_ended_as 'the emulator was killed .SIGKILL.: most likely memory ran out' 'kill -KILL $$'
	# shellcheck disable=SC2016  # the emulator's shell's
	try "lab: and one that finds no room for its files" emulator_ended_as 'the file system of .* is full' 'kill -BUS $$'
	try "lab: one that goes on for too long has no end" emulator_ended_as 'no end after 1 s' 'sleep 60' 1
	# shellcheck disable=SC2016  # the emulator's shell's
	try "lab: nor has one that does not heed that" emulator_ended_as 'no end after 1 s' 'trap "" TERM; while :; do sleep 1; done' 1
	try "lab: what cannot be built has the lab's status" each_build_failure_is_the_labs
	try "lab: what was built from files that were edited meanwhile is not kept" what_is_edited_meanwhile_is_not_kept
	try "lab: a script has another key when it becomes a program" keys_tell_programs
	try "lab: without mount namespaces nothing is fetched" without_namespaces_nothing_is_fetched
	try "lab: a root is unpacked in /var/tmp, wherever TMPDIR is" roots_are_unpacked_on_disk
	try "lab: the archive is found by any name of the host's release" a_mirror_has_many_names
	try "lab: backports are asked for on Debian 12 alone" only_debian_12_has_backports
	try "lab: an archive that is out of reach is told" an_archive_out_of_reach_is_told
	try "lab: setup takes a package on hold for installed" held_packages_are_there
	try "lab: the cache is the same from everywhere, or refused" caches_are_named_whole
	try "lab: folders that it cannot use are told before anything is built" folders_are_tried_first
	try "lab: what cannot be forgotten stops no build" forgetting_fails_no_build
	try "lab: who waits for another run says so" a_wait_is_told
	try "lab: a job ends what it runs" ends_what_it_runs
	try "lab: a bridge that dies before its guests ends the run" bridge_ended_as \
		'bridge ended before the guests, with status 3: the last of its words' "$GUEST_RUNS (sleep 1; exit 3) & DEVICE_PID=\$!; judge_guests"
	try "lab: so does one that ends well" bridge_ended_as \
		'bridge ended before the guests, with status 0' "$GUEST_RUNS true & DEVICE_PID=\$!; judge_guests"
	# shellcheck disable=SC2016  # the other shell's
	try "lab: and one that was killed before it is waited for" bridge_ended_as \
		'bridge ended before the guests, with status 137' "$GUEST_RUNS "'bash -c "kill -KILL \$\$" & DEVICE_PID=$!; sleep 0.5; judge_guests'
	# shellcheck disable=SC2016  # the lab's shell's
	try "lab: and one that is gone when they have ended" bridge_ended_as \
		'bridge ended with status 7' '(exit 7) & DEVICE_PID=$!; while kill -0 $DEVICE_PID; do :; done; stop_bridge'
	try "lab: logs are left where they are asked for" logs_are_left
	try "lab: a report of upstream's own is known" knows_report pciehp-lockdep \
		'possible circular' 'Card present'
	try "lab: with a frame of a module it is not" knows_no_other_report pciehp-lockdep 'possible circular' 's|pciehp_ist+0x2a5/0x490|&0 [p2pmem]|'
	try "lab: nor with another lock" knows_no_other_report pciehp-lockdep 'possible circular' 's/pci_rescan_remove_lock/p2pmem_gate/'
	try "lab: what follows it is not" knows_no_other_report pciehp-lockdep 'possible circular' \
		"\$a WARNING: possible circular locking dependency detected"
	try "lab: data races that p2pmem has no part in are counted" races_are_told kcsan 2
	try "lab: what comes after them stays" knows_report kcsan 'BUG: KCSAN' 'p2pmem0: removed'
	try "lab: one with a frame of p2pmem in either stack is a failure" knows_no_other_report kcsan 'BUG: KCSAN' \
		'0,/worker_thread+0x2c1.0x590/s//p2pmem_reap_fn+0x2c1\/0x590 [p2pmem]/'
	try "lab: so is what stands between the lines of another" knows_no_other_report kcsan 'WARNING: ' \
		'0,/worker_thread/s//WARNING: CPU: 0 PID: 1 at kernel\/x.c:1 &/'
	try "lab: a KASAN report of a module is a failure" judged_as 'complained: .*KASAN.*p2pmem_release' module-kasan 1 booted
}

# --- what a debug kernel notices ends a run: a module provokes each (tests/guest/modules/trouble) ---

# provoke KERNEL WHAT... - all of them in one guest, whose log goes on after a warning; leaves it in $LOGS/trouble.
provoke() {
	local kernel=$1 status=0
	# shellcheck disable=SC2016  # the guest's
	in_group tests/rig/lab run --kernel "$kernel" --no-regions --append panic_on_warn=0 --timeout "$(guest_seconds "$kernel")" -- bash -c '
		for what; do
			! [[ -d /sys/module/trouble ]] || rmmod trouble
			insmod /opt/donard/modules/trouble.ko what=$what
		done' provoke "${@:2}" 2>"$LOGS/trouble.err" 7>&-
	wait "$!" || status=$?
	cp "$(sed -n 's/^.*the whole log: //p' "$LOGS/trouble.err")" "$LOGS/trouble"
	tail -n 5 "$LOGS/trouble.err"
	((status == 125))
}

# noticed WHAT REGEX - is it in the log between the module's own words, and trouble for the verdict?
noticed() {
	sed -n "/trouble: begin $1/,/trouble: end $1/p" "$LOGS/trouble" >"$LOGS/part"
	head -n 5 "$LOGS/part"
	grep -qE -- "$2" "$LOGS/part" && [[ -n $(trouble_left "$LOGS/part") ]]
}

# Leaks are looked for when all else has ended: by their module, which is there still to have its name in the trace.
leak_is_noticed() {
	grep -E 'kmemleak: [1-9]|unreferenced object|the guest gave up' -m 5 "$LOGS/trouble" "$LOGS/trouble.err"
	grep -qE 'gave up: .*kmemleak: [1-9][0-9]* objects leaked' "$LOGS/trouble.err" &&
		grep -q 'leak+0x.*\[trouble\]' "$LOGS/trouble"
}

run_trouble() {
	local kernel
	for kernel in $(matrix_kernels source); do
		progress "lab: what $kernel notices"
		"run_trouble_${kernel##*-}" "$kernel"
	done
}

run_trouble_debug() {
	try_first "lab: $1: trouble ends a run" provoke "$1" lockdep sleep ubsan objects kasan leak
	try "lab: $1: locks taken in both orders" noticed lockdep 'possible circular locking dependency'
	try "lab: $1: sleep under a spinlock" noticed sleep 'BUG: sleeping function called from invalid context'
	try "lab: $1: a shift that is too wide" noticed ubsan 'UBSAN: shift-out-of-bounds'
	try "lab: $1: an armed timer that is freed" noticed objects 'ODEBUG: free active .* object type: timer_list'
	try "lab: $1: a read beyond an allocation" noticed kasan 'BUG: KASAN: slab-out-of-bounds'
	try "lab: $1: an allocation that nobody frees" leak_is_noticed
}

run_trouble_kcsan() {
	try_first "lab: $1: trouble ends a run" provoke "$1" race
	try "lab: $1: a count without a lock" noticed race 'BUG: KCSAN: data-race in count_without_a_lock'
}
