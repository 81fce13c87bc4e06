# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A write cache from its clients' side: donard-cli cache put, get, flush and trim, and the plugin of nbdkit. The cache is
# served by the other guest.

# shellcheck source=helpers/fabric.sh
. helpers/fabric.sh
# shellcheck source=helpers/served.sh
. helpers/served.sh
# shellcheck source=helpers/examples.sh
. helpers/examples.sh
# shellcheck source=helpers/disk.sh
. helpers/disk.sh

NVRAM=p2pmem2
# The other guest's drive, which may have another name there. It is not the drive with the NVRAM: the emulator fails a command with
# several pieces in a drive's own PMR (the list of them is in DRAM).
# shellcheck disable=SC2016  # the other guest's
BACKING=$(labctl peer bash -c '. <(labctl env); echo "$LAB_ALPHA"' </dev/null)
readonly BACKING

# --- the server, in the second guest ---

start_server() {
	start_serving labctl peer donard-cli cache serve --nvram "$NVRAM" --backing "$BACKING" --listen "$LAB_PEER_ADDR" "$@"
	at_end "labctl peer pkill -KILL -x donard-cli </dev/null; wait $SERVER"
	until_listening
}

# serve ARGUMENT... - with a new log, whatever the NVRAM had.
serve() {
	within 10 peer_is_free "$NVRAM"
	labctl peer sh -c "head -c \$(cat /sys/class/p2pmem/$NVRAM/size) /dev/zero >/dev/$NVRAM" </dev/null
	start_server --format "$@"
}

client() {
	client_of cache "$@"
}

# served WORD - of the server's status
served() {
	labctl peer donard-cli cache status "$NVRAM" --json </dev/null | jq ".$1"
}

# --- put and get ---

# SIZE [ARGUMENT...]
there_and_back() {
	local size=$1
	shift
	serve
	random_file "$WORK/data" "$size"
	client put "$WORK/data" --offset 4M "$@"
	exactly "bytes of $RESULT" "$size" "$(field bytes)"
	equal "durable, in $RESULT" true "$(field durable)"
	client get "$WORK/back" --offset 4M --size "$size" "$@"
	cmp "$WORK/data" "$WORK/back"
}

# Requests that are posted at once take eight seconds, four times as long as the server may be silent.
over_a_slow_link() {
	slow_wire
	serve --clients 1 --high 95
	random_file "$WORK/data" $((32 * MIB))
	client put "$WORK/data" --queue-depth 128 --timeout 2
	exactly "bytes of $RESULT" $((32 * MIB)) "$(field bytes)"
}

# Its one request takes longer than one waits without a word: the log has room for all of it, and the drive has nothing to do.
slow_link_is_no_full_log() {
	slow_wire
	serve --no-cleaner --clients 3 --high 95
	random_file "$WORK/data" $((16 * MIB))
	client put "$WORK/data" --block-size 16M --queue-depth 4
	equal "writes of the server's drive" 0 "$(served drive_writes)"
	matches "what it waits for" 'nothing has completed for a while: the server, its drive .* or the link is slow' "$(<"$WORK/client.err")"
	equal "words of a full log in $(<"$WORK/client.err")" 0 "$(grep -c 'log is full' "$WORK/client.err" || true)"
}

from_a_pipe() {
	serve
	random_file "$WORK/data" $((3 * MIB))
	donard-cli cache put "$LAB_PEER_ADDR" - --timeout 60 <"$WORK/data" >/dev/null
	donard-cli cache get "$LAB_PEER_ADDR" - --size 3M >"$WORK/back"
	cmp "$WORK/data" "$WORK/back"
}

# The region's own bytes, without a buffer.
from_a_region() {
	serve
	random_file "$WORK/data" "$MIB"
	regio write p2pmem0 $((2 * MIB)) "$MIB" "$WORK/data"
	client put /dev/p2pmem0+2M --size 1M
	client get p2pmem0+8M --size 1M
	same_bytes "host's view of the BAR" "$(backing gpu)" "$WORK/data" "$MIB" $((8 * MIB))
}

waits_for_reader() {
	grep -q pipe_write "/proc/$CLIENT/wchan"
}

