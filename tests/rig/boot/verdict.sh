# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Whether a guest's run was sound. Sourced, never run.

# Lines that a kernel prints when something is wrong although it goes on. It also prints protection faults of user
# programs, but these lines have neither comma nor colon.
readonly KERNEL_TROUBLE='WARNING: |BUG: |BUG kmalloc|Oops|general protection fault[,:]|Kernel panic|KASAN|UBSAN|KFENCE|ODEBUG|kmemleak: [1-9]|kmemleak: .*detector disabled|INFO: lockdep is turned off|INFO: (possible|task|rcu|suspicious)|possible recursive locking|suspicious RCU|DMA-API: .*(error|leak|not freed)|refcount_t: |Bad page|bad page|Objects remaining|soft lockup|unregister_netdevice: waiting'

# A kernel prints this when it starts its first program. Nothing of the project can run before, since all of it is modules
# and programs.
readonly FIRST_PROGRAM='Run /init as init process'

# early_panic DIR - the first complaint of a kernel that panicked before its first program; fails for any other.
early_panic() {
	! grep -qsaF "$FIRST_PROGRAM" "$1/console.log" && grep -qsa 'Kernel panic - not syncing' "$1/console.log" &&
		grep -m 1 -aoE '(BUG|WARNING|Kernel panic - not syncing): .*' "$1/console.log" | tr -d '\r'
}

# A processor idles although the timer for which it waits was due long ago. No kernel can cause that.
readonly LOST_TIMER="kthread timer wakeup didn't happen"

# trouble_in LOG - prints the complaints of the kernel in LOG, except for those that are known defects of upstream.
trouble_in() {
	local log
	log=$(tr -d '\r\0' <"$1" | "$RIG_DIR/guest/known-reports") || log="WARNING: $1 cannot be read"
	grep -m 5 -aE "$KERNEL_TROUBLE" <<<"$log" || true
}

# races_elsewhere LOG - how many data races its kernel reported that p2pmem has no part in.
races_elsewhere() {
	tr -d '\r\0' <"$1" | "$RIG_DIR/guest/known-reports" | grep -caF "upstream's own: data-race in " || true
}

# tell_races DIR - they fail no run, and are not lost.
tell_races() {
	local races
	races=$(races_elsewhere "$1/console.log")
	((races == 0)) || say "data races that p2pmem has no part in: $races"
}

# status_of DIR - what the guest's command ended with; nothing if it did not come to its end.
status_of() {
	! grep -qx end "$1/verdict" || sed -n 's/^status //p' "$1/verdict"
}

# The advice for a host that may be too small for a guest.
readonly TAKES="a guest takes some 2.5 GB with the files of its devices (which lie where TMPDIR says), a pair 5 GB"

# timed_out DIR QEMU-STATUS - timeout(1) ends with 137 both where its SIGKILL was needed and where the emulator had one of another's.
# A terminal has no limit, and no start.
timed_out() {
	(($2 == 124)) || { (($2 == 137)) && [[ -e $1/started ]] && (($(silence "$1/started") >= OPT_TIMEOUT)); }
}

# judge DIR QEMU-STATUS - exits with 125 unless the guest went its whole way.
judge() {
	local dir=$1 status trouble early
	tell_races "$dir"
	status=$(status_of "$dir")
	trouble=$(trouble_in "$dir/console.log")
	if grep -q '^failed ' "$dir/verdict"; then
		blame_other
		unsound "$dir" "the guest gave up: $(sed -n 's/^failed //p' "$dir/verdict")"
	elif early=$(early_panic "$dir"); then
		unsound "$dir" "the kernel died before its first program: $early"
	elif grep -qa "$LOST_TIMER" "$dir/console.log"; then
		unsound "$dir" "the emulator lost a timer of a processor"
	elif [[ -e $dir/lost-interrupt ]]; then
		unsound "$dir" "the emulator lost an interrupt: silent for $SILENT_SECONDS s, all processors idle and open to interrupts"
	elif [[ -n $trouble ]]; then
		unsound "$dir" "the kernel complained: $trouble"
	elif timed_out "$dir" "$2"; then
		unsound "$dir" "no end after $OPT_TIMEOUT s (--timeout)"
	elif (($2 == 137)); then
		unsound "$dir" "the emulator was killed (SIGKILL): most likely memory ran out, as dmesg says then; $TAKES"
	elif (($2 == 135)); then
		unsound "$dir" "the emulator failed (SIGBUS): most likely the file system of $LAB_DIR is full; $TAKES"
	elif (($2 != 0)); then
		unsound "$dir" "the emulator failed with status $2: $(tail -n 3 "$dir/qemu.log")"
	elif [[ -z $status ]]; then
		unsound "$dir" "the guest went down without a verdict"
	elif [[ $dir != "$LAB_DIR" && $status != 0 ]]; then
		unsound "$dir" "its server of commands ended with status $status"
	fi
}

# unsound DIR REASON
unsound() {
	local who=''
	[[ $1 == "$LAB_DIR" ]] || who='the peer: '
	stop_guests
	say "last lines of the kernel log:"
	tail -n 40 "$1/console.log" >&2
	say "the whole log: $(log_place "$1")/console.log"
	die "$EX_LAB" "$who$2"
}
