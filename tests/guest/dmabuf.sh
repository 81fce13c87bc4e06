# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Memory of a region exported as dma-buf (dmabuf.c) and imported for a PCI function by a module that
# does nothing with it (modules/importer): which addresses it gets, who is refused, and what becomes of
# it all when the region goes away.

# shellcheck source=removal.sh
. ./removal.sh
# shellcheck source=helpers/recovery.sh
. helpers/recovery.sh
# shellcheck source=helpers/import_reset.sh
. helpers/import_reset.sh

readonly EXPORT_BYTES=$((2 * MIB))
# Importers that let go when they are told to, and importers that cannot.
readonly OBEDIENT="dynamic revocable"

modprobe_importer() {
	[[ -d /sys/module/importer ]] || insmod /opt/donard/modules/importer.ko
}

# with_pinned_importers FUNCTION... - allowed for every region that there is, until the end of the test.
with_pinned_importers() {
	allow_pinned 1
	at_end "allow_pinned 0"
	"$@"
}

allow_pinned() {
	local attribute
	for attribute in /sys/class/p2pmem/p2pmem*/pinned_importers; do
		echo "$1" >"$attribute"
	done
}

# --- steps of one process ---

# steps STEP... - all of them must succeed; what each said is in $SAID.
steps() {
	SAID=$(dmabuf "$@" 2>&1) || fail "dmabuf $*: $SAID"
}

# refused ERRNO STEP STEP... - the named step, and what follows it, ends with that errno.
refused() {
	local errno=$1 step=$2
	shift 2
	SAID=$(dmabuf "$@" 2>&1) && fail "dmabuf $*: nothing was refused: $SAID"
	matches "dmabuf $*" "(^|"$'\n'")$step: $errno($|"$'\n'")" "$SAID"
}

# refused_saying REGEX ERRNO STEP STEP... - and the kernel log has the reason.
refused_saying() {
	local regex=$1
	shift
	dmesg -C
	refused "$@"
	matches "kernel log" "$regex" "$(dmesg)"
}

# said STEP - the last thing that step said.
said() {
	sed -n "s/^$1: ok *//p" <<<"$SAID" | tail -n 1
}

# --- steps of a process that stays ---

# begin NAME STEP... - runs them in the background until its first wait; NAME_PID is its pid.
begin() {
	local name=$1
	shift
	dmabuf "$@" >"$WORK/$name" 2>&1 &
	printf -v "${name}_PID" %d $!
	at_end "kill -KILL $! 2>/dev/null"
	reaches "$name" 1
}

# reaches NAME N - its N-th wait, with every step before it done.
reaches() {
	within 15 waits "$1" "$2"
	! grep -qE '^[a-z-]+: E' "$WORK/$1" || fail "$1: $(cat "$WORK/$1")"
}

waits() {
	(($(grep -c '^waiting' "$WORK/$1") >= $2))
}

pid_of() {
	local variable=${1}_PID
	printf '%s' "${!variable}"
}

# go_on NAME - past its wait.
go_on() {
	kill -USR2 "$(pid_of "$1")"
}

# ends NAME - all its steps, whatever they said, which is then in $SAID.
ends() {
	wait "$(pid_of "$1")" 2>/dev/null || true
	SAID=$(cat "$WORK/$1")
}

# says STEP ANSWER - a process that has ended said so.
says() {
	matches "what $1 said" "(^|"$'\n'")$1: $2($|"$'\n'")" "$SAID"
}

# --- addresses ---

# nothing_for_cpu - the table has no pages. CONFIG_DMABUF_DEBUG gives importers a table of its own, whose entries have none.
nothing_for_cpu() {
	if can debug; then
		echo 'pages=0 cpu-entries=[0-9]+'
	else
		echo 'pages=0 cpu-entries=0'
	fi
}

# one_address - in ADDRESS where the importer was told the whole export lies, with nothing for the CPU.
one_address() {
	matches "what the importer got" "^$(nothing_for_cpu) 0x[0-9a-f]+\+0x200000$" "$(said map)"
	ADDRESS=$(said map | sed -E 's/.* (0x[0-9a-f]+)\+.*/\1/')
}

# address_is_memory REGION OWNER-BDF ID CLIENT-BDF - what the CPU writes through the dma-buf is found by
# the emulator at the address that the importer was given.
address_is_memory() {
	local region=$1 start
	start=$(bar_start "$2" "$(attr "$region" bar)")
	steps open "$region" export 0x100000 "$EXPORT_BYTES" attach dynamic "$4" map both mmap fill 0xa5 sync
	one_address
	((ADDRESS >= start)) || fail "$ADDRESS lies below the BAR at $start"
	head -c "$EXPORT_BYTES" /dev/zero | tr '\0' '\245' >"$WORK/expected"
	same_bytes "host's view at $ADDRESS" "$(backing "$3")" "$WORK/expected" "$EXPORT_BYTES" \
		$((ADDRESS - start))
	within 10 region_is_free "$region"
}

