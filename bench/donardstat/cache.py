# SPDX-License-Identifier: Apache-2.0
"""What an acknowledged write of a write cache costs, and what its destage, beside the kernel's own ways."""
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from . import stats
from .apart import kernels, linux, named
from .results import Run, groups, instructions, place_in, runs
from .stats import Sample, Value
from .text import absent, columns, grouped, ratio, share, span, table

METHODS = {"donard": "donard's cache", "donard-nbd": "donard's cache, by NBD", "nvmet": "nvmet on the drive, FUA",
           "writecache-p": "nvmet on dm-writecache, mode p", "writecache-s": "nvmet on dm-writecache, mode s, FUA"}
BASE = "nvmet"
PERCENTILES = ("p50", "p90", "max")  # of 32 writes a round: p99 would be the largest

Take = Callable[[Sample], Value]
T = TypeVar("T")


def _of(samples: Iterable[Sample], purpose: str) -> list[Sample]:
    return [sample for sample in samples if sample["purpose"] == purpose]


def _by_method(samples: Iterable[Sample]) -> list[list[Sample]]:
    return groups(samples, lambda sample: (sample.get("queue_depth", 0), place_in(tuple(METHODS), sample["method"]), sample["method"]))


def name(sample: Sample) -> str:
    return METHODS.get(sample["method"], sample["method"])


def each_write(samples: Sequence[Sample], take: Take) -> Value:
    """The difference of the fewest and the most writes: to begin and to connect costs the same with both."""
    sizes = sorted({sample["writes"] for sample in samples})
    if len(sizes) < 2:
        return None
    few, many = (stats.median(take(sample) for sample in samples if sample["writes"] == size)
                 for size in (sizes[0], sizes[-1]))
    return stats.over(stats.total(many, stats.times(few, -1)), sizes[-1] - sizes[0])


def _plain(key: str) -> Take:
    return lambda sample: sample.get(key)


def _count_line(samples: Sequence[Sample]) -> list[str]:
    return [name(samples[0]), str(samples[0]["queue_depth"]),
            *(share(each_write(samples, _plain(key))) for key in ("sends", "packets", "barriers", "drive_commands")),
            grouped(each_write(samples, instructions))]


COUNT_HEADS = ["what answers", "depth", "messages", "packets", "barriers", "drive commands", "server's instructions"]


def counts(samples: Iterable[Sample]) -> list[list[str]]:
    return [_count_line(group) for group in _by_method(_of(samples, "counts"))]


def _bytes_line(sample: Sample) -> list[str]:
    return [name(sample), grouped(sample["bytes"]), *(grouped(sample[key]) for key in ("from_nvram", "from_dram"))]


BYTES_HEADS = ["what destages", "bytes", "pulled by a drive out of NVRAM", "out of DRAM"]


def destaged_bytes(samples: Iterable[Sample]) -> list[list[str]]:
    return [_bytes_line(group[0]) for group in _by_method(_of(samples, "destaged-bytes"))]


def to_base(samples: Sequence[Sample], base: str, take: Take) -> list[Value]:
    """Of each sample its ratio to the base's of the same round."""
    found = {sample["round"]: take(sample) for sample in samples if sample["method"] == base}
    return [stats.over(take(sample), found.get(sample["round"])) for sample in samples if sample["method"] != base]


def _percentile(which: str) -> Take:
    return lambda sample: (sample.get("latency_ns") or {}).get(which)


def latency_ratio(samples: Iterable[Sample], method: str, depth: int, which: str) -> Value:
    pair = [sample for sample in _of(samples, "latency") if sample["method"] in (method, BASE) and sample["queue_depth"] == depth]
    return 1.0 if method == BASE else stats.median(to_base(pair, BASE, _percentile(which)))


LATENCY_HEADS = ["what answers", "depth", "writes", "rounds", *(f"{which} / nvmet's" for which in PERCENTILES)]


def latency(samples: Sequence[Sample]) -> list[list[str]]:
    return [[name(group[0]), str(group[0]["queue_depth"]), str(group[0]["writes"]), str(len(group)),
             *(ratio(latency_ratio(samples, group[0]["method"], group[0]["queue_depth"], which)) for which in PERCENTILES)]
            for group in _by_method(_of(samples, "latency"))]


# The goal for answers out of donard's log: this part of nvmet's latency, in each percentile and at each depth.
LATENCY_GOAL = 1 / 3


def _latencies(samples: Sequence[Sample], method: str) -> list[tuple[int, str, Value]]:
    depths = sorted({sample["queue_depth"] for sample in _of(samples, "latency") if sample["method"] == method})
    return [(depth, which, latency_ratio(samples, method, depth, which)) for depth in depths for which in PERCENTILES]


