# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What becomes of memory that is taken away while it is in use. A matrix of holders (holder.c) and
# events; holders that pin make a removal wait, mappings are revoked.

# shellcheck source=removal.sh
. ./removal.sh
# shellcheck source=helpers/hold.sh
. helpers/hold.sh
# shellcheck source=helpers/held_copy.sh
. helpers/held_copy.sh
# shellcheck source=helpers/pieces.sh
. helpers/pieces.sh
# shellcheck source=helpers/recovery.sh
. helpers/recovery.sh
# shellcheck source=helpers/traced.sh
. helpers/traced.sh

# The kinds whose pins outlive mapping and descriptor.
PINS="vmsplice longterm"
! can fixed-buffers || PINS+=" fixed"
! can ring-buffers || PINS+=" ring"
readonly PINS

pins() {
	[[ " $PINS " == *" $1 "* ]]
}

# --- holders ---

holder_sees() {
	kill -USR1 "$HOLDER"
	within 10 grep -qx "$1" "$WORK/holder"
}

# taken_away KIND EVENT... - the event, which ends with the region gone.
taken_away() {
	local kind=$1
	shift
	hold "$kind"
	in_background "$@"
	if pins "$kind"; then
		event_waits "$HOLDER holder [0-9]+ [1-9]"
		let_go
		event_succeeds
	else
		event_succeeds
		[[ $kind != mapping ]] || holder_sees sigbus
		[[ $kind != inflight ]] || within 10 grep -q 'reads ended' "$WORK/holder"
		let_go
	fi
	within 10 region_gone p2pmem0
}

# --- events ---

removed() {
	taken_away "$1" donard-cli region remove p2pmem0
	copy_again
}

unbound() {
	taken_away "$1" unbind_gpu
	copy_again
}

# Two regions of one BAR: a holder of one keeps only that one.
both_end() {
	local region
	local -a bar=(--kind pci-bar --device "$LAB_GPU_BDF" --bar 2)
	donard-cli region remove p2pmem0
	at_end "restore_gpu"
	donard-cli region add "${bar[@]}" --length 16M >/dev/null
	region=$(donard-cli region add "${bar[@]}" --offset 16M --length 16M)
	give_to_group p2pmem0
	hold vmsplice
	in_background unbind_gpu
	event_waits "$HOLDER holder [0-9]+ [1-9]"
	within 10 region_gone "$region"
	let_go
	event_succeeds
	restore_gpu
	copy_again
}

unplugged() {
	taken_away "$1" labctl unplug gpu
	plug_gpu
	copy_again
}

killed() {
	hold "$1"
	kill -KILL "$HOLDER"
	wait "$HOLDER" 2>/dev/null || true
	nobody_holds p2pmem0
	copy_again
}

rmmod_refused() {
	hold "$1"
	exits 1 'in use|busy' rmmod p2pmem
	equal state ready "$(attr p2pmem0 state)"
	let_go
	within 10 region_is_free p2pmem0
	copy_again
}

# The removal waits for data that TCP has not sent yet, and then all of it arrives unchanged.
removed_while_sent() {
	hold zerocopy
	equal "what is free beside what is to be sent" $(($(attr p2pmem0 size) - HELD_BYTES)) "$(attr p2pmem0 available)"
	in_background donard-cli region remove p2pmem0
	event_waits "$HOLDER holder [0-9]+ [1-9]"
	holder_sees alive
	event_succeeds
	within 10 region_gone p2pmem0
	let_go
	copy_again
}

# P2PDMA pages go only to drivers that ask for them.
not_sent() {
	with_page_type p2pmem0 p2pdma
	exits 3 'unsupported: MSG_ZEROCOPY: Bad address' holder zerocopy p2pmem0 "$HELD_BYTES"
}

# --- surprise removal: the device is gone before anyone was asked ---

surprise() {
	local kind=$1
	hold "$kind"
	labctl surprise-remove "$LAB_GPU_BDF"
	if pins "$kind"; then
		within 30 is_quarantined
		matches holders "$HOLDER holder" "$(attr p2pmem0 holders)"
		within 20 test ! -e "/sys/bus/pci/devices/$LAB_GPU_BDF"
		is_quarantined || fail "the region has left its quarantine"
		let_go
	else
		within 30 region_gone p2pmem0
		[[ $kind != mapping ]] || holder_sees sigbus
		let_go
	fi
	within 20 region_gone p2pmem0
	plug_gpu
	copy_again
}

