# SPDX-License-Identifier: Apache-2.0
import contextlib
import copy
import io
import json
import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path

from donardstat import command, guard
from donardstat.results import Refused, Run
from invented import Json, results

Change = Callable[[Json], None]
POINT = "not ok - donard to-region "


def unchanged(run: Json) -> None:
    pass


def donard(key: str, change: Callable[[float], float | None], all_rounds: bool = False) -> Change:
    """Of the first round of donard's copies, or of all rounds."""
    def apply(run: Json) -> None:
        for sample in run["samples"]:
            if sample["method"] == "donard" and (all_rounds or sample["round"] == 0):
                sample["measured"][key] = change(sample["measured"][key])
    return apply


def each_sample(**changes: object) -> Change:
    def apply(run: Json) -> None:
        for sample in run["samples"]:
            sample.update(changes)
    return apply


def interrupted(run: Json) -> None:
    """Six rounds, whose interrupts cost 700 instructions each, and switches of context 3,000."""
    first = [sample for sample in run["samples"] if sample["round"] == 0]
    run["samples"] = [copy.deepcopy({**sample, "round": at}) for sample in first for at in range(6)]
    for sample in run["samples"]:
        at, counts = sample["round"], sample["measured"]
        counts["interrupts"], counts["context_switches"] = 300 - 40 * at, 10 + at * at % 7
        counts["instructions_kernel"] += 700 * counts["interrupts"] + 3000 * counts["context_switches"]


def more(interrupts: int, switches: int = 0) -> Change:
    """As many more in each round, and what they cost."""
    def apply(run: Json) -> None:
        for sample in run["samples"]:
            counts = sample["measured"]
            counts["interrupts"] += interrupts
            counts["context_switches"] += switches
            counts["instructions_kernel"] += 700 * interrupts + 3000 * switches
    return apply


def all_of(*changes: Change) -> Change:
    def apply(run: Json) -> None:
        for change in changes:
            change(run)
    return apply


def add(number: float) -> Callable[[float], float]:
    return lambda count: count + number


def by(factor: float) -> Callable[[float], float]:
    return lambda count: count * factor


def no_samples(run: Json) -> None:
    run["samples"] = []


def only_donard(run: Json) -> None:
    run["samples"] = [sample for sample in run["samples"] if sample["method"] == "donard"]


def slower(run: Json) -> None:
    for sample in run["samples"]:
        sample["seconds"] *= 100


def everywhere(key: str, number: float) -> Change:
    def apply(run: Json) -> None:
        for sample in run["samples"]:
            sample["measured"][key] += number
    return apply


def of_kernel(version: str) -> Change:
    return lambda run: run.update(kernel=version)


