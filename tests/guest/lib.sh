# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Harness of the suites that run in a guest. Sourced by run.sh, never run.
#
# A suite is a file of functions; its last lines name them by t or skip, behind the word "core" where make check runs
# the test, too, or "newest" where it does so on the newest kernel. Each test runs in a process group of its own under a
# time limit. Output is in the Test Anything Protocol:
#
#   # run SUITE/NAME           before it: a boot that dies names its test
#   ok - SUITE: NAME
#   ok - SUITE: NAME # SKIP REASON
#   not ok - SUITE: NAME       and then what was expected and seen; "not of speed" where a
#                              slow host cannot be the cause (tests/host/chances.sh)
#   1..RESULTS                 at the end of the boot

# A command that fails ends a test also where its output is taken.
shopt -s inherit_errexit

# Time limits are those of an idle host, this many times over: a busy one stands still for seconds at a time. No test is
# about time; a limit only keeps what never happens from being waited for without end.
PATIENCE=5
[[ " ${LAB_CAN-} " != *' debug '* ]] || PATIENCE=20
# These limits only end a hang: one for a program (limited), so that its test can report it and clean up, and twice as long for a test.
HANG_SECONDS=$((60 * PATIENCE))
# The clock of a metered guest counts instructions, and is not the host's: the host limits the whole run.
[[ -z ${LAB_METER-} ]] || HANG_SECONDS=900
readonly PATIENCE HANG_SECONDS
TEST_SECONDS=${TEST_SECONDS:-$((2 * HANG_SECONDS))}
readonly TROUBLE='WARNING|BUG|Oops|Call Trace|leak|refcount|Bad page|general protection fault[,:]'
# Words that look like the above but are no trouble. VM_FAULT_OOM: a fault that finds no memory is taken again.
readonly NO_TROUBLE='memory leak.*disabled|kmemleak: Kernel memory leak detector|kmemleak: Cannot allocate a scan area|VM_FAULT_OOM leaked out'
# Failures that no slow host can cause: a complaint of the kernel, wrong bytes, a program's own report of them (status 4), and the
# comparisons of values or bytes by the macros of the programs in tests/guest.
readonly NOT_OF_SPEED='^WRONG: |^the kernel complained:|differ: (byte|char) |cmp: EOF on|[sS]tatus 4([^0-9]|$)|, seen .4.$|"mismatch"|^AssertionError|verify: bad |verify failed at |: line [0-9]+: (not so: |.*: expected )|^(folio|bigbar): .*: (page [0-9]+|bytes?): expected |^ring: .* are not the drive.s$|another (owner|user).s bytes|in time: ((region|peer)_is_free|nothing_is_pinned)'
SUITE=
ONLY=
# The ring in which this guest runs (tests/matrix): the gate runs only core tests.
RING=${RING:-all}
CORE=
# SEED is the seed of all random tests. Soaks take SOAK times as long as they are declared.
SEED=${SEED:-1} SOAK=${SOAK:-1}
WORK=/tmp/test
# A byte a result: each suite is a subshell.
RESULTS=/tmp/results

# shellcheck source=helpers/excerpt.sh
. helpers/excerpt.sh
# A program takes 15 ms to start under emulation, and each test needs these (package bash-builtins).
for builtin in fdflags mkdir rm sleep; do
	enable -f "/usr/lib/bash/$builtin" "$builtin" || exit
done
# check_kernel_log reads new messages from here, and does not wait for more.
exec {KMSG}</dev/kmsg
fdflags -s +nonblock "$KMSG"

# wanted NAME - is it of this ring, and does --only leave it in? One that is named runs in each ring.
wanted() {
	if [[ -n $ONLY ]]; then
		[[ $ONLY == "$1" ]]
	else
		[[ $RING != gate || -n $CORE ]]
	fi
}

# core t|skip NAME ... - one of the gate's: it shows that a capability works, its main refusal, or a fault of it.
core() {
	local CORE=1
	"$@"
}

# newest t|skip NAME ... - runs in the gate on the newest kernel alone, because the result does not depend on the kernel.
newest() {
	local CORE=
	! can thorough || CORE=1
	"$@"
}

