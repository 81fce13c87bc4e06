# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Devices that are made of drives: md's raid0, raid1 and raid10, and device-mapper's linear and striped, as LVM makes
# them. Each leg goes past DRAM, by the emulator's trace, and is proven; what must see the data is refused by name.
# shellcheck source=/dev/null
. helpers/held_copy.sh
# shellcheck source=helpers/two_paths.sh
. helpers/two_paths.sh

readonly BYTES=$((4 * MIB))
# A leg, in sectors: 64 MiB. Each drive has three, and one of 640 MiB, since XFS takes no less than 300 MiB.
readonly LEG_SECTORS=131072
# The bytes that 64 chunks cost on the raid10 below: four for each three, and one more.
# The proofs of the legs move a few blocks each, and md writes its superblocks and its bitmap from DRAM.
readonly RAID10_WRITTEN=$(((21 * 4 + 1) * 65536))
readonly PROOF=$((64 << 10)) METADATA=$((256 << 10))

# --- what the devices are made of ---

# legs_of DRIVE - four partitions.
legs_of() {
	python3 - "$LEG_SECTORS" >"$WORK/table" <<-'END'
		import struct, sys
		sectors = int(sys.argv[1])
		entries = (struct.pack("<B3sB3sII", 0, bytes(3), 0x83, bytes(3), 2048 + i * sectors, sectors * (10 if i == 3 else 1))
			   for i in range(4))
		sys.stdout.buffer.write(bytes(446) + b"".join(entries) + b"\x55\xaa")
	END
	dd if="$WORK/table" of="$1" bs=512 oflag=direct conv=notrunc status=none
	blockdev --rereadpt "$1"
	within 5 test -b "${1}p4"
}

udev_is_gone() {
	! pgrep udev >/dev/null
}

# udev would read each new device to identify its contents, and the trace would show that.
make_legs() {
	pkill -KILL udev || true
	within 20 udev_is_gone
	modprobe -qa raid0 raid1 raid10 raid456 dm-mod || fail "this kernel's md or device-mapper does not load"
	legs_of "$LAB_ALPHA"
	legs_of "$LAB_BETA"
}

# array LEVEL COUNT PART... [-- OPTION...] - /dev/md7 of these, until the end of the test.
array() {
	local level=$1 count=$2
	shift 2
	mdadm --create /dev/md7 --run --level="$level" --raid-devices="$count" --assume-clean "$@" \
		>"$WORK/mdadm" 2>&1 </dev/null || fail "mdadm: $(cat "$WORK/mdadm")"
	at_end end_array
	NODE=/dev/md7
}

end_array() {
	local drive
	mdadm --stop /dev/md7 >/dev/null 2>&1
	refresh_env
	for drive in "$LAB_ALPHA" "$LAB_BETA"; do
		wipefs -qa "${drive}p1" "${drive}p4"
	done
}

# mapped NAME TABLE... - a device-mapper device, until the end of the test.
mapped() {
	local name=$1
	shift
	printf '%s\n' "$@" | dmsetup create "$name" --noudevsync >"$WORK/dmsetup" 2>&1 ||
		fail "dmsetup: $(cat "$WORK/dmsetup")"
	at_end "dmsetup remove --noudevsync $name"
	NODE=/dev/$(node_of "$name")
}

node_of() {
	local folder
	for folder in /sys/block/dm-*; do
		[[ $(<"$folder/dm/name") != "$1" ]] || echo "${folder##*/}"
	done
}

raid0() {
	array 0 2 --chunk=64 "${LAB_ALPHA}p1" "${LAB_BETA}p1"
}

large_raid0() {
	array 0 2 --chunk=64 "${LAB_ALPHA}p4" "${LAB_BETA}p4"
}

raid1() {
	array 1 2 --bitmap=internal "${LAB_ALPHA}p1" "${LAB_BETA}p1"
}

# Of three, one is missing: a chunk is on slots 0 and 1, the next on 2 and 0, the third on 1 and 2, and so on. (Two
# partitions of one drive would do as well, but md warns of them.)
raid10() {
	array 10 3 --chunk=64 "${LAB_ALPHA}p1" missing "${LAB_BETA}p1"
}