# The last step: the range of the BAR is free.
removal_is_logged() {
	grep -q 'p2pmem0: removed' < <(dmesg)
}

# A card in the slot again while the old one's pages are still pinned: it may not be driven where it
# lies on them, and is placed anew once they are gone.
plugged_over_quarantine() {
	local start
	start=$(bar_start "$LAB_GPU_BDF" 2)
	dmesg -C
	hold vmsplice
	labctl surprise-remove "$LAB_GPU_BDF"
	within 30 is_quarantined
	plug_gpu
	stale_env
	add_off_quarantine "$start"
	let_go
	within 20 removal_is_logged
	echo 1 >"/sys/bus/pci/devices/$LAB_GPU_BDF/remove"
	echo 1 >/sys/bus/pci/rescan
	copy_again
}

lose_held() {
	hold vmsplice
	labctl surprise-remove "$LAB_GPU_BDF"
	within 30 is_quarantined
	let_go
	within 20 grep -q 'p2pmem_state: p2pmem0 gone' /sys/kernel/tracing/trace
}

# Each state once, and the look that found pages pinned before the quarantine.
events_of_a_quarantine() {
	traced lose_held
	equal "the states" "p2pmem_state: p2pmem0 draining
p2pmem_state: p2pmem0 quarantined
p2pmem_state: p2pmem0 gone" "$(grep state: "$WORK/trace")"
	matches "the look before" 'p2pmem_drain: p2pmem0 pages_held=1 imported=0
p2pmem_state: p2pmem0 quarantined' "$(cat "$WORK/trace")"
	plug_gpu
	copy_again
}

# --- the drives' own memory: the nvme driver leaves under it ---

# drive_unbound SERIAL-VARIABLE REGION KIND-OF-REGION
drive_unbound() {
	local bdf=$1 region=$2 kind=$3
	hold mapping "$region"
	in_background unbind_nvme "$bdf"
	event_succeeds
	within 10 region_gone "$region"
	holder_sees sigbus
	let_go
	bind_nvme "$bdf"
	donard-cli region add --kind "$kind" --device "$bdf" >/dev/null
	give_to_group "$region"
	data_on_alpha "$MIB"
	copy "$LAB_ALPHA" "$region" --size 1M --verify
}

# others_go_on HOLDER-REGION UNBIND REBIND - while a pin of that region holds up the unbind of its function, a driver
# that registers a notifier of the bus is loaded, and another function loses its driver and gets it back.
others_go_on() {
	local region=$1 rebind=$3
	hold vmsplice "$region"
	# shellcheck disable=SC2086  # words
	in_background $2
	within 20 drains "$region"
	# Longer than the unbind gives requests in flight.
	sleep 4
	drains "$region" || fail "the pin does not hold $region: $(cat "$WORK/event")"
	insmod /opt/donard/modules/latecomer.ko &
	LATECOMER=$!
	sleep 1
	"$rebind" >"$WORK/rebind" 2>&1 &
	REBIND=$!
	within 10 ended "$LATECOMER"
	within 10 ended "$REBIND"
	wait "$REBIND" || fail "the other function: $(cat "$WORK/rebind")"
	drains "$region" || fail "$region did not drain all the while"
	! event_ended || fail "the unbind did not wait for the pin"
	let_go
	event_succeeds
	within 10 region_gone "$region"
	rmmod latecomer
}

rebind_gpu() {
	unbind_gpu
	echo p2pmem >"/sys/bus/pci/devices/$LAB_GPU_BDF/driver_override"
	echo "$LAB_GPU_BDF" >/sys/bus/pci/drivers/p2pmem/bind
}

rebind_alpha() {
	unbind_nvme "$LAB_ALPHA_BDF"
	bind_nvme "$LAB_ALPHA_BDF"
}

others_go_on_beside_gpu() {
	local beta=$LAB_BETA_BDF
	at_end "restore_regions $beta"
	others_go_on p2pmem0 unbind_gpu rebind_alpha
	restore_regions "$beta"
	copy_again
}

