# SPDX-License-Identifier: Apache-2.0
"""Samples of RDMA to one figure a fabric, operation, target and method."""
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from . import stats
from .results import (MIB, Refused, Run, bar, dram_all, dram_overhead, dram_payload, dram_sampled, groups, instructions,
                      place_in, runs, verdict)
from .stats import Sample, Value

PERCENTILES = ("p50", "p90", "p99", "p99.9", "max")
TARGETS = ("dram", "nvram", "gpu")
SOFT = ("rxe", "siw")  # fabrics without a NIC
SHAPE = ("block_bytes", "queue_depth")
LATENCY_BYTES = 64  # of one request, in bench table1 as in bench/rdma.sh


def fabric_of(file: str) -> str:
    """table1-siw, rdma-counts-rxe-rootports"""
    return file.removeprefix("table1-").removeprefix("rdma-counts-").split("-")[0]


def _first(*values: Value) -> Value:
    return next(iter(stats.known(values)), None)


def per_byte_moved(sample: Sample) -> dict[str, Value]:
    """Of samples that are about bandwidth alone."""
    if sample.get("operation") != "bandwidth" or sample.get("purpose") != "measure":
        return {}
    moved = sample.get("bytes")
    return {"dram": stats.over(_first(dram_all(sample), dram_sampled(sample)), moved),
            "payload": stats.over(dram_payload(sample), moved),
            "overhead": stats.over(dram_overhead(sample), moved),
            "bar": stats.over(bar(sample), moved),
            "instructions": stats.times(stats.over(instructions(sample), moved), MIB)}


LOCAL_WORDS = ("Latency of writes over iWARP is left out: such a write is done when this machine's TCP has taken it, and its target has "
               "no part in that.")


def is_local(sample: Sample) -> bool:
    """Is it of writes by donard over iWARP?  perftest's wait for the other end's answer."""
    is_iwarp = sample.get("transport") == "iWARP" or sample.get("fabric") == "siw"
    return is_iwarp and sample.get("method") == "donard" and "write" in (sample.get("direction"), sample.get("operation"))


def local_words(samples: Iterable[Sample]) -> list[str]:
    return [LOCAL_WORDS] if any(is_local(sample) and sample.get("latency_ns") for sample in samples) else []


def percentiles(sample: Sample) -> dict[str, Value]:
    """What is the largest value itself, because there are too few, is no percentile."""
    seen = {} if is_local(sample) else sample.get("latency_ns") or {}
    return {name: seen.get(name) if name == "max" or seen.get(name) != seen.get("max") else None for name in PERCENTILES}


def latency(samples: Sequence[Sample]) -> dict[str, Value]:
    """Medians over the rounds."""
    each = [percentiles(sample) for sample in samples]
    return {name: stats.median(one[name] for one in each) for name in PERCENTILES}


def rdma_sample(run: Run, sample: Sample) -> Sample:
    """bench table1 tells requests for bandwidth, for latency and to compare data apart; here they are one operation,
    each with only the figures it is for."""
    is_check = sample.get("purpose") == "verify"
    seen = {**sample, **per_byte_moved(sample), "kernel": run.data.get("kernel"), "file": run.file,
            "topology": run.data.get("topology"), "both_ends": bool(run.options.get("here")),
            "fabric": sample.get("fabric") or fabric_of(run.file),
            "operation": sample.get("direction") or sample.get("operation"),
            "target": sample.get("name") or sample.get("target")}
    if is_check or sample.get("operation") == "latency":
        seen |= dict.fromkeys(("bytes_per_second", "server_cpu_seconds_per_gib", "server_faults"))
    if sample.get("operation") == "latency":
        seen["pings"] = sample.get("requests")
    if is_check:
        seen["verified"] = sample.get("verified_bytes") == sample.get("bytes")
    return seen


def _shape(samples: Iterable[Sample], key: str) -> list[Value]:
    """All that there is, of requests for bandwidth."""
    return sorted(set(stats.known(sample.get(key) for sample in samples if sample.get("bytes_per_second") is not None)))


