# SPDX-License-Identifier: Apache-2.0
"""How far the rounds of a figure lie from what the page prints, which is of medians."""
from collections.abc import Sequence

from . import apart, stats
from .results import Point, Run, copies, groups, points, version_order
from .stats import Value
from .text import grouped

WORDS = ("**From round to round**: a figure of copies or requests is the difference of two counts, most of which is the start of a "
         "program. So a small change of one count is a large change of the figure. In half of the points no round differs from the "
         "printed figure by more than the first of two numbers, and in none by more than the second: ")


def _farthest(rounds: Sequence[Value], figure: Value) -> Value:
    """In percent."""
    ratios = (stats.over(one, figure) for one in rounds)
    return stats.most(abs(one - 1) * 100 for one in stats.known(ratios))


def _by_kernel(there: Sequence[Point]) -> str:
    instructions = [_farthest(point.instructions_rounds, point.instructions_per_mib) for point in there]
    overhead = [_farthest(point.overhead_rounds, point.overhead) for point in there]
    said = (f"{grouped(stats.median(seen))} and {grouped(stats.most(seen))} %" for seen in (instructions, overhead))
    return f"on {apart.kernels([there[0].kernel])} {' of instructions, '.join(said)} of overhead ({len(there)} points)"


def section(results: Sequence[Run]) -> list[str]:
    """Of points that a meter counted in several rounds."""
    samples = [sample for prefix in ("copy", "queue", "gpu") for sample in copies(results, prefix)]
    found = [point for point in points(samples) if len(stats.known(point.overhead_rounds)) > 1]
    by_kernel = groups(found, lambda point: tuple(version_order(point.kernel)))
    return ["", f"{WORDS}{'; '.join(map(_by_kernel, by_kernel))}."] if found else []
