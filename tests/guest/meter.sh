# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The exact meter: first work whose traffic is known beforehand, then what it says of copies. In a guest
# booted with --meter. Payload is compared exactly; overhead is the kernel's business and only bounded.

# shellcheck source=helpers/gpu.sh
. ./helpers/gpu.sh
# shellcheck source=helpers/fabric.sh
. ./helpers/fabric.sh
# shellcheck source=helpers/cacheserver.sh
. ./helpers/cacheserver.sh

readonly BYTES=$((8 * MIB))

# known MODE [ARG...] - metertest, in a file of counts; count NAME - one of them.
known() {
	metertest "$@" >"$WORK/counts" || fail "metertest $*: $(cat "$WORK/counts")"
	exactly "the meter" lab "$(count meter)"
}

count() {
	awk -v name="$1" '$1 == name { print $2 }' "$WORK/counts"
}

# counts NAME VALUE...
counts() {
	while (($#)); do
		exactly "$1" "$2" "$(count "$1")"
		shift 2
	done
}

known_memcpy() {
	known memcpy "$BYTES"
	counts dram_cpu_payload_bytes $((2 * BYTES)) dram_dma_payload_bytes 0 bar_cpu_bytes 0 bar_dma_bytes 0
	# A load and a store for each eight bytes, and the loop around them.
	(($(count instructions_user) >= BYTES / 4)) || fail "only $(count instructions_user) instructions"
}

known_dma() {
	data_on_alpha "$BYTES"
	known dma "$BYTES" "$LAB_ALPHA"
	counts dram_dma_payload_bytes "$BYTES" dram_cpu_payload_bytes 0 bar_dma_bytes 0 bar_cpu_bytes 0
	# A completion has 16 bytes, and no command moves more than 512 KiB.
	(($(count dram_dma_overhead_bytes) >= BYTES / 32768)) ||
		fail "commands of $(count dram_dma_overhead_bytes) bytes"
}

# Nobody declares the page cache: the meter finds it by the pages that DMA touched.
hidden_copy() {
	data_on_alpha "$BYTES"
	known hidden "$BYTES" "$LAB_ALPHA" /dev/p2pmem0
	counts dram_dma_payload_bytes "$BYTES" bar_cpu_bytes "$BYTES" bar_dma_bytes 0
	(($(count dram_cpu_payload_bytes) >= BYTES)) ||
		fail "the CPU touched $(count dram_cpu_payload_bytes) bytes of the page cache"
	same_bytes "host's view of the BAR" "$(backing gpu)" "$WORK/data" "$BYTES"
}

idle_period() {
	known idle 1
	counts dram_dma_payload_bytes 0 dram_cpu_payload_bytes 0 bar_dma_bytes 0 bar_cpu_bytes 0
	(($(count dram_cpu_overhead_bytes) < 4 * MIB)) || beyond "$(count dram_cpu_overhead_bytes) bytes while idle"
}

one_at_a_time() {
	known twice
}

# measured NAME - of the copy in $WORK/copy.
measured() {
	jq -r ".$1" "$WORK/copy"
}

nobody_holds_any() {
	[[ -z $(cat /sys/class/p2pmem/p2pmem*/holders) ]]
}

# copies SRC DST [ARG...]
copies() {
	# A clock of instructions is short of the time that the kernel gives the pins of the copy before to go.
	within 60 nobody_holds_any
	donard-cli copy "$@" --measure --json >"$WORK/copy" || fail "copy $*: $(cat "$WORK/copy")"
	exactly "the meter" "lab true" "$(measured meter) $(measured exact)"
}

# past_dram BAR-BYTES - not one byte of payload met DRAM, by DMA or by CPU.
past_dram() {
	local what
	for what in dram_dma_payload_bytes dram_cpu_payload_bytes bounced_bytes; do
		exactly "$what" 0 "$(measured "$what")"
	done
	exactly "bar_dma_bytes" "$1" "$(measured bar_dma_bytes)"
}

# both_ways REGION
both_ways() {
	data_on_alpha "$BYTES"
	# Zeroing memory for a new owner does not count as payload of the copy that follows.
	copies "$LAB_ALPHA" "$1" --size "$BYTES"
	copies "$LAB_ALPHA" "$1" --size "$BYTES"
	past_dram "$BYTES"
	(($(measured bar_cpu_bytes) <= 64)) || fail "the CPU touched $(measured bar_cpu_bytes) bytes of the BAR"
	copies "$1" "$LAB_BETA" --size "$BYTES"
	past_dram "$BYTES"
	take_from_drive "$LAB_BETA" 0 "$BYTES" "$WORK/seen"
	same_bytes "on the drive" "$WORK/seen" "$WORK/data" "$BYTES"
}

as_p2pdma() {
	with_page_type p2pmem0 p2pdma
	both_ways p2pmem0
}

bounced() {
	data_on_alpha "$BYTES"
	copies "$LAB_ALPHA" p2pmem0 --size "$BYTES"
	copies "$LAB_ALPHA" p2pmem0 --size "$BYTES" --force-bounce
	exactly "DMA into DRAM" "$BYTES" "$(measured dram_dma_payload_bytes)"
	exactly "loads of it" "$BYTES" "$(measured dram_cpu_payload_bytes)"
	exactly "DMA into the BAR" 0 "$(measured bar_dma_bytes)"
	(($(measured bar_cpu_bytes) >= BYTES)) || fail "stores into the BAR: $(measured bar_cpu_bytes)"
}

from_drive_to_drive() {
	data_on_alpha "$BYTES"
	copies "$LAB_ALPHA" "$LAB_BETA" --size "$BYTES" --verify
	past_dram $((2 * BYTES))
}

# Apart from how many interrupts and switches of context the host's speed made of it. What each costs Linux 7 is seen in
# bench/baseline (host_costs() of bench/donardstat/stats.py); other kernels have more overhead, of which both are less.
readonly INTERRUPT_BYTES=3200 SWITCH_BYTES=12000

overhead_apart_from_host() {
	measured "dram_cpu_overhead_bytes - $INTERRUPT_BYTES * .interrupts - $SWITCH_BYTES * .context_switches"
}

# Payload to the byte; overhead within 1 % but for two: some ticks of the clock bring work along.
repeated() {
	local bytes=$((256 * MIB))
	copies "$LAB_ALPHA" p2pmem0 --size "$bytes"
	: >"$WORK/overheads"
	while (($(wc -l <"$WORK/overheads") < 11)); do
		copies "$LAB_ALPHA" p2pmem0 --size "$bytes"
		past_dram "$bytes"
		overhead_apart_from_host >>"$WORK/overheads"
	done
	sort -n "$WORK/overheads" | awk '
		{ v[NR] = $1 }
		END { if (v[9] > v[1] * 1.01) { print v[1], v[9]; exit 1 } }' >"$WORK/spread" ||
		beyond "the least and the ninth of eleven overheads, in bytes: $(cat "$WORK/spread")"
}

# NVMe commands of the program's own: no payload met DRAM, and the kernel did less than without.
# Where memory has no large folios, the kernel takes it page by page, which costs a command more than a request of the block
# layer (bio_map_user_iov() of Linux 6.12): a long command saves less than that.
passed_through() {
	local bytes=$((64 * MIB)) block
	copies "$LAB_ALPHA" p2pmem0 --size "$bytes"
	for block in 64K 1M; do
		copies "$LAB_ALPHA" p2pmem0 --size "$bytes" --block-size "$block"
		cp "$WORK/copy" "$WORK/block-layer"
		copies "$LAB_ALPHA" p2pmem0 --size "$bytes" --block-size "$block" --passthrough
		past_dram "$bytes"
		[[ $block == 64K ]] || can folios || continue
		less_than_block_layer dram_cpu_overhead_bytes
		less_than_block_layer instructions_kernel
	done
	copies p2pmem0 "$LAB_BETA" --size "$bytes" --passthrough --verify
	past_dram "$bytes"
	copies "$LAB_ALPHA" "$LAB_BETA" --size "$BYTES" --passthrough --verify
	past_dram $((2 * BYTES))
}

less_than_block_layer() {
	(($(measured "$1") < $(jq ".$1" "$WORK/block-layer"))) ||
		beyond "$1: $(measured "$1"), and $(jq ".$1" "$WORK/block-layer") without --passthrough"
}

# Any program, by the same meter.
other_programs() {
	data_on_alpha "$BYTES"
	donard-cli measure --payload "$BYTES" --json dd if="$LAB_ALPHA" of=/dev/null bs=1M count=8 iflag=direct \
		>"$WORK/copy" 2>/dev/null
	exactly "dd's DMA into DRAM" "$BYTES" "$(measured dram_dma_payload_bytes)"
	exits 3 'No such file' donard-cli measure --json sh -c 'ls /nowhere; exit 3'
	exits 127 'no-such-program' donard-cli measure no-such-program
	exits 2 'COMMAND' donard-cli measure
}

# The part that ran before the stop is counted, and the meter is free for the next measurement.
stopped_command() {
	local status=0
	# shellcheck disable=SC2016  # for the inner shell
	donard-cli measure --json sh -c 'kill -INT $PPID; exec sleep 60' >"$WORK/copy" || status=$?
	equal "exit status" 130 "$status"
	exactly "the result" "lab true 130" "$(measured meter) $(measured exact) $(measured exit_status)"
	(($(measured instructions_user) > 1000)) || fail "only $(measured instructions_user) instructions of a shell"
	donard-cli measure true >"$WORK/next"
}

# counted_copies DIRECTION SRC DST SIZE BLOCK - $ROUNDS samples in the form of donard-cli bench copy. Three are enough for
# the guard: of any three among the 40 of each baseline the median is within 0.9 % of that of all, and it allows 2 %.
counted_copies() {
	local round
	copies "$2" "$3" --size "$4" --block-size "$5"
	for ((round = 0; round < ${ROUNDS:-3}; round++)); do
		copies "$2" "$3" --size "$4" --block-size "$5"
		jq -c --arg direction "$1" --argjson round "$round" '{method: "donard", $direction, region: "p2pmem0",
			page_type: "generic", block_bytes: .block_size, queue_depth, threads: 1, $round, bytes,
			measured: with_entries(select(.value != null and
				(.key | test("^(dram|bar|instructions)_|^interrupts$|^context_switches$"))))}' "$WORK/copy"
	done
}

# without REGEX - of the samples' counts.
without() {
	jq -c --arg regex "$1" '.measured |= with_entries(select(.key | test($regex) | not))'
}

# What tests/check holds against the baseline: what repeats from boot to boot. The host decides how many requests
# complete together: of small ones that leaves out the kernel's part, of large ones the few instructions of our own.
# What is left of it in the kernel's part of large ones goes with interrupts and context switches (host_costs() of bench/donardstat/stats.py).
counted() {
	put_random 64
	{
		{
			counted_copies to-region "$LAB_ALPHA" p2pmem0 256M 1M
			counted_copies from-region p2pmem0 "$LAB_BETA" 256M 1M
		} | without '_user(_|$)'
		{
			counted_copies to-region "$LAB_ALPHA" p2pmem0 4M 4K
			counted_copies from-region p2pmem0 "$LAB_BETA" 4M 4K
		} | without '_(kernel|overhead)(_|$)'
	} >"$WORK/samples"
	donard-cli bench null --rounds 1 --json |
		jq -c --slurpfile samples "$WORK/samples" '. + {benchmark: "copy", $samples}' >/tmp/counts.json
}

put_random() {
	dd if=/dev/urandom of="$LAB_ALPHA" bs=1M count="$1" oflag=direct status=none
}

# instructions_per_mib SIZE BLOCK METHOD [BENCHMARK ARGUMENT...]
instructions_per_mib() {
	donard-cli bench "${4-copy}" "$LAB_ALPHA" p2pmem0 --methods "$3" --size "$1" --block-sizes "$2" --rounds 2 --json "${@:5}" |
		jq '[.samples | group_by(.bytes)[] | {bytes: .[0].bytes, all: (map(.measured |
			.instructions_user + .instructions_kernel) | min)}]
			| ((.[1].all - .[0].all) * 1048576 / (.[1].bytes - .[0].bytes)) | floor'
}

