# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The Python binding, with the regions of the guest (python/binding.py), and its examples as they are installed.

# shellcheck source=removal.sh
. ./removal.sh
# shellcheck source=helpers/examples.sh
. helpers/examples.sh

# The interpreter, and what runs it.
PYTHON=(python3)

binding() {
	local said status=0
	said=$("${PYTHON[@]}" python/binding.py "$@" 2>&1) || status=$?
	equal "status of binding.py $*, which said: $said" 0 "$status"
	within 10 region_is_free p2pmem0
}

with_data() {
	data_on_alpha $((64 * MIB))
}

of_drive() {
	with_data
	binding "$1" "$LAB_ALPHA" "${@:2}"
}

# without_uring FUNCTION... - as in most containers.
without_uring() {
	local -a PYTHON=(forbid EPERM io_uring python3)
	"$@"
}

# journalled data goes through the page cache.
refused() {
	with_file_system ext4 "$LAB_BETA" nodelalloc	# else ext4 ignores +j
	touch /mnt/fs/journalled
	chattr +j /mnt/fs/journalled
	random_file /mnt/fs/journalled "$MIB"
	binding refused /mnt/fs/journalled
}

# of_formats TEST - of drive beta, with bytes that are in the BAR, too.
of_formats() {
	at_end "nvme format $LAB_BETA --lbaf=0 --force"
	random_file "$WORK/data" $((2 * MIB))
	regio write p2pmem0 0 $((2 * MIB)) "$WORK/data"
	binding "$1" "$LAB_BETA" "$WORK/data"
}

detached() {
	local controller
	controller=$(basename "/sys/bus/pci/devices/$LAB_BETA_BDF/nvme/"nvme*)
	at_end "within 30 test -b $LAB_BETA"
	at_end "nvme attach-ns /dev/$controller --namespace-id=1 --controllers=$(<"/sys/class/nvme/$controller/cntlid")"
	binding detached "$LAB_BETA" "/dev/$controller" "$(<"/sys/class/nvme/$controller/cntlid")"
}

becomes_swap() {
	with_file_system ext4 "$LAB_BETA"
	random_file /mnt/fs/file "$MIB"
	chmod 600 /mnt/fs/file
	sync /mnt/fs/file
	binding becomes_swap /mnt/fs/file
}

# region_ends TOUCH STATUS SAID - the status that the program ends with, and its last word, when its region is removed.
region_ends() {
	local pid status=0
	"${PYTHON[@]}" python/binding.py until_the_end "$1" >"$WORK/seen" 2>"$WORK/err" &
	pid=$!
	at_end "kill -KILL $pid 2>/dev/null"
	within 60 grep -qx ready "$WORK/seen"
	in_background donard-cli region remove p2pmem0
	wait "$pid" || status=$?
	equal "status of the program, which said $(cat "$WORK/seen" "$WORK/err")" "$2" "$status"
	equal "its last word" "$3" "$(tail -n 1 "$WORK/seen")"
	event_succeeds
}

of_removal() {
	with_data
	"${PYTHON[@]}" python/binding.py removed_in_copy "$LAB_ALPHA" "$1" || fail "status $?"
	restore_gpu
}

notebook_py() {
	"${PYTHON[@]}" "$EXAMPLES/notebook.py" "$@"
}

event_loop_py() {
	"${PYTHON[@]}" "$EXAMPLES/event-loop.py" "$@"
}

# The sum of the bytes, by Python's own arithmetic.
notebook() {
	local sum
	with_data
	sum=$(python3 -c 'import sys; print(sum(open(sys.argv[1], "rb").read(16 << 20)))' "$WORK/data")
	example_says notebook_py "p2pmem0: pci-bar of $LAB_GPU_BDF, 512 of 512 MiB free.*route: switch
16777216 bytes, 0 through DRAM; route switch, proven
sum: $sum
.*copied 1048576, bounced 0, [a-z]+, verified True
meter [a-z]+: .*no-space: " "$LAB_ALPHA" p2pmem0
	exits 2 '' notebook_py
	within 10 region_is_free p2pmem0
}

event_loop() {
	local sum
	with_data
	sum=$(python3 -c 'import sys, zlib; data = open(sys.argv[1], "rb")
print(sum(zlib.crc32(data.read(1 << 20)) for _ in range(64)))' "$WORK/data")
	example_says event_loop_py "^67108864 bytes, none by way of DRAM
sum of sums: $sum" "$LAB_ALPHA" p2pmem0
	within 10 region_is_free p2pmem0
}

core t "lists what the command lists" binding lists
t "numpy sees device memory" of_drive buffer "$WORK/data"
t "a dma-buf is the same memory" binding imported
core t "reads in flight" of_drive in_flight "$WORK/data"
t "reads in flight, without io_uring" without_uring of_drive in_flight "$WORK/data" seccomp
t "copies as the command does, without io_uring" without_uring of_drive copies
t "example event-loop.py, without io_uring" without_uring event_loop
t "copies as the command does" of_drive copies
core t "a refusal is that of a copy" refused
t "a drive is formatted between two copies" of_formats reformatted
t "a drive is formatted below an open file" of_formats reformatted_below
t "a drive is detached below an open file" detached
t "a file becomes swap space below an open file" becomes_swap
t "example notebook.py" notebook
t "example event-loop.py" event_loop
lt "the region is removed under a copy to it" of_removal reads
lt "the region is removed under a copy from it" of_removal writes
lt "the region is removed under a view" region_ends leave 0 closed
# 128 + SIGBUS
lt "the region is removed and its view touched" region_ends touch 135 gone