def _latency_judged(samples: Sequence[Sample], method: str) -> str:
    seen = _latencies(samples, method)
    unknown = [f"{which} at depth {depth}" for depth, which, value in seen if value is None]
    missed = [f"{which} at depth {depth}, by {ratio(value - LATENCY_GOAL)}" for depth, which, value in seen
              if value is not None and value > LATENCY_GOAL]
    verdicts = [f"missed by {METHODS[method]} ({', '.join(missed)})"] if missed else []
    if unknown:
        verdicts += [f"not known for {METHODS[method]} ({', '.join(unknown)})"]
    return "; ".join(verdicts) or f"met by {METHODS[method]}"


def latency_goal(samples: Sequence[Sample]) -> list[str]:
    """A line, or none of a run without a cache of ours."""
    judged = [_latency_judged(samples, method) for method in ("donard", "donard-nbd") if _latencies(samples, method)]
    return [f"The goal is a third of nvmet's or less; {'; '.join(judged)}."] if judged else []


RATE_HEADS = ["drive", "rounds", "donard / fio, of medians", "least to most"]
# The goal, as a part of fio's rate.
RATE_GOAL = 0.95


def _each_byte(samples: Iterable[Sample], method: str) -> Value:
    """Seconds. What disturbs a round can make its larger size the faster one: then that says nothing."""
    return stats.above_zero(stats.per_byte([sample for sample in samples if sample["method"] == method], _plain("seconds")))


def _rate_ratio(samples: Sequence[Sample]) -> Value:
    """Of times: the rate's ratio is the other way round."""
    return stats.over(_each_byte(samples, "fio"), _each_byte(samples, "donard"))


def _limit(group: Sequence[Sample]) -> str:
    limit = group[0]["drive_bytes_per_second"]
    return f"{limit >> 20} MiB/s" if limit else "as fast as it is"


def _by_limit(samples: Iterable[Sample]) -> list[list[Sample]]:
    return groups(_of(samples, "destage"), _plain("drive_bytes_per_second"))


def _that_count(group: Sequence[Sample]) -> list[list[Sample]]:
    """Rounds of which the rates are known."""
    return [one for one in groups(group, _plain("round")) if _rate_ratio(one) is not None]


def _of_medians(rounds: Sequence[Sequence[Sample]]) -> Value:
    return _rate_ratio([sample for one in rounds for sample in one])


def _rate_line(group: Sequence[Sample]) -> list[str]:
    rounds, made = _that_count(group), len(groups(group, _plain("round")))
    return [_limit(group), str(made) if len(rounds) == made else f"{len(rounds)} of {made}", ratio(_of_medians(rounds)),
            span(map(_rate_ratio, rounds), ratio)]


def destage_rates(samples: Iterable[Sample]) -> list[list[str]]:
    return [_rate_line(group) for group in _by_limit(samples)]


def _judged(group: Sequence[Sample]) -> str:
    seen = _of_medians(_that_count(group))
    drive = f"with the drive at {_limit(group)}" if group[0]["drive_bytes_per_second"] else f"with the drive {_limit(group)}"
    if seen is None:
        return f"not known {drive}"
    if seen >= RATE_GOAL:
        return f"met {drive}"
    return f"missed by {ratio(RATE_GOAL - seen)} {drive}"


def rate_goal(samples: Iterable[Sample]) -> list[str]:
    """A line, or none of a run without a destage."""
    judged = [_judged(group) for group in _by_limit(samples)]
    return [f"The goal is {RATE_GOAL} of fio's rate or more; {'; '.join(judged)}."] if judged else []


PARTS = ((2, COUNT_HEADS, counts), (1, BYTES_HEADS, destaged_bytes), (2, LATENCY_HEADS, latency), (1, RATE_HEADS, destage_rates))


def summary(run: Run) -> list[str]:
    """For a terminal: what this run has."""
    lines = [columns(left, heads, make(run.samples)) for left, heads, make in PARTS if make(run.samples)]
    return [line for part in lines for line in (*part, "")][:-1]


def _refused(samples: Iterable[Sample]) -> list[str]:
    return [f"{name(sample)}: the kernel refuses it on this NVRAM (`{sample['why']}`)." if sample["why"] else
            f"{name(sample)}: the kernel took this NVRAM for memory without a barrier."
            for sample in _of(samples, "refused")]


def _part(title: str, words: str, said: set[str], lines: list[str]) -> list[str]:
    """@said: words of the page so far. Another fabric's part has the same columns, and needs none."""
    new = [] if words in said else [words, ""]
    said.add(words)
    return ["", f"### {title}", "", *new, *lines]


def _fabric(run: Run) -> str:
    """As the run says; of one that does not, as its file is called: cache-counts-rxe."""
    return run.options.get("fabric") or run.file.split("-")[-1]


