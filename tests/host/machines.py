# SPDX-License-Identifier: Apache-2.0
"""Machines for donard-cli doctor: a text that describes one, made into the folders that it would have.

A line each; what is in quotes may hold spaces:

    kernel RELEASE             and "config NAME...": options that are y, or NAME=VALUE; without the line no options can be read
    cmdline TEXT               arguments of the kernel
    cpu VENDOR FAMILY "MODEL" [FLAG...]
    file PATH TEXT             a file as it is; "\\n" is a new line
    hex PATH OFFSET BYTES...   bytes of a file, which is zeros where none are given; PATH size N is its length
    link PATH TARGET           relative to the root
    dir PATH
    pci BDF id=V:D class=C [below=BDF] [bus=pci0000:00] [port=root|up|down|end] [acs=CONTROL] [driver=D] [numa=N] [iommu=TYPE]
        [barN=SIZE@ADDRESS[,pref][,64]] [resizeN=SIZE] [link=SPEEDxWIDTH/SPEEDxWIDTH] [readable=64]
    nvme NAME BDF "MODEL" SERIAL [cmb=LOCATION:SIZE] [state=STATE] [NAMESPACE...]
    rdma NAME BDF TYPE STATE
"""
import pathlib
import shlex

PORTS = {"end": 0, "root": 4, "up": 5, "down": 6}
UNITS = {"K": 10, "M": 20, "G": 30}


def size_of(text):
    return int(text[:-1], 0) << UNITS[text[-1]] if text[-1] in UNITS else int(text, 0)