# A full pipe, to which it tells its progress, holds the client in the middle.
source_is_reset() {
	local pipe status=0
	serve
	mkfifo "$WORK/progress"
	exec {pipe}<>"$WORK/progress"
	dd if=/dev/zero of="$WORK/progress" bs=4096 oflag=nonblock status=none 2>/dev/null || true
	donard-cli cache put "$LAB_PEER_ADDR" p2pmem0+2M --size 32M --block-size 64K --json --progress \
		>"$WORK/client" 2>"$WORK/progress" &
	CLIENT=$!
	at_end "kill -KILL $CLIENT 2>/dev/null"
	within 30 waits_for_reader
	echo 1 >"/sys/bus/pci/devices/$LAB_GPU_BDF/reset"
	cat <&"$pipe" >/dev/null &
	at_end "kill -KILL $! 2>/dev/null"
	wait "$CLIENT" || status=$?
	equal "status of the client, which said $(cat "$WORK/client")" 1 "$status"
	matches "why" 'p2pmem0: .*reset' "$(jq -r .error.message "$WORK/client")"
	within 10 region_is_free p2pmem0
}

cache_example() {
	serve
	build_example cache.c "$WORK/cache"
	example_says "$WORK/cache" 'durable, and read back' "$LAB_PEER_ADDR"
}

cache_example_volatile() {
	NVRAM=p2pmem0 serve --volatile-ok
	build_example cache.c "$WORK/cache"
	example_says "$WORK/cache" 'volatile, and read back' "$LAB_PEER_ADDR"
}

python_client() {
	local status=0 said
	serve
	said=$(python3 python/cache.py "$1" "$LAB_PEER_ADDR" 2>&1) || status=$?
	equal "status of cache.py $1, which said: $said (server: $(what_was_served))" 0 "$status"
	within 10 region_is_free p2pmem0
}

# The program goes on when it may write, so that the server is gone before it does.
python_client_loses_it() {
	serve
	mkfifo "$WORK/may_write"
	python3 python/cache.py lost "$LAB_PEER_ADDR" <"$WORK/may_write" >"$WORK/client" 2>&1 &
	CLIENT=$!
	at_end "kill -KILL $CLIENT 2>/dev/null; wait $CLIENT"
	exec 7>"$WORK/may_write"
	within 60 grep -qx connected "$WORK/client"
	labctl peer pkill -KILL -x donard-cli </dev/null
	wait "$SERVER" || true
	echo >&7
	exec 7>&-
	within 60 ended "$CLIENT"
	wait "$CLIENT" || fail "cache.py lost: $(cat "$WORK/client")"
}

part_of_a_block() {
	serve
	random_file "$WORK/data" 5000
	exits 2 'no whole blocks of' donard-cli cache put "$LAB_PEER_ADDR" "$WORK/data"
	client put "$WORK/data" --pad
	client get "$WORK/back" --size 8K
	cmp -n 5000 "$WORK/data" "$WORK/back"
	client put "$WORK/data" --size 1000 --pad
	client get "$WORK/part" --size 8K
	cmp -n 1000 "$WORK/data" "$WORK/part"
	cmp --ignore-initial=4096 "$WORK/back" "$WORK/part" # what is behind it is as it was
	client put /proc/version --pad # has bytes, and no size
	client get "$WORK/version" --size 4K
	cmp -n "$(wc -c </proc/version)" /proc/version "$WORK/version"
	: >"$WORK/empty"
	client put "$WORK/empty"
	equal "bytes of an empty file" 0 "$(field bytes)"
	exits 2 '1000 bytes are no multiple of' donard-cli cache put "$LAB_PEER_ADDR" dram --size 1000 --pad
	exits 2 '5000 bytes are no multiple of' donard-cli cache get "$LAB_PEER_ADDR" "$WORK/new" --size 5000
	exits 2 'offset 3 is no multiple of' donard-cli cache get "$LAB_PEER_ADDR" "$WORK/new" --offset 3
	[[ ! -e $WORK/new ]] || fail "a refusal made the file"
	# Times 1024 it is 4 MiB, in 64 bits.
	exits 2 'more memory than there can be' donard-cli cache put "$LAB_PEER_ADDR" "$WORK/data" --pad \
		--block-size $((2 ** 54 + 4096)) --queue-depth 1024
	exits 2 'past the end' donard-cli cache get "$LAB_PEER_ADDR" dram --offset 1T --size 4K
}