others_go_on_beside_pmr() {
	local beta=$LAB_BETA_BDF
	at_end "restore_regions $beta"
	others_go_on p2pmem2 "unbind_nvme $beta" rebind_gpu
	restore_regions "$beta"
	copy_again
}

holders_are_logged() {
	grep -q 'removal waits for these holders' < <(dmesg)
}

# The PCI core unplugs with the lock of all plug events held: so others wait, too, and the log says soon for whom.
rescan_waits_behind_unplug() {
	dmesg -C
	hold vmsplice
	in_background labctl unplug gpu
	event_waits "$HOLDER holder [0-9]+ [1-9]"
	echo 1 >/sys/bus/pci/rescan &
	RESCAN=$!
	within 8 holders_are_logged
	! ended "$RESCAN" || fail "the rescan did not wait for the unplug"
	let_go
	event_succeeds
	within 20 ended "$RESCAN"
	within 10 region_gone p2pmem0
	plug_gpu
	copy_again
}

# A drive that no driver runs has no memory to offer, and being asked must not keep the next driver away.
driverless_drive() {
	local beta=$LAB_BETA_BDF
	at_end "restore_regions $beta"
	unbind_nvme "$beta"
	exits 1 'nvme' donard-cli region add --kind nvme-pmr --device "$beta"
	equal "code" busy "$({ donard-cli region add --kind nvme-pmr --device "$beta" --json || true; } | jq -r .error.code)"
	bind_nvme "$beta" || fail "the nvme driver does not take the drive: $(dmesg | tail -n 3)"
	restore_regions "$beta"
	copy_again
}

# --- the rest ---

# Reads that are in flight when their process dies go into memory that nobody else gets before they end.
killed_in_flight() {
	local i
	for i in 1 2 3 4 5; do
		hold inflight
		sleep 0.2
		kill -KILL "$HOLDER"
		wait "$HOLDER" 2>/dev/null || true
		echo "round $i"
	done
	nobody_holds p2pmem0
	copy_again
}

# A signal ends the wait, not the removal.
interrupted_removal() {
	hold vmsplice
	in_background donard-cli region remove p2pmem0
	event_waits "$HOLDER holder [0-9]+ [1-9]"
	# As the end of its terminal does.  The shell has its background jobs ignore SIGINT.
	kill -HUP "$EVENT"
	within 10 event_ended
	matches "what the removal said" "goes on by itself.* $LAB_GPU_BDF stays bound to p2pmem: once it has no region, run: echo" \
		"$(cat "$WORK/event")"
	is_draining || fail "the removal did not go on"
	exits 1 'in use|being removed' donard-cli region remove --if-idle p2pmem0
	exits 1 'being taken away' donard-cli copy "$LAB_ALPHA" p2pmem0 --size 1M
	matches "topo" 'being taken away' "$(donard-cli topo)"
	let_go
	within 10 region_gone p2pmem0
	# Nobody has waited for the removal: its pages, and then its claim on the BAR, go after the node.
	within 20 bar_is_unclaimed
	copy_again
}

bar_is_unclaimed() {
	! grep -q ' : p2pmem$' /proc/iomem
}

# told_of EVENTS COMMAND... - an open file gets these events when the command removes its region.
told_of() {
	local events=$1
	shift
	told p2pmem0 >"$WORK/told" 2>&1 &
	HOLDER=$!
	at_end "kill -KILL $HOLDER 2>/dev/null"
	within 10 grep -qx ready "$WORK/told"
	in_background "$@"
	within 40 grep -qx "${events##*,}" "$WORK/told"
	kill -USR2 "$HOLDER"
	event_succeeds
	within 20 grep -qx '4 pri err hup' "$WORK/told"
	wait "$HOLDER" || fail "told: status $?, $(cat "$WORK/told")"
	equal "what it was told" "ready,$events,4 pri err hup" "$(paste -sd, "$WORK/told")"
}

told_of_removal() {
	told_of "2 pri" donard-cli region remove p2pmem0
	copy_again
}

told_of_unbind() {
	told_of "2 pri" unbind_gpu
	copy_again
}

told_of_surprise() {
	told_of "2 pri,3 pri err" labctl surprise-remove "$LAB_GPU_BDF"
	within 20 region_gone p2pmem0
	plug_gpu
	copy_again
}