KERNEL = "instructions_kernel"
# What it shows: does the guard fail, its words, what is changed, and what is so in the baseline too.
CASES: dict[str, tuple[bool, str, Change, Change]] = {
    "equal counts pass": (False, "ok - donard to-region", unchanged, unchanged),
    "one payload byte in one round fails": (
        True, "dram_cpu_payload_bytes: expected 0, seen 1; to accept it: bench/run baseline",
        donard("dram_cpu_payload_bytes", add(1)), unchanged),
    "fewer bytes to the BAR fail": (True, "bar_dma_bytes: expected 16777216, seen 16773120",
                                    donard("bar_dma_bytes", add(-4096), True), unchanged),
    "3 % more instructions fail": (True, f"{KERNEL}: expected at most", donard(KERNEL, by(1.03), True), unchanged),
    "1 % more instructions pass": (False, "ok - donard to-region", donard(KERNEL, by(1.01), True), unchanged),
    "one disturbed round passes": (False, "ok - donard to-region", donard("dram_cpu_overhead_bytes", by(2)), unchanged),
    "instructions of more interrupts pass": (False, "ok - donard to-region", more(80), interrupted),
    "instructions of fewer interrupts and more switches pass": (False, "ok - donard to-region", more(-50, 3),
                                                                interrupted),
    "more interrupts than the baseline ever met fail": (True, f"{KERNEL}: expected at most", more(1000), interrupted),
    "more switches than the baseline ever met fail": (True, f"{KERNEL}: expected at most", more(0, 80), interrupted),
    "as many instructions without interrupts fail": (True, f"{KERNEL}: expected at most", everywhere(KERNEL, 700000),
                                                     interrupted),
    "3 % more instructions beside fewer interrupts fail": (
        True, f"{KERNEL}: expected at most", all_of(donard(KERNEL, by(1.03), True), more(-100)), interrupted),
    "one round with work beside it passes": (False, "ok - donard to-region", donard(KERNEL, by(1.5)), interrupted),
    "a gain hints at a new baseline": (False, "better than the baseline's", donard("instructions_user", by(0.9), True),
                                       unchanged),
    "a count that went missing fails": (True, "seen null", donard("bar_dma_bytes", lambda _: None, True), unchanged),
    "data that differs fails": (True, "verified: expected true, seen false", each_sample(verified=False), unchanged),
    "a point without baseline fails": (True, "seen none", each_sample(queue_depth=3), unchanged),
    "nothing measured fails": (True, "not ok - a copy: expected at least one", no_samples, unchanged),
    "fewer points are named": (False, "ok - the other points of the baseline # SKIP 24 were", only_donard, unchanged),
    "times do not matter": (False, "ok - donard", slower, unchanged),
    "another kernel's own work is not compared": (
        False, "only payload", all_of(donard(KERNEL, by(2), True), of_kernel("6.1.0")), unchanged),
    "another kernel's payload is compared": (
        True, "dram_dma_payload_bytes", all_of(donard("dram_dma_payload_bytes", add(512)), of_kernel("6.1.0")),
        unchanged),
}


def pair(case: str) -> tuple[Json, Json]:
    """The baseline, and what is seen now."""
    _, _, change, both = CASES[case]
    baseline, current = results("copy-counts"), results("copy-counts")
    both(baseline)
    both(current)
    change(current)
    return baseline, current


class Guard(unittest.TestCase):
    def check(self, case: str) -> None:
        fails, words, _, _ = CASES[case]
        baseline, current = (Run("x", data) for data in pair(case))
        lines = guard.compare(baseline, current, "bench/run baseline")
        said = "\n".join(lines)
        self.assertEqual(any(line.startswith("not ok") for line in lines), fails, said)
        self.assertIn(words, said)
        if fails and "a copy:" not in words:
            self.assertTrue(any(line.startswith(POINT) and words in line for line in lines), said)

    def test_refuses_others_files(self):
        """guard: what is no text, or has other samples, is wrong use"""
        with tempfile.TemporaryDirectory() as folder:
            base, path = Path(folder) / "base.json", Path(folder) / "x.json"
            base.write_text(json.dumps(results("copy-counts")), encoding="utf-8")
            bad = ([1], [{**results("copy-counts")["samples"][0], "measured": 1}])
            for raw in (b"\xff", *(json.dumps({**results("copy-counts"), "samples": samples}).encode() for samples in bad)):
                path.write_bytes(raw)
                for words, status in (("guard", str(base), str(path)), 2), (("table", str(path)), 1):
                    with contextlib.redirect_stderr(io.StringIO()) as said:
                        self.assertEqual(command.main(words), status, raw)
                    self.assertRegex(said.getvalue(), f"^{words[0]}: ")

    def test_refuses_samples(self):
        """guard: sampled counts are refused"""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "x.json"
            for text in (json.dumps({**results("copy-counts"), "meter": "likwid"}), "{}", "no JSON"):
                path.write_text(text, encoding="utf-8")
                with self.assertRaisesRegex(Refused, "no exact counts"):
                    guard.read_exact(path)


def _add_case(case: str) -> None:
    def test(self: Guard) -> None:
        self.check(case)
    test.__doc__ = f"guard: {case}"
    setattr(Guard, "test_" + case.replace(" ", "_"), test)


for _case in CASES:
    _add_case(_case)