# got DST REASON - the report about DST is the same as a copy's.
got() {
	client get "$1" --size 1M
	equal "durable, in $RESULT" "$([[ $2 ]] && echo false || echo true)" "$(field durable)"
	matches "why not, in $RESULT" "^$2$" "$(field durable_reason)"
	matches "as text" "^durable +$([[ $2 ]] && echo no || echo yes)" \
		"$(donard-cli cache get "$LAB_PEER_ADDR" "$1" --size 1M 2>&1 | grep '^durable')"
}

# same_as_copy OPTIONS REASON - of a file on a file system with these options
same_as_copy() {
	serve
	with_file_system ext4 "$LAB_BETA" "$1"
	got /mnt/fs/got "$2"
	copy p2pmem0 /mnt/fs/copied --size 1M
	matches "a copy's reason, in $RESULT" "^$2$" "$(field durable_reason)"
}

not_durable() {
	serve
	client put dram --size 1M
	equal "durable, in $RESULT" "true " "$(field durable) $(field durable_reason)"
	got dram 'dram is volatile'
	got p2pmem0 'p2pmem0 is volatile'
	got /dev/null '/dev/null is no file and no drive'
	got "$WORK/got" 'whether a flush reaches the medium is not known: .*file system.*'
}

# The put is refused before any byte is sent.
does_not_fit() {
	local drive_bytes
	serve
	drive_bytes=$(labctl peer blockdev --getsize64 "$BACKING" </dev/null)
	random_file "$WORK/data" "$MIB"
	client put "$WORK/data" --offset $((drive_bytes - MIB))
	exits 2 'go past the end of drive' donard-cli cache put "$LAB_PEER_ADDR" dram --offset $((drive_bytes - MIB)) --size 2M
	echo precious >"$WORK/mine"
	exits 2 'go past the end of drive' donard-cli cache get "$LAB_PEER_ADDR" "$WORK/mine" --offset $((drive_bytes - MIB)) --size 2M
	exactly "the file that was to get it" precious "$(<"$WORK/mine")"
	client get "$WORK/back" --offset $((drive_bytes - MIB)) --size 1M
	cmp "$WORK/data" "$WORK/back"
	exits 1 'it ended after 4096 of the 1048576 bytes' donard-cli cache put "$LAB_PEER_ADDR" - --size 1M < <(head -c 4096 /dev/zero)
	mkfs.ext4 -q -F "$LAB_ALPHA"
	mkdir -p "$WORK/fs"
	mount "$LAB_ALPHA" "$WORK/fs"
	at_end "umount $WORK/fs"
	exits 1 "it is mounted at $WORK/fs" donard-cli cache get "$LAB_PEER_ADDR" "$LAB_ALPHA" --size 1M
	exits 1 '/dev/nvme9n1: there is no such device' donard-cli cache get "$LAB_PEER_ADDR" /dev/nvme9n1 --size 1M
	[[ ! -e /dev/nvme9n1 ]] || fail "a file appeared in /dev"
}

# Checks the drive itself, in the other guest.
reaches_the_drive() {
	serve --no-cleaner
	random_file "$WORK/data" "$MIB"
	client put "$WORK/data" --offset 8M --to-drive
	labctl peer dd if="$BACKING" bs=1M skip=8 count=1 iflag=direct status=none </dev/null >"$WORK/back"
	cmp "$WORK/data" "$WORK/back"
	client flush
	client flush --to-drive
	client trim --offset 8M --size 1M
	exits 2 'offset 1 is no multiple of' donard-cli cache trim "$LAB_PEER_ADDR" --offset 1 --size 4K
	exits 2 '100 bytes are no multiple of' donard-cli cache trim "$LAB_PEER_ADDR" --size 100
	exits 2 'past the end of drive' donard-cli cache trim "$LAB_PEER_ADDR" --offset 1T --size 4K
}