# Names the holder and its RDMA device.
names_rdma_device() {
	hold longterm
	in_background donard-cli region remove p2pmem0
	event_waits "$HOLDER holder [0-9]+ [1-9]"
	within 5 grep -q "holder (pid $HOLDER, device rxe0)" "$WORK/event"
	let_go
	event_succeeds
	copy_again
}

# An open takes place inside of the region's gate, and a reset waits for the gate. So a reader of a long list, which takes seconds
# here, has to let others in and out between two lines: the first file is closed while its line is written, and then all from the
# last one on, until the two meet.
list_makes_room() {
	local fd fds=() n opened=0 reader
	for ((n = 0; n < 100; n++)); do
		exec {fd}<>/dev/p2pmem0
		fds+=("$fd")
	done
	insmod /opt/donard/modules/trip.ko symbol=p2pmem_lines_add delay_ms=20
	at_end "rmmod trip"
	{
		for fd in "${fds[@]}"; do
			exec {fd}>&-
		done
		exec cat /sys/class/p2pmem/p2pmem0/holders >"$WORK/holders"
	} &
	reader=$!
	until (($(tripped hits))); do :; done
	fd=${fds[0]}
	exec {fd}>&-
	while ((opened < 99)) && ! ended "$reader"; do
		exec 5<>/dev/p2pmem0
		exec 5>&-
		opened=$((opened + 1))
		fd=${fds[100 - opened]}
		exec {fd}>&-
	done
	wait "$reader"
	at_least "times that it was opened while they were written" 10 "$opened"
	at_most "lines for 100 files, most of them closed meanwhile" 90 "$(wc -l <"$WORK/holders")"
}

# Any member of the group can make each line a long search, and a removal waits for who reads: half a second of it is all they get.
list_ends_its_search() {
	local child found
	child=$(bash -c 'for ((n = 0; n < 100; n++)); do exec {fd}<>/dev/p2pmem0; done; sleep 1000 >/dev/null & echo $!')
	at_end "kill $child"
	within 10 grep -qx sleep "/proc/$child/comm"
	insmod /opt/donard/modules/trip.ko symbol=p2pmem_who_has delay_ms=50
	at_end "rmmod trip"
	attr p2pmem0 holders >"$WORK/holders"
	at_most "files whose process was looked for" 12 "$(tripped hits)"
	found=$(grep -c "^$child sleep 0 0\$" "$WORK/holders")
	at_least "files whose process was found" 1 "$found"
	equal "other files" $((100 - found)) "$(grep -c '^0 bash 0 0$' "$WORK/holders")"
}

# Nothing is left behind by removing and adding, or by loading and unloading.
again_and_again() {
	local i
	for i in 1 2 3; do
		donard-cli region remove p2pmem0
		unbind_gpu 2>/dev/null || true
		restore_gpu
	done
	for i in 1 2 3; do
		rmmod p2pmem
		insmod /opt/donard/modules/p2pmem.ko
		/opt/lab/regions >/dev/null
	done
	copy_again
}

# Processes that fork, move and drop mappings while the region goes: a moment earlier or later each time.
no_entry_is_left() {
	local round pid status
	for round in 1 2 3; do
		status=0
		: >"$WORK/copied"
		copied p2pmem0 >"$WORK/copied" 2>&1 &
		pid=$!
		within 20 grep -qx ready "$WORK/copied"
		sleep "0.$((round * round))"
		donard-cli region remove p2pmem0
		wait "$pid" || status=$?
		equal "entries left, round $round ($(cat "$WORK/copied"))" 0 "$status"
		grep -qE '^[1-9][0-9]* forks' "$WORK/copied" || fail "no forks: $(cat "$WORK/copied")"
		restore_gpu
	done
}

# A copy notices within moments, although its pins would let it go on.
copy_is_cut_off() {
	local pid status=0
	donard-cli copy "$LAB_ALPHA" "$LAB_BETA" --via p2pmem0 --size 512M --block-size 4K \
		--queue-depth 1 >"$WORK/copy" 2>&1 &
	pid=$!
	within 10 region_is_held p2pmem0
	donard-cli region remove p2pmem0
	wait "$pid" || status=$?
	equal "status of the copy ($(cat "$WORK/copy"))" 1 "$status"
	matches "the copy's message" 'went away' "$(cat "$WORK/copy")"
	copy_again
}

