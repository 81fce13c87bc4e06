# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The kernel's interface, by uapi.c; and what becomes of it around a reset.

# of_uapi NAME [BDF] - and nothing stays held.
of_uapi() {
	uapi "$@"
	within 10 region_is_free p2pmem0
	within 10 region_is_free p2pmem2
}

# reset_is_told REGION COMMAND - which makes the device lose its enable bit.
reset_is_told() {
	dmesg -C
	LOSE=$2 REGION=/dev/$1 uapi reset-is-told-once
	matches "kernel log" 'was reset' "$(dmesg)"
	within 10 region_is_free "$1"
}

# The emulator's PMR stays enabled over every reset, so its register is cleared by hand.
pmr_reset_is_told() {
	reset_is_told p2pmem2 "poke $LAB_BETA_BDF 0xe04 0"
}

# On 6.x the nvme driver disables the CMB at each reset; on 7 a mark in the memory shows the reset.
cmb_reset_is_told() {
	reset_is_told p2pmem1 "echo 1 >$(reset_attribute "$LAB_ALPHA_BDF")"
}

# function_reset_is_told REGION BDF METHOD - the kernel resets the whole function.
function_reset_is_told() {
	local dir=/sys/bus/pci/devices/$2 before
	before=$(<"$dir/reset_method")
	[[ " $before " == *" $3 "* ]] || fail "$2 has no reset by $3, only by: $before"
	at_end "echo $before >$dir/reset_method"
	echo "$3" >"$dir/reset_method"
	reset_is_told "$1" "echo 1 >$dir/reset"
	region_works "$1"
}

# Bytes go in and come out, after whatever was.
region_works() {
	random_file "$WORK/data" "$MIB"
	regio write "$1" $((8 * MIB)) "$MIB" "$WORK/data"
	regio read "$1" $((8 * MIB)) "$MIB" "$WORK/seen"
	same_bytes "bytes of $1" "$WORK/data" "$WORK/seen" "$MIB"
}

reset_attribute() {
	local path
	for path in "/sys/bus/pci/devices/$1/nvme/"nvme*/reset_controller; do
		echo "$path"
	done
}

# The emulator's PMR is ready at once, so the module answers for it.
pmr_is_not_ready_yet() {
	local answer=/sys/module/answer
	at_end "[[ ! -d $answer ]] || rmmod answer"
	UNREADY="insmod /opt/donard/modules/answer.ko symbol=pmr_ready value=0" READY="rmmod answer" \
		LOSE="poke $LAB_BETA_BDF 0xe04 0" CALLS=$answer/parameters/calls unready
	within 10 region_is_free p2pmem2
}

