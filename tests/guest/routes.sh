# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What a copy says and does on each topology; other tests assume that the route is a switch.

# shellcheck source=helpers/container.sh
. helpers/container.sh
# shellcheck source=helpers/doctor.sh
. helpers/doctor.sh

readonly BYTES=$((4 * MIB))

arrived() {
	same_bytes "host's view of the BAR" "$(backing gpu)" "$WORK/data" "$BYTES"
}

# goes_by ROUTE [ARG...] - alpha to the BAR and on to beta.
goes_by() {
	local route=$1
	shift
	data_on_alpha "$BYTES"
	copy "$LAB_ALPHA" p2pmem0 --size "$BYTES" --verify "$@"
	result_is "$BYTES" "$route" 0
	arrived
	copy p2pmem0 "$LAB_BETA" --size "$BYTES" --verify "$@"
	result_is "$BYTES" "$route" 0
	take_from_drive "$LAB_BETA" 0 "$BYTES" "$WORK/seen"
	same_bytes beta "$WORK/seen" "$WORK/data" "$BYTES"
}

# arrived_blocks - how many of the drive's blocks lie at their place in the BAR.
arrived_blocks() {
	python3 - "$(backing gpu)" "$WORK/data" "$BYTES" <<-'END'
		import sys
		bar, data = (open(path, "rb").read(int(sys.argv[3])) for path in sys.argv[1:3])
		print(sum(bar[at:at + 512] == data[at:at + 512] for at in range(0, len(data), 512)))
	END
}

# refused_for REGEX - copies are refused both ways. No block of the drive is in the BAR then, and the other drive is unchanged.
refused_for() {
	data_on_alpha "$BYTES"
	random_file "$WORK/before" "$BYTES"
	put_on_drive "$WORK/before" "$LAB_BETA" 0
	equal "blocks that are there before the copy" 0 "$(arrived_blocks)"
	exits 1 "$1" donard-cli copy "$LAB_ALPHA" p2pmem0 --size "$BYTES"
	exactly "blocks that a refused copy wrote" 0 "$(arrived_blocks)"
	exits 1 "$1" donard-cli copy p2pmem0 "$LAB_BETA" --size "$BYTES"
	take_from_drive "$LAB_BETA" 0 "$BYTES" "$WORK/seen"
	same_bytes "beta after a refused copy" "$WORK/seen" "$WORK/before" "$BYTES"
}

bounces() {
	data_on_alpha "$BYTES"
	copy "$LAB_ALPHA" p2pmem0 --size "$BYTES" --verify --allow-bounce
	result_is "$BYTES" bounced "$BYTES"
	arrived
	copy p2pmem0 "$LAB_BETA" --size "$BYTES" --verify --allow-bounce
	result_is "$BYTES" bounced "$BYTES"
}

# topo_says REGEX
topo_says() {
	matches "donard-cli topo" "$1" "$(donard-cli topo)"
}

own_memory() {
	data_on_alpha "$MIB"
	copy "$LAB_ALPHA" p2pmem1 --size "$MIB" --verify
	result_is "$MIB" switch 0
}

unlisted_bridge() {
	goes_by bridge --allow-unlisted-bridge
}

above_4g() {
	local start
	start=$(awk 'NR == 3 { print $1 }' "/sys/bus/pci/devices/$LAB_GPU_BDF/resource")
	((start >= 1 << 32)) || fail "the BAR is at $start"
	equal memtype wc "$(attr p2pmem0 memtype)"
	equal size $((1 << 32)) "$(attr p2pmem0 size)"
}

far_end() {
	data_on_alpha "$BYTES"
	copy "$LAB_ALPHA" p2pmem0+4088M --size "$BYTES" --verify
	result_is "$BYTES" switch 0
	same_bytes "host's view of the BAR's end" "$(backing gpu)" "$WORK/data" "$BYTES" \
		$((4088 * MIB))
}

# On 7.x P2PDMA pages get bus addresses whose requests the emulated IOMMU drops: no copy may claim success.
p2pdma_behind_iommu() {
	with_page_type p2pmem0 p2pdma
	refused_for 'IOMMU'
}

p2pdma_between_root_ports() {
	with_page_type p2pmem0 p2pdma
	refused_for 'bridge'
}

# --- the page type that region add chooses by itself ---

