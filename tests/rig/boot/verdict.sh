# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Whether a guest's run was sound. Sourced, never run.

# What a kernel prints when something is wrong although it went on. A protection fault of a user program
# (which the kernel prints, too) has neither comma nor colon.
readonly KERNEL_TROUBLE='WARNING: |BUG: |BUG kmalloc|Oops|general protection fault[,:]|Kernel panic|KASAN|UBSAN|KFENCE|ODEBUG|kmemleak: [1-9]|kmemleak: .*detector disabled|INFO: lockdep is turned off|INFO: (possible|task|rcu|suspicious)|possible recursive locking|suspicious RCU|DMA-API: .*(error|leak|not freed)|refcount_t: |Bad page|bad page|Objects remaining|soft lockup|unregister_netdevice: waiting'

# What a kernel says before any module runs, and only on a busy host: the emulator delivered no timer interrupt while the
# kernel tried one, or so late that a check of its own fails. Nothing of the project can cause either.
readonly EARLY_PANIC="timer doesn't work through Interrupt-remapped IO-APIC|IO-APIC \+ timer doesn't work|KASAN: .* in handle_edge_irq"

# early_panic DIR - did its kernel end so, before the guest's init ran?
early_panic() {
	! grep -qsx booted "$1/verdict" && grep -qsaE "$EARLY_PANIC" "$1/console.log"
}

# A processor idles, and what it waits for was due long ago: no kernel can do that to itself.
readonly LOST_TIMER="kthread timer wakeup didn't happen"

# status_of DIR - what the guest's command ended with; nothing if it did not come to its end.
status_of() {
	! grep -qx end "$1/verdict" || sed -n 's/^status //p' "$1/verdict"
}

# judge DIR QEMU-STATUS - exits with 125 unless the guest went its whole way.
judge() {
	local dir=$1 status trouble
	status=$(status_of "$dir")
	trouble=$(grep -m 5 -aE "$KERNEL_TROUBLE" "$dir/console.log") || true
	if grep -q '^failed ' "$dir/verdict"; then
		blame_other
		unsound "$dir" "the guest gave up: $(sed -n 's/^failed //p' "$dir/verdict")"
	elif early_panic "$dir"; then
		unsound "$dir" "the emulator let the kernel down as it started: $(grep -m 1 -aoE "$EARLY_PANIC" "$dir/console.log")"
	elif grep -qa "$LOST_TIMER" "$dir/console.log"; then
		unsound "$dir" "the emulator lost a timer of a processor"
	elif [[ -e $dir/lost-interrupt ]]; then
		unsound "$dir" "the emulator lost an interrupt: silent for $SILENT_SECONDS s, all processors idle and open to interrupts"
	elif [[ -n $trouble ]]; then
		unsound "$dir" "the kernel complained: $trouble"
	elif (($2 == 124 || $2 == 137)); then
		unsound "$dir" "no end after $OPT_TIMEOUT s (--timeout)"
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
	say "the whole log: $1/console.log"
	die "$EX_LAB" "$who$2"
}
