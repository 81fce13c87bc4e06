# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# donard-cli cache serve: its log is in the PMR of the drive beta (p2pmem2), the drive behind it is alpha. What came before
# what is read from the emulator's trace, and what is on the drive without donard. Where there are two machines the
# clients are on the other one, else on this.

# shellcheck source=helpers/cacheserver.sh
. helpers/cacheserver.sh

# --- the trace ---

# Commands of the drives' I/O queues, whatever they do.
commands_seen() {
	grep -c pci_nvme_io_cmd "$WORK/trace" || true
}

# --- acknowledgements ---

# All of it by one client, with no drive command before the last acknowledgement, and a barrier at least for the last group. The
# drive sees as many as the server asked for: a read of PMRSTS is one, and nothing else about a write reads it.
acknowledged() {
	local barriers seen
	fresh --no-cleaner --high 90
	says 'acknowledged 4096' write 0 4096 1
	barriers=$(of barriers)
	watch_dma
	says 'acknowledged 65536' write $((MIB)) 65536 7 4096 4
	seen_dma
	seen=$(barriers_seen)
	((seen > 0)) || fail "no barrier before an acknowledgement: $(head -n 3 "$WORK/trace")"
	exactly "drive commands before the acknowledgements" 0 "$(commands_seen)"
	equal "barriers that the drive saw" $(($(of barriers) - barriers)) "$seen"
	equal "writes" 17 "$(of writes)"
	equal "drive writes" 0 "$(of drive_writes)"
	says 'equal 65536' read $((MIB)) 65536 7
	on_drive "differs at $MIB" $((MIB)) 65536 7
}

# A group of writes costs fewer barriers than writes.
group_commit() {
	local before after
	fresh --no-cleaner --high 90
	before=$(of barriers)
	says 'acknowledged 1048576' write 0 "$MIB" 3 4096 16
	after=$(of barriers)
	((after - before < 256)) || fail "barriers of 256 writes, 16 in flight: expected fewer than 256, seen $((after - before))"
}

# The drive pulls the bytes out of the PMR: none of the payload comes from DRAM.
destages_straight() {
	fresh --no-cleaner --high 90
	says 'acknowledged 4194304' write 0 $((4 * MIB)) 5 65536
	watch_dma
	says 'done' destage
	seen_dma
	(($(dma write pmr) >= 4 * MIB)) ||
		wrong "out of the PMR: expected at least $((4 * MIB)) bytes, seen $(cat "$WORK/witness")"
	exactly "bytes that the drive pulled out of DRAM ($(cat "$WORK/witness"))" 0 "$(dram write)"
	on_drive "equal $((4 * MIB))" 0 $((4 * MIB)) 5
	equal "records" 0 "$(of records)"
	equal "requests by Linux AIO" "${BY_AIO:-false}" "$(of aio)"
}

