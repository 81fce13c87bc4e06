# SPDX-License-Identifier: Apache-2.0
"""Results as donard-bench writes them, and the figures of copies."""
import json
import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from . import stats
from .stats import Sample, Value

MIB = 1 << 20
GIB = 1 << 30

MAIN_METHODS = ("donard", "donard-bounce", "memcpy", "dd", "fio")
METHODS = ("queue-registered", "queue", "cufile", "cufile-compat", "gpu-memcpy", *MAIN_METHODS, "donard-passthrough", "fio-fixed", "fio-passthrough")
DIRECTIONS = ("to-region", "from-region")

T = TypeVar("T")


class Refused(Exception):
    """A file that holds no results, or none of the kind that is needed."""


@dataclass(frozen=True)
class Run:
    """One file of results: where it ran, with what, and its samples."""

    file: str  # without .json
    data: dict[str, Any]

    @property
    def samples(self) -> list[Sample]:
        return self.data["samples"]

    @property
    def options(self) -> dict[str, Any]:
        return self.data.get("options") or {}


def from_text(text: str, name: str) -> Run:
    """Refused when it holds no results."""
    try:
        data = json.loads(text)
    except ValueError as error:
        raise Refused(f"'{name}' is no JSON: {error}") from error
    return from_data(data, name)


def from_stream(text: str, name: str) -> list[Run]:
    """One result after the other."""
    found, at = [], 0
    while text[at:].strip():
        try:
            data, end = json.JSONDecoder().raw_decode(text[at:].lstrip())
        except ValueError as error:
            raise Refused(f"'{name}' is no JSON behind {len(found)} results: {error}") from error
        at = len(text) - len(text[at:].lstrip()) + end
        found.append(from_data(data, name))
    if not found:
        raise Refused(f"'{name}' is empty")
    return found


def from_data(data: Any, name: str) -> Run:
    """Refused when it holds no results."""
    if not (isinstance(data, dict) and isinstance(data.get("samples"), list)
            and isinstance(data.get("emulated"), bool)):
        raise Refused(f"'{name}' holds no results: it needs \"samples\" and \"emulated\"")
    return Run(Path(name).name.removesuffix(".json"), data)


def text_in(raw: bytes, name: str) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused(f"'{name}' cannot be read: it is no text in UTF-8") from error


def text_of(path: Path) -> str:
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise Refused(f"'{path}' cannot be read: {error.strerror}") from error
    return text_in(raw, str(path))


def read(path: Path) -> Run:
    """One file; Refused when it holds no results."""
    return from_text(text_of(path), str(path))


# ---- order ----

def order(value: Any) -> tuple:
    """For sorting values of which some are unknown: these come first."""
    if isinstance(value, (list, tuple)):
        return (2, [order(part) for part in value])
    return (0, 0) if value is None else (1, value)


def version_order(version: str) -> list[int]:
    """6.12 is younger than 6.1."""
    return [int(number) for number in re.findall("[0-9]+", version)]


def place_in(names: Sequence[str], name: str) -> int:
    return names.index(name) if name in names else 99


def method_order(method: str) -> int:
    return place_in(METHODS, method)