pinned_for_long() {
	steps open p2pmem0 export 0 "$EXPORT_BYTES" mmap fixed fill 1 fixed
	within 10 region_is_free p2pmem0
}

address_of_p2pdma() {
	with_page_type p2pmem0 p2pdma
	address_is_memory p2pmem0 "$LAB_GPU_BDF" gpu "$LAB_ALPHA_BDF"
}

# The CMB is in no file, so only its place can be told.
address_in_cmb() {
	local start
	steps open p2pmem1 export 0 "$EXPORT_BYTES" attach dynamic "$1" map both
	start=$(bar_start "$LAB_ALPHA_BDF" "$(attr p2pmem1 bar)")
	one_address
	((ADDRESS >= start && ADDRESS + EXPORT_BYTES <= start + 64 * MIB)) ||
		fail "$ADDRESS is not in the BAR at $start"
}

# Two holes of 1 MiB are all that is free.
fragmented() {
	local size
	size=$(attr p2pmem0 size)
	begin owner open p2pmem0 claim "$MIB" "$MIB" claim $((3 * MIB)) $((size - 3 * MIB)) wait
	steps open p2pmem0 export 0 "$EXPORT_BYTES" attach dynamic "$LAB_ALPHA_BDF" map both mmap fill 1 sum
	matches "what the importer got" "0x[0-9a-f]+\+0x100000 0x[0-9a-f]+\+0x100000$" "$(said map)"
	exactly "sum of its bytes" "$EXPORT_BYTES" "$(said sum)"
	refused ENOSPC export open p2pmem0 export 0 $((4 * MIB))
	exactly "free after the refusal" "$EXPORT_BYTES" "$(attr p2pmem0 available)"
}

# Behind an IOMMU the importer gets an IOVA, which is no address of the BAR.
# translated [STEP] - how it is exported
translated() {
	local start end
	read -r start end _ < <(sed -n 3p "/sys/bus/pci/devices/$LAB_GPU_BDF/resource")
	steps open p2pmem0 "${1:-export}" 0 "$EXPORT_BYTES" attach dynamic "$LAB_ALPHA_BDF" map both unmap map both detach
	one_address
	((ADDRESS < start || ADDRESS > end)) || fail "the BAR's own address behind an IOMMU: $ADDRESS"
}

translated_unlisted() {
	refused_saying "refused to $LAB_ALPHA_BDF.*unlisted host bridge" EHOSTUNREACH attach \
		open p2pmem0 export 0 4096 attach dynamic "$LAB_ALPHA_BDF"
	translated export-unlisted
}

# A program that was handed the dma-buf learns where it lies, and owns nothing by that.
located() {
	local file
	begin owner open p2pmem0 claim "$MIB" "$EXPORT_BYTES" export "$MIB" "$EXPORT_BYTES" wait
	steps take "$(pid_of owner)" "$(fd_of owner)" exporter locate p2pmem0 4096
	equal "exporter, in /proc" p2pmem0 "$(said exporter)"
	equal "place" 0x101000+0x1ff000 "$(said locate)"
	equal "files that own memory" 1 "$(grep -c . <<<"$(attr p2pmem0 holders)")"
	file="take $(pid_of owner) $(fd_of owner)"
	# shellcheck disable=SC2086  # three words
	{
		refused EINVAL locate $file locate p2pmem2 0
		refused EINVAL locate $file locate p2pmem0 1
		refused ENXIO locate $file locate p2pmem0 "$EXPORT_BYTES"
		refused ENXIO locate $file locate p2pmem0 0xfffffffffffff000
		refused EINVAL locate-raw $file locate-raw p2pmem0 8 0 0
		refused EINVAL locate-raw $file locate-raw p2pmem0 40 1 0
		refused EINVAL locate-raw $file locate-raw p2pmem0 40 0 1
		refused E2BIG locate-raw $file locate-raw p2pmem0 48 0 0
		refused EBADF locate $file close-dmabuf locate p2pmem0 0
	}
}

