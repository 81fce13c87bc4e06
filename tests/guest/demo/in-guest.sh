#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The part of tests/demo that runs in the guest.
set -euo pipefail

readonly MIB=$((1 << 20)) SIZE_MIB=256
readonly BYTES=$((SIZE_MIB * MIB))
readonly RUN=/tmp/demo
declare -A ROUTE VERIFIED BOUNCED DRAM DEVICE

say() {
	printf '\n== %s\n' "$*"
}

give_up() {
	printf 'demo: FAILED: %s\n' "$*" >&2
	exit 1
}

# Each 512 bytes begin with their own number, so that a block in a wrong place is noticed.
fill_alpha() {
	say "filling $SIZE_MIB MiB of drive alpha ($LAB_ALPHA) with a pattern"
	pattern "$SIZE_MIB" | dd of="$LAB_ALPHA" bs=1M iflag=fullblock oflag=direct status=none
}

# traced STEP FUNCTION... - runs it under the emulator's trace.
traced() {
	local step=$1 from
	shift
	from=$(stat -c %s /mnt/lab/trace.log)
	labctl trace on
	"$@"
	labctl trace off
	tail -c "+$((from + 1))" /mnt/lab/trace.log >"$RUN/$step.trace"
	labctl map >"$RUN/map"
	witness --json --map "$RUN/map" --trace "$RUN/$step.trace" >"$RUN/$step.witness"
}

# copy STEP SRC DST
copy() {
	say "donard-cli copy $2 $3 --size ${SIZE_MIB}M"
	donard-cli copy "$2" "$3" --size "${SIZE_MIB}M" --progress --json >"$RUN/$1.json"
	jq -r '"\(.bytes) bytes in \(.seconds * 100 | round / 100) s, route \(.route) (\(.route_evidence))"' \
		"$RUN/$1.json"
}

# note STEP DIRECTION - what the copy said and what the trace says.
note() {
	ROUTE[$1]=$(jq -r .route "$RUN/$1.json")
	BOUNCED[$1]=$(jq -r .bounced_bytes "$RUN/$1.json")
	DEVICE[$1]=$(jq -r ".bytes.$2.gpu" "$RUN/$1.witness")
	DRAM[$1]=$(jq -r '[.bytes.read, .bytes.write | .ram + .elsewhere] | add' "$RUN/$1.witness")
	printf 'the trace: drives moved %s bytes to or from the BAR, %s to or from DRAM\n' \
		"${DEVICE[$1]}" "${DRAM[$1]}"
	((DRAM[$1] == 0 && BOUNCED[$1] == 0 && DEVICE[$1] >= BYTES)) ||
		give_up "the payload did not go straight: $(cat "$RUN/$1.witness")"
}

# verify STEP A B - every byte; the witness has stopped, for this goes through DRAM.
verify() {
	cmp -n "$BYTES" "$2" "$3" || give_up "$2 and $3 differ"
	VERIFIED[$1]="all $BYTES"
}

main() {
	mkdir -p "$RUN"
	say "what is there (donard-cli list)"
	donard-cli list
	say "who reaches what (donard-cli topo)"
	donard-cli topo
	fill_alpha

	traced in copy in "$LAB_ALPHA" p2pmem0
	note in read
	say "comparing the drive with the file that the host keeps behind the BAR"
	verify in "$LAB_ALPHA" "$(labctl backing gpu)"

	traced out copy out p2pmem0 "$LAB_BETA"
	note out write
	say "comparing both drives"
	verify out "$LAB_ALPHA" "$LAB_BETA"
	table
}

table() {
	local step
	printf '\n%-26s %12s  %-8s %22s  %s\n' "" bytes route "bytes that touched DRAM" verified
	for step in in out; do
		printf '%-26s %12s  %-8s %22s  %s\n' "$(name_of "$step")" "$BYTES" "${ROUTE[$step]}" \
			"${DRAM[$step]}" "${VERIFIED[$step]} bytes equal"
	done
	cat <<-END

		All of this was emulated (QEMU, software emulation, Linux $(uname -r)): the routes and
		byte counts are exact, the speeds say nothing about real hardware. "Touched DRAM" is by the
		emulator's trace of every address that a drive was told to use.
	END
}

name_of() {
	case $1 in
	in) echo "NVMe alpha -> GPU-like BAR" ;;
	out) echo "GPU-like BAR -> NVMe beta" ;;
	esac
}

main
