# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tells an emulator that let its guest down from a guest that hangs: neither ends before its time limit, but only the
# second is the guest's doing. Sourced, never run.

# The guest sends a heartbeat every few seconds (guest/init); a metered guest does not, since that would be counted. Within
# this time without one, the kernel's own detectors would have reported a hang: of tasks within 240 s, loops within 60 s.
readonly SILENT_SECONDS=${DONARD_SILENT_SECONDS:-300} WATCH_SECONDS=5
# Five beats: for a guest that another one gave up waiting for.
readonly MISSED_SECONDS=25

# heartbeat - its channel, and a console of the emulator for the host: two FIFOs, so that it takes no other program.
heartbeat() {
	channel heartbeat
	mkfifo "$RUN_DIR/host.in" "$RUN_DIR/host.out"
	qemu_arg -chardev "pipe,id=host,path=$RUN_DIR/host" -mon chardev=host,mode=readline
}

# ask_emulator DIR COMMAND - prints what the emulator answers within a second.
ask_emulator() {
	local line in out
	exec {in}<>"$1/host.in" {out}<>"$1/host.out"
	printf '%s\n' "$2" >&"$in"
	while IFS= read -r -t 1 -u "$out" line; do
		printf '%s\n' "${line%$'\r'}"
	done
	exec {in}>&- {out}>&-
}

# silence FILE - for how many seconds nobody has written to it.
silence() {
	echo $(($(date +%s) - $(stat -c %Y "$1")))
}

# is_silent DIR SECONDS
is_silent() {
	[[ -s $1/heartbeat ]] && (($(silence "$1/heartbeat") > $2))
}

# all_idle - processors whose registers stdin shows: halted, and open to interrupts (bit 9 of EFLAGS).
all_idle() {
	awk '{ for (i = 1; i <= NF; i++) {
			if ($i ~ /^(EFL|RFL)=/) { seen++; open += substr($i, length($i) - 2, 1) ~ /[2367abefABEF]/ }
			if ($i == "HLT=1") halted++ } }
		END { exit !(seen && open == seen && halted == seen) }'
}

# lost_interrupt DIR SECONDS - has the guest been silent for so long while its processors only waited? A kernel that idles
# has armed a timer for the tasks that sleep, so the emulator lost the timer, or its interrupt.
lost_interrupt() {
	is_silent "$1" "$2" || return
	ask_emulator "$1" 'info registers -a' >"$1/registers"
	all_idle <"$1/registers"
}

# blame_other - where a guest gave up: the one that still runs may have kept it waiting.
blame_other() {
	local dir
	for dir in "${!PID_OF[@]}"; do
		! lost_interrupt "$dir" "$MISSED_SECONDS" ||
			unsound "$dir" "the emulator lost an interrupt, and the other guest waited in vain"
	done
}

# watch_guest DIR - ends a guest that the emulator let down.
watch_guest() {
	local pid=${PID_OF[$1]} look_at=$SECONDS
	while kill -0 "$pid" 2>/dev/null; do
		pause 0.5
		((SECONDS >= look_at)) || continue
		look_at=$((SECONDS + WATCH_SECONDS))
		if grep -qsa "$LOST_TIMER" "$1/console.log"; then
			kill "$pid"
		elif lost_interrupt "$1" "$SILENT_SECONDS"; then
			touch "$1/lost-interrupt"
			kill "$pid"
		fi
	done
}
