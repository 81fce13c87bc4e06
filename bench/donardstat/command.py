# SPDX-License-Identifier: Apache-2.0
"""The command line of donard-stat."""
import argparse
import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from . import guard, rdma, summary
from .results import POINT_KEYS, Refused, Run, copy_samples, from_stream, from_text, read, text_in, text_of

DONE, FAILED, USAGE, UNSUPPORTED = range(4)


def run_report(options: argparse.Namespace) -> int:
    try:
        from . import page
    except ImportError as error:
        print(f"report: {error}. Install it: apt install python3-matplotlib", file=sys.stderr)
        return UNSUPPORTED
    return page.main(options.dir, options.out, options.plots)


def run_guard(options: argparse.Namespace) -> int:
    return guard.main(options.baseline, options.current)


def standard_input() -> Run:
    try:
        raw = sys.stdin.buffer.read()
    except OSError as error:
        raise Refused(f"standard input cannot be read: {error.strerror}") from error
    return from_text(text_in(raw, "standard input"), "standard input")


def results(files: Sequence[str]) -> list[Run]:
    return [standard_input() if file == "-" else read(Path(file)) for file in files]


def run_table(options: argparse.Namespace) -> int:
    print("\n\n".join("\n".join(summary.lines(run)) for run in results(options.files or ["-"])))
    return DONE


def joined_options(joined: Sequence[Run]) -> dict[str, Any]:
    """Each as all have it; where they differ, a list of what they have."""
    found: dict[str, Any] = {}
    for key in dict.fromkeys(key for run in joined for key in run.options):
        values = [run.options.get(key) for run in joined]
        different = [value for at, value in enumerate(values) if value not in values[:at]]
        found[key] = different if len(different) > 1 else values[0]
    return found


def regions(run: Run) -> set[str]:
    return {sample["region"] for sample in run.samples if "region" in sample}


def of_region(run: Run) -> dict[str, str]:
    """If it is of one."""
    there = regions(run)
    return {"region": there.pop()} if len(there) == 1 else {}


def joined_links(joined: Sequence[Run]) -> list[dict[str, Any]]:
    """Beside those to other regions they say to which they are: what was counted there is not of the others."""
    several = len(set().union(*map(regions, joined))) > 1
    return [{**of_region(run), **link} if several else link for run in joined for link in run.data.get("links") or []]


def joined_lists(joined: Sequence[Run]) -> dict[str, list[dict[str, Any]]]:
    """What stands beside the samples, of all, each once."""
    skipped = [one for run in joined for one in run.data.get("skipped") or []]
    lists = {"links": joined_links(joined), "skipped": skipped}
    return {key: [one for at, one in enumerate(found) if one not in found[:at]] for key, found in lists.items()
            if any(key in run.data for run in joined)}


def check_alike(joined: Sequence[Run]) -> None:
    """Refuses what is not one result."""
    for key in ("benchmark", "kernel", "emulated", "meter"):
        if any(run.data.get(key) != joined[0].data.get(key) for run in joined):
            raise Refused(f"these are not one result: they differ in \"{key}\"")
    if joined[0].data.get("benchmark") == "cache":
        check_parts(joined)


def check_parts(joined: Sequence[Run]) -> None:
    """Refuses two of one part of a cache: ratios are within a round, and both have the same rounds."""
    seen: set[str] = set()
    for run in joined:
        parts = {sample["purpose"] for sample in run.samples}
        if seen & parts:
            raise Refused(f"these are not one result: several have \"{min(seen & parts)}\" of a cache, "
                          "whose rounds would be mixed")
        seen |= parts


def parted(joined: Sequence[Run]) -> list[Run]:
    """Where several have samples of the same point, all samples say of which of these runs they are."""
    of_all = [key for key in POINT_KEYS if key != "part"]
    seen = [{tuple(sample.get(key) for key in of_all) for sample in copy_samples(run)} for run in joined]
    if joined[0].data.get("benchmark") not in ("copy", "queue") or sum(map(len, seen)) == len(set().union(*seen)):
        return list(joined)
    parts = list(dict.fromkeys((at, sample.get("part")) for at, run in enumerate(joined) for sample in run.samples))
    return [Run(run.file, {**run.data, "samples": [{**sample, "part": parts.index((at, sample.get("part"))) + 1}
                                                   for sample in run.samples]}) for at, run in enumerate(joined)]


