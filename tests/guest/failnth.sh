# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Each allocation of each operation fails once (failnth.c). Only on a kernel that fails them when told to. Sourced by
# run.sh.

# shellcheck source=helpers/gpu.sh
. ./helpers/gpu.sh

readonly PCI_BAR=1 NVME_CMB=2 NVME_PMR=3 GPU_NVIDIA=4 # enum p2pmem_kind
readonly GENERIC=1 PMEM=3 # enum p2pmem_page_type

# function_range NAME - first address of a function of the kernel, and the first behind it.
function_range() {
	sort /proc/kallsyms | awk -v name="$1" '$3 == name { from = $1 }
		from && $1 != from && !to { to = $1; print "0x" from, "0x" to }'
}

# Messages about failed allocations are no trouble here: the kernel prints its own words and a call trace for each.
new_in_kernel_log() {
	printf '%s' "${NEWS[@]}" | awk '/page allocation failure|vmalloc error/ { traces++ } !(/Call Trace/ && traces && traces--)'
}

# What is not failed, with all that it calls: kernel functions that do not bear it, which the module cannot mend.
# arch_add_memory(), of memremap_pages(): add_pages() warns, which ends a run; init_memory_mapping() writes through a null
# pointer; and what was made of the range is not undone, so that every later try would fail, too (docs/uapi.md).
LEFT_OUT=arch_add_memory
# Where P2PDMA pages are made: when gen_pool_add_owner() fails, it frees what its own devres action still refers to, and
# KASAN sees the read after free at the release (7.3).
readonly LEFT_OUT_OF_P2PDMA=pci_p2pdma_add_resource
# Where somebody touches the memory before REGION_ADD has ended: KASAN's zero_pud_populate() loses the error of a page table
# that it cannot allocate (7.3, mm/kasan/init.c), so memremap_pages() succeeds without a shadow, and the first touch oopses.
readonly LEFT_OUT_OF_RACE=memremap_pages

# If set, only allocations below this function fail.
ONLY_BELOW=

# filter reject|require FUNCTION
filter() {
	local kind range
	range=$(function_range "$2")
	[[ -n $range ]] || fail "no $2 in /proc/kallsyms"
	for kind in failslab fail_page_alloc; do
		echo "${range% *}" >"/sys/kernel/debug/$kind/$1-start"
		echo "${range#* }" >"/sys/kernel/debug/$kind/$1-end"
	done
}

# Fail allocations that may sleep, too, and single pages; and keep quiet about it: a backtrace each looks like trouble.
arm_faults() {
	local kind
	filter reject "$LEFT_OUT"
	[[ -z $ONLY_BELOW ]] || filter require "$ONLY_BELOW"
	for kind in failslab fail_page_alloc fail_usercopy; do
		echo 0 >"/sys/kernel/debug/$kind/verbose"
	done
	echo N >/sys/kernel/debug/failslab/ignore-gfp-wait
	echo N >/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait
	echo N >/sys/kernel/debug/fail_page_alloc/ignore-gfp-highmem
	echo 0 >/sys/kernel/debug/fail_page_alloc/min-order
}

# fails_each OPERATION ARGUMENT... - of failnth.
fails_each() {
	arm_faults
	failnth "$@"
}

regions_again() {
	rmmod p2pmem
	insmod /opt/donard/modules/p2pmem.ko
	/opt/lab/regions >/dev/null
}

# changes_region OPERATION ARGUMENT... - the same, and then the lab's regions as they were.
changes_region() {
	at_end regions_again
	fails_each "$@"
}

# Nobody loads a module for the number of a region that is not there, which would slow the race down.
add_fails_in_a_race() {
	at_end "echo $(</proc/sys/kernel/modprobe) >/proc/sys/kernel/modprobe"
	echo >/proc/sys/kernel/modprobe
	LEFT_OUT=$LEFT_OUT_OF_RACE changes_region add-raced /dev/p2pmem0 "$LAB_GPU_BDF" "$PCI_BAR" 2
}

# folio_fails OPERATION - of a region whose struct pages are one folio of 2 MiB.
folio_fails() {
	can folios || give_up_as_skip "kernel $LAB_KERNEL: no folios of 2 MiB"
	changes_region "$1" /dev/p2pmem0 "$LAB_GPU_BDF" "$PCI_BAR" 2 "$GENERIC" "$((2 << 20))"
}

