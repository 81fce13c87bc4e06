# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Cutting the second guest's power, and comparing what it holds afterwards with what it acknowledged. Sourced by suites, never
# run.
#
# A life of the second guest writes lines as cutlog.c does (holds, torn, recovered, ack) to a file of this guest, which
# no cut concerns. The lives of a test are numbered. The same seed draws the same numbers, but for the moments of the emulators.

# The number of cuts since this guest booted, as the host counts them.
CUTS=0

# Steps of the log that its server has, too, each with the function that it begins in.
# shellcheck disable=SC2034  # suites
readonly STEPS=(APPEND:dnd_cache_append BARRIER:dnd_cache_commit DESTAGE:donard_queue_write FLUSH:donard_queue_flush
	TAIL:dnd_cache_write_tail REUSE:dnd_cache_blocks_drop RECOVERY:dnd_cache_take BEGIN:dnd_cache_begin
	IN-BARRIER:donard_memory_sync)

count_cuts() {
	CUTS=0
	while [[ -e /mnt/lab/peer/console.log.$((CUTS + 1)) ]]; do
		CUTS=$((CUTS + 1))
	done
}

was_cut() {
	[[ -e /mnt/lab/peer/console.log.$1 ]]
}

# A connection that was under way when the power went would wait for its retries: hence new ones.
peer_is_up() {
	timeout 20 labctl peer true 2>/dev/null
}

# find_peer_drive - in PEER_ALPHA, since drives change their numbers from boot to boot.
# shellcheck disable=SC2034  # suites
find_peer_drive() {
	# shellcheck disable=SC2016  # that guest's
	PEER_ALPHA=$(labctl peer bash -c '. <(labctl env); echo "$LAB_ALPHA"')
}

# blank_peer - wipes the second guest's drive and NVRAM. The same seed writes the same bytes to the same places, so a loss would
# not show over the bytes of an earlier test.
blank_peer() {
	find_peer_drive
	labctl peer blkdiscard -f -z "$PEER_ALPHA" -l 1M
	labctl peer sh -c "head -c \$(cat /sys/class/p2pmem/p2pmem2/size) /dev/zero >/dev/p2pmem2"
}

