# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A persistent region as a pmem device of the kernel: page type pmem. Its barrier is a read of the drive's PMRSTS, which
# the emulator's trace shows.

# shellcheck source=removal.sh
. ./removal.sh

# pt NAME FUNCTION [ARG...] - t, with beta's PMR as a pmem device.
pt() {
	t "$1" with_pmem "${@:2}"
}

with_pmem() {
	at_end pmr_as_before
	donard-cli region remove p2pmem2
	donard-cli region add --kind nvme-pmr --device "$LAB_BETA_BDF" --page-type pmem
	equal "disk of p2pmem2" pmem0 "$(attr p2pmem2 pmem)"
	"$@"
}

# pmr_as_before - makes p2pmem2 the drive's PMR again, with its own pages, whatever state the drive is in.
pmr_as_before() {
	stale_env
	if [[ -z ${LAB_BETA_BDF-} ]]; then
		labctl plug beta
		labctl wait-drives
		stale_env
	fi
	region_gone p2pmem2 || donard-cli region remove p2pmem2
	donard-cli region add --kind nvme-pmr --device "$LAB_BETA_BDF" >/dev/null
	give_to_group p2pmem2
}

with_dax() {
	with_file_system_on_pmem
	"$@"
}

with_file_system_on_pmem() {
	mkfs.ext4 -q -F -b 4096 /dev/pmem0
	mkdir -p /mnt/dax
	mount -t ext4 -o dax /dev/pmem0 /mnt/dax
	at_end "! mountpoint -q /mnt/dax || umount /mnt/dax"
}

# barriers COMMAND... - how many the drive saw meanwhile, in $BARRIERS.
barriers() {
	watch_dma
	"$@" >"$WORK/out" 2>&1 || fail "$*: $(<"$WORK/out")"
	stop_watching
	BARRIERS=$(tail -c "+$((DMA_FROM + 1))" /mnt/lab/trace.log | grep -c 'pci_nvme_mmio_read.*0xe08' || true)
}

at_least() {
	((BARRIERS >= $2)) || fail "$1: expected $2 barriers or more, seen $BARRIERS"
}

# --- the device ---

claim_of_pmr() {
	local start
	start=$(printf '%x' $(($(awk 'NR == 5 { print $1 }' "/sys/bus/pci/devices/$LAB_BETA_BDF/resource"))))
	sed -n "s/^ *$start-.* : //p" /proc/iomem | tail -n 1
}

is_a_pmem_device() {
	local model
	model=$(donard-cli list --json | jq -c '.regions[] | select(.name == "p2pmem2") | [.page_type, .pmem, .available, .memtype, .persistent]')
	equal "the region" '["pmem","pmem0",0,"wc",true]' "$model"
	matches "info" 'pmem +pmem0' "$(donard-cli info p2pmem2)"
	equal "bytes" "$(attr p2pmem2 size)" "$(blockdev --getsize64 /dev/pmem0)"
	equal "claim of the BAR" namespace0.0 "$(claim_of_pmr)"
	equal "dax of the disk" 1 "$(</sys/block/pmem0/queue/dax)"
	matches "ndctl" '"provider":"p2pmem2"' "$(ndctl list -B | tr -d ' \n')"
	donard-cli region remove p2pmem2
	equal "claim of the BAR afterwards" nvme "$(claim_of_pmr)"
	[[ ! -e /dev/pmem0 ]] || fail "the disk is there without its region"
}

# --- the barrier ---

writes_and_barriers() {
	barriers dd if=/dev/zero of=/dev/pmem0 bs=4k count=8 oflag=direct
	equal "barriers of writes that ask for none" 0 "$BARRIERS"
	barriers dd if=/dev/zero of=/dev/pmem0 bs=4k count=8 oflag=direct conv=fsync
	equal "barriers of eight writes and an fsync" 1 "$BARRIERS"
	barriers dd if=/dev/zero of=/dev/pmem0 bs=4k count=8 oflag=direct,dsync
	at_least "eight synchronous writes" 8
}

