# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Two processes on one open file of a region, in every pair of calls, each killed at any moment, beside a victim, resets
# and removals (pairs.c). Sourced by run.sh.
#
# A failure says which round it was, and "again:" how to make that one again and again. For that put the line into
#   tests/rig/lab run --kernel K -- sh -c 'LINE'
# A race may want several minutes of it (-t); -p CALL:CALL makes all rounds of one pair.

# shellcheck source=removal.sh
. ./removal.sh

# paired SECONDS REGION [ARG...] - and then everything is given back.
paired() {
	within 10 region_is_free p2pmem0
	within 10 region_is_free p2pmem1
	pairs -s "$SEED" -t $(($1 * SOAK)) "${@:3}" "/dev/$2" "$LAB_BETA" | tee "$WORK/out"
	matches "rounds made" ' [1-9][0-9]* rounds' "$(cat "$WORK/out")"
	within 20 region_is_free p2pmem0
	within 20 region_is_free p2pmem1
}

# of_bar SECONDS [ARG...] - every kind of round: COPY to memory that is slow, resets, removals.
of_bar() {
	paired "$1" p2pmem0 -o /dev/p2pmem1 -R "/sys/bus/pci/devices/$LAB_GPU_BDF/reset" -e "${@:2}"
}

# of_cmb SECONDS [ARG...] - the CMB is reset with its controller, and only the nvme driver is told of that.
of_cmb() {
	local -a reset=("/sys/bus/pci/devices/$LAB_ALPHA_BDF/nvme/"nvme*/reset_controller)
	at_end cmb_is_back
	paired "$1" p2pmem1 -o /dev/p2pmem0 -m -R "${reset[0]}" -e "${@:2}"
}

# of_cmb_in_reset SECONDS - its bus is reset: for a tenth of a second it loses stores and answers with ones.
of_cmb_in_reset() {
	local dir=/sys/bus/pci/devices/$LAB_ALPHA_BDF before
	before=$(<"$dir/reset_method")
	at_end "echo $before >$dir/reset_method"
	echo bus >"$dir/reset_method"
	paired "$1" p2pmem1 -o /dev/p2pmem0 -m -R "$dir/reset"
}

cmb_is_back() {
	region_exists p2pmem1 || donard-cli region add --kind nvme-cmb --device "$LAB_ALPHA_BDF"
	give_to_group p2pmem1
}

core lt "beside resets and removals" of_bar 5
if can thorough; then
	# shellcheck disable=SC2034  # run_limited
	TEST_SECONDS=$((1800 * SOAK))
	lt "every pair" of_bar 120 -a
	! can p2pdma || lt "P2PDMA pages" typed p2pdma of_bar 60
	lt "of a CMB" of_cmb 60
	lt "of a CMB whose bus is reset" of_cmb_in_reset 60
fi