# Two pieces of memory are two places.
located_in_pieces() {
	local size
	size=$(attr p2pmem0 size)
	begin owner open p2pmem0 claim "$MIB" "$MIB" claim $((3 * MIB)) $((size - 3 * MIB)) wait
	steps open p2pmem0 export 0 "$EXPORT_BYTES" close-region locate p2pmem0 0
	equal "first piece" 0+0x100000 "$(said locate)"
	steps open p2pmem0 export 0 "$EXPORT_BYTES" close-region locate p2pmem0 0x101000
	equal "second piece" 0x201000+0xff000 "$(said locate)"
}

# --- refusals ---

bad_requests() {
	local size
	size=$(attr p2pmem0 size)
	refused EINVAL export-raw open p2pmem0 export-raw 8 0 0 4096 2 0
	refused EINVAL export-raw open p2pmem0 export-raw 0 0 0 4096 2 0
	refused E2BIG export-raw open p2pmem0 export-raw 40 0 0 4096 2 0
	refused EINVAL export-raw open p2pmem0 export-raw 32 2 0 4096 2 0
	refused EINVAL export-raw open p2pmem0 export-raw 32 0 0 4096 2 1
	# O_WRONLY, O_ACCMODE, O_NONBLOCK
	refused EINVAL export-raw open p2pmem0 export-raw 32 0 0 4096 1 0
	refused EINVAL export-raw open p2pmem0 export-raw 32 0 0 4096 3 0
	refused EINVAL export-raw open p2pmem0 export-raw 32 0 0 4096 0x802 0
	refused EINVAL export open p2pmem0 export 0 0
	refused EINVAL export open p2pmem0 export 0 4095
	refused EINVAL export open p2pmem0 export 1 4096
	refused EINVAL export open p2pmem0 export 0x7ffffffffffff000 4096
	refused EINVAL export open p2pmem0 export 0 0x8000000000000000
	refused ENOSPC export open p2pmem0 export 0 $((size + 4096))
	within 5 region_is_free p2pmem0
}

# In persistent memory a range has a fixed place, which may have another owner.
not_owned() {
	local size
	size=$(attr p2pmem2 size)
	refused ENXIO export open p2pmem2 export "$size" 4096
	refused ENXIO export open p2pmem2 export $((size - 4096)) 8192
	begin owner open p2pmem2 export 0 8192 wait
	refused EBUSY export open p2pmem2 export 4096 8192
	steps open p2pmem2 export 8192 4096
}

# A dma-buf gives no access to the rest of the file that it was made from.
other_part() {
	refused EINVAL remap open p2pmem0 export 0 4096 mmap remap 1
}

access_modes() {
	steps open p2pmem0 export 0 4096
	matches "flags that were asked for" "bytes=4096 cloexec=1" "$(said export)"
	steps open p2pmem0 export-ro 0 4096
	matches "flags that were not asked for" "cloexec=0" "$(said export-ro)"
	refused EACCES export open-ro p2pmem0 export 0 4096
	steps open-ro p2pmem0 export-ro 0 4096 attach dynamic "$LAB_ALPHA_BDF" map to unmap mmap-ro sum
	refused EACCES mmap open-ro p2pmem0 export-ro 0 4096 mmap
	refused_saying 'O_RDONLY' EACCES map open p2pmem0 export-ro 0 4096 attach dynamic "$LAB_ALPHA_BDF" map both
	refused EACCES map open p2pmem0 export-ro 0 4096 attach dynamic "$LAB_ALPHA_BDF" map from
}

struct_pages_wanted() {
	refused_saying 'asks for struct pages' EOPNOTSUPP attach open p2pmem0 export 0 4096 attach static "$LAB_ALPHA_BDF"
	refused_saying 'asks for struct pages' EOPNOTSUPP attach open p2pmem0 export 0 4096 attach no-p2p "$LAB_ALPHA_BDF"
	refused_saying 'no PCI function' EOPNOTSUPP attach open p2pmem0 export 0 4096 attach dynamic none
	refused EINVAL vmap open p2pmem0 export 0 4096 attach dynamic "$LAB_ALPHA_BDF" vmap
}

# An unknown host bridge may affect the whole machine, so using it needs the capability.
unlisted_needs_capability() {
	SAID=$(as user dmabuf open p2pmem0 export-unlisted 0 4096 2>&1) && fail "user may: $SAID"
	matches "as user" "export-unlisted: EPERM" "$SAID"
	as user dmabuf open p2pmem0 export 0 4096
}

# The GPU-like card has no driver that would widen its DMA mask.
mask_too_small() {
	refused_saying 'its DMA mask, or its bus, does not reach the BAR: let an IOMMU' ERANGE map open p2pmem0 export 0 4096 attach dynamic "$LAB_GPU_BDF" map both
}