# A power cut leaves the bytes of the PMR that the host has.
survives_a_cut() {
	barriers dax store /mnt/dax/file "kept by msync"
	at_least "msync of a mapping" 1
	cp "$(backing beta)" "$WORK/cut"
	e2fsck -fy "$WORK/cut" >"$WORK/out" 2>&1 || (($? == 1)) || wrong "e2fsck: $(<"$WORK/out")"
	debugfs -R 'cat /file' "$WORK/cut" >"$WORK/kept" 2>/dev/null
	exactly "content after the cut" "kept by msync" "$(head -c 13 "$WORK/kept")"
}

no_map_sync() {
	exits 1 'mmap: Operation not supported' dax sync /mnt/dax/file
}

# libpmem asks for MAP_SYNC, and so takes the file for none that instructions flush.
pmdk() {
	barriers dax pmdk /mnt/dax/file "kept by libpmem"
	equal "what libpmem takes it for" "is_pmem 0, pmem_is_pmem() 0" "$(<"$WORK/out")"
	at_least "pmem_msync" 1
	exactly "content" "kept by libpmem" "$(head -c 15 /mnt/dax/file)"
}

writecache() {
	dmsetup create lab-cache --noudevsync --table \
		"0 $(blockdev --getsz "$LAB_ALPHA") writecache $1 $LAB_ALPHA /dev/pmem0 4096 0"
}

writecache_modes() {
	local node
	modprobe dm-writecache
	exits 1 'Operation not supported' writecache p
	dd if=/dev/zero of=/dev/pmem0 bs=1M count=1 oflag=direct status=none
	writecache s
	at_end "dmsetup remove --noudevsync lab-cache"
	node=/dev/$(dmsetup info -c --noheadings -o blkdevname lab-cache)
	barriers dd if=/dev/zero of="$node" bs=4k count=8 oflag=direct,dsync
	at_least "eight synchronous writes to the cache" 8
}

# dm-writecache in mode s uses barriers, and destages by way of DRAM: nothing goes from drive to drive.
writecache_destages() {
	local node count=256
	modprobe dm-writecache
	dd if=/dev/zero of=/dev/pmem0 bs=1M count=1 oflag=direct status=none
	writecache s
	at_end "dmsetup remove --noudevsync lab-cache"
	node=/dev/$(dmsetup info -c --noheadings -o blkdevname lab-cache)
	watch_dma
	dd if=/dev/urandom of="$node" bs=4k count=$count oflag=direct,dsync status=none
	dmsetup message lab-cache 0 flush
	seen_dma
	BARRIERS=$(grep -c 'pci_nvme_mmio_read.*0xe08' "$WORK/trace" || true)
	echo "$count synchronous writes: $BARRIERS barriers; destaged from DRAM $(dram write) bytes, from the PMR $(dma write pmr)"
	at_least "$count synchronous writes" $count
	exactly "bytes that a drive took out of the PMR" 0 "$(dma write pmr)"
	(($(dram write) >= count * 4096)) || fail "destaged from DRAM: $(dram write) bytes"
}

# ndctl_mode MODE - sets the mode of the only namespace. The test later removes what this writes into the PMR.
ndctl_mode() {
	at_end ndctl_undone
	ndctl create-namespace -f -e namespace0.0 -m "$@" >"$WORK/ndctl" 2>&1
}

ndctl_undone() {
	region_gone p2pmem2 || ndctl destroy-namespace -f namespace0.0 >/dev/null
}

# A btt requests a flush for each of its own records, with a spinlock held.
sector_mode() {
	ndctl_mode sector
	equal "disk of p2pmem2" pmem0s "$(attr p2pmem2 pmem)"
	barriers dd if=/dev/urandom of=/dev/pmem0s bs=4k count=8 oflag=direct
	at_least "eight writes in sector mode" 16
	mkfs.ext4 -q -F -b 4096 /dev/pmem0s
	mkdir -p /mnt/dax
	mount -t ext4 /dev/pmem0s /mnt/dax
	at_end "! mountpoint -q /mnt/dax || umount /mnt/dax"
	exits 1 'its pmem device /dev/pmem0s is in use. Unmount it' donard-cli region remove p2pmem2
	echo "kept by a btt" >/mnt/dax/file
	umount /mnt/dax
	donard-cli region remove p2pmem2
	donard-cli region add --kind nvme-pmr --device "$LAB_BETA_BDF" --page-type pmem
	equal "disk of p2pmem2, added anew" pmem0s "$(attr p2pmem2 pmem)"
	mount -t ext4 /dev/pmem0s /mnt/dax
	exactly "content" "kept by a btt" "$(</mnt/dax/file)"
	umount /mnt/dax
}

