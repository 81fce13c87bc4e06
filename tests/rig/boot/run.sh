# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# One run: its directory, the emulators, their end. Sourced, never run.

# Emulators that run, by the directory of their guest.
declare -A PID_OF=()

make_run_dir() {
	LAB_DIR=$(mktemp -d "${TMPDIR:-/tmp}/donard-lab.XXXXXX")
	RUN_DIR=$LAB_DIR
	make_guest_dir
	trap end_run EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
}

stop_guests() {
	((${#PID_OF[@]} == 0)) || kill "${PID_OF[@]}" 2>/dev/null || true
	# Also for those that stream the guest's output.
	wait
	PID_OF=()
}

end_run() {
	local status=$?
	trap - EXIT
	stop_guests
	if [[ -n $OPT_KEEP ]]; then
		say "kept $LAB_DIR"
	elif ((status == EX_LAB)); then
		find "$LAB_DIR" \( -name '*.img' -o -name '*.bar' -o -name '*.pmr' -o -name initrd -o -name '*.sock' \) -delete
	else
		remove_tree "$LAB_DIR"
	fi
	exit "$status"
}

# start_guest DIR QEMU-ARG...
start_guest() {
	local dir=$1
	shift
	timeout -k 5 "$OPT_TIMEOUT" qemu-system-x86_64 "$@" </dev/null >"$dir/qemu.log" 2>&1 &
	PID_OF[$dir]=$!
}

# Before anything of ours runs: on a busy host the emulator loses a timer of a processor in one boot of some
# dozens, and the kernel waits for it forever.
readonly BOOT_TRIES=3 BOOT_SECONDS=120 DEBUG_BOOT_SECONDS=600

# boot_seconds DIR - how long its kernel may take until init runs.
boot_seconds() {
	if [[ -e $1/slow ]]; then
		echo "$DEBUG_BOOT_SECONDS"
	else
		echo "$BOOT_SECONDS"
	fi
}

# stalled_boot DIR DEADLINE ENDED - why the kernel is to be booted again; fails while it may still come up, and if it
# ended for another reason.
stalled_boot() {
	if [[ -n $3 ]]; then
		early_panic "$1" && echo "the emulator let the kernel down as it started"
	else
		((SECONDS >= $2)) && echo "the kernel does not come up within $(boot_seconds "$1") s"
	fi
}

# await_boot DIR QEMU-ARG... - until the guest's init runs; a kernel that does not get there is booted again.
await_boot() {
	local dir=$1 tries=1 seconds deadline ended why
	seconds=$(boot_seconds "$dir")
	deadline=$((SECONDS + seconds))
	shift
	until grep -qsx booted "$dir/verdict"; do
		# Asked once: it may end at any moment.
		ended=
		kill -0 "${PID_OF[$dir]}" 2>/dev/null || ended=1
		if why=$(stalled_boot "$dir" "$deadline" "$ended"); then
			((tries++ < BOOT_TRIES)) || return 0
			say "$why; booting again"
			kill "${PID_OF[$dir]}" 2>/dev/null || true
			wait "${PID_OF[$dir]}" || true
			start_guest "$dir" "$@"
			deadline=$((SECONDS + seconds))
		elif [[ -n $ended ]]; then
			# The verdict says why.
			return 0
		fi
		sleep 0.2
	done
}

# follow FILE - streams it until the emulator is gone.
follow() {
	tail -q -s 0.1 -n +1 -f --pid="${PID_OF[$RUN_DIR]}" "$RUN_DIR/$1"
}

start_peer() {
	[[ -z $OPT_PEER ]] || start_guest "$LAB_DIR/peer" "${PEER_ARGS[@]}"
}

# run_guest COMMAND...
run_guest() {
	printf '%s\0' "$@" >"$RUN_DIR/command"
	channel stdout
	channel stderr
	start_peer
	start_guest "$RUN_DIR" "${QEMU_ARGS[@]}"
	[[ -z $OPT_PEER ]] || await_boot "$LAB_DIR/peer" "${PEER_ARGS[@]}"
	await_boot "$RUN_DIR" "${QEMU_ARGS[@]}"
	watch_guest "$RUN_DIR" &
	[[ -z $OPT_PEER ]] || watch_guest "$LAB_DIR/peer" &
	follow stdout &
	follow stderr >&2 &
	judge_guests
	wait
	exit "$(status_of "$RUN_DIR")"
}

run_terminal() {
	local status=0
	qemu_arg -chardev stdio,id=terminal,signal=off -device virtconsole,chardev=terminal
	say "exit ends the guest"
	OPT_TIMEOUT=0 start_peer
	qemu-system-x86_64 "${QEMU_ARGS[@]}" 2>"$RUN_DIR/qemu.log" || status=$?
	judge "$RUN_DIR" "$status"
	judge_guests
	exit "$(status_of "$RUN_DIR")"
}

# judge_guests - each as it ends. If one ends badly, nobody waits for the other.
judge_guests() {
	local dir pid status
	while ((${#PID_OF[@]})); do
		status=0
		wait -n -p pid "${PID_OF[@]}" || status=$?
		for dir in "${!PID_OF[@]}"; do
			[[ ${PID_OF[$dir]} == "$pid" ]] || continue
			unset "PID_OF[$dir]"
			judge "$dir" "$status"
		done
	done
}
