# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# One run of a guest: its directory, the emulator, the verdict. Sourced, never run.

QEMU_PID=

make_run_dir() {
	RUN_DIR=$(mktemp -d "${TMPDIR:-/tmp}/donard-lab.XXXXXX")
	mkdir "$RUN_DIR"/{devices,objects,backing}
	touch "$RUN_DIR"/{stdout,stderr,verdict,console.log,trace.log}
	trap end_run EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
}

end_run() {
	local status=$?
	trap - EXIT
	if [[ -n $QEMU_PID ]]; then
		kill "$QEMU_PID" 2>/dev/null
		wait "$QEMU_PID" 2>/dev/null
	fi
	if [[ -n $OPT_KEEP ]]; then
		say "kept $RUN_DIR"
	elif ((status == EX_LAB)); then
		rm -f "$RUN_DIR"/{*.img,*.bar,*.pmr,initrd,qmp.sock}
	else
		remove_tree "$RUN_DIR"
	fi
	exit "$status"
}

# write_env - what the guest's init and every command in the guest see.
write_env() {
	local rows=24 columns=80
	[[ $MODE != shell ]] || read -r rows columns < <(stty size)
	# shellcheck disable=SC2153  # OPT_* come from the command line, in lab
	cat >"$RUN_DIR/env" <<-END
		LAB_MODE=$MODE LAB_BARE=$OPT_BARE LAB_NO_REGIONS=$OPT_NO_REGIONS LAB_TRACE=$OPT_TRACE
		LAB_ROWS=$rows LAB_COLUMNS=$columns
		export LAB_KERNEL=$OPT_KERNEL LAB_TOPOLOGY=$OPT_TOPOLOGY TERM=${TERM:-dumb}
	END
}

# write_initrd ROOT VERSION - the kernel's initramfs and, after it, the fresh files.
write_initrd() {
	local stage=$RUN_DIR/stage initramfs
	initramfs=$(guest_initramfs "$1" "$2")
	mkdir -p "$stage"
	make_stage "$stage/stage" "$1" "$2"
	pack "$stage" "$RUN_DIR/stage.cpio"
	cat "$initramfs" "$RUN_DIR/stage.cpio" >"$RUN_DIR/initrd"
	rm -r "$stage" "$RUN_DIR/stage.cpio"
}

# configure - collects QEMU_ARGS.
configure() {
	local root version image vmlinuz
	root=$(guest_root)
	image=$(guest_image)
	version=$(kernel_version "$root" "$OPT_KERNEL")
	vmlinuz=$(vmlinuz_of "$root" "$version")
	base_machine "$image"
	include_topology "$OPT_TOPOLOGY"
	[[ -z $OPT_SHARE ]] || share share "$OPT_SHARE"
	write_env
	write_initrd "$root" "$version"
	qemu_arg -kernel "$vmlinuz" -initrd "$RUN_DIR/initrd" \
		-append "${KERNEL_ARGS[*]} $OPT_APPEND"
}

# follow FILE - streams it until the emulator is gone.
follow() {
	tail -q -s 0.1 -n +1 -f --pid="$QEMU_PID" "$RUN_DIR/$1"
}

# run_guest COMMAND...
run_guest() {
	local status=0 out err
	printf '%s\0' "$@" >"$RUN_DIR/command"
	channel stdout
	channel stderr
	timeout -k 5 "$OPT_TIMEOUT" qemu-system-x86_64 "${QEMU_ARGS[@]}" </dev/null >"$RUN_DIR/qemu.log" 2>&1 &
	QEMU_PID=$!
	follow stdout &
	out=$!
	follow stderr >&2 &
	err=$!
	wait "$QEMU_PID" || status=$?
	QEMU_PID=
	wait "$out" "$err" || true
	judge "$status"
}

run_terminal() {
	local status=0
	qemu_arg -chardev stdio,id=terminal,signal=off -device virtconsole,chardev=terminal
	say "exit ends the guest"
	qemu-system-x86_64 "${QEMU_ARGS[@]}" 2>"$RUN_DIR/qemu.log" || status=$?
	judge "$status"
}

# What a kernel prints when something is wrong although it went on.
readonly KERNEL_TROUBLE='WARNING: |BUG: |BUG kmalloc|Oops|general protection fault|Kernel panic|KASAN|UBSAN|KFENCE|kmemleak: [1-9]|INFO: (possible|task|rcu|suspicious)|possible recursive locking|suspicious RCU|DMA-API: .*(error|leak|not freed)|refcount_t: |Bad page|bad page|Objects remaining|soft lockup|unregister_netdevice: waiting'

# judge QEMU-STATUS - exits with the command's own status if the run was sound, else with 125.
judge() {
	local status trouble
	status=$(sed -n 's/^status //p' "$RUN_DIR/verdict")
	trouble=$(grep -m 5 -aE "$KERNEL_TROUBLE" "$RUN_DIR/console.log") || true
	if grep -q '^failed ' "$RUN_DIR/verdict"; then
		unsound "the guest gave up: $(sed -n 's/^failed //p' "$RUN_DIR/verdict")"
	elif [[ -n $trouble ]]; then
		unsound "the kernel complained: $trouble"
	elif (($1 == 124 || $1 == 137)); then
		unsound "no end after $OPT_TIMEOUT s (--timeout)"
	elif (($1 != 0)); then
		unsound "the emulator failed with status $1: $(tail -n 3 "$RUN_DIR/qemu.log")"
	elif [[ -z $status ]] || ! grep -qx end "$RUN_DIR/verdict"; then
		unsound "the guest went down without a verdict"
	fi
	exit "$status"
}

unsound() {
	say "last lines of the kernel log:"
	tail -n 40 "$RUN_DIR/console.log" >&2
	say "the whole log: $RUN_DIR/console.log"
	die "$EX_LAB" "$1"
}
