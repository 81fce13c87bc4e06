#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Power cuts of the cache's server in the second guest, with a client in this one: as cuts.sh has them. Sourced by run.sh.

# shellcheck source=helpers/cuts.sh
. helpers/cuts.sh
# shellcheck source=helpers/disk.sh
. helpers/disk.sh

# DATA: the bytes have come, and the message that says so.
readonly CACHE_STEPS=(DATA:dnd_cache_check_turn ACK:dnd_cache_answer "${STEPS[@]}")
readonly CACHE=/usr/lib/libdonard.so.0

# cache_serve - in the background only. It is soon told to destage.
cache_serve() {
	exec labctl peer "$@" donard-cli cache serve --nvram p2pmem2 --backing "$PEER_ALPHA" --listen "$LAB_PEER_ADDR" \
		--high 4 --low 2 --json "${FORMAT[@]}" </dev/null
}

# end_server PID - of the way to it, which ends when the server has.
end_server() {
	labctl peer pkill -TERM -x donard-cli </dev/null || true
	wait "$1" || fail "the server ended with status $?"
}

# cache_life LIFE [WRITES]
cache_life() {
	local FORMAT=() server status=0
	cache_serve "${AT[@]}" >"$WORK/server.$1" 2>&1 &
	server=$!
	cutclient "$LAB_PEER_ADDR" "$SEED" "$@" || status=$?
	end_server "$server"
	return "$status"
}

cache_begins() {
	local FORMAT=(--format)
	blank_peer
	cache_serve >"$WORK/format" 2>&1 &
	within 60 grep -q '"event":"listening"' "$WORK/format"
	end_server "$!"
}

# --- a file system and a database on the cache ---

# serve_anew LIFE - in SERVER.
serve_anew() {
	local FORMAT=()
	cache_serve >"$WORK/server.$1" 2>&1 &
	SERVER=$!
	within 60 grep -q '"event":"listening"' "$WORK/server.$1"
}

# Rows of a table, one transaction each, told to this guest once they are durable. Until the disk fails, or there are enough.
insert_rows() {
	local n
	for ((n = 1; n <= 1000; n++)); do
		[[ ! -e $WORK/enough ]] || return 0
		database "insert into t values($n, randomblob(20000));" 2>>"$WORK/writer.err" || return 0
		echo "$n" >>"$WORK/acknowledged"
	done
}

has_rows() {
	(($(wc -l <"$WORK/acknowledged") >= $1))
}

# begin_to_write - in WRITER. The power goes in the midst of it.
begin_to_write() {
	mkfs.ext4 -q -E nodiscard /dev/nbd0 64M
	mount /dev/nbd0 "$WORK/mnt"
	database 'create table t(n integer primary key, b blob);'
	: >"$WORK/acknowledged"
	insert_rows &
	WRITER=$!
	at_end "kill -KILL $WRITER 2>/dev/null"
	within 60 has_rows $((1 + RANDOM % 8))
	count_cuts
	labctl cut-power
	within 60 was_cut $((CUTS + 1))
}

until_the_power_goes() {
	begin_to_write
	within 120 ended "$WRITER"
	umount "$WORK/mnt"
}

has_rows_or_ended() {
	has_rows "$1" || ended "$WRITER"
}

# A writer waits for as long as the server is away.
while_the_power_goes() {
	local before
	at_end "echo $(</proc/sys/kernel/hung_task_timeout_secs) >/proc/sys/kernel/hung_task_timeout_secs"
	echo 0 >/proc/sys/kernel/hung_task_timeout_secs
	begin_to_write
	before=$(wc -l <"$WORK/acknowledged")
	within 120 peer_is_up
	find_peer_drive
	serve_anew 2
	# The one that was told at the cut, the one that was under way, and one that is wholly after it.
	within 120 has_rows_or_ended $((before + 3))
	touch "$WORK/enough"
	within 60 ended "$WRITER"
	equal "what the writer complained of" "" "$(cat "$WORK/writer.err")"
	umount "$WORK/mnt"
}

# The journals of both are read first, which is what they are for.
as_they_say() {
	local seen
	mount /dev/nbd0 "$WORK/mnt"
	seen=$(database 'pragma integrity_check')
	exactly "sqlite's check" ok "$seen"
	# The transaction that was under way may be there, too.
	database 'select n from t' >"$WORK/rows"
	exactly "rows that were acknowledged and are not there" "" "$(sort "$WORK/acknowledged" | comm -23 - <(sort "$WORK/rows"))"
	umount "$WORK/mnt"
	disk_is_sound
}

database_over_a_cut() {
	RANDOM=$((SEED % 32768))
	AT=()
	cache_begins
	labctl lossy "$SEED"
	serve_anew 1
	with_disk until_the_power_goes
	without_disk
	within 120 peer_is_up
	find_peer_drive
	serve_anew 2
	with_disk as_they_say
	without_disk
	end_server "$SERVER"
}

# All that fio was told is there, by its own checksums.
fio_over_a_cut() {
	AT=()
	cache_begins
	labctl lossy "$SEED"
	serve_anew 1
	disk_by_fio --do_verify=0
	count_cuts
	labctl cut-power
	within 60 was_cut $((CUTS + 1))
	within 120 peer_is_up
	find_peer_drive
	serve_anew 2
	disk_by_fio --verify_only=1
	end_server "$SERVER"
}

# Uses nbdkit's filter as in docs/cache-disk.md; the disk stays mounted all the time.
database_in_a_pause() {
	local NBDKIT_OPTIONS=(--filter=retry) NBDKIT_PARAMETERS=("retries=$((100 * PATIENCE))" retry-delay=5 retry-exponential=no)
	RANDOM=$((SEED % 32768))
	AT=()
	cache_begins
	labctl lossy "$SEED"
	serve_anew 1
	with_disk while_the_power_goes
	without_disk
	with_disk as_they_say
	without_disk
	end_server "$SERVER"
}

# A life of the server takes minutes on a busy host.
readonly RANDOM_CUTS=$((45 * SOAK))

within_cuts 1 t "disk: ext4 and sqlite, power cut" database_over_a_cut
within_cuts 1 t "disk: fio, power cut" fio_over_a_cut
within_cuts 3 t "disk: ext4 and sqlite wait over a power cut" database_in_a_pause
core within_cuts 1 t "at an acknowledgement" cut_at_every_step cache_begins cache_life "$CACHE" ACK:dnd_cache_answer
within_cuts "${#CACHE_STEPS[@]}" t "at every step" cut_at_every_step cache_begins cache_life "$CACHE" "${CACHE_STEPS[@]}"
within_cuts "$RANDOM_CUTS" t "at any moment" cut_at_random cache_begins cache_life "$RANDOM_CUTS"
