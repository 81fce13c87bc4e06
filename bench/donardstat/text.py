# SPDX-License-Identifier: Apache-2.0
"""Numbers, names and tables as text."""
import json
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .results import GIB, MIB
from .stats import Number, Value, half_up, known

RATIOS_MARK = "EMULATED (QEMU TCG): rates are only ratios within one run"
MARK = RATIOS_MARK.replace(": ", ": counts are exact, ")

METHOD_NAMES = {
    "donard": "donard p2p", "donard-bounce": "donard, bounced", "donard-passthrough": "donard p2p, passthrough",
    "queue": "queue", "queue-registered": "queue, registered memory",
    "cufile": "cuFile", "cufile-compat": "cuFile, compatibility mode", "gpu-memcpy": "read and cuMemcpy",
    "memcpy": "read and memcpy", "fio": "fio p2p", "fio-fixed": "fio p2p, fixed buffers", "fio-passthrough": "fio p2p, passthrough"}
DIRECTION_NAMES = {"to-region": "drive to region", "from-region": "region to drive"}
TARGET_NAMES = {"dram": "DRAM", "nvram": "NVRAM (PMR)", "gpu": "GPU-like BAR"}


def mark(meters: Iterable[str | None]) -> str:
    """Of emulated results: only the lab's meter counts exactly."""
    return MARK if "lab" in meters else RATIOS_MARK


def method_name(method: str) -> str:
    return METHOD_NAMES.get(method, method)


def direction_name(direction: str) -> str:
    return DIRECTION_NAMES.get(direction, direction)


def target_name(target: str) -> str:
    return TARGET_NAMES.get(target, target)


# ---- numbers ----

def plain(value: Any) -> str:
    """As JSON has it; a whole number has no point."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def fixed(value: Number, digits: int) -> str:
    if value < 0:
        return "-" + fixed(-value, digits)
    unit = 10 ** digits
    whole, part = divmod(half_up(value * unit), unit)
    return f"{whole}.{part:0{digits}d}" if digits else str(whole)


def grouped(value: Value) -> str:
    """1234567 as 1,234,567."""
    return "-" if value is None else f"{half_up(value):,}"


def share(value: Value) -> str:
    """Bytes per byte: a bare 0 is exactly 0."""
    if value is None:
        return "-"
    if value == 0:
        return "0"
    if abs(value) < 0.001:
        return "< 0.001"
    return fixed(value, 3 if value < 1 else 2)


def ratio(value: Value) -> str:
    return "-" if value is None else fixed(value, 2)


def span(values: Iterable[Value], write: Callable[[Value], str]) -> str:
    """The least to the most of what is known."""
    numbers = known(values)
    if not numbers:
        return "-"
    return " to ".join(dict.fromkeys((write(min(numbers)), write(max(numbers)))))


def ratio_of_rounds(value: Value, rounds: Iterable[Value]) -> str:
    """With the least and the most of the rounds, where these differ from it."""
    said, spread = ratio(value), span(rounds, ratio)
    return said if spread in (said, "-") else f"{said} ({spread})"


def size(value: Value) -> str:
    if value is None:
        return "-"
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (1024, "KiB")):
        if value >= unit:
            return f"{plain(value / unit)} {name}"
    return f"{plain(value)} B"


def short(value: Number) -> str:
    """12 k, 3.5 M: for axes."""
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{plain(half_up(value / unit * 100) / 100)} {name}"
    return plain(value)


# ---- tables ----

def row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def table(left: int, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """In Markdown. The first columns are words, the others numbers."""
    return [row(heads), row("---" if column < left else "---:" for column in range(len(heads))), *map(row, rows)]


def columns(left: int, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """For a terminal."""
    widths = [max(map(len, column)) for column in zip(heads, *rows)]
    return ["  ".join(cell.ljust(width) if at < left else cell.rjust(width)
                      for at, (cell, width) in enumerate(zip(line, widths))).rstrip() for line in (heads, *rows)]


def absent(files: str, command: str) -> list[str]:
    return [f"No `{files}` among the results: `{command}` makes it."]


def decade(value: float) -> float:
    """The power of ten at or below."""
    return 10.0 ** math.floor(math.log10(value))
