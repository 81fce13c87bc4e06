# SPDX-License-Identifier: Apache-2.0
"""What a large BAR costs, by the size of the folios that its struct pages form."""
from collections.abc import Iterable, Sequence

from . import stats
from .apart import run_title
from .results import Run, runs
from .stats import Sample, Value
from .text import absent, columns, grouped, ratio, size, table

MAPPED = "1 GiB"
MAP_GOAL, STRUCT_PAGES_GOAL = 100, 16  # times faster, times less


def _value(samples: Iterable[Sample], method: str, folio: int) -> Value:
    """The least where there are several: what disturbs a step only adds."""
    found = [sample.get("seconds", sample.get("bytes")) for sample in samples
             if sample["method"] == method and sample["folio_bytes"] == folio]
    return min(found, default=None)


def _line(samples: Sequence[Sample], folio: int, single: int) -> list[str]:
    def times_less(method: str, base: str) -> str:
        return ratio(stats.over(_value(samples, base, single), _value(samples, method, folio)))

    return [size(folio), grouped(_value(samples, "struct pages", folio)), times_less("struct pages", "struct pages"),
            grouped(_value(samples, "memory", folio)), times_less("add", "add"),
            times_less("map, single", "map, single"), times_less("map, large", "map, single"),
            times_less("pin, large", "pin, single")]


def _met(samples: Sequence[Sample], folios: Sequence[int], method: str, base: str, goal: int) -> str:
    """The sizes of folios with which @method costs @goal times less than @base does with single pages."""
    def is_met(folio: int) -> bool:
        times = stats.over(_value(samples, base, folios[0]), _value(samples, method, folio))
        return times is not None and times >= goal

    met = [size(folio) for folio in folios if is_met(folio)]
    return f"folios of {', '.join(met)}" if met else "none"


HEADS = ["folios", "struct pages, bytes", "times less", "memory in all, bytes", "add: times faster",
         f"map {MAPPED} by single pages: times faster", f"map {MAPPED}: times faster", f"pin {MAPPED}: times faster"]


def _folios(run: Run) -> list[int]:
    return sorted({sample["folio_bytes"] for sample in run.samples})


def _lines(run: Run) -> list[list[str]]:
    """Each size against single pages."""
    folios = _folios(run)
    return [_line(run.samples, folio, folios[0]) for folio in folios]


def summary(run: Run) -> list[str]:
    """For a terminal."""
    return columns(1, HEADS, _lines(run))


def _goals(run: Run) -> str:
    folios = _folios(run)
    mapped = _met(run.samples, folios, "map, large", "map, single", MAP_GOAL)
    described = _met(run.samples, folios, "struct pages", "struct pages", STRUCT_PAGES_GOAL)
    return (f"The goal for mapping is {MAP_GOAL} times faster: met with {mapped}. "
            f"The goal for struct pages is {STRUCT_PAGES_GOAL} times less: met with {described}; [uapi.md](uapi.md) says why smaller "
            "ones save less.")


def large_bars(results: Sequence[Run]) -> list[str]:
    """A part for each run: what one BAR costs is no sample of another."""
    there = runs(results, "folios")
    if not there:
        return absent("folios.json", "bench/run folios")
    bars = [f"BAR of {size(run.options['region_bytes'])}" for run in there]
    several = len(set(bars)) > 1
    lines = [f"A {'BAR' if several else bars[0]}, by the size of its folios (`region add --folio`). The first column of bytes "
             "is what the kernel counts for struct pages (`nr_memmap_pages`), the second is free memory before and after, "
             "p2pmem's own records included. Times are compared with those of struct pages of 4 KiB each that are mapped, and "
             "then pinned, one by one; what is mapped has been zeroed before."]
    for run, bar in zip(there, bars):
        lines += [*run_title(run, there, [bar] if several else []), "", _goals(run), "", *table(1, HEADS, _lines(run))]
    return lines
