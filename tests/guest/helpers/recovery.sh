# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Resets of p2pmem0's function, and recoveries of it from an error with each outcome (modules/recovery): which calls the kernel
# makes then, what becomes of the region, and of whoever touches it meanwhile. Sourced by lifetime.sh, never run.

# enum pci_ers_result, of all functions below the port together
readonly VOTE_RESET=3 VOTE_NO_HANDLERS=6
# The range that is touched, each page for the first time.
readonly TOUCHED_BYTES=$((2 * MIB)) TOUCHED_FROM=$((16 * MIB))
# Before 6.18 the kernel does not report the end of a failed recovery, and the module waits 90 s (kernel/resets.c).
readonly SILENCE_SECONDS=100

# start_recovery [PARAMETER=VALUE...] - of modules/recovery.
start_recovery() {
	RESETS=$(attr p2pmem0 resets)
	insmod /opt/donard/modules/recovery.ko bdf="$LAB_GPU_BDF" "$@"
	at_end "rmmod recovery"
}

recovery_is() {
	[[ $(cat "/sys/module/recovery/parameters/$1") == Y ]]
}

# recovery_ends CALLS - the recovery makes these calls. If the last is "failed", it comes only since 6.18.
recovery_ends() {
	local calls=$1
	can failed-recovery || calls=${calls% failed}
	within 20 recovery_is over
	equal "the kernel's calls" "$calls" "$(cat /sys/module/recovery/parameters/calls)"
}

# leave_bytes - of root's; who is given the memory must not see them.
leave_bytes() {
	random_file "$WORK/before" "$TOUCHED_BYTES"
	regio write p2pmem0 "$TOUCHED_FROM" "$TOUCHED_BYTES" "$WORK/before"
	head -c "$TOUCHED_BYTES" /dev/zero >"$WORK/zeros"
	touch "$WORK/seen"
	chown user "$WORK" "$WORK/seen"
}

look() {
	as user regio read p2pmem0 "$TOUCHED_FROM" "$TOUCHED_BYTES" "$1"
}

# start_touch - another process touches these pages; TOUCH is its pid.
start_touch() {
	look "$WORK/seen" >"$WORK/touch" 2>&1 &
	TOUCH=$!
	at_end "kill -KILL $TOUCH 2>/dev/null"
}

# On a slow machine the touch may not have reached its fault yet.
touch_faults() {
	grep -qE 'fault.*p2pmem|p2pmem.*fault' "/proc/$(pgrep -x regio)/stack" 2>/dev/null || ended "$TOUCH"
}

touch_waits() {
	within 20 touch_faults
	sleep 1
	! ended "$TOUCH" || fail "the touch did not wait: $(cat "$WORK/touch")"
}

# touch_ends STATUS
touch_ends() {
	local status=0
	within 20 ended "$TOUCH"
	wait "$TOUCH" || status=$?
	equal "status of the touch ($(cat "$WORK/touch"))" "$1" "$status"
}

# shows_nothing - neither the bytes that were seen then nor those that are there now are another user's.
shows_nothing() {
	same_bytes "what was seen meanwhile" "$WORK/zeros" "$WORK/seen" "$TOUCHED_BYTES"
	shows_nothing_afterwards
}

shows_nothing_afterwards() {
	look "$WORK/seen"
	same_bytes "what is seen afterwards" "$WORK/zeros" "$WORK/seen" "$TOUCHED_BYTES"
}

# goes_on - the reset was counted once, and the region works.
goes_on() {
	equal "state" ready "$(attr p2pmem0 state)"
	equal "resets" $((RESETS + 1)) "$(attr p2pmem0 resets)"
	copy_again
}

# Zeros for a page that is touched while the bus is reset would be lost, and the page be taken for a clean one.
touched_in_recovery() {
	local calls=$1
	shift
	leave_bytes
	start_recovery hold=Y "$@"
	within 20 recovery_is held
	start_touch
	touch_waits
	equal "resets while it goes on" "$RESETS" "$(attr p2pmem0 resets)"
	echo N >/sys/module/recovery/parameters/hold
	recovery_ends "$calls"
	touch_ends 0
	shows_nothing
	goes_on
}

# Another function's recovery may wait for a call in which the kernel touches the memory. That call gives up, since the region's own reset
# ends only later.
touched_by_the_kernel() {
	leave_bytes
	start_recovery hold=Y fatal=Y
	within 20 recovery_is held
	exits 1 'Bad address' as user timeout 60 python3 -c "if True:
		import mmap, os
		memory = mmap.mmap(os.open('/dev/p2pmem0', os.O_RDWR), $TOUCHED_BYTES)
		os.preadv(os.open('/dev/zero', os.O_RDONLY), [memory], 0)"
	recovery_is held || fail "the recovery did not wait for the touch"
	echo N >/sys/module/recovery/parameters/hold
	recovery_ends "frozen reset slot_reset resume"
	shows_nothing_afterwards
	goes_on
}

# command_register FROM TO OPTION - two bytes of the function's configuration, in either direction.
command_register() {
	dd if="$1" of="$2" bs=1 "${@:3}" count=2 conv=notrunc status=none
}

