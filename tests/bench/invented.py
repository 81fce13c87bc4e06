# SPDX-License-Identifier: Apache-2.0
"""Invented results. Costs are round numbers, so that a test can tell what must come out: 10,000 bytes and 1,000,000
instructions to start, then so much a byte or MiB."""
import itertools
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Json = dict[str, Any]

MIB = 1 << 20
BOTH = ("to-region", "from-region")
# Payload by DMA and CPU, overhead (bytes a byte), instructions a MiB at 1 MiB.
COSTS = {
    "donard": (0, 0, 0.04, 60000), "donard-bounce": (1, 1, 0.5, 300000), "memcpy": (1, 1, 0.75, 400000),
    "dd": (1, 2, 1, 500000), "fio": (0, 0, 0.7, 90000), "fio-fixed": (0, 0, 0.05, 70000),
    "fio-passthrough": (0, 0, 0.03, 55000)}
OF_QUEUES = {"queue-registered": (0, 0, 0.02, 35000), "queue": (0, 0, 0.02, 35000), "cufile": (0, 0, 0.02, 36000), "gpu-memcpy": (1, 1, 0.1, 90000)}


def measured(cost: tuple, moved: int, insns_per_mib: float, round_: int) -> Json:
    return {
        "dram_dma_payload_bytes": cost[0] * moved, "dram_dma_overhead_bytes": 4096,
        "dram_cpu_payload_bytes": cost[1] * moved,
        "dram_cpu_overhead_bytes": 10000 + cost[2] * moved + 10 * round_,
        "dram_cpu_user_bytes": 5000, "dram_cpu_kernel_bytes": 90000,
        "bar_dma_bytes": moved if cost[0] == 0 else 0, "bar_cpu_bytes": 0,
        "instructions_user": 500000 + 0.25 * insns_per_mib * moved / MIB,
        "instructions_kernel": 500000 + 0.75 * insns_per_mib * moved / MIB + round_,
        "dram_read_bytes": None, "dram_written_bytes": None}


def copy(method: str, direction: str, block: int, depth: int, threads: int) -> Iterator[Json]:
    cost = {**COSTS, **OF_QUEUES}[method]
    insns = cost[3] * (0.5 + 0.5 * MIB / block) * (0.9 + 0.1 * threads)
    for moved, round_ in itertools.product((4 * MIB, 16 * MIB), range(3)):
        yield {
            "method": method, "direction": direction, "region": "p2pmem0", "block_bytes": block, "queue_depth": depth,
            "threads": threads, "round": round_, "bytes": moved, "seconds": moved * insns / 1e15 * (1 + round_ / 100),
            "wall_seconds": 1, "user_seconds": 0.01, "system_seconds": moved * insns / 2e15,
            "minor_faults": 100 + moved / MIB, "major_faults": 0,
            "verified": True if round_ == 0 and moved == 16 * MIB else None,
            "measured": measured(cost, moved, insns, round_)}


def one_shape() -> Iterator[Json]:
    for method, direction in itertools.product(COSTS, BOTH):
        yield from copy(method, direction, MIB, 16, 1)


def sweep() -> Iterator[Json]:
    for method, direction in itertools.product(("donard", "fio"), BOTH):
        for block in (4096, 16384, 65536, 262144, MIB, 4 * MIB, 16 * MIB):
            yield from copy(method, direction, block, 16, 1)
        for depth in (1, 4, 64):
            yield from copy(method, direction, 65536, depth, 1)
        for threads in (2, 4):
            yield from copy(method, direction, 65536, 16, threads)


def requests() -> Iterator[Json]:
    """A switch for each request."""
    for method, direction in itertools.product(("queue-registered", "fio-fixed"), BOTH):
        for sample in copy(method, direction, 65536, 1, 1):
            sample["measured"]["context_switches"] = 20 + sample["bytes"] / 65536
            yield sample


def gpu() -> Iterator[Json]:
    """fio is on the same BAR as a region."""
    for method, direction, block in itertools.product((*OF_QUEUES, "fio-fixed"), BOTH, (4096, 65536)):
        for sample in copy(method, direction, block, 1, 1):
            yield {**sample, "region": "p2pmem0" if method == "fio-fixed" else "gpu:0"}