# pmem_fails OPERATION - of a region that is a pmem device, which keeps the module. Its driver is loaded before, so that no
# call fails to load it.
pmem_fails() {
	modprobe -q nd_pmem || true
	[[ -d /sys/bus/nd/drivers/nd_pmem ]] || give_up_as_skip "kernel $LAB_KERNEL has no driver for pmem devices"
	at_end regions_again
	at_end "region_gone p2pmem2 || donard-cli region remove p2pmem2"
	fails_each "$1" /dev/p2pmem2 "$LAB_BETA_BDF" "$NVME_PMR" 0 "$PMEM"
}

# gpu_region_fails OPERATION - of a GPU's aperture, in which nothing is pinned but by the operation.
gpu_region_fails() {
	with_gpu
	donard-cli region add --kind gpu-nvidia --device "$LAB_GPU_BDF"
	fails_each "$1" /dev/p2pmem0 "$LAB_GPU_BDF" "$GPU_NVIDIA"
	within 10 nothing_is_pinned
}

# gpu_memory_fails OPERATION PAGE-TYPE [ARGUMENT...] - of with_gpu.
gpu_memory_fails() {
	with_gpu "${@:3}"
	donard-cli region add --kind gpu-nvidia --device "$LAB_GPU_BDF" --page-type "$2"
	fails_each "$1" /dev/p2pmem0
	within 10 nothing_is_pinned
}

# A function below the same switch imports a dma-buf.
import_fails() {
	[[ -d /sys/module/importer ]] || insmod /opt/donard/modules/importer.ko
	fails_each import /dev/p2pmem0 "$LAB_ALPHA_BDF"
}

load_fails() {
	rmmod p2pmem
	at_end "insmod /opt/donard/modules/p2pmem.ko; /opt/lab/regions >/dev/null"
	fails_each load none /opt/donard/modules/p2pmem.ko
}

for operation in open info status claim sync read write copy locate locate-dmabuf holders mmap populate fault fork export \
	dma-buf-mmap dma-buf-sync ring; do
	t "$operation" fails_each "$operation" /dev/p2pmem0
done
t "probe" fails_each probe /dev/p2pmem0 "$LAB_BETA_BDF"
t "import" import_fails
t "nvme-memory" fails_each nvme-memory /dev/p2pmem1 "$LAB_ALPHA_BDF"
for operation in open mmap fault sync; do
	t "$operation, CMB" fails_each "$operation" /dev/p2pmem1
	t "$operation, PMR" fails_each "$operation" /dev/p2pmem2
done
for operation in add remove; do
	t "$operation, BAR" changes_region "$operation" /dev/p2pmem0 "$LAB_GPU_BDF" "$PCI_BAR" 2
	t "$operation, CMB" changes_region "$operation" /dev/p2pmem1 "$LAB_ALPHA_BDF" "$NVME_CMB"
	t "$operation, PMR" changes_region "$operation" /dev/p2pmem2 "$LAB_BETA_BDF" "$NVME_PMR"
	t "$operation, folios" folio_fails "$operation"
	t "$operation, pmem device" pmem_fails "$operation"
	t "$operation, GPU" gpu_region_fails "$operation"
done
t "add, opened too early" add_fails_in_a_race
t "page type to-generic" changes_region to-generic /dev/p2pmem0 "$LAB_GPU_BDF" "$PCI_BAR" 2
LEFT_OUT=$LEFT_OUT_OF_P2PDMA t "page type to-p2pdma" changes_region to-p2pdma /dev/p2pmem0 "$LAB_GPU_BDF" "$PCI_BAR" 2
t "remove, GPU memory is pinned" gpu_region_fails remove-pinned
t "pin of GPU memory" gpu_memory_fails pin-gpu generic
t "pin of GPU memory, driver without the persistent calls" gpu_memory_fails pin-gpu p2pdma --callback
t "export of GPU memory" gpu_memory_fails export-pinned generic
t "export of GPU memory, driver without the persistent calls" gpu_memory_fails export-pinned p2pdma --callback
# The last one: the filter stays. The kernel's own loading of a module has some hundred allocations.
ONLY_BELOW=do_one_initcall t "load" load_fails
