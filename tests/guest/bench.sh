# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The benchmarks, with tiny sizes: that they end, say what they measured, and leave nothing behind. In one machine
# with the lab's meter, whose exact counts are held against what an operation may cost, or between two.

# shellcheck source=helpers/fabric.sh
. helpers/fabric.sh
# shellcheck source=helpers/gpu.sh
. helpers/gpu.sh

# bench ARGUMENT... - its JSON in $WORK/json.
bench() {
	local status=0
	donard-cli bench "$@" --json >"$WORK/json" 2>"$WORK/err" || status=$?
	((status == 0)) || fail "donard-cli bench $*: status $status, $(cat "$WORK/err" "$WORK/json")"
}

# holds WHAT FILTER - of the JSON. bounded WHAT FILTER: of counts that the host disturbs now and then.
holds() {
	jq -e "$2" "$WORK/json" >/dev/null || fail "$1: not so in $(jq -c 'del(.samples[].measured)' "$WORK/json")"
}

bounded() {
	jq -e "$2" "$WORK/json" >/dev/null || beyond "$1: not so in $(jq -c '[.samples[] |
		[.method, .bytes, .live, .round, .measured.instructions_kernel]]' "$WORK/json")"
}

# --- setup ---

describes_itself() {
	holds "benchmark" ".benchmark == \"$1\""
	holds "environment" '.donard and .kernel and .emulated and (.options | length > 0)'
}

samples_are_complete() {
	bench setup p2pmem0 --sizes 64K,1M --live 0,40,9 --pieces 3,40 --rounds 2
	describes_itself setup
	holds "in pieces" '[.samples[] | select(.method == "allocate pieces" or .method == "free pieces") | .bytes] ==
		[12288, 12288, 12288, 12288, 163840, 163840, 163840, 163840]'
	holds "two rounds of each" '[.samples[] | select(.method == "mmap")] | map([.bytes, .round]) ==
		[[65536, 0], [65536, 1], [1048576, 0], [1048576, 1]]'
	holds "methods" '[.samples[].method] | unique | contains(["allocate", "free", "mmap", "touch"])'
	holds "live ones" '[.samples[] | select(.bytes == 4096 and .method == "free") | .live] == [0, 0, 40, 40, 9, 9]'
	holds "pins or a reason" '([.samples[], .skipped[]] | map(select(.method == "pin") | .bytes) | unique) ==
		[65536, 1048576]'
	holds "no RDMA device, or a registration" '[.samples[], .skipped[]] | any(.method == "register")'
	within 5 region_is_free p2pmem0
}

# The least of many rounds: the kernel may do any of them beside other work of its own (a page of slab objects, a
# batch of freed ones, a tick), and in every second one does. What only some of them would cost, the mean shows.
counts_are_sane() {
	bench setup p2pmem0 --sizes 64K,1M,16M --live 0,20000 --pieces 500,8000 --rounds 15
	holds "exact counts" '.meter == "lab"'
	# Zeroed once, and read back by eight bytes a batch, which is a page at least.
	# shellcheck disable=SC2016  # jq
	holds "zeroed by the CPU" 'all(.samples[] | select(.method == "touch");
		(.measured.bar_cpu_bytes - .bytes) as $read |
			$read >= 8 and $read % 8 == 0 and $read <= 8 * .bytes / 4096)'
	bounded "allocation beside 20000" "$(by_live) | (.[1].allocate.least / .[0].allocate.least) | . < 1.1 and . > 0.9"
	bounded "freeing beside 20000" "$(by_live) | (.[1].free.least / .[0].free.least) | . < 1.1 and . > 0.9"
	bounded "each of them beside 20000" "$(by_live) |
		.[1].allocate.mean < 2 * .[0].allocate.least and .[1].free.mean < 2 * .[0].free.least"
	bounded "no worse than linear" "$(by_size '[^s]$' 1.05)"
	# For each piece a tree is gone through, whose height grows with the number of pieces.
	bounded "near linear in pieces" "$(by_size ' pieces$' 1.5)"
}

# Kernel instructions, by number of live allocations; the mean of those that nothing else ran in between.
by_live() {
	cat <<-'END'
		[.samples[] | select(.bytes == 4096)] | group_by(.live) |
		map(group_by(.method) | map({(.[0].method): {
			least: (map(.measured.instructions_kernel) | min),
			mean: (map(.measured | select(.context_switches == 0) | .instructions_kernel) | add / length)}}) | add)
	END
}

# by_size METHODS FACTOR - kernel instructions grow with the size, and at most by FACTOR more.
by_size() {
	cat <<-END
		[.samples[] | select(.bytes != 4096 and (.method | test("$1")))] | group_by(.method) | all(.[];
			group_by(.bytes) |
			map([.[0].bytes, (map(.measured.instructions_kernel) | sort | .[length / 2 | floor])]) |
			. as \$sizes | all(range(1; length); . as \$i |
				\$sizes[\$i][1] / \$sizes[\$i - 1][1] <= $2 * \$sizes[\$i][0] / \$sizes[\$i - 1][0]))
	END
}

