# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The lab's GPU: the GPU-like BAR under the driver "nvidia" of tests/guest/modules/nvidia instead of p2pmem. Sourced.

readonly GPU_LEVERS=/sys/bus/pci/drivers/nvidia/module/parameters

# with_gpu [--callback] [PARAMETER=VALUE...] - the function is a GPU until the end of the test; region p2pmem0 is gone so
# long. --callback: its driver lacks the persistent calls.
with_gpu() {
	local module=nvidia
	[[ ${1-} != --callback ]] || { module=nvidia_callback; shift; }
	donard-cli region remove p2pmem0
	at_end without_gpu
	insmod "/opt/donard/modules/$module.ko" "$@"
	echo nvidia >"/sys/bus/pci/devices/$LAB_GPU_BDF/driver_override"
	echo "$LAB_GPU_BDF" >/sys/bus/pci/drivers_probe
	# libcuda.so.1 of tests/guest/cuda
	export LD_LIBRARY_PATH=/opt/donard/tests/lib
	equal "driver of the GPU" nvidia "$(basename "$(readlink -f "/sys/bus/pci/devices/$LAB_GPU_BDF/driver")")"
}

# Removes the GPU's regions first: if anything stays pinned then, the kernel prints a warning.
without_gpu() {
	local region module
	for region in /sys/class/p2pmem/p2pmem*; do
		[[ $(basename "$(readlink -f "$region/device")") != "$LAB_GPU_BDF" ]] || donard-cli region remove "${region##*/}"
	done
	module=$(basename "$(readlink -f /sys/bus/pci/drivers/nvidia/module)")
	echo >"/sys/bus/pci/devices/$LAB_GPU_BDF/driver_override"
	limited rmmod "$module" ||
		spoil "the GPU's driver is still in use: $(<"/sys/module/$module/refcnt") references, $(lever pinned_pages) pages"
	donard-cli region add --kind pci-bar --device "$LAB_GPU_BDF" --bar 2
	give_to_group p2pmem0
}

# lever NAME [VALUE] - sets one, or prints it.
lever() {
	if (($# > 1)); then
		printf '%s\n' "$2" >"$GPU_LEVERS/$1"
	else
		cat "$GPU_LEVERS/$1"
	fi
}

nothing_is_pinned() {
	[[ $(lever pinned_pages) == 0 ]]
}

# has_no_holder REGION - and is there.
has_no_holder() {
	region_exists "$1" || fail "$1 is gone"
	equal "holders of $1" "" "$(attr "$1" holders)"
}

# gpu_refused STATUS REGEX ARGUMENT... - and nothing stays pinned.
gpu_refused() {
	exits "$1" "$2" donard-cli copy "${@:3}"
	within 10 nothing_is_pinned
}
