# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What a user of a GPU sees: what the commands show of it and lack for it, and how gpu:N is refused and stopped. The lab's
# GPU under it: suite cuda; what is pinned: suite gpupin.

# shellcheck source=helpers/gpu.sh
. ./helpers/gpu.sh
# shellcheck source=helpers/held_copy.sh
. ./helpers/held_copy.sh

with_gpu_region() {
	with_gpu
	donard-cli region add --kind gpu-nvidia --device "$LAB_GPU_BDF" >/dev/null
}

# --- gpu:N that cannot be had, or is not waited for ---

no_driver() {
	LD_LIBRARY_PATH=/opt/donard/tests/lib exits 1 'CUDA finds no GPU.*apt install nvidia-open-kernel-dkms' donard-cli copy "$LAB_ALPHA" gpu:0 --size 1M
}

wrong_names() {
	with_gpu_region
	gpu_refused 1 'gpu:9: there is no such GPU' "$LAB_ALPHA" gpu:9 --size 1M
	gpu_refused 2 'gpu:x: no GPU is named like this; they look like gpu:0' "$LAB_ALPHA" gpu:x --size 1M
	gpu_refused 2 "gpu:0\+x: 'x' is not an offset" "$LAB_ALPHA" gpu:0+x --size 1M
	gpu_refused 1 'gpu:0: offset 3 is not a multiple of' "$LAB_ALPHA" gpu:0+3 --size 1M
}

# Refusals that come only with the pin, for a region with the default page type.
gpus_that_refuse() {
	with_gpu_region
	lever vgpu 1
	gpu_refused 3 'vGPU' "$LAB_ALPHA" gpu:0 --size 1M
	lever vgpu 0
	lever mig 1
	gpu_refused 3 'can take pinned memory back at any time.*add the region with page type' "$LAB_ALPHA" gpu:0 --size 1M
	lever mig 0
	lever table_version $((0x30000))
	gpu_refused 3 'page table has version 0x30000' "$LAB_ALPHA" gpu:0 --size 1M
	lever table_version 0
}

# Two at a time share the GPU; a third does not find enough of it.
second_process() {
	with_gpu_region
	start_copy alpha "$LAB_ALPHA" gpu:0
	copy "$LAB_BETA" gpu:0 --size 4M --verify
	equal "verified" true "$(field verified)"
	exits 1 'gpu:0: [0-9]+ bytes of its memory are not free' donard-cli copy "$LAB_BETA" gpu:0 --size 480M
	kill -INT "$COPY"
	copy_ends 130 canceled stopped
	within 10 nothing_is_pinned
}

# Copies are stopped by Ctrl-C, and by a signal that no process can catch.
stopped_copies() {
	local status=0
	with_gpu_region
	start_copy alpha "$LAB_ALPHA" gpu:0
	[[ $(lever pinned_pages) != 0 ]] || fail "nothing is pinned while the copy runs"
	kill -INT "$COPY"
	copy_ends 130 canceled stopped
	within 10 nothing_is_pinned
	start_copy alpha "$LAB_ALPHA" gpu:0
	kill -KILL "$COPY"
	within 40 copy_is_over
	wait "$COPY" || status=$?
	equal "status of the killed copy" 137 "$status"
	within 10 nothing_is_pinned
	labctl slow alpha 0
	donard-cli copy "$LAB_ALPHA" gpu:0 --size 300M >/dev/null
}

# --- what the commands show of a GPU ---

# shown FILTER COMMAND... - of its JSON, on one line.
shown() {
	"${@:2}" --json | jq -c "$1"
}

gpu_codes() {
	donard-cli doctor --json | jq -r '.findings[] | select(.code | test("^gpu-")) | .code' | sort | paste -sd' '
}