# Nothing is sent after a signal that comes before the server answers.
stopped_while_it_connects() {
	local status=0
	serve
	labctl peer pkill -STOP -x donard-cli </dev/null
	donard-cli cache trim "$LAB_PEER_ADDR" --size 1M --timeout 60 >"$WORK/client" 2>&1 &
	CLIENT=$!
	at_end "kill -KILL $CLIENT 2>/dev/null; labctl peer pkill -CONT -x donard-cli </dev/null"
	sleep 1
	kill -TERM "$CLIENT"
	within 10 ended "$CLIENT"
	wait "$CLIENT" || status=$?
	equal "status of the client, which said $(cat "$WORK/client")" 143 "$status"
	labctl peer pkill -CONT -x donard-cli </dev/null
	client flush
	equal "trims" 0 "$(labctl peer donard-cli cache status "$NVRAM" --json </dev/null | jq .trims)"
}

# More than the window holds: the client waits for the drive, and sees no error.
waits_for_room() {
	serve --no-cleaner --high 90 --clients 8
	random_file "$WORK/data" $((32 * MIB))
	client put "$WORK/data" --block-size 64K --queue-depth 128 --timeout 60
	matches "requests that waited, in $RESULT" '^[1-9]' "$(field waited)"
	client get "$WORK/back" --size 32M
	cmp "$WORK/data" "$WORK/back"
}

says_why_or_ended() {
	grep -q 'drive nvme[0-9]*n1 fails what is written to it' "$WORK/put.err" || ended "$CLIENT"
}

# put_waits - in the background, until it has said for what.
put_waits() {
	: >"$WORK/put.err"
	donard-cli cache put "$LAB_PEER_ADDR" "$WORK/data" --to-drive --timeout 60 >"$WORK/put" 2>"$WORK/put.err" &
	CLIENT=$!
	at_end "kill -KILL $CLIENT 2>/dev/null; wait $CLIENT"
	within "$SECONDS_TO_NOTICE" says_why_or_ended
	! ended "$CLIENT" || fail "the client ended: $(cat "$WORK/put.err"); server: $(what_was_served)"
}

# put_ends STATUS
put_ends() {
	local status=0
	within "$SECONDS_TO_NOTICE" ended "$CLIENT"
	wait "$CLIENT" || status=$?
	equal "status of the client ($(cat "$WORK/put.err"))" "$1" "$status"
}

# peer_drive WHAT - happens to it.
peer_drive() {
	labctl peer labctl fault alpha "$1" </dev/null
}

# A client that waits for a failing drive is told so, and can be stopped; when the drive works again, everything goes on.
waits_for_the_drive() {
	local status
	serve --no-cleaner --high 90 --timeout 60
	random_file "$WORK/data" "$MIB"
	peer_drive write
	at_end "peer_drive none"
	put_waits
	kill -INT "$CLIENT"
	put_ends 130
	matches "last words" ' stopped$' "$(tail -n 1 "$WORK/put.err")"
	put_waits
	status=$(labctl peer donard-cli cache status "$NVRAM" --json </dev/null)
	matches "the server's word" "$BACKING: .*failed" "$(jq -r .drive_error <<<"$status")"
	[[ $status != *ALLOW_* ]] || fail "a word of the library: $status"
	peer_drive none
	put_ends 0
	equal "lines of the client ($(cat "$WORK/put.err"))" 1 "$(grep -c fails "$WORK/put.err")"
	status=$(labctl peer donard-cli cache status "$NVRAM" --json </dev/null)
	equal "the server's word" '' "$(jq -r .drive_error <<<"$status")"
}

