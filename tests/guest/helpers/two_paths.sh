# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Two controllers that share a namespace, one of them without a route. Sourced by the suite stacks, never run.

# second_path - the controller of beta that is not below the switch, and so has the shorter path from the root.
second_path() {
	local nvme
	for nvme in /sys/class/nvme/nvme*; do
		[[ $(<"$nvme/serial") != beta* ]] || printf '%s %s\n' "$(realpath "$nvme" | tr -dc / | wc -c)" "$(<"$nvme/address")"
	done | sort -n | sed -n '1s/.* //p'
}

# The controller of the second path is named, also as that of a leg.
path_without_route() {
	local second
	second=$(second_path)
	exits 1 "${LAB_BETA} \($second\) cannot reach p2pmem0" donard-cli copy "$LAB_BETA" p2pmem0 --size 1M
	exits 1 "${LAB_BETA} \($second\) cannot reach p2pmem0" donard-cli copy p2pmem0 "$LAB_BETA" --size 1M
	raid1
	exits 1 "/dev/md7, leg ${LAB_BETA##*/}p1 of md7 \($second\) cannot reach p2pmem0" donard-cli copy "$NODE" p2pmem0 --size 1M
	copy "$NODE" p2pmem0 --size "$BYTES" --allow-bounce
	result_is "$BYTES" bounced "$BYTES"
	copy "$NODE" p2pmem0 --size "$BYTES" --allow-unlisted-bridge
	result_is "$BYTES" bridge 0
	equal "what a proof by one of two paths says" "predicted predicted proven" \
		"$(jq -r '[.route_evidence, (.legs | sort_by(.route_evidence)[].route_evidence)] | join(" ")' <<<"$RESULT")"
	equal "routes of the legs" "bridge switch" "$(jq -r '[.legs[].route] | sort | join(" ")' <<<"$RESULT")"
}

# A plain read may use any leg and any path. Only the array's first leg has a route.
example_refuses() {
	local second
	second=$(second_path)
	# shellcheck source=examples.sh
	. helpers/examples.sh
	build_example own-read.c "$WORK/own-read"
	exits 1 "unlisted host bridge.*$second of $LAB_BETA reaches p2pmem0 by: none" "$WORK/own-read" "$LAB_BETA" p2pmem0
	raid1
	exits 1 "unlisted host bridge.*$second of $NODE reaches p2pmem0 by: none" "$WORK/own-read" "$NODE" p2pmem0
	within 10 region_is_free p2pmem0
}

has_no_path() {
	! compgen -G "$1/nvme*c*n*" >/dev/null
}

# detach SECOND - takes the namespace from that controller, until the end of the test or ATTACH is called.
detach() {
	local nvme identity
	nvme=$(grep -l "$1" /sys/class/nvme/nvme*/address | sed 's|/address$||')
	identity=$(<"$nvme/cntlid")
	nvme detach-ns "/dev/${nvme##*/}" --namespace-id=1 --controllers="$identity"
	ATTACH="nvme attach-ns /dev/${nvme##*/} --namespace-id=1 --controllers=$identity"
	at_end "$ATTACH"
	within 10 has_no_path "$nvme"
}

# The head of a namespace with several controllers passes P2PDMA pages on.
p2pdma_by_two_paths() {
	with_page_type p2pmem0 p2pdma
	detach "$(second_path)"
	copy "$LAB_BETA" p2pmem0 --size "$BYTES" --verify
	result_is "$BYTES" switch 0
	copy p2pmem0 "$LAB_BETA" --size "$BYTES" --verify
	result_is "$BYTES" switch 0
}

# The second controller is there, and the namespace is not attached to it: its route does not matter.
path_detached() {
	local second
	second=$(second_path)
	detach "$second"
	copy "$LAB_BETA" p2pmem0 --size "$BYTES" --verify
	result_is "$BYTES" switch 0
	$ATTACH
	within 10 eval "! donard-cli copy '$LAB_BETA' p2pmem0 --size 1M >/dev/null 2>&1"
	exits 1 "${LAB_BETA} \($second\) cannot reach p2pmem0" donard-cli copy "$LAB_BETA" p2pmem0 --size 1M
}

