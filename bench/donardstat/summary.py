# SPDX-License-Identifier: Apache-2.0
"""Medians of one benchmark as a table for a terminal."""
from collections.abc import Callable, Sequence

from . import apart, cache, folios, links, maps, rdma, setup, stats
from .apart import named
from .rdma import Figure
from .results import (Point, Refused, Run, copies, counted, cpu_seconds, dram_overhead, dram_payload, faults,
                      groups, instructions, method_order, points)
from .stats import Sample, Value
from .text import columns, direction_name, grouped, mark, method_name, ratio, share, size


def copy(run: Run) -> list[str]:
    """A line for each method and point, the rate as ratio to the fastest at the same point."""
    found = points(copies([run], ""))
    lines, more, compared = [], apart.words(found, ("block_bytes", "queue_depth", "threads")), apart.compared(found)
    for group in groups(found, lambda point: (point.is_from_region, point.block_bytes, point.queue_depth,
                                              point.threads, compared(point))):
        fastest = stats.most(point.bytes_per_second for point in group)
        lines += [_copy_line(point, fastest, named(method_name(point.method), more(point)))
                  for point in sorted(group, key=lambda point: method_order(point.method))]
    heads = ["direction", "block", "depth", "threads", "method", "MB/s", "rate/fastest", "payload/B", "overhead/B",
             "DRAM/B", "instructions/MiB", "faults/GiB", "CPU-s/GiB", "verified"]
    return columns(5, heads, lines) + _links(run, found)


def _links(run: Run, found: Sequence[Point] = ()) -> list[str]:
    """Bytes for each byte of payload, by path."""
    lines = links.lines(run, found)
    return ["", *columns(links.WORDS, links.HEADS, lines)] if lines else []


def _copy_line(point: Point, fastest: Value, name: str) -> list[str]:
    return [direction_name(point.direction), size(point.block_bytes), str(point.queue_depth), str(point.threads),
            name, grouped(stats.times(point.bytes_per_second, 1e-6)),
            ratio(stats.over(point.bytes_per_second, fastest)), share(point.payload), share(point.overhead),
            share(point.dram), grouped(point.instructions_per_mib), grouped(point.faults_per_gib),
            ratio(point.cpu_seconds_per_gib), point.verified.strip("*")]


def setting_up(run: Run) -> list[str]:
    """Instructions and time, whichever the meter knows."""
    lines = [[group[0]["method"], size(group[0]["bytes"]), grouped(group[0]["live"]),
              grouped(stats.median(map(instructions, group))),
              ratio(stats.times(stats.median(sample.get("seconds") for sample in group), 1e6))]
             for group in groups(run.samples, lambda sample: (setup.step_order(sample["method"]), sample["bytes"],
                                                              sample["live"]))]
    skipped = [f"not measured: {one['method']}, {size(one['bytes'])}, {grouped(one['live'])} live: {one['why']}"
               for one in run.data.get("skipped") or []]
    return columns(2, ["operation", "size", "beside", "instructions", "time/us"], lines) + skipped


def _microseconds(latency_ns: Value) -> str:
    return ratio(stats.times(latency_ns, 1e-3))


def _table1_line(figure: Figure, base: Figure) -> list[str]:
    """Ratios are to the first target of the same direction."""
    def to_base(get: Callable[[Figure], Value]) -> str:
        return ratio(stats.over(get(figure), get(base)))

    return [figure.operation, figure.target, grouped(stats.times(figure.bytes_per_second, 1e-6)),
            to_base(lambda one: one.bytes_per_second), _microseconds(figure.latency["p50"]),
            to_base(lambda one: one.latency["p50"]), _microseconds(figure.latency["p99"]),
            to_base(lambda one: one.latency["p99"]), share(figure.dram), share(figure.payload), share(figure.bar),
            grouped(figure.instructions), ratio(figure.server_cpu), grouped(figure.server_faults),
            figure.verified.strip("*")]


