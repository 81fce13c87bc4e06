# SPDX-License-Identifier: Apache-2.0
"""Requests between a drive and memory of a GPU, one at a time, by the way they go."""
from collections.abc import Callable, Sequence

from . import apart, stats
from .apart import Words, named
from .results import MIB, Point, Run, copies, groups, is_emulated, method_order, of_method, points
from .stats import Value
from .text import absent, direction_name, grouped, method_name, ratio, share, size, span, table

BASE = "queue"  # what cuFile's calls stand on: its buffers are pinned, and not registered with a ring
REGISTERED = "queue-registered"
LAYER = "cufile"
LARGE_BYTES = 64 << 10
LAYER_GOAL_PERCENT = 5


def _each(point: Point, per_mib: Value) -> Value:
    """Of one request."""
    return stats.over(per_mib, MIB / point.block_bytes)


def _names(alone: Sequence[Point]) -> Callable[[Point], str]:
    """The method, and what tells it from the same one of another line. fio's region is none of a GPU's."""
    more: dict[bool, Words] = {is_gpu: apart.words([point for point in alone if point.is_of_gpu == is_gpu], ("block_bytes",))
                               for is_gpu in (True, False)}

    def name(point: Point) -> str:
        way = method_name(point.method) + ("" if point.is_of_gpu else ", onto the same BAR")
        return named(way, more[point.is_of_gpu](point))

    return name


def _to_base(point: Point, group: Sequence[Point], method: str = BASE) -> Value:
    base = of_method(group, method)
    return stats.over(point.instructions_per_mib, base.instructions_per_mib if base else None)


def _line(point: Point, group: Sequence[Point], name: str) -> list[str]:
    return [direction_name(point.direction).replace("region", "GPU"), size(point.block_bytes), name, share(point.dma_payload),
            share(point.cpu_payload), grouped(stats.times(point.overhead, point.block_bytes)),
            grouped(_each(point, point.user_instructions_per_mib)), grouped(_each(point, point.instructions_per_mib)),
            ratio(_to_base(point, group)), point.verified]


def _own_percent(point: Point, group: Sequence[Point]) -> Value:
    """What the layer's own instructions, all in user space, add to those of the base."""
    base = of_method(group, BASE)
    if base is None:
        return None
    return stats.times(stats.over(stats.total(point.user_instructions_per_mib, stats.times(base.user_instructions_per_mib, -1)),
                                  base.instructions_per_mib), 100)


def _layer(by_shape: Sequence[Sequence[Point]], emulated: bool) -> str:
    large = [(point, group) for group in by_shape for point in group
             if point.method == LAYER and point.block_bytes >= LARGE_BYTES]
    ratios = [_to_base(point, group) for point, group in large]
    if not stats.known(ratios):
        return ""
    own = stats.most(_own_percent(point, group) for point, group in large)
    if own is None:
        return ""
    over = round(own, 1) - LAYER_GOAL_PERCENT
    goal = f"missed by {over:.1f}" if over > 0 else "met"
    registered = span((_to_base(point, group, REGISTERED) for point, group in large), ratio)
    of_cuda, noise = ("What the lab's `libcuda` does when it is asked about an address is among them. ",
                      ": ticks of the clock and idle loops differ by up to 7 % from sample to sample") if emulated else ("", "")
    return (f"At 64 KiB and above cuFile's own instructions add at most {own:.1f} % to those of the queue below them, the kernel's "
            f"included; the goal is {LAYER_GOAL_PERCENT} %: {goal}. {of_cuda}"
            f"cuFile makes no system call of its own (`tests/check --long --only meter` bounds both). All in all its calls take "
            f"{span(ratios, ratio)} times the instructions of the queue, with the host's noise in it{noise}; and "
            f"{registered} times those of a queue with registered memory. ")


def requests(results: Sequence[Run]) -> list[str]:
    samples = copies(results, "gpu-counts")
    if not samples:
        return absent("gpu-counts-*.json", "bench/run gpu")
    found = points(samples)
    alone = [point for point in found if point.queue_depth == 1 and point.threads == 1]
    if not alone:
        return ["No requests one at a time (depth 1, one thread) in `gpu-counts-*.json`, by which ways are compared here: "
                "`bench/donard-stat table` prints what there is."]
    compared, name = apart.compared(alone), _names(alone)
    by_shape = groups(alone, lambda point: (point.is_from_region, point.block_bytes, compared(point)))
    heads = ["direction", "block", "method", "DMA payload", "CPU payload", "overhead, bytes", "instructions, user",
             "instructions in all", "/ queue's", "last block verified"]
    others = ["", "Requests of other depths, or of several threads, are not here: `bench/donard-stat table` prints them."]
    return [f"{apart.kernels(point.kernel for point in alone)}, one request at a time. {_layer(by_shape, is_emulated(results))}"
            "Payload is in bytes of DRAM for each byte moved, the rest is of one request. "
            "Ratios are to the queue without registered memory.", "",
            *table(3, heads, [_line(point, group, name(point)) for group in by_shape
                              for point in sorted(group, key=lambda point: method_order(point.method))]),
            *(others if len(alone) < len(found) else [])]
