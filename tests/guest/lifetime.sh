# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What becomes of memory that is taken away while it is in use. A matrix of holders (holder.c) and
# events; holders that pin make a removal wait, mappings are revoked.

# shellcheck source=removal.sh
. ./removal.sh

readonly HELD_BYTES=$((2 * MIB))
# The kinds whose pins outlive mapping and descriptor.
readonly PINS="vmsplice fixed longterm"

pins() {
	[[ " $PINS " == *" $1 "* ]]
}

# --- holders ---

start_rdma() {
	[[ -z $(ls /sys/class/infiniband 2>/dev/null) ]] || return 0
	modprobe -a rdma_rxe ib_uverbs || give_up_as_skip "no rdma_rxe module"
	rdma link add rxe0 type rxe netdev lo || give_up_as_skip "no rxe device"
}

# hold KIND - starts a holder of p2pmem0, waits until it holds; HOLDER is its pid.
hold() {
	local status=0
	[[ $1 != longterm ]] || start_rdma
	holder "$1" "${2:-p2pmem0}" "$HELD_BYTES" "$LAB_ALPHA" >"$WORK/holder" 2>&1 &
	HOLDER=$!
	at_end "kill -KILL $HOLDER 2>/dev/null"
	until grep -q ready "$WORK/holder"; do
		if [[ ! -e /proc/$HOLDER ]]; then
			wait "$HOLDER" || status=$?
			holder_ended "$1" "$status"
		fi
		sleep 0.05
	done
}

# Only the one known gap may end a holder early.
holder_ended() {
	if [[ $1 == fixed && $LAB_KERNEL == 6.1 ]]; then
		equal "what 6.1 says to fixed buffers" \
			"unsupported: fixed buffers: Operation not supported" "$(cat "$WORK/holder")"
		exit 0
	fi
	fail "the holder ended with $2: $(cat "$WORK/holder")"
}

let_go() {
	kill -USR2 "$HOLDER"
	wait "$HOLDER" || fail "holder: status $?, $(cat "$WORK/holder")"
}

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

unplugged() {
	taken_away "$1" labctl unplug gpu
	plug_gpu
	copy_again
}

killed() {
	hold "$1"
	kill -KILL "$HOLDER"
	wait "$HOLDER" 2>/dev/null || true
	within 10 region_is_free p2pmem0
	equal holders "" "$(attr p2pmem0 holders)"
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

# --- surprise removal: the device is gone before anyone was asked ---

surprise() {
	local kind=$1
	hold "$kind"
	labctl surprise-remove "$LAB_GPU_BDF"
	if pins "$kind"; then
		within 30 is_quarantined
		matches holders "$HOLDER holder" "$(attr p2pmem0 holders)"
		sleep 3
		let_go
	else
		within 30 region_gone p2pmem0
		[[ $kind != mapping ]] || holder_sees sigbus
		let_go
		sleep 3
	fi
	within 20 region_gone p2pmem0
	plug_gpu
	copy_again
}

# The last step: the range of the BAR is nobody's any more.
removal_is_logged() {
	dmesg | grep -q 'p2pmem0: removed'
}

# A card in the slot again while the old one's pages are still pinned: it may not be driven where it
# lies on them, and is placed anew once they are gone.
plugged_over_quarantine() {
	hold vmsplice
	labctl surprise-remove "$LAB_GPU_BDF"
	within 30 is_quarantined
	sleep 3
	plug_gpu
	stale_env
	let_go
	within 20 removal_is_logged
	echo 1 >"/sys/bus/pci/devices/$LAB_GPU_BDF/remove"
	echo 1 >/sys/bus/pci/rescan
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
	chgrp p2pmem "/dev/$region"
	random_file "$WORK/data" "$MIB"
	put_on_drive "$WORK/data" "$LAB_ALPHA" 0
	copy "$LAB_ALPHA" "$region" --size 1M --verify
}

unbind_nvme() {
	echo "$1" >/sys/bus/pci/drivers/nvme/unbind
}

bind_nvme() {
	echo "$1" >/sys/bus/pci/drivers/nvme/bind
	labctl wait-drives
	stale_env
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
	within 10 region_is_free p2pmem0
	copy_again
}

# A signal ends the wait, not the removal.
interrupted_removal() {
	hold vmsplice
	in_background donard-cli region remove p2pmem0
	event_waits "$HOLDER holder [0-9]+ [1-9]"
	# Not SIGINT, which the shell has its background jobs ignore.
	kill -TERM "$EVENT"
	within 10 event_ended
	matches "what the removal said" 'goes on by itself' "$(cat "$WORK/event")"
	is_draining || fail "the removal did not go on"
	exits 1 'in use|being removed' donard-cli region remove --if-idle p2pmem0
	exits 1 'being taken away' donard-cli copy "$LAB_ALPHA" p2pmem0 --size 1M
	matches "topo" 'being taken away' "$(donard-cli topo)"
	let_go
	within 10 region_gone p2pmem0
	copy_again
}

# Who holds it and through which RDMA device.
names_rdma_device() {
	hold longterm
	in_background donard-cli region remove p2pmem0
	event_waits "$HOLDER holder [0-9]+ [1-9]"
	within 5 grep -q "holder (pid $HOLDER, device rxe0)" "$WORK/event"
	let_go
	event_succeeds
	copy_again
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

# A copy notices within moments, although its pins would let it go on.
copy_is_cut_off() {
	local pid status=0
	donard-cli copy "$LAB_ALPHA" "$LAB_BETA" --via p2pmem0 --size 512M --block-size 4K \
		--queue-depth 1 >"$WORK/copy" 2>&1 &
	pid=$!
	within 10 region_is_held
	donard-cli region remove p2pmem0
	wait "$pid" || status=$?
	equal "status of the copy ($(cat "$WORK/copy"))" 1 "$status"
	matches "the copy's message" 'went away during the copy' "$(cat "$WORK/copy")"
	copy_again
}

region_is_held() {
	! region_is_free p2pmem0
}

KINDS="mapping inflight $PINS"
for kind in $KINDS; do
	lt "region remove, $kind" removed "$kind"
	lt "driver unbind, $kind" unbound "$kind"
	lt "hot-unplug, $kind" unplugged "$kind"
	lt "process death, $kind" killed "$kind"
	lt "rmmod, $kind" rmmod_refused "$kind"
	if [[ $LAB_TOPOLOGY == pciehp ]]; then
		lt "surprise removal, $kind" surprise "$kind"
	fi
done
if [[ $LAB_TOPOLOGY == pciehp ]]; then
	lt "plugged while in quarantine" plugged_over_quarantine
else
	lt "nvme unbind under its CMB" drive_unbound "$LAB_ALPHA_BDF" p2pmem1 nvme-cmb
	lt "nvme unbind under its PMR" drive_unbound "$LAB_BETA_BDF" p2pmem2 nvme-pmr
	lt "death with reads in flight" killed_in_flight
	lt "interrupted removal" interrupted_removal
	lt "removal names the RDMA device" names_rdma_device
	lt "removal under a copy" copy_is_cut_off
	lt "again and again" again_and_again
fi
