# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# One run: its directory, the emulators, their end. Sourced, never run.

# The emulator's command, the words before it, and the running emulators by the directory of their guest.
EMULATOR=(qemu-system-x86_64)
FLUSHES=()
declare -A PID_OF=()
# The device that both guests share, if there is one (ntb.sh).
DEVICE_PID=
# The process that cuts the second guest's power when told to, and what it uses.
POWER_SWITCH=
POWER_TOOLS=
CUTS=0

make_run_dir() {
	POWER_TOOLS=$(power_tools)
	FLUSHES=(env "LD_PRELOAD=$POWER_TOOLS/flush.so")
	LAB_DIR=$(mktemp -d "${TMPDIR:-/tmp}/donard-lab.XXXXXX")
	RUN_DIR=$LAB_DIR
	make_guest_dir
	trap end_run EXIT
	trap 'end_by_signal 130' INT
	trap 'end_by_signal 143' TERM HUP
}

stop_guests() {
	((${#PID_OF[@]} == 0)) || kill "${PID_OF[@]}" 2>/dev/null || true
	[[ -z $POWER_SWITCH ]] || kill "$POWER_SWITCH" 2>/dev/null || true
	[[ -z $DEVICE_PID ]] || kill "$DEVICE_PID" 2>/dev/null || true
	DEVICE_PID=
	# Waits for the processes that stream the guest's output as well.
	wait
	PID_OF=()
}

# save_logs - of both guests, without the trace, which may be large.
save_logs() {
	[[ -n $OPT_LOGS ]] || return 0
	mkdir -p "$OPT_LOGS" &&
		(cd "$LAB_DIR" && find . \( -name 'console.log*' -o -name qemu.log -o -name verdict -o -name registers -o -name ntbd.log \) \
			-exec cp --parents -t "$OPT_LOGS" {} +)
}

# log_place DIR - where the logs of a guest lie when the run has ended.
log_place() {
	if [[ -n $OPT_LOGS ]]; then
		printf '%s\n' "$OPT_LOGS${1#"$LAB_DIR"}"
	else
		printf '%s\n' "$1"
	fi
}

end_run() {
	local status=$?
	trap - EXIT
	trap '' INT TERM HUP
	stop_guests
	save_logs || say "the logs could not be left in $OPT_LOGS"
	if [[ -n $OPT_KEEP ]]; then
		say "kept $LAB_DIR"
	elif ((status == EX_LAB)) && [[ -z $OPT_LOGS ]]; then
		find "$LAB_DIR" \( -name '*.img' -o -name '*.bar' -o -name '*.pmr' -o -name '*.durable' -o -name initrd -o -name '*.sock' \) -delete
	else
		remove_tree "$LAB_DIR"
	fi
	exit "$status"
}

# Kernels that calibrate their timers side by side starve each other where processors are few: runs of the lab boot one
# after another. The turn is a lock that descriptor 8 of this shell alone has.
take_turn() {
	exec 8>"$CACHE_DIR/.lock-boot"
	wait_for_lock 8 "another run boots a guest"
}

end_turn() {
	exec 8>&-
}

# start_guest DIR QEMU-ARG...
start_guest() {
	local dir=$1
	shift
	# The emulator empties the log as well, but later than the first look at it: what an earlier boot said is not this one's.
	: >"$dir/console.log"
	touch "$dir/started"
	as_job timeout -k 5 "$OPT_TIMEOUT" "${FLUSHES[@]}" "${EMULATOR[@]}" "$@" </dev/null >"$dir/qemu.log" 2>&1 8>&- &
	PID_OF[$dir]=$!
}

# Limits of a boot until the first program of the project runs. On a busy host the emulator loses a timer of a processor in
# one boot of some dozens, and the kernel waits for it forever, or panics. A kernel that boots prints something all the
# time. It also complains of the lost timer.
readonly BOOT_TRIES=3 BOOT_SECONDS=120 DEBUG_BOOT_SECONDS=600 BOOT_SILENCES=10 STALL_SECONDS=2

# boot_seconds DIR - how long its kernel may say nothing until init runs.
boot_seconds() {
	if [[ -e $1/slow ]]; then
		echo "$DEBUG_BOOT_SECONDS"
	else
		echo "$BOOT_SECONDS"
	fi
}

# stalled_boot DIR CHILD - why the kernel is to be booted again; fails while it may still come up, and if it
# ended for another reason.
stalled_boot() {
	local early
	if [[ -n $2 ]]; then
		early=$(early_panic "$1") && echo "the kernel died before its first program ($early)"
	elif grep -qsa "$LOST_TIMER" "$1/console.log"; then
		echo "the kernel does not come up: it waits for a timer that the emulator has lost"
	elif (($(silence "$1/console.log") >= $(boot_seconds "$1"))); then
		echo "the kernel does not come up: silent for $(boot_seconds "$1") s"
	else
		(($(silence "$1/started") >= BOOT_SILENCES * $(boot_seconds "$1"))) &&
			echo "the kernel does not come up in $((BOOT_SILENCES * $(boot_seconds "$1"))) s"
	fi
}

# give_up_boot DIR WHY CHILD - fails if it ended: then the verdict says why.
give_up_boot() {
	[[ -z $3 ]] && unsound "$1" "$2, $BOOT_TRIES times"
}

# has_booted DIR
has_booted() {
	local first=
	read -r first 2>/dev/null <"$1/verdict" || true
	[[ $first == booted ]]
}

# await_boot DIR QEMU-ARG... - until the guest's init runs; a kernel that does not get there is booted again.
await_boot() {
	local dir=$1 tries=1 look_at=$SECONDS ended why
	shift
	until has_booted "$dir"; do
		# Asked once: it may end at any moment.
		ended=
		kill -0 "${PID_OF[$dir]}" 2>/dev/null || ended=1
		if [[ -z $ended ]] && ((SECONDS < look_at)); then
			pause 0.2
			continue
		fi
		look_at=$((SECONDS + STALL_SECONDS))
		if why=$(stalled_boot "$dir" "$ended"); then
			((tries++ < BOOT_TRIES)) || give_up_boot "$dir" "$why" "$ended" || return 0
			say "$why; booting again"
			kill "${PID_OF[$dir]}" 2>/dev/null || true
			wait "${PID_OF[$dir]}" || true
			start_guest "$dir" "$@"
			look_at=$SECONDS
		elif [[ -n $ended ]]; then
			# The verdict says why.
			return 0
		fi
	done
}

# follow FILE - streams it until the emulator is gone.
follow() {
	tail -q -s 0.1 -n +1 -f --pid="${PID_OF[$RUN_DIR]}" "$RUN_DIR/$1"
}

start_peer() {
	[[ -n $OPT_PEER ]] || return 0
	start_guest "$LAB_DIR/peer" "${PEER_ARGS[@]}"
	power_switch 8>&- &
	POWER_SWITCH=$!
}

# The second guest's devices that keep bytes without power, with the pieces in bytes that a cut leaves whole.
readonly LOSSY_FILES=(beta.pmr:8 alpha.img:512 beta.img:512)

# power_switch - obeys what either guest writes to the port "power". "cut" ends the emulator of the second guest, whatever it
# is doing. After "lossy SEED NAME", cuts lose what was not made durable; NAME is the answer.
power_switch() {
	local out word seed name
	exec {out}<>"$LAB_DIR/power.out"
	while read -r word seed name <&"$out"; do
		if [[ $word == lossy ]]; then
			begin_to_lose "$seed"
			echo "$name" >"$LAB_DIR/peer/lossy.name"
		else
			touch "$LAB_DIR/peer/cut"
			kill -KILL "$(<"$LAB_DIR/peer/pid")" || true
			drop_unsent
		fi
	done
}

# drop_unsent - has the first guest's emulator drop the packet that it was sending to the one that was killed. Otherwise it keeps
# that packet for ever (QEMU 10.0, net/stream_data.c: nothing flushes the queue of a netdev that connects again), and sends no other one.
# A queue pair of rxe waits for its packets when it is destroyed, and rxe warns after 50 s. A pause of the guest drops them.
drop_unsent() {
	ask_emulator "$LAB_DIR" stop >/dev/null
	ask_emulator "$LAB_DIR" cont >/dev/null
}

# begin_to_lose SEED - all that the devices have is durable now.
begin_to_lose() {
	local file
	for file in "${LOSSY_FILES[@]%:*}"; do
		[[ ! -e $LAB_DIR/peer/$file ]] || cp --sparse=always "$LAB_DIR/peer/$file" "$LAB_DIR/peer/$file.durable"
	done
	echo "$1" >"$LAB_DIR/peer/lossy"
}

# lose_bytes - of the Nth cut.
lose_bytes() {
	local dir=$LAB_DIR/peer file unit
	[[ -e $dir/lossy ]] || return 0
	for file in "${LOSSY_FILES[@]}"; do
		unit=${file#*:} file=${file%:*}
		[[ ! -e $dir/$file.durable ]] ||
			"$POWER_TOOLS/lose" "$dir/$file" "$unit" "$(($(<"$dir/lossy") + CUTS))" | sed "s/^/$file: /"
	done >"$dir/lost.$CUTS"
}

# power_on DIR QEMU-ARG... - starts the same machine after a cut, with the same disks and BARs. The kernel's log and the
# emulator's trace from before the Nth cut are kept in console.log.N and trace.log.N.
power_on() {
	local dir=$1 trouble file
	shift
	trouble=$(trouble_in "$dir/console.log")
	[[ -z $trouble ]] || unsound "$dir" "the kernel complained before its power was cut: $trouble"
	CUTS=$((CUTS + 1))
	for file in console.log trace.log; do
		mv "$dir/$file" "$dir/$file.$CUTS"
		touch "$dir/$file"
	done
	: >"$dir/verdict"
	lose_bytes
	rm "$dir/cut"
	start_guest "$dir" "$@"
	await_boot "$dir" "$@"
	watch_guest "$dir" &
}

# run_guest COMMAND...
run_guest() {
	printf '%s\0' "$@" >"$RUN_DIR/command"
	channel stdout
	channel stderr
	take_turn
	start_bridge 8>&-
	start_peer
	start_guest "$RUN_DIR" "${QEMU_ARGS[@]}"
	[[ -z $OPT_PEER ]] || await_boot "$LAB_DIR/peer" "${PEER_ARGS[@]}"
	await_boot "$RUN_DIR" "${QEMU_ARGS[@]}"
	end_turn
	watch_guest "$RUN_DIR" &
	[[ -z $OPT_PEER ]] || watch_guest "$LAB_DIR/peer" &
	follow stdout &
	follow stderr >&2 &
	judge_guests
	[[ -z $POWER_SWITCH ]] || kill "$POWER_SWITCH" || true
	wait
	exit "$(status_of "$RUN_DIR")"
}

run_terminal() {
	local status=0
	qemu_arg -chardev stdio,id=terminal,signal=off -device virtconsole,chardev=terminal
	say "exit ends the guest"
	start_bridge
	OPT_TIMEOUT=0 start_peer
	"${FLUSHES[@]}" "${EMULATOR[@]}" "${QEMU_ARGS[@]}" 2>"$RUN_DIR/qemu.log" || status=$?
	judge "$RUN_DIR" "$status"
	judge_guests
	exit "$(status_of "$RUN_DIR")"
}

# judge_guests - each as it ends. If one ends badly, nobody waits for the other.
judge_guests() {
	local dir
	while ((${#PID_OF[@]})); do
		# shellcheck disable=SC2086  # there may be no bridge
		await_any $DEVICE_PID "${PID_OF[@]}"
		[[ $CHILD != "$DEVICE_PID" ]] ||
			unsound "$LAB_DIR" "the bridge ended before the guests, with status $CHILD_STATUS: $(tail -n 3 "$LAB_DIR/ntbd.log")"
		for dir in "${!PID_OF[@]}"; do
			[[ ${PID_OF[$dir]} == "$CHILD" ]] || continue
			unset "PID_OF[$dir]"
			if [[ -e $dir/cut ]]; then
				power_on "$dir" "${PEER_ARGS[@]}"
			else
				judge "$dir" "$CHILD_STATUS"
			fi
		done
	done
	stop_bridge
}