# The second drive begins within the first MiB: a copy of 4 MiB goes to both.
linear() {
	mapped lab-linear "0 2048 linear ${LAB_ALPHA}p1 2048" "2048 126976 linear ${LAB_BETA}p1 4096"
}

striped() {
	mapped lab-striped "0 65536 striped 2 128 ${LAB_ALPHA}p1 2048 ${LAB_BETA}p1 4096"
}

# A logical volume that begins on one drive and ends on the other.
volume() {
	local -a lvm=(--quiet --quiet -y --config 'activation { udev_sync=0 udev_rules=0 }')
	{
		pvcreate "${lvm[@]}" -ff "${LAB_ALPHA}p1" "${LAB_BETA}p1"
		vgcreate "${lvm[@]}" -s 1M lab "${LAB_ALPHA}p1" "${LAB_BETA}p1"
		at_end "vgremove ${lvm[*]@Q} -ff lab; pvremove ${lvm[*]@Q} ${LAB_ALPHA}p1 ${LAB_BETA}p1"
		lvcreate "${lvm[@]}" -Wn -Zn -n data -l 1 lab "${LAB_ALPHA}p1"
		lvextend "${lvm[@]}" -l +31 lab/data "${LAB_BETA}p1"
	} >"$WORK/lvm" 2>&1 || fail "LVM: $(cat "$WORK/lvm")"
	NODE=/dev/$(node_of lab-data)
}

# --- what a copy does ---

# moved_straight read|write BYTES - by the trace: to or from the BAR, and nothing but metadata in DRAM.
moved_straight() {
	local seen dram
	read -r seen dram < <(jq -r ".bytes | \"\(.$1.gpu) \([.read, .write | .ram + .elsewhere] | add)\"" "$WORK/witness")
	((seen >= $2 && seen <= $2 + PROOF)) ||
		wrong "NVMe ${1}s at the BAR: expected $2 bytes, seen $seen: $(cat "$WORK/witness")"
	((dram <= METADATA)) ||
		wrong "NVMe in DRAM: expected at most $METADATA bytes of metadata, seen $(cat "$WORK/witness")"
}

# legs_are COUNT - each by the switch, and proven.
legs_are() {
	equal "legs of $RESULT" "$1" "$(jq '.legs | length' <<<"$RESULT")"
	equal "their routes" '["switch","proven"]' "$(jq -c '[.legs[] | .route, .route_evidence] | unique | sort_by(. != "switch")' <<<"$RESULT")"
	equal "evidence of the copy" proven "$(field route_evidence)"
}

# both_ways FILE-OR-DEVICE WRITTEN LEGS - out of it and into it, which writes so many bytes to the legs.
both_ways() {
	local node=$1 written=$2 legs=$3
	random_file "$WORK/data" "$BYTES"
	dd if="$WORK/data" of="$node" bs=1M oflag=direct conv=notrunc status=none
	echo 3 >/proc/sys/vm/drop_caches
	watch_dma
	copy "$node" p2pmem0 --size "$BYTES" --block-size 256K
	seen_dma
	result_is "$BYTES" switch 0
	legs_are "$legs"
	moved_straight read "$BYTES"
	same_bytes "the BAR" "$(backing gpu)" "$WORK/data" "$BYTES"

	random_file "$WORK/data" "$BYTES"
	regio write p2pmem0 0 "$BYTES" "$WORK/data"
	# The file is created anew; the devices below it are examined again at the end, as for an existing file.
	[[ ! -f $node ]] || rm "$node"
	watch_dma
	copy p2pmem0 "$node" --size "$BYTES" --block-size 256K
	seen_dma
	result_is "$BYTES" switch 0
	legs_are "$legs"
	moved_straight write "$written"
	copy p2pmem0 "$node" --size "$BYTES" --verify
	dd if="$node" of="$WORK/seen" bs=1M count=$((BYTES / MIB)) iflag=direct status=none
	same_bytes "what the device holds" "$WORK/seen" "$WORK/data" "$BYTES"
}

# goes MAKE WRITTEN LEGS
goes() {
	"$1"
	both_ways "$NODE" "$2" "$3"
}