# result LINE
result() {
	printf '%s\n' "$1"
	printf . >>"$RESULTS"
}

# plan - at the end: how many results there were.
plan() {
	local results
	results=$(cat "$RESULTS" 2>/dev/null)
	printf '1..%d\n' "${#results}"
}

# t NAME FUNCTION [ARG...]
t() {
	local name=$1 log=/tmp/test.log status
	shift
	wanted "$name" || return 0
	printf '# run %s/%s\n' "$SUITE" "$name"
	read_kernel_log
	rm -rf "$WORK"
	mkdir -p "$WORK"
	# Not in a condition: that would switch off set -e inside of the test.
	run_limited "$log" "$@"
	status=$?
	check_kernel_log >>"$log" || status=1
	case $status in
	0) result "ok - $SUITE: $name" ;;
	77) result "ok - $SUITE: $name # SKIP $(tail -n 1 "$log")" ;;
	*) report_failure "$name" "$status" "$log" ;;
	esac
}

# tests_of PROGRAM - their names; without any, one that the program does not know, so that a test fails.
tests_of() {
	local names
	names=$("$1" --list) || names=
	printf '%s\n' "${names:-no-list}"
}

# skip NAME REASON - for what this machine cannot do.
skip() {
	wanted "$1" || return 0
	result "ok - $SUITE: $1 # SKIP $2"
}

# give_up_as_skip REASON - inside of a test.
give_up_as_skip() {
	echo "$*"
	exit 77
}

# run_limited LOG FUNCTION [ARG...] - 124 when the time is up.
run_limited() {
	local log=$1 pid watchdog status=0
	shift
	set -m
	(
		set -euo pipefail
		unset -f command_not_found_handle # run.sh
		trap clean_up EXIT
		refresh_env
		"$@"
	) >"$log" 2>&1 </dev/null &
	pid=$!
	(
		sleep "$TEST_SECONDS"
		kill -KILL -- "-$pid"
	) >/dev/null 2>&1 &
	watchdog=$!
	set +m
	wait "$pid" 2>/dev/null || status=$?
	if ! kill -KILL -- "-$watchdog" 2>/dev/null; then
		status=124
		echo "stopped after $TEST_SECONDS s" >>"$log"
	fi
	wait "$watchdog" 2>/dev/null
	kill -KILL -- "-$pid" 2>/dev/null
	return "$status"
}

report_failure() {
	local name=$1 status=$2 log=$3
	result "not ok - $SUITE: $name"
	printf '#   exit status %s; its last output:\n' "$status"
	last_of 25 <"$log" | cut -c1-400 | sed 's/^/#   | /'
	! grep -qE "$NOT_OF_SPEED" "$log" || printf '#   not of speed\n'
	printf '#   last kernel messages:\n'
	dmesg | tail -n 12 | cut -c1-240 | sed 's/^/#   | /'
}

# read_kernel_log - sets NEWS to the messages since the last read, in the form of /dev/kmsg. It reads twice, because a read ends early
# if the kernel has overwritten messages that were not read yet.
read_kernel_log() {
	local -a rest
	mapfile -u "$KMSG" NEWS
	mapfile -u "$KMSG" rest
	NEWS+=("${rest[@]}")
}

# new_in_kernel_log - a suite that makes allocations fail has its own (failnth.sh).
new_in_kernel_log() {
	printf '%s' "${NEWS[@]}"
}

check_kernel_log() {
	local log bad
	read_kernel_log
	[[ ${NEWS[*]} =~ $TROUBLE ]] || return 0
	log=$(new_in_kernel_log | known-reports) || { echo "the kernel's log cannot be read"; return 1; }
	bad=$(grep -E "$TROUBLE" <<<"$log") || return 0
	bad=$(grep -m 5 -vE "$NO_TROUBLE" <<<"$bad")
	[[ -z $bad ]] || { printf 'the kernel complained:\n%s\n' "$bad"; return 1; }
}

# Cleaning up is a test's own: it adds commands with at_end, which run last in, first out.
AT_END=()
CLEANING_UP=