def table1(run: Run) -> list[str]:
    samples = rdma.samples_of(run)
    figures = [figure for figure in rdma.figures(samples) if figure.method == "donard"]
    names = list(dict.fromkeys(sample.get("name") or sample.get("target") for sample in run.samples))
    lines = []
    for group in groups(figures, lambda figure: figure.operation == "read"):
        ranked = sorted(group, key=lambda figure: names.index(figure.target))
        lines += [_table1_line(figure, ranked[0]) for figure in ranked]
    heads = ["RDMA", "target", "MB/s", "ratio", "p50/us", "ratio", "p99/us", "ratio", "DRAM/B", "of it payload",
             "BAR/B", "instructions/MiB", "server CPU-s/GiB", "server faults", "verified"]
    missing = [f"DRAM traffic: not available: {run.data['dram_missing']}"] if run.data.get("dram_missing") else []
    return columns(2, heads, lines) + rdma.local_words(samples) + missing + _links(run)


def _rdma_line(group: Sequence[Sample]) -> list[str]:
    first = group[0]
    rate = stats.median(sample.get("bytes_per_second") for sample in group)
    return [first["operation"], first["direction"], first["method"], size(first["block_bytes"]),
            str(first["queue_depth"]), grouped(stats.times(rate, 1e-6)), *map(_microseconds, rdma.latency(group).values()),
            grouped(stats.median(map(instructions, group)))]


def _whose_memory(samples: Sequence[Sample]) -> list[str]:
    """A region that a server of ours offers is perftest's only if its own servers map it, which its client does not know."""
    if all(sample["method"] != "perftest" for sample in samples):
        return []
    regions = sorted({str(sample.get("target")) for sample in samples if sample["method"] == "donard"} - {"dram", "None"})
    return [f"donard's requests went to {region}, perftest's to DRAM unless its servers were started with --mmap=/dev/{region}."
            for region in regions]


def rdma_requests(run: Run) -> list[str]:
    heads = ["operation", "direction", "method", "block", "depth", "MB/s", *(f"{name}/us" for name in rdma.PERCENTILES),
             "instructions"]
    lines = columns(3, heads, [_rdma_line(group) for group in groups(run.samples, lambda sample: (
        sample["operation"], sample["direction"] == "read", sample["block_bytes"], sample["queue_depth"],
        sample["method"]))])
    local = rdma.local_words(run.samples)
    donards = "" if local else ", donard's a whole one"
    halves = any(sample.get("half_round_trip") for sample in run.samples)
    halved = [f"perftest's latency of a write is half of a round trip{donards}."] if halves else []
    return lines + halved + local + _whose_memory(run.samples) + _links(run)


def nothing(run: Run) -> list[str]:
    figures = (instructions, counted("instructions_user"), dram_payload, dram_overhead, faults)
    heads = ["between the markers", "instructions", "of them user", "DRAM payload", "DRAM overhead", "faults",
             "CPU/us", "wall/us"]
    return columns(1, heads, [
        [group[0]["method"], *(grouped(stats.median(map(figure, group))) for figure in figures),
         *(grouped(stats.times(stats.median(values), 1e6)) for values in (map(cpu_seconds, group),
                                                      (sample.get("wall_seconds") for sample in group)))]
        for group in groups(run.samples, lambda sample: sample["method"])])


TABLES: dict[str, Callable[[Run], list[str]]] = {
    "copy": copy, "queue": copy, "setup": setting_up, "table1": table1, "rdma": rdma_requests, "cache": cache.summary,
    "null": nothing, "maps": maps.summary, "folios": folios.summary}


def lines(run: Run) -> list[str]:
    make = TABLES.get(run.data.get("benchmark", ""))
    if not make:
        raise Refused(f"'{run.file}' is of no benchmark that is known: {', '.join(TABLES)}")
    emulated = [mark([run.data.get("meter")])] if run.data["emulated"] else []
    return emulated + make(run)
