# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Programs that say a word and wait for a line, so that something happens at a known moment of theirs. Sourced.

# begin_steps WORD PROGRAM ARG... - starts it in the background, and returns when it prints WORD; its output is in $WORK/seen.
begin_steps() {
	mkfifo "$WORK/answers"
	exec {STEP_ANSWERS}<>"$WORK/answers"
	"${@:2}" <"$WORK/answers" >"$WORK/seen" 2>&1 &
	STEP_PID=$!
	at_end "kill -KILL $STEP_PID 2>/dev/null"
	within 30 grep -qx "$1" "$WORK/seen"
}

# end_steps - it goes on, and has to end well.
end_steps() {
	echo >&"$STEP_ANSWERS"
	exec {STEP_ANSWERS}>&-
	wait "$STEP_PID" || fail "the program ended with status $?: $(cat "$WORK/seen")"
}

# with_a_reset PROGRAM ARG... - the device of p2pmem0 is reset when it says "going".
with_a_reset() {
	begin_steps going "$@"
	echo 1 >"/sys/bus/pci/devices/$LAB_GPU_BDF/reset"
	end_steps
	within 10 region_is_free p2pmem0
}