# Neither has pages, so the route is derived from the topology alone.
no_pages() {
	donard-cli topo >"$WORK/with"
	ndctl disable-namespace namespace0.0 >/dev/null
	equal_none "disk of p2pmem2" attr p2pmem2 pmem
	donard-cli topo >"$WORK/without"
	same_bytes "routes without pages" "$WORK/without" "$WORK/with" "$(stat -c %s "$WORK/with")"
	ndctl_mode sector
	donard-cli topo >"$WORK/without"
	same_bytes "routes in sector mode" "$WORK/without" "$WORK/with" "$(stat -c %s "$WORK/with")"
}

# refused_mode MODE DRIVER - its device gets no driver, and the namespace goes back.
refused_mode() {
	modprobe "$2"
	! ndctl_mode "$1" || fail "mode $1 was not refused: $(<"$WORK/ndctl")"
	compgen -G '/dev/dax*' && fail "mode $1 has a device"
	equal_none "disk of p2pmem2" attr p2pmem2 pmem
	donard-cli region remove p2pmem2
	donard-cli region add --kind nvme-pmr --device "$LAB_BETA_BDF" --page-type pmem
	equal "disk of p2pmem2, added anew" pmem0 "$(attr p2pmem2 pmem)"
}

# A flush in sector mode reports a reset, too.
sector_mode_reset() {
	ndctl_mode sector
	echo 1 >"$(echo "/sys/bus/pci/devices/$LAB_BETA_BDF/nvme/"nvme*/reset_controller)"
	exits 1 'Input/output error' dd if=/dev/zero of=/dev/pmem0s bs=4k count=1 oflag=direct
	within 10 counted_reset
}

counted_reset() {
	(($(attr p2pmem2 resets) > 0))
}

# Nobody knows whose writes were lost: every flush fails, until the region is added anew.
reset_is_told() {
	echo 1 >"$(echo "/sys/bus/pci/devices/$LAB_BETA_BDF/nvme/"nvme*/reset_controller)"
	exits 1 'Input/output error' dd if=/dev/zero of=/dev/pmem0 bs=4k count=1 oflag=direct,dsync
	exits 1 'Input/output error' dd if=/dev/zero of=/dev/pmem0 bs=4k count=1 oflag=direct,dsync
	donard-cli region remove p2pmem2
	donard-cli region add --kind nvme-pmr --device "$LAB_BETA_BDF" --page-type pmem
	barriers dd if=/dev/zero of=/dev/pmem0 bs=4k count=1 oflag=direct conv=fsync
	equal "barriers after it was added anew" 1 "$BARRIERS"
}

# --- its memory is nobody else's ---

no_memory_for_files() {
	exits 1 'Operation not supported' regio read p2pmem2 0 4096 "$WORK/data"
	exits 1 'Operation not supported' dd if=/dev/p2pmem2 of="$WORK/data" bs=4k count=1
	exits 3 'p2pmem2: it is the pmem device /dev/pmem0, whose driver alone has the memory. Use that device, or remove' \
		donard-cli copy "$LAB_ALPHA" p2pmem2 --size 1M
}

refusals() {
	local add=(donard-cli region add --page-type pmem --kind)
	at_end restore_gpu
	donard-cli region remove p2pmem0
	exits 3 'memory of kind pci-bar is volatile, and a pmem device is not: use the Persistent Memory Region' \
		"${add[@]}" pci-bar --device "$LAB_GPU_BDF" --bar 2
	restore_gpu
	exits 1 'the PMR of .* is a region already' "${add[@]}" nvme-pmr --device "$LAB_BETA_BDF"
	exits 3 'only when it is added. Remove it' donard-cli region set p2pmem2 --page-type generic
	exits 3 'only when it is added. Remove it' donard-cli region set p2pmem0 --page-type pmem
	donard-cli region remove p2pmem2
	exits 3 'a pmem device are made by its driver: leave the size of folios out|need Linux 7.0' \
		"${add[@]}" nvme-pmr --device "$LAB_BETA_BDF" --folio 2M
	equal "claim of the BAR after refusals" nvme "$(claim_of_pmr)"
}

