# SPDX-License-Identifier: Apache-2.0
"""The page's sections, each as lines of Markdown."""
from collections.abc import Callable, Iterable, Sequence

from . import apart, goal, links, rdma, setup, stats
from .apart import Words, named, run_of
from .rdma import Figure
from .results import (MAIN_METHODS, MIB, Point, Run, copies, counted, directions, dram_overhead, dram_payload, faults,
                      groups, in_direction, is_emulated, main_case, method_order, of_first_part, of_first_run, of_method, order,
                      points, runs, usual_shape, version_order, without_levers)
from .setup import Cost
from .stats import Sample, Value
from .text import (absent, direction_name, grouped, method_name, plain, ratio, ratio_of_rounds, share, size, span, table, target_name)

Results = Sequence[Run]


# ---- the page's first paragraph ----

APART, SUMMED, UNKNOWN = range(3)


def _known(point: Point) -> int:
    """What its meter knows of DRAM: payload and overhead apart, all that the memory controllers saw, or nothing."""
    if point.payload_bytes_max is not None:
        return APART
    return UNKNOWN if point.dram is None else SUMMED


def _went_through(p2p: Sequence[Point], meters: str) -> str:
    """Of points of which as much is known."""
    known = _known(p2p[0])
    if known == UNKNOWN:
        return f"what went through host DRAM is not known (meter: {meters}). "
    if known == SUMMED:
        return f"memory controllers saw {span((point.dram for point in p2p), share)} bytes for each byte copied. "
    worst = stats.most(point.payload_bytes_max for point in p2p)
    if worst:
        payload = f"**up to {grouped(worst)} bytes of payload went through host DRAM**"
    else:
        payload = "not one byte of payload went through host DRAM, by DMA or by CPU"
    return (f"{payload}; the kernel's own bookkeeping touched {span((point.overhead for point in p2p), share)} "
            "bytes of DRAM for each byte copied. ")


def _bounced(bounce: Sequence[Point]) -> str:
    if not bounce or _known(bounce[0]) == UNKNOWN:
        return ""
    if _known(bounce[0]) == SUMMED:
        return f"The same copies bounced: {span((point.dram for point in bounce), share)} bytes for each byte copied. "
    return (f"The same copies bounced touched {span((point.payload for point in bounce), share)} bytes of payload in DRAM for each "
            f"byte copied, and {span((point.overhead for point in bounce), share)} bytes of bookkeeping. ")


def _in_copies(p2p: Sequence[Point], bounce: Sequence[Point], meters: dict[str, str]) -> str:
    page_types = ", ".join(sorted({point.page_type or "" for point in p2p}))
    went = _went_through(p2p, ", ".join(sorted({meters[point.file] for point in p2p})))
    return (f"In {sum(point.copies for point in p2p)} copies by `donard-cli`, peer to peer "
            f"({apart.kernels(point.kernel for point in p2p)}; page types {page_types}), {went}{_bounced(bounce)}")


def summary(results: Results) -> list[str]:
    samples = without_levers(copies(results, "copy-counts"))
    meters = {sample["file"]: plain(sample["meter"] or "none") for sample in samples}
    all_points = points(samples)
    p2p, bounce = ([point for point in all_points if point.method == method] for method in ("donard", "donard-bounce"))
    if not p2p:
        return absent("copy-counts-*.json", "bench/run copy")
    said = (_in_copies(there, [point for point in bounce if _known(point) == _known(there[0])], meters)
            for there in groups(p2p, _known))
    return ["".join(said).rstrip()]


# ---- methods side by side ----

OTHER_SHAPES = ("blocks of 1 MiB with one thread in `copy-counts-*.json`, by which methods are compared here: "
                "`bench/donard-stat table` prints what there is.")


def _name(point: Point, more: Words) -> str:
    """The method, and what tells it from the same one of another line."""
    return named(method_name(point.method), more(point))


def _of_its_run(rates: Sequence[Point], point: Point) -> Sequence[Point]:
    """A run that was not timed itself, because of its meter, takes the rates of one that was."""
    return [rated for rated in rates if rated.file == point.file] or of_first_run(rates)


