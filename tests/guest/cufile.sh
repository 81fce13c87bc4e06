# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# libcufile.so.0 under a program that was built for NVIDIA's: cufile_sample, by each way that donard has.

# shellcheck source=helpers/gpu.sh
. ./helpers/gpu.sh

# with_cufile SETTINGS PROGRAM... - runs it with these settings in cufile.json; its output goes to $WORK/said.
with_cufile() {
	printf '%s\n' "$1" >"$WORK/cufile.json"
	CUFILE_ENV_PATH_JSON=$WORK/cufile.json CUFILE_LOGFILE_PATH=$WORK/cufile.log \
		LD_LIBRARY_PATH=/usr/lib/donard/cufile${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "${@:2}" >"$WORK/said" 2>&1
}

must() {
	with_cufile "$@" || fail "the program: $(cat "$WORK/said") $(cat "$WORK/cufile.log" 2>/dev/null)"
}

# runs MODE FILE [SETTINGS]
runs() {
	local none='{}'
	must "${3:-$none}" cufile_sample "$1" "$2"
}

readonly ALLOWED='{ "properties": { "allow_compat_mode": true } }'
readonly FORCED='{ "properties": { "force_compat_mode": true } }'

on_a_file() {
	with_file_system "$1"
	runs host /mnt/fs/cufile
}

on_a_drive() {
	runs host "$LAB_ALPHA"
}

# The same by Linux AIO. The sample sets the log's level to WARN.
without_uring() {
	with_file_system ext4
	must '{}' forbid EPERM io_uring cufile_sample host /mnt/fs/cufile
	matches "the log" 'go by Linux AIO.*seccomp' "$(cat "$WORK/cufile.log")"
}

# The largest stage is smaller than a read, and requests are polled for.
with_settings() {
	with_file_system ext4
	runs host /mnt/fs/cufile '{ "properties": { "per_buffer_cache_size_kb": 64, "use_poll_mode": true },
		"execution": { "max_io_threads": 1 } }'
}

# It is refused, with the reason in the log; also where it is allowed, since the page cache would write to it no better.
mounted_drive() {
	local drive=${1:-$LAB_BETA} settings
	with_file_system ext4 "$drive"
	for settings in '{}' "$ALLOWED" "$FORCED"; do
		rm -f "$WORK/cufile.log"
		! with_cufile "$settings" cufile_sample host "$drive" || fail "a mounted drive was written: $settings"
		matches "the program" 'expected 0, seen 5025' "$(cat "$WORK/said")"
		matches "the log" 'it is mounted at /mnt/fs' "$(cat "$WORK/cufile.log")"
	done
	rm -f "$WORK/cufile.log"
	# shellcheck disable=SC2016  # the inner shell's
	! with_cufile "$FORCED" unshare --mount sh -c 'umount -l /proc && exec cufile_sample host "$0"' "$drive" ||
		fail "a drive was written of which nobody knew whether it is mounted"
	matches "the log" 'it is not known whether it is mounted' "$(cat "$WORK/cufile.log")"
}

# The same if compatibility mode is allowed or forced.
registered_drive() {
	local settings
	for settings in '{}' "$ALLOWED" "$FORCED"; do
		must "$settings" cufile_sample claim "$LAB_ALPHA"
	done
}

# Compatibility mode is all that there is for it, where nobody uses it, and no way to write below a file system.
mounted_loop_device() {
	local loop
	modprobe -q loop || true
	truncate -s 64M "$WORK/disk"
	loop=$(losetup --find --show "$WORK/disk")
	at_end "losetup --detach $loop"
	must "$ALLOWED" cufile_sample compat "$loop"
	mounted_drive "$loop"
}

# Forced, a drive that nobody uses is written through the page cache.
forced_on_a_drive() {
	must "$FORCED" cufile_sample compat "$LAB_ALPHA"
}

# A device by a link, as those of /dev/disk are, and a mount with a slash behind it.
denied() {
	local entry
	with_file_system ext4
	ln -s "$LAB_BETA" "$WORK/link"
	for entry in "\"devices\": [ \"$WORK/link\" ]" '"mounts": [ "/mnt/fs/" ]'; do
		rm -f "$WORK/cufile.log"
		! with_cufile "{ \"denylist\": { $entry } }" cufile_sample host /mnt/fs/cufile || fail "not denied: $entry"
		matches "the program" 'expected 0, seen 5034' "$(cat "$WORK/said")"
		matches "the log" 'is on the denylist' "$(cat "$WORK/cufile.log")"
	done
	runs host /mnt/fs/cufile "{ \"denylist\": { \"devices\": [ \"$LAB_ALPHA\" ], \"mounts\": [ \"/mnt\" ] } }"
}

# on_md FUNCTION... - with a file system on an array of both drives.
on_md() {
	modprobe -q raid0
	mdadm --create /dev/md7 --run --level=0 --raid-devices=2 --chunk=64 "$LAB_ALPHA" "$LAB_BETA" >"$WORK/mdadm" 2>&1 </dev/null ||
		fail "mdadm: $(cat "$WORK/mdadm")"
	at_end "mdadm --stop /dev/md7 >/dev/null 2>&1; wipefs -qa $LAB_ALPHA $LAB_BETA"
	with_file_system xfs /dev/md7
	"$@"
}