def _of_each(there: Sequence[Run], make: Callable[[Sequence[Sample]], list[T]]) -> list[tuple[Run, list[T]]]:
    """What the runs have of a part. Each is for itself: ratios are of one run."""
    return [(run, made) for run in there if (made := make(run.samples))]


def _rows(there: Sequence[Run], make: Callable[[Sequence[Sample]], list[list[str]]]) -> list[list[str]]:
    """Where several runs have that part, first cells name them; and their kernels, where these differ."""
    found = _of_each(there, make)
    several = len({linux(run) for run in there}) > 1
    return [[named(row[0], [*([run.file] if len(found) > 1 else []), *([linux(run)] if several else [])]), *row[1:]]
            for run, rows in found for row in rows]


def _goals(there: Sequence[Run], judge: Callable[[Sequence[Sample]], list[str]]) -> list[str]:
    found = _of_each(there, judge)
    return [f"- {run.file}: {line}" if len(found) > 1 else line for run, lines in found for line in lines]


def _on_fabric(there: Sequence[Run], said: set[str]) -> list[str]:
    over = f"over {_fabric(there[0])}"
    refused = [line for line in dict.fromkeys(line for run in there for line in _refused(run.samples)) if line not in said]
    lines = ["", f"{kernels(run.data['kernel'] for run in there)}, writes of 4 KiB one behind the other, "
                 f"two machines joined by {_fabric(there[0])}."]
    if rows := _rows(there, counts):
        lines += _part(f"Each acknowledged write, {over}", COUNT_WORDS, said,
                       [*table(2, COUNT_HEADS, rows), *(["", *refused] if refused else [])])
        said.update(refused)
    # The source of a drive's reads does not depend on the fabric, so this table is printed once.
    if (rows := _rows(there, destaged_bytes)) and BYTES_WORDS not in said:
        lines += _part(f"Bytes of the destage, {over}", BYTES_WORDS, said, table(1, BYTES_HEADS, rows))
    if rows := _rows(there, latency):
        lines += _part(f"Latency before a slow drive, {over}", LATENCY_WORDS, said,
                       [*table(2, LATENCY_HEADS, rows), "", *_goals(there, latency_goal)])
    if rows := _rows(there, destage_rates):
        lines += _part(f"Rate of the destage, {over}", RATE_WORDS, said,
                       [*table(1, RATE_HEADS, rows), "", *_goals(there, rate_goal)])
    return lines


def section(results: Sequence[Run]) -> list[str]:
    """A part for each fabric: what one costs is no sample of another."""
    there = runs(results, "cache-")
    if not there:
        return absent("cache-*.json", "bench/run cache")
    said: set[str] = set()
    return [line for fabric in groups(there, _fabric) for line in _on_fabric(fabric, said)][1:]


COUNT_WORDS = (
    "Figures are of one write, as the difference of two runs of different length. **Messages** are the SENDs that the server's "
    "RDMA device sent and received; an RDMA write is none of them, and is in the **packets**, which include acknowledgements of "
    "the transport. **Barriers** are reads of the NVRAM's PMRSTS, and **drive commands** those of all I/O queues of both drives, "
    "until the last write was acknowledged; both are from the emulator's trace. The **server's instructions** are all that its machine "
    "executed, kernel and interrupts included, by the meter. A dash: that run had no meter, or that device does not count.")
BYTES_WORDS = (
    "What the drives were told to pull for these writes to be on the drive, from the emulator's trace. dm-writecache reads "
    "its cache into DRAM by the CPU, and the drive pulls it from there.")
LATENCY_WORDS = (
    "The drive takes 32 KiB/s, so that one write of 4 KiB takes an eighth of a second and the emulated wire some "
    "milliseconds; with a fast drive the wire would hide all else. Each ratio is the median over rounds that took turns, "
    "each of so many writes. "
    "The cache answers at its own pace only while its log has room: a drive that stays slower than its clients sets the pace of any cache.")
RATE_WORDS = (
    "4 and 24 MiB of the log to the drive until its flush is done, timed by a client on the server's machine. fio writes "
    "24 MiB once and eight times from the same region to the same drive: io_uring, 512 KiB, depth 32, with a flush after "
    "each 24 MiB. In turns, each behind 24 MiB that do not count, since memory and blocks that nobody has used for a while cost an "
    "emulator several times as much. A rate is that of the difference of the two sizes: what a flush costs however little there is, "
    "and fio's start, are in neither, but fio's has the flushes of seven times 24 MiB. The slower drive stands for one that is busy "
    "while the program is not. An emulated drive takes no time of its own, and so hides nothing of the server's work. A round in "
    "which the larger size was the faster one says nothing, and is not counted.")
