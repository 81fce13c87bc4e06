# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A write cache in which something fails: the drive, the NVRAM, the wire, a client, the log, memory. Each time: what was
# acknowledged is there afterwards, nobody waits for ever, and who asks is told what failed. Server, NVRAM and drive are
# those of the suite "cache".

# shellcheck source=helpers/fabric.sh
. helpers/fabric.sh
# shellcheck source=helpers/cacheserver.sh
. helpers/cacheserver.sh

LIBRARY=$(readlink -f /usr/lib/libdonard.so)
readonly LIBRARY
readonly PRELOADED=/opt/donard/tests/bin

# --- waits ---

# said EVENT REGEX - its newest message
said() {
	local seen
	seen=$(jq -rs "map(select(.event == \"$1\")) | .[-1].message" "$WORK/served")
	matches "message of $1" "$2" "$seen"
}

# in_background CLIENT-ARGUMENT... - CLIENT is its pid here, its words are in $WORK/word and $WORK/word.err.
in_background() {
	: >"$WORK/word"
	client "$@" >"$WORK/word" 2>"$WORK/word.err" &
	CLIENT=$!
	at_end "kill -KILL $CLIENT 2>/dev/null; wait $CLIENT"
}

# client_ends REGEX - with this as its last word
client_ends() {
	local last status=0
	within $((3 * SECONDS_TO_NOTICE)) ended "$CLIENT"
	wait "$CLIENT" || status=$?
	last=$(tail -n 1 "$WORK/word")
	matches "last word of the client ($(cat "$WORK/word.err"))" "^($1)$" "$last"
	equal "status of the client that said '$last'" "$(status_with "$last")" "$status"
}

more_words_than() {
	(($(wc -l <"$WORK/word") > $1))
}

# keeps_writing - the client "follow" in the background gets acknowledgements.
keeps_writing() {
	within "$SECONDS_TO_NOTICE" more_words_than $(($(wc -l <"$WORK/word") + 2))
}

failed_and_ends() {
	server_ends "$1"
	matches "code ($(cat "$WORK/served"))" "^($2)$" "$(jq -rs '.[-1].error.code' "$WORK/served")"
	matches "its message" "$3" "$(jq -rs '.[-1].error.message' "$WORK/served")"
}

# what_was_acknowledged - of the client "follow", by a server that runs
what_was_acknowledged() {
	cp "$WORK/word" "$WORK/acknowledged"
	all_acknowledged_is_there
}

# --- the drive: errors ---

# drive_fails write|flush - meanwhile everything is acknowledged as before.
drive_fails() {
	fresh --no-cleaner --high 90
	says 'acknowledged 1048576' write 0 "$MIB" 1 65536
	at_end "labctl fault alpha none"
	labctl fault alpha "$1"
	in_background destage
	within "$SECONDS_TO_NOTICE" has_event drive-failed
	said drive-failed "${LAB_ALPHA}: .*(failed|cannot be flushed)"
	says 'acknowledged 65536' write $((2 * MIB)) 65536 2
	says "equal $MIB" read 0 "$MIB" 1 65536
	(($(of drive_errors) > 0)) || fail "no error was counted"
	equal "word of who waits for the drive" '' "$(cat "$WORK/word")"
	labctl fault alpha none
	within $((3 * SECONDS_TO_NOTICE)) has_event drive-works
	client_ends 'done'
	drain
	on_drive "equal $MIB" 0 "$MIB" 1
	on_drive 'equal 65536' $((2 * MIB)) 65536 2
}

# More than the window holds: writes wait, and none fails.
drive_fails_and_log_is_full() {
	fresh --clients 32
	at_end "labctl fault alpha none"
	labctl fault alpha write
	in_background write 0 $((8 * MIB)) 3 65536 64
	within "$SECONDS_TO_NOTICE" has_event drive-failed
	equal "word of who writes" '' "$(cat "$WORK/word")"
	labctl fault alpha none
	client_ends "acknowledged $((8 * MIB))"
	drain
	on_drive "equal $((8 * MIB))" 0 $((8 * MIB)) 3
}

