# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Bad input to donard-cli: the exit code, a message that names object and cause, and nothing changed.
# Exit codes: 0 done, 1 failed, 2 wrong use, 3 unsupported here, 4 data mismatch.

# shellcheck source=helpers/container.sh
. helpers/container.sh
# shellcheck source=helpers/doctor.sh
. helpers/doctor.sh

# fingerprint - of what a mistaken copy would touch: where the devices begin, by the host's files (a
# mounted drive changes by itself), and the folder in which a file could appear.
fingerprint() {
	{
		head -q -c 65536 "$(backing gpu)" "$(backing alpha)" &&
			{ [[ $(</proc/mounts) == *' /mnt/fs '* ]] || dd if="$LAB_BETA" bs=64k count=1 iflag=direct status=none; } &&
			echo /mnt/fs/* /mnt/fs/.*
	} | cksum
}

# refuses STATUS REGEX ARGUMENT... - of donard-cli.
refuses() {
	local status=$1 regex=$2 before nodes after
	shift 2
	before=$(fingerprint)
	nodes=$(echo /dev/* /dev/.*)
	exits "$status" "$regex" donard-cli "$@"
	after=$(fingerprint)
	exactly "fingerprint after '$*'" "$before" "$after"
	# On a slow host the kernel makes some of its own nodes late.
	equal "names in /dev after '$*'" "$nodes" "$(echo /dev/* /dev/.*)"
}

mkdir -p /mnt/fs

missing_device() {
	refuses 1 '/dev/nvme9n1.*(no such|No such)' copy /dev/nvme9n1 p2pmem0 --size 4096
	refuses 1 '/dev/nvme9n1.*(no such|No such)' copy p2pmem0 /dev/nvme9n1 --size 4096
	[[ ! -e /dev/nvme9n1 ]] || fail "a file appeared in /dev"
	refuses 1 '/dev/mapper/vg-lv: there is no such device' copy p2pmem0 /dev/mapper/vg-lv --size 4096
}

# The node is missing, as in a container, or without udev.
missing_node() {
	local node alpha=${LAB_ALPHA#/dev/}
	for node in "$LAB_ALPHA" /dev/p2pmem0 /dev/p2pmem_control; do
		# Within /dev: a copy is not the kernel's node, which goes when the device does.
		mv "$node" "$node.kept"
		at_end "mv $node.kept $node"
	done
	refuses 1 "the kernel has this device \($alpha\), but there is no node of it.*mknod $LAB_ALPHA b $(tr : ' ' <"/sys/class/block/$alpha/dev")\)" \
		copy "$LAB_ALPHA" "$LAB_BETA" --size 4096 --force-bounce
	refuses 1 "no node of it.*mknod $LAB_ALPHA b" copy "$LAB_BETA" "$LAB_ALPHA" --size 4096 --force-bounce
	refuses 1 'p2pmem0: the region exists, but /dev has no node of it.*mknod /dev/p2pmem0 c [0-9]+ [0-9]+\)' \
		copy "$LAB_BETA" p2pmem0 --size 4096
	refuses 1 'no node of its control device.*mknod /dev/p2pmem_control c [0-9]+ [0-9]+\)' region remove p2pmem1
}

missing_region() {
	refuses 1 'p2pmem77.*no such region' copy "$LAB_ALPHA" p2pmem77 --size 4096
	refuses 1 'p2pmem77' region remove p2pmem77
	refuses 1 'p2pmem77' info p2pmem77
	refuses 1 'p2pmem77.*no such region' info /dev/p2pmem77
}

# On ext4 the last of these names would make a new file.
nearly_a_region() {
	local word
	mkfs.ext4 -q -F "$LAB_BETA"
	mount "$LAB_BETA" /mnt/fs
	at_end "umount /mnt/fs"
	at_end "cd /"
	cd /mnt/fs || return
	for word in p2pmem p2pmemX p2pmem0x pmem0; do
		refuses 2 "no such region.*\./$word" copy "$LAB_ALPHA" "$word" --size 4096
	done
	copy "$LAB_ALPHA" ./p2pmemX --size 4096 --allow-bounce
	equal "bytes of ./p2pmemX" 4096 "$(stat -c %s p2pmemX)"
	cd /
}

whole_regions() {
	local command
	for command in info 'region remove' 'region set --page-type generic'; do
		# shellcheck disable=SC2086  # words
		refuses 2 'whole region' $command p2pmem0+64M
		# shellcheck disable=SC2086
		refuses 2 'not a region' $command "$LAB_ALPHA"
	done
	equal "name of /dev/p2pmem0" p2pmem0 "$(donard-cli info /dev/p2pmem0 --json | jq -r .name)"
	equal "set by the node" p2pmem0 \
		"$(donard-cli region set /dev/p2pmem0 --page-type generic --json | jq -r .name)"
}

read_only_drive() {
	blockdev --setro "$LAB_BETA"
	at_end "blockdev --setrw $LAB_BETA"
	refuses 1 'read-only.*setrw' copy p2pmem0 "$LAB_BETA" --size 4096
}

nothing_to_copy() {
	mkfs.ext4 -q -F "$LAB_BETA"
	mount "$LAB_BETA" /mnt/fs
	at_end "umount /mnt/fs"
	: >/mnt/fs/empty
	exits 0 'nothing.*verified +yes' donard-cli copy /mnt/fs/empty p2pmem0 --verify
	equal "what it says" 'true false p2pmem0 is volatile' "$(donard-cli copy /mnt/fs/empty p2pmem0 --verify --json |
		jq -r '"\(.verified) \(.durable) \(.durable_reason)"')"
}

page_type_of_published_cmb() {
	refuses 3 'nvme driver owns.*always p2pdma' region set p2pmem1 --page-type generic
}

alignment() {
	refuses 1 'offset 100 .*multiple' copy "$LAB_ALPHA" p2pmem0 --size 4096 --src-offset 100
	refuses 1 'offset 77 .*multiple' copy p2pmem0 "$LAB_BETA" --size 4096 --dst-offset 77
	refuses 2 'block-size.*1000.*multiple' copy "$LAB_ALPHA" p2pmem0 --size 4096 --block-size 1000
	refuses 2 'block-size' copy "$LAB_ALPHA" p2pmem0 --size 4096 --block-size 1T
}

no_space() {
	exits 1 'p2pmem0: 1073741824 bytes are more than the 536870912 of the whole region. Ask for less' \
		python3 -c 'import donard; donard.Context().alloc("p2pmem0", 1 << 30)'
	# More than a process has addresses.
	exits 1 'p2pmem0: 281474976710656 bytes are more than the 536870912 of the whole region. Ask for less' \
		python3 -c 'import donard; donard.Context().alloc("p2pmem0", 1 << 48)'
	refuses 1 'p2pmem0.*(truncated|fit)' copy "$LAB_ALPHA" p2pmem0 --size 600M
	refuses 1 'p2pmem0.*(truncated|fit)' copy "$LAB_ALPHA" p2pmem0+511M --size 2M
	refuses 1 '(truncated|fit)' copy p2pmem0 "$LAB_BETA" --size 2M --dst-offset 1023M
}

past_end() {
	refuses 1 'past the end.*Choose a smaller offset' copy "$LAB_ALPHA" p2pmem0 --src-offset 2G --size 4096
	refuses 1 'past the end' copy p2pmem0+1G "$LAB_BETA" --size 4096
	refuses 1 'past the end' copy "$LAB_ALPHA" p2pmem0 --dst-offset 1G --size 4096
}

# Another process holds the region.
busy() {
	holder mapping p2pmem0 $((512 * MIB)) >"$WORK/out" 2>&1 &
	local pid=$!
	at_end "kill -KILL $pid 2>/dev/null"
	within 30 grep -q ready "$WORK/out"
	refuses 1 'p2pmem0.*owner.*holder' copy "$LAB_ALPHA" p2pmem0 --size 4096
	refuses 1 'holder' region remove --if-idle p2pmem0
	refuses 1 'idle.*holder' region set p2pmem0 --page-type generic
	kill -KILL "$pid"
	within 10 region_is_free p2pmem0
}

mounted_target() {
	mkfs.ext4 -q -F "$LAB_BETA"
	mount "$LAB_BETA" /mnt/fs
	at_end "umount /mnt/fs"
	refuses 1 'mounted at /mnt/fs' copy p2pmem0 "$LAB_BETA" --size 4096
	echo keep >/mnt/fs/short
	sync
	refuses 1 'past the end' copy p2pmem0 /mnt/fs/short --size 4096 --dst-offset 1M
	refuses 1 'directory' copy p2pmem0 /mnt/fs --size 4096
	refuses 1 '/mnt/fs/none/x: cannot be created: there is no folder /mnt/fs/none. Make it first' copy p2pmem0 /mnt/fs/none/x --size 4096
	equal "the file" keep "$(cat /mnt/fs/short)"
}

mounted_with_blanks() {
	local place='/mnt/my  disk'
	mkfs.ext4 -q -F "$LAB_BETA"
	mkdir -p "$place"
	mount "$LAB_BETA" "$place"
	at_end "umount '$place'"
	exits 1 "mounted at $place;" donard-cli copy p2pmem0 "$LAB_BETA" --size 4096
}

node_on_nodev() {
	mkdir "$WORK/nodes"
	mount -t tmpfs -o nodev tmpfs "$WORK/nodes"
	at_end "umount $WORK/nodes"
	cp -a "$LAB_ALPHA" "$WORK/nodes/drive"
	refuses 1 'Permission denied. Its node is on a file system that is mounted with nodev' copy "$WORK/nodes/drive" p2pmem0 --size 4096
}

# All devices but a few are denied, as in a container.
node_of_denied_device() {
	with_device_cgroup
	exits 0 'proven' in_device_cgroup donard-cli copy "$LAB_ALPHA" p2pmem0 --size 4096
	exits 1 'p2pmem2.*The device cgroup of this container' in_device_cgroup donard-cli copy "$LAB_ALPHA" p2pmem2 --size 4096
	exits 1 "$LAB_BETA.*The device cgroup of this container" in_device_cgroup donard-cli copy "$LAB_BETA" p2pmem0 --size 4096
}

no_sysfs() {
	local command
	for command in list topo "copy $LAB_ALPHA p2pmem0 --size 4096" "copy $LAB_ALPHA $LAB_BETA --size 4096 --force-bounce"; do
		exits 3 '/sys: no sysfs is mounted there.*Mount it' unshare --mount sh -c "umount -l /sys; exec donard-cli $command"
	done
}

# Allows one descriptor more each time, beginning with as many as the loader needs.
few_descriptors() {
	local most status=1
	for ((most = 4; status; most++)); do
		status=0
		prlimit --nofile="$most" donard-cli copy "$LAB_ALPHA" "$LAB_BETA" --size 1M --via p2pmem0 >"$WORK/out" 2>&1 || status=$?
		echo "$most: $status $(cat "$WORK/out")"
		((!status)) || matches "failure with $most descriptors" 'Too many open files.*ulimit -n' "$(cat "$WORK/out")"
		((most < 64)) || fail "64 descriptors are too few"
	done
	((most > 6)) || fail "nothing needs more than $most descriptors"
}

not_nvme() {
	local disk
	disk=$(grep -m1 '^vd' < <(lsblk -dno NAME))
	refuses 1 "NVMe" copy "/dev/$disk" p2pmem0 --size 4096
	echo data >"$WORK/file"
	mkdir "$WORK/memory"
	mount -t tmpfs tmpfs "$WORK/memory"
	at_end "umount $WORK/memory"
	echo data >"$WORK/memory/file"
	refuses 1 'its file system is tmpfs, and donard reads and writes files of ext4 and xfs alone' copy "$WORK/memory/file" p2pmem0
	refuses 1 'file system|NVMe' copy "$WORK/file" p2pmem0
	refuses 1 'character device' copy /dev/zero p2pmem0 --size 4096
	mkfifo "$WORK/pipe"
	refuses 1 'pipe' copy "$WORK/pipe" p2pmem0 --size 4096
}

same_bytes_twice() {
	refuses 1 'same bytes. Choose another place' copy p2pmem0 p2pmem0 --size 4096
	refuses 1 'share' copy "$LAB_ALPHA" "$LAB_ALPHA" --size 8192 --dst-offset 4096
}

persistent_staging() {
	refuses 3 'p2pmem2.*persistent' copy "$LAB_ALPHA" "$LAB_BETA" --size 4096 --via p2pmem2
}

wrong_use() {
	refuses 2 '' copy
	refuses 2 '' copy "$LAB_ALPHA"
	refuses 2 '' copy "$LAB_ALPHA" p2pmem0 more
	refuses 2 'frobnicate' frobnicate
	refuses 2 'no-such-option' copy --no-such-option "$LAB_ALPHA" p2pmem0
	refuses 2 'siz' copy --siz 4096 "$LAB_ALPHA" p2pmem0
	refuses 2 'not a size' copy --size 12Q "$LAB_ALPHA" p2pmem0
	refuses 2 'too small' copy --size 0 "$LAB_ALPHA" p2pmem0
	refuses 2 'not a size' copy --size -1 "$LAB_ALPHA" p2pmem0
	refuses 2 '--force-bounce and --allow-bounce exclude each other' copy --force-bounce --allow-bounce "$LAB_ALPHA" p2pmem0
	refuses 2 'queue-depth' copy --queue-depth 0 "$LAB_ALPHA" p2pmem0
	refuses 2 'offset' copy "$LAB_ALPHA" p2pmem0+fish
	refuses 2 '' copy "" p2pmem0
	refuses 2 '' region add --kind pci-bar
	refuses 2 'kind' region add --kind floppy --device "$LAB_GPU_BDF"
}

bad_regions() {
	refuses 1 'already|driven|busy' region add --kind pci-bar --device "$LAB_GPU_BDF" --bar 2
	refuses 2 "bar is missing: the memory BARs of $LAB_GPU_BDF are 2 \(512 MiB\)" region add --kind pci-bar --device "${LAB_GPU_BDF#0000:}"
	refuses 1 'BAR5 of .* is no assigned memory BAR: choose another' region add --kind pci-bar --device "$LAB_GPU_BDF" --bar 5
	refuses 1 'BAR0 of .* has 256 bytes, .* choose another BAR' region add --kind pci-bar --device "$LAB_GPU_BDF" --bar 0
	refuses 1 'is not an NVMe controller .*offer a BAR of this function' region add --kind nvme-cmb --device "$LAB_GPU_BDF"
	refuses 1 '0000:3f:1f.7' region add --kind pci-bar --device 0000:3f:1f.7 --bar 0
	refuses 1 'nvme' region add --kind pci-bar --device "$LAB_BETA_BDF" --bar 0
	refuses 3 'Persistent Memory' region add --kind nvme-pmr --device "$LAB_ALPHA_BDF"
	refuses 3 'Controller Memory' region add --kind nvme-cmb --device "$LAB_BETA_BDF"
	refuses 1 'not an NVMe' region add --kind nvme-pmr --device "$LAB_GPU_BDF"
	equal "regions" 3 "$(donard-cli list --json | jq '.regions | length')"
}

# beyond_direct_map - as on a kernel whose direct map KASLR cut short, in the middle of the BAR.
beyond_direct_map() {
	local start
	start=$(sed -n '3s/ .*//p' "/sys/bus/pci/devices/$LAB_GPU_BDF/resource")
	at_end "donard-cli region add --kind pci-bar --device $LAB_GPU_BDF --bar 2; give_to_group p2pmem0"
	donard-cli region remove p2pmem0
	insmod /opt/donard/modules/shortmap.ko end=$((start + 256 * MIB - 1))
	at_end "rmmod shortmap"
	refuses 3 'KASLR left room for struct pages up to .* only: boot with nokaslr' region add --kind pci-bar --device "$LAB_GPU_BDF" --bar 2
	RESULT=$(donard-cli doctor --json) || true
	matches "doctor" "BAR 2 ends at .*$(printf '0x%x' $((start + 256 * MIB - 1)))" "$(finds beyond-direct-map)"
	donard-cli region add --kind pci-bar --device "$LAB_GPU_BDF" --bar 2 --length 256M
	donard-cli region remove p2pmem0
}

json_errors() {
	local out status=0
	out=$(donard-cli copy --json "$LAB_ALPHA" p2pmem77 --size 4096 2>/dev/null) || status=$?
	equal status 1 "$status"
	equal "code" no-such-region "$(jq -r .error.code <<<"$out")"
}

# A container's node is older than the regions, which were added again. The device behind it is left alone.
stale_node() {
	local number
	number=$(attr p2pmem2 dev)
	regio read p2pmem2 0 "$MIB" "$WORK/before"
	mv /dev/p2pmem0 /dev/p2pmem0.kept
	at_end "mv -f /dev/p2pmem0.kept /dev/p2pmem0"
	mknod /dev/p2pmem0 c "${number%:*}" "${number#*:}"
	refuses 1 'p2pmem0: its node in /dev leads to p2pmem2 now' copy "$LAB_ALPHA" p2pmem0 --size 1M
	refuses 1 'p2pmem0: its node in /dev leads to p2pmem2 now' copy p2pmem0 p2pmem1 --size 4096
	refuses 1 'p2pmem0: its node in /dev leads to p2pmem2 now' copy "$LAB_ALPHA" "$LAB_BETA" --size 1M --via p2pmem0
	exits 0 'unknown +p2pmem0: its node in /dev leads to p2pmem2' donard-cli info p2pmem0
	regio read p2pmem2 0 "$MIB" "$WORK/after"
	same_bytes "p2pmem2" "$WORK/after" "$WORK/before" "$MIB"
}

stale_drive_node() {
	local number alpha=${LAB_ALPHA##*/} beta=${LAB_BETA##*/}
	number=$(<"/sys/class/block/$beta/dev")
	head -c "$MIB" "$LAB_BETA" >"$WORK/before"
	mv "$LAB_ALPHA" "$LAB_ALPHA.kept"
	at_end "mv -f $LAB_ALPHA.kept $LAB_ALPHA"
	mknod "$LAB_ALPHA" b "${number%:*}" "${number#*:}"
	ln -s "$LAB_ALPHA" "$WORK/link"
	refuses 1 "$LAB_ALPHA: its node leads to $beta, and not to $alpha" copy p2pmem0 "$LAB_ALPHA" --size 1M
	refuses 1 "$LAB_ALPHA: its node leads to $beta, and not to $alpha" copy "$LAB_ALPHA" p2pmem0 --size 1M
	refuses 1 "$WORK/link: its node leads to $beta, and not to $alpha" copy p2pmem0 "$WORK/link" --size 1M
	head -c "$MIB" "$LAB_BETA" | cmp - "$WORK/before"
}

full_stdout() {
	exits 1 'No space' sh -c 'donard-cli list >/dev/full'
}

# Last: it takes the module away and brings it back.
no_module() {
	at_end "insmod /opt/donard/modules/p2pmem.ko; /opt/lab/regions >/dev/null"
	rmmod p2pmem
	refuses 3 'module p2pmem is not loaded' list
	refuses 3 'module p2pmem is not loaded' copy "$LAB_ALPHA" p2pmem0 --size 4096
	exits 0 'bounced' donard-cli copy "$LAB_ALPHA" "$LAB_BETA" --size 1M --force-bounce --verify
}

core t "missing device" missing_device
t "missing node" missing_node
core t "missing region" missing_region
t "nearly a region" nearly_a_region
t "whole regions" whole_regions
core t "read-only drive" read_only_drive
core t "nothing to copy" nothing_to_copy
if can pool; then
	core t "page type of a published CMB" page_type_of_published_cmb
else
	core skip "page type of a published CMB" "the nvme driver of kernel $LAB_KERNEL publishes none here"
fi
core t "alignment" alignment
t "no space" no_space
core t "past the end" past_end
t "held by somebody else" busy
core t "mounted destination" mounted_target
t "mount point with blanks" mounted_with_blanks
t "node on nodev" node_on_nodev
t "node of a denied device" node_of_denied_device
t "few descriptors" few_descriptors
core t "not an NVMe drive" not_nvme
core t "source is destination" same_bytes_twice
core t "persistent memory for staging" persistent_staging
t "wrong use" wrong_use
t "bad regions" bad_regions
t "memory beyond the kernel's direct map" beyond_direct_map
core t "errors in JSON" json_errors
core t "node of another region" stale_node
t "node of another drive" stale_drive_node
core t "full stdout" full_stdout
t "without sysfs" no_sysfs
core t "without the module" no_module
