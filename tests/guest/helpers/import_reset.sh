# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What an importer of a dma-buf sees of a reset of the exporter's device. Sourced by dmabuf.sh, never run; recovery.sh holds a
# reset up at a chosen moment.

readonly STALL=/sys/module/importer/parameters/stall

# importing MODE REGION BDF STEP... - OWNER exports memory and maps it for that function, and goes on with the steps when it is told to.
importing() {
	local mode=$1 region=$2 bdf=$3
	shift 3
	begin owner open "$region" export 0 "$EXPORT_BYTES" attach "$mode" "$bdf" map both wait "$@" wait
}

# owner_says WAIT ANSWER... - what OWNER said between that wait and the next one; of a mapping only that it was made.
owner_says() {
	local after=$1 said
	shift
	within 15 waits owner $((after + 1))
	said=$(awk -v after="$after" '/^waiting/ { waits++ } waits == after && !/^wait/' "$WORK/owner" | sed 's/^map: ok .*/map: ok/')
	equal "what the importer said" "$(printf '%s\n' "$@")" "$said"
}

mapping_is_gone() {
	[[ $(attr "$1" holders) == *" $EXPORT_BYTES 0 $2"* ]]
}

# reset_is_counted REGION BEFORE
reset_is_counted() {
	(($(attr "$1" resets) > $2))
}

# Its own mapping is gone when the bus is about to be reset, it gets none before it is over, and none by the old attachment at all.
# through_a_reset MODE CALLS PARAMETER...
through_a_reset() {
	local mode=$1 calls=$2
	shift 2
	importing "$mode" p2pmem0 "$LAB_ALPHA_BDF" state map both detach attach "$mode" "$LAB_ALPHA_BDF" \
		wait attach "$mode" "$LAB_ALPHA_BDF" map both sync sync state
	start_recovery hold=Y early=Y "$@"
	within 20 recovery_is held
	go_on owner
	owner_says 1 "state: ok notified=1 mapped=0" "map: EIO" "detach: ok" "attach: EAGAIN"
	echo N >/sys/module/recovery/parameters/hold
	recovery_ends "$calls"
	go_on owner
	owner_says 2 "attach: ok" "map: ok" "sync: EIO" "sync: ok" "state: ok notified=1 mapped=1"
	go_on owner
	ends owner
	goes_on
}

# OWNER's steps after a reset. An importer that lets go in its own time has done so before.
readonly AFTER_RESET="state unmap map both sync sync detach attach"

# told_after MODE REGION BDF COMMAND... - of a reset that is over, or that nobody told p2pmem of.
told_after() {
	local mode=$1 region=$2 bdf=$3 resets
	shift 3
	resets=$(attr "$region" resets)
	# shellcheck disable=SC2086  # steps
	importing "$mode" "$region" "$bdf" $AFTER_RESET "$mode" "$bdf" map both
	"$@"
	within 15 mapping_is_gone "$region" "$bdf"
	within 15 reset_is_counted "$region" "$resets"
	go_on owner
	owner_says 1 "state: ok notified=1 mapped=0" "unmap: ok" "map: EIO" "sync: EIO" "sync: ok" "detach: ok" "attach: ok" "map: ok"
	go_on owner
	ends owner
}

# refused_after MODE REGION BDF COMMAND... - an importer that was attached without a mapping when COMMAND reset the device gets no mapping.
# Only that importer uses the region meanwhile. Then others are told of the reset, and after that a new attachment works.
refused_after() {
	local mode=$1 region=$2 bdf=$3
	shift 3
	begin owner open "$region" export 0 "$EXPORT_BYTES" attach "$mode" "$bdf" wait map both sync sync detach wait
	"$@"
	go_on owner
	owner_says 1 "map: EIO" "sync: EIO" "sync: ok" "detach: ok"
	within 15 can_be_imported "$mode" "$bdf"
	go_on owner
	ends owner
}

# can_be_imported MODE BDF - what OWNER exports.
can_be_imported() {
	dmabuf take "$(pid_of owner)" "$(fd_of owner)" attach "$1" "$2" map both >/dev/null 2>&1
}

reset_function() {
	echo 1 >"/sys/bus/pci/devices/$1/reset"
}

# Its driver resets the controller, too, when the function is back.
reset_drive() {
	reset_function "$1"
	within 20 drive_is_live "$1"
}

drive_is_live() {
	grep -qx live "/sys/bus/pci/devices/$1/nvme/"nvme*/state
}

reset_controller() {
	local -a controller=("/sys/bus/pci/devices/$1/nvme/"nvme*/reset_controller)
	echo 1 >"${controller[0]}"
}

# The mapping leads to the memory afterwards, as it did before.
kept_over_a_reset() {
	local notified=1 line='told to let go, since the device is reset'
	if can revocable; then
		notified=0
		line='cannot be revoked, and keeps its mapping although the device is reset'
	fi
	# shellcheck disable=SC2086  # steps
	importing pinned p2pmem0 "$LAB_ALPHA_BDF" map both $AFTER_RESET pinned "$LAB_ALPHA_BDF" map both
	dmesg -C
	reset_function "$LAB_GPU_BDF"
	matches "kernel log" "mapped for $LAB_ALPHA_BDF by \"dmabuf\" \\(pid $(pid_of owner)\\): $line" "$(dmesg)"
	go_on owner
	owner_says 1 "map: EBUSY" "state: ok notified=$notified mapped=1" "unmap: ok" "map: EIO" "sync: EIO" "sync: ok" "detach: ok" \
		"attach: ok" "map: ok"
	go_on owner
	ends owner
	copy_again
}