class Machine:
    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.places = {}
        self.release = ""

    def file(self, path, text):
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text.replace("\\n", "\n") + "\n")

    def link(self, path, target):
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(self.root / target)

    def patch(self, path, offset, data):
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        old = bytearray(place.read_bytes() if place.exists() else b"")
        old.extend(bytes(max(0, offset + len(data) - len(old))))
        old[offset:offset + len(data)] = data
        place.write_bytes(old)

    def do_kernel(self, release):
        self.release = release
        self.file("proc/sys/kernel/osrelease", release)

    def do_config(self, *names, **values):
        self.file(f"boot/config-{self.release}", "\\n".join(["# options", *(f"CONFIG_{name}=y" for name in names),
                                                           *(f"CONFIG_{name}={value}" for name, value in values.items())]))

    def do_cmdline(self, text):
        self.file("proc/cmdline", text)

    def do_cpu(self, vendor, family, model, *flags):
        self.file("proc/cpuinfo", f"processor\t: 0\\nvendor_id\t: {vendor}\\ncpu family\t: {family}\\nmodel\t\t: 1\\n"
                  f"model name\t: {model}\\nflags\t\t: fpu {' '.join(flags)}")

    def do_file(self, path, text=""):
        self.file(path, text)

    def do_link(self, path, target):
        self.link(path, target)

    def do_dir(self, path):
        (self.root / path).mkdir(parents=True, exist_ok=True)

    def do_hex(self, path, offset, *data):
        if offset == "size":
            self.patch(path, int(data[0]) - 1, b"\0")
        else:
            self.patch(path, int(offset, 16), bytes.fromhex("".join(data)))

    def do_pci(self, bdf, **values):
        above = self.places[values["below"]] if "below" in values else "sys/devices/" + values.get("bus", "pci0000:00")
        place = self.places[bdf] = f"{above}/{bdf}"
        vendor, device = (int(part, 16) for part in values["id"].split(":"))
        for name, value in (("vendor", f"0x{vendor:04x}"), ("device", f"0x{device:04x}"),
                            ("class", f"0x{values['class']}"), ("numa_node", values.get("numa", "-1"))):
            self.file(f"{place}/{name}", value)
        self.link(f"sys/bus/pci/devices/{bdf}", place)
        self.config(place, vendor, device, values)
        self.bars(place, values)
        if "driver" in values:
            driver = self.root / "sys/bus/pci/drivers" / values["driver"]
            driver.mkdir(parents=True, exist_ok=True)
            self.link(f"{place}/driver", f"sys/bus/pci/drivers/{values['driver']}")
        if "iommu" in values:
            group = f"sys/kernel/iommu_groups/{len(self.places)}"
            self.do_dir(group)
            if values["iommu"]:  # else its mode cannot be read
                self.file(f"{group}/type", values["iommu"])
            self.link(f"{place}/iommu_group", group)
        if "link" in values:
            for which, part in zip(("current", "max"), values["link"].split("/")):
                speed, width = part.split("x")
                self.file(f"{place}/{which}_link_speed", f"{speed} GT/s PCIe")
                self.file(f"{place}/{which}_link_width", width)

    def config(self, place, vendor, device, values):
        """Express capability at 0x40; of what has ACS, AER at 0x100 and ACS at 0x148."""
        express = "port" in values
        config = bytearray(4096 if express else 256)
        config[0:4] = vendor.to_bytes(2, "little") + device.to_bytes(2, "little")
        config[9:12] = bytes.fromhex(values["class"])[::-1]
        if express:
            config[6] = 0x10
            config[0x34] = 0x40
            config[0x40:0x44] = bytes([0x10, 0, PORTS[values["port"]] << 4 | 2, 0])
        if "acs" in values:
            config[0x100:0x104] = (0x14810001).to_bytes(4, "little")
            config[0x148:0x14c] = (0x0001000d).to_bytes(4, "little")
            config[0x14e:0x150] = int(values["acs"], 16).to_bytes(2, "little")
        self.patch(f"{place}/config", 0, bytes(config[:int(values.get("readable", 4096))]))

    def bars(self, place, values):
        lines = []
        for number in range(6):
            text = values.get(f"bar{number}")
            if f"resize{number}" in values:
                bit = size_of(values[f"resize{number}"]).bit_length() - 21
                self.file(f"{place}/resource{number}_resize", f"{(2 << bit) - 1:016x}")
            if not text:
                lines.append("0x0000000000000000 0x0000000000000000 0x0000000000000000")
                continue
            where, *words = text.split(",")
            size, _, start = where.partition("@")
            start = int(start, 0)
            flags = 0x40200 | (0x2000 if "pref" in words else 0) | (0x100000 if "64" in words else 0)
            lines.append(f"0x{start:016x} 0x{start + size_of(size) - 1:016x} 0x{flags:016x}")
        self.file(f"{place}/resource", "\\n".join(lines))

    def do_nvme(self, name, bdf, model, serial, *namespaces, cmb=None, state="live"):
        place = f"{self.places[bdf]}/nvme/{name}"
        for attribute, value in (("transport", "pcie"), ("address", bdf), ("state", state), ("model", model),
                                 ("serial", serial)):
            self.file(f"{place}/{attribute}", value)
        if cmb:
            location, size = cmb.split(":")
            self.file(f"{place}/cmb", f"cmbloc : 0x{location}\\ncmbsz  : 0x{size}")
        for namespace in namespaces:
            self.file(f"{place}/{namespace}/size", "2000409264")
        self.link(f"sys/class/nvme/{name}", place)

    def do_rdma(self, name, bdf, kind, state):
        place = f"{self.places[bdf]}/infiniband/{name}"
        self.file(f"{place}/hca_type", kind)
        self.file(f"{place}/node_guid", "0000:0000:0000:0001")
        self.file(f"{place}/ports/1/state", f"4: {state}")
        self.link(f"{place}/device", self.places[bdf])
        self.link(f"sys/class/infiniband/{name}", place)


def expand(text, root):
    """Makes the folders below root."""
    machine = Machine(root)
    for number, line in enumerate(text.splitlines(), 1):
        words = shlex.split(line, comments=True)
        if not words:
            continue
        options = {} if words[0] in ("file", "cmdline", "hex", "link", "dir") else dict(
            word.split("=", 1) for word in words[1:] if "=" in word)
        plain = words[1:] if not options else [word for word in words[1:] if "=" not in word]
        try:
            getattr(machine, f"do_{words[0]}")(*plain, **options)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise SystemExit(f"line {number}: {line}: {error}") from error