def setup_sample(method: str, size: int, live: int, insns: float) -> Json:
    return {"method": method, "bytes": size, "live": live, "round": 0, "seconds": insns / 1e6,
            "measured": {"instructions_user": 2000, "instructions_kernel": insns - 2000}}


def setup() -> Iterator[Json]:
    steps = (("mmap", 3, 6000), ("touch", 900, 9000), ("pin", 450, 7000), ("register", 500, 20000))
    for (method, each, first), mib in itertools.product(steps, (1, 4, 16, 64, 256)):
        yield setup_sample(method, mib * MIB, 0, first + each * mib)
    for (method, first), live in itertools.product((("allocate", 9000), ("free", 7000)),
                                                   (0, 10, 100, 1000, 10000, 100000)):
        yield setup_sample(method, 4096, live, first + math.sqrt(live))


def table1() -> Iterator[Json]:
    targets = (("dram", 1), ("nvram", 1.1), ("gpu", 1.05))
    latency = {"p50": 200000, "p90": 260000, "p99": 420000, "p99.9": 900000, "max": 2100000}
    for operation, method, round_, (target, slower) in itertools.product(("write", "read"), ("donard", "perftest"),
                                                                         range(3), targets):
        ours = method == "donard"
        yield {"fabric": "rxe", "operation": operation, "target": target, "method": method, "round": round_,
               "block_bytes": 65536, "queue_depth": 16, "bytes_per_second": 2e7 / slower,
               "latency_ns": {name: value * slower + round_ for name, value in latency.items()} if ours else None,
               "server_cpu_seconds_per_gib": 9.5 if ours else None, "server_faults": 40 if ours else None,
               "verified": True}


def rdma_counts() -> Iterator[Json]:
    """As bench table1 --here counts: the client's byte, and the target's unless that is a BAR."""
    for direction, round_, name in itertools.product(("write", "read"), range(3), ("dram", "gpu")):
        yield {"method": "donard", "operation": "bandwidth", "purpose": "measure", "direction": direction, "name": name,
               "target": name, "round": round_, "block_bytes": 65536, "queue_depth": 16, "bytes": 1000000,
               "bytes_per_second": 1e8, "measured": {
                   "dram_dma_payload_bytes": 0, "dram_dma_overhead_bytes": 0, "bar_dma_bytes": 0,
                   "dram_cpu_payload_bytes": 2000000 if name == "dram" else 1000000,
                   "dram_cpu_overhead_bytes": 5000000, "bar_cpu_bytes": 0 if name == "dram" else 1000000,
                   "instructions_user": 0, "instructions_kernel": 4000000}}


def cache_run() -> Iterator[Json]:
    """A thousand of everything to begin, and as much a write as its name says. fio takes a tenth longer than the destage for
    each byte, and far less to begin; as fast as the drive is, it takes half as long."""
    for (method, barriers, commands), writes in itertools.product((("donard", 0.25, 0), ("nvmet", 0, 1)), (100, 500)):
        yield {"purpose": "counts", "method": method, "queue_depth": 16, "round": 0, "writes": writes, "sends": 1000 + 2 * writes,
               "packets": 1000 + 4 * writes, "barriers": barriers * writes, "drive_commands": commands * writes,
               "measured": measured((0, 0, 0, 0), 0, 1024.0 * writes, 0) | {"instructions_kernel": 5000 * writes}}
    yield {"purpose": "destaged-bytes", "method": "donard", "bytes": 409600, "from_nvram": 409600, "from_dram": 0}
    yield {"purpose": "refused", "method": "writecache-p", "why": "Operation not supported"}
    for round_, (method, depth, slower) in itertools.product(range(3), (("donard", 1, 1), ("donard-nbd", 1, 4), ("nvmet", 1, 8),
                                                                        ("donard", 16, 2), ("nvmet", 16, 128))):
        yield {"purpose": "latency", "method": method, "queue_depth": depth, "round": round_, "writes": 48, "drive_bytes_per_second": 32768,
               "latency_ns": {name: 1000 * slower * (round_ + 1) for name in ("p50", "p90", "p99", "max")}}
    for limit, round_, size, method in itertools.product((0, 16 * MIB), range(3), (1, 2), ("donard", "fio")):
        mib, begins, each = (24 * size, 100, 1) if method == "donard" else (192 * size, 1, 1.1 if limit else 0.5)
        yield {"purpose": "destage", "method": method, "round": round_, "bytes": mib * MIB, "drive_bytes_per_second": limit,
               "seconds": begins + each * (round_ + 1) * mib}


