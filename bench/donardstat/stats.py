# SPDX-License-Identifier: Apache-2.0
"""The only statistics of this project. A value that nobody knows is None, and so is what follows from it."""
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

Number = float | int
Value = Number | None
Sample = dict[str, Any]


def known(values: Iterable[Value]) -> list[Number]:
    return [value for value in values if value is not None]


def quantile(values: Iterable[Value], per_mille: int) -> Value:
    """The smallest value that at least this share of the values does not exceed (nearest rank).

    It is always a value that was seen, so exact counts stay whole. donard-cli defines the percentiles of
    latency in the same way (tool/rdma/latency.c).
    """
    ranked = sorted(known(values))
    if not ranked:
        return None
    return ranked[max(1, (len(ranked) * per_mille + 999) // 1000) - 1]


def median(values: Iterable[Value]) -> Value:
    """The quantile of one half: of an even number of values, the lower of the two in the middle."""
    return quantile(values, 500)


def least(values: Iterable[Value]) -> Value:
    """For costs to which a disturbance can only add."""
    return min(known(values), default=None)


def most(values: Iterable[Value]) -> Value:
    return max(known(values), default=None)


def total(*values: Value) -> Value:
    numbers = known(values)
    return sum(numbers) if len(numbers) == len(values) else None


def times(value: Value, factor: Number) -> Value:
    return None if value is None else value * factor


def over(value: Value, divisor: Value) -> Value:
    return None if value is None or not divisor else value / divisor


def not_lost(value: Value) -> Value:
    """A cost below zero was lost in the noise of starting."""
    return None if value is not None and value < 0 else value


def above_zero(value: Value) -> Value:
    return not_lost(value) or None


def half_up(value: Number) -> int:
    """To the nearest whole number, halves away from zero."""
    whole = math.floor(abs(value))
    rounded = whole + (abs(value) - whole >= 0.5)
    return -rounded if value < 0 else rounded


def per_byte(samples: Sequence[Sample], value: Callable[[Sample], Value],
             settle: Callable[[Iterable[Value]], Value] = median) -> Value:
    """What one more byte costs: the difference between the largest and the smallest size leaves start-up out.

    settle() takes the rounds of a size to one value. With one size, nothing is known.
    """
    sizes = sorted({sample["bytes"] for sample in samples})
    if len(sizes) < 2:
        return None
    small, large = (settle(value(sample) for sample in samples if sample["bytes"] == size)
                    for size in (sizes[0], sizes[-1]))
    if small is None or large is None:
        return None
    return (large - small) / (sizes[-1] - sizes[0])


def per_byte_apart(samples: Sequence[Sample], value: Callable[[Sample], Value],
                   settle: Callable[[Iterable[Value]], Value] = median) -> Value:
    """per_byte(), or nothing where the rounds of the two sizes overlap: what a byte more costs is then lost in the noise.

    There is no noise where all rounds have the same value.
    """
    sizes = [sample["bytes"] for sample in samples]
    small, large = ([value(sample) for sample in samples if sample["bytes"] == size] for size in (min(sizes), max(sizes)))
    most_of_small, least_of_large = most(small), least(large)
    if most_of_small is None or least_of_large is None:
        return None
    if least_of_large <= most_of_small and len({*small, *large}) > 1:
        return None
    return per_byte(samples, value, settle)


def rounds_per_byte(samples: Sequence[Sample], value: Callable[[Sample], Value]) -> tuple[Value, ...]:
    """per_byte() of each round."""
    return tuple(per_byte([sample for sample in samples if sample["round"] == round_], value)
                 for round_ in sorted({sample["round"] for sample in samples}))


# ---- what the host adds to a count ----

@dataclass(frozen=True)
class HostCosts:
    """What one interrupt and one context switch add to a count."""

    interrupt: float = 0
    switch: float = 0


@dataclass(frozen=True)
class HostMost:
    """The most interrupts and switches that any sample met: the fitted line says nothing beyond."""

    interrupts: Number = 0
    switches: Number = 0


def _counted(sample: Sample, key: str) -> Value:
    return (sample.get("measured") or {}).get(key)


def interrupts(sample: Sample) -> Value:
    return _counted(sample, "interrupts")


def switches(sample: Sample) -> Value:
    return _counted(sample, "context_switches")


def _covariance(left: Sequence[Number], right: Sequence[Number]) -> float:
    """The sum of the products of deviations."""
    left_mean, right_mean = sum(left) / len(left), sum(right) / len(right)
    return sum((x - left_mean) * (y - right_mean) for x, y in zip(left, right))


def host_costs(samples: Iterable[Sample], value: Callable[[Sample], Value]) -> HostCosts:
    """Least squares with two variables.

    How fast a host is decides how many completions come with one interrupt, and how often a copier waits for
    them. Each costs the kernel something, whatever is copied. Samples of a busy host and of an idle one tell
    the two apart best. Nothing follows from fewer than four samples, or from counts that never differ.
    """
    rows = [(interrupts(sample), switches(sample), value(sample)) for sample in samples]
    rows = [row for row in rows if None not in row]
    if len(rows) < 4:
        return HostCosts()
    i, s, f = ([row[column] for row in rows] for column in range(3))
    ii, ss, i_s = _covariance(i, i), _covariance(s, s), _covariance(i, s)
    fi, fs = _covariance(i, f), _covariance(s, f)
    determinant = ii * ss - i_s * i_s
    if determinant <= ii * ss / 1000000:
        return HostCosts()
    return HostCosts((fi * ss - fs * i_s) / determinant, (fs * ii - fi * i_s) / determinant)


def host_most(samples: Sequence[Sample]) -> HostMost:
    return HostMost(max((interrupts(sample) or 0 for sample in samples), default=0),
                    max((switches(sample) or 0 for sample in samples), default=0))


def apart_from_host(sample: Sample, costs: HostCosts, limit: HostMost,
                    value: Callable[[Sample], Value]) -> Value:
    """The count without what the host added, up to the limit: what is more may be the copy's doing."""
    count = value(sample)
    if count is None:
        return None
    return (count - costs.interrupt * min(interrupts(sample) or 0, limit.interrupts)
            - costs.switch * min(switches(sample) or 0, limit.switches))