# In a far layout it is unknown which leg has which bytes: the write is correct, and its route only predicted.
far_copies() {
	array 10 2 --layout=f2 --chunk=64 "${LAB_ALPHA}p1" "${LAB_BETA}p1"
	random_file "$WORK/data" "$BYTES"
	regio write p2pmem0 0 "$BYTES" "$WORK/data"
	watch_dma
	copy p2pmem0 "$NODE" --size "$BYTES"
	seen_dma
	result_is "$BYTES" switch 0
	moved_straight write $((2 * BYTES))
	equal "evidence of a write" predicted "$(field route_evidence)"
	copy "$NODE" p2pmem0+64M --size "$BYTES" --verify
	legs_are 2
	same_bytes "the BAR" "$(backing gpu)" "$WORK/data" "$BYTES" $((64 * MIB))
}

# While md copies one leg to the other by itself, requests go straight.
in_resync() {
	mdadm --create /dev/md7 --run --level=1 --raid-devices=2 --bitmap=none "${LAB_ALPHA}p4" "${LAB_BETA}p4" \
		>"$WORK/mdadm" 2>&1 </dev/null || fail "mdadm: $(cat "$WORK/mdadm")"
	at_end end_array
	echo 1000 >/sys/block/md7/md/sync_speed_max
	random_file "$WORK/data" "$BYTES"
	regio write p2pmem0 0 "$BYTES" "$WORK/data"
	copy p2pmem0 /dev/md7 --size "$BYTES" --verify
	result_is "$BYTES" switch 0
	legs_are 2
	equal "what md does" resync "$(cat /sys/block/md7/md/sync_action)"
}

# file_on MAKE TYPE WRITTEN LEGS - on a file system on it.
file_on() {
	local options
	"$1"
	# Inode tables that ext4 fills after the mount would count as DRAM.
	[[ $2 == ext4 ]] && options=noinit_itable || options=rw
	with_file_system "$2" "$NODE" "$options"
	truncate -s 0 /mnt/fs/file
	both_ways /mnt/fs/file "$3" "$4"
}

is_unshared() {
	[[ ! $(xfs_io -r -c 'fiemap -v' "$1") =~ 0x2 ]]
}

# XFS has reserved other places for the blocks behind one that it copied, and writes them there, though they are shared no more.
shared_before() {
	large_raid0
	with_file_system xfs "$NODE"
	random_file "$WORK/data" "$MIB"
	dd if="$WORK/data" of=/mnt/fs/file bs=1M oflag=direct status=none
	regio write p2pmem0 0 "$MIB" "$WORK/data"
	cp --reflink=always /mnt/fs/file /mnt/fs/copy
	dd if=/dev/zero of=/mnt/fs/file bs=4K count=1 oflag=direct conv=notrunc status=none
	rm /mnt/fs/copy
	within 10 is_unshared /mnt/fs/file
	copy p2pmem0 /mnt/fs/file --size "$MIB" --verify
	result_is "$MIB" switch 0
	equal "evidence of a write to what was moved meanwhile" predicted "$(field route_evidence)"
}

# Which legs there are, and that md's write to both is what the trace calls twice the bytes.
legs_in_text() {
	raid1
	donard-cli copy "$NODE" p2pmem0 --size 1M >"$WORK/out" || fail "status $?"
	matches "text of a copy" "leg       ${LAB_ALPHA##*/}p1 of md7: switch, proven" "$(cat "$WORK/out")"
	matches "text of a copy" "leg       ${LAB_BETA##*/}p1 of md7: switch, proven" "$(cat "$WORK/out")"
}

# p2pdma_on MAKE - only what the kernel lets through; the refusal says what to do.
p2pdma_on() {
	with_page_type p2pmem0 p2pdma
	"$1"
	case $1 in
	raid*) both_ways "$NODE" "$2" "$3" ;;
	*)
		exits 1 "does not let P2PDMA pages.* pass through dm-.*generic pages" donard-cli copy "$NODE" p2pmem0 --size 1M
		# A Controller Memory Buffer that the nvme driver publishes cannot have generic pages.
		[[ $(attr p2pmem1 page_type) != p2pdma ]] ||
			exits 1 "pass through dm-.*nvme driver owns this.* Use a region of another kind" \
				donard-cli copy "$NODE" p2pmem1 --size 1M
		;;
	esac
}

# --- refusals ---

