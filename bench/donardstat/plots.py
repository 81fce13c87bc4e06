# SPDX-License-Identifier: Apache-2.0
"""The page's plots."""
from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from . import apart, rdma, setup, stats
from .figure import (STYLE, Axis, Bar, Heading, Line, Panel, bars_figure, colour, linear_axis, lines_figure, save,
                     size_axis, value_axis)
from .results import (Point, Run, copies, directions, groups, in_direction, is_emulated, main_case, method_order,
                      of_first_part, of_first_run, of_method, points, runs, usual_shape, without_levers)
from .setup import Cost
from .stats import Value
from .text import direction_name, grouped, mark, method_name, ratio, share, short, span, target_name

Results = Sequence[Run]


def _mark(there: Results) -> str:
    """Under a plot of these: only what the lab's meter counted is exact."""
    return mark(run.data.get("meter") for run in there) if is_emulated(there) else ""


# ---- what each method moves through DRAM ----

PARTS = (("dma_payload", "payload, by DMA"), ("cpu_payload", "payload, by CPU"), ("overhead", "overhead"))
IN_ALL = ("dram_in_all", "not told apart")  # a meter that sees the sum only gives one part


def _dram_parts(point: Point) -> list[tuple[float, str]]:
    if point.dma_payload is None:
        return [(point.dram, IN_ALL[0])]
    return [(getattr(point, key), key) for key, _ in PARTS if (getattr(point, key) or 0) > 0]


def _dram_finding(found: Sequence[Point]) -> str:
    both = of_method(found, "donard") and of_method(found, "donard-bounce")
    if both and all(point.dma_payload is not None for point in found):
        p2p, bounced = (share(stats.most(point.payload for point in found if point.method == method))
                        for method in ("donard", "donard-bounce"))
        return f"Payload through host DRAM per byte copied: {p2p} peer to peer, {bounced} bounced"
    return "Host DRAM touched per byte copied, by method"


def _of_one_run(found: Sequence[Point]) -> tuple[list[Point], str]:
    """Bars and lines are of one run; its name, where there are others."""
    mine = of_first_run(found)
    return mine, f"; {mine[0].file}" if len(mine) < len(found) else ""


def dram_per_byte(results: Results) -> Figure | None:
    of_all = [point for point in points(usual_shape(main_case(without_levers(copies(results, "copy-counts")))))
              if point.dram is not None]
    if not of_all:
        return None
    found, run_name = _of_one_run(of_all)
    names = sorted({point.method for point in found}, key=method_order)
    panels = []
    for direction in directions(found):
        there = [(name, of_method(in_direction(found, direction), name)) for name in names]
        panels.append((direction_name(direction), [
            Bar(method_name(name), tuple((part, colour(key)) for part, key in _dram_parts(point)) if point else (),
                share(point.dram) if point else "not measured") for name, point in there]))
    used = {key for point in found for _, key in _dram_parts(point)}
    depths = span((point.queue_depth for point in found), str)
    heading = Heading(_dram_finding(found), f"NVMe drive and device memory; Linux {found[0].kernel}, blocks of 1 MiB, "
                      f"depth {depths}{run_name}", _mark(runs(results, "copy-counts")))
    return bars_figure(heading, panels, linear_axis([point.dram * 1.12 for point in found]),
                       "bytes of host DRAM touched per byte copied",
                       [(text, colour(key)) for key, text in (*PARTS, IN_ALL) if key in used])


# ---- cost against block size, donard beside fio ----

def _swept(results: Results) -> list[Point]:
    return of_first_part(points(main_case([
        sample for sample in without_levers(copies(results, "copy-sweep"))
        if sample["queue_depth"] == 16 and sample["threads"] == 1 and sample["method"] in ("donard", "fio")])))


def _block_panels(found: Sequence[Point], key: str, y_title: str) -> list[Panel]:
    there = [point for point in found if getattr(point, key) is not None]
    panels = []
    for direction in directions(there):
        lines = tuple(
            Line(method_name(line[0].method), colour(line[0].method),
                 tuple(sorted((point.block_bytes, getattr(point, key)) for point in line)))
            for line in groups(in_direction(there, direction), lambda point: point.method))
        panels.append(Panel(direction_name(direction), size_axis([point.block_bytes for point in there]),
                            value_axis([getattr(point, key) for point in there]), "block size", y_title, lines))
    return panels