what_does_not_fit_is_said() {
	bench setup p2pmem2 --sizes 64K,1G --live 20000 --pieces 5 --rounds 1
	holds "pieces" '.skipped[] | select(.method == "allocate pieces") | .why | test("never given in pieces")'
	holds "size" '.skipped[] | select(.bytes == 1073741824) | .why | test("bytes free")'
	holds "live" '.skipped[] | select(.live == 20000) | .why | test("has room for 16383")'
	holds "the most that fits" '.samples[] | select(.method == "allocate" and .live == 16383)'
	within 5 region_is_free p2pmem2
}

# Memory that the kernel's own driver publishes: of type p2pdma where that exists.
cmb_too() {
	bench setup p2pmem1 --sizes 64K --live 0,100 --rounds 1
	holds "methods" '[.samples[].method] | unique | contains(["allocate", "free", "mmap", "touch"])'
	[[ $(attr p2pmem1 page_type) != p2pdma ]] ||
		holds "no pins of p2pdma" '.skipped | any(.method == "pin" and (.why | test("fixed buffer")))'
	within 5 region_is_free p2pmem1
}

persistent_bytes_stay() {
	random_file "$WORK/data" $((4 * MIB))
	regio write p2pmem2 0 $((4 * MIB)) "$WORK/data"
	bench setup p2pmem2 --sizes 64K,1M --live 10 --rounds 1
	same_bytes "the PMR" "$WORK/data" "$(backing beta)" $((4 * MIB))
}

bad_input() {
	exits 2 'no multiple of 4096' donard-cli bench setup p2pmem0 --sizes 100
	exits 1 'no such|does not exist|p2pmem9' donard-cli bench setup p2pmem9
	exits 2 "no meter 'scales'" donard-cli bench setup p2pmem0 --meter scales
}

# The clock of a metered guest counts instructions: to wait for two seconds of it took minutes.
stops_cleanly() {
	local status=0
	donard-cli bench setup p2pmem0 --rounds 1000 --json >"$WORK/json" 2>"$WORK/err" &
	at_end "kill -KILL $! 2>/dev/null"
	within 10 region_is_held p2pmem0
	kill -INT "$!"
	wait "$!" || status=$?
	equal "exit status" 130 "$status"
	holds "error" '.error.code == "canceled"'
	within 5 region_is_free p2pmem0
}

# --- queue ---

# At this depth, places for all requests would be a GiB for each thread: more than the region has.
threads_side_by_side() {
	bench queue "$LAB_ALPHA" p2pmem0 --size 2M --block-sizes 1M --queue-depths 1024 --threads 2 --methods queue
	holds "samples" '[.samples[] | [.method, .threads, .queue_depth, .bytes]] == [
		["queue", 2, 1024, 2097152], ["queue", 2, 1024, 4194304]]'
	within 5 region_is_free p2pmem0
}

# A quarter of this size has 32 blocks: at it fio would leave half of its buffers untouched, which are 2 MiB. The counts of a
# size differ by some KiB from run to run.
fio_touches_alike() {
	bench queue "$LAB_ALPHA" p2pmem0 --write-to "$LAB_BETA" --size 8M --block-sizes 64K --queue-depths 64 --methods fio
	holds "blocks of the smaller size for all in flight" '[.samples[] | [.direction, .bytes, .in_flight]] == [
		["to-region", 4194304, 64], ["to-region", 8388608, 64],
		["from-region", 4194304, 64], ["from-region", 8388608, 64]]'
	holds "what its CPU touches of the region" ".samples | $(more .bar_cpu_bytes) |
		length == 2 and all(.[]; .bytes == 4194304 and (.more | fabs) < 32768)"
	within 5 region_is_free p2pmem0
}

# Requests of a plain queue are not shown as those of registered memory.
registered_where_it_can_be() {
	local -a few=("$LAB_ALPHA" p2pmem0 --size 256K --block-sizes 64K --queue-depths 1 --meter none)
	local filter='[.samples[].method] | unique'
	bench queue "${few[@]}" --methods queue,queue-registered
	if can fixed-buffers; then
		equal "methods, generic pages" '["queue","queue-registered"]' "$(jq -c "$filter" "$WORK/json")"
		can p2pdma || return 0
		with_page_type p2pmem0 p2pdma
		bench queue "${few[@]}" --methods queue,queue-registered
	fi
	equal "methods, where none can be registered" '["queue"]' "$(jq -c "$filter" "$WORK/json")"
	matches "what is said" 'queue-registered: left out' "$(cat "$WORK/err")"
	exits 3 'p2pmem0: queue-registered measures nothing here: the kernel registers no such memory' \
		donard-cli bench queue "${few[@]}" --methods queue-registered
}

