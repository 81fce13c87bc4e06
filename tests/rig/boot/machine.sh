# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The emulated machine: the words that files in topologies/ are written in, each adding to the options
# of QEMU and to the run directory. Sourced, never run.

# All of it lies below the hole for devices, from address 0 on.
readonly RAM_BYTES=$((2 << 30))

# blank_machine - before the first word.
blank_machine() {
	QEMU_ARGS=()
	KERNEL_ARGS=()
	GPU_SIZE=512M
	PROCESSORS=2
	[[ -z $OPT_ONE_PROCESSOR ]] || one_processor
	cpu_model
	CHASSIS=0
}

# cpu_model - prints the processor of a guest, without features that are slow under emulation:
# - The emulator runs a repeated string instruction byte by byte, and a kernel or C library that takes it for fast (ERMS,
#   FSRM) copies all pages with it: a guest without these needs a sixth less of the host's time. Metered guests keep them,
#   since bench/baseline counts the instructions of such a processor.
# - Page tables of five levels (LA57) cost one access more at each miss, and have KASAN report errors that are none:
#   identify_cpu() (arch/x86/kernel/cpu/common.c) clears the feature's bit for a moment, and an interrupt at that moment
#   finds addresses without a shadow (addr_has_metadata()).
# - SMAP allows and forbids each access to user memory, which takes a tenth of the time. The newest kernel and the debug
#   kernel have it, and so catch wrong accesses; the others do without.
cpu_model() {
	CPU=max,phys-bits=39
	[[ -z $OPT_METER ]] || return 0
	CPU+=,-erms,-fsrm,-la57
	kernel_can thorough || kernel_can debug || CPU+=,-smap,-pku
}

qemu_arg() {
	QEMU_ARGS+=("$@")
}

kernel_arg() {
	KERNEL_ARGS+=("$@")
}

include_topology() {
	# shellcheck source=/dev/null
	. "$RIG_DIR/topologies/$1"
}

# machine DEVICE - one that must come before all others.
machine() {
	QEMU_ARGS=(-device "$1" "${QEMU_ARGS[@]}")
}

# processor OPTION - of the emulated processor.
processor() {
	CPU+=,$1
}

# one_processor - gives the guest one processor, if its machine differs from the usual one only in where devices lie and in
# which way bytes go. Under emulation a second processor often spins on a lock whose owner waits for the emulator, and so
# takes a fifth of the host's time. Races between two processors are tested on the usual machine.
one_processor() {
	PROCESSORS=1
}

gpu_size() {
	GPU_SIZE=$1
}

# root_port ID
root_port() {
	CHASSIS=$((CHASSIS + 1))
	qemu_arg -device "pcie-root-port,id=$1,bus=pcie.0,chassis=$CHASSIS,slot=$CHASSIS"
}

# pcie_switch ID BUS PORT... - an upstream port on BUS, downstream ports by the names given.
pcie_switch() {
	local id=$1 bus=$2 port
	shift 2
	qemu_arg -device "x3130-upstream,id=$id,bus=$bus"
	for port in "$@"; do
		CHASSIS=$((CHASSIS + 1))
		qemu_arg -device "xio3130-downstream,id=$port,bus=$id,chassis=$CHASSIS,slot=$CHASSIS"
	done
}

# endpoint ID BACKING DEVICE - what labctl needs to unplug, plug and look behind it lies in the run
# directory, which the guest sees as /mnt/lab.
endpoint() {
	printf '%s\n' "$2" >"$RUN_DIR/backing/$1"
	printf '%s\n' "$3" >"$RUN_DIR/devices/$1"
	qemu_arg -device "$3"
}

# backend ID FILE SIZE - memory of a device that the host can read: a file of the run directory.
backend() {
	local object=memory-backend-file,id=$1-mem,mem-path=$RUN_DIR/$2,size=$3,share=on
	truncate -s "$3" "$RUN_DIR/$2"
	printf '%s\n' "$object" >"$RUN_DIR/objects/$1"
	qemu_arg -object "$object"
}

# drive ID - 1 GiB, sparse.
drive() {
	truncate -s 1G "$RUN_DIR/$1.img"
	qemu_arg -blockdev "driver=file,node-name=$1-disk,filename=$RUN_DIR/$1.img"
}

# gpu BUS - adds a device with a BAR of plain memory, like a GPU or an NVRAM card.
gpu() {
	backend gpu gpu.bar "$GPU_SIZE"
	endpoint gpu gpu.bar "ivshmem-plain,id=gpu,bus=$1,memdev=gpu-mem"
}

# alpha BUS [OPTION] - a drive with a Controller Memory Buffer.
alpha() {
	drive alpha
	endpoint alpha alpha.img "nvme,id=alpha,serial=alpha,bus=$1,drive=alpha-disk,cmb_size_mb=64${2:+,$2}"
}