# --- donard-cli copy in flight, by block requests and (PASS) by NVMe commands ---

PASS=()

# passing FUNCTION... - with --passthrough.
passing() {
	PASS=(--passthrough)
	"$@"
}

# unplug_under ID SRC DST - a drive of the copy; the region stays.
unplug_under() {
	local id=$1 bdf
	bdf=$(bdf_of "$id")
	at_end "restore_drive $id"
	start_copy "$@" "${PASS[@]}"
	labctl unplug "$id"
	copy_ends 1 drive-gone "^/dev/nvme[^:]*: the drive went away.* controller $bdf .*Bring it back"
	nobody_holds p2pmem0
	restore_drive "$id"
	copy_again
}

# The copy names its drive, and its error the one of both that is gone.
source_unplugged() {
	unplug_under alpha "$LAB_ALPHA" p2pmem0
}

target_unplugged() {
	unplug_under beta p2pmem0 "$LAB_BETA"
	matches "message" "^$LAB_BETA: " "$(jq -r .error.message "$WORK/copy")"
}

staged_unplugged() {
	unplug_under beta "$LAB_ALPHA" "$LAB_BETA" --via p2pmem0
	matches "message" "^$LAB_BETA: " "$(jq -r .error.message "$WORK/copy")"
}

# The controller stays. How far the kernel is when the copy asks differs; that the route is to blame it never says.
namespace_detached() {
	local controller id status=0 message
	controller=$(basename "/sys/bus/pci/devices/$LAB_ALPHA_BDF/nvme/"nvme*)
	id=$(<"/sys/class/nvme/$controller/cntlid")
	start_copy alpha "$LAB_ALPHA" p2pmem0
	nvme detach-ns "/dev/$controller" --namespace-id=1 --controllers="$id"
	at_end "within 30 test -b $LAB_ALPHA"
	at_end "nvme attach-ns /dev/$controller --namespace-id=1 --controllers=$id"
	labctl slow alpha 0
	within 40 copy_is_over
	wait "$COPY" || status=$?
	equal "status of the copy" 1 "$status"
	message=$(jq -r .error.message "$WORK/copy")
	matches "the copy's message" namespace "$message"
	[[ $message != *peer-to-peer* ]] || fail "the route is blamed: $message"
	nobody_holds p2pmem0
}

# blockdev --setro, as LVM and administrators do.
made_read_only() {
	start_copy beta p2pmem0 "$LAB_BETA"
	blockdev --setro "$LAB_BETA"
	at_end "blockdev --setrw $LAB_BETA"
	labctl slow beta 0
	copy_ends 1 read-only 'it was made read-only after it was opened'
}

# copy_interrupted SIGNAL - by Ctrl-C, or by the end of the terminal.
copy_interrupted() {
	start_copy alpha "$LAB_ALPHA" p2pmem0 "${PASS[@]}"
	kill "-$1" "$COPY"
	copy_ends 130 canceled stopped
	nobody_holds p2pmem0
	equal "commands in flight" 0 "$(in_flight "$LAB_ALPHA_BDF")"
	copy_again
}

# A copy that compares has no request in flight, so it pins nothing, however long the comparison takes.
verifying_holds_up_nobody() {
	data_on_alpha "$MIB"
	stopat "$(readlink -f /usr/lib/libdonard.so)" dnd_copy_verify 1 \
		donard-cli copy "$LAB_ALPHA" p2pmem0 --size 1M --verify >"$WORK/copy" 2>&1 &
	at_end "kill -KILL $! 2>/dev/null"
	within 30 grep -qx stopped "$WORK/copy"
	in_background donard-cli region remove p2pmem0
	event_succeeds
}

# reset_under ID REGION RESET SRC DST [ARG...] - each request succeeds, and what the region held is gone: no copy calls that done.
reset_under() {
	local id=$1 region=$2 reset=$3 status=0
	shift 3
	start_copy "$id" "$@" "${PASS[@]}"
	"$reset"
	labctl slow "$id" 0
	within 40 copy_is_over
	wait "$COPY" || status=$?
	equal "status of the copy ($(cat "$WORK/copy.err"))" 1 "$status"
	equal "what the copy says" "device 0 false false" \
		"$(jq -r '"\(.error.code) \(.bytes) \(.durable) \(.verified)"' "$WORK/copy")"
	matches "the copy's message" "^$region: the device was reset meanwhile" "$(jq -r .error.message "$WORK/copy")"
}