# refused REGEX [ARG...] - out of it and into it, with status 3 and nothing moved.
refused() {
	local regex=$1
	shift
	watch_dma
	exits 3 "$regex" donard-cli copy "$NODE" p2pmem0 --size 1M "$@"
	exits 3 "$regex" donard-cli copy p2pmem0 "$NODE" --size 1M "$@"
	seen_dma
	exactly "bytes that were moved" "0 0" "$(dma read gpu) $(dma write gpu)"
}

refused_raid5() {
	array 5 3 "${LAB_ALPHA}p1" "${LAB_BETA}p1" missing
	refused "md7 is a software RAID of the level 'raid5', for which the CPU must see all data"
}

refused_target() {
	mapped "lab-$1" "$2"
	refused "dm-[0-9]+ \(lab-$1\) is a device-mapper device with the target '$1', which .*linear or striped"
}

refused_module() {
	modprobe "$1"
	refused_target "$2" "$3"
}

# dm-crypt reads into the BAR by DMA, and the CPU then decrypts the bytes there, which no trace of DMA and no proof shows.
refused_crypt() {
	modprobe dm-crypt
	refused_target crypt "0 65536 crypt aes-xts-plain64 $(printf '%0128d' 0 | tr 0 a | sed 's/^a/b/') 0 ${LAB_ALPHA}p1 0"
}

# It takes zeros for a device that it may begin to use, and nothing that an earlier test left there.
refused_integrity() {
	dd if=/dev/zero of="${LAB_ALPHA}p1" bs=4096 count=1 oflag=direct conv=notrunc status=none
	refused_module dm-integrity integrity "0 8192 integrity ${LAB_ALPHA}p1 0 16 D 0"
}

# Below a device that would do.
refused_below() {
	modprobe dm-crypt
	refused_crypt
	mapped lab-above "0 32768 linear $NODE 0"
	refused "\(lab-crypt\) is a device-mapper device with the target 'crypt'"
}

refused_passthrough() {
	"$1"
	refused "is made of other devices, and --passthrough sends commands to one drive" --passthrough
}

refused_loop_leg() {
	local loop
	modprobe -q loop || true
	truncate -s 32M "$WORK/disk"
	loop=$(losetup -f --show "$WORK/disk")
	at_end "losetup -d $loop"
	mapped lab-loop "0 2048 linear ${LAB_ALPHA}p1 0" "2048 2048 linear $loop 0"
	exits 1 "leg loop[0-9]+ of dm-[0-9]+ is a loop device, not an NVMe drive" donard-cli copy "$NODE" p2pmem0 --size 1M
}

# Write-behind copies writes through DRAM. Reads go directly.
write_behind() {
	mdadm --create /dev/md7 --run --level=1 --raid-devices=2 --assume-clean --bitmap=internal --write-behind=64 \
		"${LAB_ALPHA}p1" --write-mostly "${LAB_BETA}p1" >"$WORK/mdadm" 2>&1 </dev/null || fail "$(cat "$WORK/mdadm")"
	at_end end_array
	copy /dev/md7 p2pmem0 --size "$BYTES"
	result_is "$BYTES" switch 0
	exits 3 "would go through DRAM: raid1 with write-mostly legs and a backlog writes behind.*--allow-bounce" \
		donard-cli copy p2pmem0 /dev/md7 --size 1M
	copy p2pmem0 /dev/md7 --size "$BYTES" --allow-bounce
	result_is "$BYTES" bounced "$BYTES"
	equal "route of a leg" bounced "$(field 'legs[0].route')"
}

suspended() {
	linear
	dmsetup suspend --noudevsync lab-linear
	at_end "dmsetup resume --noudevsync lab-linear"
	refused "\(lab-linear\) is suspended"
}

# Both lie on the same bytes.
overlapping() {
	linear
	exits 1 "source and destination share bytes" donard-cli copy "${LAB_BETA}p1" "$NODE" --size 1M
	mapped lab-other "0 2048 linear ${LAB_ALPHA}p1 32768"
	copy /dev/"$(node_of lab-linear)" "$NODE" --size 1M --verify
	result_is "$MIB" switch 0
}