# A get that DST cannot take is refused before any byte is moved, and no file is made.
get_has_no_room() {
	local bytes before
	serve
	bytes=$(blockdev --getsize64 "$LAB_BETA")
	before=$(tail -c 4096 "$LAB_BETA" | sha256sum)
	exits 1 "the drive ends at $bytes" donard-cli cache get "$LAB_PEER_ADDR" "$LAB_BETA" --dst-offset $((bytes - 4096)) --size 1M
	exactly "end of the drive" "$before" "$(tail -c 4096 "$LAB_BETA" | sha256sum)"
	# shellcheck disable=SC2016  # the inner shell's
	exits 1 'ulimit -f' bash -c 'ulimit -f 64; exec donard-cli cache get "$1" "$2" --size 1M' limited "$LAB_PEER_ADDR" "$WORK/none"
	mkdir -p "$WORK/small"
	mount -t tmpfs -o size=512K tmpfs "$WORK/small"
	at_end "umount $WORK/small"
	exits 1 'there is no room .*No space' donard-cli cache get "$LAB_PEER_ADDR" "$WORK/small/none" --size 1M
	equal "code" no-space "$({ donard-cli cache get "$LAB_PEER_ADDR" "$WORK/small/none" --size 1M --json || true; } | jq -r .error.code)"
	exits 1 'past|too large|ends at|ulimit' donard-cli cache get "$LAB_PEER_ADDR" "$WORK/none" --dst-offset 9223372036854775807 --size 1M
	[[ ! -e $WORK/none && ! -e $WORK/small/none ]] || fail "a refusal made the file"
}

# The kernel refuses even root to open this existing file with O_CREAT.
others_file() {
	local rule=/proc/sys/fs/protected_regular
	serve
	at_end "echo $(<"$rule") >$rule"
	echo 2 >"$rule"
	mkdir "$WORK/shared"
	chmod 1777 "$WORK/shared"
	as user tee "$WORK/shared/file" <<<mine >/dev/null
	client get "$WORK/shared/file" --size 1M
	equal "owner and size" "user $MIB" "$(stat -c '%U %s' "$WORK/shared/file")"
	client get "$WORK/shared/new" --size 1M
	ln -s new2 "$WORK/shared/link"
	client get "$WORK/shared/link" --size 1M
	equal "size of what a link leads to" "$MIB" "$(stat -c %s "$WORK/shared/new2")"
}

# A pipe that says nothing
server_has_written() {
	(($(labctl peer donard-cli cache status "$NVRAM" --json </dev/null | jq .written_bytes) == $1))
}

stopped_at_a_pipe() {
	local status=0
	serve
	mkfifo "$WORK/pipe"
	donard-cli cache put "$LAB_PEER_ADDR" - --block-size 64K --json <>"$WORK/pipe" >"$WORK/put" 2>"$WORK/put.err" &
	CLIENT=$!
	at_end "kill -KILL $CLIENT 2>/dev/null; wait $CLIENT"
	within "$SECONDS_TO_NOTICE" grep -q '^SigCgt:.*[2367abef]$' "/proc/$CLIENT/status"
	head -c 65536 /dev/zero >"$WORK/pipe"
	within "$SECONDS_TO_NOTICE" server_has_written 65536
	kill -INT "$CLIENT"
	put_ends 130
	equal "what it says" 'canceled 65536 false the command did not come to its end' \
		"$(jq -r '"\(.error.code) \(.bytes) \(.durable) \(.durable_reason)"' "$WORK/put")"
}

# Nobody reads the pipe for longer than the server waits for a client's first message.
late_reader() {
	serve --timeout 2
	mkfifo "$WORK/pipe"
	donard-cli cache get "$LAB_PEER_ADDR" "$WORK/pipe" --size 1M >"$WORK/put" 2>"$WORK/put.err" &
	CLIENT=$!
	at_end "kill -KILL $CLIENT 2>/dev/null; wait $CLIENT"
	sleep 65
	! ended "$CLIENT" || fail "nobody waits at the pipe: $(cat "$WORK/put.err")"
	equal "bytes ($(cat "$WORK/put.err"))" "$MIB" "$(wc -c <"$WORK/pipe")"
	put_ends 0
}

# It is never without data for long, and one block takes longer than the server lets a client be silent.
slow_pipe() {
	serve --timeout 2
	for _ in {1..80}; do
		head -c 512 /dev/zero
		sleep 0.05
	done | client put - --block-size 64K
}

two_clients() {
	local pid
	serve
	random_file "$WORK/one" $((8 * MIB))
	random_file "$WORK/two" $((8 * MIB))
	donard-cli cache put "$LAB_PEER_ADDR" "$WORK/one" --block-size 16K --timeout 60 >/dev/null &
	pid=$!
	client put "$WORK/two" --offset 16M --block-size 16K --timeout 60
	wait "$pid"
	client get "$WORK/back" --size 8M
	cmp "$WORK/one" "$WORK/back"
	client get "$WORK/back" --offset 16M --size 8M
	cmp "$WORK/two" "$WORK/back"
}