# The port above the drive forwards no requests to its memory: the drive's configuration answers, and its registers do not. A call
# would take 90 s if it waited for the end of resets.
pmr_is_out_of_reach() {
	local port
	port=$(readlink -f "/sys/bus/pci/devices/$LAB_BETA_BDF/..")
	port=${port##*/}
	at_end "setpci -s $port COMMAND=2:2"
	setpci -s "$port" COMMAND=0:2
	exits 1 'Input/output error' timeout 60 dd if=/dev/p2pmem2 of=/dev/null bs=4096 count=1
	exits 1 'Input/output error' timeout 60 sync /dev/p2pmem2
	setpci -s "$port" COMMAND=2:2
	region_works p2pmem2
}

# Tries a range again of which the kernel has once made half. None of the kernel's own functions can be made to fail so here
# (failnth.sh). percpu_ref_init() is the first call of memremap_pages(), and leaves its allocation behind.
half_made_range_is_told() {
	local answer=/sys/module/answer
	local -a add=(donard-cli region add --kind pci-bar --device "$LAB_GPU_BDF" --bar 2)
	at_end "region_exists p2pmem0 || ${add[*]} >/dev/null; give_to_group p2pmem0"
	at_end "[[ ! -d $answer ]] || rmmod answer"
	insmod /opt/donard/modules/answer.ko symbol=percpu_ref_init value=-17
	uapi half-made-add "$LAB_GPU_BDF"
	exits 1 'did not undo it: reboot, or take another range' "${add[@]}"
	equal "how often the kernel began" 2 "$(<"$answer/parameters/calls")"
	rmmod answer
	"${add[@]}" >/dev/null
	region_works p2pmem0
}

# barriers COMMAND... - how often the emulator sees PMRSTS, offset 0xe08, be read meanwhile: the barrier of PMRCAP.PMRWBM.
barriers() {
	watch_dma
	"$@"
	stop_watching
	tail -c "+$((DMA_FROM + 1))" /mnt/lab/trace.log | grep -c 'pci_nvme_mmio_read.*0xe08' || true
}

# pmr_written DD-OPTION...
pmr_written() {
	barriers dd if=/dev/zero of=/dev/p2pmem2 bs=4096 count=4 seek=1024 conv=notrunc status=none "$@"
}

# The first access asks whether the PMR is ready, by the same register.
pmr_barrier() {
	pmr_written >/dev/null
	equal "barriers of two durable SYNCs" 2 "$(barriers uapi sync-durable)"
}

# A program that does not know SYNC.
pmr_barrier_of_a_write() {
	pmr_written >/dev/null
	equal "barriers of four writes" 0 "$(pmr_written)"
	equal "barriers of four writes with O_DSYNC" 4 "$(pmr_written oflag=dsync)"
}

# The PMR's content survives the removal of its region.
pmr_survives_its_region() {
	random_file "$WORK/data" "$MIB"
	regio write p2pmem2 $((8 * MIB)) "$MIB" "$WORK/data"
	donard-cli region remove p2pmem2
	donard-cli region add --kind nvme-pmr --device "$LAB_BETA_BDF" >/dev/null
	give_to_group p2pmem2
	regio read p2pmem2 $((8 * MIB)) "$MIB" "$WORK/seen"
	same_bytes "the PMR" "$WORK/data" "$WORK/seen" "$MIB"
}

# stores_to REGION KIND BDF REGEX - leaves in $STORES the registers that its removal and its adding write, of those that match,
# in this order.
stores_to() {
	local event='"execute":"trace-event-set-state","arguments":{"name":"pci_nvme_mmio_write","enable"'
	DMA_FROM=$(stat -c %s /mnt/lab/trace.log)
	at_end "labctl qmp '{$event:false}}'"
	labctl qmp "{$event:true}}" >/dev/null
	donard-cli region remove "$1"
	donard-cli region add --kind "$2" --device "$3" >/dev/null
	labctl qmp "{$event:false}}" >/dev/null
	give_to_group "$1"
	STORES=$(tail -c "+$((DMA_FROM + 1))" /mnt/lab/trace.log | sed -nE "s/.*pci_nvme_mmio_write addr ($4) .*/\\1/p" | paste -sd ' ')
}

# If CMSE, which is in the low half, is set while the high half of the address is missing, a controller takes the host's memory for its own.
no_host_memory_is_claimed() {
	stores_to p2pmem2 nvme-pmr "$LAB_BETA_BDF" '0xe14|0xe18'
	equal "of PMRMSC, whose low half is 0xe14" '0xe14 0xe18 0xe14 0xe18 0xe14' "$STORES"
	# The nvme driver enables the CMB that it publishes.
	if ! can pool; then
		stores_to p2pmem1 nvme-cmb "$LAB_ALPHA_BDF" '0x50|0x54'
		equal "of CMBMSC, whose low half is 0x50" '0x50 0x54 0x50 0x54 0x50 0x54 0x50' "$STORES"
	fi
}

# On 6.x a reset disables the CMB: it is enabled again before it is used.
cmb_after_reset() {
	echo 1 >"$(reset_attribute "$LAB_ALPHA_BDF")"
	data_on_alpha "$MIB"
	copy "$LAB_ALPHA" p2pmem1 --size 1M --verify
	regio read p2pmem1 0 "$MIB" "$WORK/seen"
	same_bytes "the CMB" "$WORK/data" "$WORK/seen" "$MIB"
}

page_type_p2pdma() {
	with_page_type p2pmem0 p2pdma
	uapi two-files-differ
	within 10 region_is_free p2pmem0
	uapi probe-switch "$LAB_ALPHA_BDF"
}

# P2PDMA pages have one memory type, so another one in the request is refused rather than ignored.
p2pdma_memtype() {
	donard-cli region remove p2pmem0
	at_end "donard-cli region add --kind pci-bar --device $LAB_GPU_BDF --bar 2 >/dev/null; give_to_group p2pmem0"
	for type in wc wb; do
		add_refused 'p2pdma are always uc here: leave the memory type out, or use page type generic' \
			--kind pci-bar --device "$LAB_GPU_BDF" --bar 2 --page-type p2pdma --memtype "$type"
	done
	donard-cli region add --kind pci-bar --device "$LAB_GPU_BDF" --bar 2 --page-type p2pdma --memtype uc >/dev/null
	equal "what was asked for" uc "$(attr p2pmem0 memtype)"
	donard-cli region remove p2pmem0
}

no_p2pdma() {
	exits 1 'not supported' bash -c 'echo p2pdma >/sys/class/p2pmem/p2pmem0/page_type'
	equal "page type" generic "$(attr p2pmem0 page_type)"
}

of_ring() {
	data_on_alpha $((16 * MIB))
	ring "$1" "$LAB_ALPHA"
	within 10 region_is_free p2pmem0
}

# A user's ring does not read bytes that root left.
ring_shows_nothing_else() {
	random_file "$WORK/data" $((4 * MIB))
	regio write p2pmem0 0 $((4 * MIB)) "$WORK/data"
	as user ring zeros none
	within 10 region_is_free p2pmem0
}

ring_of_p2pdma() {
	with_page_type p2pmem0 p2pdma
	of_ring p2pdma
}

of_32_bits() {
	int80
	within 10 region_is_free p2pmem0
}

attributes() {
	equal kind pci-bar "$(attr p2pmem0 kind)"
	equal bdf "$LAB_GPU_BDF" "$(attr p2pmem0 bdf)"
	equal bar 2 "$(attr p2pmem0 bar)"
	equal size $((512 * MIB)) "$(attr p2pmem0 size)"
	equal memtype wc "$(attr p2pmem0 memtype)"
	equal persistent "0 0 1" "$(attr p2pmem0 persistent) $(attr p2pmem1 persistent) $(attr p2pmem2 persistent)"
	equal kinds "nvme-cmb nvme-pmr" "$(attr p2pmem1 kind) $(attr p2pmem2 kind)"
	equal state ready "$(attr p2pmem0 state)"
	equal holders "" "$(attr p2pmem0 holders)"
}

# add_refused REGEX ARGUMENT... - and it leaves nothing behind.
add_refused() {
	local regex=$1
	local -a before=(/sys/class/p2pmem/p2pmem*) after
	shift
	exits 3 "$regex" donard-cli region add "$@"
	after=(/sys/class/p2pmem/p2pmem*)
	equal "regions" "${before[*]}" "${after[*]}"
}

# Bytes for which a durable SYNC vouches must not lie in a cache.
no_write_back_for_persistent() {
	donard-cli region remove p2pmem2
	at_end "region_exists p2pmem2 || donard-cli region add --kind nvme-pmr --device $LAB_BETA_BDF; give_to_group p2pmem2"
	add_refused 'wb would leave stores in the CPU.s cache.*use wc or uc' \
		--kind nvme-pmr --device "$LAB_BETA_BDF" --memtype wb
	donard-cli region add --kind nvme-pmr --device "$LAB_BETA_BDF" >/dev/null
	equal "default" wc "$(attr p2pmem2 memtype)"
	uapi sync-durable
}

unwritable_add() {
	at_end "region_exists p2pmem0 || donard-cli region add --kind pci-bar --device $LAB_GPU_BDF --bar 2 >/dev/null"
	at_end "give_to_group p2pmem0"
	of_uapi unwritable-add "$LAB_GPU_BDF"
}

unprefetchable() {
	donard-cli region remove p2pmem0
	insmod /opt/donard/modules/unprefetch.ko bdf="$LAB_GPU_BDF" bar=2
	at_end "donard-cli region add --kind pci-bar --device $LAB_GPU_BDF --bar 2 >/dev/null; give_to_group p2pmem0"
	at_end "region_gone p2pmem0 || donard-cli region remove p2pmem0; rmmod unprefetch"
	for type in wc wb; do
		add_refused "BAR2 of $LAB_GPU_BDF is not prefetchable.*use memory type uc" \
			--kind pci-bar --device "$LAB_GPU_BDF" --bar 2 --memtype "$type"
	done
	donard-cli region add --kind pci-bar --device "$LAB_GPU_BDF" --bar 2 >/dev/null
	equal "default" uc "$(attr p2pmem0 memtype)"
	region_works p2pmem0
}

for name in $(tests_of uapi); do
	case $name in
	probe-switch) core t "$name" of_uapi "$name" "$LAB_ALPHA_BDF" ;;
	add-twice) core t "$name" of_uapi "$name" "$LAB_GPU_BDF" ;;
	unwritable-add) t "$name" unwritable_add ;;
	half-made-add | reset-is-told-once | control-without-capability) ;; # below; perm.sh
	mmap-reads-zero | pinned-for-long) t "$name" of_uapi "$name" ;;
	*) core t "$name" of_uapi "$name" ;;
	esac