at_end() {
	AT_END+=("$*")
}

# give_to_group REGION... - as udev's rule does, which the guest has not: a region that was added anew belongs to root alone.
give_to_group() {
	local region
	for region; do
		chgrp p2pmem "/dev/$region" "/sys/class/p2pmem/$region"/{holders,unrouted}
		chmod g+r "/sys/class/p2pmem/$region"/{holders,unrouted}
	done
}

# spoil WHAT... - of a command of at_end, which sees what only the end shows: the test has failed.
spoil() {
	say_failed "$@"
	status=1
}

clean_up() {
	local status=$? command
	set +e
	CLEANING_UP=yes
	while ((${#AT_END[@]} > 0)); do
		command=${AT_END[-1]}
		unset 'AT_END[-1]'
		eval "$command"
	done
	exit "$status"
}

# end_test - has failed. An assertion in a command of at_end does not keep those that are left from running.
end_test() {
	[[ -z $CLEANING_UP ]] || {
		false
		clean_up
	}
	exit 1
}

# Drives change their numbers when they are unplugged or bound again.
stale_env() {
	touch /run/lab-env-stale
	refresh_env
}

refresh_env() {
	[[ -e /run/lab-env-stale ]] || return 0
	# shellcheck source=/dev/null
	. <(labctl env)
}

# bdf_of ID - of a drive as it is now: nothing while it is unplugged.
bdf_of() {
	case $1 in
	alpha) echo "$LAB_ALPHA_BDF" ;;
	beta) echo "$LAB_BETA_BDF" ;;
	esac
}

# --- assertions: each says what was expected and what was seen, and ends the test ---

fail() {
	say_failed "$@"
	end_test
}

# wrong WHAT... - like fail, of what no slow host can cause: bytes that are not those expected, or a count of them.
wrong() {
	printf 'WRONG: %s\n' "$*"
	printf 'at: %s\n' "$(caller_chain)"
	end_test
}

say_failed() {
	printf 'FAILED: %s\n' "$*"
	printf 'at: %s\n' "$(caller_chain)"
}

caller_chain() {
	local i
	for ((i = 1; i < ${#FUNCNAME[@]}; i++)); do
		[[ ${FUNCNAME[i]} != run_limited ]] || break
		printf '%s:%s ' "${FUNCNAME[i]}" "${BASH_LINENO[i - 1]}"
	done
}

# equal WHAT EXPECTED SEEN
equal() {
	[[ $2 == "$3" ]] || fail "$1: expected '$2', seen '$3'"
}

# exactly WHAT EXPECTED SEEN - equal, of a count that is the same on each host.
exactly() {
	[[ $2 == "$3" ]] || wrong "$1: expected '$2', seen '$3'"
}

# equal_none WHAT COMMAND... - it succeeds, and says nothing.
equal_none() {
	local what=$1 seen
	shift
	seen=$("$@") || fail "$what: status $? of '$*', which said: $seen"
	equal "$what" '' "$seen"
}

# matches WHAT REGEX SEEN
matches() {
	[[ $3 =~ $2 ]] || fail "$1: expected something like '$2', seen '$3'"
}

# same_bytes WHAT FILE FILE BYTES [SKIP-IN-FIRST [SKIP-IN-SECOND]]
same_bytes() {
	cmp -n "$4" -i "${5:-0}:${6:-0}" "$2" "$3" || wrong "$1: $2 and $3 differ"
}

# exits STATUS REGEX COMMAND... - its output, both streams, must match.
exits() {
	local status=0 want=$1 regex=$2 seen
	shift 2
	seen=$("$@" 2>&1) || status=$?
	equal "exit status of '$*' (it said: $seen)" "$want" "$status"
	matches "output of '$*'" "$regex" "$seen"
}

# within SECONDS COMMAND... - polls until it succeeds, as long as that on an idle host. While the host stands still the clock
# goes on and the polls do not: so many as an idle host makes have their time, up to a limit.
within() {
	local from=$SECONDS limit=$((PATIENCE * $1)) polls=$((10 * $1))
	shift
	until "$@"; do
		((SECONDS - from < limit || (--polls > 0 && SECONDS - from < 4 * limit))) || fail "in time: $*"
		sleep 0.1
	done
}

# limited COMMAND... - runs a program that answers at once or never. If it hangs, it is ended with status 124, and so is what it runs
# in the other guest. It stays in the process group of its test, and does not outlive that.
limited() {
	timeout --foreground -k 5 "$HANG_SECONDS" "$@"
}

# ended PID - has the process gone, except perhaps for its status?
ended() {
	local stat
	{ read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 0
	[[ ${stat##*) } == Z* ]]
}

as() {
	local user=$1
	shift
	setpriv --reuid "$user" --regid "$user" --init-groups -- "$@"
}

# --- bounds on counts that the host disturbs now and then ---

readonly BEYOND=75

# beyond WHAT... - like fail, for a count that exceeds its bound, which the host may have caused.
beyond() {
	say_failed "$@"
	exit "$BEYOND"
}

# in_two_samples FUNCTION [ARG...] - fails if a bound is exceeded in two samples: if chance exceeds it in one sample with probability p,
# it does in both with p squared. Any other failure in the first sample counts.
in_two_samples() {
	local status=0
	# Not in a condition: that would switch off set -e inside of the function.
	(
		AT_END=()
		trap clean_up EXIT
		"$@"
	) &
	wait "$!" || status=$?
	case $status in
	0) ;;
	"$BEYOND") echo "once more"; "$@" ;;
	*) exit "$status" ;;
	esac
}

# --- regions ---

attr() {
	local value
	value=$(<"/sys/class/p2pmem/$1/$2") && printf '%s\n' "$value"
}

# A region that is gone is not free.
region_is_free() {
	local size
	size=$(attr "$1" size 2>/dev/null) && [[ $(attr "$1" available 2>/dev/null) == "$size" ]]
}

# region_is_held REGION - does the region exist, and have a holder?
region_is_held() {
	region_exists "$1" && ! region_is_free "$1"
}

region_exists() {
	[[ -e /sys/class/p2pmem/$1 ]]
}

region_gone() {
	[[ ! -e /sys/class/p2pmem/$1 ]]
}

# can CAPABILITY - does this kernel have it? tests/matrix explains each.
can() {
	[[ " $LAB_CAN " == *" $1 "* ]]
}

# with_page_type REGION TYPE - until the end of the test.
with_page_type() {
	local region=$1 type=$2 before
	before=$(attr "$region" page_type)
	[[ $before != "$type" ]] || return 0
	within 5 region_is_free "$region"
	echo "$type" >"/sys/class/p2pmem/$region/page_type"
	equal "page type of $region" "$type" "$(attr "$region" page_type)"
	# Not where a test that failed has left none: to wait for it would end the cleaning up.
	at_end "! region_exists $region || { within 5 region_is_free $region; echo $before >/sys/class/p2pmem/$region/page_type; }"
}

# typed TYPE FUNCTION... - with that page type of p2pmem0.
typed() {
	with_page_type p2pmem0 "$1"
	shift
	"$@"
}

# --- data ---

readonly MIB=$((1 << 20))

# backing ID - the host's file behind gpu, alpha or beta.
backing() {
	printf '/mnt/lab/%s\n' "$(<"/mnt/lab/backing/$1")"
}

# random_file FILE BYTES - never what lay at a destination before.
random_file() {
	head -c "$2" /dev/urandom >"$1"
}

# put_on_drive FILE DRIVE OFFSET-MIB - padded to whole MiB by dd.
put_on_drive() {
	dd if="$1" of="$2" bs=1M seek="$3" oflag=direct conv=sync,notrunc status=none
}

# data_on_alpha BYTES - random ones in $WORK/data, and on that drive from its start.
data_on_alpha() {
	random_file "$WORK/data" "$1"
	put_on_drive "$WORK/data" "$LAB_ALPHA" 0
}

# take_from_drive DRIVE OFFSET-MIB BYTES FILE
take_from_drive() {
	dd if="$1" bs=1M skip="$2" count="$((($3 + MIB - 1) / MIB))" iflag=direct status=none >"$4"
	truncate -s "$3" "$4"
}

# partition_table DRIVE START LENGTH - of one partition, in sectors; the kernel reads it.
partition_table() {
	python3 - "$@" >"$WORK/table" <<-'END'
		import struct, sys
		start, length = map(int, sys.argv[2:4])
		entry = struct.pack("<B3sB3sII", 0, bytes(3), 0x83, bytes(3), start, length)
		sys.stdout.buffer.write(bytes(446) + entry + bytes(48) + b"\x55\xaa")
	END
	dd if="$WORK/table" of="$1" bs=512 oflag=direct conv=notrunc status=none
	blockdev --rereadpt "$1"
}

# drive_of alpha|beta
drive_of() {
	case $1 in
	alpha) echo "$LAB_ALPHA" ;;
	beta) echo "$LAB_BETA" ;;
	esac
}

unbind_nvme() {
	echo "$1" >/sys/bus/pci/drivers/nvme/unbind
}

bind_nvme() {
	echo "$1" >/sys/bus/pci/drivers/nvme/bind
	labctl wait-drives
	stale_env
}

# with_file_system TYPE [DRIVE [OPTIONS]] - made anew at /mnt/fs, until the end of the test.
with_file_system() {
	local type=$1 drive=${2:-$LAB_BETA}
	mkdir -p /mnt/fs
	case $type in
	ext4) mkfs.ext4 -q -F "$drive" ;;
	xfs) mkfs.xfs -q -f "$drive" ;;
	esac
	modprobe -q "$type" || true
	grep -qw "$type" /proc/filesystems || give_up_as_skip "kernel $LAB_KERNEL has no $type"
	mount -t "$type" -o "${3:-rw}" "$drive" /mnt/fs
	at_end "umount /mnt/fs"
}

# The command that runs donard-cli, perhaps with fewer rights than usual.
CLI=(donard-cli)

# copy ARGUMENT... - the JSON of a copy that must succeed, in $RESULT.
copy() {
	local status=0
	RESULT=$("${CLI[@]}" copy --json "$@" 2>"$WORK/copy.err") || status=$?
	((status == 0)) || fail "donard-cli copy $*: status $status, $(cat "$WORK/copy.err") $RESULT"
}

field() {
	jq -r ".$1" <<<"$RESULT"
}

# result_is BYTES ROUTE-REGEX BOUNCED
result_is() {
	local bytes route bounced
	read -r bytes route bounced < <(jq -r '"\(.bytes) \(.route) \(.bounced_bytes)"' <<<"$RESULT")
	exactly "bytes of $RESULT" "$1" "$bytes"
	matches "route of $RESULT" "^($2)$" "$route"
	exactly "bounced_bytes of $RESULT" "$3" "$bounced"
}

# --- the emulator's witness ---

# watch_dma - from now on, until seen_dma.
watch_dma() {
	DMA_FROM=$(stat -c %s /mnt/lab/trace.log)
	WATCHING=1
	labctl trace on
	at_end stop_watching
}

stop_watching() {
	[[ -z $WATCHING ]] || labctl trace off
	WATCHING=
}

# seen_dma - writes to $WORK/witness, as JSON, what drives have read and written since watch_dma, for each area.
# dma and dram print counts from it.
seen_dma() {
	stop_watching
	tail -c "+$((DMA_FROM + 1))" /mnt/lab/trace.log >"$WORK/trace"
	labctl map >"$WORK/map"
	witness --json --map "$WORK/map" --trace "$WORK/trace" >"$WORK/witness" ||
		fail "witness: status $?"
}

# last_seen REGEX - of what drives did between watch_dma and seen_dma, the last line that is like this.
last_seen() {
	grep -E "$1" "$WORK/trace" | tail -n 1
}

# dma read|write AREA - bytes of NVMe reads that went there, or of writes that came from there.
dma() {
	jq ".bytes.$1.$2" "$WORK/witness"
}

# dram read|write - the same for DRAM: areas that the map calls so, and those without a name.
dram() {
	jq ".bytes.$1 | .ram + .elsewhere" "$WORK/witness"
}