# One after the other each finds the one window, as soon as the drive has what the one before has put there. Beside a client that
# stays none does.
more_clients_than_windows() {
	local number
	serve --no-cleaner --high 90 --clients 1
	random_file "$WORK/data" 65536
	for number in 1 2 3; do
		client put "$WORK/data" --offset ${number}M --timeout 60
	done
	mkfifo "$WORK/pipe"
	donard-cli cache put "$LAB_PEER_ADDR" - --block-size 64K --timeout 60 <>"$WORK/pipe" >"$WORK/put" 2>"$WORK/put.err" &
	CLIENT=$!
	at_end "kill -KILL $CLIENT 2>/dev/null; wait $CLIENT"
	head -c 65536 /dev/zero >"$WORK/pipe"
	within "$SECONDS_TO_NOTICE" server_has_written $((4 * 65536))
	exits 1 'every window of the cache has a client' donard-cli cache flush "$LAB_PEER_ADDR" --timeout 1
}

# --- the end of a connection ---

# Data that were acknowledged before are there after a restart.
server_is_killed() {
	local status=0
	serve
	random_file "$WORK/data" "$MIB"
	client put "$WORK/data"
	donard-cli cache put "$LAB_PEER_ADDR" dram --offset 16M --size 4M --block-size 4K --queue-depth 4 --json \
		>"$WORK/client" 2>&1 &
	CLIENT=$!
	sleep 0.3
	labctl peer pkill -KILL -x donard-cli </dev/null
	within "$SECONDS_TO_NOTICE" ended "$CLIENT"
	wait "$CLIENT" || status=$?
	# On an idle host the command may end before the signal comes.
	if ((status)); then
		equal "status of the client" 1 "$status"
		matches "code of the client, in $(cat "$WORK/client")" '^(peer-lost|peer-silent|withdrawn)$' \
			"$(sed -n '/^{/,$p' "$WORK/client" | jq -r .error.code)"
	fi
	start_server
	client get "$WORK/back" --size 1M
	cmp "$WORK/data" "$WORK/back"
}

nobody_there() {
	exits 1 'nobody listens there.*cache serve|no answer' donard-cli cache flush "$LAB_PEER_ADDR" --timeout 5
	equal "a file that get would have made" no "$(
		donard-cli cache get "$LAB_PEER_ADDR" "$WORK/none" --timeout 5 >/dev/null 2>&1 || true
		[[ -e $WORK/none ]] && echo yes || echo no
	)"
}

# No RDMA device of the lab leads a client to loopback, whether or not a server listens there.
loopback_is_no_way() {
	exits 3 "127\\.0\\.0\\.1:[0-9]+: no RDMA device serves loopback.*--listen and that address: .*$LAB_ADDR \\($LAB_RDMA_DEVICE\\)" \
		donard-cli cache flush 127.0.0.1 --timeout 5
}

# --- as a disk ---

disk_has_the_drives_shape() {
	serve
	# shellcheck disable=SC2016  # nbdkit's shell
	disk 'nbdinfo --json "$uri"' >"$WORK/info"
	equal "size" "$(labctl peer blockdev --getsize64 "$BACKING" </dev/null)" "$(jq -r '.exports[0]."export-size"' "$WORK/info")"
	for can in can_flush can_fua can_trim can_multi_conn; do
		equal "$can" true "$(jq -r ".exports[0].$can" "$WORK/info")"
	done
}

# disk_asks REQUEST OFFSET LENGTH [fua] - sends the request by a connection of its own.
disk_asks() {
	disk "python3 python/nbd.py \"\$unixsocket\" $*" 2>"$WORK/nbd.err" || fail "$*: $(cat "$WORK/nbd.err")"
}