# The log forgets records once the drive was told to flush them, so a drive that does not flush is refused.
refuses_unflushed_drive() {
	local cache=/sys/block/${LAB_ALPHA##*/}/queue/write_cache
	at_end "echo 'write back' >$cache"
	echo 'write through' >"$cache"
	refuses 3 unsupported --format
	echo 'write back' >"$cache"
	fresh
}

# Newer bytes of the same blocks: the older ones are never written.
coalesces() {
	fresh --no-cleaner --high 90
	says 'acknowledged 1048576' write 0 "$MIB" 1 65536
	says 'acknowledged 1048576' write 0 "$MIB" 2 65536
	says 'equal 1048576' read 0 "$MIB" 2 65536
	says 'done' destage
	exactly "bytes that needed not be written" "$MIB" "$(of coalesced_bytes)"
	exactly "bytes that were" "$MIB" "$(of destaged_bytes)"
	on_drive "equal $MIB" 0 "$MIB" 2
}

# Part of it in the log, part on the drive.
reads_see_the_newest() {
	fresh --no-cleaner --high 90
	says 'acknowledged 1048576' write 0 "$MIB" 1 65536
	says 'done' destage
	says 'acknowledged 4096' write 8192 4096 2 4096
	says 'equal 4096' read 8192 4096 2
	says 'equal 8192' read 0 8192 1
	says 'equal 65536' read 12288 65536 1 65536
	says "differs at 8192" read 0 "$MIB" 1 262144
	(($(of drive_reads) > 0)) || fail "nothing was read from the drive: $(donard-cli cache status $NVRAM --json)"
}

# Far more than the log holds: no write fails, and all of it is there.
back_pressure() {
	fresh --clients 32
	says "acknowledged $((16 * MIB))" write 0 $((16 * MIB)) 4 65536 64
	says "equal $((16 * MIB))" read 0 $((16 * MIB)) 4 262144
	(($(of destaged_bytes) > 0)) || fail "nothing went to the drive: $(donard-cli cache status $NVRAM --json)"
	drain
	on_drive "equal $((16 * MIB))" 0 $((16 * MIB)) 4
}

cleaner() {
	fresh --idle-ms 200
	says 'acknowledged 65536' write 0 65536 6
	within "$SECONDS_TO_NOTICE" log_is_empty
	on_drive 'equal 65536' 0 65536 6
}

trims() {
	fresh --no-cleaner
	says 'acknowledged 1048576' write 0 "$MIB" 1 65536
	says 'done' trim 0 65536
	says 'acknowledged 4096' write 4096 4096 2
	says 'done' destage
	equal "trims" 1 "$(of trims)"
	# Trimmed blocks are not written back.
	on_drive 'differs at 0' 0 4096 1
	on_drive 'differs at 8192' 8192 57344 1
	on_drive 'equal 4096' 4096 4096 2
	on_drive 'equal 65536' 65536 65536 1
}

# Clients of devices that do DMA have to read back.
reads_back() {
	fresh --no-cleaner --high 90 --read-back
	says 'acknowledged 1048576' write 0 "$MIB" 9 4096 16
	says "equal $MIB" read 0 "$MIB" 9 65536
}

# NVMe commands write to the drive, and no counter of the block layer counts them.
passthrough() {
	fresh --no-cleaner --high 90 --passthrough
	says 'acknowledged 1048576' write 0 "$MIB" 10 65536
	says 'done' destage
	[[ -n $(find "/proc/$SERVER/fd" -lname '/dev/ng*') ]] || fail "the server has no generic device open"
	on_drive "equal $MIB" 0 "$MIB" 10
}

# --- ends ---

drains_when_told() {
	fresh --no-cleaner --high 90
	says 'acknowledged 2097152' write 0 $((2 * MIB)) 8 65536
	on_drive 'differs at 0' 0 $((2 * MIB)) 8
	drain
	has_event draining || fail "no event: $(cat "$WORK/served")"
	on_drive "equal $((2 * MIB))" 0 $((2 * MIB)) 8
}

# Its events are left out then, and all else goes on.
reader_goes_away() {
	forget_log
	: >"$WORK/served"
	donard-cli cache serve --nvram "$NVRAM" --backing "$LAB_ALPHA" --listen "$LAB_ADDR" --format --json </dev/null \
		> >(grep -m 1 '"event":"listening"' >"$WORK/served") 2>"$WORK/served.err" &
	SERVER=$!
	at_end "kill -KILL $SERVER 2>/dev/null; wait $SERVER"
	until_listening
	says 'acknowledged 65536' write 0 65536 1 65536
	drain
}

# Killed while a client writes: each acknowledged write is there after the next start.
killed_server() {
	fresh --no-cleaner --high 90
	says 'acknowledged 2097152' write 0 $((2 * MIB)) 8 65536
	client follow $((4 * MIB)) 32768 100 4096 >"$WORK/acknowledged" 2>/dev/null &
	at_end "kill $! 2>/dev/null; wait $!"
	within "$SECONDS_TO_NOTICE" test -s "$WORK/acknowledged"
	sleep 2
	kill_server
	within $((3 * SECONDS_TO_NOTICE)) ended "$!"
	serve --no-cleaner --high 90
	(($(of recovered) > 0)) || fail "nothing was recovered: $(cat "$WORK/served")"
	says "equal $((2 * MIB))" read 0 $((2 * MIB)) 8 65536
	all_acknowledged_is_there
	drain
	on_drive "equal $((2 * MIB))" 0 $((2 * MIB)) 8
}

# The killed client's window is fenced. Writes that it was told are durable stay, and the next client gets another window.
killed_client() {
	fresh --no-cleaner --high 90 --clients 2
	client follow 0 32768 1 4096 >"$WORK/acknowledged" 2>/dev/null &
	CLIENT=$!
	at_end "kill -KILL $CLIENT 2>/dev/null; wait $CLIENT"
	within "$SECONDS_TO_NOTICE" test -s "$WORK/acknowledged"
	kill_client
	within $((3 * SECONDS_TO_NOTICE)) lost
	all_acknowledged_is_there
	drain
}

# more_lines_than COUNT FILE
more_lines_than() {
	(($(wc -l <"$2") > $1))
}

# One client runs here, and one on the other machine if there are two, each with blocks of its own. The one here is killed: the other's
# writes go on, and all that either was told is durable is there.
killed_beside_another() {
	local killed
	fresh --no-cleaner --high 90 --clients 3
	client follow 0 32768 1 4096 >"$WORK/other" 2>/dev/null &
	CLIENT=$!
	at_end "kill -KILL $CLIENT 2>/dev/null; wait $CLIENT"
	cacheio "$LAB_ADDR" "$PORT" follow "$MIB" 32768 1 4096 >"$WORK/killed" 2>/dev/null </dev/null &
	killed=$!
	at_end "kill -KILL $killed 2>/dev/null; wait $killed"
	within "$SECONDS_TO_NOTICE" test -s "$WORK/other"
	within "$SECONDS_TO_NOTICE" test -s "$WORK/killed"
	kill -KILL "$killed"
	within $((3 * SECONDS_TO_NOTICE)) lost
	within "$SECONDS_TO_NOTICE" more_lines_than $(($(wc -l <"$WORK/other") + 64)) "$WORK/other"
	equal "clients lost" 1 "$(events lost)"
	kill_client
	cp "$WORK/killed" "$WORK/acknowledged"
	all_acknowledged_is_there
	cp "$WORK/other" "$WORK/acknowledged"
	all_acknowledged_is_there
	drain
}

# With one window there is no place for a second client. The server writes what the first client left to the drive before another one
# asks.
one_window() {
	fresh --no-cleaner --high 90 --clients 1
	client follow 0 32768 1 4096 >"$WORK/acknowledged" 2>/dev/null &
	CLIENT=$!
	at_end "kill -KILL $CLIENT 2>/dev/null; wait $CLIENT"
	within "$SECONDS_TO_NOTICE" test -s "$WORK/acknowledged"
	says 'busy' write "$MIB" 65536 2
	kill_client
	within $((3 * SECONDS_TO_NOTICE)) lost
	within "$SECONDS_TO_NOTICE" log_is_empty
	says 'acknowledged 65536' write "$MIB" 65536 2
}

fewer_records_than() {
	(($(of records) < $1))
}

# More clients than windows, one after the other: each leaves a record in its own, and nothing but that sends it to the drive.
one_after_the_other() {
	local number
	fresh --no-cleaner --high 90 --clients 4
	for number in {1..12}; do
		within "$SECONDS_TO_NOTICE" fewer_records_than 4
		says 'acknowledged 4096' write $((number * MIB)) 4096 "$number"
	done
	equal "clients that were refused" 0 "$(events refused)"
}

# --- refusals ---

region_head() {
	regio read "$NVRAM" 0 65536 "$WORK/$1"
}

# Nothing of these changes a byte of the NVRAM.
refused() {
	forget_log
	region_head before
	refuses 1 not-formatted
	refuses 2 bad-option --clients 3
	refuses 2 bad-option --format --low 70 --high 50
	region_head after
	same_bytes "the NVRAM" "$WORK/before" "$WORK/after" 65536
}

refuses_volatile() {
	exits 3 'a power cut empties it' donard-cli cache serve --nvram p2pmem1 --backing "$LAB_ALPHA" --listen "$LAB_ADDR" --format
}

# Soft devices import no dma-buf, and these pages can be registered in no other way: no client could ever be served.
refuses_what_the_device_cannot_register() {
	with_page_type p2pmem0 p2pdma
	within 10 region_is_free p2pmem0
	regio read p2pmem0 0 65536 "$WORK/before"
	exits 3 "$LAB_RDMA_DEVICE cannot register p2pmem0: its pages are of type p2pdma" \
		donard-cli cache serve --nvram p2pmem0 --backing "$LAB_ALPHA" --listen "$LAB_ADDR" --format --volatile-ok
	within 10 region_is_free p2pmem0
	regio read p2pmem0 0 65536 "$WORK/after"
	same_bytes "the NVRAM" "$WORK/before" "$WORK/after" 65536
}

refuses_foreign_data() {
	within 10 region_is_free "$NVRAM"
	random_file "$WORK/data" 65536
	regio write "$NVRAM" 0 65536 "$WORK/data"
	refuses 1 has-data --format
	region_head after
	same_bytes "the NVRAM" "$WORK/data" "$WORK/after" 65536
}

# Behind nothing but zeros, too.
refuses_foreign_data_at_the_end() {
	local at
	forget_log
	at=$(($(attr "$NVRAM" size) - 65536))
	random_file "$WORK/data" 65536
	regio write "$NVRAM" "$at" 65536 "$WORK/data"
	refuses 1 has-data --format
	regio read "$NVRAM" "$at" 65536 "$WORK/after"
	same_bytes "the NVRAM" "$WORK/data" "$WORK/after" 65536
	forget_log
}

# A file with the socket's name that is no socket belongs to somebody, and is left alone.
refuses_a_foreign_status_path() {
	forget_log
	echo mine >"$WORK/socket"
	refuses 1 busy --format --status "$WORK/socket"
	equal "the file" mine "$(cat "$WORK/socket")"
}

# Two logs in front of one file: each would write over what the other one had.
refuses_a_served_file() {
	mkfs.ext4 -q -F "$LAB_ALPHA"
	mkdir -p /mnt/behind
	mount "$LAB_ALPHA" /mnt/behind
	at_end "umount /mnt/behind"
	fallocate -l 16M /mnt/behind/drive
	BACKING=/mnt/behind/drive
	fresh
	NVRAM=p2pmem0 refuses 1 busy --volatile-ok --format --port 7079
}

# The bytes of the first of two writes: all others can be had nonetheless.
gives_up_damaged_records() {
	local at
	fresh --no-cleaner --high 90
	says 'acknowledged 4096' write 0 4096 1
	says 'acknowledged 4096' write "$MIB" 4096 2
	kill_server
	within 10 region_is_free "$NVRAM"
	regio read "$NVRAM" 0 4096 "$WORK/super"
	at=$(od -An -t u8 -j 40 -N 8 "$WORK/super" | tr -d ' ')
	random_file "$WORK/data" 4096
	regio write "$NVRAM" "$at" 4096 "$WORK/data"
	refuses 1 damaged
	serve --give-up-damaged --no-cleaner --high 90
	says 'equal 4096' read "$MIB" 4096 2
	says 'differs at 0' read 0 4096 1
	kill_server
	serve --no-cleaner --high 90
	says 'equal 4096' read "$MIB" 4096 2
}

# A log with records is not written over; unless it is named.
refuses_a_log_with_records() {
	local identity
	fresh --no-cleaner
	says 'acknowledged 65536' write 0 65536 1
	identity=$(of identity)
	kill_server
	refuses 1 has-data --format
	refuses 1 has-data --format --discard 0123456789abcdef
	serve --format --discard "$identity" --no-cleaner
	equal "records" 0 "$(of records)"
}

refuses_another_drive() {
	fresh --no-cleaner
	says 'acknowledged 65536' write 0 65536 1
	kill_server
	BACKING=$LAB_BETA refuses 1 other-drive
	serve --no-cleaner
	says 'equal 65536' read 0 65536 1
}

refuses_another_version() {
	log_of_version 9
	refuses 1 other-version
	refuses 1 other-version --format
	forget_log
}

refuses_what_cannot_be_written() {
	forget_log
	blockdev --setro "$LAB_ALPHA"
	at_end "blockdev --setrw $LAB_ALPHA"
	refuses 1 read-only --format
	BACKING=$WORK refuses 1 not-nvme --format
}

refuses_a_mounted_drive() {
	fresh
	exits 1 'is in use|mounted' donard-cli cache serve --nvram p2pmem0 --volatile-ok --backing "$LAB_ALPHA" \
		--listen "$LAB_ADDR" --port 7079 --format
}

# Volatile memory: each acknowledgement says so, and a flush goes as far as the drive.
volatile() {
	NVRAM=p2pmem0
	fresh --volatile-ok --no-cleaner --high 90
	says 'acknowledged 65536 volatile' write 0 65536 11
	on_drive 'differs at 0' 0 65536 11
	says 'done' flush
	on_drive 'equal 65536' 0 65536 11
	forget_volatile_log
}

# --- faults ---

nvram_is_back() {
	region_exists p2pmem2 || donard-cli region add --kind nvme-pmr --device "$LAB_BETA_BDF"
	give_to_group p2pmem2
}

# The region can be removed, and acknowledged data are in the NVRAM when it is back.
region_removed() {
	fresh --no-cleaner --high 90
	says 'acknowledged 65536' write 0 65536 12
	at_end nvram_is_back
	donard-cli region remove "$NVRAM"
	server_ends 1
	equal "code" region-gone "$(jq -rs '.[-1].error.code' "$WORK/served")"
	nvram_is_back
	serve --no-cleaner --high 90
	says 'equal 65536' read 0 65536 12
}

# Prints as many samples as asked for, which show the server's work.
follows() {
	fresh --no-cleaner
	says 'acknowledged 65536' write 0 65536 1
	donard-cli cache top "$NVRAM" --count 2 --json >"$WORK/top"
	equal "samples" 2 "$(wc -l <"$WORK/top")"
	equal "writes" 16 "$(jq -r .writes <(tail -n 1 "$WORK/top"))"
	donard-cli cache status "$NVRAM" | grep "^fill" >"$WORK/fill"
	matches "fill" '16 of [0-9]+ records.*the oldest came, or was recovered, [0-9]+ ms ago' "$(cat "$WORK/fill")"
}

# Other users may ask, whatever umask the server was started with.
others_may_ask() {
	rm -rf /run/donard
	umask 077
	fresh --no-cleaner
	setpriv --reuid other --regid other --init-groups donard-cli cache status "$NVRAM" | grep '^fill'
}

# After a boot the folder does not exist yet.
status_by_a_word() {
	rm -rf /run/donard
	fresh --no-cleaner --status blue
	donard-cli cache status blue | grep '^fill'
	exits 1 "$NVRAM: no cache is served" donard-cli cache status "$NVRAM"
}

no_server() {
	exits 1 'p2pmem0: no cache is served' donard-cli cache status p2pmem0
}

# raw ARGUMENT... - what happened to a client that checks nothing.
raw() {
	limited ${LAB_PEER_ADDR:+labctl peer} rdmaraw "$LAB_ADDR" "$PORT" cache "$@" </dev/null || echo "rdmaraw: status $?"
}

# In front of the window lie records of the log, or another client's window. siw notices the refusal only when its queue pair is
# destroyed.
keeps_to_its_window() {
	local at length refusal='^remote access error$'
	[[ $LAB_FABRIC != siw ]] || refusal='^(remote access error|cut off|local QP operation error)$'
	fresh --no-cleaner
	says 'acknowledged 65536' write 0 65536 1
	read -r _ _ length < <(raw offer)
	equal "a write into the window" success "$(raw write 0 8)"
	for at in -8 -4096 $((length - 4)) "$length"; do
		matches "a write at $at of $length" "$refusal" "$(raw write "$at" 8)"
	done
	says 'equal 65536' read 0 65536 1
	kill_server
	serve --no-cleaner
	says 'equal 65536' read 0 65536 1
}

core t "acknowledged: after a barrier, before any drive command" acknowledged
t "acknowledged: in groups" group_commit
core t "destage: straight out of the PMR" destages_straight
t "destage: without io_uring" without_uring destages_straight
t "destage: newest bytes alone" coalesces
t "destage: more than the log holds" back_pressure
t "destage: while nobody writes" cleaner
t "trim" trims
t "write: read back" reads_back
t "destage: passthrough" passthrough
core t "read: log and drive" reads_see_the_newest
t "events: their reader goes away" reader_goes_away
t "SIGTERM: all is on the drive" drains_when_told
core t "SIGKILL: all that was acknowledged is recovered" killed_server
t "client killed" killed_client
t "client killed beside another" killed_beside_another
t "one window" one_window
t "one client after the other" one_after_the_other
t "a client's writes outside of its window" keeps_to_its_window
core t "refused: no log, wrong options" refused
core t "refused: volatile memory" refuses_volatile
! can p2pdma || t "refused: memory that the RDMA device cannot register" refuses_what_the_device_cannot_register
core t "refused: foreign data" refuses_foreign_data
t "refused: foreign data behind zeros" refuses_foreign_data_at_the_end
t "refused: a status path that is a file" refuses_a_foreign_status_path
t "refused: a file that is served" refuses_a_served_file
t "damaged records given up" gives_up_damaged_records
t "refused: a log with records" refuses_a_log_with_records
t "refused: another drive" refuses_another_drive
t "refused: another version" refuses_another_version
t "refused: a drive that is read-only, and a folder" refuses_what_cannot_be_written
t "refused: a drive in use" refuses_a_mounted_drive
t "refused: a drive that is not flushed" refuses_unflushed_drive
t "volatile memory" volatile
core t "region removed" region_removed
t "top" follows
t "status for other users" others_may_ask
t "status by a word" status_by_a_word
t "status without a server" no_server
