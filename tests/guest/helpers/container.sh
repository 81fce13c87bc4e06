# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What containers are made of. Sourced by suites. docs/containers.md says what engines make of it.

# with_drive_of_user - drives are root's: until the end of the test, beta is user's.
with_drive_of_user() {
	chown user "$LAB_BETA"
	at_end "chown root $LAB_BETA"
}

# in_container COMMAND... - runs it as "user", who is root there, in a user namespace of its own, with a /dev that has the nodes of
# p2pmem0, beta and null.
in_container() {
	# shellcheck disable=SC2016  # the inner shell's
	as user unshare --user --map-root-user --mount --pid --fork --mount-proc bash -euc '
		mount -t tmpfs tmpfs /mnt
		for node in "$1" /dev/p2pmem0 /dev/null; do
			touch "/mnt/${node##*/}"
			mount --bind "$node" "/mnt/${node##*/}"
		done
		mount --rbind /mnt /dev
		shift
		exec "$@"' contained "$LAB_BETA" "$@"
}

# with_nspawn - for in_nspawn, until the end of the test: what the engine wants of a machine.
with_nspawn() {
	if ! mountpoint -q /sys/fs/cgroup; then
		mount -t cgroup2 cgroup2 /sys/fs/cgroup
		at_end "umount /sys/fs/cgroup"
	fi
	cp -a /etc/machine-id "$WORK/machine-id"
	at_end "cp -a $WORK/machine-id /etc/machine-id"
	tr -d - </proc/sys/kernel/random/uuid >/etc/machine-id
}

# in_nspawn [OPTION] COMMAND... - by root, with the machine's own system, and a /dev with the nodes of p2pmem0 and beta. The
# lab has no systemd that could keep a unit of it.
in_nspawn() {
	local -a option=()
	[[ $1 != --* ]] || { option=("$1"); shift; }
	systemd-nspawn --quiet --register=no --keep-unit --volatile=yes "${option[@]}" -D / \
		--bind=/dev/p2pmem0 --bind="$LAB_BETA" -- "$@" </dev/null
}

# as_root_of_nothing COMMAND... - by "other", in a user namespace, with all nodes there and no right to them.
as_root_of_nothing() {
	as other unshare --user --map-root-user "$@"
}

# with_device_cgroup - for in_device_cgroup, until the end of the test: allows p2pmem0, alpha and null.
with_device_cgroup() {
	local group=$WORK/devices/narrow
	mkdir -p "$WORK/devices"
	mount -t cgroup -o devices devices "$WORK/devices"
	at_end "umount $WORK/devices"
	mkdir "$group"
	at_end "rmdir $group"
	echo a >"$group/devices.deny"
	echo "c $(attr p2pmem0 dev) rwm" >"$group/devices.allow"
	echo "b $(<"/sys/class/block/${LAB_ALPHA#/dev/}/dev") rwm" >"$group/devices.allow"
	echo "c 1:3 rwm" >"$group/devices.allow"
}

# in_device_cgroup COMMAND... - by root.
in_device_cgroup() {
	bash -euc 'echo 0 >"$1/cgroup.procs"; shift; exec "$@"' narrow "$WORK/devices/narrow" "$@"
}