# Its driver does not answer, holds its lock, or has a request under way. The device is reset all the same, and the importer told as
# soon as that can be.

stall() {
	echo Y >"$STALL"
	at_end "echo N >$STALL"
}

# reset_goes_on - while OWNER has its mapping, or its request.
reset_goes_on() {
	RESETS=$(attr p2pmem0 resets)
	dmesg -C
	reset_function "$LAB_GPU_BDF"
	equal "resets" $((RESETS + 1)) "$(attr p2pmem0 resets)"
	matches "kernel log" "reset although importers of its dma-bufs have not let go yet" "$(dmesg)"
}

told_late() {
	echo N >"$STALL"
	within 15 mapping_is_gone p2pmem0 "$LAB_ALPHA_BDF"
	go_on owner
	owner_says 1 "state: ok notified=1 mapped=0" "map: EIO"
	go_on owner
	ends owner
	copy_again
}

# While a callback stalls, others can export, close and list holders, and importers of another dma-buf are told. But no importer can attach
# to the dma-buf whose importers are being told.
callback_stalls() {
	stall
	importing revocable p2pmem0 "$LAB_ALPHA_BDF" state map both
	begin bystander open p2pmem0 export 0 4096 attach dynamic "$LAB_BETA_BDF" map both wait state
	reset_goes_on
	is_told_meanwhile
	limited dmabuf open p2pmem0 export 0 "$EXPORT_BYTES" close-dmabuf >"$WORK/other"
	matches "what another exporter said" 'close-dmabuf: ok' "$(cat "$WORK/other")"
	limited cat /sys/class/p2pmem/p2pmem0/holders >/dev/null
	limited dmabuf take "$(pid_of owner)" "$(fd_of owner)" attach dynamic "$LAB_BETA_BDF" >"$WORK/joins" || true
	matches "what who joins said" 'attach: EAGAIN' "$(cat "$WORK/joins")"
	told_late
}

# BYSTANDER's mapping goes, whatever OWNER's importer does.
is_told_meanwhile() {
	within 15 bystander_is_unmapped
	go_on bystander
	ends bystander
	says state "ok notified=1 mapped=0"
}

bystander_is_unmapped() {
	[[ $(attr p2pmem0 holders) == *" 4096 0 $LAB_BETA_BDF"* ]]
}

# A line of holders is left out while the lock is taken.
lock_is_taken() {
	[[ $(attr p2pmem0 holders) != *" $LAB_ALPHA_BDF"* ]]
}

lock_stalls() {
	importing dynamic p2pmem0 "$LAB_ALPHA_BDF" state map both
	stall
	dmabuf take "$(pid_of owner)" "$(fd_of owner)" attach dynamic "$LAB_BETA_BDF" hold >"$WORK/holding" 2>&1 &
	at_end "kill -KILL $! 2>/dev/null"
	within 15 lock_is_taken
	reset_goes_on
	told_late
}

request_stalls() {
	begin owner open p2pmem0 export 0 "$EXPORT_BYTES" attach revocable "$LAB_ALPHA_BDF" map both unmap fence wait signal wait
	reset_goes_on
	go_on owner
	reaches owner 2
	go_on owner
	ends owner
	copy_again
}

resets() {
	local mode
	core lt "reset: told before it, refused during it, mapped anew after it" \
		through_a_reset dynamic "frozen reset slot_reset resume" fatal=Y
	lt "reset: told before it, ... after it, revocable" through_a_reset revocable "frozen reset slot_reset resume" fatal=Y
	! can suspend || lt "reset: told before a suspend" through_a_reset dynamic "prepare reset complete" sleep=Y
	for mode in $OBEDIENT; do
		lt "reset: by hand, $mode" told_after "$mode" p2pmem0 "$LAB_ALPHA_BDF" reset_function "$LAB_GPU_BDF"
	done
	lt "reset: by hand, pinned" with_pinned_importers kept_over_a_reset
	lt "reset: an error that is not fatal" told_after dynamic p2pmem0 "$LAB_ALPHA_BDF" start_recovery
	lt "reset: a drive's, under its CMB" told_after dynamic p2pmem1 "$LAB_BETA_BDF" reset_drive "$LAB_ALPHA_BDF"
	lt "reset: a drive's controller's, under its CMB" told_after revocable p2pmem1 "$LAB_BETA_BDF" reset_controller "$LAB_ALPHA_BDF"
	lt "reset: a drive's, under its CMB, attached without a mapping" refused_after dynamic p2pmem1 "$LAB_BETA_BDF" reset_drive "$LAB_ALPHA_BDF"
	lt "reset: by hand, attached without a mapping" refused_after revocable p2pmem0 "$LAB_ALPHA_BDF" reset_function "$LAB_GPU_BDF"
	lt "reset: does not wait for a driver" callback_stalls
	lt "reset: does not wait for a lock" lock_stalls
	lt "reset: does not wait for a request" request_stalls
}
