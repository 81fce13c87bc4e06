# SPDX-License-Identifier: Apache-2.0
"""How far the rounds of a figure lie from what the page prints, which is of medians."""
from collections.abc import Sequence

from . import stats
from .results import Point, Run, copies, groups, points, version_order
from .stats import Value
from .text import grouped, table

WORDS = ("A figure of copies or requests is the difference of two counts, most of which is the start of a program, so a small "
         "difference of one count is a large one of the figure. By how many percent of it the round differs that differs most, in "
         "half of the points at most and in all:")
HEADS = ["kernel", "points", "instructions: half", "all", "overhead: half", "all"]


def _farthest(rounds: Sequence[Value], figure: Value) -> Value:
    """In percent."""
    ratios = (stats.over(one, figure) for one in rounds)
    return stats.most(abs(one - 1) * 100 for one in stats.known(ratios))


def _line(there: Sequence[Point]) -> list[str]:
    instructions, overhead = ([_farthest(rounds, figure) for rounds, figure in both] for both in (
        [(point.instructions_rounds, point.instructions_per_mib) for point in there],
        [(point.overhead_rounds, point.overhead) for point in there]))
    return [there[0].kernel, str(len(there)),
            *(grouped(settle(seen)) for seen in (instructions, overhead) for settle in (stats.median, stats.most))]


def section(results: Sequence[Run]) -> list[str]:
    """Of points that a meter counted in several rounds."""
    samples = [sample for prefix in ("copy", "queue", "gpu") for sample in copies(results, prefix)]
    found = [point for point in points(samples) if len(stats.known(point.overhead_rounds)) > 1]
    by_kernel = groups(found, lambda point: tuple(version_order(point.kernel)))
    return ["", "### From round to round", "", WORDS, "", *table(1, HEADS, map(_line, by_kernel))] if found else []
