# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A copy that is caught in flight: its drive is slowed down, so that commands are under way for as long as a
# test wants. Sourced by suites, never run.

# The largest command of the drives: the block layer makes no larger one of several.
readonly COPY_BLOCK=$((512 << 10)) COPY_DEPTH=8
# All lanes' commands take this long, and the copy a minute.
readonly COPY_DRAIN_SECONDS=4
# Nothing ends before it is let go.
# shellcheck disable=SC2034  # the suites
readonly STANDSTILL=1

# start_copy DRIVE-ID SRC DST [ARG...] - slows that drive; returns when commands are in flight. COPY is the pid.
start_copy() {
	local id=$1 bdf
	shift
	bdf=$(bdf_of "$id")
	count_passthrough "$bdf"
	labctl slow "$id" $((COPY_BLOCK * COPY_DEPTH / COPY_DRAIN_SECONDS))
	at_end "labctl slow $id 0"
	# The shell ignores SIGINT for background jobs, but a user's Ctrl-C is not ignored.
	env --default-signal=INT donard-cli copy "$@" --size 60M --block-size "$COPY_BLOCK" \
		--queue-depth "$COPY_DEPTH" --json >"$WORK/copy" 2>"$WORK/copy.err" &
	COPY=$!
	at_end "kill -KILL $COPY 2>/dev/null"
	# The proof goes ahead of the copy, one request at a time.
	within 30 copy_moves "$bdf"
}

# in_flight BDF - prints how many commands the drive has not answered yet. Uses the block layer's statistics if these count commands of
# passthrough, too (from 6.13 on, count_passthrough), else its debugfs.
in_flight() {
	local path
	for path in /sys/bus/pci/devices/"$1"/nvme/nvme*/nvme*n1; do
		if [[ -e $path/queue/iostats_passthrough ]]; then
			cat "$path/inflight"
		else
			sed -n 's/^busy=//p' "/sys/kernel/debug/block/${path##*/}"/hctx*/tags
		fi
	done | awk '{ for (i = 1; i <= NF; i++) busy += $i } END { print busy + 0 }'
}

# count_passthrough BDF
count_passthrough() {
	local switch
	for switch in /sys/bus/pci/devices/"$1"/nvme/nvme*/nvme*n1/queue/iostats_passthrough; do
		[[ ! -e $switch ]] || echo 1 >"$switch"
	done
}

copy_moves() {
	! copy_is_over || fail "the copy ended early: $(cat "$WORK/copy.err")"
	(($(in_flight "$1") > 1))
}

copy_is_over() {
	ended "$COPY"
}

# copy_ends STATUS CODE REGEX - by itself: its status, the stable word and the message.
copy_ends() {
	local status=0
	within 40 copy_is_over
	wait "$COPY" || status=$?
	equal "status of the copy ($(cat "$WORK/copy.err"))" "$1" "$status"
	equal "code of the copy" "$2" "$(jq -r .error.code "$WORK/copy")"
	matches "the copy's message" "$3" "$(jq -r .error.message "$WORK/copy")"
	matches "what the copy says that it did" "from the start had been copied" "$(cat "$WORK/copy.err")"
	bytes_done
}

# The JSON of a failed copy says what the text does: as "8 MiB", or "1.50 MiB (1572864 B)".
bytes_done() {
	local bytes said
	bytes=$(jq -r .bytes "$WORK/copy")
	said=$(sed -n 's/^donard-cli: copy: \(.*\) from the start had been copied$/\1/p' "$WORK/copy.err")
	[[ $said == *"($bytes B)" ]] || said=$(numfmt --from=iec-i --suffix=B "${said/ /}" | tr -d B)
	matches "bytes done, in JSON, and those of the text" "(^|[(])$bytes( B[)])?\$" "$said"
	said=$(jq -r .error.message "$WORK/copy" | sed -n 's/.* Up to \([0-9]*\) bytes of .*, may have been overwritten\..*/\1/p')
	equal "bytes behind them, in JSON, and those of the text" "$(jq .overwritten_bytes "$WORK/copy")" "${said:-0}"
	equal "a copy that failed is verified" false "$(jq .verified "$WORK/copy")"
}

# nobody_holds REGION - all of it is free.
nobody_holds() {
	within 10 region_is_free "$1"
	equal "holders of $1" "" "$(attr "$1" holders)"
	equal "state of $1" ready "$(attr "$1" state)"
}
