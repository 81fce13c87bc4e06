# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The non-transparent bridge between the two guests: a device of our own (devices/), which their emulators reach by
# vfio-user. Sourced, never run.
#
#   guest A  root complex                               root complex  guest B
#               | rp0                                      | rp0
#            switch sw0 - ... - pntb   NTB ------ NTB   pntb - ... - switch sw0
#                                       \         /
#                                        ntbd, on the host
#
# The driver of the secondary side looks for the state of the link two bridges up: it has to lie below a switch.

readonly NTB_WINDOW_MIB=64

# The emulator and its libraries are of another release than the host: its own loader brings them together.
vfio_user_emulator() {
	local root=$1 libraries
	libraries=$(dirname "$(find "$root/usr/lib" -name libc.so.6)")
	# shellcheck disable=SC2034  # boot/run.sh
	EMULATOR=("$root/usr/lib64/ld-linux-x86-64.so.2" --library-path "$libraries" "$root/usr/bin/qemu-system-x86_64"
		-L "$root/usr/share/qemu" -L "$root/usr/share/seabios")
}

# shared_memory - the guest's, for the device to reach.
shared_memory() {
	qemu_arg -object "memory-backend-memfd,id=ram,size=$RAM_BYTES,share=on" -machine memory-backend=ram
}

# ntb - this guest's side of the bridge, and the port for words to it (labctl ntb).
ntb() {
	local device=$LAB_DIR/ntb-${GUEST_NAMES[GUEST]}.sock
	shared_memory
	# The IOMMU tells the device of its mappings only if the guest tells the IOMMU of each change (caching-mode).
	QEMU_ARGS=("${QEMU_ARGS[@]/#intel-iommu,/intel-iommu,caching-mode=on,}")
	CHASSIS=$((CHASSIS + 1))
	qemu_arg -device "xio3130-downstream,id=pntb,bus=sw0,chassis=$CHASSIS,slot=$CHASSIS" \
		-device "{\"driver\":\"vfio-user-pci\",\"id\":\"ntb\",\"bus\":\"pntb\",\"rombar\":0,\"socket\":{\"type\":\"unix\",\"path\":\"$device\"}}" \
		-chardev "socket,id=ntb-words,path=$LAB_DIR/ntb.sock" -device virtserialport,chardev=ntb-words,name=lab.ntb
}

# start_bridge - before the emulators, which connect to it.
start_bridge() {
	local deadline=$((SECONDS + HANG_SECONDS))
	[[ $OPT_FABRIC == ntb ]] || return 0
	vfio_user_emulator "$(vfio_user_qemu)"
	as_job "$(device_programs)/ntbd" "$LAB_DIR" "$NTB_WINDOW_MIB" >"$LAB_DIR/ntbd.log" 2>&1 &
	DEVICE_PID=$!
	until [[ -S $LAB_DIR/ntb.sock ]]; do
		kill -0 "$DEVICE_PID" 2>/dev/null || die "$EX_LAB" "the bridge did not start: $(<"$LAB_DIR/ntbd.log")"
		((SECONDS < deadline)) || die "$EX_LAB" "the bridge does not listen"
		sleep 0.05
	done
}

# stop_bridge - when nothing uses it any more. It must still be there: without it guests run on, and see nothing.
stop_bridge() {
	local pid=$DEVICE_PID status=0
	DEVICE_PID=
	[[ -n $pid ]] || return 0
	kill "$pid" 2>/dev/null || true
	wait "$pid" || status=$?
	# 143: by the signal.
	((status == 143)) || unsound "$LAB_DIR" "the bridge ended with status $status: $(tail -n 3 "$LAB_DIR/ntbd.log")"
}