bind_nvme() {
	[[ -e /sys/bus/pci/drivers/nvme/$1 ]] || echo "$1" >/sys/bus/pci/drivers/nvme/bind
}

# The advice of the refusal helps: the other controller goes on serving the namespace.
path_unbound() {
	local second
	second=$(second_path)
	exits 1 "\($second\) cannot reach p2pmem0.*, or unbind that controller if all its namespaces have others that work: the drive's have a route" \
		donard-cli copy "$LAB_BETA" p2pmem0 --size 1M
	at_end "bind_nvme $second; within 20 eval '! donard-cli copy $LAB_BETA p2pmem0 --size 1M >/dev/null 2>&1'"
	echo "$second" >/sys/bus/pci/drivers/nvme/unbind
	copy "$LAB_BETA" p2pmem0 --size "$BYTES" --verify
	result_is "$BYTES" switch 0
}

# native_multipath Y|N - the nvme driver anew.
native_multipath() {
	local -a controllers=(/sys/class/nvme/*)
	modprobe -r nvme nvme-core || fail "the nvme driver does not go: $(lsmod | grep nvme)"
	modprobe nvme-core multipath="$1"
	modprobe nvme
	touch /run/lab-env-stale
	within 20 drives_are_back "${#controllers[@]}"
	refresh_env
}

# drives_are_back CONTROLLERS - so many. They may have other numbers than before: one that was bound anew while a program still
# had the old one open has the next.
drives_are_back() {
	local alpha beta
	local -a controllers=(/sys/class/nvme/*)
	((${#controllers[@]} == $1)) && ! grep -qvx live /sys/class/nvme/nvme*/state || return 1
	# shellcheck source=/dev/null
	read -r alpha beta < <(. <(labctl env); echo "$LAB_ALPHA $LAB_BETA")
	[[ -b ${alpha}p4 && -b ${beta}p4 ]]
}

# disk_of BDF
disk_of() {
	local nvme
	nvme=$(grep -lx "$1" /sys/class/nvme/nvme*/address)
	nvme=${nvme%/address}
	echo "/dev/${nvme##*/}n1"
}

# kept REGEX DEVICE - it is no destination.
kept() {
	exits 1 "$2: $1" donard-cli copy p2pmem0 "$2" --size 1M
}

# first_path SECOND - the other controller of beta
first_path() {
	local nvme
	for nvme in /sys/class/nvme/nvme*; do
		[[ $(<"$nvme/serial") != beta* || $(<"$nvme/address") == "$1" ]] || echo "$(<"$nvme/address")"
	done
}

# The second path, which has no route, is what the machine uses; the first is named as the destination.
without_native_multipath() {
	local second used named
	second=$(second_path)
	at_end "native_multipath Y"
	native_multipath N
	used=$(disk_of "$second")
	named=$(disk_of "$(first_path "$second")")
	within 20 test -b "${used}p4" -a -b "${named}p4"
	exits 1 "source and destination share bytes" donard-cli copy "${used}p1" "${named}p1" --size 1M --allow-bounce
	mkfs.ext4 -q "${used}p1"
	mkdir -p /mnt/used
	mount "${used}p1" /mnt/used
	at_end "umount /mnt/used 2>/dev/null; wipefs -qa ${used}p1"
	kept "it is mounted at /mnt/used \(as ${used}p1\); writing to it would destroy" "${named}p1"
	kept "it is mounted at /mnt/used \(as ${used}p1\)" "$named"
	copy p2pmem0 "${named}p2" --size 1M --verify
	result_is "$MIB" switch 0
	umount /mnt/used
	kept_to_a_program "$used" "$named"
	printf '0 2048 linear %s 0\n' "${used}p1" | dmsetup create lab-used --noudevsync
	at_end "dmsetup remove --noudevsync lab-used 2>/dev/null"
	kept "dm-[0-9]+ is made of it \(as ${used}p1\)" "${named}p1"
	dmsetup remove --noudevsync lab-used
	copy p2pmem0 "${named}p1" --size 1M --verify
	result_is "$MIB" switch 0
	# A disk that nobody uses, whose other name has partitions.
	copy p2pmem0 "$named" --size 64K --dst-offset 1M --verify
	result_is 65536 switch 0
}

# kept_to_a_program USED NAMED - as by a file system that another mount namespace has.
kept_to_a_program() {
	python3 -c "import os, time; os.open('${1}p3', os.O_RDONLY | os.O_EXCL); open('$WORK/has', 'w'); time.sleep(1000)" &
	at_end "kill $! 2>/dev/null"
	within 10 test -e "$WORK/has"
	kept "it is in use by another program.* \(as ${1}p3\)\." "${2}p3"
	kill $!
}

# Without the second path, the first is the only one.
path_goes() {
	labctl unplug beta2
	copy "$LAB_BETA" p2pmem0 --size "$BYTES" --verify
	result_is "$BYTES" switch 0
	raid1
	both_ways "$NODE" $((2 * BYTES)) 2
}

# one_path - for a test that runs alone: without the second path, if that has not gone yet.
one_path() {
	(($(grep -l '^beta' /sys/class/nvme/nvme*/serial | wc -l) < 2)) || labctl unplug beta2
}

# loop_path - a target on this machine, under the name of beta's subsystem and with another medium: to the kernel it is one
# more path to the namespace, and it is no PCIe function. Until the end of the test.
loop_path() {
	local target=/sys/kernel/config/nvmet nqn subsystem
	nqn=$(<"/sys/block/${LAB_BETA##*/}/device/subsysnqn")
	subsystem=$target/subsystems/$nqn
	modprobe -qa loop nvmet nvme-loop || fail "this kernel's nvme-loop does not load"
	mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
	truncate -s "$(blockdev --getsize64 "$LAB_BETA")" /dev/shm/medium
	LOOP=$(losetup --find --show /dev/shm/medium)
	at_end "losetup -d $LOOP; rm -f /dev/shm/medium"
	mkdir "$subsystem" "$subsystem/namespaces/1" "$target/ports/7"
	at_end "rmdir '$subsystem/namespaces/1' '$subsystem' $target/ports/7"
	echo 1 >"$subsystem/attr_allow_any_host"
	echo 100 >"$subsystem/attr_cntlid_min"
	# QEMU's identifier is all zeros, which the kernel takes for none.
	echo 00000000-0000-0000-0000-000000000000 >"$subsystem/namespaces/1/device_uuid"
	echo "$LOOP" >"$subsystem/namespaces/1/device_path"
	echo 1 >"$subsystem/namespaces/1/enable"
	at_end "echo 0 >'$subsystem/namespaces/1/enable'"
	echo loop >"$target/ports/7/addr_trtype"
	ln -s "$subsystem" "$target/ports/7/subsystems/$nqn"
	at_end "rm '$target/ports/7/subsystems/$nqn'"
	nvme connect --transport loop --nqn "$nqn" --hostnqn nqn.2014-08.org.nvmexpress:lab >/dev/null
	at_end "nvme disconnect --device \$(by_loop)"
	within 10 loop_serves
}

# by_loop - the controller
by_loop() {
	local nvme
	for nvme in /sys/class/nvme/nvme*; do
		[[ $(<"$nvme/transport") != loop ]] || echo "${nvme##*/}"
	done
}

loop_serves() {
	local paths
	paths=$(echo /sys/class/nvme/"$(by_loop)"/nvme*c*n*)
	[[ -e $paths ]]
}

# Such a path moves bytes through DRAM, and nothing would show that.
path_not_on_pcie() {
	local nvme
	one_path
	loop_path
	nvme=$(by_loop)
	exits 3 "controller $nvme is not on PCIe but reached by loop, which moves data through DRAM.*disconnect -d $nvme" \
		donard-cli copy "$LAB_BETA" p2pmem0 --size 1M
	exits 3 "controller $nvme is not on PCIe" donard-cli copy p2pmem0 "$LAB_BETA" --size 1M --allow-bounce
	nvme disconnect --device "$nvme"
	copy "$LAB_BETA" p2pmem0 --size "$BYTES" --verify
	result_is "$BYTES" switch 0
	equal evidence proven "$(field route_evidence)"
}

waits_for_reader() {
	grep -q pipe_write "/proc/$COPY/wchan"
}

# held_copy - a copy behind its proof and before its last look at the paths: the pipe to which it tells its progress is full.
held_copy() {
	one_path
	mkfifo "$WORK/progress"
	exec {PIPE}<>"$WORK/progress"
	dd if=/dev/zero of="$WORK/progress" bs=4096 oflag=nonblock status=none 2>/dev/null || true
	donard-cli copy "$LAB_BETA" p2pmem0 --size "$BYTES" --progress --json >"$WORK/copy" 2>"$WORK/progress" &
	COPY=$!
	at_end "kill -KILL $COPY 2>/dev/null"
	within 30 waits_for_reader
}

# held_copy_ends - all of its bytes count as bounced.
held_copy_ends() {
	cat <&"$PIPE" >/dev/null &
	at_end "kill -KILL $! 2>/dev/null"
	wait "$COPY" || fail "the copy failed: $(cat "$WORK/copy")"
	equal "bytes that bounced, and how that is known" "$BYTES changed" \
		"$(jq -r '"\(.bounced_bytes) \(.bounced_evidence)"' "$WORK/copy")"
}

path_not_on_pcie_comes() {
	held_copy
	loop_path
	held_copy_ends
}

writes_of_copy() {
	sed -n 's/^syscw: //p' "/proc/$COPY/io"
}

# It waits for the reader again, or has ended.
has_written_since() {
	ended "$COPY" || { (($(writes_of_copy) > $1)) && waits_for_reader; }
}

# A page of the pipe is emptied, and filled again but for a line or two: with these the copy goes on for a moment.
path_not_on_pcie_comes_and_goes() {
	local writes
	held_copy
	writes=$(writes_of_copy)
	loop_path
	sleep 1
	head -c 4096 <&"$PIPE" >/dev/null
	dd if=/dev/zero of="$WORK/progress" bs=3900 count=1 oflag=nonblock status=none 2>/dev/null || true
	within 30 has_written_since "$writes"
	nvme disconnect --device "$(by_loop)"
	held_copy_ends
}

# The namespace and each path report whether the CPU computes checksums; the path that a request takes decides.
checksums_of_a_path() {
	local folder head=${LAB_BETA##*/}
	one_path
	# It cannot read a partition table where nothing was written, and calls that a failure.
	nvme format "$LAB_BETA" --lbaf=1 --pi=1 --force || true
	at_end "nvme format $LAB_BETA --lbaf=0 --pi=0 --force"
	for folder in /sys/block/"$head" /sys/block/"${head%n*}"c*n*; do
		equal "format of $folder" T10-DIF-TYPE1-CRC "$(<"$folder/integrity/format")"
		exits 3 'formatted with protection information, and the CPU reads all data' \
			donard-cli copy p2pmem0 "$LAB_BETA" --size 1M
		echo 0 >"$folder/integrity/read_verify"
		echo 0 >"$folder/integrity/write_generate"
	done
	copy p2pmem0 "$LAB_BETA" --size "$BYTES" --verify
	result_is "$BYTES" switch 0
}