# no_more_than_fio SIZE BLOCK - the same copies by fio, with buffers in the region.
no_more_than_fio() {
	local mine fio
	put_random 64
	mine=$(instructions_per_mib "$1" "$2" donard)
	fio=$(instructions_per_mib "$1" "$2" fio)
	((mine <= fio)) || beyond "instructions per MiB: donard $mine, fio $fio"
}

# Requests into registered memory, beside fio's with fixed buffers: the goal of docs/benchmarks.md.
no_dearer_than_fixed_buffers() {
	local mine fio goal=100
	! can ring-buffers || goal=80
	put_random 64
	mine=$(instructions_per_mib 32M 64K queue-registered queue --queue-depths 8)
	fio=$(instructions_per_mib 32M 64K fio-fixed queue --queue-depths 8)
	((100 * mine <= goal * fio)) || beyond "instructions per MiB: queue $mine, fio $fio, of which the goal is $goal %"
}

# cufile_costs BLOCK - cuFile on top of donard's queue, of a GPU's memory: its own instructions are at most 5 % of what a
# request costs by the queue, the kernel's included, and it makes no system call of its own. What the kernel did meanwhile is
# told and not compared: ticks of the clock and idle loops are the host's, and differ by 7 % from sample to sample. A request
# of one part takes one io_uring_enter(); of several, one or more, as their completions come together or not.
cufile_costs() {
	local direction
	# shellcheck disable=SC2119  # no parameters of the module
	with_gpu
	donard-cli region add --kind gpu-nvidia --device "$LAB_GPU_BDF"
	with_file_system ext4
	dd if=/dev/urandom of=/mnt/fs/data bs=1M count=8 oflag=direct status=none
	LD_LIBRARY_PATH+=:/usr/lib/donard/cufile CUFILE_LOGFILE_PATH=$WORK/cufile.log cufilecost /mnt/fs/data "$1" 64 >"$WORK/costs" ||
		fail "cufilecost: $(cat "$WORK/costs" "$WORK/cufile.log")"
	sed "s/^/# $1 bytes: /" "$WORK/costs" >>/tmp/cufile-costs
	for direction in reads writes; do
		compare_costs "$direction" "$1" "$(cost "$direction" queue)" "$(cost "$direction" cufile)"
	done
}

