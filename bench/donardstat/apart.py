# SPDX-License-Identifier: Apache-2.0
"""What tells a point from others, said where a table has no column for it."""
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence

from .results import Point, Run, groups, version_order
from .text import size


def pages(page_type: str | None) -> str:
    return f"{page_type} pages" if page_type else "pages of unknown type"


# All of it, but direction and method, which each table shows, and levers, whose lines have the name of their file.
WORDS: dict[str, Callable[..., str]] = {
    "kernel": "Linux {}".format, "region": "{}".format, "page_type": pages,
    "block_bytes": size, "queue_depth": "depth {}".format, "threads": "{} threads".format, "file": "{}".format,
    "part": "part {}".format}
# A table's heading gives these, so that lines that differ in them are not compared, and need no name for them.
SETTING = ("kernel", "region", "page_type", "levers")

Words = Callable[[Point], list[str]]


def run_of(point: Point) -> tuple[Hashable, ...]:
    """The run on one region: a ratio is between points of the same."""
    return point.region, point.page_type, point.file, point.part


def compared(there: Iterable[Point]) -> Callable[[Point], tuple[Hashable, ...]]:
    """Takes a point of these to what its ratios are within: its run on one region. A run's only GPU and its only region are
    taken for one: to fio, the GPU's BAR is a region."""
    def is_one_bar(run: Sequence[Point]) -> bool:
        gpus, regions = ({run_of(point) for point in run if point.is_of_gpu == of_gpu} for of_gpu in (True, False))
        return len(gpus) == len(regions) == 1

    files = {run[0].file for run in groups(there, lambda point: point.file) if is_one_bar(run)}
    return lambda point: (point.file,) if point.file in files else run_of(point)


def words(there: Iterable[Point], said: Collection[str]) -> Words:
    """Takes a point of these to what tells it from others, besides what its line says anyway."""
    setting = [key for key in SETTING if key in said]

    def alike(point: Point) -> tuple[Hashable, ...]:
        return tuple(getattr(point, key) for key in setting)

    seen: dict[tuple[Hashable, ...], dict[str, set[Hashable]]] = {}
    for point in there:
        values = seen.setdefault(alike(point), {key: set() for key in WORDS if key not in said})
        for key, found in values.items():
            found.add(getattr(point, key))
    return lambda point: [WORDS[key](getattr(point, key)) for key, found in seen[alike(point)].items() if len(found) > 1]


def named(name: str, more: Sequence[str]) -> str:
    return f"{name} ({', '.join(more)})" if more else name


def run_title(run: Run, there: Sequence[Run], more: Sequence[str] = ()) -> list[str]:
    """Before what a section has of this run, where there are several."""
    return ["", f"### {named(run.file, [linux(run), *more])}"] if len(there) > 1 else []


def linux(run: Run) -> str:
    return f"Linux {run.data['kernel']}"


def kernels(versions: Iterable[str]) -> str:
    return f"Linux {', '.join(sorted(set(versions), key=version_order))}"
