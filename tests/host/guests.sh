# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The matrix of guests, what runs beside them on the host, and what is made of the output. Sourced by tests/check, never run.

# Limits that only end a hang, fifteen times the longest run on an idle host: for a guest, and for a test on the host.
readonly GUEST_SECONDS=7200 HOST_SECONDS=7200
# The same of what a test on the host waits for, a thousand times what that takes.
# shellcheck disable=SC2034  # top.sh, cli.sh
readonly HANG_SECONDS=120

# guest_seconds KERNEL
guest_seconds() {
	if [[ " $(matrix_can "$1") " == *' debug '* ]]; then
		echo $((3 * OPT_SOAK * GUEST_SECONDS))
	else
		echo $((OPT_SOAK * GUEST_SECONDS))
	fi
}

# planned_guests - KERNEL, TOPOLOGY, FABRIC and suites of each guest that the options ask for, a line each, between tabs. With the fabric rxe,
# siw or ntb two machines are booted, joined by it; with "meter" one that counts every byte, with "one" one of one processor.
planned_guests() {
	local kernel topology fabric suites
	local -a wanted
	[[ -z $OPT_FAILED ]] || { failed_guests; return; }
	while read -r kernel topology fabric suites; do
		[[ -z $OPT_KERNEL || $OPT_KERNEL == "$kernel" ]] || continue
		[[ -z $OPT_TOPOLOGY || $OPT_TOPOLOGY == "$topology" ]] || continue
		[[ -z $OPT_FABRIC || $OPT_FABRIC == "$fabric" ]] || continue
		# shellcheck disable=SC2086  # words
		mapfile -t wanted < <(wanted_suites $suites)
		((${#wanted[@]} == 0)) || (IFS=$'\t'; echo "$kernel"$'\t'"$topology"$'\t'"$fabric"$'\t'"${wanted[*]}")
	done < <(matrix_guests "$OPT_RING")
}

# wanted_suites SUITE... - those that --only and --since leave, as run.sh takes them.
wanted_suites() {
	local suite
	for suite in "$@"; do
		if [[ -n $OPT_SINCE && -z ${SINCE[$suite]-} ]]; then
			continue
		elif [[ -z $OPT_ONLY ]]; then
			echo "$suite"
		elif [[ ${OPT_ONLY%%/*} == "$suite" ]]; then
			echo "$OPT_ONLY"
		fi
	done
}

# RUNNING[PID] - the directory of that guest's output, whose file "what" describes it; HOST is the pid of the host's suites.
declare -A RUNNING=()
HOST=
# PROCESSORS[PID] - how many of the host's it was given; the suites of the host have one.
declare -A PROCESSORS=()

# processors_of FABRIC - how many of the host's a guest should have for itself. The processors of an emulated guest wait for one
# another by spinning: with less than that, a guest takes twice the processor time, and three times as long.
processors_of() {
	case $1 in
	one | meter) echo 1 ;;
	*) echo 2 ;;
	esac
}

# memory_left CGROUP - prints, in KiB, how much memory the host has available, or the container's control group if that is less. Memory
# that holds files counts as available.
memory_left() {
	local group=$1 left limit used files
	left=$(awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo)
	if { limit=$(<"$group/memory.max") && used=$(<"$group/memory.current"); } 2>/dev/null && [[ $limit != max ]]; then
		files=$(awk '$1 == "active_file" || $1 == "inactive_file" { sum += $2 } END { printf "%d", sum }' "$group/memory.stat")
		limit=$(((limit - used + files) >> 10))
		((limit >= left)) || left=$limit
	fi
	echo "$left"
}

# fits FABRIC - beside what runs. A pair of guests takes some 5 GB with its host files.
fits() {
	local pid wanted most
	wanted=$(processors_of "$1")
	most=$(($(memory_left /sys/fs/cgroup) >> 20))
	most=$((most / 5 + ${#RUNNING[@]}))
	for pid in "${!RUNNING[@]}"; do
		wanted=$((wanted + ${PROCESSORS[$pid]-1}))
	done
	((${#RUNNING[@]} == 0 || (wanted <= $(nproc) && ${#RUNNING[@]} < (most > 4 ? 4 : most))))
}

run_guests() {
	local -a planned keys=()
	mapfile -t planned < <(planned_guests)
	while ((${#planned[@]} || ${#RUNNING[@]})); do
		start_first || finish_one
	done
	run_chances
}

# start_first - the first of "planned" that fits, or whose result was kept; fails if there is none.
start_first() {
	local i
	local -a words
	for i in "${!planned[@]}"; do
		IFS=$'\t' read -ra words <<<"${planned[i]}"
		[[ -v keys[i] ]] || { result_key "${words[@]}"; keys[i]=$RESULT_KEY; }
		if has_result "${keys[i]}"; then
			take_result "${keys[i]}" "${words[@]}"
		elif fits "${words[2]}"; then
			start_guest "${words[@]}"
			printf '%s' "${keys[i]}" >"${RUNNING[$!]}/key"
		else
			continue
		fi
		unset 'planned[i]'
		return
	done
	return 1
}

# start_host SUITE... - in the background, one after another: most of them keep one processor busy.
start_host() {
	local dir
	dir=$(mktemp -d "$LOGS/host.XXXXXX")
	in_group run_host "$dir" "$@" >"$dir/out" 7>&-
	HOST=$!
	RUNNING[$HOST]=$dir
	in_group watch_host "$HOST" "$dir/out" >/dev/null 2>&1 7>&-
}

# watch_host PID OUT - ends the suites of the host if none of their tests comes to its end.
watch_host() {
	while kill -0 "$1" 2>/dev/null; do
		[[ -z $(find "$2" -mmin +$((HOST_SECONDS / 60))) ]] || kill -KILL -- "-$1"
		sleep 5
	done
}

# run_host DIR SUITE... - leaves its counts and times in DIR.
run_host() {
	local dir=$1 suite
	shift
	# A test that is declared by a wrong word would never run.
	# shellcheck disable=SC2317  # bash calls it
	command_not_found_handle() {
		printf '%s: command not found\n' "$1" >&2
		[[ -e $LOGS/trying ]] || printf '%s\n' "$1" >>"$dir/unknown"
		return 127
	}
	for suite in "$@"; do
		printf '%s\n' "$@" | sed -n "/^$suite\$/,\$p" >"$dir/left"
		# shellcheck disable=SC2034  # results.sh
		SUITE=$suite
		timed "$suite" "run_$suite"
		[[ ! -s $dir/unknown ]] || failed "$suite: there is no command $(xargs <"$dir/unknown")" '' host "$suite"
		rm -f "$dir/unknown"
	done
	printf '%s\n' "${TIMES[@]}" >"$dir/times"
	echo "$PASSED $FAILED $SKIPPED $BESIDE" >"$dir/counts"
}

# finish_host DIR - its results, and those of a subshell that died.
finish_host() {
	local passed failed skipped beside
	local -a times
	HOST=
	cat "$1/out"
	if ! read -r passed failed skipped beside 2>/dev/null <"$1/counts"; then
		host_died "$1"
		return
	fi
	PASSED=$((PASSED + passed)) FAILED=$((FAILED + failed)) SKIPPED=$((SKIPPED + skipped)) BESIDE=$((BESIDE + beside))
	mapfile -t times <"$1/times"
	TIMES+=("${times[@]}")
}

# host_died DIR - names the test in which the host's suites died. The tests after it did not run, either.
host_died() {
	local name='' log='' SUITE
	local -a left
	mapfile -t left 2>/dev/null <"$1/left"
	SUITE=${left[0]-}
	{ read -r name; read -r log; } 2>/dev/null <"$LOGS/trying"
	[[ -e $log ]] || log=$1/out
	failed "the suites of the host did not come to their end, in: ${name:-${SUITE:-their beginning}}" "$log" ${SUITE:+host "$SUITE"}
	for SUITE in "${left[@]:1}"; do
		note_again host "$SUITE"
	done
}

# guest_machine KERNEL TOPOLOGY FABRIC - leaves its name in "where", and in "machine" the options of the lab that make it.
guest_machine() {
	where="$1 $2"
	[[ $3 == - ]] || where+=" $3"
	# iomem=relaxed: poke.c reaches the registers of a drive that its driver has claimed.
	machine=(--kernel "$1" --topology "$2" --append iomem=relaxed)
	case $3 in
	-) ;;
	one) machine+=(--one-processor) ;;
	meter) machine+=(--meter) ;;
	*) machine+=(--peer --fabric "$3") ;;
	esac
}

# new_guest WORD KERNEL TOPOLOGY FABRIC SUITE... - as guest_machine, and in "dir" a directory with what finish_guest reads; WORD,
# if any, becomes a part of the name.
new_guest() {
	guest_machine "${@:2:3}"
	where+=${1:+ $1}
	dir=$(mktemp -d "$LOGS/guest.XXXXXX")
	printf '%s\n' "$where" "${@:5}" >"$dir/what"
	printf '%s\n' "${@:2}" >"$dir/plan"
	printf '%s\n' "$KEPT/${where// /-}.${dir##*.}" >"$dir/logs"
}

# start_guest KERNEL TOPOLOGY FABRIC SUITE... - in the background.
start_guest() {
	local where dir
	local -a machine
	new_guest '' "$@"
	progress "guest: kernel $where: ${*:4}"
	in_group note_time "$dir/took" tests/rig/lab run "${machine[@]}" --share "$REPO/tests/guest" \
		--timeout "$(guest_seconds "$1")" --logs "$(<"$dir/logs")" \
		-- bash /mnt/share/run.sh --ring "$OPT_RING" --seed "$SEED" --soak "$OPT_SOAK" "${@:4}" 2>"$dir/err" >"$dir/out" 7>&-
	RUNNING[$!]=$dir PROCESSORS[$!]=$(processors_of "$3")
}

# finish_one - waits for one, whichever ends first, and counts its results.
finish_one() {
	local dir
	await_any "${!RUNNING[@]}"
	dir=${RUNNING[$CHILD]}
	unset "RUNNING[$CHILD]" "PROCESSORS[$CHILD]"
	if [[ $CHILD == "$HOST" ]]; then
		finish_host "$dir"
	else
		finish_guest "$CHILD_STATUS" "$dir"
	fi
}

# finish_guest STATUS DIR
finish_guest() {
	local status=$1 dir=$2 before
	local -a what PLAN
	guest_took "$(head -n 1 "$dir/what")" "$dir"
	mapfile -t what <"$dir/what"
	# The command that runs this guest's failed tests again.
	mapfile -t PLAN <"$dir/plan"
	! runs_again "$status" "$dir" || { forget_guest "$dir"; return 0; }
	progress "guest: kernel ${what[0]}: at its end$(sed -n 's/^lab: \(data races that p2pmem has no part in\)/; \1/p' "$dir/err")"
	before=$FAILED/${#CHANCES[@]}
	if [[ -e $dir/chance ]]; then
		judge_chance "$status" "$dir"
	else
		count_results "$status" "$dir" "${what[@]}"
	fi
	if [[ $FAILED/${#CHANCES[@]} == "$before" ]]; then
		keep_result "$dir"
		forget_guest "$dir"
	else
		keep_guest "$dir"
	fi
}

# count_results STATUS DIR WHERE SUITE...
count_results() {
	local status=$1 dir=$2 sound=
	local -a what=("${@:3}")
	((status != 0)) || ! grep -qx '# end of boot' "$dir/out" || sound=1
	count_guest "${what[0]}" "$dir" "$sound"
	! grep -q '^# counts ' "$dir/out" || guard_counts "${what[0]}" "$dir"
	[[ -z $sound ]] || tap_is_whole "$dir/out" ||
		failed "${what[0]}: the guest's results are not as many as its plan says" "$dir/out" guest "${PLAN[@]}"
	judge_guest "${what[0]}" "$status" "$dir/out" "$dir/err" "${what[@]:1}"
}

# runs_again STATUS DIR - once, when the emulator was at fault, and nothing has failed that has no second chance.
runs_again() {
	local why mark
	local -a plan
	[[ ! -e $2/again ]] && ! grep -qx '#   not of speed' "$2/out" && why=$(emulators_fault "$1" "$2/err") || return
	mapfile -t plan <"$2/plan"
	progress "$why; all of this guest once more: ${plan[*]:0:3}"
	start_guest "${plan[@]}"
	touch "${RUNNING[$!]}/again"
	for mark in second chance key; do
		[[ ! -e $2/$mark ]] || cp "$2/$mark" "${RUNNING[$!]}/"
	done
}

# count_guest WHERE DIR SOUND - SOUND is empty where the guest did not come to its end as it should.
count_guest() {
	tap_each "$2/out" guest_result "$@"
}

# guest_result WHERE DIR SOUND VERDICT NAME [TEXT] - of tap_each.
guest_result() {
	note_ran guest "${PLAN[@]:0:3}" "${5%%: *}/${5#*: }"
	case $4 in
	ok) pass "$1: $5" ;;
	skip) count_skip "$1" "$5" "$6" ;;
	fail)
		sed -n '/^#   /p' "$6" >"$2/text"
		guest_failed "$1" "$5" "$2" "$3"
		;;
	esac
}

# guest_failed WHERE NAME DIR SOUND
guest_failed() {
	local again=${2%%: *}/${2#*: }
	# run.sh's own message, and no test's.
	[[ $2 != *': there is no command '* ]] || again=${2%%: *}
	if has_chance "$2" "$3/text" "$3" "$4"; then
		give_chance "$1" "$2" "$3/text" "$3"
	else
		count_failure "$1: $2" "$3/text" guest "${PLAN[@]:0:3}" "$again"
	fi
}

# count_skip "KERNEL ..." TEST REASON - a test that must run there, and does not, has failed.
count_skip() {
	if matrix_may_skip "${1%% *}" "$2"; then
		skipped "$1: $2" "$3"
	elif [[ $2/$3 == 'cufile: '*'/no packaged cuFile: '* ]]; then
		# The programs were built so, whatever the archive has by now.
		skipped "$1: $2" "$3"
		echo cufile >>"$LOGS/skips"
	else
		failed "$1: $2: skipped, and no row may-skip of tests/matrix allows that" '' guest "${PLAN[@]:0:3}" "${2%%: *}"
	fi
}

# guard_counts "KERNEL ..." DIR - against the committed baseline of that kernel, by what a guest counted.
guard_counts() {
	local kernel=${1%% *} dir=$2
	sed -n 's/^# counts //p' "$dir/out" | tail -n 1 >"$dir/counts.json"
	bench/guard "bench/baseline/$kernel.json" "$dir/counts.json" >"$dir/guard" 2>&1 || true
	! counts_again "$1" "$dir" || return 0
	tap_each "$dir/guard" guard_result "$1"
	sed -n '/^#/p' "$dir/guard"
	tap_is_whole "$dir/guard" || guard_failed "$1" "the guard did not come to its end" "$dir/guard"
}

# guard_result WHERE VERDICT NAME [TEXT] - called by tap_each. The name has the expected and the seen values. Each point must be measured.
guard_result() {
	case $2 in
	ok) pass "$1: baseline: $3" ;;
	skip) guard_failed "$1" "$3: $4" '' ;;
	fail) guard_failed "$1" "$3" '' ;;
	esac
}

# guard_exceeded VERDICT NAME [TEXT] - of tap_each: what of the point is not as expected.
guard_exceeded() {
	[[ $1 != fail ]] || printf '%s\n' "${2%; to accept it:*}"
}

# guard_failed WHERE NAME LOG
guard_failed() {
	failed "$1: baseline: $2" "$3" guest "${PLAN[@]:0:3}" meter/counts
}

# counts_again "KERNEL ..." DIR - measures again, once, if the only failures are exceeded bounds, since the host disturbs such counts now
# and then. Another guest counts again, and a bound that is exceeded there, too, is a failure.
counts_again() {
	local -a plan exceeded
	mapfile -t exceeded < <(tap_each "$2/guard" guard_exceeded)
	[[ ! -e $2/second ]] && ((${#exceeded[@]})) || return
	[[ ${exceeded[*]//: expected at most/} != *': expected'* ]] || return
	mapfile -t plan <"$2/plan"
	progress "guest: kernel $1: beyond the baseline; a second sample"
	forget_result "$2"
	printf '# %s\n' "${exceeded[@]}"
	start_guest "${plan[@]:0:3}" meter/counts
	touch "${RUNNING[$!]}/second"
}

# last_run OUTPUT - what a guest was at.
last_run() {
	local run
	run=$(sed -n 's/^# run //p' "$1" | tail -n 1)
	echo "${run:+in }${run:-before its first test}"
}

# judge_guest WHERE STATUS OUTPUT ERRORS SUITE... - a boot that died or lacks an end failed, whatever it
# printed before.
judge_guest() {
	local where=$1 status=$2 out=$3 err=$4 suite
	shift 4
	for suite in "$@"; do
		suite=${suite%%/*}
		grep -qx "# end $suite" "$out" ||
			failed "$where: $suite: the suite did not come to its end" '' guest "${PLAN[@]:0:3}" "$suite"
	done
	if ((status != 0)) || ! grep -qx '# end of boot' "$out"; then
		failed "$where: the guest ended with status $status $(last_run "$out"): $(tail -n 1 "$err")" "$err" guest "${PLAN[@]}"
	fi
}
