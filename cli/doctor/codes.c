// SPDX-License-Identifier: Apache-2.0
/* The one table of findings; tests/host/doctor.py holds docs/troubleshooting.md against it. */
#include "codes.h"
#include "doctor.h"
#include "fields.h"

#define FAULT	SEVERITY_FAULT
#define WARNING	SEVERITY_WARNING
#define NOTE	SEVERITY_NOTE

static const struct code_entry entries[CODE_COUNT] = {
	[CODE_KERNEL_TOO_OLD] = { "kernel-too-old", FAULT,
		"the running kernel is older than 6.1",
		"The module does not build for it.",
		"Install Linux 6.1, 6.12 or 7.x and its headers." },
	[CODE_KERNEL_TOO_NEW] = { "kernel-too-new", FAULT,
		"the running kernel is newer than 7.x, and the module is not loaded",
		"'make' and DKMS do not build this module for it.",
		"Install Linux 7.x and its headers, or a release of donard that is for this kernel." },
	[CODE_KERNEL_UNTESTED] = { "kernel-untested", NOTE,
		"donard's tests do not run on this kernel series; they run on 6.1, 6.12 and 7.x",
		"Nobody has run the tests there. Series between these build from the same source, and probably work.",
		"Run 'donard-cli doctor --probe' after the first region, or install one of these series." },
	[CODE_CONFIG_UNREADABLE] = { "config-unreadable", NOTE,
		"the kernel's configuration cannot be read",
		"Whether it was built with CONFIG_ZONE_DEVICE, CONFIG_IO_URING, CONFIG_DMA_API_DEBUG and CONFIG_RANDOMIZE_MEMORY is not "
		"checked.",
		"Make /boot/config-$(uname -r) readable, or install the kernel's headers." },
	[CODE_NO_ZONE_DEVICE] = { "no-zone-device", FAULT,
		"the kernel was built without CONFIG_ZONE_DEVICE",
		"Device memory gets no struct pages, so no drive or NIC can be told to use it.",
		"Use a kernel with CONFIG_ZONE_DEVICE=y, as Debian's are." },
	[CODE_NO_P2PDMA] = { "no-p2pdma", NOTE,
		"the kernel has no P2PDMA that programs can use (CONFIG_PCI_P2PDMA, Linux 6.13)",
		"Regions have no page type p2pdma: the kernel checks no route by itself, and donard's own checks are what "
		"there is. Its list of host bridges is missing, too: only AMD processors since family 17h (Zen) count as "
		"forwarding.",
		"Nothing has to be done below one switch. Else use a kernel of 7.x with CONFIG_PCI_P2PDMA=y." },
	[CODE_DMA_API_DEBUG] = { "dma-api-debug", WARNING,
		"the kernel is Linux 7.3 or later, and was built with CONFIG_DMA_API_DEBUG",
		"Its check refuses generic pages: direct I/O to them fails with a warning in the kernel's log. dma_debug=off does not "
		"help.",
		"Use a kernel without that option. Or, for regions of kind pci-bar or gpu-nvidia, page type p2pdma (region add "
		"--page-type p2pdma)." },
	[CODE_NO_IO_URING] = { "no-io-uring", WARNING,
		"io_uring is refused, by a sysctl, a seccomp filter or the kernel's options",
		"Copies, queues and what is built on these go by Linux AIO: slower, as it has no registered memory, and without "
		"--passthrough.",
		"Set the sysctl kernel.io_uring_disabled to 0, or to 1 with your group in kernel.io_uring_group, and let a seccomp "
		"filter allow io_uring_setup, io_uring_enter and io_uring_register." },
	[CODE_NO_ASYNC_IO] = { "no-async-io", FAULT,
		"io_uring is refused, and so is Linux AIO",
		"Copies and queues cannot run, nor what is built on these: --probe, cuFile, the write cache, the Python package.",
		"Use a kernel with CONFIG_IO_URING=y or CONFIG_AIO=y, and a seccomp filter that allows one of them; docs/containers.md." },
	[CODE_LOCKDOWN] = { "lockdown", FAULT,
		"the kernel is locked down",
		"Nobody can add or remove regions, because it would let root choose DMA addresses.",
		"Boot without lockdown=, or switch Secure Boot off if that turns lockdown on; see docs/install.md.", .of_adding = true },
	[CODE_MEMORY_ENCRYPTION] = { "memory-encryption", FAULT,
		"the machine encrypts its memory (SEV, TDX, or SME by mem_encrypt=on or by the kernel's default)",
		"The module refuses to load: another device cannot use an encrypted address.",
		"Boot with mem_encrypt=off; a confidential guest cannot have regions." },
	[CODE_NOT_X86] = { "not-x86", WARNING,
		"the processor is no x86-64",
		"donard is tested on x86-64 alone.",
		"Trust nothing here but what --probe proves." },
	[CODE_MODULE_MISSING] = { "module-missing", WARNING,
		"the module p2pmem is not installed for the running kernel",
		"There can be no regions.",
		"Install the package p2pmem-dkms and the kernel's headers, or run 'sudo make install-module' in donard's source." },
	[CODE_MODULE_NOT_LOADED] = { "module-not-loaded", WARNING,
		"the module p2pmem is installed and not loaded",
		"There are no regions, and Persistent Memory Regions cannot be told from other BARs.",
		"sudo modprobe p2pmem" },
	[CODE_MODULE_DIFFERS] = { "module-differs", WARNING,
		"the module that is loaded is of another release than this program",
		"What only one of the two knows does not work.",
		"Install both from one release, then: sudo modprobe -r p2pmem && sudo modprobe p2pmem. The regions go with the old module, "
		"and what volatile ones hold is lost: 'sudo donard-cli region save' before it, and 'sudo donard-cli region apply' "
		"after it, bring the regions back." },
	[CODE_SIGNATURE_NEEDED] = { "signature-needed", WARNING,
		"this kernel loads signed modules only (module.sig_enforce or lockdown, often by Secure Boot)",
		"modprobe p2pmem fails with 'Key was rejected by service', or by lockdown alone with 'Operation not permitted', unless "
		"the module was signed with an enrolled key.",
		"Have DKMS sign it with a Machine Owner Key: docs/install.md, Secure Boot." },
	[CODE_FOREIGN_MODULE] = { "foreign-module", FAULT,
		"another module has nodes of the name /dev/p2pmemN (class p2pmem_device)",
		"p2pmem refuses to load beside it.",
		"Unload that module: modprobe -r p2pmem_pci" },
	[CODE_REGION_BUSY_ENDING] = { "region-ending", WARNING,
		"a region is being taken away, or its device is gone",
		"Nobody can use it any more; it ends when its last holder lets go.",
		"'donard-cli info REGION' names the holders." },
	[CODE_NOT_IN_GROUP] = { "not-in-group", WARNING,
		"you are not in the group p2pmem",
		"You may not open regions.",
		"Join the group (sudo adduser $USER p2pmem) and log in again, or run as root." },
	[CODE_NODE_FORBIDDEN] = { "node-forbidden", WARNING,
		"a container or a mount keeps this process, be it root or not, from the node of a region or drive",
		"It cannot be used from here.",
		"As the remedy of the finding says: its device cgroup, a mount with nodev, or its user namespace; docs/containers.md." },
	[CODE_NODE_MISSING] = { "node-missing", NOTE,
		"a region or drive has no node of its name in /dev, or one that leads to another device",
		"It cannot be used by that name from here.",
		"In a container: give it the node under the same name (docs/containers.md). Else look whether udev runs." },
	[CODE_DRIVE_CLOSED] = { "drive-closed", NOTE,
		"you cannot read a drive's node",
		"Copies from and to the drive itself are refused. For files on it, their own permissions count.",
		"Run as root, or have root let you: setfacl -m u:$USER:rw /dev/NODE, or a udev rule that lasts." },
	[CODE_CONTAINER] = { "container", NOTE,
		"this is a container, or a user namespace",
		"/sys names all devices of the machine; only those whose nodes are in /dev can be used. Root of a user namespace adds "
		"no regions, and sees neither ACS nor PMRs.",
		"docs/containers.md says what a container needs." },
	[CODE_SYSFS_HIDDEN] = { "sysfs-hidden", WARNING,
		"a part of /sys is hidden",
		"Nothing tells which drives there are, and what they are made of: copies and queues are refused.",
		"Unmount what is mounted over it, or let the container see it: docs/containers.md." },
	[CODE_LOCKED_MEMORY] = { "locked-memory", WARNING,
		"you may lock little memory (RLIMIT_MEMLOCK)",
		"Larger memory cannot be registered with io_uring or RDMA: copies are slower, and RDMA fails with locked-memory.",
		"Raise it: ulimit -l, 'memlock' in /etc/security/limits.conf, or LimitMEMLOCK= of a service." },
	[CODE_NOT_ROOT] = { "not-root", NOTE,
		"this ran without root's rights",
		"ACS, which is beyond the first 64 bytes of configuration space, PMRs and PCI serial numbers were not seen, "
		"nor, outside of the group p2pmem, functions without a route to a region.",
		"sudo donard-cli doctor" },
	[CODE_IOMMU_TRANSLATES] = { "iommu-translates", WARNING,
		"an IOMMU translates what clients send",
		"Each of their requests goes up to the root complex, even between devices below one switch: slower, and "
		"possible only where the root complex forwards. p2pdma pages have no route between devices below one switch, "
		"unless ACS redirects.",
		"Boot with iommu=pt (requests then keep their addresses, and devices that need translation can still have it)." },
	[CODE_IOMMU_UNREADABLE] = { "iommu-unreadable", NOTE,
		"how the IOMMU treats clients cannot be read",
		"They are taken to be translated, which is the stricter assumption.",
		"Look at /sys/bus/pci/devices/BDF/iommu_group/type." },
	[CODE_SWIOTLB_FORCED] = { "swiotlb-forced", FAULT,
		"the kernel was booted with swiotlb=force, or with sizes and force",
		"The CPU copies everything that devices send or get through a buffer in DRAM.",
		"Boot without it." },
	[CODE_BRIDGE_UNASKED] = { "host-bridge-unasked", WARNING,
		"requests between some devices would pass a root complex, and the running kernel was not asked whether it forwards "
		"them",
		"Whether there is a route is not known: that is for the running kernel's own list of host bridges to say, which the "
		"module asks for a region.",
		"Load the module, add the region, and run 'sudo donard-cli doctor' again." },
	[CODE_UNLISTED_BRIDGE] = { "unlisted-host-bridge", WARNING,
		"requests between some devices would pass a root complex that is not known to forward them",
		"They may be lost without an error. donard refuses such pairs.",
		"Put both devices below one PCIe switch. Or try whether it forwards: doctor --probe --allow-unlisted-bridge moves "
		"one block each way between a drive and a region, and copy --allow-unlisted-bridge uses it." },
	[CODE_UNLISTED_FORWARDS] = { "unlisted-bridge-forwards", NOTE,
		"--probe saw bytes arrive over a host bridge that is on no list",
		"donard still refuses the pair unless told otherwise: what was seen is one block, on the machine as it is.",
		"copy --allow-unlisted-bridge uses it, and proves it again for each pair." },
	[CODE_ACS_REDIRECTS] = { "acs-redirects", WARNING,
		"Access Control Services send the requests of devices below one switch up to the root complex",
		"Without that these pairs would have the route 'switch'; with it they have one only where the running kernel knows "
		"that the root complex forwards.",
		"Switch ACS redirection off for these ports. Virtual machines that were each given a device below that switch are then "
		"no longer kept apart there." },
	[CODE_ACS_DETOUR] = { "acs-detour", NOTE,
		"Access Control Services send requests between devices below one switch up to the root complex, which forwards them",
		"It works, but it costs bandwidth of the link above the switch, and latency.",
		"If no virtual machine has a device below that switch, switch ACS redirection off for these ports." },
	[CODE_ACS_UNREADABLE] = { "acs-unreadable", NOTE,
		"the ACS of bridges cannot be read",
		"The routes predicted here assume that they redirect nothing.",
		"Run as root; only root reads configuration space beyond 64 bytes. Behind some hypervisors nobody does." },
	[CODE_OTHER_SOCKET] = { "other-socket", WARNING,
		"a client and the memory are at different processors (NUMA nodes)",
		"Requests cross the link between the processors: if that forwards them at all, at a fraction of a switch's bandwidth.",
		"Put both at one processor, best below one switch; 'lspci -tv' and the board's manual say which slots are." },
	[CODE_LINK_REDUCED] = { "link-reduced", NOTE,
		"a device's link runs with fewer lanes or at a lower speed than the device is capable of",
		"Its bandwidth is lower by that factor. Some devices lower it by themselves while they have nothing to do.",
		"Another slot; a reseated card or cable; the slot's settings in the firmware's setup." },
	[CODE_BEHIND_VMD] = { "behind-vmd", WARNING,
		"drives are behind an Intel Volume Management Device",
		"They are in a PCI domain of their own: no device outside that domain has a route to or from them, unless the running "
		"kernel lists the host bridge of that domain.",
		"Switch VMD off for these slots in the firmware's setup. RAID volumes made with it are lost." },
	[CODE_VIRTUAL_MACHINE] = { "virtual-machine", NOTE,
		"this is a virtual machine",
		"The PCI tree is the hypervisor's. Where the real devices sit, and what ACS and the real IOMMU do, cannot be "
		"seen from here: a route that is predicted may not exist.",
		"Believe what 'doctor --probe' proves, and nothing else." },
	[CODE_PREDICTION_DIFFERS] = { "prediction-differs", NOTE,
		"the module predicts another route than doctor does from sysfs",
		"The module's answer, which is the kernel's, counts.",
		"Please report it, with the output of 'donard-cli doctor --json' as root." },
	[CODE_NO_MEMORY] = { "no-memory", FAULT,
		"no device has memory that could be a region",
		"There is nothing to move data to.",
		"You need a drive with a Controller Memory Buffer or a Persistent Memory Region, or a function with a memory BAR of "
		"2 MiB or more that no driver uses (GPU, FPGA, NVRAM card): docs/hardware.md." },
	[CODE_NO_REGION] = { "no-region", WARNING,
		"there is no region yet",
		"Nothing can be moved before one is added.",
		"'donard-cli region candidates' lists what could be one, with the command to type." },
	[CODE_BAR_UNASSIGNED] = { "bar-unassigned", WARNING,
		"a memory BAR has no address: the firmware or the kernel found no room for it",
		"It cannot be a region, and the device may not work at all.",
		"Enable 'Above 4G Decoding' (large BARs, 64-bit MMIO) in the firmware's setup, or boot with pci=realloc." },
	[CODE_BELOW_4G] = { "bar-below-4g", NOTE,
		"a 64-bit memory BAR of 256 MiB or more lies below 4 GiB",
		"The firmware seems to place BARs below 4 GiB only; larger ones will find no room.",
		"Enable 'Above 4G Decoding' in the firmware's setup if a BAR is missing or too small." },
	[CODE_BAR_RESIZABLE] = { "bar-resizable", NOTE,
		"a BAR can be larger than it is",
		"Only that part of the device's memory can be a region.",
		"Enable 'Resizable BAR' in the firmware's setup, or, with no driver bound, write the binary logarithm of the size in "
		"MiB to the function's resourceN_resize in sysfs: 15 for 32 GiB." },
	[CODE_BEYOND_DIRECT_MAP] = { "beyond-direct-map", WARNING,
		"a device's memory lies beyond the end of the kernel's direct map, which KASLR may have cut short",
		"The kernel has no room for its struct pages there: region add is refused.",
		"Boot with nokaslr, which leaves the map as long as it can be. Or have the firmware place BARs lower (in its setup, often "
		"'MMIO High Base' or 'MMIOH Base'), or use Linux 6.19 or later, or a stable kernel since January 2026, whose KASLR does not "
		"cut it." },
	[CODE_KASLR_DIRECT_MAP] = { "kaslr-direct-map", NOTE,
		"KASLR (CONFIG_RANDOMIZE_MEMORY) may have cut the kernel's direct map too short for a device's memory",
		"If it has, the kernel has no room for struct pages of that memory, and region add is refused. Kernels before 6.19 cut it, "
		"but for stable ones since January 2026: only the running kernel knows whether it does; the module asks it.",
		"sudo modprobe p2pmem, then: sudo donard-cli doctor. If it then says beyond-direct-map: boot with nokaslr, have the "
		"firmware place BARs lower, or update the kernel." },
	[CODE_MEMORY_UNKNOWN] = { "memory-unknown", NOTE,
		"a drive has memory that is not known to be of use",
		"It is left out of the routes.",
		"As the cause says." },
	[CODE_MEMORY_IN_USE] = { "memory-in-use", NOTE,
		"a driver uses a device that has a memory BAR",
		"It is left out of the routes: its memory can be a region only while no driver uses the device.",
		"Only if the machine can do without that device: unbind its driver. 'donard-cli region candidates' has the command." },
	[CODE_UNROUTED_CLIENT] = { "unrouted-client", WARNING,
		"a device has no route to a region, and the kernel would not stop it from using the region's pages",
		"donard refuses the pair. Other programs (fio, dd, perftest) would lose data without an error.",
		"Where both are below one switch, and an IOMMU translates: boot with iommu=pt. A region of kind pci-bar or gpu-nvidia "
		"without large folios: use page type p2pdma (region set --page-type). Any other: move one of the two below the other's "
		"switch, or keep that device's users out of the region's group." },
	[CODE_NO_CLIENT] = { "no-client", FAULT,
		"there is no NVMe drive and no RDMA NIC",
		"No device here can be told to move data.",
		"docs/hardware.md says what is known to work." },
	[CODE_NO_DRIVE] = { "no-drive", NOTE,
		"there is no NVMe drive on PCI Express",
		"Only RDMA can be used. SATA and SAS drives, and NVMe over Fabrics, are out of the question.",
		"docs/hardware.md" },
	[CODE_DRIVE_NOT_LIVE] = { "drive-not-live", WARNING,
		"the controller of a drive is dead, going, or not ready yet",
		"Its requests fail, or wait. Of a drive that is dead or going no pair is counted.",
		"dmesg says why. A reset ends by itself: run doctor again. A dead drive may come back after 'echo 1 | sudo tee "
		"/sys/bus/pci/devices/BDF/remove' and 'echo 1 | sudo tee /sys/bus/pci/rescan', or after the power was off." },
	[CODE_MULTIPATH] = { "multipath", NOTE,
		"namespaces are reached through several controllers",
		"A copy uses whichever path the kernel chooses, so each controller must have a route.",
		"Compare the controllers' rows. If one has no route, and all its namespaces have other controllers, unbind it: 'echo BDF | "
		"sudo tee /sys/bus/pci/drivers/nvme/unbind'. Or boot with nvme_core.multipath=N and use the other's node." },
	[CODE_RAID_LEVEL] = { "raid-level", NOTE,
		"drives are in a software RAID whose level passes no payload on (raid4, raid5, raid6 and others)",
		"donard refuses the array, and files on it: the CPU must see all data.",
		"Use raid0, raid1 or raid10, or the drives themselves: docs/stacks.md." },
	[CODE_RDMA_DMA_BUF] = { "rdma-dma-buf", NOTE,
		"an RDMA NIC's driver takes dma-bufs",
		"It reaches regions of both page types.",
		"Nothing has to be done." },
	[CODE_RDMA_PINS] = { "rdma-pins", NOTE,
		"an RDMA NIC's driver is not known to take dma-bufs",
		"It reaches regions of page type generic only.",
		"Add the region with --page-type generic." },
	[CODE_RDMA_PORT_DOWN] = { "rdma-port-down", WARNING,
		"no port of an RDMA NIC is active",
		"It cannot connect.",
		"Look at the cable, 'ip link' and 'rdma link'." },
	[CODE_RDMA_SOFT] = { "rdma-soft", NOTE,
		"an RDMA device is software (rxe, siw)",
		"It works with regions of page type generic. The CPU copies: no route matters, and nothing bypasses it.",
		"Nothing has to be done; for peer-to-peer you need an RDMA NIC." },
	[CODE_GPU_DRIVER] = { "gpu-driver", NOTE,
		"a GPU's memory belongs to its driver",
		"Its BAR can be a region as a whole only while no driver uses the GPU. What programs allocate on it comes as a dma-buf.",
		"Unbind the driver if the GPU is to serve as memory alone. 'donard-cli region candidates' has the command." },
	[CODE_GPU_NO_DRIVER] = { "gpu-no-driver", NOTE,
		"NVIDIA's driver does not run a GPU of NVIDIA's",
		"What programs allocate on it cannot be pinned: gpu:N, cuFile and donard_memory_from_cuda() do not work.",
		"Install NVIDIA's open kernel module, and reboot: apt install nvidia-open-kernel-dkms (Debian contrib). It drives Turing "
		"and later GPUs; releases before 545, as Debian 12's, need a parameter for any but data-centre GPUs: docs/gpu.md, "
		"Drivers. Only the BAR of an older GPU can be a region, with no driver bound." },
	[CODE_GPU_PROPRIETARY] = { "gpu-proprietary", WARNING,
		"a GPU is driven by NVIDIA's proprietary module",
		"GPL modules may not call it, so that none of the GPU's memory can be pinned.",
		"Install the open one (Debian contrib), choose it, and reboot: sudo apt install nvidia-open-kernel-dkms && sudo update-glx "
		"--set nvidia /usr/lib/nvidia/current-open. It drives Turing and later GPUs; releases before 545, as Debian 12's, need "
		"a parameter for any but data-centre GPUs: docs/gpu.md, Drivers." },
	[CODE_GPU_STATIC_BAR1] = { "gpu-static-bar1", NOTE,
		"a GPU's driver runs with static BAR1",
		"The driver has struct pages of its own for the aperture: the region has page type p2pdma and uses those, which needs "
		"Linux 6.13 or later.",
		"On an older kernel remove RMForceStaticBar1=1 from its parameter NVreg_RegistryDwords (/etc/modprobe.d), and load it "
		"again." },
	[CODE_GPU_NO_REGION] = { "gpu-no-region", NOTE,
		"a GPU has no region to pin its memory in",
		"gpu:N, cuFile and donard_memory_from_cuda() do not work for it.",
		"sudo donard-cli region add --kind gpu-nvidia --device BDF" },
	[CODE_GPU_PARTITIONED] = { "gpu-partitioned", NOTE,
		"MIG divides a GPU into instances",
		"Its driver can take pinned memory back at any time.",
		"Add its region with --page-type p2pdma, where the kernel has that. Or switch MIG off: nvidia-smi -mig 0." },
	[CODE_GPU_SMALL_BAR1] = { "gpu-small-bar1", NOTE,
		"a GPU's BAR1 is smaller than its memory",
		"Only so much of it, all programs together, can be pinned at a time.",
		"Pin less at a time. This GPU's BAR cannot be resized here." },
	[CODE_GPU_NO_CUDA] = { "gpu-no-cuda", NOTE,
		"CUDA does not answer for a GPU",
		"How much memory it has is not known. gpu:N does not work; programs that bring a CUDA of their own may.",
		"Where libcuda.so.1 is missing: apt install libcuda1 (Debian non-free), of the release of the kernel's driver. Else do "
		"as the cause says; if it names no remedy, see the kernel log." },
	[CODE_NOT_DELIVERED] = { "not-delivered", WARNING,
		"a block was moved, the device reported success, and the bytes did not arrive",
		"The route does not exist, whatever was predicted. Copies and queues refuse the pair, as they prove each route themselves; "
		"RDMA and other programs would lose data.",
		"Put both below one PCIe switch, boot with iommu=pt, and look at the machine's firmware for updates." },
	[CODE_NOT_PROBED] = { "not-probed", WARNING,
		"a probe was asked for, and could not be made of each pair of a device and a region",
		"For these pairs only the prediction is known.",
		"Do as the reasons of the pairs say. Run it as root, who may open all nodes and send the command Compare. If a drive "
		"does not compare, name a place on it that may be written: --scratch." },
};

const struct code_entry *code_entry(enum code code)
{
	return &entries[code];
}

const char *severity_word(enum severity severity)
{
	static const char *const words[] = { "fault", "warning", "note" };

	return words[severity];
}

static const struct cli_field fields[] = {
	CLI_FIELD("code", CLI_TEXT, struct code_entry, word),
	CLI_FIELD("severity", CLI_WORD, struct code_entry, severity, .word_of = severity_word),
	CLI_FIELD("meaning", CLI_TEXT, struct code_entry, meaning),
	CLI_FIELD("consequence", CLI_TEXT, struct code_entry, consequence),
	CLI_FIELD("remedy", CLI_TEXT, struct code_entry, remedy),
	{ 0 },
};

struct json_object *doctor_codes(void)
{
	struct json_object *all = json_object_new_array();

	for (int i = 0; i < CODE_COUNT; i++)
		json_object_array_add(all, cli_fields_json(fields, &entries[i], 0));
	return all;
}
