# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# For suites that take p2pmem0 away under somebody and bring it back. Sourced by them, never run.

# --- the region ---

restore_gpu() {
	stale_env
	if region_gone p2pmem0; then
		donard-cli region add --kind pci-bar --device "$LAB_GPU_BDF" --bar 2 >/dev/null
		give_to_group p2pmem0
	fi
	within 10 region_is_free p2pmem0
	equal state ready "$(attr p2pmem0 state)"
}

# restore_drive ID - brings back an unplugged drive, and the region of its own memory.
restore_drive() {
	local region=p2pmem1 kind=nvme-cmb
	[[ $1 == alpha ]] || { region=p2pmem2; kind=nvme-pmr; }
	stale_env
	[[ -n $(bdf_of "$1") ]] || labctl plug "$1"
	labctl wait-drives
	stale_env
	region_exists "$region" && return
	donard-cli region add --kind "$kind" --device "$(bdf_of "$1")" >/dev/null
	give_to_group "$region"
}

# restore_regions BDF-OF-BETA - in this order, so that each region gets its own name.
restore_regions() {
	[[ -e /sys/bus/pci/drivers/nvme/$1 ]] || bind_nvme "$1"
	restore_gpu
	restore_drive alpha
	restore_drive beta
}

# heal - after a test that failed half way: the next one finds a machine as it should be.
heal() {
	local n
	for ((n = 0; n < 50; n++)); do
		region_exists p2pmem0 && [[ $(attr p2pmem0 state) == ready ]] && return
		region_gone p2pmem0 && break
		sleep 0.1
	done
	[[ -d /sys/module/p2pmem ]] || insmod /opt/donard/modules/p2pmem.ko
	gpu_is_back || plug_gpu
	restore_gpu
}

# lt NAME FUNCTION [ARG...] - t, and whole again behind it.
lt() {
	t "$1" healed "${@:2}"
}

healed() {
	at_end heal
	"$@"
}

# The region works as before.
copy_again() {
	restore_gpu
	data_on_alpha "$MIB"
	copy "$LAB_ALPHA" p2pmem0 --size 1M --verify
	result_is "$MIB" switch 0
	same_bytes "host's view of the BAR" "$(backing gpu)" "$WORK/data" "$MIB"
}

# --- the event that takes it away ---

# in_background COMMAND... - EVENT is its pid.
in_background() {
	"$@" >"$WORK/event" 2>&1 &
	EVENT=$!
}

event_ended() {
	ended "$EVENT"
}

event_succeeds() {
	within 40 event_ended
	wait "$EVENT" || fail "the event: status $?, $(cat "$WORK/event")"
}

drains() {
	[[ $(attr "$1" state 2>/dev/null) == draining ]]
}

is_draining() {
	drains p2pmem0
}

is_quarantined() {
	[[ $(attr p2pmem0 state 2>/dev/null) == quarantined ]]
}

# event_waits REGEX - the event waits, and a line of holders says for whom; who asks anew is not let in.
event_waits() {
	within 20 is_draining
	sleep 1
	! event_ended || fail "the event did not wait for the holder: $(cat "$WORK/event")"
	is_draining || fail "the region is not draining any more"
	matches holders "(^|"$'\n'")$1" "$(attr p2pmem0 holders)"
	exits 1 'No such device' regio read p2pmem0 0 4096 /dev/null
}

unbind_gpu() {
	echo "$LAB_GPU_BDF" >/sys/bus/pci/drivers/p2pmem/unbind
}

gpu_is_back() {
	[[ -n $(labctl env | sed -n 's/.*LAB_GPU_BDF=\([^ ]\+\) .*/\1/p') ]]
}

plug_gpu() {
	labctl plug gpu
	within 20 gpu_is_back
}

# bar_start BDF BAR
bar_start() {
	sed -n "$(($2 + 1))s/ .*//p" "/sys/bus/pci/devices/$1/resource"
}

# not_taken_for_quarantined - who asks for a region of the card that came into the slot has none.
not_taken_for_quarantined() {
	local conf=$WORK/conf path
	mkdir -p "$conf"
	path=$(donard-cli region candidates --json |
		jq -er ".candidates[] | select(.bdf == \"$LAB_GPU_BDF\" and .bar == 2) | .path")
	printf '[card]\npath = %s\nkind = pci-bar\nbar = 2\n' "$path" >"$conf/regions.conf"
	donard-cli region apply --dry-run --json --config "$conf" >"$WORK/apply" || true
	equal "what there is for the card: $(<"$WORK/apply")" 'card absent ' \
		"$(jq -r '.regions[] | "\(.name) \(.status) \(.region)"' "$WORK/apply")"
}

# add_off_quarantine START - the card that came into the slot gets a region only if its BAR lies elsewhere than at START.
add_off_quarantine() {
	not_taken_for_quarantined
	if ! donard-cli region add --kind pci-bar --device "$LAB_GPU_BDF" --bar 2 >"$WORK/add" 2>"$WORK/why"; then
		matches "why no region was added" 'p2pmem0,? (which )?is in quarantine' "$(<"$WORK/why")"
		matches "what there is for the card" 'the memory of p2pmem0, which is in quarantine: end its holders' \
			"$(donard-cli region candidates --json)"
		matches "kernel log" 'BAR2 lies on memory that p2pmem0 keeps in quarantine' "$(dmesg)"
		return
	fi
	[[ $(bar_start "$LAB_GPU_BDF" 2) != "$1" ]] || fail "a region on memory in quarantine"
	donard-cli region remove "$(<"$WORK/add")"
}