# live LIFE FUNCTION... - runs one life of the second guest, up to its cut; FUNCTION gets LIFE. If AT is set, the cut comes when stopat
# reports that place, else after the time CUT_AFTER.
live() {
	local life=$1 pid
	shift
	count_cuts
	# A life of the same number may have stopped before, and said so there.
	: >"$WORK/life.$life"
	# With job control, because the function's programs have to end with it.
	set -m
	"$@" "$life" >"$WORK/life.$life" 2>"$WORK/life.$life.err" &
	pid=$!
	set +m
	if ((${#AT[@]})); then
		within 180 stopped_or_ended "$life" "$pid"
		stopped "$life" ||
			fail "life $life of seed $SEED ended without a stop: $(tail -qn 3 "$WORK/life.$life.err" "$WORK/server.$life" 2>/dev/null)"
	else
		# Mostly while it writes; else while it starts, or recovers.
		((RANDOM % 4 == 0)) || within 180 acknowledges "$life"
		sleep "$CUT_AFTER"
		! ended "$pid" || fail "life $life of seed $SEED ended by itself: $(cat "$WORK/life.$life.err")"
		! complains "$life" || fail "life $life of seed $SEED came to its end by itself: $(cat "$WORK/life.$life.err")"
	fi
	labctl cut-power
	within 60 was_cut $((CUTS + 1))
	# It would wait for an answer of the guest that is gone.
	kill -KILL -- "-$pid" 2>/dev/null || true
	wait "$pid" 2>/dev/null || true
	within 120 peer_is_up
	find_peer_drive
	keep_journal "$life"
}

# complains LIFE - of anything but that there is no server yet.
complains() {
	grep -E '^(cutlog|cutclient): ' "$WORK/life.$1.err" | grep -v ': not yet: ' >/dev/null
}

acknowledges() {
	grep -q '^ack' "$WORK/life.$1"
}

# stopped LIFE - stopat's line comes after all output before the stop, which is therefore complete.
stopped() {
	grep -qsx stopped "$WORK/life.$1" "$WORK/server.$1"
}

stopped_or_ended() {
	stopped "$1" || ended "$2"
}

# keep_journal LIFE - keeps whole lines only, since the last one may be incomplete. It drops no whole line, which may show the loss.
keep_journal() {
	echo "life $1" >>"$WORK/journal"
	if [[ -n $(tail -c 1 "$WORK/life.$1") ]]; then
		sed '$d' <"$WORK/life.$1"
	else
		cat "$WORK/life.$1"
	fi >>"$WORK/journal"
	printf 'life %d: %d acknowledged, %d blocks told\n' "$1" "$(grep -c '^ack' "$WORK/life.$1")" \
		"$(grep -c '^holds' "$WORK/life.$1")"
}

# last_life LIFE FUNCTION... - without a cut: everything comes to the drive, and is compared there, too.
last_life() {
	local life=$1
	shift
	AT=()
	"$@" "$life" 100 >"$WORK/life.$life" 2>"$WORK/life.$life.err" ||
		fail "life $life of seed $SEED: status $?: $(cat "$WORK/life.$life.err")"
	echo end >>"$WORK/life.$life"
	keep_journal "$life"
}

# find_losses - each block must hold its last acknowledged write or a newer one, whole, and keep what it was seen to hold. The blocks of
# a write come together: if one of them holds it, no other holds an older write.
find_losses() {
	awk -v seed="$SEED" '
		function order(life, number) { return life * 16777216 + number }
		$1 == "life" { delete now }
		$1 == "ack" { for (b = $4; b < $4 + $5; b++) if (best[b] < order($2, $3)) { best[b] = order($2, $3); acks++ } }
		$1 == "holds" { now[$2] = order($3, $4); first[$2] = $5; count[$2] = $6 }
		$1 == "torn" { printf "seed %s: block %d has the bytes of no write\n", seed, $2; bad = 1 }
		$1 == "recovered" {
			recoveries++
			for (b in best)
				if (now[b] < best[b]) {
					printf "seed %s: block %d: write %d of life %d was acknowledged, it holds %d of %d\n", seed, b,
						best[b] % 16777216, best[b] / 16777216, now[b] % 16777216, now[b] / 16777216
					bad = 1
				}
			for (b in now)
				for (c = first[b]; c < first[b] + count[b]; c++)
					if (!(c in now) || now[c] < now[b]) {
						printf "seed %s: block %d holds write %d of life %d, block %d of it an older one\n", seed, b,
							now[b] % 16777216, now[b] / 16777216, c
						bad = 1
					}
			for (b in now)
				best[b] = now[b]
			delete now
		}
		END {
			printf "%d recoveries, %d blocks acknowledged\n", recoveries, acks
			exit bad ? 4 : !recoveries || !acks
		}' "$WORK/journal"
}

judge_journal() {
	local status=0
	cat /mnt/lab/peer/lost.* 2>/dev/null | sort | uniq -c | sort -rn | sed -n 1,5p
	find_losses || status=$?
	((status != 4)) || wrong "seed $SEED: what was acknowledged is not there (above)"
	equal "status of what looks for losses, seed $SEED" 0 "$status"
}

# cut_at_every_step BEGIN LIFE OBJECT STEP:FUNCTION... - a life for each step, cut where it comes to that for the Nth time.
cut_at_every_step() {
	local begin=$1 life_of=$2 object=$3 life=1 step count
	shift 3
	RANDOM=$((SEED % 32768))
	"$begin"
	labctl lossy "$SEED"
	for step in "$@"; do
		count=$((1 + RANDOM % 12))
		# Once a life.
		[[ $step != BEGIN:* ]] || count=1
		echo "life $life: at ${step%:*}, number $count"
		AT=(stopat "$object" "${step#*:}" "$count")
		live "$life" "$life_of"
		life=$((life + 1))
	done
	last_life "$life" "$life_of"
	judge_journal
}

# cut_at_random BEGIN LIFE CUTS
cut_at_random() {
	local begin=$1 life_of=$2 cuts=$3 life
	RANDOM=$((SEED % 32768))
	AT=()
	"$begin"
	labctl lossy "$SEED"
	for ((life = 1; life <= cuts; life++)); do
		printf -v CUT_AFTER '%d.%02d' $((RANDOM % 3)) $((RANDOM % 100))
		echo "life $life: after $CUT_AFTER s"
		live "$life" "$life_of"
	done
	last_life "$life" "$life_of"
	judge_journal
}

# within_cuts CUTS t NAME FUNCTION... - each of them takes a boot.
within_cuts() {
	local TEST_SECONDS=$((TEST_SECONDS + HANG_SECONDS * $1))
	shift
	"$@"
}