def maps() -> Iterator[Json]:
    """A queue maps memory for each command, and fio for every other one."""
    for block, (method, each) in itertools.product((4096, MIB), (("queue", 1), ("fio", 0.5), ("queue-registered", 1))):
        yield {"method": method, "page_type": "generic", "block_bytes": block, "commands": 96, "maps": 96 * each, "unmaps": 0,
               "iommu_maps": 96 * each}


def null_run() -> Iterator[Json]:
    for method, _ in itertools.product(("nothing", "process"), range(3)):
        yield {"method": method, "wall_seconds": 0.001, "user_seconds": 0, "system_seconds": 0, "minor_faults": 20,
               "major_faults": 0, "measured": measured((0, 0, 0, 0), 0, 0, 0)}


OF_COPIES = {"page_type": "generic", "size": 16777216, "rounds": 3}
KINDS: dict[str, tuple[str, str | None, Json, Any]] = {
    "copy-counts": ("copy", "lab", OF_COPIES, one_shape), "copy-rates": ("copy", "none", OF_COPIES, one_shape),
    "copy-sweep": ("copy", "lab", OF_COPIES, sweep), "queue-counts": ("queue", "lab", OF_COPIES, requests),
    "gpu-counts": ("queue", "lab", OF_COPIES, gpu),
    "setup": ("setup", "lab", {"rounds": 1}, setup),
    "table1": ("table1", "none", {"rounds": 3}, table1), "rdma-counts": ("table1", "lab", {"rounds": 3, "here": "192.0.2.1"}, rdma_counts),
    "cache": ("cache", "lab", {"rounds": 3}, cache_run),
    "maps": ("maps", None, {}, maps),
    "null": ("null", "lab", {"rounds": 3}, null_run)}


def results(kind: str, kernel: str = "7.3.4") -> Json:
    benchmark, meter, options, samples = KINDS[kind]
    return {"benchmark": benchmark, "donard": "0.1.0", "kernel": kernel, "emulated": True, "topology": "switch",
            "meter": meter, "options": dict(options), "samples": list(samples())}


def put(folder: Path, name: str, data: Json) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(data, separators=(",", ":")), encoding="utf-8")


# ---- results made into others ----

def on_hardware(data: Json) -> Json:
    """As a meter of a real machine would have it: sums only, and nothing emulated."""
    for sample in data["samples"]:
        seen = sample["measured"]
        sample["in_flight"] = sample["queue_depth"]
        sample["measured"] = {
            "dram_read_bytes": seen["dram_cpu_payload_bytes"] + seen["dram_cpu_overhead_bytes"],
            "dram_written_bytes": seen["dram_dma_payload_bytes"]}
    return {**data, "emulated": False, "meter": "likwid"}


def slower(data: Json) -> Json:
    """Each copy takes twice as long."""
    return {**data, "samples": [{**sample, "seconds": 2 * sample["seconds"]} for sample in data["samples"]]}


def shaped(data: Json, methods: str = "", **shape: int | str) -> Json:
    """With these in each sample, or in those of some methods."""
    return {**data, "samples": [{**sample, **shape} if not methods or sample["method"] in methods.split() else sample
                                for sample in data["samples"]]}


def dearer(data: Json) -> Json:
    """The queue's requests of one direction at 0.85 of fio's instructions, with twice the switches."""
    for sample in data["samples"]:
        if (sample["method"], sample["direction"]) == ("queue-registered", "to-region"):
            for key in ("instructions_user", "instructions_kernel"):
                sample["measured"][key] *= 1.7
            sample["measured"]["context_switches"] *= 2
    return data