done
if can ring-buffers; then
	core t "ring buffer, data" of_ring data
	core t "ring buffer, another user's bytes" ring_shows_nothing_else
	core t "ring buffer, bad input" of_ring bad-input
	t "ring buffer, p2pdma pages" ring_of_p2pdma
else
	core t "ring buffer, none before Linux 7.3" of_ring none
fi
# The debug kernels run no 32-bit programs.
can debug || t "ioctls of a 32-bit program" of_32_bits
core t "attributes" attributes
core t "reset of the PMR is told once" pmr_reset_is_told
core t "bus reset of the BAR is told once" function_reset_is_told p2pmem0 "$LAB_GPU_BDF" bus
core t "FLR under the CMB is told once" function_reset_is_told p2pmem1 "$LAB_ALPHA_BDF" flr
t "bus reset under the CMB is told once" function_reset_is_told p2pmem1 "$LAB_ALPHA_BDF" bus
t "FLR under the PMR is told once" function_reset_is_told p2pmem2 "$LAB_BETA_BDF" flr
core t "controller reset under the CMB is told once" cmb_reset_is_told
t "no write-back for persistent memory" no_write_back_for_persistent
t "BAR that is not prefetchable" unprefetchable
# The debug kernels would report the allocation of percpu_ref_init() as a leak.
can debug || t "a range that the kernel half made" half_made_range_is_told
core t "barrier of the PMR" pmr_barrier
core t "barrier of a write with O_DSYNC" pmr_barrier_of_a_write
t "PMR that is not ready yet" pmr_is_not_ready_yet
core t "PMR whose registers do not answer" pmr_is_out_of_reach
core t "PMR survives its region" pmr_survives_its_region
core t "no drive claims host memory" no_host_memory_is_claimed
core t "CMB after a reset" cmb_after_reset
if can p2pdma; then
	core t "page type p2pdma" page_type_p2pdma
	t "page type p2pdma, memory type" p2pdma_memtype
else
	core t "page type p2pdma is refused" no_p2pdma
fi