# Only the CPU can move the bytes of such a file, and donard refuses it even if bounces are allowed.
dax_file_is_refused() {
	local before bounce
	local why='^donard-cli: copy: /mnt/dax/file: pmem0 is a persistent memory device, not an NVMe drive\. Name'
	dax store /mnt/dax/file "kept by msync"
	before=$(sha256sum /mnt/dax/file)
	for bounce in "" --allow-bounce; do
		exits 1 "$why" donard-cli copy /mnt/dax/file p2pmem0 --size 1M ${bounce:+"$bounce"}
		exits 1 "$why" donard-cli copy p2pmem0 /mnt/dax/file --size 1M ${bounce:+"$bounce"}
	done
	exactly "the file" "$before" "$(sha256sum /mnt/dax/file)"
}

# The modules are not installed.
no_driver() {
	donard-cli region remove p2pmem2
	[[ ! -d /sys/module/dax_pmem ]] || rmmod dax_pmem
	rmmod nd_pmem
	rmmod nd_btt libnvdimm
	mkdir -p /run/modprobe.d
	printf 'install %s /bin/false\n' nd_pmem libnvdimm >/run/modprobe.d/lab.conf
	at_end "rm -f /run/modprobe.d/lab.conf"
	exits 3 'the kernel has no pmem driver: install the modules libnvdimm and nd_pmem' \
		donard-cli region add --kind nvme-pmr --device "$LAB_BETA_BDF" --page-type pmem
	equal "claim of the BAR" nvme "$(claim_of_pmr)"
	printf 'install %s /bin/false\n' nd_pmem >/run/modprobe.d/lab.conf
	modprobe libnvdimm
	exits 3 'the kernel has no pmem driver: install the modules libnvdimm and nd_pmem' \
		donard-cli region add --kind nvme-pmr --device "$LAB_BETA_BDF" --page-type pmem
	equal "claim of the BAR, with half of them" nvme "$(claim_of_pmr)"
}

# --- saved, and brought back ---