# beta BUS - a drive with a Persistent Memory Region.
beta() {
	drive beta
	backend beta beta.pmr 64M
	endpoint beta beta.pmr "nvme,id=beta,serial=beta,bus=$1,drive=beta-disk,pmrdev=beta-mem"
}

# namespace CONTROLLER NUMBER - another one of a drive, by the host's file CONTROLLER.NUMBER.img.
namespace() {
	drive "$1.$2"
	qemu_arg -device "nvme-ns,drive=$1.$2-disk,bus=$1,nsid=$2"
}

# zoned CONTROLLER NUMBER - another namespace of a drive, which takes the writes of each zone in order.
zoned() {
	drive zoned
	qemu_arg -device "nvme-ns,drive=zoned-disk,bus=$1,nsid=$2,zoned=on,zoned.zone_size=64M,physical_block_size=4096,logical_block_size=4096"
}

# shared_beta BUS BUS - the same namespace by two controllers: beta, without a PMR, and beta2.
shared_beta() {
	drive beta
	qemu_arg -device nvme-subsys,id=shared,nqn=shared
	endpoint beta beta.img "nvme,id=beta,serial=beta,bus=$1,subsys=shared"
	endpoint beta2 beta.img "nvme,id=beta2,serial=beta,bus=$2,subsys=shared"
	qemu_arg -device nvme-ns,drive=beta-disk,bus=beta,nsid=1,shared=on
}

# port NAME FILE - a one-way channel from the guest to a file of the run directory.
channel() {
	qemu_arg -chardev "file,id=$1,path=$RUN_DIR/$1" -device "virtserialport,chardev=$1,name=lab.$1"
}

# share TAG DIR [OPTION] - a directory that the guest mounts.
share() {
	qemu_arg -fsdev "local,id=$1,path=$2,security_model=none,multidevs=remap${3:+,$3}" \
		-device "virtio-9p-pci,fsdev=$1,mount_tag=$1"
}

# processors - in parallel; with --icount one, since instructions are counted in a single order. While it has
# nothing to do its clock follows the host's: one that leaps to the next timer counts more ticks the slower a disk is.
processors() {
	if [[ -n $OPT_ICOUNT ]]; then
		qemu_arg -accel tcg,thread=single -smp 1 -icount shift=0,sleep=on
	else
		qemu_arg -accel tcg,thread=multi -smp "$PROCESSORS"
	fi
}

# steady_clock - a guest that calibrates its time-stamp counter while the host has no time for it takes it for slower than it
# is, and from then on its clock is fast: time limits of 300 s were up after 120. The counter is the host's. A clock of
# instructions needs no help.
steady_clock() {
	local khz
	[[ -z $OPT_ICOUNT ]] || return 0
	khz=$("$(ticks_program)")
	[[ -z $khz ]] || kernel_arg "tsc_early_khz=$khz"
}

# base_machine IMAGE - what every guest has.
#
# Software emulation only: a guest kernel was seen to hang under nested virtualisation, and results
# must not depend on the host. The emulator's control socket is wired to a port of the guest, so that
# a test can unplug devices under itself.
base_machine() {
	qemu_arg -nodefaults -no-user-config -display none -no-reboot -machine q35 -m $((RAM_BYTES / 1048576))M -pidfile "$RUN_DIR/pid" -device pvpanic-pci -action panic=exit-failure \
		-drive "if=virtio,format=raw,readonly=on,file=$1" \
		-serial "file:$RUN_DIR/console.log" -D "$RUN_DIR/trace.log" -device virtio-serial-pci \
		-chardev "socket,id=monitor,path=$RUN_DIR/qmp.sock,server=on,wait=off" \
		-mon chardev=monitor,mode=control -chardev "socket,id=qmp,path=$RUN_DIR/qmp.sock" \
		-device virtserialport,chardev=qmp,name=lab.qmp
	[[ -z $OPT_METER ]] || meter
	[[ -n $OPT_METER ]] || heartbeat
	channel verdict
	share lab "$RUN_DIR" readonly=on
	steady_clock
	# A kernel that warns, oopses or hangs ends the run. The mitigations only slow emulation down.
	kernel_arg console=ttyS0 ignore_loglevel panic=-1 panic_on_warn=1 oops=panic softlockup_panic=1 \
		watchdog_thresh=30 hung_task_panic=1 mitigations=off
	# If an SGL has several pieces and lies in DRAM itself, QEMU's drives expect all pieces in DRAM, and refuse those in
	# their own CMB (10.0, hw/nvme/ctrl.c, nvme_map_sgl()). Linux before 7 sends no such list, since contiguous memory is
	# one piece there; in Linux 7 each large folio is a piece. So SGLs are only used for one piece of a command's greatest length.
	! kernel_can sgl || kernel_arg nvme.sgl_threshold=524288
}
