# SPDX-License-Identifier: Apache-2.0
"""What all plots share: 16:9 as a slide is, panels in a row, labels at the ends of lines, no chance in the SVG."""
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .text import decade, short, size

# Okabe and Ito's palette: told apart by all kinds of eyes, and in grey.
COLOURS = {
    "donard": "#0072B2", "fio": "#D55E00", "donard-bounce": "#CC79A7", "fio-fixed": "#E69F00",
    "dram": "#555555", "nvram": "#D55E00", "gpu": "#0072B2",
    "mmap": "#555555", "touch": "#E69F00", "pin": "#0072B2", "register": "#D55E00", "allocate": "#009E73",
    "free": "#CC79A7", "dma_payload": "#D55E00", "cpu_payload": "#E69F00", "overhead": "#56B4E9",
    "dram_in_all": "#999999"}
MARKERS = "osDv^P"
WIDTH_IN, HEIGHT_IN, DPI = 12.8, 7.2, 100
INK, GREY, PALE, RED = "#333333", "#555555", "#dddddd", "#A03000"

STYLE = {
    "svg.hashsalt": "donard", "svg.fonttype": "none", "font.family": "DejaVu Sans", "font.size": 13,
    "axes.edgecolor": "#888888", "axes.labelcolor": INK, "text.color": INK, "xtick.color": INK, "ytick.color": INK,
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "axes.axisbelow": True,
    "grid.color": PALE, "axes.titlelocation": "left", "axes.titlesize": 15, "axes.titlepad": 14}


def colour(name: str) -> str:
    return COLOURS.get(name, "#009E73")


@dataclass(frozen=True)
class Heading:
    """The finding, what was measured, and what must be said of emulated results."""

    title: str
    subtitle: str
    mark: str