# add_bar ARG... - p2pmem0 anew; its JSON in $RESULT. The next test finds it as the lab made it.
add_bar() {
	donard-cli region remove p2pmem0
	at_end "donard-cli region add --kind pci-bar --device $LAB_GPU_BDF --bar 2 --page-type generic; give_to_group p2pmem0"
	at_end "! region_exists p2pmem0 || donard-cli region remove p2pmem0"
	# shellcheck disable=SC2034  # for field
	RESULT=$(donard-cli region add --json --kind pci-bar --device "$LAB_GPU_BDF" --bar 2 "$@")
	equal name p2pmem0 "$(field name)"
}

unrouted_are() {
	local seen
	seen=$(attr p2pmem0 unrouted | sort | paste -sd' ')
	equal "unrouted" "$1" "$seen"
	seen=$(donard-cli list --json | jq -r '.regions[0].unrouted | sort | join(" ")')
	equal "unrouted, JSON" "$1" "$seen"
}

drives() {
	printf '%s\n' "$LAB_ALPHA_BDF" "$LAB_BETA_BDF" | sort | paste -sd' '
}

default_is_generic() {
	local seen
	dmesg -C
	add_bar
	equal "page type" generic "$(attr p2pmem0 page_type)"
	matches note "generic: each NVMe and RDMA function has a route .$(drives | sed 's/ /, /')" "$(field note)"
	matches "kernel log" "p2pmem0: page type generic: each" "$(dmesg)"
	unrouted_are ""
	seen=$(donard-cli list)
	[[ $seen != *Warning* ]] || fail "a warning where all have a route: $seen"
}

default_is_p2pdma() {
	add_bar
	equal "page type" p2pdma "$(attr p2pmem0 page_type)"
	matches note "p2pdma.*none from $(drives | sed 's/ /, /')" "$(field note)"
	unrouted_are ""
}

default_is_refused() {
	donard-cli region remove p2pmem0
	at_end "donard-cli region add --kind pci-bar --device $LAB_GPU_BDF --bar 2 --page-type generic; give_to_group p2pmem0"
	exits 1 "no route from $(drives | sed 's/ /, /'): .*--page-type generic" \
		donard-cli region add --kind pci-bar --device "$LAB_GPU_BDF" --bar 2
	[[ ! -e /sys/bus/pci/devices/$LAB_GPU_BDF/driver ]] || fail "the BAR's function is still bound"
}

# PMR has no page type p2pdma on any kernel; its own drive reaches it, the other does not.
default_of_pmr_is_refused() {
	donard-cli region remove p2pmem2
	at_end "donard-cli region add --kind nvme-pmr --device $LAB_BETA_BDF --page-type generic; give_to_group p2pmem2"
	exits 1 "no route from $LAB_ALPHA_BDF: .*--page-type generic" \
		donard-cli region add --kind nvme-pmr --device "$LAB_BETA_BDF"
	exits 1 '"code": *"unreachable"' donard-cli region add --json --kind nvme-pmr --device "$LAB_BETA_BDF"
	region_gone p2pmem2 || fail "a refused region is there"
}

generic_by_name() {
	dmesg -C
	add_bar --page-type generic
	equal "page type" generic "$(attr p2pmem0 page_type)"
	matches note "no route from $(drives | sed 's/ /, /')" "$(field note)"
	matches "kernel log" "p2pmem0: no route from $(drives | sed 's/ /, /')" "$(dmesg)"
	unrouted_are "$(drives)"
	matches list "Warning: $LAB_ALPHA_BDF has no route to p2pmem0" "$(donard-cli list)"
	matches info "unrouted +$(drives | sed "s/ .*//")" "$(donard-cli info p2pmem0)"
}