# cost DIRECTION WHO - "USER KERNEL CALLS OTHER-CALLS"
cost() {
	awk -v direction="$1" -v who="$2" '$1 == direction && $2 == who { print $3, $4, $5, $6 }' "$WORK/costs"
}

# compare_costs DIRECTION BLOCK COSTS-OF-QUEUE COSTS-OF-CUFILE
compare_costs() {
	local -a queue cufile
	read -ra queue <<<"$3"
	read -ra cufile <<<"$4"
	((queue[0] > 0 && queue[1] > 0 && queue[2] >= 64 && cufile[0] > 0)) || fail "cufilecost said: $(cat "$WORK/costs")"
	equal "system calls of 64 $1 but io_uring_enter()" "${queue[3]}" "${cufile[3]}"
	(($2 > 65536)) || equal "system calls of 64 $1" "${queue[2]}" "${cufile[2]}"
	((100 * (cufile[0] - queue[0]) <= 5 * (queue[0] + queue[1]))) ||
		beyond "user instructions of $1: cuFile ${cufile[0]}, queue ${queue[0]} and ${queue[1]} in the kernel"
}

# A cache's log goes to its drive out of the NVRAM, and no byte of the payload meets DRAM, nor does a processor read it in the
# NVRAM: server, client and kernel are all in this machine. With few clients all of it has room in the part of one.
destage() {
	local what
	with_rdma
	fresh --no-cleaner --high 90 --clients 2
	says "acknowledged $BYTES" write 0 "$BYTES" 5 65536
	donard-cli measure --payload "$BYTES" --json cacheio "$LAB_ADDR" "$PORT" destage >"$WORK/copy" 2>"$WORK/client" ||
		fail "the destage: $(cat "$WORK/copy" "$WORK/client")"
	exactly "the meter" "lab true" "$(measured meter) $(measured exact)"
	for what in dram_dma_payload_bytes dram_cpu_payload_bytes; do
		exactly "$what" 0 "$(measured "$what")"
	done
	# Before the tail moves for the first time, one block comes back from the drive (lib/cache/readback.c).
	exactly "bar_dma_bytes" "$((BYTES + $(blockdev --getss "$LAB_ALPHA")))" "$(measured bar_dma_bytes)"
	(($(measured bar_cpu_bytes) <= 4096)) || fail "the CPU touched $(measured bar_cpu_bytes) bytes of the NVRAM"
	on_drive "equal $BYTES" 0 "$BYTES" 5
	# Leaves no log in this NVRAM for the next user.
	kill_server
	forget_log
}