reset_gpu() {
	echo 1 >"/sys/bus/pci/devices/$LAB_GPU_BDF/reset"
}

reset_alpha() {
	local -a controller=("/sys/bus/pci/devices/$LAB_ALPHA_BDF/nvme/"nvme*/reset_controller)
	echo 1 >"${controller[0]}"
}

suspend_gpu() {
	start_recovery sleep=Y
	recovery_ends "prepare reset complete"
}

source_reset() {
	reset_under beta p2pmem0 reset_gpu p2pmem0 "$LAB_BETA" --verify
	copy_again
}

staging_reset() {
	reset_under beta p2pmem0 reset_gpu "$LAB_ALPHA" "$LAB_BETA" --via p2pmem0
	copy_again
}

cmb_reset() {
	reset_under beta p2pmem1 reset_alpha p2pmem1 "$LAB_BETA"
}

# The device loses its power, and with it what the copy left there.
staging_suspended() {
	reset_under beta p2pmem0 suspend_gpu "$LAB_ALPHA" "$LAB_BETA" --via p2pmem0
	copy_again
}

# A killed copy leaves commands in flight: their memory gets no other owner before they end.
copy_killed() {
	start_copy alpha "$LAB_ALPHA" p2pmem0 "${PASS[@]}"
	labctl slow alpha "$STANDSTILL"
	kill -KILL "$COPY"
	sleep 1
	(($(in_flight "$LAB_ALPHA_BDF"))) || fail "no command is in flight any more"
	region_is_held p2pmem0 || fail "memory that the drive writes to was given back"
	labctl slow alpha 0
	within 20 copy_is_over
	nobody_holds p2pmem0
	copy_again
}

# The region waits for each command, then goes; no command outlives it.
region_removed_under() {
	start_copy alpha "$LAB_ALPHA" p2pmem0 "${PASS[@]}"
	labctl slow alpha "$STANDSTILL"
	in_background donard-cli region remove p2pmem0
	event_waits "$COPY donard-cli [0-9]+ [1-9]"
	(($(in_flight "$LAB_ALPHA_BDF"))) || fail "no command is in flight any more"
	labctl slow alpha 0
	event_succeeds
	matches "what the removal said" "held by donard-cli \\(pid $COPY\\)" "$(cat "$WORK/event")"
	region_gone p2pmem0 || fail "the region is there after its removal"
	equal "commands in flight" 0 "$(in_flight "$LAB_ALPHA_BDF")"
	copy_ends 1 region-gone '^p2pmem0: the region went away'
	copy_again
}

# memory_unplugged DEVICE REGION SLOW-DRIVE - the device whose memory it is.
memory_unplugged() {
	local device=$1 region=$2 drive=$3
	start_copy "$drive" "$(drive_of "$drive")" "$region" "${PASS[@]}"
	in_background labctl unplug "$device"
	copy_ends 1 region-gone "^$region: the region went away"
	event_succeeds
	region_gone "$region" || fail "the region is there without its device"
	equal "commands in flight" 0 "$(in_flight "$(bdf_of "$drive")")"
}

gpu_unplugged_under() {
	memory_unplugged gpu p2pmem0 alpha
	plug_gpu
	copy_again
}

cmb_unplugged_under() {
	at_end "restore_drive alpha"
	memory_unplugged alpha p2pmem1 beta
	restore_drive alpha
	copy_again
}

pmr_unplugged_under() {
	at_end "restore_drive beta"
	memory_unplugged beta p2pmem2 alpha
	restore_drive beta
	copy_again
}

gpu_vanishes_under() {
	start_copy alpha "$LAB_ALPHA" p2pmem0 "${PASS[@]}"
	labctl surprise-remove "$LAB_GPU_BDF"
	copy_ends 1 region-gone '^p2pmem0: the region went away'
	within 30 region_gone p2pmem0
	plug_gpu
	copy_again
}

