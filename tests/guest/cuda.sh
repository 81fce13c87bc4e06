# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# GPU memory from a program's side: the lab's libcuda, then what donard makes of it.

# shellcheck source=helpers/gpu.sh
. ./helpers/gpu.sh
# shellcheck source=helpers/held_copy.sh
. ./helpers/held_copy.sh

lab_cuda() {
	with_gpu "$@"
	cudafacts.py
	within 10 nothing_is_pinned
}

# A later write to it is noticed (modules/nvidia/vram.c): when it is allocated again, and when the driver ends.
freed_memory_is_watched() {
	with_gpu
	lever expect_complaint 1
	python3 - <<-'END'
		import ctypes, mmap, os
		cuda = ctypes.CDLL("libcuda.so.1")
		ptr, context = ctypes.c_uint64(), ctypes.c_void_p()
		assert not cuda.cuInit(0) and not cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
		assert not cuda.cuCtxSetCurrent(context)
		assert not cuda.cuMemAlloc_v2(ctypes.byref(ptr), ctypes.c_size_t(65536))
		assert not cuda.cuMemFree_v2(ptr)
		bar = mmap.mmap(os.open(f"/sys/bus/pci/devices/{os.environ['LAB_GPU_BDF']}/resource2", os.O_RDWR), 65536)
		assert bar[:65536] == b"\xdb" * 65536, bar[:16].hex()
		bar[4096] ^= 1
		assert not cuda.cuMemAlloc_v2(ctypes.byref(ptr), ctypes.c_size_t(65536))
	END
	matches "complaint" 'freed GPU memory was written to: BAR offset 0x1000 ' "$(lever complaint)"
	lever complaint ''
	python3 - <<-'END'
		import mmap, os
		mmap.mmap(os.open(f"/sys/bus/pci/devices/{os.environ['LAB_GPU_BDF']}/resource2", os.O_RDWR), 65536)[8192] ^= 1
	END
	echo "$LAB_GPU_BDF" >/sys/bus/pci/drivers/nvidia/unbind
	matches "complaint of its end" 'freed GPU memory was written to: BAR offset 0x2000 ' "$(lever complaint)"
}

# --- memory of donard made of a GPU's ---

# with_gpu_region PAGE-TYPE [ARGUMENT...] - of with_gpu.
with_gpu_region() {
	with_gpu "${@:2}"
	donard-cli region add --kind gpu-nvidia --device "$LAB_GPU_BDF" --page-type "$1"
}

# memory TEST [ARGUMENT...] - with a libcuda as strict as its documentation allows; and nothing stays pinned.
memory() {
	LAB_CUDA_STRICT=1 cudamem.py "$@"
	within 10 nothing_is_pinned
}

# with_gpu_region's PAGE-TYPE and arguments; the driver's call to pin, and what becomes of memory that is freed first.
sound_memory() {
	local get=get_persistent freed=persistent
	[[ " $* " != *" --callback "* ]] || { get='get'; freed=revoked; }
	with_gpu_region "$@"
	memory sound "$LAB_BETA"
	memory contexts
	memory allocated
	LAB_GET=$get memory each_step_fails
	memory freed_first "$freed"
	memory context_reset
	memory child
	memory bad
	LAB_CUDA_CHUNKS=1 memory chunks
	lever bar1_mib 38
	memory too_small
}

most_of_the_memory() {
	with_gpu_region generic
	memory most_of_it
}

memory_freed_in_flight() {
	with_gpu_region generic
	at_end "labctl slow alpha 0"
	memory in_flight "$LAB_ALPHA" alpha
}

# Without persistent pins, root has to ask for generic pages by name.
revocable_memory() {
	local page_type=generic
	[[ " $LAB_CAN " != *" p2pdma "* ]] || page_type=p2pdma
	sound_memory "$page_type" --callback scatter=1
}

memory_without_region() {
	with_gpu
	memory no_region
}

memory_without_cuda() {
	with_gpu_region generic
	LD_LIBRARY_PATH='' memory no_cuda
}

# The driver puts the first allocation at the begin of the BAR.
memory_outside_of_region() {
	with_gpu
	donard-cli region add --kind gpu-nvidia --device "$LAB_GPU_BDF" --page-type generic --offset 256M --length 256M
	memory outside
}

# --- gpu:N as an end of a copy ---

# words_alike A B BYTES - prints how many whole words are the same at the same place; BYTES is below 16 MiB. A part of a word may be the
# same by chance: one byte of 256 is.
words_alike() {
	local bytes=$(($3 / 8 * 8))
	comm -12 --nocheck-order <(head -c "$bytes" "$1" | od -Ax -v -tx8 -w8) <(head -c "$bytes" "$2" | od -Ax -v -tx8 -w8) | grep -c ' ' || true
}

# The memory is scattered, so the GPU reads the drive's bytes only if the BAR leads to the right pages.
copies_of_gpu() {
	local size
	with_gpu_region generic scatter=1
	for size in 100 4096 $((5 * MIB + 777)); do
		copy "$LAB_ALPHA" gpu:0 --size "$size" --verify
		result_is "$size" switch 0
		equal "verified" true "$(field verified)"
		copy gpu:0+192K "$LAB_BETA" --size "$size" --verify
		result_is "$size" switch 0
		equal "verified" true "$(field verified)"
	done
	equal "evidence" proven "$(field route_evidence)"
	# The drive keeps its bytes behind the copy. The copied bytes are not those of another copy, and not all the same.
	take_from_drive "$LAB_BETA" 0 $((2 * MIB)) "$WORK/beta"
	random_file "$WORK/before" $((2 * MIB))
	put_on_drive "$WORK/before" "$LAB_BETA" 0
	size=$((MIB + 777))
	copy gpu:0 "$LAB_BETA" --size "$size" --force-bounce --verify
	result_is "$size" bounced "$size"
	take_from_drive "$LAB_BETA" 0 $((2 * MIB)) "$WORK/after"
	exactly "words of the first copy that the second has at the same place" 0 "$(words_alike "$WORK/after" "$WORK/beta" "$size")"
	same_bytes "behind the copy" "$WORK/after" "$WORK/before" $((2 * MIB - size)) "$size" "$size"
	exactly "like words of the pattern" 0 "$(head -c 4096 "$WORK/after" | od -An -v -tx8 -w8 | sort | uniq -d | wc -l)"
	within 10 nothing_is_pinned
}