# An importer that cannot let go is refused, unless root allows it.
pinned_is_refused() {
	equal "pinned_importers" 0 "$(attr p2pmem0 pinned_importers)"
	refused_saying 'cannot be told to let go.*pinned_importers' EOPNOTSUPP attach \
		open p2pmem0 export 0 4096 attach pinned "$LAB_ALPHA_BDF"
	steps open p2pmem0 export 0 4096 attach revocable "$LAB_ALPHA_BDF" map both
	exits 2 'ermission denied' as user sh -c 'echo 1 >/sys/class/p2pmem/p2pmem0/pinned_importers'
	echo 1 >/sys/class/p2pmem/p2pmem0/pinned_importers
	at_end "echo 0 >/sys/class/p2pmem/p2pmem0/pinned_importers"
	steps open p2pmem0 export 0 4096 attach pinned "$LAB_ALPHA_BDF" map both
	equal "as donard-cli shows it" true "$(donard-cli info p2pmem0 --json | jq .pinned_importers)"
}

route_refused() {
	local start address
	start=$(bar_start "$LAB_GPU_BDF" 2)
	refused_saying "refused to $LAB_ALPHA_BDF.*unlisted host bridge" EHOSTUNREACH attach \
		open p2pmem0 export 0 4096 attach dynamic "$LAB_ALPHA_BDF"
	steps open p2pmem0 export-unlisted 0 4096 attach dynamic "$LAB_ALPHA_BDF" map both unmap map to \
		mmap fill 0xa5 sync
	matches "with leave" "^$(nothing_for_cpu) 0x[0-9a-f]+\+0x1000$" "$(said map)"
	address=$(said map | sed -E 's/.* (0x[0-9a-f]+)\+.*/\1/')
	((address >= start)) || fail "$address lies below the BAR at $start"
	head -c 4096 /dev/zero | tr '\0' '\245' >"$WORK/expected"
	same_bytes "host's view at $address" "$(backing gpu)" "$WORK/expected" 4096 $((address - start))
	steps open p2pmem1 export 0 4096 attach dynamic "$LAB_ALPHA_BDF" map both
}

# --- ownership ---

# place_of NAME - where in p2pmem0 lies what that process mapped for its importer.
place_of() {
	local address
	address=$(sed -nE 's/^map: ok .* (0x[0-9a-f]+)\+.*/\1/p' "$WORK/$1" | tail -n 1)
	echo $((address - $(bar_start "$LAB_GPU_BDF" 2)))
}

# owned PLACE - nobody else gets it; not even root.
owned() {
	refused EBUSY claim open p2pmem0 claim "$1" "$EXPORT_BYTES"
}

# The memory stays until the last of file, dma-buf and attachment is closed, in any order.
closed_in_order() {
	local first=$1 second=$2 third=$3 place
	begin owner open p2pmem0 export 0 "$EXPORT_BYTES" attach pinned "$LAB_ALPHA_BDF" map both \
		wait "close-$first" wait "close-$second" wait "close-$third" wait
	place=$(place_of owner)
	owned "$place"
	exits 1 'in use|busy' rmmod p2pmem
	go_on owner
	reaches owner 2
	owned "$place"
	go_on owner
	reaches owner 3
	owned "$place"
	exits 1 'in use|busy' rmmod p2pmem
	go_on owner
	reaches owner 4
	within 5 region_is_free p2pmem0
	equal holders "" "$(attr p2pmem0 holders)"
}

# Another user finds zeros, by a mapping and by DMA alike: the host sees them before any CPU looks.
zeroed_for_the_next() {
	local place
	begin owner open p2pmem0 export 0 "$EXPORT_BYTES" attach dynamic "$LAB_ALPHA_BDF" map both mmap fill 7 sync wait
	place=$(place_of owner)
	go_on owner
	ends owner
	within 5 region_is_free p2pmem0
	SAID=$(as user dmabuf open p2pmem0 claim "$place" "$EXPORT_BYTES" export "$place" "$EXPORT_BYTES" 2>&1) ||
		fail "as user: $SAID"
	head -c "$EXPORT_BYTES" /dev/zero >"$WORK/zeros"
	same_bytes "host's view of what another user exported" "$(backing gpu)" "$WORK/zeros" "$EXPORT_BYTES" "$place"
}

# The importer is another process, which got the descriptor.
exporter_killed() {
	local place
	begin exporter open p2pmem0 export 0 "$EXPORT_BYTES" wait
	begin importer take "$(pid_of exporter)" "$(fd_of exporter)" attach "$1" "$LAB_ALPHA_BDF" map both wait mmap sum wait
	place=$(place_of importer)
	kill -KILL "$(pid_of exporter)"
	ends exporter
	owned "$place"
	matches holders "$(pid_of importer) dmabuf $EXPORT_BYTES $((EXPORT_BYTES / 4096)) $LAB_ALPHA_BDF" "$(attr p2pmem0 holders)"
	go_on importer
	reaches importer 2
	kill -KILL "$(pid_of importer)"
	ends importer
	within 5 region_is_free p2pmem0
	copy_again
}