def _by_block(results: Results, key: str, y_title: str, finding: Callable[[Sequence[Point]], str]) -> Figure | None:
    found, run_name = _of_one_run(_swept(results))
    panels = _block_panels(found, key, y_title)
    if not panels:
        return None
    return lines_figure(Heading(finding(found), "NVMe drive and device memory, peer to peer; Linux "
                                f"{found[0].kernel}, depth 16, one thread{run_name}",
                                _mark(runs(results, "copy-sweep"))), panels)


def _instructions_finding(found: Sequence[Point]) -> str:
    ratios = []
    for pair in groups(found, lambda point: (point.direction, point.block_bytes)):
        mine, fio = of_method(pair, "donard"), of_method(pair, "fio")
        if mine and fio:
            ratios.append(stats.over(mine.instructions_per_mib, fio.instructions_per_mib))
    if not stats.known(ratios):
        return "CPU instructions per MiB copied, by block size"
    return f"CPU instructions per MiB copied: donard takes {span(ratios, ratio)} of fio's"


def instructions_by_block(results: Results) -> Figure | None:
    return _by_block(results, "instructions_per_mib", "instructions per MiB", _instructions_finding)


def _overhead_finding(found: Sequence[Point]) -> str:
    mine, fio = (stats.known(point.overhead for point in found if point.method == method) for method in ("donard", "fio"))
    if not mine or not fio:
        return "Kernel bookkeeping in DRAM per byte copied, by block size"
    return f"Kernel bookkeeping in DRAM per byte copied: donard {span(mine, share)}, fio {span(fio, share)}"


def overhead_by_block(results: Results) -> Figure | None:
    return _by_block(results, "overhead", "overhead: bytes of DRAM per byte copied", _overhead_finding)


# ---- setting up ----

def _setup_lines(found: Sequence[Sequence[Cost]], key: str, least: int = 0) -> tuple[Line, ...]:
    """No allocation alive has no logarithm: it stands a decade left of the first number."""
    return tuple(Line(line[0].method, colour(line[0].method),
                      tuple((cost.along(key) or least / 10, cost.cost) for cost in line)) for line in found)


def _values(lines: Sequence[Line]) -> list[float]:
    return [value for line in lines for _, value in line.points]


def _live_axis(live: Sequence[int], least: int) -> Axis:
    there = sorted(set(live))
    return Axis(there[0] or least / 10, there[-1], True, tuple((one or least / 10, short(one)) for one in there))


def _setup_panels(costs: Sequence[Cost], y_title: str) -> list[Panel]:
    panels = []
    by_size, by_live = setup.series(costs, "bytes", "live"), setup.series(costs, "live", "bytes")
    if by_size:
        lines = _setup_lines(by_size, "bytes")
        panels.append(Panel("by size", size_axis([cost.bytes for line in by_size for cost in line]),
                            value_axis(_values(lines)), "size", y_title, lines, proportional=min(_values(lines)) > 0))
    if by_live:
        live = [cost.live for line in by_live for cost in line]
        least = min(one for one in live if one)
        lines = _setup_lines(by_live, "live", least)
        panels.append(Panel("by allocations that live already", _live_axis(live, least), linear_axis(_values(lines)),
                            "live allocations", y_title, lines))
    return panels


def _growth(found: Sequence[Sequence[Cost]], key: str) -> tuple[str, Value, Value] | None:
    """Of the step that grows most: its name, for how many times the size, how many times the cost."""
    grown = [(line[0].method, stats.over(line[-1].along(key), line[0].along(key)),
              stats.over(line[-1].cost, line[0].cost)) for line in found]
    return max(grown, key=lambda one: one[2] or 0, default=None)


def _setup_finding(costs: Sequence[Cost]) -> str:
    by_size, by_live = setup.series(costs, "bytes", "live"), setup.series(costs, "live", "bytes")
    said, larger, crowded = [], _growth(by_size, "bytes"), _growth(by_live, "live")
    if larger:
        said.append(f"times {ratio(larger[2])} for {grouped(larger[1])} times the size ({larger[0]})")
    if crowded:
        said.append(f"times {ratio(crowded[2])} with {grouped(max(line[-1].live for line in by_live))} live")
    return "Set-up cost: " + "; ".join(said)


def setting_up(results: Results) -> Figure | None:
    there = setup.setups(results)
    if not there:
        return None
    drawn = ((run, _setup_panels(setup.costs(run.samples), "instructions" if setup.is_counted(run.samples) else "time, us"))
             for run in there)
    newest, panels = next(((run, panels) for run, panels in drawn if panels), (None, None))
    if not newest:
        return None
    costs = setup.costs(newest.samples)
    name = f" {newest.file}," if len(there) > 1 else ""
    return lines_figure(Heading(_setup_finding(costs), f"one region of device memory; Linux {newest.data['kernel']},{name} "
                                "median over rounds", _mark([newest])), panels)