# Two functions in a short buffer stand in for more than a page has room for: none is cut, and all are counted.
unrouted_is_not_cut() {
	local names
	names=$(attr p2pmem0 unrouted)
	insmod /opt/donard/modules/trip.ko symbol=p2pmem_unrouted_text third=$((${#names} - 2))
	at_end "rmmod trip"
	equal "unrouted in a short buffer" "and 2 more" "$(attr p2pmem0 unrouted)"
	equal "in JSON" "[] 2" "$(donard-cli list --json | jq -r '.regions[0] | "\(.unrouted) \(.unrouted_left_out)"')"
	matches list "Warning: 2 more functions" "$(donard-cli list)"
}

newcomer_is_told() {
	unrouted_are "$(drives)"
	labctl unplug alpha
	unrouted_are "$LAB_BETA_BDF"
	dmesg -C
	labctl plug alpha
	at_end "stale_env; donard-cli region add --kind nvme-cmb --device $LAB_ALPHA_BDF; give_to_group p2pmem1"
	labctl wait-drives
	stale_env
	matches "kernel log" "p2pmem0: $LAB_ALPHA_BDF came later and has no route" "$(dmesg)"
	unrouted_are "$(drives)"
}

# rdma_function_decides AUXILIARY - a function beside the switch has no route to the BAR, which does not matter as long as it is no client.
# With an RDMA device below it, or below its auxiliary device (1), it is a client, and decides.
rdma_function_decides() {
	local function
	function=$(readlink -f /sys/class/virtio-ports/*/device/.. | sort -u)
	function=${function##*/}
	at_end "rmmod rdmaclass"
	insmod /opt/donard/modules/rdmaclass.ko "function=$function" "auxiliary=$1"
	add_bar --page-type generic
	unrouted_are "$function"
	if can p2pdma; then
		add_bar
		equal "page type" p2pdma "$(attr p2pmem0 page_type)"
		matches note "p2pdma.*none from $function" "$(field note)"
	else
		donard-cli region remove p2pmem0
		exits 1 "no route from $function: .*--page-type generic" \
			donard-cli region add --kind pci-bar --device "$LAB_GPU_BDF" --bar 2
	fi
}

# A client's device lock may be held for long, so a probe does not wait for it. A bridge does no DMA, so its lock is not taken. Nor is the
# lock of a function without a driver, or of VFIO's: VFIO resets a function only if it gets the lock at once.
locked_client() {
	local port
	port=$(basename "$(dirname "$(readlink -f "/sys/bus/pci/devices/$LAB_ALPHA_BDF")")")
	[[ -d /sys/module/rules ]] || insmod /opt/donard/modules/rules.ko
	equal "the drive" "switch mapped" "$(rules probe p2pmem0 "$LAB_ALPHA_BDF")"
	exits 1 EAGAIN rules locked "$LAB_ALPHA_BDF" rules probe p2pmem0 "$LAB_ALPHA_BDF"
	exits 0 "$LAB_ALPHA_BDF +p2pmem0 +unknown .*$LAB_ALPHA_BDF is being bound, unbound or reset" \
		rules locked "$LAB_ALPHA_BDF" donard-cli topo
	exits 0 "$LAB_BETA_BDF +p2pmem0 +switch " rules locked "$LAB_ALPHA_BDF" donard-cli topo
	equal "the port" switch "$(rules locked "$port" rules probe p2pmem0 "$port")"
	equal "the drive afterwards" "switch mapped" "$(rules probe p2pmem0 "$LAB_ALPHA_BDF")"
	at_end "bind_nvme $LAB_BETA_BDF; donard-cli region add --kind nvme-pmr --device $LAB_BETA_BDF --page-type generic; give_to_group p2pmem2"
	unbind_nvme "$LAB_BETA_BDF"
	equal "a drive without a driver" switch "$(rules locked "$LAB_BETA_BDF" rules probe p2pmem0 "$LAB_BETA_BDF")"
}

# VFIO or root may give a function another IOMMU domain at any time if its driver does not use the DMA API. So its present domain is not
# examined, and an IOMMU is assumed to translate.
driverless_client() {
	local beta=$LAB_BETA_BDF type=/sys/bus/pci/devices/$LAB_BETA_BDF/iommu_group/type
	at_end "bind_nvme $beta; donard-cli region add --kind nvme-pmr --device $beta --page-type generic; give_to_group p2pmem2"
	at_end "echo DMA >$type"
	at_end "unbind_nvme $beta"
	equal "bound" "none mapped translated" "$(rules probe p2pmem0 "$beta")"
	unbind_nvme "$beta"
	echo identity >"$type"
	equal "without a driver" "none translated" "$(rules probe p2pmem0 "$beta")"
	bind_nvme "$beta"
	equal "bound again" "none mapped passthrough" "$(rules probe p2pmem0 "$beta")"
}

# A queue says what a copy says.
queue_refuses() {
	queue as-a-copy "$LAB_ALPHA" >"$WORK/said" || fail "$(cat "$WORK/said")"
	matches "what both say" "^unreachable .*$1" "$(cat "$WORK/said")"
}

# --- donard-cli doctor ---

# doctor_says STATUS VERDICT ROUTE - of alpha and the BAR; by the module, and by sysfs.
doctor_says() {
	doctor "$1"
	equal verdict "$2" "$(jq -r .verdict <<<"$RESULT")"
	equal "route" "$3" "$(between "$LAB_ALPHA_BDF" p2pmem0 .route)"
	doctor_agrees
}

# Drives that are mounted, and whatever is in the persistent region, stay as they are.
doctor_proves() {
	local end=$((64 * MIB - 4096))
	data_on_alpha $((2 * MIB))
	with_file_system ext4
	regio write p2pmem2 "$end" 4096 "$WORK/data"
	doctor 0
	equal "summary" "a device reaches another's memory in 4 of 4 pairs (predicted); not counted: 2 of a drive and its own memory" \
		"$(jq -r .summary <<<"$RESULT")"
	equal "evidence" predicted "$(each_pair .evidence)"
	doctor 0 --probe
	equal "reads" proven "$(each_pair .read.state)"
	equal "writes" proven "$(each_pair .write.state)"
	equal "evidence" proven "$(each_pair .evidence)"
	matches "summary" 'in 4 of 4 pairs \(proven\)' "$(jq -r .summary <<<"$RESULT")"
	finds_not not-probed
	take_from_drive "$LAB_ALPHA" 0 $((2 * MIB)) "$WORK/seen"
	same_bytes alpha "$WORK/seen" "$WORK/data" $((2 * MIB))
	regio read p2pmem2 "$end" 4096 "$WORK/seen"
	same_bytes "end of the persistent region" "$WORK/seen" "$WORK/data" 4096
}

# Without root's rights drives cannot be opened, and ACS cannot be seen: doctor says so, and does not call an unprobed pair ready.
doctor_of_others() {
	local remedy="Join its group (sudo adduser \$USER p2pmem) and log in again, or run as root."
	RESULT=$(as other donard-cli doctor --json --probe) && fail "status 0: $RESULT"
	equal "status" 3 $?
	equal "verdict" unknown "$(jq -r .verdict <<<"$RESULT")"
	matches "cause" 'of 4 pairs of two devices, 4 were not proven' "$(finds not-probed)"
	equal "cause" "user $(id -u other) cannot open p2pmem0, p2pmem1, p2pmem2 for reading and writing" "$(finds not-in-group)"
	equal "remedy" "$remedy" "$(jq -r '.findings[] | select(.code == "not-in-group") | .remedy' <<<"$RESULT")"
	equal "what info says" "p2pmem0: cannot be opened: Permission denied. $remedy" \
		"$(as other donard-cli info p2pmem0 --json | jq -r .unknown)"
	finds not-root
	finds acs-unreadable
	equal "reads" not-tried "$(each_pair .read.state)"
	matches "why" 'cannot be opened: Permission denied' "$(each_pair .read.reason)"
	RESULT=$(as user donard-cli doctor --json)
	finds_not not-in-group
}

# uring_is_refused REGEX COMMAND... - who does it is said, and routes are proven by Linux AIO.
uring_is_refused() {
	local regex=$1
	shift
	RESULT=$("$@" donard-cli doctor --json --probe) || fail "status $?: $RESULT"
	equal "verdict" ready "$(jq -r .verdict <<<"$RESULT")"
	equal "evidence" proven "$(each_pair .evidence)"
	equal "each way" proven "$(each_pair '.read.state, .write.state')"
	matches "cause" "$regex" "$(finds no-io-uring)"
	finds_not no-async-io
}

# no_request_is_made ERRNO [WHAT] - that nothing can be tried is no word about any route.
no_request_is_made() {
	local status=0
	RESULT=$(forbid "$1" "${2-all}" donard-cli doctor --json --probe) || status=$?
	equal "status without AIO" 3 "$status"
	equal "verdict without AIO" blocked "$(jq -r .verdict <<<"$RESULT")"
	equal "verdicts of pairs" yes "$(each_pair .verdict)"
	equal "evidence" predicted "$(each_pair .evidence)"
	equal "each way" not-tried "$(each_pair '.read.state, .write.state')"
	matches "why" '^not probed: io_uring is refused.*seccomp.*Linux AIO is, too' "$(each_pair .read.reason)"
	matches "cause" 'seccomp.*Linux AIO' "$(finds no-async-io)"
	finds_not no-io-uring
}

doctor_without_uring() {
	local sysctl=/proc/sys/kernel/io_uring_disabled
	uring_is_refused seccomp forbid EPERM io_uring
	uring_is_refused seccomp forbid ENOSYS io_uring
	uring_is_refused seccomp forbid EPERM requests
	no_request_is_made EPERM
	no_request_is_made ENOSYS
	no_request_is_made EPERM all-requests
	[[ -e $sysctl ]] || return 0
	at_end "echo 0 >$sysctl"
	echo 2 >"$sysctl"
	uring_is_refused 'kernel.io_uring_disabled is 2' env
	echo 1 >"$sysctl"
	RESULT=$(as user donard-cli doctor --json)
	matches "cause, of no group" 'kernel.io_uring_disabled is 1.*names none' "$(finds no-io-uring)"
	doctor 0
	finds_not no-io-uring
	uring_is_refused seccomp forbid EPERM io_uring
}

# all_but NAME... - the other regions and drives of this machine, as doctor names them.
all_but() {
	local all name
	all=" $(donard-cli list --json | jq -r '[.regions[].name, .clients[].namespaces[]?] | join(" ")') "
	for name; do
		all=${all/ $name / }
	done
	read -r all <<<"$all"
	printf '%s\n' "${all// /, }"
}

# remedy_of CODE
remedy_of() {
	jq -r ".findings[] | select(.code == \"$1\") | .remedy" <<<"$RESULT"
}

# Root of a container asks for each node as anybody does.
doctor_in_container() {
	with_drive_of_user
	RESULT=$(in_container donard-cli doctor --json)
	equal "cause" "/dev has no node of $(all_but p2pmem0 "${LAB_BETA#/dev/}")" "$(finds node-missing)"
	matches "container" "a user namespace, whose user 0 is user $(id -u user) outside" "$(finds container)"
	matches "summary" '; 1 of 3 regions can be opened here' "$(jq -r .summary <<<"$RESULT")"
	finds_not node-forbidden
	finds_not not-in-group
	finds not-root
	RESULT=$(as_root_of_nothing donard-cli doctor --json)
	equal "cause" "user 0 cannot open $(all_but)" "$(finds node-forbidden)"
	matches "remedy" keep-groups "$(remedy_of node-forbidden)"
	matches "summary" '; 0 of 3 regions can be opened here' "$(jq -r .summary <<<"$RESULT")"
	finds container
	doctor 0
	finds_not container
	finds_not not-root
	finds_not drive-closed
}

# podman of Debian 12 mounts an empty folder over it.
doctor_of_hidden_parts() {
	# shellcheck disable=SC2016  # the inner shell's
	RESULT=$(unshare -m sh -c 'mount -t tmpfs none /sys/dev/block && exec "$@"' sh donard-cli doctor --json)
	matches "cause" "another file system is mounted over /sys/dev/block" "$(finds sysfs-hidden)"
	matches "remedy" 'unmask=/sys/dev/block' "$(remedy_of sysfs-hidden)"
	doctor 0
	finds_not sysfs-hidden
}

doctor_in_device_cgroup() {
	with_device_cgroup
	RESULT=$(in_device_cgroup donard-cli doctor --json)
	equal "cause" "user 0 cannot open $(all_but p2pmem0 "${LAB_ALPHA#/dev/}")" "$(finds node-forbidden)"
	matches "remedy" 'device cgroup.*DeviceAllow=' "$(remedy_of node-forbidden)"
	matches "summary" '; 1 of 3 regions can be opened here' "$(jq -r .summary <<<"$RESULT")"
	finds_not not-in-group
}

# A node on a mount with nodev, none at all, and one that leads to another device.
doctor_of_nodes() {
	# shellcheck disable=SC2016  # the inner shell's
	local inner='mount -t tmpfs -o nodev tmpfs /mnt; cp -a /dev/p2pmem1 /mnt/; : >/mnt/p2pmem0; mknod /mnt/p2pmem2 c 1 3;
		cp -a "$1" /mnt/; mount --rbind /mnt /dev; exec donard-cli doctor --json'
	RESULT=$(unshare --mount bash -euc "$inner" nodes "$LAB_ALPHA")
	equal "cause" "/dev has no node of p2pmem0, p2pmem2, ${LAB_BETA#/dev/}" "$(finds node-missing)"
	equal "cause" "user 0 cannot open p2pmem1, ${LAB_ALPHA#/dev/}" "$(finds node-forbidden)"
	matches "remedy" 'nodev' "$(remedy_of node-forbidden)"
}

# fill_up - to the last block: where no piece fits any more, some blocks may still be free.
fill_up() {
	local piece
	for piece in 1M 4K; do
		! dd if=/dev/zero of="/mnt/fs/fill$piece" bs="$piece" oflag=direct 2>"$WORK/fill" || fail "the file system is not full"
	done
}

# A captured machine stands for the one that it was taken of.
doctor_of_captured() {
	python3 /opt/donard/tests/host/doctor.py captured donard-cli
}

doctor_writes_scratch() {
	with_file_system ext4 "$LAB_ALPHA"
	doctor 0 --probe --scratch /mnt/fs
	equal "writes" proven "$(each_pair .write.state)"
	equal "files left" lost+found "$(ls /mnt/fs)"
	truncate -s 1M /mnt/fs/scratch
	doctor 0 --probe --scratch /mnt/fs/scratch
	equal "write" proven "$(between "$LAB_ALPHA_BDF" p2pmem0 .write.state)"
	equal "size of the scratch file" "$MIB" "$(stat -c %s /mnt/fs/scratch)"
	rm /mnt/fs/scratch
	fill_up
	doctor 0 --probe --scratch /mnt/fs
	equal "write where nothing has room" not-tried "$(between "$LAB_ALPHA_BDF" p2pmem0 .write.state)"
	matches "why" 'No space left' "$(between "$LAB_ALPHA_BDF" p2pmem0 .write.reason)"
}

# A free name is free again afterwards. The target of a dangling link is not created.
doctor_makes_scratch() {
	with_file_system ext4 "$LAB_ALPHA"
	doctor 0 --probe --scratch /mnt/fs/new
	equal "write" proven "$(between "$LAB_ALPHA_BDF" p2pmem0 .write.state)"
	equal "files left" lost+found "$(ls /mnt/fs)"
	ln -s /mnt/fs/elsewhere /mnt/fs/link
	scratch_refused no-such-device /mnt/fs/link
	equal "files left" "link, lost+found" "$(ls -m -w 0 /mnt/fs)"
	mount -o remount,ro /mnt/fs
	scratch_refused read-only /mnt/fs
	scratch_refused read-only /mnt/fs/new
	umount /mnt/fs
	mount -o data=journal "$LAB_ALPHA" /mnt/fs
	scratch_refused unsupported /mnt/fs 3
	matches "why" 'through DRAM: .*data=journal' "$(jq -r .error.message <<<"$RESULT")"
}

# scratch_refused CODE PATH [STATUS] - a proof that was asked for and cannot be made is no verdict.
scratch_refused() {
	doctor "${3-1}" --probe --scratch "$2"
	equal "error" "$1" "$(jq -r .error.code <<<"$RESULT")"
	matches "message" "$2" "$(jq -r .error.message <<<"$RESULT")"
	equal "verdict" null "$(jq -r .verdict <<<"$RESULT")"
}

# SIGTERM or SIGQUIT comes while the persistent region holds the drive's block. A background job ignores SIGQUIT.
doctor_is_ended() {
	local end=$((64 * MIB - 4096)) number status
	for number in 15 3; do
		status=0
		random_file "$WORK/data" 4096
		regio write p2pmem2 "$end" 4096 "$WORK/data"
		LOSE=/dev/p2pmem2 LOSE_SIGNAL=$number env --default-signal=QUIT LD_PRELOAD=/opt/donard/tests/bin/lose \
			donard-cli doctor --json --probe >"$WORK/out" 2>&1 || status=$?
		equal "status ($(cat "$WORK/out"))" $((128 + number)) "$status"
		regio read p2pmem2 "$end" 4096 "$WORK/seen"
		same_bytes "end of the persistent region" "$WORK/seen" "$WORK/data" 4096
	done
}

# lost DIRECTION - the prediction is good, and the bytes do not arrive.
doctor_catches_lost() {
	RESULT=$(LOSE=$1 LD_PRELOAD=/opt/donard/tests/bin/lose donard-cli doctor --json --probe) && fail "status 0: $RESULT"
	equal "status" 4 $?
	equal "prediction" switch "$(between "$LAB_ALPHA_BDF" p2pmem0 .route)"
	equal "verdict of the pair" no "$(between "$LAB_ALPHA_BDF" p2pmem0 .verdict)"
	equal "$1" failed "$(between "$LAB_ALPHA_BDF" p2pmem0 ".$1.state")"
	finds not-delivered
}

# doctor_refuses REGEX [STATUS] - what a copy says.
doctor_refuses() {
	doctor "${2-3}" --probe
	equal "read" refused "$(between "$LAB_ALPHA_BDF" p2pmem0 .read.state)"
	matches "reason" "$1" "$(between "$LAB_ALPHA_BDF" p2pmem0 .read.reason)"
	matches "reason" "--allow-bounce is an option of 'donard-cli copy'" "$(between "$LAB_ALPHA_BDF" p2pmem0 .read.reason)"
}

doctor_tries_unlisted() {
	doctor 0 --probe --allow-unlisted-bridge
	equal "verdict" ready "$(jq -r .verdict <<<"$RESULT")"
	equal "verdict of the pair" yes "$(between "$LAB_ALPHA_BDF" p2pmem0 .verdict)"
	equal "read" proven "$(between "$LAB_ALPHA_BDF" p2pmem0 .read.state)"
	equal "write" proven "$(between "$LAB_ALPHA_BDF" p2pmem0 .write.state)"
	equal "evidence" proven "$(between "$LAB_ALPHA_BDF" p2pmem0 .evidence)"
	matches "reason" 'unlisted host bridge.*the bytes arrived: --allow-unlisted-bridge' "$(between "$LAB_ALPHA_BDF" p2pmem0 .reason)"
	matches "summary" ' pairs \(proven\); where the host bridge is unlisted' "$(jq -r .summary <<<"$RESULT")"
	finds unlisted-bridge-forwards
	finds_not unlisted-host-bridge
}

doctor_on_iommu() {
	doctor_says 0 ready iommu
	finds iommu-translates
	doctor 0 --probe
	equal "read" proven "$(between "$LAB_ALPHA_BDF" p2pmem0 .read.state)"
	equal "write" proven "$(between "$LAB_ALPHA_BDF" p2pmem0 .write.state)"
}

# doctor predicts by the kernel's argument, and the module sees that the kernel gives a bounce buffer. P2PDMA pages, which a CMB may have,
# are not bounced, which shows once the module has seen it.
doctor_on_swiotlb() {
	doctor_says 3 "$1" bounced
	finds swiotlb-forced
	equal "by" module "$(between "$LAB_ALPHA_BDF" p2pmem0 .predicted_by)"
	doctor_refuses 'Boot without swiotlb=force' "$2"
	equal "verdict of what was seen" "$3" "$(jq -r .verdict <<<"$RESULT")"
}

on_switch() {
	core t "switch: doctor" doctor_says 0 ready switch
	core t "switch: doctor proves each way" doctor_proves
	core t "switch: doctor of an ordinary user" doctor_of_others
	t "switch: doctor where io_uring is refused" doctor_without_uring
	t "switch: doctor in a container" doctor_in_container
	t "switch: doctor of hidden parts of /sys" doctor_of_hidden_parts
	t "switch: doctor in a device cgroup" doctor_in_device_cgroup
	t "switch: doctor of nodes" doctor_of_nodes
	t "switch: doctor of what was captured of the machine" doctor_of_captured
	t "switch: doctor writes to scratch" doctor_writes_scratch
	t "switch: doctor makes scratch and removes it" doctor_makes_scratch
	t "switch: doctor ends when it is told to, and leaves a persistent region as it was" doctor_is_ended
	t "switch: doctor catches a read that is lost" doctor_catches_lost read
	core t "switch: doctor catches a write that is lost" doctor_catches_lost write
	core t "switch: the default page type" default_is_generic
	t "switch: the default page type beside an RDMA function" rdma_function_decides 0
	t "switch: the default page type beside an RDMA function of an auxiliary device" rdma_function_decides 1
	core t "switch: the route" goes_by switch
	core t "switch: topo" topo_says switch
	t "switch: topo of a drive's own memory" topo_says "$LAB_ALPHA_BDF +p2pmem1 +own memory "
	t "switch: a client whose device lock is held" locked_client
}

default_on_rootports() {
	if can p2pdma; then
		core t "root ports: the default page type" default_is_p2pdma
	else
		core t "root ports: no default page type" default_is_refused
	fi
	t "root ports: no default page type of a PMR" default_of_pmr_is_refused
	t "root ports: generic by name" generic_by_name
	t "root ports: unrouted is not cut" unrouted_is_not_cut
	t "root ports: a drive that comes later" newcomer_is_told
}

# The program's own request to generic pages, which the kernel does not judge.
example_refuses() {
	# shellcheck source=helpers/examples.sh
	. helpers/examples.sh
	build_example own-read.c "$WORK/own-read"
	exits 1 'unlisted host bridge.*reaches p2pmem0 by: none' "$WORK/own-read" "$LAB_ALPHA" p2pmem0
	within 10 region_is_free p2pmem0
}

on_rootports() {
	core t "root ports: refused, naming the bridge" refused_for \
		'unlisted host bridge.*[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7].*allow-bounce'
	t "root ports: a queue refuses as a copy does" queue_refuses 'unlisted host bridge.*ALLOW_BOUNCE'
	t "root ports: a program's own request" example_refuses
	core t "root ports: bounced with leave" bounces
	t "root ports: an unlisted bridge with leave" unlisted_bridge
	t "root ports: a drive's own memory" own_memory
	core t "root ports: topo" topo_says 'none|unlisted'
	! can p2pdma || t "root ports: p2pdma pages" p2pdma_between_root_ports
	core t "root ports: doctor" doctor_says 3 unlisted none
	t "root ports: doctor refuses" doctor_refuses 'unlisted host bridge'
	t "root ports: doctor tries an unlisted bridge" doctor_tries_unlisted
	default_on_rootports
}

on_iommu() {
	t "iommu: doctor" doctor_on_iommu
	t "iommu: the route" goes_by iommu
	t "iommu: topo" topo_says iommu
	! can p2pdma || t "iommu: p2pdma pages are refused" p2pdma_behind_iommu
}

# An IOMMU makes no route between root ports of a root complex that is not known to forward.
on_iommu_unlisted() {
	t "iommu, unlisted bridge: doctor" doctor_says 3 unlisted none
	t "iommu, unlisted bridge: refused" refused_for 'unlisted host bridge.*allow-bounce'
	t "iommu, unlisted bridge: with leave" goes_by iommu --allow-unlisted-bridge
	t "iommu, unlisted bridge: topo" topo_says 'none.*unlisted'
	t "iommu, unlisted bridge: generic by name" generic_by_name
	t "iommu, unlisted bridge: a client without a driver" driverless_client
}

on_swiotlb() {
	if can pool; then
		t "swiotlb: doctor" doctor_on_swiotlb blocked 0 ready
	else
		t "swiotlb: doctor" doctor_on_swiotlb impossible 3 impossible
	fi
	# The names that were typed, beside the addresses, and what to do about swiotlb.
	t "swiotlb: refused" refused_for \
		'/dev/nvme[0-9]n1 \([0-9a-f:.]+\) cannot reach p2pmem0 \([0-9a-f:.]+\): .*Boot without swiotlb=force'
	t "swiotlb: a queue refuses as a copy does" queue_refuses 'Boot without swiotlb=force'
	t "swiotlb: bounced with leave" bounces
	t "swiotlb: topo" topo_says bounced
}

on_high_bar() {
	t "high BAR: where it lies" above_4g
	t "high BAR: the route" goes_by switch
	t "high BAR: its end" far_end
}

case $LAB_TOPOLOGY in
switch | pciehp) on_switch ;;
rootports) on_rootports ;;
iommu) on_iommu ;;
iommu-unlisted) on_iommu_unlisted ;;
swiotlb) on_swiotlb ;;
high-bar) on_high_bar ;;
*) skip "routes" "nothing is known of topology $LAB_TOPOLOGY" ;;
esac