# fd_of NAME - of the dma-buf that it exported.
fd_of() {
	sed -nE 's/^export: ok fd=([0-9]+).*/\1/p' "$WORK/$1"
}

# An importer that has unmapped and gone may have left a request under way, which a fence announces.
request_outlasts_mapping() {
	local place
	begin exporter open p2pmem0 export 0 "$EXPORT_BYTES" wait close-region close-dmabuf wait
	begin importer take "$(pid_of exporter)" "$(fd_of exporter)" attach revocable "$LAB_ALPHA_BDF" map both unmap \
		fence detach close-dmabuf wait signal wait
	place=$(place_of importer)
	go_on exporter
	sleep 1
	! waits exporter 2 || fail "the dma-buf ended before the request did"
	owned "$place"
	go_on importer
	reaches exporter 2
	within 5 region_is_free p2pmem0
}

exported_is_not_idle() {
	begin owner open p2pmem0 export 0 "$EXPORT_BYTES" close-region wait
	exits 1 'busy' bash -c 'echo generic >/sys/class/p2pmem/p2pmem0/page_type'
	exits 1 "held by dmabuf \\(pid $(pid_of owner)\\)" donard-cli region remove p2pmem0 --if-idle
	equal state ready "$(attr p2pmem0 state)"
}

# --- removal ---

# The calls of an importer whose memory is revoked, and their results.
readonly AFTER_REVOCATION="state map both sync mmap sum detach attach dynamic"

# taken_from MODE EVENT...
taken_from() {
	local mode=$1
	shift
	# shellcheck disable=SC2086  # steps
	begin owner open p2pmem0 export 0 "$EXPORT_BYTES" attach "$mode" "$LAB_ALPHA_BDF" map both mmap fill 3 \
		wait $AFTER_REVOCATION "$LAB_ALPHA_BDF" close-dmabuf close-region wait
	in_background "$@"
	if [[ " $OBEDIENT " == *" $mode "* ]]; then
		event_succeeds
	else
		event_waits "$(pid_of owner) dmabuf $EXPORT_BYTES [1-9][0-9]* $LAB_ALPHA_BDF"
	fi
}

# told MODE - the owner goes on past its first wait: its importer was told, and gets no other mapping.
told() {
	local notified=1 mapped=0
	go_on owner
	within 10 waits owner 2
	SAID=$(cat "$WORK/owner")
	if [[ $1 == pinned ]]; then
		mapped=1
		# From 7.1 on an importer declares whether it can be told to let go. Before, each is told, and this one ignores it.
		! can revocable || notified=0
		says map EBUSY
	else
		says map ENODEV
	fi
	says state "ok notified=$notified mapped=$mapped"
}

# revoked_for MODE - and its process goes on to the end.
revoked_for() {
	told "$1"
	says sync ENODEV
	says mmap ENODEV
	says sum EFAULT
	says attach ENODEV
}

# rmmod waits for open files, even if their region is gone.
module_is_held_until_closed() {
	begin witness open p2pmem0 export 0 4096 attach dynamic "$LAB_ALPHA_BDF" map both close-region wait \
		close-importer wait close-dmabuf wait
	donard-cli region remove p2pmem0
	donard-cli region remove p2pmem1
	donard-cli region remove p2pmem2
	exits 1 'in use|busy' rmmod p2pmem
	go_on witness
	reaches witness 2
	exits 1 'in use|busy' rmmod p2pmem
	go_on witness
	reaches witness 3
	within 5 rmmod p2pmem
	insmod /opt/donard/modules/p2pmem.ko
	/opt/lab/regions >/dev/null
}

removed() {
	taken_from "$1" donard-cli region remove p2pmem0
	revoked_for "$1"
	event_succeeds
	within 10 region_gone p2pmem0
	copy_again
}

unbound() {
	taken_from "$1" unbind_gpu
	revoked_for "$1"
	event_succeeds
	copy_again
}

unplugged() {
	taken_from "$1" labctl unplug gpu
	revoked_for "$1"
	event_succeeds
	within 10 region_gone p2pmem0
	plug_gpu
	copy_again
}