# ---- RDMA ----

def _latency_panel(group: Sequence[rdma.Figure], all_figures: Sequence[rdma.Figure], y: Axis, emulated: bool) -> Panel:
    lines = tuple(Line(target_name(figure.target), colour(figure.target), there) for figure in group
                  if (there := _latencies(figure, all_figures, emulated)))
    names = rdma.known_percentiles(all_figures)
    x = Axis(0, len(names) - 1, False, tuple(enumerate(names)))
    return Panel(f"{group[0].run_name(all_figures)}, {group[0].operation}", x, y, "",
                 "times DRAM's p50" if emulated else "latency, us", lines)


def _latencies(figure: rdma.Figure, figures: Sequence[rdma.Figure], emulated: bool) -> tuple[tuple[int, float], ...]:
    """Of an emulator only ratios to the median into DRAM are drawn."""
    base = figure.base(figures)
    unit = (base.latency["p50"] if base else None) if emulated else 1000
    values = [stats.over(figure.latency[name], unit) for name in rdma.known_percentiles(figures)]
    return tuple((at, value) for at, value in enumerate(values) if value is not None)


def _latency_finding(figures: Sequence[rdma.Figure]) -> str:
    bases = [(figure, figure.base(figures)) for figure in figures if figure.target != "dram"]
    ratios = stats.known(stats.over(figure.latency["p50"], base.latency["p50"]) for figure, base in bases if base)
    if not ratios:
        return "RDMA latency by percentile"
    return f"RDMA latency into device memory, median: {span(ratios, ratio)} times that into DRAM"


def latency(results: Results) -> Figure | None:
    figures = [figure for figure in rdma.figures(rdma.rdma_samples(results))
               if figure.method == "donard" and figure.latency["p50"] is not None]
    there = runs(results, "table1")
    emulated = is_emulated(there)
    values = [value for figure in figures for _, value in _latencies(figure, figures, emulated)]
    if not values:
        return None
    panels = [_latency_panel(group, figures, value_axis(values), emulated)
              for group in groups(figures, lambda figure: (figure.fabric, figure.file, figure.operation == "read"))]
    kernels = apart.kernels(figure.kernel for figure in figures if figure.kernel)
    return lines_figure(Heading(_latency_finding(figures), f"donard-cli rdma, {kernels}, percentiles: "
                                "medians over rounds", _mark(there)), panels, label_room=0.13)


def _rdma_finding(shown: Sequence[rdma.Figure]) -> str:
    base = min((figure.payload for figure in shown if figure.target == "dram"), default=None)
    kept = stats.known(stats.total(base, stats.times(figure.payload, -1)) for figure in shown if figure.target != "dram")
    if not kept:
        return "RDMA: bytes of payload through DRAM for each byte, by target"
    return f"RDMA into device memory: {span(kept, share)} bytes of payload less through DRAM for each byte"


def rdma_dram(results: Results) -> Figure | None:
    figures = [figure for figure in rdma.counted_here(results) if figure.payload is not None]
    if not figures:
        return None
    # One file per fabric is enough: other topologies have the same counts.
    shown = [figure for fabric in groups(figures, lambda figure: figure.fabric)
             for figure in groups(fabric, lambda figure: figure.file)[0]]
    panels = [(f"{group[0].fabric}, {group[0].operation}", [
        Bar(target_name(figure.target), ((figure.payload, colour(figure.target)),), share(figure.payload))
        for figure in group]) for group in groups(shown, lambda figure: (figure.fabric, figure.operation == "read"))]
    heading = Heading(_rdma_finding(shown),
                      f"client and server in one machine, the client's buffer is DRAM; Linux {shown[0].kernel}",
                      _mark(runs(results, "rdma-counts")))
    return bars_figure(heading, panels, Axis(0, 2.6, False, ((0, "0"), (1, "1"), (2, "2"))), "bytes per byte moved")


PLOTS: dict[str, Callable[[Results], Figure | None]] = {
    "dram-per-byte": dram_per_byte, "instructions-by-block": instructions_by_block,
    "overhead-by-block": overhead_by_block, "setup": setting_up, "latency": latency, "rdma-dram": rdma_dram}


def draw(results: Results, folder: Path, suffix: str = ".svg") -> list[str]:
    """The plots for which there are results; returns their names."""
    drawn = []
    with matplotlib.rc_context(STYLE):
        for name, plot in PLOTS.items():
            figure = plot(results)
            if figure:
                save(figure, folder / (name + suffix))
                drawn.append(name)
    return drawn
