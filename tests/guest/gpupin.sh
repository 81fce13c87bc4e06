# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# GPU memory that processes pin: the region gpu-nvidia and P2PMEM_IOC_PIN_GPU, over the lab's GPU (modules/nvidia).
# What is checked without a word here: the lab's driver complains (in the kernel's log, so the test fails) of a write to
# memory that was freed, of a call from a callback or with a lock held that a callback takes, and of what stays pinned.

# shellcheck source=helpers/gpu.sh
. ./helpers/gpu.sh
# shellcheck source=removal.sh
. ./removal.sh

# with_lever NAME VALUE - until the end of the test.
with_lever() {
	at_end "lever $1 '$(lever "$1")'"
	lever "$1" "$2"
}

driver_is_idle() {
	[[ $(<"/sys/module/$1/refcnt") == 0 ]]
}

# add_gpu ARGUMENT... - and REGION is its node.
add_gpu() {
	local name
	name=$(donard-cli region add --kind gpu-nvidia --device "$LAB_GPU_BDF" "$@") || fail "no region"
	export REGION=/dev/${name##*/}
}

remove_gpu() {
	donard-cli region remove "${REGION##*/}"
}

# pins TEST [ARGUMENT...] - of gpupin, and nothing stays pinned.
pins() {
	leaves_nothing gpupin "$@"
}

# held TEST [ARGUMENT...] - the same, of gpuheld.
held() {
	leaves_nothing gpuheld "$@"
}

leaves_nothing() {
	"$@"
	within 10 nothing_is_pinned
	within 10 driver_is_idle "$GPU_MODULE"
	has_no_holder "${REGION##*/}"
}

attributes() {
	local region=${REGION##*/}
	equal kind gpu-nvidia "$(attr "$region" kind)"
	equal bdf "$LAB_GPU_BDF" "$(attr "$region" bdf)"
	equal bar 2 "$(attr "$region" bar)"
	equal "size, available" "$((512 * MIB)) 0" "$(attr "$region" size) $(attr "$region" available)"
	equal memtype wc "$(attr "$region" memtype)"
}

scattered() {
	with_lever scatter 1
	pins both-ways
	pins dmabuf
	pins drive "$LAB_BETA"
}

# --- the lab's driver itself ---

# complains RULE WORDS [LEVER] - of a caller that breaks this one (modules/nvidia/wrong.c).
complains() {
	with_lever expect_complaint 1
	lever complaint ''
	[[ -z ${3-} ]] || lever fail "$3"
	gpuheld breaks-rule "$1"
	matches "complaint" "$2" "$(lever complaint)"
}

# The process ends, and so does the module that left a pin.
complains_of_a_leak() {
	with_lever patience_s 1
	complains leak ''
	remove_gpu
	at_end "add_gpu $*"
	echo "$LAB_GPU_BDF" >/sys/bus/pci/drivers/nvidia/unbind
	matches "complaint" '65536 bytes at .* were never put' "$(lever complaint)"
	nothing_is_pinned || wrong "the driver has not forgotten it: $(lever pinned_pages)"
	echo "$LAB_GPU_BDF" >/sys/bus/pci/drivers/nvidia/bind
}

levers_are_checked() {
	local value
	for value in "putt 5" "put" "put 0" "put five" "put_persistent revoke" "get 5 6"; do
		exits 1 'Invalid argument' lever fail "$value"
	done
}

# --- what the driver says ---

# refused ERRNO-NUMBER WORDS - the driver's error becomes this one of userspace, with a reason.
refused() {
	local status=0 seen
	seen=$(gpupin pin-says 2>&1) || status=$?
	equal "exit status (it said: $seen)" 0 "$status"
	matches "what a pin says" "^$1: .*$2" "$seen"
	nothing_is_pinned || wrong "something stays pinned: $(lever pinned_pages)"
}

# driver_fails ERRNO-NUMBER ERRNO WORDS
driver_fails() {
	lever fail "get_persistent $1"
	refused "$2" "$3"
}

errors_of_the_driver() {
	driver_fails 12 ENOSPC "BAR1 of $LAB_GPU_BDF .512 MiB, 36 kept by the driver. has no room.*unpin some"
	driver_fails 22 EINVAL 'one cuMemAlloc'
	driver_fails 5 EIO "the driver of $LAB_GPU_BDF failed to pin.*errno 5"
	driver_fails 16 EBUSY 'is busy.*try again'
	driver_fails 19 ENODEV "has lost $LAB_GPU_BDF"
}

small_bar1() {
	with_lever bar1_mib 38
	refused ENOSPC 'has no room for 4096 KiB more'
	with_lever bar1_mib 0
	pins both-ways
}

# BAR1 has room for one pin: the next begins when the last one's has come back.
room_comes_back() {
	with_lever bar1_mib 40
	pins pinned-again
}

# The same for a driver with callbacks, where a request refers to a page of the first pin until the second is asked for.
room_comes_back_meanwhile() {
	with_lever bar1_mib 40
	held room-comes-back-meanwhile "$LAB_BETA"
	held room-comes-back-under-signals "$LAB_BETA"
}

# A driver that had no memory for the call is asked again, since nobody else will.
put_fails_once() {
	lever fail "put_persistent 12"
	pins both-ways
	equal "what is left of the lever" '' "$(lever fail)"
}

# After another error it must not be (it complains then), and nothing waits for it.
put_fails_for_good() {
	lever fail "put_persistent 5"
	dmesg -C
	gpupin both-ways
	within 10 driver_is_idle "$GPU_MODULE"
	equal "pages that stay pinned" 64 "$(lever pinned_pages)"
	matches "kernel log" 'did not take 4194304 bytes back .errno 5.: they stay pinned until it is unloaded' "$(dmesg)"
	remove_gpu
	at_end "add_gpu $*"
	echo "$LAB_GPU_BDF" >/sys/bus/pci/drivers/nvidia/unbind
	echo "$LAB_GPU_BDF" >/sys/bus/pci/drivers/nvidia/bind
	nothing_is_pinned || wrong "something stays pinned: $(lever pinned_pages)"
}

# Of a driver with a callback it is the callback that ends the pin.
put_fails() {
	local before
	before=$(lever callbacks)
	lever fail "put 12"
	held put-fails
	equal "callbacks: of the pin that was not taken back" $((before + 1)) "$(lever callbacks)"
	equal "what is left of the lever" '' "$(lever fail)"
}

virtual_gpu() {
	with_lever vgpu 1
	refused EOPNOTSUPP 'vGPU'
}

partitioned_gpu() {
	with_lever mig 1
	refused EOPNOTSUPP 'can take pinned memory back at any time.*add the region with page type'
}

unknown_table() {
	with_lever table_version $((0x30000))
	refused EOPNOTSUPP 'page table has version 0x30000.*install one that fits'
}

known_table() {
	with_lever table_version $((0x20000))
	pins both-ways
}

unknown_page_size() {
	with_lever page_size 2
	refused EOPNOTSUPP 'page size 2'
}

# The part of the aperture that is a region may leave out where the driver puts memory.
outside_of_the_region() {
	remove_gpu
	add_gpu --offset 256M --length 64M
	at_end "remove_gpu; add_gpu"
	refused ENXIO "a part of the BAR of $LAB_GPU_BDF that ${REGION##*/} leaves out"
}

region_is_refused() {
	exits 1 "is a region already" donard-cli region add --kind gpu-nvidia --device "$LAB_GPU_BDF"
	exits 3 "is driven by nvme: gpu-nvidia needs NVIDIA's open kernel module.*nvidia-open-kernel-dkms" \
		donard-cli region add --kind gpu-nvidia --device "$LAB_ALPHA_BDF"
}

# --- removal ---

# with_reads - a process that reads a drive into GPU memory until it is killed, in $READER.
with_reads() {
	mkfifo "$WORK/ready"
	gpupin reads-until-killed "$LAB_BETA" >"$WORK/ready" &
	READER=$!
	at_end "kill -KILL $READER 2>/dev/null || true; wait $READER 2>/dev/null || true"
	read -r <"$WORK/ready"
}

killed_under_reads() {
	local round
	for round in 1 2 3; do
		echo "round $round"
		with_reads
		kill -KILL "$READER"
		within 10 ended "$READER"
		within 10 nothing_is_pinned
		rm "$WORK/ready"
	done
	within 10 driver_is_idle "$GPU_MODULE"
}

driver_stays_while_pinned() {
	with_reads
	exits 1 'in use' rmmod "$GPU_MODULE"
	matches holders "^$READER gpupin $((4 * MIB)) " "$(attr "${REGION##*/}" holders)"
	kill -KILL "$READER"
	within 10 nothing_is_pinned
}

# The region goes while its pins are in use: they go back to the driver, not to their process.
region_removed_under_reads() {
	with_reads
	remove_gpu
	at_end "add_gpu $*"
	nothing_is_pinned || wrong "something stays pinned after the removal: $(lever pinned_pages)"
	[[ -e /proc/$READER ]] || fail "the reader is gone, so that nothing was shown"
}

# The driver is told to leave the GPU while memory is pinned and written to. It waits for its last user.
driver_unbound_under_reads() {
	with_reads
	echo "$LAB_GPU_BDF" >/sys/bus/pci/drivers/nvidia/unbind &
	within 10 region_gone "${REGION##*/}"
	kill -KILL "$READER"
	wait $!
	echo "$LAB_GPU_BDF" >/sys/bus/pci/drivers/nvidia/bind
	nothing_is_pinned || wrong "something stays pinned: $(lever pinned_pages)"
	add_gpu "$@"
}

# gpu_again [ARGUMENT...] - it is in its slot again: its driver is bound, and the region added.
gpu_again() {
	plug_gpu
	stale_env
	echo nvidia >"/sys/bus/pci/devices/$LAB_GPU_BDF/driver_override"
	echo "$LAB_GPU_BDF" >/sys/bus/pci/drivers_probe
	add_gpu "$@"
}

unplugged_under_reads() {
	with_reads
	in_background labctl unplug gpu
	within 20 region_gone "${REGION##*/}"
	kill -KILL "$READER"
	event_succeeds
	nothing_is_pinned || wrong "something stays pinned: $(lever pinned_pages)"
	gpu_again "$@"
}

driver_has_left() {
	[[ ! -e /sys/bus/pci/drivers/nvidia/$LAB_GPU_BDF ]]
}

gpu_is_quarantined() {
	[[ $(attr "${REGION##*/}" state 2>/dev/null) == quarantined ]]
}

vanishes_under_reads() {
	with_reads
	labctl surprise-remove "$LAB_GPU_BDF"
	within 30 region_gone "${REGION##*/}"
	kill -KILL "$READER"
	within 20 nothing_is_pinned
	within 20 driver_has_left
	gpu_again "$@"
}

# Pages stay pinned for long: they are in quarantine, and the driver, which has its pins back, may leave.
vanishes_while_pinned_for_long() {
	local child
	gpuheld child-keeps-it >"$WORK/child"
	child=$(<"$WORK/child")
	at_end "kill -KILL $child 2>/dev/null || true"
	labctl surprise-remove "$LAB_GPU_BDF"
	within 30 gpu_is_quarantined
	within 20 nothing_is_pinned
	within 20 driver_has_left
	within 20 driver_is_idle "$GPU_MODULE"
	matches holders "^[0-9]+ gpuheld $((4 * MIB)) 1024" "$(attr "${REGION##*/}" holders)"
	kill -KILL "$child"
	within 20 region_gone "${REGION##*/}"
	gpu_again "$@"
}

# The driver keeps what such a put was for, and its .remove waits for that.
vanishes_while_a_put_fails_once() {
	lever fail "put_persistent 12"
	vanishes_while_pinned_for_long "$@"
	equal "what is left of the lever" '' "$(lever fail)"
}

page_type_stays() {
	with_reads
	exits 1 busy eval "echo generic >/sys/class/p2pmem/${REGION##*/}/page_type"
	kill -KILL "$READER"
	within 10 nothing_is_pinned
}

# A process that had the GPU open has gone, and what it pinned is another one's: that alone keeps the driver.
pin_keeps_driver() {
	local child
	gpuheld child-keeps-it >"$WORK/child"
	child=$(<"$WORK/child")
	at_end "kill -KILL $child 2>/dev/null || true"
	exits 1 'in use' rmmod "$GPU_MODULE"
	kill -KILL "$child"
	within 10 nothing_is_pinned
	within 10 driver_is_idle "$GPU_MODULE"
}

# imported TEST - of gpuheld, with a module that imports; root lets importers stay that cannot be told to go.
imported() {
	[[ -d /sys/module/importer ]] || insmod /opt/donard/modules/importer.ko
	echo 1 >"/sys/class/p2pmem/${REGION##*/}/pinned_importers"
	at_end "echo 0 >/sys/class/p2pmem/${REGION##*/}/pinned_importers"
	held "$1" "$LAB_ALPHA_BDF"
}

# --- RDMA ---

# with_rxe - a device that software makes, which reaches itself.
with_rxe() {
	modprobe -a dummy rdma_rxe ib_uverbs
	ip link add gpurxe type dummy
	at_end "ip link delete gpurxe"
	ip addr add 10.79.0.1/24 dev gpurxe
	ip link set gpurxe up
	rdma link add gpurxe0 type rxe netdev gpurxe
	at_end "rdma link delete gpurxe0"
}

freed_under_rdma() {
	with_rxe
	leaves_nothing gpurdma gpurxe0 freed
}

called_back_under_rdma() {
	with_rxe
	leaves_nothing gpurdma gpurxe0 called-back
}

exits_under_rdma() {
	with_rxe
	leaves_nothing gpurdma gpurxe0 exits
}

is_unheld() {
	[[ -z $(attr "${REGION##*/}" holders) ]]
}

# killed_under_rdma ROUNDS SECONDS - of each, until the driver has its pages back. One that calls back waits 60 s for a
# registration of the same process if its file is released before that of verbs.
killed_under_rdma() {
	local round writer
	with_rxe
	mkfifo "$WORK/ready"
	for ((round = 1; round <= $1; round++)); do
		echo "round $round"
		gpurdma gpurxe0 killed >"$WORK/ready" &
		writer=$!
		at_end "kill -KILL $writer 2>/dev/null || true"
		read -r <"$WORK/ready"
		kill -KILL "$writer"
		within "$2" ended "$writer"
		within "$2" nothing_is_pinned
	done
	within 10 driver_is_idle "$GPU_MODULE"
	within 10 is_unheld
	has_no_holder "${REGION##*/}"
}

# The region goes, and what was saved of it brings it back, under the same number.
saved_and_applied() {
	local name=${REGION##*/} file
	donard-cli region save "$name" --config "$WORK/conf"
	file=$(echo "$WORK/conf/regions.d/gpu-"*.conf)
	matches "what was saved" $'\nkind = gpu-nvidia\nbar = [1-5]\n' "$(<"$file")"
	matches "what apply says of it" ' present ' "$(donard-cli region apply --config "$WORK/conf")"
	donard-cli region remove "$name"
	matches "what apply did" ' added ' "$(donard-cli region apply --config "$WORK/conf")"
	[[ -c $REGION ]] || fail "the region has another number: $(ls /dev/p2pmem*)"
}

# --- both drivers ---

# for_all MODULE [ARGUMENT...] - for all tests until without_gpu: the driver, and its region, added with these arguments.
for_all() {
	GPU_MODULE=$1
	if [[ $1 == nvidia_callback ]]; then
		with_gpu --callback
	else
		with_gpu
	fi
	# shellcheck disable=SC2034 # lib.sh reads it
	AT_END=()
	add_gpu "${@:2}"
}

persistent_pins() {
	local name
	for_all nvidia
	t "lab: put twice" complains put-twice 'of what is not pinned'
	t "lab: put after the callback" complains put-late 'after the callback, and after another pin was made' 'get revoke'
	t "lab: put at another address" complains put-elsewhere "of another kind or address than the get's"
	t "lab: unmapped twice" complains unmap-twice 'an unmapping of what is not mapped'
	t "lab: a call in the callback" complains call-in-callback 'from inside of a free callback' 'get revoke'
	t "lab: put by another process" complains put-by-another 'from another process does nothing'
	t "lab: put again after it failed" complains put-again-after-failure 'again after it failed' 'put_persistent 5'
	# A kernel with checks of its own reports these two itself.
	can debug || {
		t "lab: put with preemption off" complains put-in-atomic 'from atomic context'
		t "lab: a lock kept by the callback" complains lock-in-callback 'left a lock held' 'get revoke'
	}
	t "lab: a leak" complains_of_a_leak
	t "lab: levers are checked" levers_are_checked
	for name in $(tests_of gpupin); do
		t "$name" pins "$name"
	done
	core t "a drive reads and writes it" pins drive "$LAB_BETA"
	t "pages that lie apart" scattered
	t "outlives its allocation" pins outlives-its-allocation
	t "attributes" attributes
	t "saved and applied" saved_and_applied
	core t "errors of the driver" errors_of_the_driver
	t "BAR1 is too small" small_bar1
	t "room that comes back" room_comes_back
	t "driver does not take it back at once" put_fails_once
	t "driver does not take it back" put_fails_for_good
	t "virtual GPU" virtual_gpu
	t "partitioned GPU, generic pages by default" partitioned_gpu
	t "unknown page table" unknown_table
	t "page table of newer drivers" known_table
	t "unknown page size" unknown_page_size
	t "outside of the region" outside_of_the_region
	t "region is refused" region_is_refused
	core t "killed under reads" killed_under_reads
	t "exits under reads" pins exits-under-reads "$LAB_BETA"
	t "driver stays while pinned" driver_stays_while_pinned
	core t "region removed under reads" region_removed_under_reads
	t "driver unbound under reads" driver_unbound_under_reads
	t "unplugged under reads" unplugged_under_reads
	t "freed under a ring's requests" held freed-under-a-ring "$LAB_BETA"
	t "handed to another program" held handed-on alive
	t "page type stays while pinned" page_type_stays
	! can fixed-buffers || t "a pin keeps the driver" pin_keeps_driver
	t "freed under RDMA" freed_under_rdma
	t "exits under RDMA" exits_under_rdma
	t "killed under RDMA" killed_under_rdma 3 10
	without_gpu
}

# revocable_pins TYPE - of a driver without the persistent calls, with pages of that type.
revocable_pins() {
	local name type=$1
	for_all nvidia_callback --page-type "$type"
	for name in $(tests_of gpupin); do
		t "callback, $type: $name" pins "$name"
	done
	t "callback, $type: a drive reads and writes it" pins drive "$LAB_BETA"
	t "callback, $type: what is freed is gone" pins freed-is-gone
	t "callback, $type: freed after a failed export" pins freed-after-a-failed-export
	t "callback, $type: freed at any moment" pins freed-at-any-moment
	t "callback, $type: freed while it is pinned" revoked_in get
	t "callback, $type: freed while it is put" revoked_in put
	core t "callback, $type: freed under reads" pins freed-under-reads "$LAB_BETA"
	t "callback, $type: closed by another process" pins closed-by-another-process
	t "callback, $type: killed under reads" killed_under_reads
	t "callback, $type: exits under reads" pins exits-under-reads "$LAB_BETA"
	t "callback, $type: driver stays while pinned" driver_stays_while_pinned
	t "callback, $type: region removed under reads" callback_region_removed --page-type "$type"
	t "callback, $type: driver unbound under reads" driver_unbound_under_reads --page-type "$type"
	t "callback, $type: unplugged under reads" unplugged_under_reads --page-type "$type"
	t "callback, $type: driver does not take it back" put_fails
	t "callback, $type: freed under a ring's requests" held freed-under-a-ring "$LAB_BETA"
	t "callback, $type: held by a request" held held-by-a-request "$LAB_BETA"
	t "callback, $type: room that comes back" room_comes_back_meanwhile
	t "callback, $type: dma-buf of what was freed" held dmabuf-shows-nothing-else
	core t "callback, $type: half of a dma-buf" held half-of-a-dmabuf
	if can revocable; then
		t "callback, $type: importers let go" imported importers-let-go
		t "callback, $type: importers that would stay" imported importers-that-stay
	else
		t "callback, $type: no importer" imported no-importer
	fi
	t "callback, $type: handed to another program" held handed-on gone
	if [[ $type == p2pdma ]]; then
		t "callback, $type: not pinned for long" pins not-pinned-for-long
		t "callback, $type: held by a request, beside exports" held held-beside-exports "$LAB_BETA"
	else
		t "callback, $type: freed under RDMA" called_back_under_rdma
		! can thorough || t "callback, $type: killed under RDMA" killed_under_rdma 1 90
	fi
	if [[ $type == generic ]] && can thorough && can fixed-buffers; then
		t "callback, $type: freed while pinned for long" pinned_for_long
	fi
	without_gpu
}

# revoked_in CALL - the owner frees at that moment.
revoked_in() {
	lever fail "$1 revoke"
	if [[ $1 == get ]]; then
		refused EINVAL 'was freed while it was being pinned'
	else
		pins both-ways
	fi
	equal "what is left of the lever" '' "$(lever fail)"
}

# The process alone can put its pins: they go with it.
callback_region_removed() {
	with_reads
	remove_gpu
	at_end "add_gpu $*"
	kill -KILL "$READER" 2>/dev/null || true
	within 10 nothing_is_pinned
}

pinned_for_long() {
	dmesg -C
	pins freed-while-pinned-for-long
	matches "kernel log" 'pinned for good.*fenced off until it is unpinned' "$(dmesg)"
}

default_is_refused() {
	with_gpu --callback
	add_gpu
	refused EOPNOTSUPP 'can take pinned memory back at any time.*add the region with page type'
}

# All of BAR1 has struct pages of the driver's own: those are used, and none is taken out of its pool.
static_bar1() {
	local name
	GPU_MODULE=$1
	if [[ $1 == nvidia_callback ]]; then
		with_gpu --callback static_bar1=1
	else
		with_gpu static_bar1=1
	fi
	add_gpu
	equal "page type" p2pdma "$(attr "${REGION##*/}" page_type)"
	for name in "${@:2}"; do
		echo "$name"
		# shellcheck disable=SC2086 # a test, and its argument
		pins $name
	done
	pool_is_whole
}

# pool_is_whole - and each page is at rest: the CPU gets all of it by the pool's own mapping.
pool_is_whole() {
	local pool=/sys/bus/pci/devices/$LAB_GPU_BDF/p2pmem
	equal "pages that the driver's pool has left" "$(<"$pool/size")" "$(<"$pool/available")"
	equal "BAR, in bytes" $((512 * MIB)) "$(<"$pool/size")"
	python3 -c 'import mmap, os, sys; mmap.mmap(os.open(sys.argv[1], os.O_RDWR), int(sys.argv[2]))' \
		"$pool/allocate" $((64 * MIB))
}

static_bar1_is_fixed() {
	with_gpu static_bar1=1
	exits 3 "has struct pages of type p2pdma for BAR2 itself .static BAR1.: use that type" \
		donard-cli region add --kind gpu-nvidia --device "$LAB_GPU_BDF" --page-type generic
	add_gpu
	exits 3 '.static BAR1., and the region keeps that type.*RMForceStaticBar1' \
		donard-cli region set "${REGION##*/}" --page-type generic
	equal "page type" p2pdma "$(attr "${REGION##*/}" page_type)"
	exits 1 'not supported' eval "echo generic >/sys/class/p2pmem/${REGION##*/}/page_type"
}

static_bar1_under_reads() {
	GPU_MODULE=nvidia
	with_gpu static_bar1=1
	add_gpu
	killed_under_reads
	region_removed_under_reads --page-type p2pdma
	kill -KILL "$READER"
	pool_is_whole
}

# The machine whose slots can lose their power.
surprises() {
	for_all nvidia --page-type generic
	t "surprise removal under reads" vanishes_under_reads --page-type generic
	t "surprise removal while pinned for long" vanishes_while_pinned_for_long --page-type generic
	t "surprise removal, driver does not take it back at once" vanishes_while_a_put_fails_once --page-type generic
	without_gpu
	for_all nvidia_callback --page-type p2pdma
	t "callback: surprise removal under reads" vanishes_under_reads --page-type p2pdma
	without_gpu
}

if [[ $LAB_TOPOLOGY == pciehp ]]; then
	surprises
	return
fi
persistent_pins
if can p2pdma; then
	t "static BAR1" static_bar1 nvidia both-ways several-pins-of-a-file reads-and-writes locate-and-copy \
		"drive $LAB_BETA" dmabuf bad-input pinned-again outlives-its-allocation
	t "static BAR1, callback" static_bar1 nvidia_callback both-ways freed-is-gone freed-at-any-moment \
		"freed-under-reads $LAB_BETA" not-pinned-for-long
	t "static BAR1: no other page type" static_bar1_is_fixed
	t "static BAR1: killed under reads, region removed" static_bar1_under_reads
fi
core t "callback, default: refused" default_is_refused
revocable_pins generic
! can p2pdma || revocable_pins p2pdma