def _rate_cell(mine: Point | None, fastest: Point | None) -> str:
    """Rounds took turns: each is beside the fastest method's of the same one."""
    if not mine or not fastest:
        return "-"
    return ratio_of_rounds(stats.over(mine.bytes_per_second, fastest.bytes_per_second),
                           (stats.over(one, fastest.rate_rounds.get(round_)) for round_, one in mine.rate_rounds.items()))


def _method_line(point: Point, more: Words, all_rates: Sequence[Point], emulated: bool) -> list[str]:
    """Rates as ratios to the fastest; of real machines in MB/s, too. An emulator's seconds mean nothing; how they
    compare does."""
    rates = in_direction(_of_its_run(all_rates, point), point.direction)
    fastest = max(rates, key=lambda rated: rated.bytes_per_second or 0, default=None)
    mine, donard = of_method(rates, point.method), of_method(rates, "donard")
    rate, cpu = (mine.bytes_per_second, mine.cpu_seconds_per_gib) if mine else (None, None)
    if emulated:
        cpu = stats.over(cpu, donard.cpu_seconds_per_gib if donard else None)
    return [_name(point, more),
            *map(share, (point.dma_payload, point.cpu_payload, point.overhead, point.dram)),
            grouped(point.instructions_per_mib), grouped(point.faults_per_gib), ratio(cpu),
            *([] if emulated else [grouped(stats.times(rate, 1e-6))]), _rate_cell(mine, fastest), point.verified]


def _methods_in(direction: str, all_points: Sequence[Point], rates: Sequence[Point], emulated: bool) -> list[str]:
    heads = ["method", "DMA payload", "CPU payload", "overhead", "DRAM in all", "instructions / MiB",
             "page faults / GiB", "CPU time / donard's" if emulated else "CPU s / GiB",
             *([] if emulated else ["MB/s"]), "rate / fastest", "verified"]
    chosen = sorted(in_direction(all_points, direction), key=lambda point: method_order(point.method))
    more = apart.words(all_points, ())
    return [f"### {direction_name(direction).capitalize()}", "",
            *table(1, heads, [_method_line(point, more, rates, emulated) for point in chosen]), ""]


def _scrambled(shown: Iterable[Sample]) -> list[str]:
    """Samples without "in_flight" are of a donard-bench that left fio its default of scramble_buffers."""
    if all("in_flight" in sample for sample in shown if sample["method"].startswith("fio")):
        return []
    return ["Rates are older than the counts: fio still stored 24 bytes into each 512 of a buffer that it wrote "
            "(`scramble_buffers`), so its rates from region to drive are a little low.", ""]


def _timed(results: Results, metered: Iterable[Sample], like: Sample) -> list[Sample]:
    """Of the same kernel, region and page type."""
    clocked = copies(results, "copy-rates") + [sample for sample in metered if sample["meter"] != "lab"]
    return [sample for sample in clocked if all(sample[key] == like[key] for key in ("kernel", "region", "page_type"))]


def _borrowed(all_points: Iterable[Point], rates: Sequence[Point]) -> list[str]:
    """Whose rates those lines have that were not timed themselves, where there are several."""
    files, mine = sorted({rated.file for rated in rates}), {point.file for point in all_points}
    if len(files) < 2 or mine <= set(files):
        return []
    others = ", ".join(f"`{file}.json`" for file in files[1:] if file not in mine)
    left_out = f"; those of {others} are left out" if others else ""
    return [f"Rates of what ran under the meter are of `{files[0]}.json`{left_out}.", ""]


def _without_rates(results: Results) -> list[str]:
    if not runs(results, "copy-rates"):
        return absent("copy-rates.json", "bench/run copy")
    return ["No rates: `copy-rates*.json` are of another kernel, region or page type, or have no blocks of 1 MiB with one thread: "
            "`bench/run copy` makes them."]


