# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What tests/check makes of failures in guests: who gets a second chance, and what comes of it. The guests are made up.
# Sourced by tests/check, never run.

# with_plan TEXT - what a guest prints, with its plan if it comes to its end.
with_plan() {
	local out
	printf -v out '%b' "$1"
	printf '%s' "$out"
	[[ $out != *'# end of boot'* ]] || printf '1..%d\n' "$(grep -cE '^(not )?ok ' <<<"$out")"
}

# verdict STATUS FIRST SECOND [LAST-WORDS] - the end of a run whose guest printed FIRST and ended with STATUS. SECOND is what the
# next one prints.
verdict() {
	# shellcheck disable=SC2030,SC2031,SC2034,SC2317  # for the functions that are tried
	(
		LOGS=$(mktemp -d "$LOGS/verdict.XXXXXX") HOST='' SUITE='' OPT_RING=gate OPT_FAILED='' SEED=1
		KEPT=$LOGS/kept
		failures_begin
		PASSED=0 FAILED=0 SKIPPED=0 BESIDE=0 FLAKY=0 CHANCES=() RUNNING=() TIMES=()
		progress() { :; }
		planned_guests() { printf '7\tswitch\t-\tperm\n'; }
		guest_status=$1 first=$2 second=$3 last_words=${4:-the last of its words} booted=''
		start_guest() {
			local dir
			dir=$(mktemp -d "$LOGS/guest.XXXXXX")
			printf '%s\n' "$1 $2" "${@:4}" >"$dir/what"
			printf '%s\n' "$@" >"$dir/plan"
			echo '1 1' >"$dir/took"
			echo "$KEPT/guest.${dir##*.}" >"$dir/logs"
			echo "$last_words" >"$dir/err"
			if [[ -n $booted ]]; then
				with_plan "$second" >"$dir/out"
				true &
			else
				with_plan "$first" >"$dir/out"
				booted=1
				(exit "$guest_status") &
			fi
			RUNNING[$!]=$dir
		}
		run_guests
		results_tell
		results_end
	)
}