passing_tests() {
	lt "source unplugged, passthrough" passing source_unplugged
	newest lt "destination unplugged, passthrough" passing target_unplugged
	lt "destination unplugged, drive to drive, passthrough" passing staged_unplugged
	lt "interrupted, passthrough" passing copy_interrupted INT
	lt "process death, passthrough" passing copy_killed
	lt "region remove, passthrough" passing region_removed_under
	lt "hot-unplug, passthrough" passing gpu_unplugged_under
	lt "hot-unplug of a CMB, passthrough" passing cmb_unplugged_under
	lt "hot-unplug of a PMR, passthrough" passing pmr_unplugged_under
	if can p2pdma; then
		lt "region remove, passthrough, p2pdma" typed p2pdma passing region_removed_under
		lt "process death, passthrough, p2pdma" typed p2pdma passing copy_killed
	fi
}

# The cells of the matrix that are in the gate: each holder and each event once.
CORE_CELLS=" removed/mapping unplugged/inflight unbound/vmsplice rmmod_refused/fixed killed/longterm removed/ring "
can fixed-buffers || CORE_CELLS+="rmmod_refused/vmsplice "
[[ $LAB_TOPOLOGY != pciehp ]] || CORE_CELLS=" surprise/mapping surprise/inflight surprise/longterm "

# cell EVENT FUNCTION KIND - of the matrix.
cell() {
	local ring=
	[[ $CORE_CELLS != *" $2/$3 "* ]] || ring=core
	$ring lt "$1, $3" "$2" "$3"
}

KINDS="mapping inflight $PINS"
for kind in $KINDS; do
	cell "region remove" removed "$kind"
	cell "driver unbind" unbound "$kind"
	cell "hot-unplug" unplugged "$kind"
	cell "process death" killed "$kind"
	cell "rmmod" rmmod_refused "$kind"
	if [[ $LAB_TOPOLOGY == pciehp ]]; then
		cell "surprise removal" surprise "$kind"
	fi
done
if [[ $LAB_TOPOLOGY == pciehp ]]; then
	lt "plugged while in quarantine" plugged_over_quarantine
	lt "events of a quarantine" events_of_a_quarantine
	core lt "told of a surprise removal" told_of_surprise
	core lt "surprise removal, copy" gpu_vanishes_under
	lt "surprise removal, passthrough" passing gpu_vanishes_under
else
	lt "a drive without a driver is refused, and bound again" driverless_drive
	core lt "nvme unbind under its CMB" drive_unbound "$LAB_ALPHA_BDF" p2pmem1 nvme-cmb
	lt "nvme unbind under its PMR" drive_unbound "$LAB_BETA_BDF" p2pmem2 nvme-pmr
	lt "others bind beside a pinned BAR" others_go_on_beside_gpu
	lt "others bind beside a pinned PMR" others_go_on_beside_pmr
	lt "both regions of a BAR end" both_end
	lt "a rescan waits behind an unplug" rescan_waits_behind_unplug
	lt "death with reads in flight" killed_in_flight
	newest lt "interrupted removal" interrupted_removal
	newest lt "told of a removal" told_of_removal
	lt "told of an unbind" told_of_unbind
	lt "removal names the RDMA device" names_rdma_device
	lt "region remove, zerocopy" removed_while_sent
	lt "process death, zerocopy" killed zerocopy
	! can p2pdma || t "zerocopy of p2pdma pages is refused" not_sent
	newest lt "removal under a copy" copy_is_cut_off
	lt "a list of holders makes room for others" list_makes_room
	lt "a list of holders ends its search" list_ends_its_search
	lt "again and again" again_and_again
	lt "removal under forks and moves" no_entry_is_left
	pieces_tests
	recovery_tests
	lt "source unplugged, copy" source_unplugged
	core lt "destination unplugged, copy" target_unplugged
	lt "namespace detached, copy" namespace_detached
	lt "drive made read-only, copy" made_read_only
	lt "interrupted, copy" copy_interrupted INT
	lt "end of the terminal, copy" copy_interrupted HUP
	lt "region remove, while a copy verifies" verifying_holds_up_nobody
	lt "source reset, copy" source_reset
	lt "staging reset, copy" staging_reset
	lt "CMB reset by its controller, copy" cmb_reset
	! can suspend || lt "suspend, copy" staging_suspended
	if ! can passthrough; then
		core skip "passthrough in flight" "kernel $LAB_KERNEL is too old for it"
	else
		passing_tests
	fi
fi
