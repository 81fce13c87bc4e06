# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The matrix of guests, and what is made of their output. Sourced by tests/check, never run.

# A boot takes its time; a guest with all suites is the longest.
readonly GUEST_SECONDS=1200

# plan_guests - "KERNEL TOPOLOGY FABRIC SUITE..." a line. The whole of it with the usual machine of each
# kernel; the others, on the newest kernel, for what is particular to them. With a fabric other than "-",
# two machines are booted, joined by it.
plan_guests() {
	local kernel topology fabric
	for kernel in 7 6.12 6.1; do
		echo "$kernel switch - perm uapi folio copy fio routes dmabuf lifetime badinput"
	done
	for topology in rootports iommu swiotlb high-bar; do
		echo "7 $topology - routes dmabuf"
	done
	echo "6.1 iommu - routes dmabuf"
	echo "7 pciehp - lifetime dmabuf"
	for fabric in rxe siw; do
		echo "7 switch $fabric seeds perftest pyverbs rdma"
		echo "6.12 switch $fabric perftest rdma"
		echo "6.1 switch $fabric perftest rdma"
	done
}

# wanted_suites SUITE... - those that --only leaves, as run.sh takes them.
wanted_suites() {
	local suite
	for suite in "$@"; do
		if [[ -z $OPT_ONLY ]]; then
			echo "$suite"
		elif [[ ${OPT_ONLY%%/*} == "$suite" ]]; then
			echo "$OPT_ONLY"
		fi
	done
}

run_guests() {
	local kernel topology fabric suites
	local -a wanted
	while read -r -u 3 kernel topology fabric suites; do
		[[ -z $OPT_KERNEL || $OPT_KERNEL == "$kernel" ]] || continue
		[[ -z $OPT_TOPOLOGY || $OPT_TOPOLOGY == "$topology" ]] || continue
		[[ -z $OPT_FABRIC || $OPT_FABRIC == "$fabric" ]] || continue
		# shellcheck disable=SC2086  # words
		mapfile -t wanted < <(wanted_suites $suites)
		((${#wanted[@]} == 0)) || run_guest "$kernel" "$topology" "$fabric" "${wanted[@]}"
	done 3< <(plan_guests)
}

# run_guest KERNEL TOPOLOGY FABRIC SUITE...
run_guest() {
	local kernel=$1 topology=$2 fabric=$3 where="$1 $2" out=$LOGS/guest.out err=$LOGS/guest.err status=0
	local -a network=()
	shift 3
	[[ $fabric == - ]] || { network=(--peer --fabric "$fabric"); where+=" $fabric"; }
	progress "guest: kernel $where: ${*%%/*}"
	# iomem=relaxed: poke.c reaches the registers of a drive that its driver has claimed.
	tests/rig/lab run --kernel "$kernel" --topology "$topology" "${network[@]}" \
		--share "$REPO/tests/guest" --append iomem=relaxed --timeout "$GUEST_SECONDS" -- bash /mnt/share/run.sh "$@" 2>"$err" >"$out" || status=$?
	count_guest "$where" "$out"
	judge_guest "$where" "$status" "$out" "$err" "$@"
}

# count_guest WHERE OUTPUT
count_guest() {
	local line
	while IFS= read -r line; do
		case $line in
		'ok - '*) pass "$1: ${line#ok - }" ;;
		'skip - '*) SKIPPED=$((SKIPPED + 1)); printf 'skip - %s: %s\n' "$1" "${line#skip - }" ;;
		'not ok - '*) failed "$1: ${line#not ok - }" ;;
		'#   '*) printf '%s\n' "$line" ;;
		esac
	done <"$2"
}

# judge_guest WHERE STATUS OUTPUT ERRORS SUITE... - a boot that died or lacks an end failed, whatever it
# printed before.
judge_guest() {
	local where=$1 status=$2 out=$3 err=$4 suite
	shift 4
	for suite in "$@"; do
		suite=${suite%%/*}
		grep -qx "# end $suite" "$out" || failed "$where: $suite: the suite did not come to its end"
	done
	if ((status != 0)) || ! grep -qx '# end of boot' "$out"; then
		failed "$where: the guest ended with status $status in $(grep '^# run' "$out" | tail -n 1)" "$err"
	fi
}