# Each other end that a copy can have.
copies_to_all_ends() {
	local size=$((3 * MIB + 777))
	with_gpu_region generic
	export LAB_CUDA_STRICT=1
	with_file_system ext4
	random_file "$WORK/sent" "$size"
	put_on_drive "$WORK/sent" "$LAB_ALPHA" 0
	copy gpu:0 gpu:0+64K --size "$size" --verify
	result_is "$size" cpu 0
	copy "gpu:$LAB_GPU_BDF" p2pmem1 --size "$size" --verify
	result_is "$size" cpu 0
	copy p2pmem1+64K gpu:0 --size "$size" --verify
	result_is "$size" cpu 0
	# The last, partial block of a file goes through DRAM.
	copy gpu:0 /mnt/fs/file --size "$size" --verify
	result_is "$size" switch 777
	exactly "size of the file" "$size" "$(stat -c %s /mnt/fs/file)"
	copy /mnt/fs/file gpu:0+4K --verify
	result_is "$size" switch 0
	if can passthrough; then
		copy "$LAB_ALPHA" gpu:0 --size 3M --verify --passthrough
		result_is $((3 * MIB)) switch 0
		equal "by commands of NVMe" true "$(field passthrough)"
	fi
	within 10 nothing_is_pinned
}

# One that says so: its copies end with a flush. The lab's GPU itself has its writes in order.
copies_of_unordered_gpu() {
	with_gpu_region generic
	LAB_CUDA_UNORDERED=1 copy "$LAB_ALPHA" gpu:0 --size 1M --verify
	result_is "$MIB" switch 0
	equal "verified" true "$(field verified)"
	LAB_CUDA_FLUSH_FAILS=1 copy "$LAB_ALPHA" gpu:0 --size 1M
	LAB_CUDA_UNORDERED=1 LAB_CUDA_FLUSH_FAILS=1 gpu_refused 1 "gpu:0: what its peers wrote cannot be made visible" \
		"$LAB_ALPHA" gpu:0 --size 1M
}

interrupted_copy() {
	with_gpu_region generic
	start_copy alpha "$LAB_ALPHA" gpu:0
	kill -INT "$COPY"
	copy_ends 130 canceled stopped
	within 10 nothing_is_pinned
}

bad_copies_of_gpu() {
	with_gpu
	gpu_refused 1 "region add --kind gpu-nvidia --device $LAB_GPU_BDF" "$LAB_ALPHA" gpu:0 --size 1M
	LD_LIBRARY_PATH='' gpu_refused 3 "apt install libcuda1" "$LAB_ALPHA" gpu:0 --size 1M
	donard-cli region add --kind gpu-nvidia --device "$LAB_GPU_BDF" --page-type generic
	gpu_refused 2 "gpu:0: .*Say how much to copy with --size" gpu:0 "$LAB_BETA"
	gpu_refused 1 "past the end" gpu:0+64T "$LAB_BETA" --size 1M
	exits 3 "p2pmem0: its memory is the GPU's own" donard-cli copy "$LAB_ALPHA" "$LAB_BETA" --via p2pmem0 --size 1M
	lever bar1_mib 38
	gpu_refused 1 BAR1 "$LAB_ALPHA" gpu:0 --size 16M
}

# killed_copy PAGE-TYPE [ARGUMENT...] - of with_gpu. Commands of the copy are under way when its process dies, which ends when
# the drive has answered them.
killed_copy() {
	with_gpu_region "$@"
	start_copy alpha "$LAB_ALPHA" gpu:0
	kill -KILL "$COPY"
	labctl slow alpha 0
	within 20 copy_is_over
	within 20 nothing_is_pinned
	has_no_holder p2pmem0
}

t "lab: libcuda" lab_cuda
t "lab: libcuda, scattered memory" lab_cuda scatter=1
t "lab: libcuda, driver without the persistent calls" lab_cuda --callback
t "lab: freed memory has the pattern" freed_memory_is_watched
t "memory: of an allocation, and bad input" sound_memory generic
t "memory: scattered, driver without the persistent calls" revocable_memory
core t "memory: freed while a drive writes to it" memory_freed_in_flight
t "memory: nine tenths of it, again and again" most_of_the_memory
t "memory: a region without that part of BAR1" memory_outside_of_region
t "memory: GPU without a region" memory_without_region
t "memory: no libcuda" memory_without_cuda
core t "copy: gpu:N as source and destination" copies_of_gpu
t "copy: gpu:N from and to each kind of end" copies_to_all_ends
t "copy: gpu:N that does not order writes" copies_of_unordered_gpu
t "copy: gpu:N, interrupted" interrupted_copy
core t "copy: gpu:N that cannot be had" bad_copies_of_gpu
t "copy: killed" killed_copy generic
! can p2pdma || t "copy: killed, driver without the persistent calls" killed_copy p2pdma --callback