# The command that removes says for whom it waits, with the importing device.
removal_names_importer() {
	dmesg -C
	taken_from pinned donard-cli region remove p2pmem0
	within 5 grep -q "dmabuf (pid $(pid_of owner), device $LAB_ALPHA_BDF)" "$WORK/event"
	matches "kernel log" "mapped for $LAB_ALPHA_BDF by \"dmabuf\"" "$(dmesg)"
	matches "donard-cli info" "$LAB_ALPHA_BDF" "$(donard-cli info p2pmem0)"
	revoked_for pinned
	event_succeeds
	copy_again
}

# The importing process dies, and with it what the removal waits for.
importer_killed() {
	taken_from pinned donard-cli region remove p2pmem0
	kill -KILL "$(pid_of owner)"
	event_succeeds
	copy_again
}

# An unmapped dma-buf may still be in use by requests under way, which fences announce; the end of one is seen only by who waits.
fence_is_awaited() {
	begin owner open p2pmem0 export 0 "$EXPORT_BYTES" attach revocable "$LAB_ALPHA_BDF" map both lazy-fence fence wait signal wait
	in_background donard-cli region remove p2pmem0
	event_waits "$(pid_of owner) dmabuf $EXPORT_BYTES 0 $LAB_ALPHA_BDF"
	go_on owner
	event_succeeds
	copy_again
}

# A fence that is added when there is no mapping stands for no request, and any holder of a descriptor could add such fences for ever.
later_fence_is_not_awaited() {
	begin owner open p2pmem0 export 0 "$EXPORT_BYTES" attach revocable "$LAB_ALPHA_BDF" map both fence wait signal wait
	begin late take "$(pid_of owner)" "$(fd_of owner)" attach revocable "$LAB_BETA_BDF" wait fence wait signal
	in_background donard-cli region remove p2pmem0
	event_waits "$(pid_of owner) dmabuf $EXPORT_BYTES 0 $LAB_ALPHA_BDF"
	go_on late
	reaches late 2
	! event_ended || fail "the removal did not wait for the first fence"
	go_on owner
	event_succeeds
	! grep -q '^signal' "$WORK/late" || fail "the later fence has been signaled"
	go_on late
	ends late
	says signal ok
	copy_again
}

# An importer that does not return keeps the removal waiting, and nobody else.
removal_tells_others() {
	stall
	begin owner open p2pmem0 export 0 "$EXPORT_BYTES" attach revocable "$LAB_ALPHA_BDF" map both wait state
	begin bystander open p2pmem0 export 0 4096 attach dynamic "$LAB_BETA_BDF" map both wait state
	in_background donard-cli region remove p2pmem0
	is_told_meanwhile
	equal "state of the region" draining "$(attr p2pmem0 state)"
	echo N >"$STALL"
	event_succeeds
	go_on owner
	ends owner
	says state "ok notified=1 mapped=0"
	copy_again
}

# A removal ends importers at any point of their work, and leaves nothing behind.
removed_while_they_come_and_go() {
	local i pids=()
	for i in 1 2 3; do
		come_and_go $((i * MIB)) &
		pids+=($!)
		at_end "kill -KILL $! 2>/dev/null"
	done
	for i in 1 2 3; do
		within 20 grep -qs '^unmap: ok' "$WORK/$((i * MIB))"
	done
	for i in 1 2 3 4 5; do
		sleep 0.$i
		donard-cli region remove p2pmem0
		donard-cli region add --kind pci-bar --device "$LAB_GPU_BDF" --bar 2 >/dev/null
	done
	touch "$WORK/enough"
	wait "${pids[@]}"
	give_to_group p2pmem0
	copy_again
}

# come_and_go BYTES - until there is enough.
come_and_go() {
	until [[ -e $WORK/enough ]]; do
		dmabuf open p2pmem0 export 0 "$1" attach revocable "$LAB_ALPHA_BDF" map both mmap unmap map both fence \
			close-region close-dmabuf >>"$WORK/$1" 2>&1 || true
	done
}

# The nvme driver leaves under its own CMB, which on 7.x is a pool of that driver.
drive_unbound() {
	begin owner open p2pmem1 export 0 "$EXPORT_BYTES" attach "$1" "$LAB_BETA_BDF" map both wait state map both detach wait
	in_background unbind_nvme "$LAB_ALPHA_BDF"
	if [[ $1 == pinned ]]; then
		sleep 2
		! event_ended || fail "the driver left under a pinned importer"
		matches holders "$(pid_of owner) dmabuf $EXPORT_BYTES [1-9][0-9]* $LAB_BETA_BDF" "$(attr p2pmem1 holders)"
	else
		event_succeeds
	fi
	told "$1"
	event_succeeds
	within 10 region_gone p2pmem1
	bind_nvme "$LAB_ALPHA_BDF"
	donard-cli region add --kind nvme-cmb --device "$LAB_ALPHA_BDF" >/dev/null
	give_to_group p2pmem1
}