saved() {
	local dir=$WORK/conf
	donard-cli region save --config "$dir" p2pmem2 >/dev/null
	grep -q '^page-type = pmem$' "$dir"/regions.d/*.conf || fail "saved: $(cat "$dir"/regions.d/*.conf)"
	donard-cli region remove p2pmem2
	donard-cli region apply --config "$dir" >/dev/null
	equal "disk of p2pmem2" pmem0 "$(attr p2pmem2 pmem)"
}

# --- its end ---

mounted_stays() {
	matches "holders" '^0 pmem0 67108864 0$' "$(attr p2pmem2 holders)"
	exits 1 'its pmem device /dev/pmem0 is in use. Unmount it' donard-cli region remove p2pmem2
	exits 1 'its pmem device /dev/pmem0 is in use. Unmount it' donard-cli region remove p2pmem2 --if-idle
	exits 1 'is in use' rmmod p2pmem
	barriers dax store /mnt/dax/file "still there"
	at_least "msync afterwards" 1
}

# Its claim is made again before it gives all of them up.
driver_leaves_idle() {
	local bdf=$LAB_BETA_BDF
	unbind_nvme "$bdf"
	touch /run/lab-env-stale
	region_gone p2pmem2 || fail "the region is there without its driver"
	[[ ! -e /sys/block/pmem0 ]] || fail "the disk is there without its region"
	equal "claim of the BAR without a driver" "$bdf" "$(claim_of "$bdf")"
	! grep -q 'nonexistent resource' < <(dmesg) || fail "a claim was given up twice"
	bind_nvme "$bdf"
	equal "claim of the BAR" nvme "$(claim_of_pmr)"
}

state_of_pmr() {
	[[ $(attr p2pmem2 state 2>/dev/null) == "$1" ]]
}

# pmr_waits - the event that removes the PMR waits for the process that has the disk open.
pmr_waits() {
	within 20 state_of_pmr draining
	sleep 3	# nvme's own remove() is over by then
	! event_ended || fail "the event did not wait: $(<"$WORK/event")"
	matches holders '^0 pmem0 67108864 0$' "$(attr p2pmem2 holders)"
}

holder_dies() {
	kill -KILL "$HOLDER"
	within 10 ended "$HOLDER"
}

# with_mapped FUNCTION - a process maps a page of a file, HOLDER.
with_mapped() {
	dax hold /mnt/dax/held >"$WORK/held" &
	HOLDER=$!
	at_end "kill -KILL $HOLDER 2>/dev/null || true"
	within 10 grep -q mapped "$WORK/held"
	"$@"
}

# The file system goes on, with the barrier, until it is unmounted and the last mapping of a file of it is gone.
driver_leaves() {
	local bdf=$LAB_BETA_BDF
	in_background unbind_nvme "$bdf"
	touch /run/lab-env-stale
	pmr_waits
	barriers dax store /mnt/dax/file "meanwhile"
	at_least "msync meanwhile" 1
	umount -l /mnt/dax
	pmr_waits
	holder_dies
	event_succeeds
	region_gone p2pmem2 || fail "the region is there without its driver"
	[[ ! -e /sys/block/pmem0 ]] || fail "the disk is there without its region"
	bind_nvme "$bdf"
	equal "claim of the BAR" nvme "$(claim_of_pmr)"
}

# A file's page in a pipe has no mapping, and up to 6.14 no file system refers to it: the removal still waits for it.
page_in_a_pipe() {
	dax pipe /mnt/dax/piped >"$WORK/piped" &
	HOLDER=$!
	at_end "kill -KILL $HOLDER 2>/dev/null || true"
	within 10 grep -q piped "$WORK/piped"
	in_background unmount_and_remove
	sleep 3	# for what must not happen
	! event_ended || fail "the region did not wait: $(<"$WORK/event")"
	region_exists p2pmem2 || fail "the region is gone"
	holder_dies
	event_succeeds
	region_gone p2pmem2 || fail "the region is there"
}

unmount_and_remove() {
	umount /mnt/dax
	donard-cli region remove p2pmem2
}

claim_of() {
	LAB_BETA_BDF=$1 claim_of_pmr
}

unplugged() {
	dax store /mnt/dax/file "before"
	in_background labctl unplug beta
	touch /run/lab-env-stale
	pmr_waits
	umount /mnt/dax
	event_succeeds
	within 20 region_gone p2pmem2
}

# --- surprise removal: the drive is gone before anyone was asked ---

# Flushes without registers fail; the region ends when the file system is unmounted.
surprise() {
	dax store /mnt/dax/file "before"
	labctl surprise-remove "$LAB_BETA_BDF"
	touch /run/lab-env-stale
	within 30 state_of_pmr quarantined
	! dax store /mnt/dax/file "lost" 2>/dev/null || fail "a store without a device succeeded"
	umount /mnt/dax
	within 20 region_gone p2pmem2
	within 20 test ! -e "/sys/bus/pci/devices/$LAB_BETA_BDF"
}

if [[ $LAB_TOPOLOGY == pciehp ]]; then
	pt "surprise removal" with_dax surprise
	return
fi
core pt "a pmem device in lists" is_a_pmem_device
core pt "writes and barriers" writes_and_barriers
pt "msync survives a cut" with_dax survives_a_cut
pt "no MAP_SYNC" with_dax no_map_sync
pt "PMDK" with_dax pmdk
pt "dm-writecache" writecache_modes
pt "dm-writecache destages" writecache_destages
pt "reset is told" reset_is_told
pt "sector mode" sector_mode
pt "sector mode, and a reset" sector_mode_reset
pt "no pages" no_pages
pt "mode devdax" refused_mode devdax dax_pmem
pt "mode fsdax" refused_mode fsdax nd_pmem
pt "no memory for files" no_memory_for_files
core pt "refusals" refusals
pt "a file on DAX is refused" with_dax dax_file_is_refused
pt "saved" saved
core pt "mounted stays" with_dax mounted_stays
if can folios; then
	pt "page in a pipe" with_dax page_in_a_pipe
else
	skip "page in a pipe" "the unmount of kernel $LAB_KERNEL warns of such pages itself (dax_disassociate_entry())"
fi
pt "driver leaves" driver_leaves_idle
pt "driver leaves what is mounted" with_dax with_mapped driver_leaves
pt "unplugged" with_dax unplugged
pt "no driver" no_driver