@dataclass(frozen=True)
class Axis:
    """From low to high, with a label at each tick."""

    low: float
    high: float
    log: bool
    ticks: tuple[tuple[float, str], ...]

    def place(self, value: float) -> float:
        """0 at the low end, 1 at the high one."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True)
class Line:
    name: str
    colour: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Panel:
    """Lines over an axis; proportional: also what a cost in proportion to x would look like."""

    title: str
    x: Axis
    y: Axis
    x_title: str
    y_title: str
    lines: tuple[Line, ...] = field(default=())
    proportional: bool = False


# ---- axes ----

def log_axis(values: Sequence[float]) -> Axis:
    first, last = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    steps = (1, 2, 5) if last - first <= 2 else (1,)
    ticks = [step * 10.0 ** power for power in range(first, last + 1) for step in steps]
    low = max(tick for tick in ticks if tick <= min(values))
    high = min((tick for tick in ticks if tick >= max(values) and tick > low), default=low * 10)
    return Axis(low, high, True, tuple((tick, short(tick)) for tick in ticks if low <= tick <= high))


def linear_axis(values: Sequence[float]) -> Axis:
    step = max(*values, 1e-6) / 4
    step = next(nice for nice in (1, 2, 5, 10) if step / decade(step) <= nice) * decade(step)
    count = max(math.ceil(max(values) / step), 1)
    return Axis(0, count * step, False, tuple((at * step, short(round(at * step, 9))) for at in range(count + 1)))


def value_axis(values: Sequence[float]) -> Axis:
    return log_axis(values) if min(values) > 0 else linear_axis(values)


def size_axis(sizes: Sequence[int]) -> Axis:
    """The sizes themselves, no more than five of them named."""
    there = sorted(set(sizes))
    every = -(-len(there) // 5)
    return Axis(there[0], there[-1], True, tuple((one, size(one)) for one in there[::every]))


# ---- drawing ----

def spread(places: Sequence[float], gap: float) -> list[float]:
    """Sorted places; neighbours that are too near step apart, half each."""
    apart = list(places)
    for _ in range(50):
        for low in range(len(apart) - 1):
            lack = gap - (apart[low + 1] - apart[low])
            if lack > 0:
                apart[low] -= lack / 2
                apart[low + 1] += lack / 2
    return apart


def begin(heading: Heading) -> Figure:
    figure = Figure(figsize=(WIDTH_IN, HEIGHT_IN), dpi=DPI, facecolor="white")
    figure.text(0.02, 0.94, heading.title, fontsize=18.5, color="#111111")
    figure.text(0.02, 0.893, heading.subtitle, fontsize=13, color=GREY)
    if heading.mark:
        figure.text(0.02, 0.022, heading.mark, fontsize=12.5, color=RED)
    return figure


def _set_axis(axis: Axis, axes: Axes, name: str) -> None:
    getattr(axes, f"set_{name}scale")("log" if axis.log else "linear")
    getattr(axes, f"set_{name}lim")(axis.low, axis.high)
    getattr(axes, f"set_{name}ticks")([tick for tick, _ in axis.ticks], [label for _, label in axis.ticks])
    getattr(axes, f"set_{name}ticks")([], minor=True)


def _label_ends(axes: Axes, panel: Panel, height: float) -> None:
    ends = sorted(panel.lines, key=lambda line: panel.y.place(line.points[-1][1]))
    places = spread([panel.y.place(line.points[-1][1]) for line in ends], 0.036 / height)
    for line, place in zip(ends, places):
        axes.text(1.02, place, line.name, color=line.colour, transform=axes.transAxes, va="center", clip_on=False)


def _show_proportion(axes: Axes, panel: Panel) -> None:
    """From the lower left corner to where it leaves the panel; both axes are logarithmic."""
    rise = min(panel.x.high / panel.x.low, panel.y.high / panel.y.low)
    axes.plot([panel.x.low, panel.x.low * rise], [panel.y.low, panel.y.low * rise], color="#aaaaaa", dashes=(4, 3))
    label = rise ** 0.93
    axes.annotate("in proportion to size", (panel.x.low * label, panel.y.low * label), xytext=(-8, 0),
                  textcoords="offset points", ha="right", va="center", color="#777777")


def _draw_panel(axes: Axes, panel: Panel, height: float) -> None:
    axes.set_title(panel.title)
    axes.set_xlabel(panel.x_title)
    axes.set_ylabel(panel.y_title)
    _set_axis(panel.x, axes, "x")
    _set_axis(panel.y, axes, "y")
    axes.grid(False, axis="x")
    if panel.proportional:
        _show_proportion(axes, panel)
    for index, line in enumerate(panel.lines):
        axes.plot(*zip(*line.points), color=line.colour, linewidth=2.2, marker=MARKERS[index % len(MARKERS)],
                  markersize=6, clip_on=False)
    _label_ends(axes, panel, height)


def lines_figure(heading: Heading, panels: Sequence[Panel], label_room: float = 0.11) -> Figure:
    """In columns of at most two rows; label_room is for the labels to the right of each panel."""
    figure = begin(heading)
    rows = 2 if len(panels) > 3 else 1
    columns = -(-len(panels) // rows)
    for index, panel in enumerate(panels):
        row, column = divmod(index, columns)
        width, top = 0.97 / columns, 0.82 - row * 0.75 / rows
        left, bottom = column * width + 0.08, top - 0.75 / rows + (0.13 if rows > 1 else 0.14)
        height = top - bottom
        axes = figure.add_axes((left, bottom, width - 0.08 - label_room, height))
        _draw_panel(axes, panel, height)
    return figure


@dataclass(frozen=True)
class Bar:
    """Stacked parts, each with its colour, and a text at the end."""

    name: str
    parts: tuple[tuple[float, str], ...]
    label: str


def bars_figure(heading: Heading, panels: Sequence[tuple[str, Sequence[Bar]]], x: Axis, x_title: str,
                legend: Sequence[tuple[str, str]] = ()) -> Figure:
    """A panel of horizontal bars for each title; the names are at the left one. legend: texts with colours."""
    figure = begin(heading)
    width = 0.76 / len(panels)
    for index, (title, bars) in enumerate(panels):
        axes = figure.add_axes((0.2 + index * width, 0.17, width - 0.05, 0.58))
        axes.set_title(title)
        axes.set_xlabel(x_title)
        _set_axis(x, axes, "x")
        axes.grid(False, axis="y")
        axes.set_ylim(len(bars) - 0.4, -0.6)
        axes.set_yticks(range(len(bars)), [bar.name for bar in bars] if not index else [""] * len(bars))
        axes.tick_params(axis="y", length=0)
        for place, bar in enumerate(bars):
            _draw_bar(axes, place, bar)
    for index, (text, fill) in enumerate(legend):
        figure.text(0.2 + index * 0.19, 0.83, "■", color=fill, fontsize=16)
        figure.text(0.222 + index * 0.19, 0.832, text)
    return figure


def _draw_bar(axes: Axes, place: int, bar: Bar) -> None:
    end = 0.0
    for length, fill in bar.parts:
        axes.barh(place, length, left=end, height=0.72, color=fill)
        end += length
    axes.annotate(bar.label, (end, place), xytext=(6, 0), textcoords="offset points", va="center")


def save(figure: Figure, path: Path) -> None:
    """SVG, or what else the name asks for; the same bytes each time."""
    with matplotlib.rc_context(STYLE):
        figure.savefig(path, metadata={"Date": None, "Creator": None} if path.suffix == ".svg" else None)