# With volatile NVRAM, a write with FUA is on the drive when it completes, and no other write is.
disk_forces_what_is_volatile() {
	NVRAM=p2pmem0
	serve --volatile-ok --no-cleaner --high 90
	disk_asks write 0 4096
	equal "records, and flushes of the drive, after a write" '1 0' "$(served records) $(served drive_flushes)"
	disk_asks write 65536 4096 fua
	equal "records, and flushes of the drive, after a write with FUA" '0 1' "$(served records) $(served drive_flushes)"
	disk_asks trim 65536 4096 fua
	equal "records, and flushes of the drive, after a trim with FUA" '0 2' "$(served records) $(served drive_flushes)"
}

# Trimmed blocks are not written to the drive, which may keep its old bytes. Blocks beside them are written.
disk_trims() {
	serve --no-cleaner --high 90
	random_file "$WORK/data" $((3 * MIB))
	client put "$WORK/data" --offset 8M
	disk_asks trim $((9 * MIB)) "$MIB"
	client flush --to-drive
	equal "trims, and those that the drive did not do" '1 0' "$(served trims) $(served ignored_trims)"
	client get "$WORK/back" --offset 8M --size 3M
	cmp -n "$MIB" "$WORK/data" "$WORK/back"
	cmp -i $((2 * MIB)) "$WORK/data" "$WORK/back"
	! cmp -s -i "$MIB" -n "$MIB" "$WORK/data" "$WORK/back" || wrong "nothing was trimmed"
}

disk_under_fio() {
	serve
	disk_by_fio --do_verify=1 --fsync=64
}

MKFS_OPTIONS=(-E nodiscard)

on_ext4() {
	mkfs.ext4 -q "${MKFS_OPTIONS[@]}" /dev/nbd0 64M
	mount /dev/nbd0 "$WORK/mnt"
	random_file "$WORK/data" $((4 * MIB))
	cp "$WORK/data" "$WORK/mnt/file"
	database 'create table t(n integer primary key, b blob);'
	for n in 1 2 3 4 5; do
		database "insert into t values($n, randomblob(20000));"
	done
	umount "$WORK/mnt"
}

# The page cache has been dropped by then.
on_ext4_again() {
	local seen
	disk_is_sound
	mount /dev/nbd0 "$WORK/mnt"
	cmp "$WORK/data" "$WORK/mnt/file"
	seen=$(database 'pragma integrity_check')
	exactly "sqlite's check" ok "$seen"
	seen=$(database 'select count(*) from t')
	exactly "rows" 5 "$seen"
	umount "$WORK/mnt"
}

# The server is killed in between, and started again on its log.
file_system_and_database() {
	serve
	with_disk on_ext4
	without_disk
	labctl peer pkill -KILL -x donard-cli </dev/null
	wait "$SERVER" || true
	start_server
	with_disk on_ext4_again
}

# Follows docs/cache-disk.md, with a mkfs that discards. The data that four connections leave in their parts of the log keep the next
# four out until the drive has them, so those wait.
disk_by_four_connections() {
	local NBD_CLIENT_OPTIONS=(-C 4 -timeout 86400) MKFS_OPTIONS=()
	local NBDKIT_OPTIONS=(--filter=blocksize) NBDKIT_PARAMETERS=(minblock=4096)
	serve --no-cleaner --high 90 --clients 4
	with_disk on_ext4
	equal "clients" 4 "$(served clients)"
	without_disk
	with_disk on_ext4_again
}

# Nothing has been written to the disk for two seconds, and something is to be.
write_waits() {
	local before
	before=$(awk '{print $5}' /sys/block/nbd0/stat)
	sleep 2
	[[ $before == "$(awk '{print $5}' /sys/block/nbd0/stat)" ]] && awk '$2 == 0 {exit 1}' /sys/block/nbd0/inflight
}

# A write waits for the server's drive, and its client disconnects. Data that the client writes by its next connection stay.
disk_disconnected() {
	local waited
	serve --no-cleaner --high 90 --clients 8
	random_file "$WORK/old" $((32 * MIB))
	random_file "$WORK/new" 65536
	peer_drive write
	at_end "peer_drive none"
	with_disk true
	dd if="$WORK/old" of=/dev/nbd0 bs=64K oflag=direct 2>"$WORK/dd" &
	WRITER=$!
	within 60 write_waits
	nbd-client -d /dev/nbd0
	! wait "$WRITER" || fail "it wrote all of it: $(cat "$WORK/dd")"
	waited=$(sed -n 's/^\([0-9]*\)+.* records out$/\1/p' "$WORK/dd")
	within 10 nbd-client -unix "$WORK/nbd.sock" /dev/nbd0
	dd if="$WORK/new" of=/dev/nbd0 bs=64K seek="$waited" oflag=direct status=none
	peer_drive none
	client flush --to-drive
	dd if=/dev/nbd0 of="$WORK/back" bs=64K skip="$waited" count=1 iflag=direct status=none
	cmp "$WORK/new" "$WORK/back"
}