def groups(items: Iterable[T], key: Callable[[T], Hashable]) -> list[list[T]]:
    """Items with the same key together, in the order of the keys."""
    found: dict[Hashable, list[T]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return [found[one] for one in sorted(found, key=order)]


# ---- runs ----

def runs(results: Iterable[Run], prefix: str) -> list[Run]:
    return [run for run in results if run.file.startswith(prefix)]


def is_emulated(results: Iterable[Run]) -> bool:
    return any(run.data["emulated"] for run in results)


# ---- samples ----

def measured(sample: Sample, key: str) -> Value:
    return (sample.get("measured") or {}).get(key)


def counted(key: str) -> Callable[[Sample], Value]:
    """Takes that count of a sample."""
    return lambda sample: measured(sample, key)


def dram_payload(sample: Sample) -> Value:
    return stats.total(measured(sample, "dram_dma_payload_bytes"), measured(sample, "dram_cpu_payload_bytes"))


def dram_overhead(sample: Sample) -> Value:
    return stats.total(measured(sample, "dram_dma_overhead_bytes"), measured(sample, "dram_cpu_overhead_bytes"))


def dram_all(sample: Sample) -> Value:
    return stats.total(dram_payload(sample), dram_overhead(sample))


def dram_sampled(sample: Sample) -> Value:
    """Meters of real machines see only the sum."""
    seen = measured(sample, "dram_total_bytes")
    return seen if seen is not None else stats.total(measured(sample, "dram_read_bytes"),
                                                     measured(sample, "dram_written_bytes"))


def bar(sample: Sample) -> Value:
    return stats.total(measured(sample, "bar_dma_bytes"), measured(sample, "bar_cpu_bytes"))


def instructions(sample: Sample) -> Value:
    return stats.total(measured(sample, "instructions_user"), measured(sample, "instructions_kernel"))


def faults(sample: Sample) -> Value:
    return stats.total(sample.get("minor_faults"), sample.get("major_faults"))


def cpu_seconds(sample: Sample) -> Value:
    return stats.total(sample.get("user_seconds"), sample.get("system_seconds"))


def verdict(samples: Iterable[Sample]) -> str:
    """Not every round is compared: that takes longer than to copy."""
    verified = [sample.get("verified") for sample in samples]
    if False in verified:
        return "**NO**"
    return "yes" if True in verified else "not checked"


# ---- copies ----

def copy_samples(run: Run) -> list[Sample]:
    """A run says of its region what holds for all samples that do not say it themselves."""
    page_type = run.options.get("page_type")
    return [{"page_type": page_type, **sample} for sample in run.samples]


def copies(results: Iterable[Run], prefix: str) -> list[Sample]:
    """Samples of all copies in files named so, each with what its run says."""
    return [{**sample, "kernel": run.data.get("kernel"), "file": run.file, "meter": run.data.get("meter"),
             "levers": bool(run.options.get("levers"))}
            for run in runs(results, prefix) for sample in copy_samples(run)]


def without_levers(samples: Iterable[Sample]) -> list[Sample]:
    return [sample for sample in samples if not sample["levers"]]


@dataclass(frozen=True)
class Point:
    """What a copy costs: all samples that differ only in size and round, as one figure each."""

    block_bytes: int
    direction: str
    file: str
    kernel: str
    levers: bool
    method: str
    page_type: str | None
    part: int | None  # of a file that joins several runs of the same point
    queue_depth: int
    region: str
    threads: int

    # of DRAM, for each byte copied
    dma_payload: Value
    cpu_payload: Value
    overhead: Value
    overhead_rounds: tuple[Value, ...]
    dram: Value
    bar_dma: Value
    instructions_per_mib: Value
    instructions_rounds: tuple[Value, ...]  # for each MiB
    user_instructions_per_mib: Value
    switches_per_mib: Value
    faults_per_gib: Value
    cpu_seconds_per_gib: Value
    bytes_per_second: Value
    rate_rounds: dict[int, Value]  # by round
    copies: int
    payload_bytes_max: Value
    verified: str

    @property
    def payload(self) -> Value:
        return stats.total(self.dma_payload, self.cpu_payload)

    @property
    def is_of_gpu(self) -> bool:
        """Between a drive and memory of a GPU, and not a region."""
        return str(self.region).startswith("gpu:")

    @property
    def is_from_region(self) -> bool:
        return self.direction == "from-region"


POINT_KEYS = ("block_bytes", "direction", "file", "kernel", "levers", "method", "page_type", "part",
              "queue_depth", "region", "threads")


def rate(samples: Sequence[Sample]) -> Value:
    """By its own clock, which leaves out its start. Of several threads each has its own, and nothing makes them run together:
    theirs is what the larger size takes longer, start to end."""
    if samples[0]["threads"] > 1:
        return stats.over(1, stats.above_zero(stats.per_byte(samples, lambda sample: sample.get("wall_seconds"))))
    size = max(sample["bytes"] for sample in samples)
    return stats.median(stats.over(size, sample.get("seconds")) for sample in samples if sample["bytes"] == size)


def _first_known(*values: Value) -> Value:
    return next(iter(stats.known(values)), None)


def _point(samples: Sequence[Sample]) -> Point:
    return Point(
        **{key: samples[0].get(key) for key in POINT_KEYS},
        dma_payload=stats.per_byte(samples, counted("dram_dma_payload_bytes")),
        cpu_payload=stats.per_byte(samples, counted("dram_cpu_payload_bytes")),
        overhead=stats.per_byte(samples, dram_overhead), overhead_rounds=stats.rounds_per_byte(samples, dram_overhead),
        bar_dma=stats.per_byte(samples, counted("bar_dma_bytes")),
        dram=_first_known(stats.per_byte(samples, dram_all), stats.not_lost(stats.per_byte(samples, dram_sampled))),
        instructions_per_mib=stats.times(stats.per_byte(samples, instructions), MIB),
        instructions_rounds=tuple(stats.times(one, MIB) for one in stats.rounds_per_byte(samples, instructions)),
        user_instructions_per_mib=stats.times(stats.per_byte(samples, counted("instructions_user")), MIB),
        switches_per_mib=stats.times(stats.per_byte(samples, stats.switches), MIB),
        faults_per_gib=stats.times(stats.per_byte_apart(samples, faults), GIB),
        cpu_seconds_per_gib=stats.times(stats.per_byte_apart(samples, cpu_seconds, settle=stats.least), GIB),
        bytes_per_second=rate(samples),
        rate_rounds={group[0]["round"]: rate(group) for group in groups(samples, lambda sample: sample["round"])},
        copies=len(samples),
        payload_bytes_max=stats.most(map(dram_payload, samples)),
        verified=verdict(samples))


def points(samples: Iterable[Sample]) -> list[Point]:
    return [_point(group) for group in groups(samples, lambda sample: tuple(sample.get(key) for key in POINT_KEYS))]


def of_first_part(found: Iterable[Point]) -> list[Point]:
    """Of a point that several parts of a file have, the first one's: what it costs is the difference of sizes of one run."""
    return [group[0] for group in groups(found, lambda point: tuple(getattr(point, key) for key in POINT_KEYS if key != "part"))]


def main_case(samples: Sequence[Sample]) -> list[Sample]:
    """The kernel, region and page type that sections are about which do not compare these."""
    if not samples:
        return []
    kernel = max((sample["kernel"] for sample in samples), key=version_order)
    chosen = [sample for sample in samples if sample["kernel"] == kernel]
    for key in ("region", "page_type"):
        first = min((sample[key] for sample in chosen), key=order)
        chosen = [sample for sample in chosen if sample[key] == first]
    return chosen


def usual_shape(samples: Iterable[Sample]) -> list[Sample]:
    """Blocks of 1 MiB, depth 16; a tool without a queue, or a run on a small region, takes part with the depth it has."""
    usual = []
    for group in groups((sample for sample in samples if sample["block_bytes"] == MIB and sample["threads"] == 1),
                        lambda sample: (sample["file"], sample["method"])):
        depths = {sample["queue_depth"] for sample in group}
        depth = 16 if 16 in depths else max(depths)
        usual += [sample for sample in group if sample["queue_depth"] == depth]
    return usual


def directions(items: Iterable[Point]) -> list[str]:
    there = {item.direction for item in items}
    return [direction for direction in DIRECTIONS if direction in there]


def in_direction(items: Iterable[Point], direction: str) -> list[Point]:
    return [item for item in items if item.direction == direction]


def of_method(items: Iterable[Point], method: str) -> Point | None:
    return next((item for item in items if item.method == method), None)


def of_first_run(found: Sequence[Point]) -> list[Point]:
    """What is shown of one run alone."""
    first = min((point.file for point in found), default=None)
    return [point for point in found if point.file == first]
