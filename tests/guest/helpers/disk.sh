# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A write cache of the other guest as a block device of this one. Sourced by suites, from their directory.

# For with_disk: options of nbdkit and of nbd-client, and parameters beside the plugin's own.
NBDKIT_OPTIONS=()
NBDKIT_PARAMETERS=()
NBD_CLIENT_OPTIONS=()

# with_disk COMMAND... - /dev/nbd0 is there meanwhile, and to the end of the test unless without_disk takes it away.
with_disk() {
	local socket=$WORK/nbd.sock
	modprobe nbd max_part=0
	nbdkit -f -U "$socket" -P "$WORK/nbdkit.pid" "${NBDKIT_OPTIONS[@]}" donard-cache server="$LAB_PEER_ADDR" timeout=60 \
		"${NBDKIT_PARAMETERS[@]}" 2>"$WORK/nbdkit.err" &
	NBDKIT=$!
	at_end "kill $NBDKIT 2>/dev/null; wait $NBDKIT"
	within 20 test -e "$WORK/nbdkit.pid"
	nbd-client -unix "$socket" /dev/nbd0 "${NBD_CLIENT_OPTIONS[@]}" >/dev/null || fail "nbd-client: $(cat "$WORK/nbdkit.err")"
	at_end "umount $WORK/mnt 2>/dev/null; nbd-client -d /dev/nbd0"
	mkdir -p "$WORK/mnt"
	"$@"
}

without_disk() {
	nbd-client -d /dev/nbd0
	kill "$NBDKIT" 2>/dev/null || true
	wait "$NBDKIT" || true
	rm -f "$WORK/nbd.sock" "$WORK/nbdkit.pid"
}

# disk COMMAND - with the plugin's address in $uri, and no block device.
disk() {
	nbdkit -f -U - donard-cache server="$LAB_PEER_ADDR" timeout=60 --run "$1"
}

# disk_by_fio OPTION... - each block of the first 8 MiB, in random order, or looked at.
disk_by_fio() {
	# shellcheck disable=SC2016  # nbdkit's shell
	disk 'fio --name=disk --ioengine=nbd --uri="$uri" --rw=randwrite --bs=4k --size=8M --iodepth=16 --verify=crc32c \
		--verify_fatal=1 --randseed=7 --aux-path='"$WORK $*" >"$WORK/fio" 2>&1 || fail "$(cat "$WORK/fio")"
	matches "what fio says" 'err= 0' "$(cat "$WORK/fio")"
}

# disk_is_sound - by the file system's own check.
disk_is_sound() {
	local status=0
	e2fsck -fn /dev/nbd0 >"$WORK/fsck" || status=$?
	((status != 4)) || wrong "$(cat "$WORK/fsck")"
	equal "status of e2fsck" 0 "$status"
}

# database SQL - each statement is durable when this returns: after "full" a power cut may bring the journal back that a
# transaction ended by deleting, and so undo it (sqlite.org/pragma.html, "synchronous").
database() {
	sqlite3 "$WORK/mnt/db" "pragma synchronous=extra; $1"
}