# Two pieces of both drives, as LVM makes a volume; the sample's 4 MiB are on both.
on_dm() {
	modprobe -q dm-mod
	printf '0 4096 linear %s 2048\n4096 131072 linear %s 2048\n' "$LAB_ALPHA" "$LAB_BETA" |
		dmsetup create cufile --noudevsync >"$WORK/dmsetup" 2>&1 || fail "dmsetup: $(cat "$WORK/dmsetup")"
	at_end "dmsetup remove --noudevsync cufile"
	runs host "/dev/dm-$(dmsetup info --noheadings -c -o minor cufile)"
}

# Grows the drive as lvextend does.
grown_drive() {
	modprobe -q dm-mod
	dmsetup create cufile --noudevsync >"$WORK/dmsetup" 2>&1 <<<"0 8192 linear $LAB_ALPHA 2048" || fail "dmsetup: $(cat "$WORK/dmsetup")"
	at_end "dmsetup remove --noudevsync cufile"
	GROW="echo 0 16384 linear $LAB_ALPHA 2048 | dmsetup load cufile && dmsetup resume --noudevsync cufile" \
		runs grown "/dev/dm-$(dmsetup info --noheadings -c -o minor cufile)"
}

# foreign_memory TYPE - pages of a region behind an address of the program's.
foreign_memory() {
	with_page_type p2pmem0 "$1"
	with_file_system ext4
	runs foreign /mnt/fs/cufile
	matches "the log" 'are memory of a device' "$(cat "$WORK/cufile.log")"
	runs foreign-compat /mnt/fs/cufile "$ALLOWED"
}

# A wrapper: the library is found by its name, and calls by theirs.
wrapper() {
	with_file_system ext4
	must '{}' "$1" /mnt/fs/cufile host straight
}

gpu_wrapper() {
	with_gpu
	donard-cli region add --kind gpu-nvidia --device "$LAB_GPU_BDF"
	with_file_system ext4
	must '{}' "$1" /mnt/fs/cufile gpu straight
	within 10 nothing_is_pinned
}

gpu_wrapper_allowed() {
	with_gpu
	with_file_system ext4
	must "$ALLOWED" "$1" /mnt/fs/cufile gpu compat
}

# straight FILE [PARAMETER...]
gpu_straight() {
	local file=$1
	shift
	with_gpu "$@"
	donard-cli region add --kind gpu-nvidia --device "$LAB_GPU_BDF"
	[[ $file != /mnt/fs/* || -e /dev/md7 ]] || with_file_system ext4
	LAB_CUDA_CHUNKS=1 runs gpu "$file"
	within 10 nothing_is_pinned
}

# GPU memory by way of DRAM: what CUDA says of pointers, its copies, and its streams.
gpu_allowed() {
	local more=$1
	shift
	with_gpu "$@"
	with_file_system ext4
	runs gpu-compat /mnt/fs/cufile "{ \"properties\": { \"allow_compat_mode\": true$more } }"
	within 10 nothing_is_pinned
}

gpu_without_leave() {
	with_gpu "$@"
	with_file_system ext4
	runs gpu-refused /mnt/fs/cufile
	within 10 nothing_is_pinned
}

gpu_region_removed() {
	local region add=(donard-cli region add --kind gpu-nvidia --device "$LAB_GPU_BDF")
	with_gpu
	region=$("${add[@]}")
	with_file_system ext4
	REGION_REMOVE="donard-cli region remove $region" REGION_ADD="${add[*]}" runs gpu-removed /mnt/fs/cufile
	within 10 nothing_is_pinned
}

# packaged NAME FUNCTION... - a test of programs that are built with the packaged header, unless the archive has none.
packaged() {
	if [[ -e /opt/donard/tests/no-cufile ]]; then
		skip "$1" "$(</opt/donard/tests/no-cufile)"
	else
		t "$@"
	fi
}

core packaged "on ext4" on_a_file ext4
packaged "on xfs" on_a_file xfs
packaged "on a drive" on_a_drive
packaged "on a file of md" on_md runs host /mnt/fs/cufile
packaged "on device-mapper" on_dm
packaged "a drive that grows" grown_drive
packaged "without io_uring" without_uring
packaged "with other settings" with_settings
packaged "a mounted drive" mounted_drive
packaged "a registered drive cannot be mounted" registered_drive
packaged "a drive and its partition" runs claim-part "$LAB_ALPHA"
packaged "a mounted loop device" mounted_loop_device
packaged "forced on a drive" forced_on_a_drive
packaged "what is denied" denied
packaged "a mapping of a region" foreign_memory generic
! can p2pdma || packaged "a mapping of a region, p2pdma" foreign_memory p2pdma
t "a wrapper in Python" wrapper cufile_wrapper.py
packaged "a wrapper in C++" wrapper cufile_wrapper
core packaged "GPU memory, straight on a file" gpu_straight /mnt/fs/cufile
packaged "GPU memory, straight on a drive" gpu_straight "$LAB_ALPHA"
packaged "GPU memory, straight on a file of md" on_md gpu_straight /mnt/fs/cufile
t "GPU memory by a wrapper in Python" gpu_wrapper cufile_wrapper.py
packaged "GPU memory by a wrapper in C++" gpu_wrapper cufile_wrapper
packaged "GPU memory through DRAM" gpu_allowed ''
t "GPU memory through DRAM, by a wrapper in Python" gpu_wrapper_allowed cufile_wrapper.py
packaged "GPU memory in compatibility mode" gpu_allowed ', "force_compat_mode": true' scatter=1
core packaged "GPU memory without leave" gpu_without_leave
packaged "GPU memory, whose region is removed" gpu_region_removed
