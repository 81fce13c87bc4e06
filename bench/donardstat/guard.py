# SPDX-License-Identifier: Apache-2.0
"""Compares exact counts of copies with a baseline's, a line a point."""
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from . import stats
from .results import Refused, Run, copy_samples, counted, groups, read
from .stats import Sample, Value
from .text import plain

TOLERANCE = 0.02
KEYS = ("block_bytes", "bytes", "direction", "method", "page_type", "queue_depth", "region", "threads")

EQUAL = ("dram_dma_payload_bytes", "dram_cpu_payload_bytes", "bar_dma_bytes")
# Bounded. Kernels differ in the second by themselves, and interrupts add to them.
OF_DONARD = ("instructions_user",)
OF_THE_KERNEL = ("dram_dma_overhead_bytes", "dram_cpu_overhead_bytes", "instructions_kernel")


@dataclass(frozen=True)
class Difference:
    """fails: out of bounds. Otherwise better than the baseline, which may be worth a new one."""

    fails: bool
    text: str


@dataclass(frozen=True)
class Compared:
    """All rounds of one point, of the baseline and now."""

    base: list[Sample]
    seen: list[Sample]

    def equal(self, key: str) -> list[Difference]:
        """Where the baseline has none of it, no round may have any; else a disturbed round does not count."""
        count = counted(key)
        expected = stats.median(map(count, self.base))
        values = [count(sample) for sample in self.seen]
        if expected == 0:
            now = None if None in values else max(values)
        else:
            now = stats.median(values)
        if expected is None or now == expected:
            return []
        return [Difference(True, f"{key}: expected {plain(expected)}, seen {plain(now)}")]

    def least(self, key: str) -> list[Difference]:
        count = counted(key)
        return bounded(key, stats.least(map(count, self.base)), stats.least(map(count, self.seen)))

    def apart_from_host(self, key: str) -> list[Difference]:
        """Against the baseline's median, had it met as many interrupts and context switches as the rounds now;
        but no more than it ever met, or a copy that waits for each block would be excused."""
        count = counted(key)
        costs, limit = stats.host_costs(self.base, count), stats.host_most(self.base)

        def apart(samples: Sequence[Sample]) -> Value:
            return stats.median(stats.apart_from_host(sample, costs, limit, count) for sample in samples)

        expected, now = apart(self.base), apart(self.seen)
        if expected is None or now is None:
            return bounded(key, expected, now)
        median = stats.median(map(count, self.seen))
        return bounded(key, stats.half_up(median - now + expected), median)

    def data(self) -> list[Difference]:
        if any(sample.get("verified") is False for sample in self.seen):
            return [Difference(True, "verified: expected true, seen false")]
        return []


def bounded(key: str, expected: Value, now: Value) -> list[Difference]:
    """A count that the baseline lacks binds nobody."""
    if expected is None:
        return []
    if now is None or now > expected * (1 + TOLERANCE):
        return [Difference(True, f"{key}: expected at most {math.floor(expected * (1 + TOLERANCE))}, "
                                 f"seen {plain(now)}")]
    if now < expected * (1 - TOLERANCE):
        return [Difference(False, f"{key}: {plain(now)}, better than the baseline's {plain(expected)}")]
    return []


def differences(base: list[Sample], seen: list[Sample], same_kernel: bool) -> list[Difference]:
    compared = Compared(base, seen)
    checks: list[tuple[Callable[[str], list[Difference]], tuple[str, ...]]] = [
        (compared.equal, EQUAL), (compared.least, OF_DONARD),
        (compared.apart_from_host, OF_THE_KERNEL if same_kernel else ())]
    return [found for check, keys in checks for key in keys for found in check(key)] + compared.data()


def point(sample: Sample) -> tuple:
    return tuple(sample.get(key) for key in KEYS)


def by_point(run: Run) -> dict[tuple, list[Sample]]:
    return {point(group[0]): group for group in groups(copy_samples(run), point)}


def title(sample: Sample) -> str:
    return ("{method} {direction} {region} {page_type} block {block_bytes} depth {queue_depth} threads {threads} "
            "bytes {bytes}").format_map({key: plain(sample.get(key)) for key in KEYS})


def verdict(name: str, found: Sequence[Difference], accept: str) -> list[str]:
    failed = [one.text for one in found if one.fails]
    if failed:
        return [f"not ok - {name}: {'; '.join(failed)}; to accept it: {accept}"]
    return [f"ok - {name}", *(f"#   {one.text}; to hold on to it: {accept}" for one in found)]


def compare(baseline: Run, current: Run, accept: str) -> list[str]:
    """Results of points, and what else must be known; accept: how to take over what is seen."""
    lines = []
    kernels = current.data.get("kernel"), baseline.data.get("kernel")
    if kernels[0] != kernels[1]:
        lines.append(f"# kernel {kernels[0]}, baseline {kernels[1]}: only payload, bytes to BARs and user "
                     "instructions are compared")
    baselines, now = by_point(baseline), by_point(current)
    if not now:
        lines.append(f"not ok - a copy: expected at least one, seen none; to accept it: {accept}")
    for key, samples in now.items():
        if key in baselines:
            found = differences(baselines[key], samples, kernels[0] == kernels[1])
        else:
            found = [Difference(True, "expected a point of the baseline, seen none")]
        lines += verdict(title(samples[0]), found, accept)
    unmeasured = len(baselines.keys() - now.keys())
    if unmeasured:
        lines.append(f"ok - the other points of the baseline # SKIP {unmeasured} were not measured now")
    return lines


def read_exact(path: Path) -> Run:
    """Only the lab's meter is exact."""
    try:
        run = read(path)
    except Refused:
        run = None
    if not run or run.data.get("benchmark") != "copy" or run.data.get("meter") != "lab":
        raise Refused(f"'{path}' holds no exact counts of copies: 'donard-cli bench copy --meter lab' makes them")
    return run


def main(baseline: Path, current: Path) -> int:
    """Returns the exit status."""
    lines = compare(read_exact(baseline), read_exact(current), f"bench/run baseline, and commit {baseline}")
    print("\n".join(lines))
    print(f"1..{sum(not line.startswith('#') for line in lines)}")
    return int(any(line.startswith("not ok") for line in lines))
