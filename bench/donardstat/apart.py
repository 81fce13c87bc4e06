# SPDX-License-Identifier: Apache-2.0
"""What tells a point from others, said where a table has no column for it."""
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence

from .results import Point, Run
from .text import plain, size

# All of it, but direction and method, which each table shows, and levers, whose lines have the name of their file.
WORDS: dict[str, Callable[..., str]] = {
    "kernel": "Linux {}".format, "region": "{}".format, "page_type": lambda page_type: f"{plain(page_type)} pages",
    "block_bytes": size, "queue_depth": "depth {}".format, "threads": "{} threads".format, "file": "{}".format}
# Where a table has a column of these, lines that differ in it are not compared, and need no name.
SETTING = ("kernel", "region", "page_type", "levers")

Words = Callable[[Point], list[str]]


def run_of(point: Point) -> tuple[Hashable, ...]:
    """The run on one region: a ratio is between points of the same."""
    return point.region, point.page_type, point.file


def words(there: Iterable[Point], columns: Collection[str]) -> Words:
    """Takes a point of these to what a table with these columns has to say of it besides."""
    setting = [key for key in SETTING if key in columns]

    def alike(point: Point) -> tuple[Hashable, ...]:
        return tuple(getattr(point, key) for key in setting)

    seen: dict[tuple[Hashable, ...], dict[str, set[Hashable]]] = {}
    for point in there:
        values = seen.setdefault(alike(point), {key: set() for key in WORDS if key not in columns})
        for key, found in values.items():
            found.add(getattr(point, key))
    return lambda point: [WORDS[key](getattr(point, key)) for key, found in seen[alike(point)].items() if len(found) > 1]


def named(name: str, more: Sequence[str]) -> str:
    return f"{name} ({', '.join(more)})" if more else name


def run_title(run: Run, there: Sequence[Run]) -> list[str]:
    """Before what a section has of this run, where there are several."""
    return ["", f"### {run.file} (Linux {run.data['kernel']})"] if len(there) > 1 else []