# The only part of the log has a client, and the disk's connection waits for it.
disk_told_to_end_while_it_connects() {
	serve --no-cleaner --high 90 --clients 1
	mkfifo "$WORK/pipe"
	donard-cli cache put "$LAB_PEER_ADDR" - --block-size 64K <>"$WORK/pipe" >"$WORK/put" 2>"$WORK/put.err" &
	CLIENT=$!
	at_end "kill -KILL $CLIENT 2>/dev/null; wait $CLIENT"
	head -c 65536 /dev/zero >"$WORK/pipe"
	within "$SECONDS_TO_NOTICE" server_has_written 65536
	nbdkit -f -U "$WORK/nbd.sock" -P "$WORK/nbdkit.pid" donard-cache server="$LAB_PEER_ADDR" timeout=600 2>"$WORK/nbdkit.err" &
	NBDKIT=$!
	at_end "kill -KILL $NBDKIT 2>/dev/null; wait $NBDKIT"
	within 20 test -e "$WORK/nbdkit.pid"
	nbdinfo "nbd+unix:///?socket=$WORK/nbd.sock" >"$WORK/info" 2>&1 &
	within "$SECONDS_TO_NOTICE" has_event refused
	kill -TERM "$NBDKIT"
	within 10 ended "$NBDKIT"
	matches "what nbdkit says" 'the NBD connection has ended' "$(cat "$WORK/nbdkit.err")"
}

core t "put and get" there_and_back $((8 * MIB))
t "put and get, many small requests" there_and_back $((2 * MIB)) --block-size 4K --queue-depth 64
t "put and get, one at a time" there_and_back "$MIB" --block-size 64K --queue-depth 1
t "put over a slow link" over_a_slow_link
t "put over a slow link, which fills no log" slow_link_is_no_full_log
t "through pipes" from_a_pipe
t "example cache.c" cache_example
t "example cache.c, volatile NVRAM" cache_example_volatile
t "from and to a region" from_a_region
t "put: the source's device is reset" source_is_reset
t "part of a block" part_of_a_block
t "get: where nothing is durable" not_durable
t "get: as durable as a copy" same_as_copy rw ''
t "get: as durable as a copy, nobarrier" same_as_copy nobarrier '.*mounted with nobarrier.*'
t "put and get, more than the drive has" does_not_fit
t "Python: a queue's completions" python_client in_flight
t "Python: asyncio" python_client awaited
t "Python: refusals, and the end" python_client refused
t "Python: server killed" python_client_loses_it
t "flush and trim" reaches_the_drive
t "trim: stopped while it connects" stopped_while_it_connects
t "more than the window holds" waits_for_room
t "a drive that fails" waits_for_the_drive
t "get: no room" get_has_no_room
t "get: another user's file in a shared folder" others_file
t "stopped at a pipe" stopped_at_a_pipe
t "put: a slow pipe" slow_pipe
t "get: a pipe that is read late" late_reader
t "two clients" two_clients
t "more clients than windows" more_clients_than_windows
t "server killed" server_is_killed
t "nobody there" nobody_there
t "no way over loopback" loopback_is_no_way
core t "disk: the drive's shape" disk_has_the_drives_shape
t "disk: FUA, volatile NVRAM" disk_forces_what_is_volatile
t "disk: trim" disk_trims
t "disk: fio" disk_under_fio
t "disk: four connections, and again" disk_by_four_connections
t "disk: disconnected while a write waits" disk_disconnected
t "disk: told to end while it connects" disk_told_to_end_while_it_connects
t "disk: ext4 and sqlite, server killed in between" file_system_and_database