# The drive is silent, as in a reset that p2pmem is not told of. It does not count as gone, even if that takes longer than the grace for a
# vanished device.
drive_is_silent() {
	local answer=/sys/module/answer
	begin owner open p2pmem1 export 0 "$EXPORT_BYTES" attach pinned "$LAB_BETA_BDF" map both wait detach wait
	at_end "[[ ! -d $answer ]] || rmmod answer"
	insmod /opt/donard/modules/answer.ko symbol=pci_device_is_present value=0
	in_background donard-cli region remove p2pmem1
	within 10 grep -qx draining /sys/class/p2pmem/p2pmem1/state
	sleep 4
	rmmod answer
	equal "state of the region" draining "$(attr p2pmem1 state)"
	go_on owner
	event_succeeds
	within 10 region_gone p2pmem1
	donard-cli region add --kind nvme-cmb --device "$LAB_ALPHA_BDF" >/dev/null
	give_to_group p2pmem1
}

# surprise MODE - the device is gone before anyone was asked.
surprise() {
	begin owner open p2pmem0 export 0 "$EXPORT_BYTES" attach "$1" "$LAB_ALPHA_BDF" map both \
		wait state map both close-importer close-dmabuf close-region wait
	labctl surprise-remove "$LAB_GPU_BDF"
	if [[ $1 == pinned ]]; then
		within 30 is_quarantined
		matches holders "$(pid_of owner) dmabuf $EXPORT_BYTES [1-9][0-9]* $LAB_ALPHA_BDF" "$(attr p2pmem0 holders)"
	else
		within 30 region_gone p2pmem0
	fi
	within 20 test ! -e "/sys/bus/pci/devices/$LAB_GPU_BDF"
	told "$1"
	within 20 region_gone p2pmem0
	plug_gpu
	copy_again
}

# Only addresses are held, and no struct pages, but a new card in the slot still does not get the range.
plugged_over_quarantine() {
	local start
	start=$(bar_start "$LAB_GPU_BDF" 2)
	begin owner open p2pmem0 export 0 "$EXPORT_BYTES" attach pinned "$LAB_ALPHA_BDF" map both wait close-importer close-dmabuf close-region wait
	labctl surprise-remove "$LAB_GPU_BDF"
	within 30 is_quarantined
	plug_gpu
	stale_env
	add_off_quarantine "$start"
	go_on owner
	within 20 region_gone p2pmem0
	echo 1 >"/sys/bus/pci/devices/$LAB_GPU_BDF/remove"
	echo 1 >/sys/bus/pci/rescan
	copy_again
}

# --- by topology ---

addresses() {
	core t "addresses: below a switch, those of the BAR on the bus" \
		address_is_memory p2pmem0 "$LAB_GPU_BDF" gpu "$LAB_ALPHA_BDF"
	t "addresses: persistent memory" address_is_memory p2pmem2 "$LAB_BETA_BDF" beta "$LAB_ALPHA_BDF"
	core t "addresses: a drive's CMB, for another drive" address_in_cmb "$LAB_BETA_BDF"
	t "addresses: a drive's CMB, for itself" address_in_cmb "$LAB_ALPHA_BDF"
	t "addresses: memory in two pieces" fragmented
	! can p2pdma || core t "addresses: page type p2pdma" address_of_p2pdma
	! can fixed-buffers || core t "addresses: the CPU's are pinned for long" pinned_for_long
	t "addresses: told to whoever has the dma-buf" located
	t "addresses: told of memory in two pieces" located_in_pieces
}

refusals() {
	core t "refused: wrong requests" bad_requests
	core t "refused: a range that is not there, or not ours" not_owned
	core t "refused: another part of the exporter's file" other_part
	t "refused: more access than the file has" access_modes
	core t "refused: struct pages, vmap, no PCI function" struct_pages_wanted
	t "refused: a DMA mask that does not reach" mask_too_small
	! can revocable || core t "refused: importers that cannot let go" pinned_is_refused
	t "refused: an unlisted bridge, to whoever lacks CAP_SYS_RAWIO" unlisted_needs_capability
}