def run_join(options: argparse.Namespace) -> int:
    joined = [run for file in options.files for run in from_stream(text_of(Path(file)), file)]
    check_alike(joined)
    joined = parted(joined)
    data = {**joined[0].data, "options": joined_options(joined), **joined_lists(joined)}
    # Options that a run gives for all its samples are put into each sample if the joined runs differ in them.
    by_sample = isinstance(data["options"].get("page_type"), list)
    data["samples"] = [sample for run in joined for sample in (copy_samples(run) if by_sample else run.samples)]
    if data.get("benchmark") == "table1":
        rdma.samples_of(Run(" ".join(options.files), data))  # refuses bandwidth of which there is no median
    if options.levers:
        data["options"]["levers"] = True
    print(json.dumps(data, separators=(",", ":"), ensure_ascii=False))
    return DONE


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="donard-stat", description="Figures from the samples of donard-bench.")
    top.set_defaults(refused=FAILED)
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    report = commands.add_parser("report", help="a page with plots from a folder of results", description="""
        Reads the results DIR/*.json and writes a Markdown page, plots as SVG in FOLDER (the page's name without its
        suffix) and the raw results in FOLDER/data. Other *.svg in FOLDER and *.json in FOLDER/data are removed: no page shows
        them. DIR may be FOLDER/data. Results of an emulator and of a real machine make no page together: each has a DIR of its
        own. Exit status: 0 done, 1 failed, 2 wrong use, 3 matplotlib is missing.""")
    report.add_argument("dir", type=Path, metavar="DIR")
    report.add_argument("--out", type=Path, metavar="PAGE", default=Path("report.md"))
    report.add_argument("--plots", type=Path, metavar="FOLDER")
    report.set_defaults(run=run_report)

    compare = commands.add_parser("guard", help="exact counts of copies against a baseline", description="""
        Compares what donard-cli bench copy counted with a baseline, never its times: bytes of payload through DRAM
        and bytes between drive and BAR must be equal, overhead and instructions at most 2 %% more. Of donard's own
        instructions the least of all rounds is compared, of what the kernel does the median, at as many interrupts
        and context switches, up to the most that the baseline met. With another kernel than the baseline's, what the
        kernel itself does is not compared. Prints TAP: "ok - POINT" or "not ok - POINT: what was expected and seen";
        points of the baseline that were not measured are skipped.
        Exit status: 0 all within bounds, 1 a point is not, 2 wrong use, results without exact counts, or an
        output that cannot be written.""")
    compare.add_argument("baseline", type=Path, metavar="BASELINE.json")
    compare.add_argument("current", type=Path, metavar="CURRENT.json")
    compare.set_defaults(run=run_guard, refused=USAGE)

    table = commands.add_parser("table", help="medians of results as tables",
                                description="Medians over the rounds, a table for each FILE; -: standard input.")
    table.add_argument("files", nargs="*", metavar="FILE")
    table.set_defaults(run=run_table)

    join = commands.add_parser("join", help="several runs as one result", description="""
        Prints the first result with the samples of all, their links, and what they could not measure, and as options a list
        where they differ. Where several have samples of the same copy, "part" says of which each is. A FILE may hold several
        results, one after the other. Results of different benchmarks, kernels or meters are not joined, nor two of one part of a
        cache, nor bandwidth of RDMA by requests of different sizes or depths.""")
    join.add_argument("--levers", action="store_true", help="the report is to show them as levers")
    join.add_argument("files", nargs="+", metavar="FILE")
    join.set_defaults(run=run_join)
    return top


def forget_output() -> None:
    """What could not be written: Python would try once more at its end, and complain."""
    if sys.stdout:
        with suppress(OSError):  # not a file
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def tell_unwritten(command: str, error: OSError) -> None:
    if not isinstance(error, BrokenPipeError):  # who read it wants no more
        print(f"{command}: {error.filename or 'writing the output failed'}: {error.strerror}", file=sys.stderr)
    forget_output()


def flush_output() -> None:
    if sys.stdout:  # None: it was closed when the program began
        sys.stdout.flush()


def parse(words: Sequence[str] | None) -> argparse.Namespace:
    """argparse prints help itself, and ends the program."""
    top = parser()
    try:
        try:
            return top.parse_args(words)
        except SystemExit:
            flush_output()
            raise
    except OSError as error:
        tell_unwritten(top.prog, error)
        sys.exit(FAILED)


def main(words: Sequence[str] | None = None) -> int:
    options = parse(words)
    try:
        status: int = options.run(options)
        flush_output()
        return status
    except Refused as refused:
        print(f"{options.command}: {refused}", file=sys.stderr)
    except (AttributeError, KeyError, TypeError) as error:  # of JSON that is not as donard-bench writes it
        print(f"{options.command}: a sample lacks something, or has it in another form: {error!r}", file=sys.stderr)
    except OSError as error:
        tell_unwritten(options.command, error)
    return options.refused