# Two volumes of one array lie beside each other.
volumes_of_one_array() {
	local array
	raid1
	array=$NODE
	mapped lab-first "0 16384 linear $array 0"
	mapped lab-second "0 16384 linear $array 16384"
	copy /dev/"$(node_of lab-first)" "$NODE" --size 1M --verify
	result_is "$MIB" switch 0
	mapped lab-third "0 16384 linear $array 16000"
	exits 1 "source and destination share bytes" donard-cli copy /dev/"$(node_of lab-first)" "$NODE" --size 1M
}

# A node that stayed when its volume went, and whose number another has now.
stale_volume_node() {
	local number name
	mapped lab-precious "0 2048 linear ${LAB_ALPHA}p1 2048"
	number=$(<"/sys/block/${NODE##*/}/dev")
	mkdir -p /dev/mapper /dev/lab
	for name in mapper/lab-data lab/data; do
		mknod "/dev/$name" b "${number%:*}" "${number#*:}"
		at_end "rm /dev/$name"
		exits 1 "/dev/$name: its node leads to ${NODE##*/} \(lab-precious\), and not to ${name#mapper/}" \
			donard-cli copy p2pmem0 "/dev/$name" --size 1M
	done
	mknod /dev/mapper/lab-precious b "${number%:*}" "${number#*:}"
	at_end "rm /dev/mapper/lab-precious"
	copy p2pmem0 /dev/mapper/lab-precious --size 1M
	result_is "$MIB" switch 0
}

# The kernel's nvmet target opens its exports without O_EXCL, so nothing protects them.
exported() {
	local subsystem=/sys/kernel/config/nvmet/subsystems/lab-export
	modprobe -q nvmet || fail "this kernel's nvmet does not load"
	mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
	mkdir "$subsystem" "$subsystem/namespaces/1"
	at_end "rmdir $subsystem/namespaces/1 $subsystem"
	echo "${LAB_BETA}p1" >"$subsystem/namespaces/1/device_path"
	echo 1 >"$subsystem/namespaces/1/enable"
	at_end "echo 0 >$subsystem/namespaces/1/enable"
	exits 1 "${LAB_BETA}p1: this machine exports it \($subsystem/namespaces/1\)" donard-cli copy p2pmem0 "${LAB_BETA}p1" --size 1M
	exits 1 "$LAB_BETA: this machine exports it" donard-cli copy p2pmem0 "$LAB_BETA" --size 1M
	copy p2pmem0 "${LAB_BETA}p2" --size 1M
	result_is "$MIB" switch 0
	echo 0 >"$subsystem/namespaces/1/enable"
	copy p2pmem0 "${LAB_BETA}p1" --size 1M
	result_is "$MIB" switch 0
}

# The devices below are not written.
leg_in_use() {
	raid1
	exits 1 "${LAB_BETA}p1: md7 is made of it" donard-cli copy p2pmem0 "${LAB_BETA}p1" --size 1M
	exits 1 "${LAB_BETA}: md7 is made of it" donard-cli copy p2pmem0 "$LAB_BETA" --size 1M
}

# An ordinary user may read no tables, only which targets are in use at all.
ordinary_user() {
	linear
	chmod o+r "$NODE" "${LAB_ALPHA}p1" "${LAB_BETA}p1"
	at_end "chmod o-r $NODE ${LAB_ALPHA}p1 ${LAB_BETA}p1"
	random_file "$WORK/data" "$BYTES"
	dd if="$WORK/data" of="$NODE" bs=1M oflag=direct status=none
	RESULT=$(as user donard-cli copy "$NODE" p2pmem0 --size "$BYTES" --json)
	result_is "$BYTES" switch 0
	legs_are 2
	same_bytes "the BAR" "$(backing gpu)" "$WORK/data" "$BYTES"
	chmod o-r "${LAB_BETA}p1"
	RESULT=$(as user donard-cli copy "$NODE" p2pmem0 --size "$BYTES" --json)
	result_is "$BYTES" switch 0
	equal "evidence with a leg that the user may not open" predicted "$(field route_evidence)"
	equal "evidence of the legs" "predicted proven" "$(jq -r '[.legs[].route_evidence] | sort | join(" ")' <<<"$RESULT")"
	modprobe dm-crypt
	mapped lab-crypt "0 65536 crypt aes-xts-plain64 $(printf '%0128d' 0 | tr 0 a | sed 's/^a/b/') 0 ${LAB_ALPHA}p2 0"
	exits 1 "shows its table only to root.*Run as root" as user donard-cli copy "/dev/$(node_of lab-linear)" p2pmem0 --size 1M
}