# A failed read is reported to the client that asked; the server and all others go on.
drive_fails_reads() {
	fresh --no-cleaner --high 90
	says 'acknowledged 65536' write 0 65536 1
	says 'done' destage
	at_end "labctl fault alpha none"
	labctl fault alpha read
	says 'device' read 0 65536 1
	matches "what the client says" "the server's drive .* failed" "$(cat "$WORK/client.err")"
	within "$SECONDS_TO_NOTICE" has_event drive-failed
	says 'acknowledged 65536' write $((MIB)) 65536 2
	says 'equal 65536' read $((MIB)) 65536 2
	kill_server
	refuses 1 device
	matches "message" "${LAB_ALPHA}: read at offset 0 failed.*dmesg for a medium error" "$(cat "$WORK/refused")"
	labctl fault alpha none
	serve --no-cleaner
	says 'equal 65536' read 0 65536 1
	says 'equal 65536' read $((MIB)) 65536 2
}

# The drive is set to drop flushes while it is served. Each flush succeeds then, and the log keeps the records that it would have
# forgotten.
drive_is_not_flushed_any_more() {
	local cache=/sys/block/${LAB_ALPHA##*/}/queue/write_cache
	fresh --no-cleaner --high 90
	says 'acknowledged 65536' write 0 65536 1
	at_end "echo 'write back' >$cache"
	echo 'write through' >"$cache"
	in_background destage
	within "$SECONDS_TO_NOTICE" has_event drive-failed
	said drive-failed "${LAB_ALPHA}: a power cut may still lose .*write_cache says 'write through'"
	matches "status" "write_cache says 'write through'" "$(donard-cli cache status "$NVRAM")"
	equal "records" 16 "$(of records)"
	equal "word of who waits for the drive" '' "$(cat "$WORK/word")"
	echo 'write back' >"$cache"
	within $((3 * SECONDS_TO_NOTICE)) has_event drive-works
	client_ends 'done'
	equal "records" 0 "$(of records)"
}

# It was told to end, and cannot yet.
stopped_while_drive_fails() {
	fresh --no-cleaner --high 90
	says 'acknowledged 65536' write 0 65536 1
	at_end "labctl fault alpha none"
	labctl fault alpha flush
	kill -TERM "$SERVER"
	within "$SECONDS_TO_NOTICE" has_event drive-failed
	equal "draining" true "$(of draining)"
	equal "records" 16 "$(of records)"
	labctl fault alpha none
	server_ends 0
	on_drive 'equal 65536' 0 65536 1
}

# fill_file_system - but for less than a MiB
fill_file_system() {
	local step=$((512 * MIB)) used=0
	while ((step >= MIB / 2)); do
		if fallocate -l $((used + step)) /mnt/fs/filler 2>/dev/null; then
			used=$((used + step))
		else
			step=$((step / 2))
		fi
	done
}

# A file that has not all its blocks, as a drive that promises more than it has.
drive_is_full() {
	local seen
	with_file_system ext4 "$LAB_ALPHA"
	truncate -s 64M /mnt/fs/backing
	fill_file_system
	BACKING=/mnt/fs/backing
	fresh --no-cleaner --high 90
	says "acknowledged $((2 * MIB))" write 0 $((2 * MIB)) 1 65536
	in_background destage
	within "$SECONDS_TO_NOTICE" has_event drive-failed
	said drive-failed '/mnt/fs/backing: .*No space left on device'
	says 'acknowledged 65536' write $((4 * MIB)) 65536 2
	rm /mnt/fs/filler
	within $((3 * SECONDS_TO_NOTICE)) has_event drive-works
	client_ends 'done'
	drain
	seen=$(cacheio check /mnt/fs/backing 0 $((2 * MIB)) 1) || true
	same_word "the file" "equal $((2 * MIB))" "$seen"
}

# The very drive, with another size.
drive_changed_its_size() {
	with_file_system ext4 "$LAB_ALPHA"
	fallocate -l 32M /mnt/fs/backing
	BACKING=/mnt/fs/backing
	fresh --no-cleaner --high 90
	says 'acknowledged 65536' write 0 65536 1
	kill_server
	truncate -s 16M /mnt/fs/backing
	refuses 1 other-drive
	matches "message" 'let the log drain, and then change it and format it anew' "$(cat "$WORK/refused")"
	cp /mnt/fs/backing /mnt/fs/copy
	truncate -s 32M /mnt/fs/backing
	BACKING=/mnt/fs/copy refuses 1 other-drive
	serve --no-cleaner --high 90
	says 'equal 65536' read 0 65536 1
	drain
	truncate -s 48M /mnt/fs/backing
	refuses 1 other-drive
	matches "message" 'The log is empty: lay a new one for the drive as it is now \(--format\)' "$(cat "$WORK/refused")"
	serve --format
	says 'equal 65536' read 0 65536 1
	drain
	truncate -s 48M /mnt/fs/copy
	BACKING=/mnt/fs/copy refuses 1 other-drive
	matches "message" 'as the log is empty, lay a new one for this drive \(--format\)' "$(cat "$WORK/refused")"
}

# --- devices that go ---

drives_as_before() {
	stale_env
	[[ -n ${LAB_ALPHA_BDF-} ]] || labctl plug alpha
	[[ -n ${LAB_BETA_BDF-} ]] || labctl plug beta
	labctl wait-drives
	stale_env
	region_exists p2pmem1 || donard-cli region add --kind nvme-cmb --device "$LAB_ALPHA_BDF" >/dev/null
	region_exists p2pmem2 || donard-cli region add --kind nvme-pmr --device "$LAB_BETA_BDF" >/dev/null
	give_to_group p2pmem1 p2pmem2
}

drive_goes() {
	fresh --no-cleaner --high 90
	says 'acknowledged 1048576' write 0 "$MIB" 1 65536
	in_background hold 600
	within "$SECONDS_TO_NOTICE" grep -q connected "$WORK/word"
	at_end drives_as_before
	labctl unplug alpha
	says 'withdrawn' destage
	matches "what the client says" "drive .* failed. What was acknowledged is kept" "$(cat "$WORK/client.err")"
	failed_and_ends 1 drive-gone 'the drive is gone.*kept in p2pmem2.*bring it back'
	refuses 1 no-such-device
	drives_as_before
	serve --no-cleaner --high 90
	says "equal $MIB" read 0 "$MIB" 1 65536
	drain
	on_drive "equal $MIB" 0 "$MIB" 1
}

# Writes are in flight all the time.
nvram_goes() {
	fresh --no-cleaner --high 90
	in_background follow 0 32768 1 4096
	keeps_writing
	at_end drives_as_before
	labctl unplug beta
	client_ends 'withdrawn'
	matches "what the client says" "NVRAM p2pmem2 was taken away" "$(cat "$WORK/word.err")"
	failed_and_ends 1 region-gone 'the region was taken away.*Add it again'
	drives_as_before
	serve --no-cleaner --high 90
	what_was_acknowledged
}

# reads_on - connects and reads, again and again, until that fails.
reads_on() {
	while client read 0 $((4 * MIB)) 1 65536; do :; done
}

# Its PMR is disabled then, until p2pmem is asked for something. Nobody writes.
nvram_is_reset() {
	fresh --no-cleaner --high 90
	says "acknowledged $((4 * MIB))" write 0 $((4 * MIB)) 1 65536
	reads_on >"$WORK/word" 2>"$WORK/word.err" &
	CLIENT=$!
	at_end "kill -KILL $CLIENT 2>/dev/null; wait $CLIENT"
	within "$SECONDS_TO_NOTICE" more_words_than 0
	echo 1 >"/sys/bus/pci/devices/$LAB_BETA_BDF/reset"
	failed_and_ends 1 device 'the NVRAM failed.*is kept'
	within $((3 * SECONDS_TO_NOTICE)) ended "$CLIENT"
	! grep differs "$WORK/word" || wrong "what was read after the reset was called good"
	serve --no-cleaner --high 90
	says "equal $((4 * MIB))" read 0 $((4 * MIB)) 1 65536
}

# Bytes that volatile memory has lost are not written to the drive.
volatile_nvram_is_reset() {
	forget_log
	NVRAM=p2pmem0
	forget_log		# all of it: other tests leave bytes there, and --format overwrites nobody's
	serve --volatile-ok --format --no-cleaner --high 90
	says "acknowledged $MIB volatile" write 0 "$MIB" 1 65536
	says 'done' flush
	drain
	serve --volatile-ok --no-cleaner --high 90
	says "acknowledged $MIB volatile" write 0 "$MIB" 2 65536
	echo 1 >"/sys/bus/pci/devices/$LAB_GPU_BDF/reset"
	failed_and_ends 1 device 'the NVRAM failed.*volatile: .* may be lost'
	on_drive "equal $MIB" 0 "$MIB" 1
	zero_volatile_log
}

# The device stops answering without notice, and writes to it vanish. It is lost for this boot.
nvram_dies() {
	fresh --no-cleaner --high 90
	in_background follow 0 32768 1 4096
	keeps_writing
	labctl qmp '{"execute":"qom-set","arguments":{"path":"/machine/peripheral/beta","property":"realized","value":false}}'
	client_ends 'withdrawn|device'
	failed_and_ends 1 'device|region-gone' 'the NVRAM failed|taken away'
}

# --- the wire and the client ---

wire_is_cut() {
	fresh --no-cleaner --high 90 --timeout 5
	in_background follow 0 32768 1 4096
	keeps_writing
	at_end "labctl wire up"
	labctl wire down
	within $((3 * SECONDS_TO_NOTICE)) has_event lost
	client_ends 'peer-silent|peer-lost'
	labctl wire up
	# The server and its log outlive that; the device of rxe may not (helpers/fabric.sh).
	equal "drive errors" 0 "$(of drive_errors)"
	drain
	renew_both
	serve --no-cleaner --high 90
	what_was_acknowledged
}

client_loses_device() {
	fresh --no-cleaner --high 90
	in_background follow 0 32768 1 4096
	keeps_writing
	at_end renew_both
	limited labctl peer rdma link delete "$LAB_RDMA_DEVICE" </dev/null
	client_ends no-rdma-device
	matches "what the client says" 'RDMA device of this end was removed.*It is not known whether' "$(cat "$WORK/word.err")"
	within "$SECONDS_TO_NOTICE" has_event lost
	renew_both
	what_was_acknowledged
}

u64_of_nvram() {
	od -An -tu8 -j "$1" -N 8 "$(backing beta)" | tr -d ' '
}

# nvram_has AT OFFSET SEED - as cacheio writes it
nvram_has() {
	[[ $(u64_of_nvram "$1") == "$2" && $(u64_of_nvram $(($1 + 8))) == "$3" ]]
}

# bytes_came - of the write behind the last acknowledged one, which is of 64 KiB, as all before in window 0
bytes_came() {
	local number=$(($(wc -l <"$WORK/word"))) in_window
	in_window=$(($(u64_of_nvram 48) / 65536))
	nvram_has $(($(u64_of_nvram 40) + number % in_window * 65536 + 61440)) 61440 $((number + 1))
}

# Its bytes are in the window, and the server has not seen its message yet.
client_dies_in_its_write() {
	local acknowledged seen
	fresh --no-cleaner --high 90
	in_background follow 0 65536 1 65536
	keeps_writing
	kill -STOP "$SERVER"
	at_end "kill -CONT $SERVER 2>/dev/null"
	within "$SECONDS_TO_NOTICE" bytes_came
	kill_client
	kill -CONT "$SERVER"
	within $((3 * SECONDS_TO_NOTICE)) lost
	acknowledged=$(awk 'NF == 2 { seed = $2 } END { print seed }' "$WORK/word")
	seen=$(client read 0 65536 "$acknowledged" 65536 2>/dev/null) || true
	[[ $seen != 'differs at '* ]] || seen=$(client read 0 65536 $((acknowledged + 1)) 65536 2>/dev/null) || true
	same_word "the write that was acknowledged, or the one under way" 'equal 65536' "$seen"
	says 'acknowledged 65536' write 0 65536 1000000
	drain
	on_drive 'equal 65536' 0 65536 1000000
}

# --- the log ---

# flip_bits AT... - a bit of the NVRAM each
flip_bits() {
	local at page byte
	within 10 region_is_free "$NVRAM"
	for at in "$@"; do
		page=$((at / 4096 * 4096))
		regio read "$NVRAM" "$page" 4096 "$WORK/page"
		byte=$(od -An -tu1 -j $((at - page)) -N 1 "$WORK/page")
		printf '%b' "\\x$(printf '%02x' $((byte ^ 1)))" |
			dd of="$WORK/page" bs=1 seek=$((at - page)) conv=notrunc status=none
		regio write "$NVRAM" "$page" 4096 "$WORK/page"
	done
}

# refuses_damage CODE REGEX AT... - spoils these bytes: the server reports that, and changes nothing, and a format ends with CODE.
# Then restores the bytes.
refuses_damage() {
	local code=$1 regex=$2
	shift 2
	flip_bits "$@"
	regio read "$NVRAM" 0 65536 "$WORK/before"
	refuses 1 damaged
	matches "message" "$regex" "$(cat "$WORK/refused")"
	refuses 1 "$code" --format
	regio read "$NVRAM" 0 65536 "$WORK/after"
	same_bytes "the NVRAM" "$WORK/before" "$WORK/after" 65536
	flip_bits "$@"
}

# Three groups: behind the last there is none that calls it acknowledged.
log_is_damaged() {
	local data
	fresh --no-cleaner --high 90
	for data in 0 65536 131072; do
		says 'acknowledged 4096' write "$data" 4096 1
	done
	kill_server
	data=$(u64_of_nvram 40)
	refuses_damage damaged 'no copy of its superblock is whole' 40 $((4096 + 40))
	refuses_damage has-data 'no copy of its tail is whole' $((8192 + 8)) $((12288 + 8))
	refuses_damage has-data 'record 1 .*acknowledged' $((16384 + 64 + 24))
	refuses_damage has-data 'record 1 \(4096 bytes at 0 of the drive, window 0\)' $((data + 100))
	# One copy of each is enough.
	flip_bits 40 $((8192 + 8))
	serve --no-cleaner --high 90
	equal "records that were recovered" 3 "$(of recovered)"
	says 'equal 4096' read 65536 4096 1
	drain
}

log_is_older() {
	log_of_version 0
	refuses 1 other-version
	matches "message" 'of version 0.*Start the version that wrote it' "$(cat "$WORK/refused")"
	forget_log
}

gpu_region() {
	donard-cli region remove p2pmem0
	donard-cli region add --kind pci-bar --device "$LAB_GPU_BDF" --bar 2 "$@" >/dev/null
	give_to_group p2pmem0
}

# The NVRAM is smaller than it was.
log_is_truncated() {
	NVRAM=p2pmem0
	at_end gpu_region
	gpu_region --length 64M
	fresh --volatile-ok --no-cleaner --high 90
	says 'acknowledged 65536 volatile' write 0 65536 1
	kill_server
	gpu_region --length 32M
	refuses 1 damaged --volatile-ok
	matches "message" 'a part of the log is missing.*Give it all' "$(cat "$WORK/refused")"
	refuses 1 damaged --volatile-ok --format
	# Room for the log, and none for reads behind it.
	gpu_region --length 62M
	refuses 1 damaged --volatile-ok
	matches "message" 'a part of the NVRAM is missing.*Give it all' "$(cat "$WORK/refused")"
	gpu_region --length 64M
	serve --volatile-ok --no-cleaner --high 90
	says 'equal 65536' read 0 65536 1
	says 'done' destage
	forget_volatile_log
}

# serve_until FUNCTION COUNT - by SERVE_WITH; it is stopped where it enters that of the library for the COUNT-th time (dies_there).
serve_until() {
	within 10 region_is_free "$NVRAM"
	SERVE_BY=("${SERVE_WITH[@]}" stopat "$LIBRARY" "$1" "$2")
	start_server --no-cleaner --high 90
	SERVE_BY=("${SERVE_WITH[@]}")
}

stopped_or_ended() {
	grep -qx stopped "$WORK/served" || ended "$SERVER"
}

# stopat takes it along.
dies_there() {
	within $((3 * SECONDS_TO_NOTICE)) stopped_or_ended
	grep -qx stopped "$WORK/served" || fail "the server ended: $(cat "$WORK/served" "$WORK/served.err")"
	kill_server
}

# barriers_before_acknowledgement COUNT - how many the NVRAM has seen of a server that gets one write after the other, where
# it is about to answer the COUNT-th; in BARRIERS.
barriers_before_acknowledgement() {
	serve_until dnd_cache_answer "$1"
	until_listening
	watch_dma
	in_background write 0 65536 1 4096 1
	dies_there
	seen_dma
	client_ends 'peer-lost|peer-silent'
	BARRIERS=$(barriers_seen)
}

# A server that answers first has seen one less.
barrier_comes_first() {
	local count
	SERVE_WITH=()
	fresh --no-cleaner --high 90
	kill_server
	for count in 1 9; do
		barriers_before_acknowledgement "$count"
		equal "barriers before acknowledgement $count" "$count" "$BARRIERS"
	done
}

# A recovery that does not come to its end, again and again.
killed_in_recovery() {
	local at
	SERVE_WITH=()
	fresh --no-cleaner --high 90
	says "acknowledged $((2 * MIB))" write 0 $((2 * MIB)) 1 65536
	kill_server
	for at in dnd_cache_take:1 dnd_cache_take:17 dnd_cache_begin:1 donard_memory_sync:2 dnd_cache_reads_open:1; do
		serve_until "${at%:*}" "${at#*:}"
		dies_there
	done
	serve --no-cleaner --high 90
	equal "records that were recovered" 32 "$(of recovered)"
	says "equal $((2 * MIB))" read 0 $((2 * MIB)) 1 65536
	drain
	on_drive "equal $((2 * MIB))" 0 $((2 * MIB)) 1
}

# --- memory ---

# It gets none for a while: no new client, nothing to the drive; the clients that it has go on.
no_memory_for_a_while() {
	fresh --no-cleaner --high 90
	kill_server
	SERVE_BY=(env "LD_PRELOAD=$PRELOADED/failalloc" "FAILALLOC_WHILE=$WORK/nothing-left")
	serve --no-cleaner --high 90
	in_background follow 0 32768 1 4096
	keeps_writing
	: >"$WORK/nothing-left"
	says 'refused' write $((2 * MIB)) 4096 1
	matches "the client's message" 'has no memory for another client' "$(cat "$WORK/client.err")"
	said refused 'no memory'
	keeps_writing
	kill -TERM "$SERVER"
	client_ends 'withdrawn'
	within "$SECONDS_TO_NOTICE" has_event drive-failed
	said drive-failed 'out of memory'
	rm "$WORK/nothing-left"
	server_ends 0
	SERVE_BY=()
	serve
	what_was_acknowledged
}

# starts_without N - a server whose Nth allocation fails: it says so and ends, or serves; in SEEN "refused", "served" or, where
# there are not so many, "none".
starts_without() {
	within 10 region_is_free "$NVRAM"
	SERVE_BY=(env "LD_PRELOAD=$PRELOADED/failalloc" "FAILALLOC=$1")
	start_server --no-cleaner --high 90
	SERVE_BY=()
	within "$SECONDS_TO_NOTICE" listens_or_ended
	SEEN=served
	if ! grep -q '^failalloc: failed' "$WORK/served.err"; then
		SEEN=none
	elif ! has_event listening; then
		failed_and_ends 1 'no-memory|system' 'memory'
		SEEN=refused
		return
	fi
	kill_server
}

each_allocation_fails() {
	local number refused=0
	fresh --no-cleaner --high 90
	says 'acknowledged 65536' write 0 65536 1
	kill_server
	for ((number = 1; ; number++)); do
		starts_without "$number"
		[[ $SEEN != none ]] || break
		[[ $SEEN != refused ]] || refused=$((refused + 1))
	done
	echo "$((number - 1)) allocations, $refused of them needed"
	((refused > 4)) || fail "of $((number - 1)) allocations $refused were needed"
	serve --no-cleaner --high 90
	equal "records that were recovered" 16 "$(of recovered)"
	says 'equal 65536' read 0 65536 1
}

# Before a format the server checks whether there are records. A log that could not be read is not called damaged.
each_allocation_fails_to_format() {
	local number
	fresh --no-cleaner --high 90
	says 'acknowledged 65536' write 0 65536 1
	kill_server
	for ((number = 1; ; number++)); do
		within 10 region_is_free "$NVRAM"
		SERVE_BY=(env "LD_PRELOAD=$PRELOADED/failalloc" "FAILALLOC=$number")
		start_server --format
		SERVE_BY=()
		failed_and_ends 1 'no-memory|system|has-data' 'memory|holds a log with 16 acknowledged records'
		grep -q '^failalloc: failed' "$WORK/served.err" || break
	done
	echo "$((number - 1)) allocations"
	((number > 4)) || fail "only $((number - 1)) allocations"
	serve --no-cleaner --high 90
	says 'equal 65536' read 0 65536 1
}

# --- device-mapper below the server ---

sectors_of() {
	blockdev --getsz "$1"
}

# mapped NAME TABLE - with a lasting name
mapped() {
	modprobe -q dm-mod || true
	dmsetup create "$1" --uuid "lab-lasting" --noudevsync <<<"$2"
	at_end "! dmsetup info $1 >/dev/null 2>&1 || dmsetup remove --noudevsync $1"
	dmsetup mknodes "$1"
	BACKING=/dev/mapper/$1
}

# remapped NAME TABLE - while it is in use
remapped() {
	dmsetup load "$1" <<<"$2"
	dmsetup resume --noudevsync "$1"
}

flakey() {
	echo "0 $(sectors_of "$LAB_ALPHA") flakey $LAB_ALPHA 0 $*"
}

linear() {
	echo "0 $(sectors_of "$LAB_ALPHA") linear $LAB_ALPHA 0"
}

# donard serves from no device-mapper target that it does not know to pass data on.
refuses_targets() {
	modprobe dm-flakey
	modprobe dm-log-writes
	mapped lab-flakey "$(flakey 1 0)"
	refuses 3 unsupported --format
	matches "message" "the target 'flakey', which .*linear or striped" "$(cat "$WORK/refused")"
	dmsetup remove --noudevsync lab-flakey
	mapped lab-writes "0 $(sectors_of "$LAB_ALPHA") log-writes $LAB_ALPHA $LAB_BETA"
	refuses 3 unsupported --format
	matches "message" "the target 'log-writes', which .*linear or striped" "$(cat "$WORK/refused")"
}

# fails_for_a_while NAME BAD-TABLE GOOD-TABLE - the mapped device below a running server fails and recovers; acknowledged data reach the
# drive.
fails_for_a_while() {
	blkdiscard -f -z -l 16M "$LAB_ALPHA"
	fresh --no-cleaner --high 90
	says "acknowledged $MIB" write 0 "$MIB" 1 65536
	remapped "$1" "$2"
	sleep 1		# so often a queue looks at what its drives are made of (docs/stacks.md)
	in_background destage
	within "$SECONDS_TO_NOTICE" has_event drive-failed
	says 'acknowledged 65536' write $((2 * MIB)) 65536 2
	remapped "$1" "$3"
	within $((3 * SECONDS_TO_NOTICE)) has_event drive-works
	client_ends 'done'
	drain
	on_drive "equal $MIB" 0 "$MIB" 1
	on_drive 'equal 65536' $((2 * MIB)) 65536 2
}

# All goes wrong that is written (error_writes), then nothing does.
flakey_drive() {
	modprobe dm-flakey
	mapped lab-flakey "$(flakey 1 0)"
	SERVE_BY=(env "LD_PRELOAD=$PRELOADED/plaindm")
	fails_for_a_while lab-flakey "$(flakey 0 1 1 error_writes)" "$(flakey 1 0)"
}

# Writes are lost without an error, as with a drive that cannot read from the NVRAM.
drive_drops_writes() {
	modprobe dm-flakey
	mapped lab-flakey "$(flakey 1 0)"
	SERVE_BY=(env "LD_PRELOAD=$PRELOADED/plaindm")
	fails_for_a_while lab-flakey "$(flakey 0 1 1 drop_writes)" "$(flakey 1 0)"
	said drive-failed 'it reported success, and has other bytes than it was given'
}

# Another table under the running server: nothing goes there that has no proven route, although the drive would take it; the
# former one serves again.
table_is_swapped() {
	modprobe dm-flakey
	mapped lab-linear "$(linear)"
	fails_for_a_while lab-linear "$(flakey 1 0)" "$(linear)"
}

server_waits_for_drive() {
	grep -q '^State:[[:space:]]*D' "/proc/$SERVER/task"/*/status
}

# A drive that takes long to trim holds up what goes to the drive after that trim, and nobody else.
trim_is_not_answered() {
	mapped lab-linear "$(linear)"
	fresh --no-cleaner --high 90
	says 'done' trim 0 65536
	at_end "! dmsetup info lab-linear >/dev/null 2>&1 || dmsetup resume --noudevsync lab-linear"
	dmsetup suspend --noflush --nolockfs --noudevsync lab-linear
	in_background destage
	within "$SECONDS_TO_NOTICE" server_waits_for_drive
	says 'acknowledged 65536' write 0 65536 2
	says 'equal 65536' read 0 65536 2
	equal "word of who waits for the drive" '' "$(cat "$WORK/word")"
	dmsetup resume --noudevsync lab-linear
	client_ends 'done'
	drain
	on_drive 'equal 65536' 0 65536 2
}

# loses_power_at FUNCTION COUNT [COMMAND...] - of a server, run by COMMAND, that destages: it dies there, and its drive loses what
# no flush made durable: it gets what log-writes has written down up to the last flush, and nothing behind it.
loses_power_at() {
	local upto
	blkdiscard -f -z -l $((4 * MIB)) "$LAB_ALPHA"
	modprobe dm-log-writes
	mapped lab-writes "0 $(sectors_of "$LAB_ALPHA") log-writes $LAB_ALPHA $LAB_BETA"
	SERVE_WITH=("${@:3}" env "LD_PRELOAD=$PRELOADED/plaindm")
	SERVE_BY=("${SERVE_WITH[@]}")
	fresh --no-cleaner --high 90
	says "acknowledged $MIB" write 0 "$MIB" 1 65536
	says 'done' destage
	says "acknowledged $MIB" write 524288 "$MIB" 2 65536
	kill_server
	serve_until "$1" "$2"
	within "$SECONDS_TO_NOTICE" listens_or_ended
	in_background destage
	dies_there
	dmsetup message lab-writes 0 mark cut
	within "$SECONDS_TO_NOTICE" dmsetup remove --noudevsync lab-writes	# stopat has ended, its server perhaps not quite
	SERVE_BY=()
	upto=$(logwrites "$LAB_BETA" upto cut)
	blkdiscard -f -z -l $((4 * MIB)) "$LAB_ALPHA"
	logwrites "$LAB_BETA" replay "$upto" "$LAB_ALPHA"
	mapped lab-writes "$(linear)"
	serve --no-cleaner --high 90
	echo "$upto entries were durable, $(of recovered) records recovered"
	says 'equal 524288' read 0 524288 1 65536
	says "equal $MIB" read 524288 "$MIB" 2 65536
	drain
	on_drive 'equal 524288' 0 524288 1
	on_drive "equal $MIB" 524288 "$MIB" 2
}

t "drive: writes fail" drive_fails write
t "drive: flushes fail" drive_fails flush
t "drive: flushes fail, without io_uring" without_uring drive_fails flush
t "drive: writes fail, and the log is full" drive_fails_and_log_is_full
t "drive: reads fail" drive_fails_reads
t "drive: not flushed any more" drive_is_not_flushed_any_more
t "drive: SIGTERM while it fails" stopped_while_drive_fails
t "drive: full" drive_is_full
t "drive: its size has changed" drive_changed_its_size
core t "drive: unplugged" drive_goes
t "NVRAM: unplugged" nvram_goes
t "NVRAM: reset" nvram_is_reset
t "NVRAM: reset, volatile" volatile_nvram_is_reset
t "client: killed in its write" client_dies_in_its_write
t "log: damaged" log_is_damaged
t "log: older" log_is_older
t "log: truncated" log_is_truncated
t "log: a barrier before each acknowledgement" barrier_comes_first
t "log: killed in its recovery" killed_in_recovery
t "memory: none for a while" no_memory_for_a_while
t "memory: each allocation fails" each_allocation_fails
t "memory: each allocation fails, to format" each_allocation_fails_to_format
t "dm: refused" refuses_targets
t "dm: flakey" flakey_drive
t "dm: writes dropped" drive_drops_writes
t "dm: table swapped" table_is_swapped
t "dm: trim is not answered" trim_is_not_answered
t "dm: power lost before the flush" loses_power_at donard_queue_flush 1
t "dm: power lost before the tail" loses_power_at dnd_cache_retire 1
t "dm: power lost before the tail, without io_uring" loses_power_at dnd_cache_retire 1 forbid EPERM io_uring
t "dm: power lost behind the tail" loses_power_at dnd_cache_blocks_drop 1
t "wire: cut" wire_is_cut
t "client: its RDMA device deleted" client_loses_device
t "NVRAM: dies" nvram_dies