# Half of the size has room for fewer than were asked for.
fewer_in_flight() {
	bench queue "$LAB_ALPHA" p2pmem0 --size 512K --block-sizes 64K --queue-depths 16 --methods queue --meter none
	holds "samples" '[.samples[] | [.bytes, .queue_depth, .in_flight]] == [[262144, 16, 4], [524288, 16, 4]]'
	matches "what is said" 'depth 16: no more than 4 are in flight' "$(cat "$WORK/err")"
	within 5 region_is_free p2pmem0
}

# --- queue, with memory of a GPU ---

with_gpu_region() {
	# shellcheck disable=SC2119
	with_gpu
	donard-cli region add --kind gpu-nvidia --device "$LAB_GPU_BDF" >/dev/null
	export LD_LIBRARY_PATH=$LD_LIBRARY_PATH:/usr/lib/donard/cufile CUFILE_LOGFILE_PATH=$WORK/cufile.log
}

# more WHAT - of the larger size than of the smaller, by method and direction; jq.
more() {
	printf 'group_by([.method, .direction]) | map({ method: .[0].method, bytes: ((map(.bytes) | max) - (map(.bytes) | min)),
		more: ((max_by(.bytes).measured | %s) - (min_by(.bytes).measured | %s)) })' "$1" "$1"
}