# A link that is down takes the stores already before the kernel has heard of an error: no page is taken for a clean one then.
touched_before_anybody_knows() {
	local config=/sys/bus/pci/devices/$LAB_GPU_BDF/config
	leave_bytes
	command_register "$config" "$WORK/command" skip=4
	at_end "command_register $WORK/command $config seek=4"
	command_register /dev/zero "$config" seek=4
	start_touch
	touch_ends 135
	command_register "$WORK/command" "$config" seek=4
	look "$WORK/seen"
	same_bytes "what is seen afterwards" "$WORK/zeros" "$WORK/seen" "$TOUCHED_BYTES"
	copy_again
}

# Nothing is reset where nobody asks for it, nor before 6.18.
recovered_without_reset() {
	local calls=$1
	shift
	start_recovery "$@"
	recovery_ends "$calls"
	goes_on
}

drive_answers() {
	dd if="$LAB_ALPHA" of=/dev/null bs=4096 count=1 iflag=direct status=none 2>/dev/null
}

# p2pmem is not told that a drive's bus is reset, and the drive's vendor ID reads as before.
drive_in_recovery() {
	at_end "within 20 drive_answers"
	at_end "rmmod recovery"
	inrecovery.py p2pmem1 "$LAB_ALPHA_BDF"
	within 20 recovery_is over
	within 20 drive_answers
}

# --- the recovery fails ---

# bring_back - brings the function back, as an administrator does. The region has released the BAR by then, or it would get no address.
bring_back() {
	within 20 removal_is_logged
	exits 1 "remove the function and rescan its bus" \
		donard-cli region add --kind pci-bar --device "$LAB_GPU_BDF" --bar 2
	rescan_gpu
	copy_again
}

rescan_gpu() {
	echo 1 >"/sys/bus/pci/devices/$LAB_GPU_BDF/remove"
	echo 1 >/sys/bus/pci/rescan
	within 20 gpu_is_back
}

# lose_function CALLS PARAMETER=VALUE... - the function stops working: waiting callers get an error, and a pin keeps the memory.
lose_function() {
	local calls=$1
	shift
	at_end "gpu_is_back && region_exists p2pmem0 || rescan_gpu"
	dmesg -C
	hold vmsplice
	start_recovery hold=Y fail=Y "$@"
	within 20 recovery_is held
	look /dev/null >"$WORK/touch" 2>&1 &
	TOUCH=$!
	touch_waits
	echo N >/sys/module/recovery/parameters/hold
	recovery_ends "$calls"
	within "$SILENCE_SECONDS" ended "$TOUCH"
	touch_ends 135
	within 20 is_quarantined
	matches holders "$HOLDER holder" "$(attr p2pmem0 holders)"
}

function_is_lost() {
	lose_function "$@"
	let_go
	bring_back
}

bind_gpu() {
	echo p2pmem >"/sys/bus/pci/devices/$LAB_GPU_BDF/driver_override"
	echo "$LAB_GPU_BDF" >/sys/bus/pci/drivers/p2pmem/bind
}

# A pin keeps the memory out of other hands: the function may work again, and its driver has left.
lost_function_gets_no_driver() {
	lose_function "$@"
	in_background unbind_gpu
	event_succeeds
	echo 1 >"/sys/bus/pci/devices/$LAB_GPU_BDF/enable"
	exits 1 'Invalid argument' bind_gpu
	matches "the log" "$LAB_GPU_BDF: BAR2 lies on memory that p2pmem0 keeps in quarantine" "$(dmesg)"
	is_quarantined || fail "the region has left its quarantine"
	let_go
	within 20 removal_is_logged
	rescan_gpu
	copy_again
}

resets_are() {
	region_gone p2pmem0 || [[ $(attr p2pmem0 resets) == "$1" ]]
}

# The function works again, but another one below the port does not. Before about 6.2 the kernel leaves the first frozen then.
others_fail() {
	at_end "gpu_is_back && region_exists p2pmem0 || rescan_gpu"
	dmesg -C
	start_recovery fatal=Y disagree=Y
	recovery_ends "frozen reset slot_reset failed"
	within "$SILENCE_SECONDS" resets_are $((RESETS + 1))
	if [[ $LAB_KERNEL == 6.1 ]]; then
		bring_back
	else
		goes_on
	fi
}

recovery_tests() {
	core lt "error recovery, fatal" touched_in_recovery "frozen reset slot_reset resume" fatal=Y
	lt "error recovery, touched by the kernel" touched_by_the_kernel
	lt "error recovery, not fatal" recovered_without_reset "normal resume"
	if can failed-recovery; then
		lt "error recovery, not fatal, bus is reset" touched_in_recovery "normal reset slot_reset resume" vote=$VOTE_RESET
		lt "failed recovery, not fatal, bus is reset" function_is_lost "normal reset failed" vote=$VOTE_RESET
		lt "failed recovery, fatal, no handlers" function_is_lost "frozen reset failed" fatal=Y fail=N vote=$VOTE_NO_HANDLERS
	else
		lt "error recovery, not fatal, reset asked for" recovered_without_reset "normal slot_reset resume" vote=$VOTE_RESET
	fi
	lt "failed recovery, not fatal" recovered_without_reset "normal failed" vote=$VOTE_NO_HANDLERS
	lt "failed recovery, fatal" function_is_lost "frozen reset failed" fatal=Y
	lt "failed recovery, no driver while quarantined" lost_function_gets_no_driver "frozen reset failed" fatal=Y
	lt "failed recovery, fatal, of others" others_fail
	lt "touched while nothing answers" touched_before_anybody_knows
	lt "error recovery, fatal, of a drive" drive_in_recovery
	! can suspend || lt "suspended" touched_in_recovery "prepare reset complete" sleep=Y
}