def methods(results: Results) -> list[str]:
    """Counts are from the metered runs, times from those without a meter: the lab's meter slows what it counts,
    counters of real machines do not."""
    metered = copies(results, "copy-counts")
    chosen = main_case(without_levers(metered))
    if not chosen:
        return absent("copy-counts-*.json", "bench/run copy")
    usual = usual_shape(_timed(results, metered, chosen[0]))
    rates = points(usual)
    where = f"Linux {chosen[0]['kernel']}, {chosen[0]['region']}, {apart.pages(chosen[0]['page_type'])}"
    all_points = points(usual_shape(chosen))
    if not all_points:
        return [f"{where}: no {OTHER_SHAPES}"]
    depths = span((point.queue_depth for point in all_points), str)
    lines = [f"{where}, blocks of 1 MiB, depth {depths}, one thread.", "", *_scrambled(usual), *_borrowed(all_points, rates)]
    for direction in directions(all_points):
        lines += _methods_in(direction, all_points, rates, is_emulated(results))
    return lines[:-1] if rates else lines + _without_rates(results)


# ---- by kernel and page type ----

def _case(item: Sample) -> tuple:
    return item["kernel"], item["region"], item["page_type"], item["direction"]


def _case_line(point: Point, more: Words) -> list[str]:
    return [point.kernel, point.region, plain(point.page_type), direction_name(point.direction), _name(point, more),
            str(point.queue_depth), share(point.dma_payload), share(point.cpu_payload), share(point.overhead),
            grouped(point.instructions_per_mib), point.verified]


def kernels(results: Results) -> list[str]:
    chosen = [sample for sample in without_levers(copies(results, "copy-counts"))
              if sample["method"].startswith("donard")]
    if not chosen:
        return absent("copy-counts-*.json", "bench/run copy")
    found = [point for group in groups(chosen, _case) for point in points(usual_shape(group))]
    if not found:
        return [f"No {OTHER_SHAPES}"]
    found.sort(key=lambda point: order([version_order(point.kernel), point.region, point.page_type, point.is_from_region,
                                        method_order(point.method)]))
    more = apart.words(found, ("kernel", "region", "page_type", "queue_depth"))
    heads = ["kernel", "region", "pages", "direction", "method", "depth", "DMA payload", "CPU payload", "overhead",
             "instructions / MiB", "verified"]
    return ["Blocks of 1 MiB, one thread.", "", *table(5, heads, [_case_line(point, more) for point in found])]


# ---- cost against block size, depth and threads ----

SHAPE = ("block_bytes", "queue_depth", "threads")


def _block_line(group: Sequence[Point], more: Words) -> list[str]:
    mine, fio = of_method(group, "donard"), of_method(group, "fio")
    costs = [point.instructions_per_mib if point else None for point in (mine, fio)]
    return [named(direction_name(group[0].direction), more(group[0])), size(group[0].block_bytes), *map(grouped, costs),
            ratio(stats.over(*costs)), *(share(point.overhead if point else None) for point in (mine, fio))]


def _shape_lines(group: Sequence[Point], more: Words, rated: bool) -> list[list[str]]:
    fastest = stats.most(point.bytes_per_second for point in group)
    return [[direction_name(point.direction), size(point.block_bytes), str(point.queue_depth), str(point.threads),
             _name(point, more), grouped(point.instructions_per_mib), share(point.overhead),
             *([ratio(stats.over(point.bytes_per_second, fastest))] if rated else [])]
            for point in sorted(group, key=lambda point: method_order(point.method))]


def _shapes(found: Sequence[Point], key: str, fixed: str, rated: bool) -> list[str]:
    """Shapes of which one key takes several values while the others stay."""
    lines, more = [], apart.words(found, (*SHAPE, "part"))
    for series in groups(found, lambda point: (point.is_from_region, point.block_bytes, getattr(point, fixed), run_of(point))):
        by_value = groups(series, lambda point: getattr(point, key))
        if len(by_value) > 1:
            lines += [line for group in by_value for line in _shape_lines(group, more, rated)]
    heads = ["direction", "block", "depth", "threads", "method", "instructions / MiB", "overhead",
             *(["rate / faster"] if rated else [])]
    return table(5, heads, lines)