# Prints the figures for readers of the guest's log.
tell_costs() {
	[[ ! -e /tmp/cufile-costs ]] || cat /tmp/cufile-costs
}

not_here() {
	exits 3 "likwid" donard-cli copy "$LAB_ALPHA" p2pmem0 --size 4096 --meter likwid
	exits 2 "no meter 'scales'" donard-cli copy "$LAB_ALPHA" p2pmem0 --size 4096 --meter scales
	donard-cli copy "$LAB_ALPHA" p2pmem0 --size 4096 --meter none --json >"$WORK/copy"
	equal "without a meter" '[null,null,"none"]' \
		"$(jq -c '[.dram_dma_payload_bytes, .bar_dma_bytes, .meter]' "$WORK/copy")"
	matches "why" "none' was asked for" "$(measured missing)"
}

for_root_only() {
	exits 1 "Only root may use the lab's meter" as user donard-cli copy p2pmem0 p2pmem0+64M --size 4096 --meter lab
}

core t "a known memcpy" known_memcpy
core t "a known DMA" known_dma
core t "a hidden copy" hidden_copy
t "an idle period" in_two_samples idle_period
t "one measurement at a time" one_at_a_time
core t "BAR, both ways" both_ways p2pmem0
t "CMB, both ways" both_ways p2pmem1
t "PMR, both ways" both_ways p2pmem2
if can p2pdma; then
	t "BAR of page type p2pdma, both ways" as_p2pdma
fi
core t "drive to drive" from_drive_to_drive
core t "a bounced copy" bounced
if can thorough; then
	t "repeated" in_two_samples repeated
fi
if can thorough && can passthrough; then
	t "NVMe commands past the block layer" in_two_samples passed_through
fi
t "other programs" other_programs
if can thorough; then
	t "the Python binding" python3 python/binding.py measures "$LAB_ALPHA"
fi
t "a command that is stopped" stopped_command
t "counts" counted
[[ ! -e /tmp/counts.json ]] || { printf '# counts %s\n' "$(</tmp/counts.json)"; rm /tmp/counts.json; }
t "no more instructions than fio, 4 KiB" in_two_samples no_more_than_fio 4M 4K
t "no more instructions than fio, 1 MiB" in_two_samples no_more_than_fio 64M 1M
! can fixed-buffers || t "requests of registered memory, beside fio" in_two_samples no_dearer_than_fixed_buffers
t "cuFile on top of the queue, 64 KiB" in_two_samples cufile_costs 65536
t "cuFile on top of the queue, 1 MiB" in_two_samples cufile_costs 1048576
tell_costs
t "destage of a cache" destage
t "a meter that is not here" not_here
core t "root only" for_root_only
