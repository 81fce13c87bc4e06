# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Random programs against the device nodes (fuzz.c): first those of the corpus, then ones made from them. On a kernel
# that shows the module's coverage they are led by it. Sourced by run.sh.
#
# To repeat: the console's log has "fuzz seed S thread N: PROGRAM" before each; put the last ones into a file, then
#   tests/rig/lab run --kernel K --share DIR -- fuzz -r /mnt/share/FILE /dev/p2pmem0 /dev/p2pmem1 /dev/p2pmem2
# To learn more, on kernel 7-debug: fuzz -t 3600 -c fuzz.corpus -o /mnt/share/learned NODE...; then fuzz -v -r learned
# says which program was the first to enter each function.

# shellcheck source=helpers/gpu.sh
. ./helpers/gpu.sh

readonly CORPUS=$PWD/fuzz.corpus
# The corpus alone enters 129 of 226: all but those that only root's calls, the driver core or a worker enter.
readonly FUNCTIONS_MIN=125

# Starts other users of a region's memory: an importer of dma-bufs, and RDMA.
start_others() {
	[[ -d /sys/module/importer ]] || insmod /opt/donard/modules/importer.ko
	at_end "rmmod importer"
	[[ -z $(ls /sys/class/infiniband 2>/dev/null) ]] || return 0
	modprobe -a rdma_rxe ib_uverbs
	rdma link add rxe0 type rxe netdev lo
	at_end "rdma link delete rxe0"
}

# fuzzed SECONDS - and then everything is given back.
fuzzed() {
	local region
	start_others
	fuzz -s "$SEED" -t $(($1 * SOAK)) -j 3 -c "$CORPUS" -d "$LAB_ALPHA" -p "$LAB_BETA_BDF" /dev/p2pmem0 /dev/p2pmem1 /dev/p2pmem2 |
		tee "$WORK/out"
	matches "programs run" ' [1-9][0-9]* programs' "$(cat "$WORK/out")"
	matches "raw ioctls" ' [1-9][0-9]* raw ioctls that the module knew' "$(cat "$WORK/out")"
	if can coverage; then
		matches "coverage seen" ', [1-9][0-9]* pairs' "$(cat "$WORK/out")"
		enters_enough
	fi
	for region in p2pmem0 p2pmem1 p2pmem2; do
		within 20 region_is_free "$region"
	done
}

# fuzzed_gpu PAGE-TYPE [ARGUMENT...] - of with_gpu: the same with memory of a GPU.
fuzzed_gpu() {
	with_gpu "${@:2}"
	donard-cli region add --kind gpu-nvidia --device "$LAB_GPU_BDF" --page-type "$1"
	start_others
	fuzz -s "$SEED" -t $((30 * SOAK)) -j 3 -c "$CORPUS" -d "$LAB_ALPHA" -p "$LAB_BETA_BDF" /dev/p2pmem0 /dev/p2pmem0 /dev/p2pmem2 |
		tee "$WORK/out"
	matches "programs run" ' [1-9][0-9]* programs' "$(cat "$WORK/out")"
	within 20 nothing_is_pinned
	within 20 region_is_free p2pmem2
}

# A corpus that lost its way into the module would enter fewer.
enters_enough() {
	local entered
	entered=$(sed -n 's/^fuzz: \([0-9]*\) of .* functions of the module entered.*/\1/p' "$WORK/out")
	((entered >= FUNCTIONS_MIN)) || fail "functions entered: expected $FUNCTIONS_MIN at least, seen $entered"
}

if can coverage; then
	t "led by coverage" fuzzed 600
	# Told even of a run that passed.
	sed -n 's/^\(fuzz: .* programs, .*\|fuzz: .* of the module entered\).*/#   \1/p' "$WORK/out"
else
	t "corpus and random programs" fuzzed 45
fi
# Generic pages can be pinned for long, which a callback would wait for.
t "GPU memory" fuzzed_gpu generic
! can p2pdma || t "GPU memory, driver without the persistent calls" fuzzed_gpu p2pdma --callback