# --- legs that fail ---

degraded() {
	raid1
	mdadm --quiet /dev/md7 --fail "${LAB_BETA}p1"
	both_ways "$NODE" "$BYTES" 1
	mdadm --quiet /dev/md7 --remove "${LAB_BETA}p1"
	both_ways "$NODE" "$BYTES" 1
	exits 0 "leg  *${LAB_ALPHA##*/}p1 of md7" donard-cli copy "$NODE" p2pmem0 --size 1M
}

restore_beta() {
	labctl plug beta
	labctl wait-drives
	stale_env
	within 20 test -b "${LAB_BETA}p1"
	donard-cli region add --kind nvme-pmr --device "$LAB_BETA_BDF" >/dev/null
	give_to_group p2pmem2
}

# pulled MAKE - the leg beta goes while a copy of the array is in flight.
pulled() {
	raid1_or_0=$1
	"$1"
	donard-cli region remove p2pmem2
	at_end restore_beta
	at_end "mdadm --stop /dev/md7"
	start_copy beta p2pmem0 "$NODE"
	labctl unplug beta
	if [[ $raid1_or_0 == raid0 ]]; then
		copy_ends 1 drive-gone "leg ${LAB_BETA##*/}p1 of md7 went away during the transfer: its controller $LAB_BETA_BDF"
	else
		within 60 copy_is_over
		wait "$COPY" || fail "the copy failed with one leg of two: $(cat "$WORK/copy.err")"
		exactly "bytes that were copied" $((60 * MIB)) "$(jq .bytes "$WORK/copy")"
		exactly "bytes that bounced" 0 "$(jq .bounced_bytes "$WORK/copy")"
	fi
	nobody_holds p2pmem0
}

# changed HOW... - changes the devices below while a copy is in flight.
changed() {
	linear
	start_copy beta "$NODE" p2pmem0
	"$@"
	labctl slow beta 0
	within 40 copy_is_over
	wait "$COPY" || fail "the copy failed: $(cat "$WORK/copy.err")"
	equal "bytes that bounced, and how that is known" "$((60 * MIB)) changed" \
		"$(jq -r '"\(.bounced_bytes) \(.bounced_evidence)"' "$WORK/copy")"
}

moved_to_other_leg() {
	printf '%s\n' "0 2048 linear ${LAB_ALPHA}p1 2048" "2048 126976 linear ${LAB_BETA}p3 4096" |
		dmsetup load lab-linear
	dmsetup resume --noudevsync lab-linear
}

moved_within_leg() {
	printf '%s\n' "0 2048 linear ${LAB_ALPHA}p1 2048" "2048 126976 linear ${LAB_BETA}p1 2048" |
		dmsetup load lab-linear
	dmsetup resume --noudevsync lab-linear
}

# Bytes that were written before may lie where nothing leads to them now. donard cannot know, so it does not call them durable.
changed_destination() {
	local why="the devices below .* changed during the copy"
	linear
	start_copy beta p2pmem0 "$NODE"
	"$@"
	labctl slow beta 0
	within 40 copy_is_over
	wait "$COPY" || fail "the copy failed: $(cat "$WORK/copy.err")"
	equal "bytes that bounced, how that is known, durable" "$((60 * MIB)) changed false" \
		"$(jq -r '"\(.bounced_bytes) \(.bounced_evidence) \(.durable)"' "$WORK/copy")"
	matches "why it is not" "$why" "$(jq -r .durable_reason "$WORK/copy")"
}

# Nobody asks a device that is no drive whether it flushes.
moved_to_loop() {
	local loop
	truncate -s 64M "$WORK/disk"
	modprobe loop
	loop=$(losetup --show --find "$WORK/disk")
	at_end "losetup --detach $loop"
	printf '%s\n' "0 2048 linear ${LAB_ALPHA}p1 2048" "2048 126976 linear $loop 0" | dmsetup load lab-linear
	dmsetup resume --noudevsync lab-linear
	why='whether dm-.* is flushed is not known: donard cannot read all of what it is made of now'
}