gpu_by_each_way() {
	local methods='"cufile", "cufile-compat", "gpu-memcpy", "queue"' samples=16 straight=4
	! can fixed-buffers || { methods+=', "queue-registered"' samples=20 straight=6; }
	with_gpu_region
	dd if=/dev/urandom of="$LAB_ALPHA" bs=1M count=1 oflag=direct status=none
	bench queue "$LAB_ALPHA" gpu:0 --write-to "$LAB_BETA" --size 1M --block-sizes 64K --queue-depths 1 --rounds 1
	describes_itself queue
	holds "methods" '[.samples[].method] | unique == ['"$methods]"
	holds "verified" "(.samples | length == $samples) and all(.samples[]; .verified and .region == \"gpu:0\")"
	holds "no payload in DRAM by the straight ways" ".samples | $(more '.dram_dma_payload_bytes + .dram_cpu_payload_bytes') |
		map(select(.method | test(\"queue|cufile\$\"))) | length == $straight and all(.[]; .more == 0)"
	holds "all of it in DRAM by the others" ".samples | $(more .dram_dma_payload_bytes) |
		map(select(.method | test(\"compat|memcpy\"))) | length == 4 and all(.[]; .more == .bytes)"
	within 10 nothing_is_pinned
	exits 0 'drive to region +64 KiB .* cuFile, compatibility mode ' donard-cli bench queue "$LAB_ALPHA" gpu:0 --size 256K \
		--block-sizes 64K --queue-depths 1,4
}

# Figures of Linux AIO are not taken for those of io_uring.
without_uring() {
	local -a few=(--size 1M --block-sizes 64K --queue-depths 4 --rounds 1 --methods "donard,queue,queue-registered,dd")
	local filter='[.samples[] | select(.aio) | .method] | unique'
	RESULT=$(forbid EPERM io_uring donard-cli bench copy "$LAB_ALPHA" p2pmem0 "${few[@]}" --json 2>"$WORK/err") ||
		fail "status $?: $(cat "$WORK/err")"
	equal "methods by Linux AIO" '["donard","queue"]' "$(jq -c "$filter" <<<"$RESULT")"
	equal "the others" '["dd"]' "$(jq -c '[.samples[] | select(.aio | not) | .method] | unique' <<<"$RESULT")"
	matches "what is said" 'queue: the kernel refuses io_uring' "$(cat "$WORK/err")"
	exits 1 'queue: failed with status 1; what it said is above' \
		forbid EPERM all donard-cli bench copy "$LAB_ALPHA" p2pmem0 "${few[@]/donard,queue,queue-registered,dd/queue}"
	bench copy "$LAB_ALPHA" p2pmem0 "${few[@]}"
	equal "methods by Linux AIO, where io_uring is allowed" '[]' "$(jq -c "$filter" "$WORK/json")"
}

# The drive's name goes with the copy that would be compared: that says nothing about the data.
what_cannot_be_compared() {
	local drive=/dev/drive-of-test
	cp -a "$(readlink -f "$LAB_ALPHA")" "$drive"
	at_end "rm -f $drive"
	mkdir "$WORK/bin"
	cat >"$WORK/bin/dd" <<-END
		#!/bin/sh
		$(command -v dd) "\$@" || exit
		case " \$* " in
		*" count=1048576 "*) rm "$drive" ;;
		esac
	END
	chmod +x "$WORK/bin/dd"
	PATH="$WORK/bin:$PATH" exits 1 'dd: what it copied cannot be compared: No such file' donard-cli bench copy "$drive" \
		p2pmem0 --size 1M --block-sizes 64K --rounds 1 --methods dd
	within 5 region_is_free p2pmem0
}

# The methods' reports are kept in no file system, which might be full.
nothing_fits_into_tmp() {
	# shellcheck disable=SC2016  # for the shell inside
	RESULT=$(unshare --mount bash -ec 'mount -t tmpfs -o size=4k tmpfs /tmp; head -c 4096 /dev/zero >/tmp/all; exec "$@"' bash \
		donard-cli bench copy "$LAB_ALPHA" p2pmem0 --size 1M --block-sizes 64K --queue-depths 4 --rounds 1 \
		--methods donard,queue,memcpy,dd --json 2>"$WORK/err") || fail "status $?: $(cat "$WORK/err")"
	equal "methods with a time" '["donard","queue","memcpy","dd"]' \
		"$(jq -c '[.samples[] | select(.bytes == 1048576 and .seconds > 0) | .method]' <<<"$RESULT")"
}

# control_of BDF - Device Control, from the function itself: its largest payload, and its largest read request.
control_of() {
	local control=$((16#$(setpci -s "$1" CAP_EXP+8.w)))
	echo "$((128 << (control >> 5 & 7))) $((128 << (control >> 12 & 7)))"
}

links_of_copy() {
	local found
	bench copy "$LAB_ALPHA" p2pmem0 --write-to "$LAB_BETA" --size 1M --block-sizes 64K --rounds 1 --methods donard
	found=$(jq -r '.links[] | "\(.direction) \(.client_function) \(.region_function) \(.route): \(.client_payload_bytes_max) \(
		.client_request_bytes_max)"' "$WORK/json")
	equal "links" "to-region $LAB_ALPHA_BDF $LAB_GPU_BDF switch: $(control_of "$LAB_ALPHA_BDF")
from-region $LAB_BETA_BDF $LAB_GPU_BDF switch: $(control_of "$LAB_BETA_BDF")" "$found"
	exits 0 "drive to region +$LAB_ALPHA_BDF +$LAB_GPU_BDF +switch +writes of at most 128 bytes +1.00 +at least 1.19 +0" donard-cli bench copy "$LAB_ALPHA" p2pmem0 --size 1M \
		--block-sizes 64K --rounds 1 --methods donard
}

# Makes the link that udev would make, which does not run here.
link_names_region() {
	mkdir -p /dev/p2pmem/by-name
	ln -s ../../p2pmem0 /dev/p2pmem/by-name/scratch
	at_end "rm -rf /dev/p2pmem"
	bench copy "$LAB_ALPHA" /dev/p2pmem/by-name/scratch --size 1M --block-sizes 64K --rounds 1 --methods donard,memcpy
	holds "its region" '[.samples[] | [.method, .region]] | unique == [["donard", "p2pmem0"], ["memcpy", "p2pmem0"]]'
}

# The emulator keeps the memory in a file, which shows each byte of it.
persistent_bytes_are_asked_for() {
	local command
	random_file "$WORK/data" $((4 * MIB))
	regio write p2pmem2 0 $((4 * MIB)) "$WORK/data"
	for command in copy queue; do
		exits 1 'p2pmem2: its memory is persistent.* give --allow-persistent' donard-cli bench "$command" "$LAB_ALPHA" p2pmem2 \
			--size 1M --block-sizes 64K --rounds 1
	done
	same_bytes "the PMR" "$WORK/data" "$(backing beta)" $((4 * MIB))
	bench copy "$LAB_ALPHA" p2pmem2 --size 1M --block-sizes 64K --rounds 1 --methods donard --allow-persistent
	holds "its region" '[.samples[].region] | unique == ["p2pmem2"]'
	bench queue "$LAB_ALPHA" p2pmem2 --size 1M --block-sizes 64K --queue-depths 4 --methods queue --allow-persistent
	within 5 region_is_free p2pmem2
}

# Each fio begins at the first byte of the region.
fio_has_one_place() {
	local -a two=("$LAB_ALPHA" p2pmem2 --size 8M --block-sizes 1M --queue-depths 1 --threads 2 --meter none --allow-persistent)
	bench queue "${two[@]}" --methods queue,fio,fio-fixed
	equal "methods of two threads" '["queue"]' "$(jq -c '[.samples[].method] | unique' "$WORK/json")"
	equal "what is said of fio, once" 1 "$(grep -c 'fio: left out, because with more than one thread' "$WORK/err")"
	exits 3 'p2pmem2: fio measures nothing here: with more than one thread' donard-cli bench queue "${two[@]}" --methods fio
	within 5 region_is_free p2pmem2
}

# Uses a link such as those in /dev/disk/by-id.
link_names_drive() {
	ln -s "$LAB_ALPHA" "$WORK/nvme-QEMU_alpha"
	ln -s "$LAB_BETA" "$WORK/nvme-QEMU_beta"
	bench copy "$WORK/nvme-QEMU_alpha" p2pmem0 --write-to "$WORK/nvme-QEMU_beta" --size 1M --block-sizes 64K --rounds 1 \
		--methods donard
	holds "its functions" "[.links[] | [.direction, .client, .client_function]] ==
		[[\"to-region\", \"$LAB_ALPHA\", \"$LAB_ALPHA_BDF\"], [\"from-region\", \"$LAB_BETA\", \"$LAB_BETA_BDF\"]]"
}

# first_mib DRIVE - what lies there, and in no page cache
first_mib() {
	dd "if=$1" iflag=direct bs=1M count=1 status=none | cksum
}

others_drive_is_left() {
	local loop
	modprobe -q loop || true
	loop=$(losetup --find --show "$LAB_BETA")
	at_end "losetup --detach $loop"
	first_mib "$LAB_BETA" >"$WORK/before"
	exits 1 "$LAB_BETA: the loop device ${loop#/dev/} lies on it" donard-cli bench copy "$LAB_ALPHA" p2pmem0 --write-to "$LAB_BETA" \
		--size 1M --block-sizes 64K --rounds 1 --methods memcpy
	first_mib "$LAB_BETA" >"$WORK/after"
	same_bytes "the drive" "$WORK/before" "$WORK/after" "$(stat -c %s "$WORK/before")"
}

bad_gpu() {
	exits 1 'no region of a GPU.*region add --kind gpu-nvidia' donard-cli bench queue "$LAB_ALPHA" gpu:0
	with_gpu_region
	exits 2 "'fio' .* of a GPU.*are queue, queue-registered, cufile, cufile-compat, gpu-memcpy\." donard-cli bench queue "$LAB_ALPHA" gpu:0 --methods fio
	exits 2 "'cufile' .*a region.*are donard, .*fio-passthrough" donard-cli bench queue "$LAB_ALPHA" p2pmem1 --methods cufile
	exits 1 'gpu:9: CUDA has no such GPU' donard-cli bench queue "$LAB_ALPHA" gpu:9 --size 256K --block-sizes 64K
	LD_LIBRARY_PATH='' exits 1 'no libcuda.so.1' donard-cli bench queue "$LAB_ALPHA" gpu:0 --size 256K --block-sizes 64K
	within 10 nothing_is_pinned
}

# --- rdma ---

readonly PORT=7077 PERFTEST_PORT=18515

# offer TARGET PORT [ARGUMENT...] - a server in the other machine, until the end of the test.
offer() {
	labctl peer donard-cli rdma serve "$1" --size 16M --bind "$LAB_PEER_ADDR" --port "$2" --json "${@:3}" \
		>"$WORK/served.$2" 2>&1 </dev/null &
	at_end "kill $! 2>/dev/null; wait $!; within 10 port_is_quiet peer $2"
	within 20 grep -q '"event":"listening"' "$WORK/served.$2"
}

rdma_samples() {
	offer dram "$PORT"
	bench rdma "$LAB_PEER_ADDR" --block-sizes 4K,64K --queue-depths 1,8 --iterations 20 --rounds 2
	describes_itself rdma
	holds "no region, no link" '.links == []'
	holds "all of them" '[.samples[] | [.operation, .direction, .block_bytes, .queue_depth]] | unique | length == 12'
	holds "rates" 'all(.samples[]; .bytes_per_second > 0 and .bytes == .block_bytes * 20)'
	holds "latencies" 'all(.samples[] | select(.operation == "latency"); .latency_ns | .min > 0 and .min <= .p50 and
		.p50 <= .p99 and .p99 <= .max)'
}

# Without --iterations there are at least as many requests as may be in flight.
rdma_in_flight() {
	offer dram "$PORT"
	bench rdma "$LAB_PEER_ADDR" --direction write --block-sizes 4K --queue-depths 1200 --rounds 1
	holds "requests by default" '[.samples[] | [.operation, .queue_depth, .requests, .in_flight]] ==
		[["latency", 1, 1000, 1], ["bandwidth", 1200, 1200, 1200]]'
	bench rdma "$LAB_PEER_ADDR" --direction write --block-sizes 4K --queue-depths 4,8 --iterations 5 --rounds 1
	holds "fewer than the depth" '[.samples[] | [.operation, .queue_depth, .in_flight]] ==
		[["latency", 1, 1], ["bandwidth", 4, 4], ["bandwidth", 8, 5]]'
	matches "what is said" 'depth 8: no more than 5 are in flight' "$(cat "$WORK/err")"
}

rdma_direction_that_is_not_offered() {
	offer dram "$PORT" --access write
	exits 1 'offered for writing only|only lets clients write' donard-cli bench rdma "$LAB_PEER_ADDR" --direction read \
		--block-sizes 4K --rounds 1
	bench rdma "$LAB_PEER_ADDR" --direction write --block-sizes 4K --queue-depths 4 --iterations 10 --rounds 1
}

# Between two samples: the server has gone, and is asked for again for a while.
rdma_is_stopped_while_nobody_listens() {
	local status=0
	offer dram "$PORT" --once
	donard-cli bench rdma "$LAB_PEER_ADDR" --block-sizes 4K --queue-depths 1 --iterations 5 --rounds 1 --json >"$WORK/json" \
		2>"$WORK/err" &
	at_end "kill -KILL $! 2>/dev/null"
	within 20 grep -q '"event":"left"' "$WORK/served.$PORT"
	sleep 1
	kill -INT "$!"
	wait "$!" || status=$?
	equal "exit status ($(cat "$WORK/json"))" 130 "$status"
	holds "error" '.error.code == "canceled"'
}

# perftest_servers - each serves one client after the other, until the end of the test.
perftest_servers() {
	local program port=$PERFTEST_PORT
	for program in ib_write_bw ib_read_bw ib_write_lat ib_read_lat; do
		peer_until_the_end "while :; do $program -R -F -s 4096 -n 20 -p $port; done"
		within 20 cm_listens peer "$program" "$port"
		port=$((port + 1))
	done
	peer_until_the_end "$(declare -f end_left_servers); end_left_servers"
}

peer_until_the_end() {
	labctl peer bash -c "$1" >>"$WORK/peer" 2>&1 </dev/null &
	at_end "kill $! 2>/dev/null; wait $!"
}

# end_left_servers - on a busy host a client may fail while it connects, and leave its server waiting for the rest: one
# that still has a queue pair at the second look is no use to the next client.
end_left_servers() {
	local before='' now
	while :; do
		now=$(rdma resource show qp | grep -o 'pid [0-9]* comm ib_' | cut -d ' ' -f 2 | sort -u)
		comm -12 <(echo "$before") <(echo "$now") | xargs -r kill
		before=$now
		sleep 10
	done
}

perftest_beside() {
	offer dram "$PORT"
	perftest_servers
	bench rdma "$LAB_PEER_ADDR" --block-sizes 4K --queue-depths 16 --iterations 20 --rounds 1 --perftest \
		--local p2pmem0 --timeout 120
	holds "its near side" 'all(.samples[] | select(.method == "perftest"); .local == "/dev/p2pmem0")'
	holds "both methods" '[.samples[] | [.method, .operation, .direction]] | unique | length == 8'
	holds "its rates" 'all(.samples[] | select(.operation == "bandwidth"); .bytes_per_second > 0)'
	holds "its latencies" 'all(.samples[] | select(.operation == "latency"); .latency_ns.p50 > 0)'
	holds "what it halves" '[.samples[] | select(.half_round_trip) | [.method, .operation, .direction]] ==
		[["perftest", "latency", "write"]]'
	holds "no counts that begin with its exec()" 'all(.samples[] | select(.method == "perftest" and .costs_missing == null);
		.measured.instructions_user == null and (.measured_missing | test("connecting")))'
}

# tool_that_prints NAME LINE [COMMAND] - first in PATH, and needs no server.
tool_that_prints() {
	mkdir -p "$WORK/bin"
	printf '#!/bin/sh\necho "%s"\n%s\n' "$2" "${3-}" >"$WORK/bin/$1"
	chmod +x "$WORK/bin/$1"
}

readonly BANDWIDTH=' 4096       20               1.00               0.90                    0.000230'
readonly LATENCY=' 4096       20          1.00           2.00         1.50             1.60         0.00           1.90                    2.00'

# Debian's ib_write_bw does that by itself now and then.
perftest_that_does_not_end() {
	offer dram "$PORT"
	tool_that_prints ib_write_lat "$LATENCY"
	tool_that_prints ib_write_bw "$BANDWIDTH" 'exec sleep 1000'
	PATH="$WORK/bin:$PATH" bench rdma "$LAB_PEER_ADDR" --direction write --block-sizes 4K --queue-depths 16 --iterations 20 \
		--rounds 1 --perftest --timeout 20
	holds "its rate, and no costs" '.samples[] | select(.program == "ib_write_bw") |
		(.bytes_per_second | floor) == 943718 and (.costs_missing | test("did not end")) and (has("user_seconds") | not)'
	holds "costs of the other" '.samples[] | select(.program == "ib_write_lat") | .user_seconds >= 0 and .costs_missing == null'
}

# The option is looked for in what perftest's own help says.
perftest_by_ipv6() {
	# shellcheck disable=SC2153  # both are the lab's
	local LAB_PEER_ADDR=$LAB_PEER_ADDR6 real
	real=$(command -v ib_write_bw)
	offer dram "$PORT"
	tool_that_prints ib_write_lat "$LATENCY"
	tool_that_prints ib_write_bw "$BANDWIDTH" "[ \"\$1\" != --help ] || exec $real --help
		echo \"\$*\" >$WORK/words"
	PATH="$WORK/bin:$PATH" bench rdma "[$LAB_PEER_ADDR]:$PORT" --direction write --block-sizes 4K --queue-depths 16 --iterations 20 \
		--rounds 1 --perftest --timeout 20
	holds "both methods" '[.samples[] | [.method, .operation]] | unique | length == 4'
	matches "words of its client" " --ipv6-addr $LAB_PEER_ADDR\$" "$(cat "$WORK/words")"
	tool_that_prints ib_write_bw "$BANDWIDTH"
	PATH="$WORK/bin:$PATH" exits 3 'this perftest takes no IPv6 address' donard-cli bench rdma "$LAB_PEER_ADDR" --direction write \
		--block-sizes 4K --perftest
}

# measures_nothing PROGRAM - refused by its name, while the other one prints figures.
measures_nothing() {
	PATH="$WORK/bin:$PATH" exits 1 "$1 to .* measured nothing" donard-cli bench rdma "$LAB_PEER_ADDR" --direction write \
		--block-sizes 4K --queue-depths 4 --iterations 20 --rounds 1 --perftest --timeout 2
}

# Seen on a busy host, and once more is enough then; here it is so each time. Latency comes first.
perftest_without_sense_of_its_clock() {
	offer dram "$PORT"
	tool_that_prints ib_write_lat "$LATENCY"
	tool_that_prints ib_write_bw ' 4096       20               0.00               0.00                    0.000000'
	measures_nothing ib_write_bw
	tool_that_prints ib_write_bw "$BANDWIDTH"
	tool_that_prints ib_write_lat ' 4096       20          inf            inf          inf          inf         -nan            inf                 inf'
	measures_nothing ib_write_lat
}

perftest_without_server() {
	offer dram "$PORT"
	exits 1 'Its server must run there' donard-cli bench rdma "$LAB_PEER_ADDR" --block-sizes 4K --queue-depths 1 \
		--iterations 5 --rounds 1 --perftest --timeout 2
}

# The samples of jq's input that are about bandwidth alone.
readonly MOVED='.samples[] | select(.purpose == "measure" and .operation == "bandwidth")'

# has_all_targets - both operations into each of the three, and what arrived was compared.
has_all_targets() {
	holds "targets" "[$MOVED | select(.round == 0) | [.direction, .name]] ==
		[[\"write\", \"dram\"], [\"write\", \"nvram\"], [\"write\", \"gpu\"],
		[\"read\", \"dram\"], [\"read\", \"nvram\"], [\"read\", \"gpu\"]]"
	holds "verified" '[.samples[] | select(.purpose == "verify")] | length == 6 and all(.[]; .verified_bytes == .bytes)'
}

table_of_three() {
	offer dram 7077
	offer p2pmem2 7078 --fill
	offer p2pmem0 7079
	bench table1 "dram=$LAB_PEER_ADDR" "nvram=$LAB_PEER_ADDR:7078" "gpu=[$LAB_PEER_ADDR]:7079" --iterations 20 --rounds 2
	describes_itself table1
	has_all_targets
	holds "what they serve" '[.samples[] | .target] | unique == ["dram", "p2pmem0", "p2pmem2"]'
	holds "samples" '[.samples[] | select(.purpose == "measure")] | length == 24'
	exits 0 'RDMA +target.*write +dram +[0-9,]+ +1\.00 .*write +gpu .*read +dram +[0-9,]+ +1\.00 .*read +gpu' donard-cli bench table1 "dram=$LAB_PEER_ADDR" \
		"gpu=$LAB_PEER_ADDR:7079" --iterations 5 --rounds 1
}

nobody_there() {
	exits 1 "$LAB_PEER_ADDR.*7099" donard-cli bench table1 "a=$LAB_PEER_ADDR:7099" --timeout 2
}

# --- table1 in one machine, whose meter counts ---

# table_here REQUESTS - the JSON of two rounds is in $WORK/json, the payload of each in $WORK/payload*.
table_here() {
	local round
	bench table1 --here "$LAB_ADDR" dram=dram nvram=p2pmem2 gpu=p2pmem0 --iterations "$1" --rounds 2
	for round in 0 1; do
		jq -c --argjson round "$round" "$MOVED | select(.round == \$round)
			| [.direction, .name, .bytes, .measured.dram_cpu_payload_bytes, .measured.dram_dma_payload_bytes]" \
			"$WORK/json" >"$WORK/payload$round"
	done
}

# The client's buffer is DRAM. A target in a BAR keeps each of its bytes out of there, and no other.
bar_keeps_its_bytes_out() {
	with_rdma
	table_here 32
	describes_itself table1
	holds "exact counts" '.meter == "lab" and .dram_missing == null'
	holds "one device, without a link" '.links == [{direction: null, client_type: "rdma", client: "rxe0",
		unknown: "rxe0: it is RDMA in software: the CPU copies, and it has no link"}]'
	has_all_targets
	holds "payload of both ends, or of one" "all($MOVED; .measured.dram_dma_payload_bytes +
		.measured.dram_cpu_payload_bytes == .bytes * if .name == \"dram\" then 2 else 1 end)"
	# A barrier of memory that is not persistent is a load of 8 bytes from it.
	holds "the rest by way of the BAR" "all($MOVED; .measured.bar_dma_bytes + .measured.bar_cpu_bytes
		- if .name == \"dram\" then 0 else .bytes end | . >= 0 and . <= 64 and . % 8 == 0)"
	holds "all of it" "all($MOVED; .measured.dram_cpu_overhead_bytes > 0 and .measured.instructions_kernel > 0)"
	equal "payload in the second round" "$(<"$WORK/payload0")" "$(<"$WORK/payload1")"
	holds "what the servers cost" "all($MOVED; .server_cpu_seconds_per_gib >= 0 and .server_faults >= 0) and
		.server_missing == null"
	within 5 region_is_free p2pmem0
}

table_here_text() {
	with_rdma
	exits 0 'of it payload.*write +dram .* 2\.00 +0 .*read +gpu .* 1\.00 +1\.00 ' donard-cli bench table1 \
		--here "$LAB_ADDR" dram=dram gpu=p2pmem0 --iterations 5 --rounds 1
	exits 0 "DRAM traffic: not available: .*'none' was asked for" donard-cli bench table1 --here "$LAB_ADDR" dram=dram \
		--iterations 5 --rounds 1 --meter none
}

# Persistent memory is overwritten by test data only with consent.
table_here_persistent() {
	with_rdma
	exits 1 'p2pmem2: its memory is persistent.* give --allow-persistent' donard-cli bench table1 --here "$LAB_ADDR" gpu=p2pmem0 \
		--local p2pmem2
	bench table1 --here "$LAB_ADDR" gpu=p2pmem0 --local p2pmem2 --allow-persistent --iterations 5 --rounds 1
	holds "verified" '[.samples[] | select(.purpose == "verify" and .verified_bytes == .bytes)] | length == 2'
}

# The server's own words, and its own exit status.
table_here_refusals() {
	with_rdma
	exits 3 'no RDMA device has this address' donard-cli bench table1 --here 192.0.2.1 dram=dram
	exits 1 'p2pmem9' donard-cli bench table1 --here "$LAB_ADDR" gpu=p2pmem9
	exits 1 'region-gone|go past its end|p2pmem2' donard-cli bench table1 --here "$LAB_ADDR" nvram=p2pmem2 --block-size 64M \
		--queue-depth 2
}

if [[ -n ${LAB_FABRIC:-} ]]; then
	t "rdma, samples" rdma_samples
	t "rdma, requests in flight" rdma_in_flight
	t "rdma, a direction that is not offered" rdma_direction_that_is_not_offered
	t "rdma, a signal while nobody listens" rdma_is_stopped_while_nobody_listens
	t "rdma, perftest beside it" perftest_beside
	t "rdma, perftest that does not end" perftest_that_does_not_end
	t "rdma, perftest without sense of its clock" perftest_without_sense_of_its_clock
	t "rdma, perftest without its server" perftest_without_server
	t "rdma, perftest to an IPv6 address" perftest_by_ipv6
	t "table1, three targets" table_of_three
	t "table1, nobody there" nobody_there
else
	t "setup, samples" samples_are_complete
	t "setup, counts" in_two_samples counts_are_sane
	t "setup, what does not fit is said" what_does_not_fit_is_said
	t "setup, a cmb" cmb_too
	t "setup, persistent bytes stay" persistent_bytes_stay
	t "setup, bad input" bad_input
	t "setup, a signal" stops_cleanly
	t "copy, without io_uring" without_uring
	t "copy, what cannot be compared" what_cannot_be_compared
	t "copy, a full /tmp" nothing_fits_into_tmp
	t "copy, links" links_of_copy
	t "copy, a link names the region" link_names_region
	t "copy, a link names the drive" link_names_drive
	t "copy, a drive that others use" others_drive_is_left
	t "copy and queue, persistent memory" persistent_bytes_are_asked_for
	t "queue, fio has one place in persistent memory" fio_has_one_place
	t "queue, threads side by side" threads_side_by_side
	t "queue, registered where it can be" registered_where_it_can_be
	t "queue, fio touches the region alike" fio_touches_alike
	t "queue, fewer in flight than asked for" fewer_in_flight
	t "queue on a GPU, by each way" gpu_by_each_way
	t "queue on a GPU, bad input" bad_gpu
	t "table1 in one machine, payload" bar_keeps_its_bytes_out
	t "table1 in one machine, text" table_here_text
	t "table1 in one machine, persistent memory" table_here_persistent
	t "table1 in one machine, refusals" table_here_refusals
fi
