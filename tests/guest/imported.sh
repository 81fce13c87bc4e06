# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Memory that came as a dma-buf, by imported.c and importbad.c: of p2pmem, of a module that exports in each way that drivers do
# (modules/exporter), and of the kernel's own exporters. What each is taken for, what reaches it, how it ends.

# shellcheck source=removal.sh
. ./removal.sh
# shellcheck source=helpers/gpu.sh
. ./helpers/gpu.sh
# shellcheck source=helpers/insteps.sh
. ./helpers/insteps.sh

# of_import TEST [COMMAND...] - runs it by COMMAND
of_import() {
	data_on_alpha $((8 * MIB))
	"${@:2}" imported "$1" "$LAB_ALPHA" "$LAB_ALPHA_BDF"
	within 10 region_is_free p2pmem0
	within 10 region_is_free p2pmem2
}

of_bad_import() {
	importbad "$1"
	within 10 region_is_free p2pmem0
	within 10 region_is_free p2pmem2
}

# of_p2pdma TEST [COMMAND...]
of_p2pdma() {
	with_page_type p2pmem0 p2pdma
	of_import "$@"
}

# A GPU's, in the place of p2pmem0: it has no pages, and is left to NICs.
of_gpu() {
	# shellcheck disable=SC2119
	with_gpu
	imported gpu "$LAB_ALPHA" "$LAB_ALPHA_BDF"
}

# The program has no signal handler, and gets no signal. A region that is added later is another one, even under the same name.
ends_with_its_region() {
	begin_steps ready imported until-the-end "$LAB_ALPHA" "$LAB_ALPHA_BDF"
	donard-cli region remove p2pmem0
	within 30 grep -qx ended "$WORK/seen"
	donard-cli region add --kind pci-bar --device "$LAB_GPU_BDF" --bar 2 >/dev/null
	give_to_group p2pmem0
	end_steps
	copy_again
}

# The answers of a device that is being reset are no data.
tells_a_reset() {
	with_a_reset imported "$1"
	copy_again
}

drive_imports() {
	can ring-dmabufs || give_up_as_skip "kernel $LAB_KERNEL lets no drive's driver import a dma-buf"
	of_import drive-imports
}

[[ -d /sys/module/exporter ]] || insmod /opt/donard/modules/exporter.ko
for name in $(tests_of imported); do
	case $name in
	until-the-end | *-a-reset) ;; # below
	# Memory that a drive's driver can import is neither refused nor bounced.
	gpu) can ring-dmabufs || core t "$name" of_gpu ;;
	frames | import-moves-nothing | frames-taken-back | unmapped) can ring-dmabufs || t "$name" of_import "$name" ;;
	ours | ours-by-queue | device-pages | refused) core t "$name" of_import "$name" ;;
	host-pages | device-page-amid-host-pages) ! can nodes || t "$name" of_import "$name" ;;
	unknown-pages) can nodes || t "$name" of_import "$name" ;;
	udmabuf | system-heap) can ring-dmabufs || ! can heaps || t "$name" of_import "$name" ;;
	drive-imports) t "a drive reads into a dma-buf" drive_imports ;;
	*) t "$name" of_import "$name" ;;
	esac
done
for name in $(tests_of importbad); do
	t "$name" of_bad_import "$name"
done
t "without-proc" unshare --mount bash -c 'mount -t tmpfs none /proc && exec importbad without-proc'
t "reads-until-a-reset" tells_a_reset reads-until-a-reset
t "writes-until-a-reset" tells_a_reset writes-until-a-reset
t "after-a-reset" tells_a_reset after-a-reset
if can p2pdma; then
	t "ours-by-queue, p2pdma pages" of_p2pdma ours-by-queue
	t "host-memory-of-a-device, p2pdma pages" of_p2pdma host-memory-of-a-device
	t "host-memory-of-a-device, p2pdma pages, in a sandbox" of_p2pdma host-memory-of-a-device forbid EPERM all-pages
fi
t "host-memory-of-a-device, move_pages() forbidden" of_import host-memory-of-a-device forbid EPERM pages
t "host-memory-of-a-device, in a sandbox" of_import host-memory-of-a-device forbid EPERM all-pages
lt "until-the-end" ends_with_its_region