# extended LEG EVIDENCE - as lvextend does while the volume is in use: by a leg that it has, or by another one. Its bytes stay.
extended() {
	linear
	start_copy beta p2pmem0 "$NODE"
	printf '%s\n' "0 2048 linear ${LAB_ALPHA}p1 2048" "2048 126976 linear ${LAB_BETA}p1 4096" "129024 2048 linear $1 8192" |
		dmsetup load lab-linear
	dmsetup resume --noudevsync lab-linear
	labctl slow beta 0
	within 40 copy_is_over
	wait "$COPY" || fail "the copy failed: $(cat "$WORK/copy.err")"
	equal "how the bounce is known, durable" "$2 true" "$(jq -r '"\(.bounced_evidence) \(.durable)"' "$WORK/copy")"
}

becomes_a_mirror() {
	modprobe dm-mirror
	printf '%s\n' "0 129024 mirror core 2 1024 nosync 2 ${LAB_ALPHA}p1 2048 ${LAB_BETA}p1 2048" | dmsetup load lab-linear
	dmsetup resume --noudevsync lab-linear
}

# --- queues ---

# of_queue MAKE - there and back; each leg is proven at the first write that touches it.
of_queue() {
	"$1"
	random_file "$WORK/data" $((8 * MIB))
	dd if="$WORK/data" of="$NODE" bs=1M oflag=direct status=none
	watch_dma
	queue straight "$NODE"
	seen_dma
	# The 4 MiB that the program compares with go to DRAM, and the proofs' blocks do not.
	exactly "drive reads that went to DRAM" $((4 * MIB)) "$(dram read)"
	(($(dram write) <= METADATA)) || wrong "drive writes that came from DRAM: $(cat "$WORK/witness")"
	within 10 region_is_free p2pmem0
}

queue_on_what_changes() {
	linear
	queue changed-below "$NODE" "printf '0 2048 linear ${LAB_ALPHA}p1 2048\n2048 126976 linear ${LAB_BETA}p3 4096\n' |
		dmsetup load lab-linear && dmsetup resume --noudevsync lab-linear"
}

queue_on_leg_that_fails() {
	raid1
	queue leg-failed "$NODE" "mdadm --quiet /dev/md7 --fail ${LAB_BETA}p1"
}

queue_into_holes() {
	striped
	with_file_system ext4 "$NODE" noinit_itable
	truncate -s 8M /mnt/fs/file
	queue into-holes /mnt/fs/file
}

# --- what a flush is worth ---

# told_write_through DISK - though its cache is volatile, until the end of the test.
told_write_through() {
	local cache=/sys/block/$1/queue/write_cache
	equal "the word of $1 on its cache" 1 "$(<"${cache%/*}/fua")"
	at_end "echo 'write back' >$cache"
	echo 'write through' >"$cache"
}

# A flush goes from the top to each leg, and is lost at a device that was told to send none.
flush_is_lost() {
	"$1"
	copy p2pmem0 "$NODE" --size "$BYTES"
	equal "durable, and why not" "true " "$(field durable) $(field durable_reason)"
	told_write_through "$2"
	copy p2pmem0 "$NODE" --size "$BYTES"
	matches "durable, and why not" "^false $2 has a volatile write cache, and is not flushed: .*write through" \
		"$(field durable) $(field durable_reason)"
}

# Before Linux 6.11 a volume whose table is loaded while its legs report 'write through' answers each flush itself from then on.
loaded_without_flushes() {
	local drive
	for drive in "$LAB_ALPHA" "$LAB_BETA"; do
		told_write_through "${drive##*/}"
	done
	linear
	for drive in "$LAB_ALPHA" "$LAB_BETA"; do
		echo 'write back' >"/sys/block/${drive##*/}/queue/write_cache"
	done
	[[ $(<"/sys/block/${NODE#/dev/}/queue/write_cache") == "write through" ]] ||
		give_up_as_skip "kernel $LAB_KERNEL: the volume flushes its legs all the same"
	copy p2pmem0 "$NODE" --size "$BYTES"
	matches "durable, and why not" "^false ${NODE#/dev/} passes no flush on to nvme.*write through" \
		"$(field durable) $(field durable_reason)"
}