def blocks(results: Results) -> list[str]:
    samples = [sample for sample in main_case(without_levers(copies(results, "copy-sweep")))
               if sample["method"] in ("donard", "fio")]
    if not samples:
        return absent("copy-sweep.json", "bench/run copy")
    # Under the lab's meter the clock counts instructions, and not what they wait for.
    rated = all(sample["meter"] != "lab" for sample in samples)
    first, found = samples[0], points(samples)
    usual = of_first_part(point for point in found if point.queue_depth == 16 and point.threads == 1)
    more = apart.words(usual, (*SHAPE, "part"))
    heads = ["direction", "block", "donard: instructions / MiB", "fio: instructions / MiB", "donard / fio",
             "donard: overhead", "fio: overhead"]
    parts = (" Depths and threads further below are of runs of their own, so a shape may cost something else there."
             if any(point.part for point in found) else "")
    lines = [f"Linux {first['kernel']}, {first['region']}, {apart.pages(first['page_type'])}. Below: depth 16, one thread.{parts}",
             "", *table(2, heads, [_block_line(group, more) for group in
                                   groups(usual, lambda point: (point.is_from_region, point.block_bytes, run_of(point)))]),
             "", "### Queue depth", "", *_shapes(found, "queue_depth", "threads", rated),
             "", "### Threads", "", *_shapes(found, "threads", "queue_depth", rated), ""]
    return lines + ([] if rated else ["No rates here: under the meter the clock counts instructions, and not what they "
                                      "wait for."])


# ---- requests of a queue ----

def _request_line(point: Point, fio: Point | None, more: Words) -> list[str]:
    """Of one request; the ratios are to fio's."""
    requests_per_mib = MIB / point.block_bytes
    overhead, of_fio = point.overhead, fio.overhead if fio else None
    return [point.kernel, plain(point.page_type), direction_name(point.direction), size(point.block_bytes),
            str(point.queue_depth), _name(point, more),
            grouped(stats.over(point.instructions_per_mib, requests_per_mib)),
            ratio(stats.over(point.instructions_per_mib, fio.instructions_per_mib if fio else None)),
            grouped(stats.times(overhead, point.block_bytes)), ratio(stats.over(overhead, of_fio)),
            ratio(stats.over(point.switches_per_mib, requests_per_mib))]


def _request_lines(group: Sequence[Point], more: Words) -> list[list[str]]:
    fio = goal.beside(group)
    return [_request_line(point, fio, more) for point in sorted(group, key=lambda point: method_order(point.method))]


def requests(results: Results) -> list[str]:
    samples = copies(results, "queue-counts")
    if not samples:
        return absent("queue-counts-*.json", "bench/run queue")
    found = points(samples)
    more = apart.words(found, ("kernel", "page_type", "block_bytes", "queue_depth"))
    by_shape = groups(found, lambda point: (tuple(version_order(point.kernel)), point.page_type, point.is_from_region,
                                            point.block_bytes, point.queue_depth, point.threads, run_of(point)))
    heads = ["kernel", "pages", "direction", "block", "depth", "method", "instructions", "/ fio's", "overhead, bytes",
             "/ fio's", "switches"]
    return [*table(6, heads, [line for group in by_shape for line in _request_lines(group, more)]), *goal.lines(by_shape, more)]


# ---- on the wire ----

def on_the_wire(results: Results) -> list[str]:
    """A line for each path that payload took."""
    of_all = [run for prefix in ("copy", "table1", "rdma") for run in runs(results, prefix)]
    rows = links.rows(of_all, points(copies(results, "copy")))
    return table(links.WORDS, links.HEADS, rows) if rows else absent("copy-*.json", "bench/run copy")


# ---- the floor, and what each lever brings ----

def _is_lever(sample: Sample) -> bool:
    """Runs whose options say "levers", and methods that are there to show the floor."""
    return sample["levers"] or sample["method"] not in MAIN_METHODS