# The region has no other free memory. A file is closed, a pipe holds a page of it for a moment longer, and an export begins meanwhile.
# Python prints how it ended.
export_behind_a_pipe() {
	python3 -c 'import ctypes, mmap, os, subprocess, time
class Piece(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]
libc = ctypes.CDLL(None, use_errno=True)
fd = os.open("/dev/p2pmem0", os.O_RDWR)
libc.mmap.restype = ctypes.c_void_p
address = libc.mmap(None, ctypes.c_size_t(2 << 20), mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, fd, ctypes.c_long(0))
ctypes.memset(address, 1, 4096)
reader, writer = os.pipe()
assert libc.vmsplice(writer, ctypes.byref(Piece(address, 4096)), ctypes.c_ulong(1), 0) == 4096, os.strerror(ctypes.get_errno())
libc.munmap(ctypes.c_void_p(address), ctypes.c_size_t(2 << 20))
os.close(fd)
export = subprocess.Popen(["dmabuf", "open", "p2pmem0", "export", "0", str(2 << 20)], stdout=subprocess.DEVNULL)
time.sleep(0.3)
os.close(writer)
os.close(reader)
print(export.wait())'
}

some_is_free() {
	(($(attr p2pmem0 available) >= 2 * MIB))
}

# The call waits a second for such memory, as read() and CLAIM do. A busy machine may need longer: then once more.
export_awaits_a_closed_file() {
	local said='' try pid
	holder mapping p2pmem0 $((510 * MIB)) >"$WORK/holder" 2>&1 &
	pid=$!
	at_end "kill -KILL $pid 2>/dev/null"
	within 20 grep -q ready "$WORK/holder"
	for try in 1 2 3 4 5; do
		said=$(export_behind_a_pipe 2>&1)
		[[ $said != 0 ]] || break
		within 10 some_is_free
	done
	equal "export after a closed file, the last of $try tries" 0 "$said"
}

ownership() {
	local order
	for order in "region dmabuf importer" "dmabuf region importer" "importer region dmabuf" "dmabuf importer region"; do
		# shellcheck disable=SC2086  # three words
		t "ownership: closed in the order ${order// /, }" with_pinned_importers closed_in_order $order
	done
	core t "ownership: zeroed for the next user" zeroed_for_the_next
	t "ownership: awaits the memory of a file just closed" export_awaits_a_closed_file
	lt "ownership: exporter killed, dynamic importer" exporter_killed dynamic
	lt "ownership: exporter killed, pinned importer" with_pinned_importers exporter_killed pinned
	t "ownership: a request outlasts its mapping" request_outlasts_mapping
	t "ownership: an exported region is not idle" exported_is_not_idle
	core lt "ownership: rmmod" module_is_held_until_closed
}

removals() {
	local mode
	for mode in $OBEDIENT pinned; do
		core lt "region remove, $mode" with_pinned_importers removed "$mode"
		lt "driver unbind, $mode" with_pinned_importers unbound "$mode"
		lt "hot-unplug, $mode" with_pinned_importers unplugged "$mode"
		! can p2pdma || lt "region remove, p2pdma pages, $mode" with_pinned_importers typed p2pdma removed "$mode"
	done
	newest lt "removal names the importer" with_pinned_importers removal_names_importer
	core lt "removal ends with the importer" with_pinned_importers importer_killed
	lt "removal waits for a fence" fence_is_awaited
	lt "removal waits for no later fence" later_fence_is_not_awaited
	lt "removal: an importer that does not return, others are told" removal_tells_others
	lt "removal while importers come and go" removed_while_they_come_and_go
	t "nvme unbind under its CMB, dynamic" drive_unbound dynamic
	t "nvme unbind under its CMB, pinned" with_pinned_importers drive_unbound pinned
	lt "removal while the drive does not answer" with_pinned_importers drive_is_silent
}

modprobe_importer
case $LAB_TOPOLOGY in
switch)
	addresses
	refusals
	ownership
	removals
	resets
	;;
swiotlb | high-bar) t "$LAB_TOPOLOGY: not bounced, and the BAR's own address" \
	address_is_memory p2pmem0 "$LAB_GPU_BDF" gpu "$LAB_ALPHA_BDF" ;;
rootports) core t "root ports: refused, naming the bridge; with leave" route_refused ;;
iommu) t "iommu: translated addresses" translated ;;
iommu-unlisted) t "iommu, unlisted bridge: refused, naming the bridge; with leave" translated_unlisted ;;
pciehp)
	for mode in $OBEDIENT pinned; do
		gate=
		[[ $mode != pinned ]] || gate=core
		$gate lt "surprise removal, $mode" with_pinned_importers surprise "$mode"
		lt "surprise removal, p2pdma pages, $mode" with_pinned_importers typed p2pdma surprise "$mode"
		lt "hot-unplug, $mode" with_pinned_importers unplugged "$mode"
	done
	lt "plugged while in quarantine" with_pinned_importers plugged_over_quarantine
	;;
esac