def samples_of(run: Run) -> list[Sample]:
    """Refused where requests for bandwidth are of several sizes or depths: no figure is of all of them."""
    found = [rdma_sample(run, sample) for sample in run.samples]
    for key in SHAPE:
        if len(_shape(found, key)) > 1:
            raise Refused(f"'{run.file}' is not one result: its requests for bandwidth differ in \"{key}\". Keep each in a "
                          "file of its own")
    return found


def rdma_samples(results: Iterable[Run], prefix: str = "table1") -> list[Sample]:
    return [sample for run in runs(results, prefix) for sample in samples_of(run)]


@dataclass(frozen=True)
class Figure:
    """What RDMA into one target costs, as medians over the rounds; bytes are for each byte moved."""

    fabric: str
    topology: str | None
    operation: str
    target: str
    method: str
    kernel: str
    file: str
    both_ends: bool  # in the machine whose meter counted
    block_bytes: Value  # of requests for bandwidth, as is queue_depth
    queue_depth: Value
    dram: Value
    payload: Value
    payloads: tuple[Value, ...]  # all that were seen, once each
    counted: int
    overhead: Value
    bar: Value
    instructions: Value  # for each MiB
    bytes_per_second: Value
    server_cpu: Value  # seconds a GiB
    server_faults: Value
    latency: dict[str, Value]
    verified: str
    rounds: dict[int, "Figure"]  # of each round alone; of these, empty

    def same_operation(self, other: "Figure") -> bool:
        return self.fabric == other.fabric and self.operation == other.operation

    def same_run(self, other: "Figure") -> bool:
        return self.file == other.file and self.same_operation(other)

    def base(self, figures: Iterable["Figure"]) -> "Figure | None":
        """The DRAM target of the same run."""
        return next((one for one in figures if one.same_run(self) and one.method == self.method
                     and one.target == "dram"), None)

    def of_perftest(self, figures: Iterable["Figure"]) -> "Figure | None":
        """In the same run."""
        return next((one for one in figures if one.same_run(self) and one.target == self.target
                     and one.method == "perftest"), None)

    def run_name(self, figures: Iterable["Figure"]) -> str:
        """The fabric; of several runs of it, what their files are called."""
        several = {one.file for one in figures if one.fabric == self.fabric} - {self.file}
        return self.file.removeprefix("table1-") if several else self.fabric

    def counts(self, figures: Iterable["Figure"]) -> "Figure | None":
        """The same in one machine: the first such run of that fabric."""
        return next((one for one in figures if one.same_operation(self) and one.target == self.target), None)


def known_percentiles(figures: Sequence[Figure]) -> list[str]:
    return [name for name in PERCENTILES if any(figure.latency[name] is not None for figure in figures)]


def _figure(samples: Sequence[Sample], rounds: dict[int, Figure]) -> Figure:
    def median(key: str) -> Value:
        return stats.median(sample.get(key) for sample in samples)

    payloads = stats.known(sample.get("payload") for sample in samples)
    return Figure(
        **{key: samples[0].get(key) for key in
           ("fabric", "topology", "operation", "target", "method", "kernel", "file", "both_ends")},
        **{key: _first(*_shape(samples, key)) for key in SHAPE},
        dram=median("dram"), payload=median("payload"), payloads=tuple(sorted(set(payloads))),
        counted=len(payloads), overhead=median("overhead"), bar=median("bar"),
        instructions=median("instructions"), bytes_per_second=median("bytes_per_second"),
        server_cpu=median("server_cpu_seconds_per_gib"), server_faults=median("server_faults"),
        latency=latency(samples),
        verified=verdict(samples), rounds=rounds)


def _of_rounds(samples: Sequence[Sample]) -> Figure:
    by_round = groups(samples, lambda sample: sample["round"])
    return _figure(samples, {group[0]["round"]: _figure(group, {}) for group in by_round})


def figures(samples: Iterable[Sample]) -> list[Figure]:
    def key(sample: Sample) -> tuple:
        return (sample["file"], sample["operation"] == "read", place_in(TARGETS, sample["target"]),
                sample["target"], sample["method"])

    return [_of_rounds(group) for group in groups(samples, key)]


def counted_here(results: Iterable[Run]) -> list[Figure]:
    """Of runs with both ends in one machine, where a meter counts what both move."""
    return figures(rdma_samples(results, "rdma-counts"))
