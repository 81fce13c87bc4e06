# SPDX-License-Identifier: Apache-2.0
"""Whether requests of a queue cost what they are meant to, beside fio's."""
from collections.abc import Sequence
from dataclasses import dataclass

from . import stats
from .apart import Words, pages
from .results import MIB, Point, groups, of_method, version_order
from .stats import Value
from .text import direction_name, fixed, size

LIMIT, NEWEST_LIMIT, NEWEST = 100, 80, 7  # in hundredths of fio's; the lower one since that Linux
# Switches of one request by which two programs may differ and have still slept equally often.
ALIKE = 0.1


@dataclass(frozen=True)
class Judged:
    """The queue's request and fio's of one shape, and the dearer of its two ratios: as the table has it, in hundredths."""

    point: Point
    worst: int | None
    limit: int
    more_switches: Value  # than fio's, for each request

    @property
    def missed_by(self) -> int:
        return max(0, self.worst - self.limit) if self.worst is not None else 0

    @property
    def is_fair(self) -> bool:
        return self.more_switches is not None and abs(self.more_switches) <= ALIKE


def _mine(group: Sequence[Point]) -> Point | None:
    """The queue with registered memory, or as it is where the kernel registers none."""
    return of_method(group, "queue-registered") or of_method(group, "queue")


def beside(group: Sequence[Point]) -> Point | None:
    """fio with fixed buffers, or as it is where it cannot have these."""
    return of_method(group, "fio-fixed") or of_method(group, "fio")


def _judged(mine: Point, fio: Point) -> Judged:
    ratios = (stats.over(mine.instructions_per_mib, fio.instructions_per_mib), stats.over(mine.overhead, fio.overhead))
    more = stats.total(mine.switches_per_mib, stats.times(fio.switches_per_mib, -1))
    return Judged(mine, None if None in ratios else max(stats.half_up(ratio * 100) for ratio in ratios),
                  NEWEST_LIMIT if version_order(mine.kernel) >= version_order(str(NEWEST)) else LIMIT,
                  stats.times(more, mine.block_bytes / MIB))


def _all_judged(by_shape: Sequence[Sequence[Point]]) -> list[Judged]:
    pairs = ((_mine(group), beside(group)) for group in by_shape)
    return [_judged(mine, fio) for mine, fio in pairs if mine and fio]


def _at_depth(lines: Sequence[Judged], more: Words) -> str:
    depth = f"depth {lines[0].point.queue_depth}"
    if any(line.worst is None for line in lines):
        return f"not known at {depth}"
    missed = [line for line in lines if line.missed_by]
    if not missed:
        return f"met at {depth}"
    worst = max(missed, key=lambda line: line.missed_by)
    where = [direction_name(worst.point.direction), size(worst.point.block_bytes), *more(worst.point)]
    return (f"missed at {depth} in {len(missed)} of {len(lines)} lines, by {fixed(worst.missed_by / 100, 2)} at most "
            f"({', '.join(where)})")


def _of_kernel(lines: Sequence[Judged], more: Words) -> str:
    point = lines[0].point
    depths = sorted(groups(lines, lambda line: line.point.queue_depth), key=lambda group: group[0].point.queue_depth)
    return f"- Linux {point.kernel}, {pages(point.page_type)}: {'; '.join(_at_depth(group, more) for group in depths)}."


def _alone(lines: Sequence[Judged]) -> list[str]:
    """Of requests that wait alone: a switch costs as much as the rest, and the host's speed decides how many there are."""
    alone = [line for line in lines if line.point.queue_depth == 1]
    if not alone:
        return []
    fair = [line for line in alone if line.is_fair]
    missed = [line for line in alone if line.missed_by and not line.is_fair]
    slept = sum((line.more_switches or 0) > 0 for line in missed)
    return ["- At depth 1 the ratios are fair only where both programs slept equally often: within "
                f"{ALIKE} switches of a request that is so in {len(fair)} of {len(alone)} lines, of which "
                f"{sum(line.missed_by > 0 for line in fair)} miss the goal. Other lines that miss it: {len(missed)}; in {slept} of them "
                "the queue slept more often than fio."]


def lines(by_shape: Sequence[Sequence[Point]], more: Words) -> list[str]:
    """@more: what tells a point from others, as in the table above."""
    judged = _all_judged(by_shape)
    if not judged:
        return []
    by_kernel = groups(judged, lambda line: (tuple(version_order(line.point.kernel)), line.point.page_type))
    return ["", "The goal of a queue is no more than fio's instructions and overhead, and from Linux "
                f"{NEWEST} on at most {fixed(NEWEST_LIMIT / 100, 2)} of each; of registered memory where the kernel registers it. "
                "A line meets it with both ratios:", "",
            *(_of_kernel(group, more) for group in by_kernel), *_alone(judged)]