def floor(results: Results) -> list[str]:
    wanted = [sample for sample in copies(results, "copy-")
              if not sample["file"].startswith(("copy-rates", "copy-sweep"))
              and (_is_lever(sample) or sample["method"] in ("donard", "fio"))
              and sample["block_bytes"] in (MIB // 2, MIB) and sample["threads"] == 1 and sample["queue_depth"] == 16]
    if not any(map(_is_lever, wanted)):
        return ["No samples of levers (fixed buffers, passthrough, `\"levers\": true`) among the results: `bench/run "
                "copy` makes them."]
    found = sorted(points(wanted), key=lambda point: order(
        [version_order(point.kernel), point.page_type, point.is_from_region,
         float("inf") if point.overhead is None else point.overhead]))
    heads = ["kernel", "pages", "direction", "method", "block", "overhead", "least to most", "instructions / MiB",
             "of these in user space", "verified"]
    more = apart.words(found, ("kernel", "page_type", "block_bytes", "levers"))

    def name(point: Point) -> str:
        """Runs of levers use the names of the plain methods; their file tells them apart."""
        return named(method_name(point.method), list(dict.fromkeys([*more(point), *([point.file] if point.levers else [])])))

    return ["Depth 16, one thread, by overhead, with the least and the most of its rounds: lines in which these overlap are in no "
            "order. Passed on as they are, commands may not exceed what the drive "
            "takes: 512 KiB.", "", *table(4, heads, [
                [point.kernel, plain(point.page_type), direction_name(point.direction),
                 name(point), size(point.block_bytes),
                 share(point.overhead), span(point.overhead_rounds, share), grouped(point.instructions_per_mib),
                 grouped(point.user_instructions_per_mib),
                 point.verified] for point in found])]


# ---- setting up ----

def _setup_lines(series: Iterable[Sequence[Cost]], key: str, as_ratio: bool) -> list[list[str]]:
    return [[cost.method, size(cost.bytes), grouped(cost.live),
             ratio(stats.over(cost.cost, line[0].cost)) if as_ratio else grouped(cost.cost),
             ratio(stats.over(cost.cost, line[0].cost)),
             *([ratio(stats.over(cost.bytes, line[0].bytes))] if key == "bytes" else [])]
            for line in series for cost in line]


def _setup_table(costs: Sequence[Cost], key: str, fixed: str, emulated: bool, is_counted: bool) -> list[str]:
    """How many times the cost, and for how many times the size."""
    unit = "instructions" if is_counted else "time / first row's" if emulated else "time, us"
    heads = ["step", "size", "live", unit, "cost / first row's",
             *(["size / first row's"] if key == "bytes" else [])]
    return table(2, heads, _setup_lines(setup.series(costs, key, fixed), key, emulated and not is_counted))


def _setup_of(run: Run, name: str) -> list[str]:
    costs, is_counted, emulated = setup.costs(run.samples), setup.is_counted(run.samples), run.data["emulated"]
    lines = [f"### By size{name}", "", *_setup_table(costs, "bytes", "live", emulated, is_counted),
             "", f"### By live allocations{name}", "", *_setup_table(costs, "live", "bytes", emulated, is_counted)]
    # The benchmark's own words for what could not be measured.
    skipped = run.data.get("skipped") or []
    if skipped:
        lines += ["", "Not measured:", ""]
    return lines + [f"- {one['method']}, {size(one['bytes'])}, {grouped(one['live'])} live: {one['why']}"
                    for one in skipped]


def setting_up(results: Results) -> list[str]:
    there = setup.setups(results)
    if not there:
        return absent("setup.json", "bench/run setup")
    if len(there) == 1:
        return _setup_of(there[0], "")
    lines = []
    for run in there:
        lines += [*_setup_of(run, f", {run.file} (Linux {run.data['kernel']})"), ""]
    return lines[:-1]


# ---- RDMA ----

def _table1_percentiles(figures: Sequence[Figure]) -> list[str]:
    return [name for name in rdma.known_percentiles(figures) if name in ("p50", "p99", "p99.9")]


def _percentile(name: str) -> Callable[[Figure], Value]:
    return lambda figure: figure.latency[name]


def _seen(figure: Figure, counts: Sequence[Figure]) -> Figure | None:
    """A meter in the same run, on a real machine, or one that counted the same requests in a run of its own."""
    return figure if figure.dram else figure.counts(counts)


def _whose_dram(there: Sequence[Figure], counts: Sequence[Figure]) -> str:
    """A run between two machines has the meter of one."""
    counted = [(figure, seen) for figure in there if (seen := _seen(figure, counts)) and seen.dram is not None]
    alone = sorted({figure.run_name(there) for figure, seen in counted if not seen.both_ends})
    of_client = "of the client's machine alone, without what the target moves in its own"
    if alone and all(not seen.both_ends for _, seen in counted):
        return of_client
    return "of both ends together: see below" + (f"; in {', '.join(alone)} {of_client}" if alone else "")


SHAPE_WORDS = {"block_bytes": lambda blocks: span(blocks, size), "queue_depth": lambda depths: f"depth {span(depths, plain)}"}


def _shapes_said(figures: Iterable[Figure]) -> str:
    """Sizes and depths of the requests for bandwidth."""
    there = list(figures)
    return ", ".join(words(getattr(figure, key) for figure in there) for key, words in SHAPE_WORDS.items())


def _run_name(figure: Figure, figures: Sequence[Figure]) -> str:
    """With the shape of its requests, where runs differ in it: ratios are to the same run, absolute figures are not."""
    several = (key for key in SHAPE_WORDS if len({getattr(one, key) for one in figures if getattr(one, key)}) > 1)
    return named(figure.run_name(figures), [SHAPE_WORDS[key]([getattr(figure, key)]) for key in several])


def _to_other(figure: Figure, other: Figure | None, get: Callable[[Figure], Value]) -> str:
    """Each round beside the other's."""
    if not other:
        return "-"
    rounds = (stats.over(get(one), get(other.rounds[round_])) for round_, one in figure.rounds.items() if round_ in other.rounds)
    return ratio_of_rounds(stats.over(get(figure), get(other)), rounds)


def _table1_line(figure: Figure, figures: Sequence[Figure], counts: Sequence[Figure], emulated: bool) -> list[str]:
    base, perftest = figure.base(figures), figure.of_perftest(figures)
    seen = _seen(figure, counts)

    def to_base(get: Callable[[Figure], Value]) -> str:
        return _to_other(figure, base, get)

    absolute = [] if emulated else [grouped(stats.times(figure.bytes_per_second, 1e-6)),
                                    ratio(stats.times(figure.latency["p50"], 1e-3))]
    return [_run_name(figure, figures), figure.operation, target_name(figure.target), *absolute,
            to_base(lambda one: one.bytes_per_second),
            *(to_base(_percentile(name)) for name in _table1_percentiles(figures)),
            share(seen.dram if seen else None), share(seen.payload if seen else None),
            to_base(lambda one: one.server_cpu), grouped(figure.server_faults),
            _to_other(figure, perftest, lambda one: one.bytes_per_second),
            figure.verified]


def table1(results: Results) -> list[str]:
    """A line an operation and target, as ratios to DRAM in the same run."""
    samples = rdma.rdma_samples(results)
    if not samples:
        return absent("table1-*.json", "bench/run rdma")
    emulated = is_emulated(runs(results, "table1"))
    figures, counts = rdma.figures(samples), rdma.counted_here(results)
    shown = [figure for figure in figures if figure.method == "donard"]
    pings = stats.most(sample.get("pings") for sample in samples)
    often = f", {grouped(pings)} a round" if pings else ""
    heads = ["fabric", "operation", "target", *([] if emulated else ["MB/s", "p50, us"]), "bandwidth",
             *(f"latency {name}" for name in _table1_percentiles(figures)), "DRAM / byte", "of it payload", "server CPU",
             "server faults", "bandwidth / perftest's", "verified"]
    local = "".join(f"{line} " for line in rdma.local_words(samples))
    return [f"Bandwidth is of requests of {_shapes_said(figures)}; latency of requests of "
            f"{size(rdma.LATENCY_BYTES)}, one at a time{often}. A percentile of so few that it is the largest of them is left "
            f"out. {local}Bandwidth, latency and CPU are ratios to the DRAM target of the same run and operation; faults are a "
            "count; the last ratio is to perftest on the same target. Ratios are of medians, with the least and the most of the rounds "
            "in brackets. DRAM is bytes for each byte moved, "
            f"{_whose_dram(shown, counts)}.", "",
            *table(3, heads, [_table1_line(figure, figures, counts, emulated) for figure in shown])]


def _agreement(figure: Figure) -> str:
    if not figure.counted:
        return "-"
    if len(figure.payloads) == 1:
        return f"{figure.counted}, identical"
    return f"{figure.counted}, **{len(figure.payloads)} different**"


def _dram_line(figure: Figure, figures: Iterable[Figure]) -> list[str]:
    base = next((one for one in figures if one.file == figure.file and one.operation == figure.operation
                 and one.target == "dram"), None)
    less = None
    if base and base.payload is not None and figure.payload is not None:
        less = base.payload - figure.payload
    return [figure.fabric, plain(figure.topology), figure.operation, target_name(figure.target), share(figure.payload),
            share(less), share(figure.overhead), share(figure.bar), grouped(figure.instructions), _agreement(figure)]


def _soft_words(is_soft: bool) -> tuple[str, str, str]:
    """What holds of a NIC in software alone: where it is, how it moves payload, and what it touches besides."""
    if not is_soft:
        return "", "", ""
    return (" (a soft NIC talking to itself)", ": a NIC would move it by DMA, soft RDMA does by the CPU",
            ", above all socket buffers: soft RDMA copies each byte into one, checks it there and copies it out. A real NIC makes no "
            "such copy, so that of this table only differences between targets hold for it")


def table1_dram(results: Results) -> list[str]:
    """What both ends of RDMA move through DRAM for each byte, by target; from runs with both in one machine."""
    figures = rdma.counted_here(results)
    if not figures:
        return absent("rdma-counts-*.json", "bench/run rdma")
    there = runs(results, "rdma-counts")
    where, moved, touched = _soft_words(is_emulated(there) or all(figure.fabric in rdma.SOFT for figure in figures))
    rated = (sample for sample in rdma.rdma_samples(there, "") if sample.get("bytes_per_second") is not None)
    requests = stats.known(sample.get("requests") for sample in rated)
    which = f" of {span(requests, grouped)} requests, from the first one" if requests else ", from the first request"
    heads = ["fabric", "topology", "operation", "target", "payload / byte", "less than into DRAM", "overhead / byte",
             "BAR / byte", "instructions / MiB", "runs, payload"]
    return [
        f"Client and server are two processes of one machine{where}, since the meter counts in one. Both ends are in these counts. "
        f"**Payload** is the client's buffer, which is DRAM, and the target where that is DRAM{moved}. \"Less than into DRAM\" is "
        "what a target keeps out of DRAM: its own byte for each byte moved, where it lies in a BAR. **Overhead** is the kernel's "
        f"own work{touched}. Bandwidth runs{which} until the server has confirmed the last; connecting and "
        "registering are not in it.",
        "", *table(4, heads, [_dram_line(figure, figures) for figure in figures])]


# ---- the harness itself, and what the page was made from ----

def harness(results: Results) -> list[str]:
    there = [run for run in runs(results, "null") if run.samples]
    if not there:
        return absent("null.json", "bench/run null")
    figures = (counted("instructions_user"), counted("instructions_kernel"), dram_payload, dram_overhead, faults)
    heads = ["between the markers", "instructions, user", "instructions, kernel", "DRAM payload bytes",
             "DRAM overhead bytes", "page faults"]
    lines = ["The harness itself, median of a sample: between two markers with nothing in between, and around a process "
             "that does nothing. Differences of two sizes leave both out of the figures of copies, of requests and of the write "
             "cache. Those of Setting up and of RDMA are of single runs between two markers: the first line is in each."]
    for run in there:
        lines += [*apart.run_title(run, there), "",
                  *table(1, heads, [[group[0]["method"], *(grouped(stats.median(map(figure, group))) for figure in figures)]
                                    for group in groups(run.samples, lambda sample: sample["method"])])]
    return lines


def _options(run: Run) -> str:
    words = (f"{key}=" + (",".join(map(plain, value)) if isinstance(value, list) else plain(value))
             for key, value in run.options.items())
    return f"`{' '.join(words)}`" if run.options else "-"


def inputs(results: Results, data: str) -> list[str]:
    """Every input; data is the folder of the raw samples, relative to the page."""
    heads = ["raw samples", "donard", "kernel", "topology", "meter", "emulated", "samples", "options"]
    return table(6, heads, [
        [f"[{run.file}]({data}/{run.file}.json)",
         *("-" if run.data.get(key) is None else plain(run.data[key])
           for key in ("donard", "kernel", "topology", "meter")),
         "yes" if run.data["emulated"] else "no", str(len(run.samples)), _options(run)]
        for run in sorted(results, key=lambda run: run.file)])
