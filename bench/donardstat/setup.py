# SPDX-License-Identifier: Apache-2.0
"""What setting up costs: medians over rounds, in instructions where a meter counted them, else in time."""
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from . import stats
from .results import Run, groups, instructions, place_in, runs, version_order
from .stats import Sample, Value

STEPS = ("mmap", "touch", "pin", "register", "allocate", "free", "allocate pieces", "free pieces")


@dataclass(frozen=True)
class Cost:
    """Of one step, at one size and number of live allocations."""

    method: str
    bytes: int
    live: int
    cost: float

    def along(self, key: str) -> int:
        return getattr(self, key)


def setups(results: Iterable[Run]) -> list[Run]:
    """Newest kernel first. Each is for itself: what a step costs is of one kernel and region."""
    there = sorted((run for run in runs(results, "setup") if run.samples), key=lambda run: run.file)
    return sorted(there, key=lambda run: version_order(run.data["kernel"]), reverse=True)


def is_counted(samples: Iterable[Sample]) -> bool:
    return any(instructions(sample) is not None for sample in samples)


def step_order(method: str) -> tuple[int, str]:
    return place_in(STEPS, method), method


def costs(samples: Sequence[Sample]) -> list[Cost]:
    counted = is_counted(samples)

    def cost_of(group: Sequence[Sample]) -> Value:
        if counted:
            return stats.median(map(instructions, group))
        return stats.times(stats.median(sample.get("seconds") for sample in group), 1e6)

    found = [(group[0], cost_of(group)) for group in
             groups(samples, lambda sample: (*step_order(sample["method"]), sample["bytes"], sample["live"]))]
    return [Cost(first["method"], first["bytes"], first["live"], cost) for first, cost in found if cost is not None]


def series(found: Iterable[Cost], key: str, fixed: str) -> list[list[Cost]]:
    """Of each step, along a key, with the other key at its smallest."""
    lines = []
    for group in groups(found, lambda cost: step_order(cost.method)):
        smallest = min(cost.along(fixed) for cost in group)
        line = sorted((cost for cost in group if cost.along(fixed) == smallest), key=lambda cost: cost.along(key))
        if len({cost.along(key) for cost in line}) > 1:
            lines.append(line)
    return lines
