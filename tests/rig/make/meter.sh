# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The meter: a plugin of the emulator that counts what processors and drives do to memory. Sourced, never run.

# Of the BAR by which plugin and programs talk; include/donard-lab/meter.h.
readonly METER_BAR_BYTES=65536
# What the drives' half of the meter reads. On from the start: whatever is missing here was not counted.
readonly METER_EVENTS=(
	pci_nvme_admin_cmd pci_nvme_io_cmd pci_nvme_read pci_nvme_write pci_nvme_map_addr pci_nvme_map_prp
)

# build_meter DIR - for the host, where the emulator runs.
build_meter() {
	mkdir -p "$1"
	gcc -std=gnu11 -O2 -Wall -Wextra -Werror -shared -fPIC -fvisibility=hidden -o "$1/meter.so" \
		"$RIG_DIR"/meter/*.c
}

meter_key() {
	content_key "$RIG_DIR"/meter/* "$REPO_DIR/include/donard-lab/meter.h" "$(declare -f build_meter)"
}

meter_plugin() {
	printf '%s/meter.so\n' "$(cached_of meter meter_key build_meter)"
}

# meter - the plugin and its BAR, on the root bus: no route leads past it.
meter() {
	local event plugin
	plugin=$(meter_plugin)
	truncate -s "$METER_BAR_BYTES" "$RUN_DIR/meter.bar"
	qemu_arg -object "memory-backend-file,id=meter-mem,mem-path=$RUN_DIR/meter.bar,size=$METER_BAR_BYTES,share=on" \
		-device ivshmem-plain,id=meter,bus=pcie.0,addr=1e.0,memdev=meter-mem \
		-plugin "file=$plugin,bar=$RUN_DIR/meter.bar,trace=$RUN_DIR/trace.log,ram=$RAM_BYTES"
	for event in "${METER_EVENTS[@]}"; do
		qemu_arg -trace "enable=$event"
	done
}