if [[ $LAB_TOPOLOGY == two-paths ]]; then
	t "two paths: partitions" make_legs
	wanted "two paths: partitions" || { mkdir -p "$WORK"; make_legs; }
	t "two paths: one without a route" path_without_route
	t "two paths: a program's own request" example_refuses
	t "two paths: one is not attached" path_detached
	t "two paths: one is unbound" path_unbound
	t "two paths: p2pdma" p2pdma_by_two_paths
	t "two paths: without native multipath" without_native_multipath
	t "two paths: one goes" path_goes
	t "two paths: one is not on PCIe" path_not_on_pcie
	t "two paths: one comes that is not on PCIe" path_not_on_pcie_comes
	t "two paths: one comes and goes that is not on PCIe" path_not_on_pcie_comes_and_goes
	t "two paths: checksums of a path" checksums_of_a_path
	return
fi
core t "partitions" make_legs
wanted "partitions" || { mkdir -p "$WORK"; make_legs; }
t "raid0" goes raid0 "$BYTES" 2
core t "raid1" goes raid1 $((2 * BYTES)) 2
t "raid10" goes raid10 "$RAID10_WRITTEN" 2
core t "linear" goes linear "$BYTES" 2
t "striped" goes striped "$BYTES" 2
t "logical volume" goes volume "$BYTES" 2
t "ext4 on striped" file_on striped ext4 "$BYTES" 2
core t "refused: raid5" refused_raid5
core t "refused: crypt" refused_crypt
t "a leg is not flushed" flush_is_lost raid1 "${LAB_BETA##*/}"
t "an array is not flushed" flush_is_lost raid0 md7
t "a volume that was loaded without flushes" loaded_without_flushes
t "write-behind" write_behind
t "ordinary user" ordinary_user
t "degraded" degraded
t "queue on raid1" of_queue raid1
t "queue: a leg fails" queue_on_leg_that_fails
t "queue into holes" queue_into_holes
t "pulled from raid1" pulled raid1
t "pulled from raid0" pulled raid0
if can p2pdma; then
	t "p2pdma: raid0" p2pdma_on raid0 "$BYTES" 2
	t "p2pdma: raid10" p2pdma_on raid10 "$RAID10_WRITTEN" 2
	t "p2pdma: raid1" p2pdma_on raid1 $((2 * BYTES)) 2
	t "p2pdma: linear" p2pdma_on linear
fi
can thorough || return 0
t "ext4 on raid1" file_on raid1 ext4 $((2 * BYTES)) 2
t "xfs on raid0" file_on large_raid0 xfs "$BYTES" 2
t "xfs on raid0, blocks that were shared" shared_before
t "raid10, far copies" far_copies
t "raid1 in resync" in_resync
t "legs in text" legs_in_text
t "refused: crypt below linear" refused_below
t "refused: error" refused_target error "0 65536 error"
t "refused: mirror" refused_module dm-mirror mirror "0 32768 mirror core 2 1024 nosync 2 ${LAB_ALPHA}p1 0 ${LAB_BETA}p1 0"
t "refused: raid" refused_module dm-raid raid "0 32768 raid raid1 3 0 region_size 1024 2 - ${LAB_ALPHA}p1 - ${LAB_BETA}p1"
t "refused: snapshot" refused_module dm-snapshot snapshot-origin "0 32768 snapshot-origin ${LAB_ALPHA}p1"
t "refused: integrity" refused_integrity
t "refused: passthrough to an array" refused_passthrough raid1
t "refused: a leg that is no drive" refused_loop_leg
t "refused: suspended" suspended
t "overlapping" overlapping
t "volumes of one array" volumes_of_one_array
t "leg in use" leg_in_use
t "refused: a node that leads to another volume" stale_volume_node
t "refused: exported by the NVMe target" exported
t "queue on striped" of_queue striped
t "queue on what changes" queue_on_what_changes
t "changed: another leg" changed moved_to_other_leg
t "changed: a mirror" changed becomes_a_mirror
t "changed: elsewhere on the same leg" changed_destination moved_within_leg
t "changed: another leg of the destination" changed_destination moved_to_other_leg
t "changed: a destination that is no drive" changed_destination moved_to_loop
t "extended" extended "${LAB_ALPHA}p1" watched
t "extended, by another leg" extended "${LAB_BETA}p3" changed