shows_gpu() {
	local name line
	with_gpu
	equal "doctor, no region" '["nvidia","open","550.0-lab",2,536870912,536870912,0,"",""]' "$(shown '.gpus[] |
		[.driver, .driver_kind, .driver_version, .bar, .bar_size, .memory, .cuda_number, .mode, .region]' donard-cli doctor)"
	equal "codes, no region" gpu-no-region "$(gpu_codes)"
	matches "obstacle, no region" "region add --kind gpu-nvidia --device $LAB_GPU_BDF" "$(shown '.gpus[].obstacle' donard-cli list)"
	line=$(shown ".candidates[] | select(.bdf == \"$LAB_GPU_BDF\") | [.kind, .bar, .size, .driver, .region, .obstacle]" \
		donard-cli region candidates)
	equal "candidate" '["gpu-nvidia",2,536870912,"nvidia","",""]' "$line"
	name=$(donard-cli region add --kind gpu-nvidia --device "$LAB_GPU_BDF")
	equal_none "codes, with a region" gpu_codes
	equal "codes, without libcuda" gpu-no-cuda "$(LD_LIBRARY_PATH='' gpu_codes)"
	equal "codes, more memory than BAR1" gpu-small-bar1 "$(LAB_CUDA_LARGE=1 gpu_codes)"
	matches "how much of it" "of the 2 GiB of $LAB_GPU_BDF, 476 MiB can be pinned" "$(LAB_CUDA_LARGE=1 donard-cli doctor)"
	equal "list, with a region" "[\"${name##*/}\",\"\",null]" "$(shown '.gpus[] | [.region, .obstacle, .memory]' donard-cli list)"
	matches "list as text" "$LAB_GPU_BDF +nvidia +550.0-lab +open +512 MiB .* ${name##*/}" "$(donard-cli list)"
}

# The lab's driver leaves the GPU the mask of 32 bits that each function begins with; the CMB lies above 4 GiB.
short_mask() {
	local route
	with_gpu
	route=$(donard-cli topo --json | jq -c ".routes[] | select(.client_bdf == \"$LAB_GPU_BDF\" and .region == \"p2pmem1\") |
		[.route, .reason]")
	equal "the route" "[\"none\",\"the DMA mask that its driver gave $LAB_GPU_BDF (0xffffffff) does not reach the BAR\"]" "$route"
}

static_bar1() {
	with_gpu static_bar1=1
	equal "mode" '"static-bar1"' "$(shown '.gpus[].mode' donard-cli list)"
	donard-cli region add --kind gpu-nvidia --device "$LAB_GPU_BDF" >/dev/null
	equal "codes" gpu-static-bar1 "$(gpu_codes)"
	copy "$LAB_ALPHA" gpu:0 --size 1M --verify
	equal "verified" true "$(field verified)"
	within 10 nothing_is_pinned
}

# p2pmem makes a pool for such a region, as the driver does for static BAR1.
p2pdma_is_not_static() {
	with_gpu
	donard-cli region add --kind gpu-nvidia --device "$LAB_GPU_BDF" --page-type p2pdma >/dev/null
	equal "mode" '""' "$(shown '.gpus[].mode' donard-cli list)"
	equal_none "codes" gpu_codes
}

# Its module taints the kernel, until the guest ends.
proprietary_driver() {
	local function=/sys/bus/pci/devices/$LAB_GPU_BDF
	donard-cli region remove p2pmem0
	at_end "donard-cli region add --kind pci-bar --device $LAB_GPU_BDF --bar 2; give_to_group p2pmem0"
	insmod /opt/donard/modules/proprietary.ko
	at_end "echo >$function/driver_override; rmmod proprietary"
	echo nvidia >"$function/driver_override"
	echo "$LAB_GPU_BDF" >/sys/bus/pci/drivers_probe
	equal "list" '["nvidia","proprietary","535.0-lab"]' "$(shown '.gpus[] | [.driver, .driver_kind, .driver_version]' donard-cli list)"
	equal "codes" gpu-proprietary "$(gpu_codes)"
	matches "candidate" 'apt install nvidia-open-kernel-dkms' \
		"$(shown '.candidates[] | select(.kind == "gpu-nvidia") | .obstacle' donard-cli region candidates)"
	exits 3 "NVIDIA's proprietary module, which GPL modules cannot use: install the open one" \
		donard-cli region add --kind gpu-nvidia --device "$LAB_GPU_BDF"
}

core t "copy: no driver" no_driver
t "copy: wrong names" wrong_names
t "copy: a GPU that refuses" gpus_that_refuse
t "copy: two at a time" second_process
t "copy: stopped" stopped_copies
core t "doctor, list and candidates show a GPU" shows_gpu
t "a GPU whose DMA mask does not reach" short_mask
if can p2pdma; then
	t "static BAR1" static_bar1
	t "a region with p2pdma pages is not static BAR1" p2pdma_is_not_static
fi
# This taint switches lockdep off until the guest ends, and with it the purpose of a debug kernel.
can debug || t "proprietary driver" proprietary_driver
