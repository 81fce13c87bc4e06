# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the module counts (statistics/ of a region), and its tracepoints: exactly, after work that is known.

# shellcheck source=removal.sh
. ./removal.sh
# shellcheck source=helpers/traced.sh
. helpers/traced.sh

# counts_of REGION - "NAME VALUE" of each, in COUNTS[NAME].
counts_of() {
	local file
	declare -gA COUNTS=()
	for file in "/sys/class/p2pmem/$1/statistics"/*; do
		COUNTS[${file##*/}]=$(<"$file")
	done
}

# since REGION - what has been added to each count since counts_of, in COUNTS.
since() {
	local name
	local -A before=()
	for name in "${!COUNTS[@]}"; do before[$name]=${COUNTS[$name]}; done
	counts_of "$1"
	for name in "${!before[@]}"; do COUNTS[$name]=$((COUNTS[$name] - before[$name])); done
}

# are NAME VALUE... - these counts, and no other has changed.
are() {
	local -A expected=()
	local name
	while (($#)); do
		expected[$1]=$2
		shift 2
	done
	for name in "${!COUNTS[@]}"; do
		[[ $name == peak_bytes ]] || equal "$name" "${expected[$name]-0}" "${COUNTS[$name]}"
	done
}

# on_region CODE - Python with the region's descriptor, fd, and a mapping of 2 MiB, m, that nobody has touched.
on_region() {
	python3 -c 'import mmap, os, sys
fd = os.open("/dev/p2pmem0", os.O_RDWR)
m = mmap.mmap(fd, 2 << 20)
'"$1"
}

maps_and_faults() {
	counts_of p2pmem0
	on_region 'm[0] = 1; m[8192] = 2'
	since p2pmem0
	# The first fault maps all of it.
	are maps 1 faults 1 taken_bytes $((2 * MIB))
	(($(attr p2pmem0 statistics/peak_bytes) >= 2 * MIB)) || fail "peak $(attr p2pmem0 statistics/peak_bytes)"
	within 10 region_is_free p2pmem0
}

refused_maps() {
	counts_of p2pmem0
	python3 -c 'import mmap, os
fd = os.open("/dev/p2pmem0", os.O_RDWR)
try:
    mmap.mmap(fd, 1 << 40)
except OSError as error:
    print(os.strerror(error.errno))' >"$WORK/said"
	equal "what Python says" 'No space left on device' "$(cat "$WORK/said")"
	since p2pmem0
	are maps 0
}

reads_and_writes() {
	counts_of p2pmem0
	on_region 'os.pwrite(fd, b"x" * 12345, 7); assert os.pread(fd, 5000, 8) == b"x" * 5000'
	since p2pmem0
	are maps 1 taken_bytes $((2 * MIB)) written_bytes 12345 read_bytes 5000
	within 10 region_is_free p2pmem0
}

# Each processor has counts of its own, and their sum is shown.
on_each_processor() {
	local processors
	processors=$(nproc)
	counts_of p2pmem0
	on_region 'for processor in os.sched_getaffinity(0):
    os.sched_setaffinity(0, {processor})
    os.pwrite(fd, b"x" * 1000, 0)
    os.pread(fd, 10, 0)'
	since p2pmem0
	are maps 1 taken_bytes $((2 * MIB)) written_bytes $((1000 * processors)) read_bytes $((10 * processors))
	within 10 region_is_free p2pmem0
}

# For P2PMEM_IOC_COPY each region counts its own side.
copies() {
	counts_of p2pmem2
	donard-cli copy p2pmem0 p2pmem2 --size 1M
	since p2pmem2
	exactly "bytes written by a copy" "$MIB" "${COUNTS[written_bytes]}"
	counts_of p2pmem0
	donard-cli copy p2pmem0 p2pmem2 --size 1M
	since p2pmem0
	exactly "bytes read by a copy" "$MIB" "${COUNTS[read_bytes]}"
	exactly "bytes written to its source" 0 "${COUNTS[written_bytes]}"
}

routes() {
	counts_of p2pmem0
	python3 -c 'import donard, sys
print(donard.Context().route("p2pmem0", sys.argv[1]).route)' "$LAB_ALPHA_BDF"
	since p2pmem0
	are routes 1
}

peak() {
	local before
	before=$(attr p2pmem0 statistics/peak_bytes)
	donard-cli copy "$LAB_ALPHA" p2pmem0 --size 64M
	within 10 region_is_free p2pmem0
	(($(attr p2pmem0 statistics/peak_bytes) >= 64 * MIB && $(attr p2pmem0 statistics/peak_bytes) >= before)) ||
		fail "peak: before $before, now $(attr p2pmem0 statistics/peak_bytes)"
	counts_of p2pmem0
	on_region ''
	since p2pmem0
	equal "peak after less" 0 "${COUNTS[peak_bytes]}"
}

everybody_may_read() {
	as other cat /sys/class/p2pmem/p2pmem0/statistics/maps >/dev/null
	exits 1 'Permission denied' \
		as other bash -c 'echo 0 >/sys/class/p2pmem/p2pmem0/statistics/maps'
}

# --- donard-cli top ---

lines_of_top() {
	(($(wc -l <"$WORK/top") >= $1))
}

# A copy between two samples is seen in the counts of its drive and its region.
top_follows() {
	local pid status=0 seen
	donard-cli top --json >"$WORK/top" &
	pid=$!
	at_end "kill -KILL $pid 2>/dev/null"
	within 20 lines_of_top 1
	donard-cli copy "$LAB_ALPHA" p2pmem0 --size 4M
	within 20 lines_of_top $(($(wc -l <"$WORK/top") + 2))
	kill -INT "$pid"
	wait "$pid" || status=$?
	equal "status after SIGINT" 130 "$status"
	seen=$(jq -rs --arg drive "${LAB_ALPHA#/dev/}" '.[0] as $a | .[-1] as $b |
		def of($s; $list; $name): $s[$list][] | select(.name == $name);
		[of($b; "drives"; $drive).read_bytes - of($a; "drives"; $drive).read_bytes >= 4194304,
		 of($b; "regions"; "p2pmem0").taken_bytes - of($a; "regions"; "p2pmem0").taken_bytes >= 4194304,
		 of($b; "regions"; "p2pmem0").routes - of($a; "regions"; "p2pmem0").routes >= 1,
		 of($b; "regions"; "p2pmem0").holders == []] | map(tostring) | join(" ")' "$WORK/top")
	equal "the drive's bytes, the region's, its routes, and that nobody holds it: $(cat "$WORK/top")" \
		"true true true true" "$seen"
}

top_of_others() {
	matches "top of another user" 'shown to root and that region.s group' "$(as other donard-cli top --count 1)"
	matches "top of the group" '^donard-cli top' "$(as user donard-cli top --count 1)"
}

# An open file delays a region's removal, so top opens none. It does not read the holders either if told not to.
top_opens_no_region() {
	strace -f -e trace=openat -o "$WORK/opened" donard-cli top --count 1
	matches "what top read" 'p2pmem0/holders' "$(cat "$WORK/opened")"
	! grep -F '"/dev/p2pmem' "$WORK/opened" || fail "top opened a region"
	strace -f -e trace=openat -o "$WORK/opened" donard-cli top --count 1 --no-holders
	matches "what top read" 'p2pmem0/statistics/maps' "$(cat "$WORK/opened")"
	! grep -F /holders "$WORK/opened" || fail "top --no-holders read holders"
}

# --- tracepoints ---

# Programs that format events by themselves know no name of the kernel's.
formats_have_numbers() {
	equal "events" "p2pmem_drain p2pmem_map p2pmem_pin p2pmem_route p2pmem_state p2pmem_unpin" \
		"$(cd "$EVENTS" && printf '%s\n' p2pmem_* | xargs)"
	! grep P2PMEM_ "$EVENTS"/p2pmem_*/format || fail "names in the format of an event"
}

events_of_a_map() {
	traced on_region '
try:
    mmap.mmap(fd, 1 << 40)
except OSError:
    pass'
	equal events "p2pmem_map: p2pmem0 offset=0 length=2097152 ret=0
p2pmem_map: p2pmem0 offset=0 length=1099511627776 ret=-28" "$(cat "$WORK/trace")"
}

events_of_a_route() {
	traced python3 -c 'import donard, sys
print(donard.Context().route("p2pmem0", sys.argv[1]).route)' "$LAB_ALPHA_BDF"
	matches events "^p2pmem_route: p2pmem0 client=$LAB_ALPHA_BDF route=switch distance=4 flags=0x8\$" "$(cat "$WORK/trace")"
}

# A ring's buffer: one pin, which counts as one, and the bytes of the memory.
events_of_a_ring() {
	counts_of p2pmem0
	traced python3 -c 'import donard
with donard.Context() as context, context.queue() as queue:
    assert queue.register(context.alloc("p2pmem0", 1 << 20))'
	matches events 'p2pmem_pin: p2pmem0 by=ring length=1048576
p2pmem_unpin: p2pmem0 by=ring length=1048576$' "$(grep pin: "$WORK/trace")"
	since p2pmem0
	equal pins 1 "${COUNTS[pins]}"
	within 10 region_is_free p2pmem0
}

# An importer's mapping is a pin, for which its route is judged first.
events_of_a_dmabuf() {
	[[ -d /sys/module/importer ]] || insmod /opt/donard/modules/importer.ko
	counts_of p2pmem0
	traced dmabuf open p2pmem0 export 0 $((2 * MIB)) attach dynamic "$LAB_ALPHA_BDF" map both unmap
	equal events "p2pmem_route: p2pmem0 client=$LAB_ALPHA_BDF route=switch distance=4 flags=0x0
p2pmem_pin: p2pmem0 by=dma-buf length=2097152
p2pmem_unpin: p2pmem0 by=dma-buf length=2097152" "$(cat "$WORK/trace")"
	since p2pmem0
	are pins 1 routes 1 taken_bytes $((2 * MIB))
	within 10 region_is_free p2pmem0
}

# The module can be unloaded while its events are traced; they vanish with it, and come back.
unloaded_while_traced() {
	at_end "[[ -d /sys/module/p2pmem ]] || { insmod /opt/donard/modules/p2pmem.ko; /opt/lab/regions >/dev/null; }"
	# The kernel drops the recorded events, since it cannot format them any more.
	traced rmmod p2pmem
	[[ ! -e $EVENTS ]] || fail "$EVENTS is still there"
	insmod /opt/donard/modules/p2pmem.ko
	/opt/lab/regions >/dev/null
	traced on_region ''
	equal events "p2pmem_map: p2pmem0 offset=0 length=2097152 ret=0" "$(cat "$WORK/trace")"
}

remove_held() {
	local holder
	python3 -c 'import mmap, os, sys, time
m = mmap.mmap(os.open("/dev/p2pmem0", os.O_RDWR), 4096)
print("ready", flush=True)
time.sleep(600)' >"$WORK/holder" &
	holder=$!
	at_end "kill -KILL $holder 2>/dev/null"
	within 20 grep -qx ready "$WORK/holder"
	donard-cli region remove p2pmem0
	kill "$holder"
	restore_gpu
}

# The mapping is revoked, nobody pins its pages, and the region comes back as another one of that name.
events_of_a_removal() {
	traced remove_held
	grep -E 'state|drain' "$WORK/trace" >"$WORK/states"
	equal "the first" "p2pmem_state: p2pmem0 draining" "$(sed -n 1p "$WORK/states")"
	equal "the last look" "p2pmem_drain: p2pmem0 pages_held=0 imported=0" "$(grep drain: "$WORK/states" | tail -n 1)"
	equal "the last two" "p2pmem_state: p2pmem0 gone
p2pmem_state: p2pmem0 ready" "$(tail -n 2 "$WORK/states")"
	counts_of p2pmem0
	are
	equal "peak of a new region" 0 "${COUNTS[peak_bytes]}"
	on_region ''
	counts_of p2pmem0
	are maps 1 taken_bytes $((2 * MIB))
	equal "peak after 2 MiB" $((2 * MIB)) "${COUNTS[peak_bytes]}"
	within 10 region_is_free p2pmem0
}

# --- maps for DMA ---

readonly TRACE=/sys/kernel/tracing HISTOGRAM='hist:keys=common_pid'
readonly COMMANDS=$TRACE/events/nvme/nvme_setup_cmd MAPS=$TRACE/events/kprobes/maps

# The functions by which drivers map memory for DMA, as bench/maps.sh has them: of the first two the one that the other calls.
probe_maps() {
	local single=dma_map_phys
	mountpoint -q "$TRACE" || mount -t tracefs tracefs "$TRACE"
	grep -q ' dma_map_phys$' /proc/kallsyms || single=dma_map_page_attrs
	echo 1 >"$TRACE/tracing_on"
	at_end "echo >$TRACE/kprobe_events"
	printf 'p:maps%d %s\n' 0 "$single" 1 __dma_map_sg_attrs >"$TRACE/kprobe_events"
	at_end stop_counting
}

stop_counting() {
	local event
	for event in "$COMMANDS" "$MAPS"{0,1}; do
		echo "!$HISTOGRAM" >"$event/trigger" 2>/dev/null || true
	done
}

hits() {
	awk '/Hits:/ { sum += $2 } END { print sum + 0 }' "${@/%//hist}"
}

# commands_and_maps METHOD SIZE FILE - of so many bytes read by a queue, 64 KiB a request.
commands_and_maps() {
	local event
	stop_counting
	for event in "$COMMANDS" "$MAPS"{0,1}; do
		echo "$HISTOGRAM" >"$event/trigger"
	done
	donard-cli bench queue "$LAB_ALPHA" p2pmem0 --methods "$1" --size "$2" --block-sizes 64K --queue-depths 1 \
		--meter none --json >"$WORK/json" 2>"$WORK/err" || fail "bench queue: $(cat "$WORK/err")"
	echo "$(hits "$COMMANDS") $(hits "$MAPS"{0,1})" >"$3"
}

# maps_of_a_request METHOD COUNT - by the difference of two runs: what comes once does not show.
maps_of_a_request() {
	local -a few many
	probe_maps
	commands_and_maps "$1" 1M "$WORK/few"
	commands_and_maps "$1" 5M "$WORK/many"
	read -ra few <"$WORK/few"
	read -ra many <"$WORK/many"
	((many[0] - few[0] >= 64)) || fail "only $((many[0] - few[0])) commands of 4 MiB more in requests of 64 KiB"
	exactly "maps of $((many[0] - few[0])) commands" $(($2 * (many[0] - few[0]))) $((many[1] - few[1]))
}

core t "mappings and faults" maps_and_faults
t "a mapping that is refused" refused_maps
core t "reads and writes" reads_and_writes
t "on each processor" on_each_processor
core t "copies between regions" copies
t "routes" routes
t "the peak" peak
core t "everybody may read" everybody_may_read
core t "top follows a copy" top_follows
t "top shows holders to some" top_of_others
t "top opens no region" top_opens_no_region
t "formats of events have numbers" formats_have_numbers
core t "events of a mapping" events_of_a_map
t "events of a route" events_of_a_route
! can ring-buffers || t "events of a ring's buffer" events_of_a_ring
core t "events of a dma-buf" events_of_a_dmabuf
# The debug kernels have no probes that are made by name.
if ! can debug; then
	t "maps for DMA, generic pages" typed generic maps_of_a_request queue 1
	! can fixed-buffers || t "maps for DMA, generic pages that are registered" typed generic maps_of_a_request queue-registered 1
	! can p2pdma || t "maps for DMA, p2pdma pages below a switch" typed p2pdma maps_of_a_request queue 0
fi
lt "events of a removal" events_of_a_removal
t "unloaded while somebody listens" unloaded_while_traced