# ends_as STATUS REGEX LAST-LINE FIRST SECOND [GUEST-STATUS [LAST-WORDS]] - the run's status, what is in its output, and its last line.
ends_as() {
	local status=0 out
	out=$(verdict "${6:-0}" "$4" "$5" "${7-}") || status=$?
	printf 'expected status %d, /%s/ and at the end "%s"; seen %d and:\n%s\n' "$1" "$2" "$3" "$status" "$out"
	((status == $1)) && grep -qE -- "$2" <<<"$out" && [[ ${out##*$'\n'} == "$3" ]]
}

readonly LOST_TIMER='lab: the emulator lost a timer of a processor'
readonly SOUND_END='# end perm\n# end of boot\n'
readonly FELL='not ok - perm: a: b\n#   exit status 1; its last output:\n#   | FAILED: in time: something\n'

# of_speed LINE - would a test that failed with that as its output run once more?
of_speed() {
	# shellcheck disable=SC2016  # the harness's own
	! grep -qE "$(sed -n "s/^readonly NOT_OF_SPEED='\(.*\)'\$/\1/p" tests/guest/lib.sh)" <<<"$1"
}

not_of_speed() {
	! of_speed "$1" || { echo "it would run once more: $1"; return 1; }
}

each_not_of_speed() {
	local line
	for line in 'WRONG: on the drive: /a and /b differ' 'the kernel complained:' '/a /b differ: byte 5, line 1' \
		'/a /b differ: char 5, line 1' 'cmp: EOF on /a' "FAILED: exit status of 'x' (it said: y): expected '0', seen '4'" \
		'donard-cli copy: status 4, {}' 'uapi: line 12: not so: fd >= 0' "access: line 7: byte: expected 1 (0x1), seen 0 (0)" \
		"folio: round 3: another owner's bytes" 'FAILED: in time: region_is_free p2pmem0' \
		'FAILED: in time: peer_is_free p2pmem0' 'FAILED: in time: nothing_is_pinned' \
		"AssertionError: expected b'a', seen b'b'" 'verify: bad magic header 0, wanted acca at file x' \
		'crc32c: verify failed at file x offset 0, length 4096'; do
		not_of_speed "$line" || return
	done
}

# said_by PROGRAM WORDS - what tests/guest/PROGRAM.c says with these words in it, as err() prints it.
said_by() {
	sed -nE "s/.*\berrx?\(1, \"([^\"]*$2[^\"]*)\".*/$1: \1/; T; s/%(zu|lu|d)/7/g; s/%s/after that/g; p; q" "tests/guest/$1.c"
}

# Messages of programs about bytes in memory, and about other things.
each_byte_is_not_of_speed() {
	local verdict program words said bad=0
	while read -r verdict program words; do
		said=$(said_by "$program" "$words")
		[[ -n $said ]] || { echo "$program.c does not say: $words"; bad=1; }
		"$verdict" "$said" || { echo "not $verdict: $said"; bad=1; }
	done <<-END
		not_of_speed folio page %zu: expected
		not_of_speed folio another owner's bytes
		not_of_speed ring are not the drive's
		not_of_speed ring is not zero
		not_of_speed bigbar byte: expected
		not_of_speed bigbar expected 7 and 8
		not_of_speed bigbar back from the drive
		not_of_speed bigbar a folio has
		of_speed folio mapped by 2 MiB entries
		of_speed ring expected %d
		of_speed bigbar expected %llu, seen
	END
	return "$bad"
}

# Messages of the suites' assertions about bytes, about the kernel's messages, and about left-over files.
each_assertion_is_exact() {
	local words said bad=0
	while read -r words; do
		said=$(grep -hE "^[^#]*\"$words" tests/guest/*.sh tests/guest/helpers/*.sh)
		if [[ -z $said ]] || grep -vE '(^|[[:space:]])(exactly|wrong) "' <<<"$said"; then
			echo "neither exactly nor wrong: $words"
			bad=1
		fi
	done <<-END
		what the other process saw
		fingerprint after
		2 MiB entries left behind
		complaints of the kernel
		words of the first copy that the second has
		like words of the pattern
		sum of its bytes
		digest of
		nothing was trimmed
	END
	return "$bad"
}

each_of_speed() {
	local line
	for line in 'FAILED: in time: region_gone p2pmem0' "FAILED: state: expected 'ready', seen 'draining'" \
		'bigbar: bytes from the drive: expected 1048576, seen 18446744073709551615' \
		'stopped after 300 s' "FAILED: exit status of 'x' (it said: y): expected '1', seen '137'"; do
		of_speed "$line" || { echo "it would not run once more: $line"; return 1; }
	done
}

# of_cache COMMAND... - with the harness's assertions, of a client and a journal that are made up.
# shellcheck disable=SC2030,SC2031,SC2034,SC2317,SC1091  # for the functions that are tried
of_cache() (
	WORK=$(mktemp -d "$LOGS/verdict.XXXXXX") SEED=1
	eval "$(sed -n '/^fail() {/,/^# matches /p' tests/guest/lib.sh)"
	cd tests/guest || exit
	. helpers/cacheserver.sh
	. helpers/cuts.sh
	touch "$WORK/served" "$WORK/served.err"
	client() { echo "$1"; }
	printf '%b' "${JOURNAL-}" >"$WORK/journal"
	"$@" 2>&1
)

# each_loss_is_wrong JOURNAL... - of lives that were cut
each_loss_is_wrong() {
	local JOURNAL out
	for JOURNAL; do
		! out=$(of_cache judge_journal) || { echo "no loss was found: $out"; return 1; }
		not_of_speed "$out" || return
	done
}

what_a_cache_lost_is_wrong() {
	local recovered='recovered 1\n' kept='life 1\nack 1 1 0 2\nlife 2\nholds 0 1 1 0 2\n' JOURNAL out
	local both="${kept}holds 1 1 1 0 2\n"
	# The last: half of a write that was not acknowledged.
	each_loss_is_wrong "$kept$recovered" "$both${recovered}life 3\n$recovered" "${both}torn 5\n$recovered" \
		"${both}holds 2 1 2 2 2\n$recovered" "${kept}holds 1 1 2 1 2\n$recovered" || return
	for JOURNAL in "$both$recovered" "${kept}holds 1 1 2 1 1\n$recovered" "${both}holds 2 1 2 2 2\nholds 3 1 2 2 2\n$recovered"; do
		of_cache judge_journal || return
	done
	out=$(of_cache says 'equal 4096' 'differs at 0')
	not_of_speed "$out" || return
	out=$(of_cache says 'equal 4096' peer-lost)
	of_speed "$out" || { echo "it would not run once more: $out"; return 1; }
}

# Failures, and the run that --failed asks for then.
# shellcheck disable=SC2030,SC2031,SC2034  # for the functions that are tried
failed_run_again() (
	LOGS=$(mktemp -d "$LOGS/verdict.XXXXXX") SUITE='' OPT_FAILED=''
	KEPT=$LOGS/kept OPT_RING=all
	failures_begin
	failed a '' guest 7 switch - "perm/it's so"
	failed b '' guest 7 switch - copy perm
	failed c '' guest 6.1 switch one "perm/it's so"
	SUITE=cli failed "cli: d" ''
	SUITE=cli failed 'cli: \t' ''
	SUITE=unit failed "unit-asan: e" ''
	SUITE=lab failed "the lab" '' host lab
	OPT_RING=gate
	failures_read
	diff <(printf '%s\n' "7	switch	-	perm/it's so	copy	perm" "6.1	switch	one	perm/it's so") <(failed_guests) &&
		has_failed cli && has_failed cli "cli: d" && has_failed cli 'cli: \t' && ! has_failed cli "cli: e" &&
		has_failed unit "unit-asan: e" && ! has_failed unit "unit: e" && has_failed lab "lab: a" && ! has_failed abi && in_ring all
)

# The run that --failed began was broken off, or one before its first failure.
# shellcheck disable=SC2030,SC2031,SC2034  # for the functions that are tried
failed_is_not_lost() (
	LOGS=$(mktemp -d "$LOGS/verdict.XXXXXX") SUITE=cli OPT_FAILED=''
	KEPT=$LOGS/kept
	failures_begin
	failed 'cli: a' ''
	failures_tell
	failures_read
	OPT_FAILED=1
	failures_begin
	FAILED_ROWS=()
	failures_read
	printf 'rows: %s\n' "${FAILED_ROWS[@]}"
	has_failed cli 'cli: a' || return
	failures_begin
	FAILED=0 failures_tell
	(failures_read) 2>"$LOGS/said" && grep '^check: nothing failed last$' "$LOGS/said" || return
	OPT_FAILED=''
	failures_begin
	! (failures_read) 2>"$LOGS/said" && grep 'the last run was broken off' "$LOGS/said"
)

# failed_under_another_name - of what failed last on the host, "old name" is not there any more; of what failed in guests, one gives
# no result, and one boot dies.
# shellcheck disable=SC2030,SC2031,SC2034  # for the functions that are tried
failed_under_another_name() (
	LOGS=$(mktemp -d "$LOGS/verdict.XXXXXX") SUITE=cli OPT_FAILED=1 PASSED=0 FAILED=0 SKIPPED=0 BESIDE=0
	KEPT=$LOGS/kept PLAN=(7 switch - perm/b perm/old:\ a)
	FAILED_ROWS=($'host\tcli\ta' $'host\tcli\told name' $'guest\t7\tswitch\t-\tperm/b\tperm/old: a' $'guest\t6.1\tswitch\tone\tcopy/c')
	failures_begin
	try "cli: a" true
	try "cli: new name" false
	SUITE=''
	guest_result '7 switch' "$LOGS" 1 ok 'perm: b'
	failed '6.1 switch: the guest ended' '' guest 6.1 switch one copy/c
	results_tell
	diff - <(sort "$KEPT/again") <<-END && ((FAILED == 3))
		guest	6.1	switch	one	copy/c
		guest	7	switch	-	perm/old: a
		host	cli	old name
	END
)

# Neither of a run of which nothing ran, nor of what --failed asked it for.
# shellcheck disable=SC2030,SC2031,SC2034  # for the functions that are tried
nothing_run_is_not_lost() (
	LOGS=$(mktemp -d "$LOGS/verdict.XXXXXX") SUITE='' OPT_FAILED='' PASSED=0 FAILED=0 SKIPPED=0 BESIDE=0
	KEPT=$LOGS/kept FAILED_ROWS=()
	failures_begin
	results_tell
	! (failures_read) 2>"$LOGS/said" && grep '^check: the last run failed, and has no test to run again$' "$LOGS/said" || return
	OPT_FAILED=1 FAILED=0 FAILED_ROWS=($'host\tcli' $'guest\t7\tswitch\t-\tperm')
	failures_begin
	results_tell
	diff <(printf '%s\n' "${FAILED_ROWS[@]}") "$KEPT/again"
)

# A suite whose process is killed, and one behind it.
# shellcheck disable=SC2030,SC2031,SC2034,SC2317  # for the functions that are tried
a_host_that_dies_is_told() (
	LOGS=$(mktemp -d "$LOGS/verdict.XXXXXX") SUITE='' OPT_RING=gate SEED=1 OPT_ONLY='' OPT_FAILED='' RUNNING=() TIMES=() HOST=''
	KEPT=$LOGS/kept
	failures_begin
	ends_here() { echo its last words; kill -KILL "$BASHPID"; }
	suite=frob
	eval "run_$suite() { try 'frob: a' true; try 'frob: b' ends_here; }"
	start_host "$suite" later
	while ((${#RUNNING[@]})); do finish_one; done >"$LOGS/said" 2>&1
	cat "$LOGS/said" "$KEPT/again"
	grep -q '^not ok - the suites of the host did not come to their end, in: frob: b$' "$LOGS/said" &&
		grep -q '^#   | its last words$' "$LOGS/said" && grep -q '^#   again: tests/check --only frob$' "$LOGS/said" &&
		diff <(printf 'host\t%s\n' frob later) "$KEPT/again"
)

# As while the lab downloads or builds something. It waits for that in $(...), as the lab does, and is told to end by its group.
# shellcheck disable=SC2030,SC2031,SC2034,SC2317  # for the functions that are tried
what_is_set_up_is_ended() (
	LOGS=$(mktemp -d "$LOGS/verdict.XXXXXX") RUNNING=() HOST='' OPT_RING=gate SEED=1
	KEPT=$LOGS/kept here=$LOGS
	mkfifo "$LOGS.began"
	tests/rig/lab() {
		local built
		trap 'exit 143' TERM
		built=$(exec 9>"$here.lock"; flock 9; echo >"$here.began"; sleep "$HANG_SECONDS")
	}
	start_guest 7 switch - perm 2>/dev/null
	read -r <"$LOGS.began"
	SECONDS=0
	results_clean_up
	echo "ended after $SECONDS s"
	((SECONDS < HANG_SECONDS / 2)) && [[ ! -e $here ]] && flock -n "$here.lock" true
)

# A suite with a word that is no command, where a test may look for one.
# shellcheck disable=SC2030,SC2031,SC2034,SC2317  # for the functions that are tried
a_wrong_word_has_failed() (
	LOGS=$(mktemp -d "$LOGS/verdict.XXXXXX") SUITE='' OPT_RING=gate SEED=1 OPT_ONLY='' OPT_FAILED='' RUNNING=() TIMES=() HOST=''
	KEPT=$LOGS/kept
	failures_begin
	looks() { ! no-such-program; }
	suite=frob
	eval "run_$suite() { try 'frob: a' looks; trie 'frob: b' true; }"
	start_host "$suite"
	while ((${#RUNNING[@]})); do finish_one; done >"$LOGS/said" 2>&1
	cat "$LOGS/said"
	grep -q '^ok - frob: a$' "$LOGS/said" && grep -q '^not ok - frob: there is no command trie$' "$LOGS/said" &&
		diff "$KEPT/again" - <<<$'host\tfrob'
)

# run_made LINE... - what run.sh says of a suite of these lines, on a host that lacks what guests have.
# shellcheck disable=SC2031  # by other functions, for themselves
run_made() {
	local dir
	dir=$(mktemp -d "$LOGS/verdict.XXXXXX")
	cp -r tests/guest/{run.sh,helpers} "$dir"
	sed "s|^RESULTS=.*|RESULTS=$dir/results|; /^for builtin/,/^fdflags/d" tests/guest/lib.sh >"$dir/lib.sh"
	printf '%s\n' "$@" >"$dir/made.sh"
	LAB_CAN='' bash "$dir/run.sh" made 2>&1
}

wrong_words_of_guests_have_failed() {
	local said
	said=$(run_made 'croe t "a" true')
	echo "$said"
	grep -q '^not ok - made: there is no command croe$' <<<"$said" && grep -qx '1\.\.1' <<<"$said" || return
	said=$(run_made 'skip "a" "b"' 'if')
	echo "$said"
	! grep -q '^# end made$' <<<"$said"
}

# prove_reads STATUS FIRST SECOND - does it agree with the run's status?
# shellcheck disable=SC2031  # by other functions, for themselves
prove_reads() {
	local status=0
	verdict 0 "$2" "$3" >"$LOGS/run.tap"
	prove -e cat "$LOGS/run.tap" || status=$?
	(((status != 0) == $1))
}

# tap_reads LINE VERDICT NAME - in the words of whoever printed it.
# shellcheck disable=SC2031  # by other functions, for themselves
tap_reads() {
	local seen
	printf '%s\n1..1\n' "$1" >"$LOGS/one.tap"
	seen=$(tap_each "$LOGS/one.tap" echo)
	printf 'expected "%s", seen "%s"\n' "$2 $3" "$seen"
	[[ $seen == "$2 $3"* ]] && tap_is_whole "$LOGS/one.tap"
}

each_form_is_read() {
	tap_reads 'ok - perm: a' ok 'perm: a' && tap_reads 'ok 3 - test_a' ok test_a &&
		tap_reads 'not ok 3 - test_a' fail test_a && tap_reads 'ok - perm: a # SKIP no such kernel' skip 'perm: a no such kernel' &&
		tap_reads 'not ok 3 # SKIP test_a' skip test_a && tap_reads 'ok 3 # SKIP test_a' skip test_a &&
		tap_reads 'ok - a # 3' ok 'a # 3'
}

# kept_again RING FRESH ONLY - what two runs say, of one guest, that is made of the same things each time.
# shellcheck disable=SC2030,SC2031,SC2034,SC2317  # for the functions that are tried
kept_again() (
	LOGS=$(mktemp -d "$LOGS/verdict.XXXXXX") SUITE='' OPT_RING=$1 OPT_FRESH=$2 OPT_ONLY=$3 OPT_FAILED='' OPT_SEED=''
	KEPT=$LOGS/kept
	export DONARD_CACHE=$LOGS/cache
	mkdir "$DONARD_CACHE"
	failures_begin
	progress() { :; }
	tests/rig/lab() { cat "$LOGS/parts"; }
	planned_guests() { printf '7\tswitch\t-\tperm\n'; }
	start_guest() {
		local where dir
		local -a machine
		new_guest '' "$@"
		echo '1 1' >"$dir/took"
		: >"$dir/err"
		with_plan "$TOLD" >"$dir/out"
		[[ -z ${MEANWHILE-} ]] || echo "$MEANWHILE" >"$LOGS/parts"
		true &
		RUNNING[$!]=$dir
		echo started
	}
	for turn in first second; do
		echo "run $turn"
		echo parts >"$LOGS/parts"
		PASSED=0 FAILED=0 SKIPPED=0 CHANCES=() RUNNING=() TIMES=() HOST=''
		run_guests
	done
)

# keeps WHAT-IS-SAID RING FRESH ONLY TOLD - of the second run's test.
keeps() {
	local TOLD=$5 seen
	seen=$(kept_again "$2" "$3" "$4" | sed '1,/^run second$/d' | grep -E '^(ok|started)')
	printf 'expected "%s", seen "%s"\n' "$1" "$seen"
	[[ $seen == "$1" ]]
}

# The tree is edited during a run, and the edit is undone.
a_moved_tree_keeps_nothing() {
	local MEANWHILE='other parts'
	keeps $'started\nok - 7 switch: perm: a' all '' '' "$1"
}

# A copy that comes to a full disk behind the first line.
# shellcheck disable=SC2317  # for the function that is tried
half_a_result_is_not_kept() (
	cp() {
		[[ $1 == */out && $2 == *.tmp.* ]] || { command cp "$@"; return; }
		head -n 1 "$1" >"$2/out"
		return 1
	}
	keeps $'started\nok - 7 switch: perm: a' all '' '' "$1"
)

# guard_comes_to WHAT-IS-SAID TOLD - of a guest's counts, when the guard prints TOLD.
# shellcheck disable=SC2030,SC2031,SC2034,SC2317  # for the functions that are tried
guard_comes_to() (
	LOGS=$(mktemp -d "$LOGS/verdict.XXXXXX") SUITE='' PLAN=(7 meter meter counts) RUNNING=()
	KEPT=$LOGS/kept told=$2
	failures_begin
	echo '# counts {}' >"$LOGS/out"
	printf '%s\n' "${PLAN[@]}" >"$LOGS/plan"
	bench/guard() { printf '%b' "$told"; }
	progress() { :; }
	start_guest() { echo started && RUNNING[$!]=$LOGS; }
	true &
	seen=$(guard_counts '7 meter' "$LOGS" | grep -E '^(not ok|ok|started)')
	printf 'expected:\n%s\nseen:\n%s\n' "$1" "$seen"
	[[ $seen == "$1" ]]
)

the_guard_is_read() {
	local at='7 meter: baseline:' bound='a: b: expected at most 1, seen 2' sum='a: b: expected 1, seen 2'
	guard_comes_to "ok - $at a" 'ok - a\n#   better\n1..1\n' &&
		guard_comes_to started "not ok - $bound; to accept it: c\nok - d\n1..2\n" &&
		guard_comes_to "not ok - $at $bound; $sum; to accept it: c" "not ok - $bound; $sum; to accept it: c\n1..1\n" &&
		guard_comes_to $'ok - '"$at"$' a\nnot ok - '"$at others: 2 were not measured" 'ok - a\nok - others # SKIP 2 were not measured\n1..2\n' &&
		guard_comes_to $'ok - '"$at"$' a\nnot ok - '"$at the guard did not come to its end" 'ok - a\n'
}

# fit HOST-PROCESSORS TAKEN FABRIC... - those of which a guest would be started beside what takes TAKEN ("": nothing runs).
# shellcheck disable=SC2030,SC2031,SC2034,SC2317  # for the function that is tried
fit() (
	RUNNING=() PROCESSORS=() here=$1
	[[ -z $2 ]] || RUNNING=([1]=/nowhere) PROCESSORS=([1]=$2)
	nproc() { echo "$here"; }
	memory_left() { echo $((64 << 20)); }
	for fabric in "${@:3}"; do
		! fits "$fabric" || echo "$fabric"
	done | xargs
)

# Beside the suites of the host on two processors, only a guest of one; alone, any.
guests_have_what_they_take() {
	local seen
	seen="$(fit 2 1 - rxe one meter), $(fit 2 2 one), $(fit 4 1 - rxe one), $(fit 1 '' rxe)"
	printf 'expected "%s", seen "%s"\n' "$1" "$seen"
	[[ $seen == "$1" ]]
}

# in_a_repository FUNCTION FILE... - in a new one, whose only commit has these files. The developer's own settings are not for it:
# commits may be signed there, or their subjects checked.
# shellcheck disable=SC2030,SC2031  # by other functions, for themselves
in_a_repository() (
	dir=$LOGS/$1
	export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
	unset GIT_CONFIG_PARAMETERS GIT_CONFIG_COUNT
	git init -q "$dir" && cd "$dir" && mkdir -p kernel lib/rdma && touch "${@:2}" &&
		git add . && git -c user.name=a -c user.email=a commit -qm one && "$1"
)

every_file_of_a_diff_counts() {
	rm kernel/pmem.c
	touch lib/rdma/new.c 'a name'
	echo >kernel/window.c
	# shellcheck disable=SC2034  # since.sh
	OPT_SINCE=HEAD
	diff <(printf '%s\0' kernel/pmem.c kernel/window.c 'a name' lib/rdma/new.c) <(changed_files)
}

# The same if git's status is configured to hide untracked files.
a_tree_with_a_new_file_is_not_clean() {
	git config status.showUntrackedFiles no
	clean_tree || return
	touch new.c
	! clean_tree
}

# noted_is TREE - "": none.
noted_is() {
	local seen
	seen=$(cat "$(green_file)" 2>/dev/null)
	[[ $seen == "$1" ]] || { echo "expected '$1', seen '$seen'"; return 1; }
}

a_tree_that_passed_is_noted() {
	local tree
	tree=$(clean_tree) || return
	note_green 0 ''
	noted_is '' || return
	note_green 0 "${tree//[0-9]/a}"
	noted_is '' || return
	touch new.c
	note_green 0 "$tree"
	noted_is '' && rm new.c || return
	note_green 0 "$tree"
	noted_is "$tree" || return
	note_green 1 ''
	noted_is ''
}

# shellcheck disable=SC2034  # tests/check
a_part_is_not_the_whole() {
	local option OPT_ONLY='' OPT_KERNEL='' OPT_TOPOLOGY='' OPT_FABRIC='' OPT_FAILED='' OPT_SINCE=''
	is_whole || return
	for option in ONLY KERNEL TOPOLOGY FABRIC FAILED SINCE; do
		local "OPT_$option=x"
		! is_whole || { echo "the whole, with OPT_$option"; return 1; }
		local "OPT_$option="
	done
}

# over_budget SECONDS PROCESSOR-SECONDS - is it said? Of 15 and 22 minutes.
# shellcheck disable=SC2030,SC2031,SC2034,SC2317  # for the function that is tried
over_budget() (
	matrix_budget() { echo 15 22; }
	SECONDS=$1 TIMES=("9999 60 guest a"$'\tperm 0:01' "9999 $(($2 - 60)) style")
	said=$(budget_told 2>&1)
	echo "$said"
	[[ $said == *': OVER BUDGET' ]]
)

the_budget_is_told() {
	! over_budget 890 1320 && over_budget 901 1320 && over_budget 890 1321
}

# told_at_the_end COMMAND... - what the end of a run tells of a guest's test that failed by this assertion. The whole is in
# $LOGS/text.
# shellcheck disable=SC2030,SC2031,SC2034,SC2317  # for the functions that are tried
told_at_the_end() (
	SUITE=perm NOT_OF_SPEED='^WRONG: '
	eval "$(sed -n '/^report_failure() {/,/^}/p; /^fail() {/,/^# same_bytes /p' tests/guest/lib.sh)"
	result() { printf '%s\n' "$1"; }
	dmesg() { printf '[    1.%d] a message\n' {1..20}; }
	("$@") >"$LOGS/said"
	report_failure a 1 "$LOGS/said" >"$LOGS/text"
	note_failure 'perm: a' "$LOGS/text"
)

# However much was seen: texts of the product have a hundred lines.
# shellcheck disable=SC2031  # by other functions, for themselves
what_was_expected_is_told() {
	local count seen text
	for count in 2 8 9 10 11 23 24 25 26 300; do
		seen=$(told_at_the_end matches 'what doctor says' 'ready to use' "$(seq -f 'line %g' "$count")")
		for text in "$seen" "$(<"$LOGS/text")"; do
			[[ $text == *"| FAILED: what doctor says: expected something like 'ready to use', seen 'line 1"*"| line $count'"*'| at: '* ]] ||
				{ printf 'of %d lines:\n%s\n' "$count" "$text"; return 1; }
		done
		(($(wc -l <<<"$seen") <= 11 && $(grep -c '^#   | [^[]' "$LOGS/text") <= 25)) || { echo "more lines than before: $text"; return 1; }
	done
}

# A shell takes it as it stands.
commands_are_for_a_shell() {
	# shellcheck disable=SC2034  # for again_command
	local command OPT_RING=gate SEED=1
	command=$(again_command guest 7 switch rxe "rdma/it's \"so\", # and \$so")
	echo "$command"
	eval "set -- $command"
	[[ $# == 9 && $2 == --only && $3 == "rdma/it's \"so\", # and \$so" && $9 == rxe ]]
}

# only_runs ONLY COUNTS - of three tests of the host's, passed and failed.
# shellcheck disable=SC2030,SC2031,SC2034  # for the functions that are tried
only_runs() (
	LOGS=$(mktemp -d "$LOGS/verdict.XXXXXX") SUITE=cli OPT_ONLY=$1 OPT_FAILED='' PASSED=0 FAILED=0
	KEPT=$LOGS/kept
	failures_begin
	try "cli: a: b" true
	try "cli: c" false
	try "build: d" true
	printf 'expected %s passed and failed, seen %s\n' "$2" "$PASSED $FAILED"
	[[ "$PASSED $FAILED" == "$2" ]]
)

# ran_what_it_asked_for STATUS ONLY [ROW] - how a run ends of which "cli: a" runs whenever one of its suite does. ROW is of --failed.
# shellcheck disable=SC2030,SC2031,SC2034  # for the functions that are tried
ran_what_it_asked_for() (
	LOGS=$(mktemp -d "$LOGS/verdict.XXXXXX") SUITE=cli OPT_ONLY=$2 OPT_FAILED=${3:+1} FAILED_ROWS=("${@:3}") status=0
	PASSED=0 FAILED=0 SKIPPED=0 BESIDE=0 FLAKY=0
	KEPT=$LOGS/kept
	failures_begin
	try_first "cli: a" true
	try "cli: b" true
	results_tell
	results_end || status=$?
	echo "expected status $1, seen $status"
	((status == $1)) && { ((status == 0)) || grep -q '^# not ok - nothing was run: ' "$LOGS/failures"; }
)

each_asks_for_what_runs() {
	ran_what_it_asked_for 0 '' && ran_what_it_asked_for 0 cli && ran_what_it_asked_for 0 cli/a && ran_what_it_asked_for 0 cli/b &&
		ran_what_it_asked_for 0 '' $'host\tcli\tb' && ran_what_it_asked_for 0 '' $'host\tcli'
}

none_asks_for_what_runs() {
	ran_what_it_asked_for 1 cli/c && ran_what_it_asked_for 1 '' $'host\tcli\tc'
}

# Where a guest may skip, a row of the matrix says; but for what needs packages of an archive that has none.
# shellcheck disable=SC2030,SC2031,SC2034,SC2317  # for the functions that are tried
skips_are_counted() (
	LOGS=$(mktemp -d "$LOGS/verdict.XXXXXX") SUITE=unit OPT_ONLY='' OPT_FAILED='' PASSED=0 FAILED=0 SKIPPED=0 BESIDE=0
	KEPT=$LOGS/kept
	failures_begin
	printf 'ok 1 - a # SKIP\nok 2 # SKIP b\nok 3 - c\n1..3\n' >"$LOGS/some.tap"
	count_suite 'unit: ' cat "$LOGS/some.tap"
	SUITE=''
	matrix_may_skip() { [[ $2 == 'perm: a' ]]; }
	count_skip '7 switch' 'perm: a' 'no such kernel'
	count_skip '7 switch' 'cufile: b' 'no packaged cuFile: the archive has none'
	results_tell | tee "$LOGS/told"
	((FAILED == 0)) && grep '^# What this machine could not run: 1 of cufile, 2 of unit\.' "$LOGS/told"
)

# no_unittests ONLY COUNT - how much fails where a folder has no tests in Python: none of that name may be there, but not none at all.
# shellcheck disable=SC2030,SC2031,SC2034  # for the functions that are tried
no_unittests() (
	LOGS=$(mktemp -d "$LOGS/verdict.XXXXXX") SUITE=report OPT_ONLY=$1 OPT_FAILED='' FAILED=0
	KEPT=$LOGS/kept
	failures_begin
	unittests '' "$LOGS" true
	printf 'expected %s failed, seen %s\n' "$2" "$FAILED"
	((FAILED == $2))
)

tests_are_known() {
	local suite name bad=0
	while read -r suite name; do
		has_test "$suite" "$name" || { echo "refused: $suite/$name"; bad=1; }
	done <<-END
		cli bad size
		cli cli: bad size
		cli build: one version
		cli top, JSON
		unit test_terms
		abi a program of trixie runs in compatibility mode
		copy drive to bar, p2pdma
		dmabuf region remove, pinned
		access reads-until-the-end
		verdict tests are known before anything boots
	END
	return "$bad"
}

# unknown SUITE/NAME - by its status, without a word of what would follow.
unknown() {
	local status=0 out
	out=$("$REPO/tests/check" --only "$1" 2>&1) || status=$?
	printf 'expected status 2, seen %d: %s\n' "$status" "$out"
	((status == 2)) && [[ $out == "check: the suite '${1%%/*}' has no test '${1#*/}'" ]]
}

# cannot_run REGEX SUITE/NAME WORD... - "env WORD..." starts it: by its status, and a word about why.
cannot_run() {
	local status=0 out
	out=$(env "${@:3}" "$REPO/tests/check" --only "$2" 2>&1) || status=$?
	printf 'expected status 3, seen %d: %s\n' "$status" "$out"
	((status == 3)) && grep -q "$1" <<<"$out"
}

# Git takes the checkout for another user's, and no setting says that it may read it. A suite that does without git does not mind.
git_must_read_the_checkout() {
	local -a others=(-u GIT_CONFIG_PARAMETERS -u GIT_CONFIG_COUNT GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
		GIT_TEST_ASSUME_DIFFERENT_OWNER=1)
	cannot_run '^check: git does not read this checkout, and style needs it' style/'licence lines' "${others[@]}" &&
		cannot_run 'no folder can be made' verdict/'what it may cause' "${others[@]}" TMPDIR=/nonexistent
}

unknown_are_refused() {
	local name
	for name in cli/frob 'copy/drive to bar' access/frob 'cli/lab: a job ends what it runs' unit/test_ perm/ 'cli/not --failed'; do
		unknown "$name" || return
	done
}

# shellcheck disable=SC2031,SC2317  # for the function that is tried
an_unnamed_suite_is_caught() (
	# The name is in no text as one word, since that would count as a caller.
	local suite=frob
	matrix_suites() { matrix_rows guest | awk '{ for (i = 5; i <= NF; i++) if ($i != "perm") print $i }'; }
	eval "run_$suite() { try 'a: b' true; }"
	! each_suite_has_a_row >"$LOGS/rows" && diff - "$LOGS/rows" <<-END
		tests/matrix: no row guest names the suite perm
		tests/matrix: no row host names the suite of run_$suite
	END
)

run_verdict() {
	local four='' n
	for n in 1 2 3 4; do
		four+=${FELL/a: b/test $n}
	done
	progress "verdict"
	try "verdict: what passes alone is flaky, and counted" ends_as 0 '^flaky - 7 switch: perm: a: b$' \
		'2 passed, 0 failed, 0 skipped' "ok - perm: c\n$FELL$SOUND_END" "ok - perm: a: b\n$SOUND_END"
	try "verdict: with what was seen first" ends_as 0 '#   first: \| FAILED: in time: something' \
		'1 passed, 0 failed, 0 skipped' "$FELL$SOUND_END" "ok - perm: a: b\n$SOUND_END"
	try "verdict: what fails again has failed" ends_as 1 '^not ok - 7 switch: perm: a: b$' \
		'0 passed, 1 failed, 0 skipped' "$FELL$SOUND_END" "$FELL$SOUND_END"
	try "verdict: what does not run again has failed" ends_as 1 '^not ok - 7 switch: perm: a: b$' \
		'0 passed, 1 failed, 0 skipped' "$FELL$SOUND_END" "$SOUND_END"
	try "verdict: nor does it pass in a guest without an end" ends_as 1 '^not ok - 7 switch: perm: a: b$' \
		'0 passed, 1 failed, 0 skipped' "$FELL$SOUND_END" "ok - perm: a: b\n"
	try "verdict: no second chance for what speed does not cause" ends_as 1 '^not ok - 7 switch: perm: a: b$' \
		'0 passed, 1 failed, 0 skipped' "$FELL#   not of speed\n$SOUND_END" "ok - perm: a: b\n$SOUND_END"
	try "verdict: nor for a word that is no command, and its suite is what runs again" ends_as 1 '^#   again: .* --only perm --kernel' \
		'0 passed, 1 failed, 0 skipped' "not ok - perm: there is no command croe\n#   not of speed\n$SOUND_END" ''
	try "verdict: nor for a suite that is exact" ends_as 1 '^not ok - 7 switch: meter: a: b$' \
		'0 passed, 1 failed, 0 skipped' "${FELL/perm/meter}$SOUND_END" "ok - meter: a: b\n$SOUND_END"
	try "verdict: nor in a guest that ended badly" ends_as 1 'the guest ended with status 125 .*: the last of its words' \
		'0 passed, 2 failed, 0 skipped' "$FELL$SOUND_END" "ok - perm: a: b\n$SOUND_END" 125
	try "verdict: nor where the emulator was at fault, for what speed does not cause" ends_as 1 '^not ok - 7 switch: perm: a: b$' \
		'0 passed, 3 failed, 0 skipped' "$FELL#   not of speed\n" "ok - perm: a: b\n$SOUND_END" 125 "$LOST_TIMER"
	try "verdict: but for all else" ends_as 0 '^ok - 7 switch: perm: a: b$' \
		'1 passed, 0 failed, 0 skipped' "$FELL" "ok - perm: a: b\n$SOUND_END" 125 "$LOST_TIMER"
	try "verdict: nor for four" ends_as 1 '^not ok - 7 switch: perm: test 4$' \
		'0 passed, 4 failed, 0 skipped' "$four$SOUND_END" "ok - perm: test 1\n$SOUND_END"
	try "verdict: a result that is lost is missed" ends_as 1 '^not ok - 7 switch: .* not as many as its plan says$' \
		'1 passed, 1 failed, 0 skipped' "ok - perm: c\n1..1\n$SOUND_END" ''
	try "verdict: prove finds a run that passed well" prove_reads 0 "ok - perm: c\n$FELL$SOUND_END" "ok - perm: a: b\n$SOUND_END"
	try "verdict: and one that failed not" prove_reads 1 "ok - perm: c\n$FELL$SOUND_END" "$SOUND_END"
	try "verdict: results are read in each form" each_form_is_read
	try "verdict: what failed is said again at the end, with its command" ends_as 1 '^#   again: tests/check --only perm/a:\\ b --kernel 7 --topology switch --fabric -$' \
		'0 passed, 1 failed, 0 skipped' "$FELL#   not of speed\n$SOUND_END" ''
	try "verdict: and run again by --failed" failed_run_again
	try "verdict: or by the next one, where that was broken off" failed_is_not_lost
	try "verdict: a test that is not there any more has failed" failed_under_another_name
	try "verdict: nor is lost what was not run" nothing_run_is_not_lost
	try "verdict: a test of the host that does not end is named" a_host_that_dies_is_told
	try "verdict: a download is ended with the run" what_is_set_up_is_ended
	try "verdict: a declaration by a wrong word has failed" a_wrong_word_has_failed
	try "verdict: and one in a guest" wrong_words_of_guests_have_failed
	try "verdict: with what was expected, however much was seen" what_was_expected_is_told
	try "verdict: by a command for a shell" commands_are_for_a_shell
	local told='ok - perm: a\n# end perm\n# end of boot\n'
	try "verdict: guests have the processors that they take" guests_have_what_they_take 'one meter, , - rxe one, rxe'
	try "verdict: a guest that passed is kept" keeps 'ok - 7 switch kept: perm: a' all '' '' "$told"
	try "verdict: not for a fresh run" keeps $'started\nok - 7 switch: perm: a' all 1 '' "$told"
	try "verdict: not for who names a suite" keeps $'started\nok - 7 switch: perm: a' all '' perm "$told"
	try "verdict: not in the gate" keeps $'started\nok - 7 switch: perm: a' gate '' '' "$told"
	try "verdict: nor a guest of which a test failed" keeps $'started\nok - 7 switch: perm: a' all '' '' \
		"not ok - perm: b\n#   not of speed\n$told"
	try "verdict: nor one that ran on another tree" a_moved_tree_keeps_nothing "$told"
	try "verdict: nor half of its results" half_a_result_is_not_kept "$told"
	try "verdict: what the guard of the counts prints is read like all results" the_guard_is_read
	try "verdict: one test of a suite of the host" only_runs 'cli/a: b' '1 0'
	try "verdict: or of a part of it" only_runs cli/d '1 0'
	try "verdict: all of a suite" only_runs cli '2 1'
	try "verdict: what was asked for has run" each_asks_for_what_runs
	try "verdict: what it stands on is not enough" none_asks_for_what_runs
	try "verdict: what the host skips is counted" skips_are_counted
	try "verdict: a suite without a test in Python fails" no_unittests '' 1
	try "verdict: not where another test was asked for" no_unittests report/a 0
	try "verdict: tests are known before anything boots" tests_are_known
	try "verdict: others are refused" unknown_are_refused
	try "verdict: nor does a run without a folder for its files begin" cannot_run "^check: no folder can be made in '/nonexistent'" \
		verdict/'what it may cause' TMPDIR=/nonexistent
	try "verdict: nor one of a checkout that git does not read" git_must_read_the_checkout
	run_begun
	try "verdict: a suite that no row names is caught" an_unnamed_suite_is_caught
	run_called
	try "verdict: every file of a diff counts" in_a_repository every_file_of_a_diff_counts kernel/window.c kernel/pmem.c
	try "verdict: a tree with a new file is not clean" in_a_repository a_tree_with_a_new_file_is_not_clean old.c
	try "verdict: one that passed is noted" in_a_repository a_tree_that_passed_is_noted old.c
	try "verdict: after a whole gate" a_part_is_not_the_whole
	try "verdict: what took longer than the budget is told" the_budget_is_told
	try "verdict: what a slow host does not cause" each_not_of_speed
	try "verdict: nor what programs find in memory" each_byte_is_not_of_speed
	try "verdict: nor what suites say of bytes" each_assertion_is_exact
	try "verdict: nor what a cache has lost" what_a_cache_lost_is_wrong
	try "verdict: what it may cause" each_of_speed
}
