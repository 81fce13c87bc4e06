# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# One guest: its directory, the files it boots from, the emulator's options. Sourced, never run.

# Which of the two; what lies in RUN_DIR is its own.
GUEST=1
readonly GUEST_NAMES=('' lab peer)

make_guest_dir() {
	mkdir -p "$RUN_DIR"/{devices,objects,backing}
	touch "$RUN_DIR"/{stdout,stderr,verdict,console.log,trace.log}
}

# write_env - what the guest's init and every command in the guest see.
write_env() {
	local rows=24 columns=80
	[[ $MODE != shell ]] || read -r rows columns < <(stty size)
	# shellcheck disable=SC2153  # OPT_* come from the command line, in lab
	cat >"$RUN_DIR/env" <<-END
		LAB_MODE=$MODE LAB_BARE=$OPT_BARE LAB_NO_REGIONS=$OPT_NO_REGIONS LAB_TRACE=$OPT_TRACE
		LAB_ROWS=$rows LAB_COLUMNS=$columns LAB_NAME=${GUEST_NAMES[GUEST]} LAB_IMAGE=${OPT_IMAGE:+1}
		export LAB_KERNEL=$OPT_KERNEL LAB_TOPOLOGY=$OPT_TOPOLOGY LAB_METER=$OPT_METER
		export LAB_CAN='$(matrix_can "$OPT_KERNEL")' LAB_HANG_SECONDS=$HANG_SECONDS TERM=${TERM:-dumb}
	END
	[[ -z $OPT_PEER$OPT_FABRIC ]] || wire_env >>"$RUN_DIR/env"
}

# write_initrd ROOT KERNEL - the kernel's initramfs and, after it, the fresh files.
write_initrd() {
	local stage=$RUN_DIR/stage initramfs
	initramfs=$(guest_initramfs "$1" "$2")
	mkdir -p "$stage"
	make_stage "$stage/stage" "$1" "$2"
	pack "$stage" "$RUN_DIR/stage.cpio"
	cat "$initramfs" "$RUN_DIR/stage.cpio" >"$RUN_DIR/initrd"
	rm -r "$stage" "$RUN_DIR/stage.cpio"
}

# debug_machine - a kernel that checks itself wants more time, and what its flavour says.
debug_machine() {
	touch "$RUN_DIR/slow" # await_boot
	case $(flavour_of "$OPT_KERNEL") in
	# Stale pointers in the allocator's arrays per CPU would hide leaks from kmemleak; caches that are checked have none.
	debug) kernel_arg 'slab_debug=F,kmalloc-*' ;;
	# A race is a warning, and most are upstream's: the verdict tells them apart (guest/known-reports). Under emulation the
	# other side is seldom there within the 80 us that KCSAN waits. A delayed store that meets an interrupt is reported
	# with a stack that is not its own, and KCSAN warns of that: interrupts are not instrumented.
	kcsan) kernel_arg panic_on_warn=0 kcsan.skip_watch=1500 kcsan.udelay_task=200 kcsan.weak_memory=0 ;;
	esac
}

# configure - collects QEMU_ARGS.
configure() {
	local root image vmlinuz
	root=$(guest_root)
	image=${OPT_IMAGE:-$(guest_image)}
	vmlinuz=$(vmlinuz_of "$root" "$OPT_KERNEL")
	blank_machine
	base_machine "$image"
	include_topology "$OPT_TOPOLOGY"
	qemu_arg -cpu "$CPU"
	processors
	[[ -z $OPT_PEER ]] || wires
	[[ $OPT_FABRIC != ntb ]] || ntb
	[[ -z $OPT_SHARE ]] || share share "$OPT_SHARE"
	! is_debug "$OPT_KERNEL" || debug_machine
	write_env
	write_initrd "$root" "$OPT_KERNEL"
	qemu_arg -kernel "$vmlinuz" -initrd "$RUN_DIR/initrd" \
		-append "${KERNEL_ARGS[*]} $OPT_APPEND"
}
