# SPDX-License-Identifier: Apache-2.0
import errno
import filecmp
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from contextlib import redirect_stderr, suppress
from io import StringIO
from pathlib import Path
from unittest import mock

from donardstat import cache, command, plots, rdma, summary
from donardstat.page import words
from donardstat.results import Run, read
from donardstat.text import MARK, RATIOS_MARK
from invented import Json, copy, dearer, on_hardware, put, results, shaped, slower

ROOT = Path(__file__).resolve().parents[2]


def later(data: Json) -> Json:
    """As of a slower machine with an older kernel."""
    for sample in data["samples"]:
        if sample["latency_ns"]:
            sample["latency_ns"] = {name: 2 * value for name, value in sample["latency_ns"].items()}
        sample["bytes_per_second"] /= 2
    return {**data, "kernel": "6.1.2"}


def dearer_setup(data: Json) -> Json:
    """Three times the instructions, and another step that could not be measured."""
    for sample in data["samples"]:
        sample["measured"] = {key: 3 * value for key, value in sample["measured"].items()}
    return {**data, "skipped": [{"method": "register", "bytes": 65536, "live": 0, "why": "an old kernel"}]}


def one_point(data: Json) -> Json:
    first = data["samples"][0]
    return {**data, "samples": [sample for sample in data["samples"]
                                if (sample["bytes"], sample["live"]) == (first["bytes"], first["live"])]}


def as_bench_table1(data: Json) -> Json:
    """Bandwidth, latency and comparison are samples of their own."""
    samples = []
    for sample in data["samples"]:
        if sample["method"] != "donard":
            continue
        plain = {key: value for key, value in sample.items() if key not in ("fabric", "verified", "latency_ns")}
        plain.update(name=sample["target"], target="p2pmem9", direction=sample["operation"], operation="bandwidth",
                     purpose="measure")
        samples += [plain,
                    {**plain, "latency_ns": {"p50": 3000, "p99": 5000, "p99.9": 6000, "max": 6000}, "operation": "latency",
                     "requests": 160, "bytes_per_second": 1, "server_cpu_seconds_per_gib": 9000, "server_faults": 9000},
                    {**plain, "purpose": "verify", "bytes": 64, "verified_bytes": 64, "bytes_per_second": 2,
                     "server_cpu_seconds_per_gib": 900, "server_faults": 900}]
    return {**data, "samples": samples}


def lying(data: Json) -> Json:
    """One false word in the verified column, and payload that one round lost to DRAM."""
    first = next(sample for sample in data["samples"] if sample["method"] == "donard")
    first["verified"] = False
    first["measured"]["dram_cpu_payload_bytes"] = 64
    return data


def uneven(data: Json) -> Json:
    data["samples"][0]["measured"]["dram_cpu_payload_bytes"] += 1
    return data


def sampled(data: Json) -> Json:
    for sample in data["samples"]:
        sample["measured"] = {"dram_total_bytes": 2500000}
    return {**data, "emulated": False, "meter": "likwid"}


def between_two(data: Json) -> Json:
    return {**data, "options": {**data["options"], "here": None}}


def over_siw(data: Json) -> Json:
    return {**data, "options": {**data["options"], "fabric": "siw"}}


def unregistered(data: Json) -> Json:
    """As where the kernel registers no such memory."""
    plain = {"queue-registered": "queue", "fio-fixed": "fio"}
    return {**data, "samples": [{**sample, "method": plain[sample["method"]]} for sample in data["samples"]]}


def behind_iommu(data: Json, *more: Json) -> Json:
    """One unmap of the first sample comes late."""
    for sample in data["samples"]:
        sample["unmaps"] = sample["maps"]
    data["samples"][0]["unmaps"] -= 10
    return {**data, "topology": "iommu", "samples": [*data["samples"], *more]}


def with_p2pdma(data: Json) -> Json:
    return {**data, "samples": data["samples"] + [{**sample, "page_type": "p2pdma"} for sample in data["samples"]]}


NO_ROUTE = {"method": "queue", "page_type": "p2pdma", "block_bytes": None, "commands": 0, "maps": 0, "unmaps": 0, "iommu_maps": 0,
            "why": "it cannot reach it"}


def fill(folder: Path) -> None:
    """The inputs of each report, in a folder of its name."""
    for kernel in ("6.12.9", "7.3.4"):
        put(folder / "page", f"copy-counts-{kernel}", results("copy-counts", kernel))
        put(folder / "page", f"queue-counts-{kernel}", results("queue-counts", kernel))
        put(folder / "dearer", f"queue-counts-{kernel}", dearer(results("queue-counts", kernel)))
    put(folder / "unregistered", "queue-counts-6.12.9", unregistered(results("queue-counts", "6.12.9")))
    put(folder / "page", "gpu-counts-7.3.4", results("gpu-counts"))
    put(folder / "page", "table1-rxe", results("table1"))
    put(folder / "page", "rdma-counts-rxe", results("rdma-counts"))
    put(folder / "page", "cache-rxe", results("cache"))
    put(folder / "page", "cache-destage", over_siw(results("cache")))
    put(folder / "page", "maps-7", results("maps"))
    put(folder / "new-maps", "maps-7", with_p2pdma(results("maps")))
    put(folder / "new-maps", "maps-7-iommu", behind_iommu(results("maps"), NO_ROUTE))
    for name in ("copy-rates", "copy-sweep", "null"):
        put(folder / "page", name, results(name))
    put(folder / "page", "setup",
        {**results("setup"), "skipped": [{"method": "pin", "bytes": 65536, "live": 0, "why": "no ring"}]})
    put(folder / "hardware", "copy-counts-7.3.4", on_hardware(results("copy-counts")))
    put(folder / "hardware", "gpu-counts-7.3.4", {**results("gpu-counts"), "emulated": False, "meter": "perf"})
    put(folder / "two-real", "copy-counts-7.3.4-acs", on_hardware(results("copy-counts")))
    put(folder / "two-real", "copy-counts-7.3.4-noacs", slower(on_hardware(results("copy-counts"))))
    put(folder / "small-blocks", "copy-counts-7.3.4", on_hardware(shaped(results("copy-counts"), block_bytes=65536)))
    put(folder / "shallow", "copy-counts-7.3.4", on_hardware(shaped(results("copy-counts"), queue_depth=4)))
    put(folder / "depths", "copy-counts-7.3.4", on_hardware(shaped(results("copy-counts"), "dd memcpy", queue_depth=1)))
    put(folder / "two-runs", "table1-rxe-a", results("table1"))
    put(folder / "two-runs", "table1-rxe-b", later(results("table1")))
    put(folder / "two-runs", "setup-6.1", dearer_setup(results("setup", "6.1.2")))
    put(folder / "two-runs", "setup-7", results("setup"))
    put(folder / "one-curve", "setup-6.1", results("setup", "6.1.2"))
    put(folder / "one-curve", "setup-7", one_point(results("setup")))
    put(folder / "table1", "table1-siw", as_bench_table1(results("table1")))
    put(folder / "bad", "copy-counts-7.3.4", lying(results("copy-counts")))
    put(folder / "uneven", "rdma-counts-rxe", uneven(results("rdma-counts")))
    put(folder / "sampled", "table1-mlx5", between_two(sampled(results("rdma-counts"))))
    put(folder / "both-ends", "table1-mlx5-one", sampled(results("rdma-counts")))
    put(folder / "some-ends", "table1-mlx5-one", sampled(results("rdma-counts")))
    put(folder / "some-ends", "table1-mlx5-two", between_two(sampled(results("rdma-counts"))))


class Report(unittest.TestCase):
    folder: Path

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="donard-report."))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        fill(cls.folder / "in")
        for name in ("page", "hardware", "table1", "bad", "uneven", "sampled", "dearer", "unregistered", "new-maps", "two-real", "two-runs", "small-blocks",
                     "one-curve", "shallow", "depths", "both-ends", "some-ends"):
            status = command.main(["report", str(cls.folder / "in" / name), "--out", str(cls.folder / f"{name}.md")])
            assert status == 0, f"report of {name}: status {status}"

    def page(self, name: str = "page") -> str:
        return (self.folder / f"{name}.md").read_text(encoding="utf-8")

    def shows(self, regex: str, name: str = "page") -> None:
        """The page has such a line."""
        self.assertTrue(re.search(regex, self.page(name), re.MULTILINE),
                        f"expected in {name}.md a line like {regex}")

    def test_costs(self):
        """report: costs leave start-up out"""
        self.shows(r"^\| donard p2p \| 0 \| 0 \| 0\.040 \| 0\.040 \| 60,000 \| 1,024 \| 1\.00 \|")
        self.shows(r"^\| donard, bounced \| 1\.00 \| 1\.00 \| 0\.500 \| 2\.50 \| 300,000 \|")

    def test_newest_kernel(self):
        """report: compares methods on the newest kernel"""
        lines = re.findall(r"^Linux 7\.3\.4, p2pmem0, generic pages, blocks of 1 MiB", self.page(), re.MULTILINE)
        self.assertEqual(len(lines), 1)

    def test_kernels(self):
        """report: both kernels side by side"""
        self.shows(r"^\| 6\.12\.9 \| p2pmem0 \| generic \| drive to region \| donard p2p")

    def test_blocks(self):
        """report: ratio to fio by block size"""
        self.shows(r"^\| drive to region \| 4 KiB \| 7,710,000 \| 11,565,000 \| 0\.67 \|")

    def test_requests(self):
        """report: what a request costs, beside fio's"""
        start = r"^\| 6\.12\.9 \| generic \| drive to region \| 64 KiB \| 1 \| "
        self.shows(start + r"queue, registered memory \| 18,594 \| 0\.50 \| 1,311 \| 0\.40 \| 1\.00 \|")
        self.shows(start + r"fio p2p, fixed buffers \| 37,188 \| 1\.00 \| 3,277 \| 1\.00 \| 1\.00 \|")

    def test_goal(self):
        """report: where a queue's requests meet their goal, and by how much they miss it"""
        for kernel in ("6.12.9", "7.3.4"):
            self.shows(rf"^- Linux {re.escape(kernel)}, generic pages: met at depth 1\.$")
        self.shows(r"that is so in 4 of 4 lines, of which 0 miss the goal\. Other lines that miss it: 0;")
        self.shows(r"^- Linux 6\.12\.9, generic pages: met at depth 1\.$", "dearer")
        self.shows(r"^- Linux 7\.3\.4, generic pages: missed at depth 1 in 1 of 2 lines, by 0\.05 at most \(drive to region, 64 KiB\)\.$",
                   "dearer")
        self.shows(r"that is so in 2 of 4 lines, of which 0 miss the goal\. Other lines that miss it: 1; in 1 of them the queue slept "
                   r"more often than fio\.$", "dearer")

    def test_unregistered(self):
        """report: where the kernel registers no memory, a queue is judged without"""
        self.shows(r"^- Linux 6\.12\.9, generic pages: met at depth 1\.$", "unregistered")
        self.assertNotIn("queue, registered memory", self.page("unregistered"))

    def test_maps(self):
        """report: maps for DMA of a command, alike methods in one line"""
        self.shows(r"^\| 7\.3\.4 \| switch \| generic \| 4 KiB; 1 MiB \| queue, registered memory; queue \| 1 \| 0 \| 1 \|$")
        self.shows(r"^\| 7\.3\.4 \| switch \| generic \| 4 KiB; 1 MiB \| fio p2p \| 0\.5 \| 0 \| 0\.5 \|$")

    def test_late_unmaps(self):
        """report: the maps are exact only where no unmap was late"""
        self.shows(r"by which all its drivers do that, exactly\. Where")
        self.shows(r"by which all its drivers do that; maps exactly, unmaps not: in 1 of 18 samples .* off by these\. Where", "new-maps")

    def test_no_route(self):
        """report: a page type that has no route behind an IOMMU has a row, and the reason"""
        self.shows(r"^\| 7\.3\.4 \| IOMMU \| p2pdma \| - \| no route \| - \| - \| - \|$", "new-maps")
        self.shows(r"^No route: behind an IOMMU", "new-maps")
        self.assertNotIn("No route:", self.page())

    def test_gpu(self):
        """report: what cuFile costs on top of the queue, and by which way the payload goes"""
        self.shows(r"^Linux 7\.3\.4, one request at a time\. At 64 KiB and above cuFile's own instructions add at most 0\.7 % .*; the goal is 5 %: met\. .* All in all "
                   r"its calls take 1\.03 times the instructions of the queue, .*; and 1\.03 times those")
        start = r"^\| drive to GPU \| 64 KiB \| "
        self.shows(start + r"cuFile \| 0 \| 0 \| 1,311 \| 4,781 \| 19,125 \| 1\.03 \| yes \|$")
        self.shows(start + r"read and cuMemcpy \| 1\.00 \| 1\.00 \| ")
        self.shows(start + r"fio p2p, fixed buffers, onto the same BAR \| 0 \| 0 \| .* \| 2\.00 \| yes \|$")

    def test_rdma(self):
        """report: RDMA as ratio to DRAM"""
        self.shows(r"^\| rxe \| write \| GPU-like BAR \| 0\.95 \| 1\.05 \| 1\.05 \|")

    def test_two_rdma_runs(self):
        """report: ratios of RDMA are to DRAM and to perftest of the same run, and lines name it"""
        for run in ("rxe-a", "rxe-b"):
            self.shows(rf"^\| {run} \| write \| DRAM \| 1\.00 \| 1\.00 \| .* \| 1\.00 \| yes \|$", "two-runs")
            self.shows(rf"^\| {run} \| write \| GPU-like BAR \| 0\.95 \| 1\.05 \| .* \| 1\.00 \| yes \|$", "two-runs")
        plot = (self.folder / "two-runs" / "latency.svg").read_text(encoding="utf-8")
        for said in ("median: 1.05 to 1.10 times that into DRAM", "Linux 6.1.2, 7.3.4,", "rxe-a, write", "rxe-b, read"):
            self.assertIn(said, plot)
        self.assertNotIn("| rxe-", self.page())

    def test_table1_samples(self):
        """report: RDMA samples of bench table1"""
        self.shows(r"^\| siw \| read \| NVRAM \(PMR\) \| 0\.91 \| 1\.00 \| 1\.00 \| .* \| 40 \| - \| yes \|$", "table1")

    def test_table1_iwarp(self):
        """report: latency of writes over iWARP, in which the target has no part, is in no table and plot"""
        self.shows(r"^\| siw \| write \| NVRAM \(PMR\) \| 0\.91 \| - \| - \| .* \| 40 \| - \| yes \|$", "table1")
        self.shows(r"Latency of writes over iWARP is left out", "table1")
        plot = (self.folder / "table1" / "latency.svg").read_text(encoding="utf-8")
        self.assertIn("siw, read", plot)
        self.assertNotIn("siw, write", plot)
        self.assertNotIn("iWARP", self.page())

    def test_table1_percentiles(self):
        """report: latency is of small requests, and the largest of too few is no percentile"""
        self.shows(r"^Bandwidth is of requests of 64 KiB, depth 16; latency of requests of 64 B, one at a time, 160 a round\.",
                   "table1")
        self.shows(r"^\| fabric \| .* \| bandwidth \| latency p50 \| latency p99 \| DRAM / byte \|", "table1")
        self.shows(r"^\| fabric \| .* \| latency p99 \| latency p99\.9 \| DRAM / byte \|")

    def test_table1_server(self):
        """report: what bandwidth costs the server, without its comparing and its small requests"""
        samples = as_bench_table1(results("table1"))["samples"]
        for figure in rdma.figures(rdma.rdma_samples([Run("table1-siw", {"samples": samples})])):
            self.assertEqual((figure.server_cpu, figure.server_faults), (9.5, 40))

    def test_cache(self):
        """report: what a write of the cache costs, what its destage, and what the kernel refuses"""
        self.shows(r"^\| donard's cache \| 16 \| 2\.00 \| 4\.00 \| 0\.250 \| 0 \| 5,000 \|$")
        self.shows(r"^\| nvmet on the drive, FUA \| 16 \| 2\.00 \| 4\.00 \| 0 \| 1\.00 \| 5,000 \|$")
        self.shows(r"^nvmet on dm-writecache, mode p: the kernel refuses it on this NVRAM \(`Operation not supported`\)\.$")
        self.shows(r"^\| donard's cache \| 409,600 \| 409,600 \| 0 \|$")
        self.shows(r"^\| donard's cache \| 1 \| 48 \| 3 \| 0\.13 \| 0\.13 \| 0\.13 \|$")
        self.shows(r"^\| donard's cache \| 16 \| 48 \| 3 \| 0\.02 \| 0\.02 \| 0\.02 \|$")
        self.shows(r"; met by donard's cache; missed by donard's cache, by NBD \(p50 at depth 1, by 0\.17, p90 .*, max at depth 1, by 0\.17\)\.$")
        self.shows(r"^\| 16 MiB/s \| 3 \| 1\.10 \| 1\.10 \|$")
        self.shows(r"missed by 0\.45 with the drive as fast as it is; met with the drive at 16 MiB/s\.$")

    def test_cache_latency_unknown(self):
        """report: a latency that no round has beside nvmet's misses no goal, and meets none"""
        samples = [sample for sample in results("cache")["samples"] if (sample["method"], sample.get("queue_depth")) != ("nvmet", 16)]
        said, = cache.latency_goal(samples)
        self.assertRegex(said, r"; not known for donard's cache \(p50 at depth 16, .*\); missed by donard's cache, by NBD \(p50 at depth 1, ")
        self.assertEqual(cache.latency_goal([sample for sample in samples if sample["method"] == "nvmet"]), [])

    def test_cache_fabric(self):
        """report: what joined the machines of a cache, as the run or its file's name says"""
        self.shows(r"^Linux 7\.3\.4, .* two machines joined by rxe\.$")
        self.shows(r"^### Rate of the destage, over siw$")
        self.shows(r"^Linux 7\.3\.4, .* two machines joined by siw\.$")
        for once in (cache.COUNT_WORDS, cache.LATENCY_WORDS, "the kernel refuses it on this NVRAM", "Bytes of the destage"):
            self.assertEqual(self.page("page").count(once), 1, f"expected once in page.md: {once}")

    def test_rdma_dram(self):
        """report: DRAM by target in the table"""
        self.shows(r"^\| rxe \| write \| GPU-like BAR \| .* \| 6\.00 \| 1\.00 \|")

    def test_kept_out(self):
        """report: payload that a BAR keeps out of DRAM"""
        self.shows(r"^\| rxe \| switch \| read \| GPU-like BAR \| 1\.00 \| 1\.00 \| 5\.00 \| 1\.00 \| 4,194,304 \| 3, "
                   r"identical \|$")

    def test_uneven(self):
        """report: payload that differs between runs is said"""
        self.shows(r"^\| rxe \| switch \| write \| DRAM .* \| 3, \*\*2 different\*\* \|$", "uneven")

    def test_sampled(self):
        """report: DRAM of a real machine's meter"""
        self.shows(r"^\| mlx5 \| read \| GPU-like BAR \| .* \| 2\.50 \| - \|", "sampled")

    def test_ends(self):
        """report: whose DRAM a meter counted, of both ends or of the client's machine alone"""
        start, alone = r" DRAM is bytes for each byte moved, ", r"of the client's machine alone, without what the target moves in its own"
        for name in ("page", "both-ends"):
            self.shows(start + r"of both ends together: see below\.$", name)
        self.shows(start + alone + r"\.$", "sampled")
        self.shows(start + r"of both ends together: see below; in mlx5-two " + alone + r"\.$", "some-ends")

    def test_setup(self):
        """report: growth of set-up costs"""
        self.shows(r"^\| touch \| 256 MiB \| 0 \| 239,400 \| 24\.18 \| 256\.00 \|")

    def test_two_setups(self):
        """report: set-up costs of two runs stay apart, in tables and in the plot"""
        for run, kernel, cost in (("setup-7", "7.3.4", "239,400"), ("setup-6.1", "6.1.2", "718,200")):
            _, after = self.page("two-runs").split(f"### By size, {run} (Linux {kernel})\n")
            table = after.split("### ")[0]
            self.assertIn(f"| touch | 256 MiB | 0 | {cost} | 24.18 | 256.00 |", table)
            self.assertEqual(table.count("| touch | 256 MiB |"), 1)
            self.shows(rf"^### By live allocations, {re.escape(run)} \(Linux {re.escape(kernel)}\)$", "two-runs")
        self.shows(r"^- register, 64 KiB, 0 live: an old kernel$", "two-runs")
        self.assertIn("Linux 7.3.4, setup-7, median", (self.folder / "two-runs" / "setup.svg").read_text(encoding="utf-8"))
        self.shows("^### By size$")

    def test_setup_of_one_point(self):
        """report: set-up costs are drawn of the newest run that has a curve"""
        self.assertIn("Linux 6.1.2, setup-6.1, median", (self.folder / "one-curve" / "setup.svg").read_text(encoding="utf-8"))

    def test_not_measured(self):
        """report: what was not measured, and why"""
        self.shows("^- pin, 64 KiB, 0 live: no ring$")

    def test_times(self):
        """report: times of an emulator are ratios, those of a real machine have units"""
        self.shows("CPU time / donard's")
        self.shows(r"CPU s / GiB \| MB/s \| rate / fastest", "hardware")

    def test_two_runs(self):
        """report: of two runs of copies each has its own rates, in lines that name it"""
        def last_cells(method, run):
            rows = re.findall(rf"^\| {method} \(copy-counts-7\.3\.4-{run}\) .* \| ([0-9,]+) \| ([0-9.]+) \| \S+ \|$",
                              self.page("two-real"), re.MULTILINE)
            self.assertEqual(len(rows), 2, f"{method}, {run}: in two directions")
            return rows[0]

        rates = {(method, run): last_cells(method, run) for method in ("donard p2p", "fio p2p") for run in ("acs", "noacs")}
        for method in ("donard p2p", "fio p2p"):
            fast, slow = (int(rates[method, run][0].replace(",", "")) for run in ("acs", "noacs"))
            self.assertEqual(round(fast / slow, 2), 2, f"{method}: MB/s of each")
            self.assertEqual(rates[method, "acs"][1], rates[method, "noacs"][1], f"{method}: to the fastest of its own run")
        self.shows(r"^\| 7\.3\.4 \| p2pmem0 \| generic \| drive to region \| donard p2p \(copy-counts-7\.3\.4-noacs\) \| 16 ", "two-real")
        self.assertNotIn("(copy-counts", self.page())
        plot = (self.folder / "two-real" / "dram-per-byte.svg").read_text(encoding="utf-8")
        self.assertIn("; copy-counts-7.3.4-acs", plot)

    def test_other_blocks(self):
        """report: results without blocks of 1 MiB are there, and what the comparison lacks is said"""
        self.shows(r"^In 12 copies by `donard-cli`, peer to peer", "small-blocks")
        self.shows(r"^Linux 7\.3\.4, p2pmem0, generic pages: no blocks of 1 MiB with one thread in `copy-counts-\*\.json`", "small-blocks")
        self.shows(r"^No blocks of 1 MiB with one thread in `copy-counts-\*\.json`", "small-blocks")
        self.assertNotIn("No `copy-counts-*.json` among the results", self.page("small-blocks"))
        self.shows(r"^No `copy-counts-\*\.json` among the results: `bench/run copy` makes it\.$", "table1")

    def test_depth(self):
        """report: the depth that was measured is what the page and the plot say"""
        for name, depth in (("page", "16"), ("shallow", "4"), ("depths", "1 to 16")):
            self.shows(rf"^Linux 7\.3\.4, p2pmem0, generic pages, blocks of 1 MiB, depth {depth}, one thread\.$", name)
            plot = (self.folder / name / "dram-per-byte.svg").read_text(encoding="utf-8")
            self.assertEqual(re.findall("blocks of 1 MiB, depth ([0-9 to]*[0-9])", plot), [depth])
        self.shows(r"^\| donard p2p \| ", "shallow")
        self.shows(r"^\| donard p2p \(depth 16\) \| ", "depths")
        self.shows(r"^\| read and memcpy \(depth 1\) \| ", "depths")

    def test_older_rates(self):
        """report: of rates that a scrambling fio had, and of no others"""
        self.shows("^Rates are older than the counts: .*`scramble_buffers`")
        self.assertNotIn("scramble_buffers", self.page("hardware"))

    def test_bad_copies(self):
        """report: payload in DRAM and wrong data are said"""
        self.shows(r"\*\*up to 64 bytes of payload went through host DRAM\*\*", "bad")
        self.shows(r"^\| donard p2p .* \*\*NO\*\* \|$", "bad")

    def test_missing(self):
        """report: says which command makes missing results"""
        for name in ("copy-sweep.json", "setup.json", r"table1-\*.json", r"cache-\*.json", "null.json"):
            self.shows(f"^No `{name}` among the results: `bench/run", "hardware")
        self.assertNotIn("latency.svg", self.page("hardware"))

    def test_mark(self):
        """report: emulation is marked on the page and on every plot, and on no other"""
        drawn = sorted((self.folder / "page").glob("*.svg"))
        self.assertEqual([path.stem for path in drawn], sorted(plots.PLOTS))
        for path in (self.folder / "page.md", *drawn):
            # Of Table 1's machines no meter counts: its plot may not say that counts are exact.
            right, wrong = (RATIOS_MARK, MARK) if path.stem == "latency" else (MARK, RATIOS_MARK)
            self.assertIn(right, path.read_text(encoding="utf-8"), path.name)
            self.assertNotIn(wrong, path.read_text(encoding="utf-8"), path.name)
        for path in (self.folder / "hardware.md", *(self.folder / "hardware").glob("*.svg")):
            self.assertNotIn("EMULATED", path.read_text(encoding="utf-8"), path.name)

    def test_lab(self):
        """report: what was found in the lab is on its own page, and on no other"""
        for said in ("nine tenths of", "pinned once and used again", "differ by up to 7 %"):
            self.assertIn(said, self.page())
            self.assertNotIn(said, self.page("hardware"))
        for who in (r"\bemulator\b", r"\blab\b"):
            self.shows(who)
            self.assertNotRegex(self.page("hardware"), who)

    def test_floor(self):
        """report: what explains the floor repeats no figure, which the next run would change"""
        self.assertNotRegex("\n".join(words("floor")), r"\b0\.\d")

    def test_again(self):
        """report: its own raw results make the same page and plots, byte for byte"""
        again = self.folder / "again"
        self.assertEqual(command.main(["report", str(self.folder / "page" / "data"), "--out", str(again / "page.md")]), 0)
        self.assertEqual((again / "page.md").read_bytes(), (self.folder / "page.md").read_bytes())
        files = [path.relative_to(self.folder / "page") for path in (self.folder / "page").rglob("*.*")]
        self.assertGreater(len(files), 10)
        self.assertEqual(filecmp.cmpfiles(self.folder / "page", again / "page", files, shallow=False)[1:], ([], []))

    def test_its_own_folder(self):
        """report: made from the folder of its own raw results, nothing is lost"""
        shutil.copytree(self.folder / "page", self.folder / "own")
        self.assertEqual(command.main(["report", str(self.folder / "own" / "data"), "--out",
                                       str(self.folder / "own.md")]), 0)
        self.assertEqual(len(list((self.folder / "own" / "data").iterdir())), 14)

    def test_raw_stays(self):
        """report: raw results stay in their own folder when the disk is full, or it is stopped"""
        kept = self.folder / "kept"
        shutil.copytree(self.folder / "page" / "data", kept / "data")
        (kept / "data" / "of-the-last-page.json").write_bytes((kept / "data" / "null.json").read_bytes())
        before = {path.name: path.read_bytes() for path in (kept / "data").iterdir()}
        copy_file = shutil.copy

        def stops(source, place):
            if kept in Path(place).parents:
                Path(place).write_bytes(b"{")
                raise how
            return copy_file(source, place)

        for how in (OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()):
            with self.subTest(how=how), mock.patch.object(shutil, "copy", stops), mock.patch.object(command, "forget_output"), \
                    redirect_stderr(StringIO()), suppress(KeyboardInterrupt):
                self.assertEqual(command.main(["report", str(kept / "data"), "--out", str(self.folder / "kept.md")]), 1)
            self.assertEqual({path.name: path.read_bytes() for path in (kept / "data").iterdir()}, before)
            self.assertEqual([path.name for path in kept.iterdir()], ["data"])

    def test_last_page_goes(self):
        """report: what only the last page had is removed"""
        old = [self.folder / "last" / "old.svg", self.folder / "last" / "data" / "old.json"]
        put(self.folder / "last" / "data", "old", {})
        old[0].write_text("old", encoding="utf-8")
        self.assertEqual(command.main(["report", str(self.folder / "in" / "table1"), "--out", str(self.folder / "last.md")]), 0)
        self.assertEqual([path for path in old if path.exists()], [])
        self.assertEqual([path.name for path in old[1].parent.iterdir()], ["table1-siw.json"])

    def test_refusals(self):
        """report: without results, or of an emulator and a machine together, there is no page"""
        put(self.folder / "in" / "other", "x", {"a": 1})
        put(self.folder / "in" / "mixed", "copy-counts-6", results("copy-counts", "6.12.9"))
        put(self.folder / "in" / "mixed", "copy-counts-7", on_hardware(results("copy-counts")))
        (self.folder / "in" / "none").mkdir()
        for name, words in (("none", "no results"), ("other", "holds no results"),
                            ("mixed", "of an emulator (copy-counts-6.json) and of a real machine (copy-counts-7.json)")):
            done = subprocess.run([ROOT / "bench" / "report", self.folder / "in" / name, "--out",
                                   self.folder / "none.md"], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(words, done.stderr)
        self.assertFalse((self.folder / "none.md").exists())

    def test_bad_page(self):
        """report: a page whose place is, or would be, a folder is refused before anything is removed"""
        there = self.folder / "there"
        there.mkdir()
        (there / "a.svg").write_text("foreign", encoding="utf-8")
        for words in (["x"], [there], ["."], ["x.md", "--plots", "./x.md"]):
            done = subprocess.run([ROOT / "bench" / "donard-stat", "report", self.folder / "in" / "page", "--out", *words],
                                  capture_output=True, text=True, check=False, cwd=there)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1), done.stderr)
            self.assertRegex(done.stderr, f"^report: '{re.escape(str(words[0]))}' (is a|would be the page and the) folder")
            self.assertEqual([path.name for path in there.iterdir()], ["a.svg"])

    def test_page_that_is_a_link(self):
        """report: a page that is a link is written where it leads, and one that is a pipe into that"""
        linked, plots = self.folder / "linked.md", self.folder / "linked"
        linked.symlink_to("behind-the-link.md")
        words = [ROOT / "bench" / "donard-stat", "report", self.folder / "in" / "table1", "--plots", plots, "--out"]
        subprocess.run([*words, linked], check=True)
        self.assertTrue(linked.is_symlink())
        printed = subprocess.run([*words, "/dev/stdout"], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertIn("## RDMA", printed)
        self.assertIn("## RDMA", linked.read_text(encoding="utf-8"))

    def test_usage(self):
        """report: usage"""
        done = subprocess.run([ROOT / "bench" / "report", "--no-such"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, "usage: donard-stat" in done.stderr), (2, True))

    def test_committed(self):
        """report: docs/benchmarks.md is what its raw results make"""
        made = self.folder / "committed" / "benchmarks.md"
        self.assertEqual(command.main(["report", str(ROOT / "docs" / "benchmarks" / "data"), "--out", str(made)]), 0)
        self.assertEqual(made.read_text(encoding="utf-8"),
                         (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8"))

    def test_committed_depths(self):
        """report: each committed point had as many requests in flight as the page says"""
        for path in (ROOT / "docs" / "benchmarks" / "data").glob("*.json"):
            for sample in json.loads(path.read_text(encoding="utf-8"))["samples"]:
                if "in_flight" in sample:
                    self.assertEqual(sample["in_flight"], sample["queue_depth"], f"{path.name}: {sample}")


class Tables(unittest.TestCase):
    def check(self, kind: str, *regexes: str) -> None:
        said = "\n".join(summary.lines(Run(kind, results(kind))))
        for regex in regexes:
            self.assertTrue(re.search(regex, said, re.MULTILINE), f"expected a line like {regex} in\n{said}")

    def test_copy(self):
        """table: of copies, a line a method"""
        self.check("copy-counts", f"^{re.escape(MARK)}$", "^direction +block +depth",
                   r"^drive to region +1 MiB +16 +1 +donard, bounced .* 2\.00 +0\.500 +2\.50 +300,000")

    def test_threads(self):
        """table: the rate of threads is that of all together, not by their own clocks"""
        samples = [{**sample, "wall_seconds": 1 + sample["bytes"] / 1e9} for sample in copy("fio", "to-region", 65536, 16, 4)]
        said = summary.lines(Run("x", {**results("copy-rates"), "samples": samples}))
        self.assertRegex("\n".join(said), r"drive to region +64 KiB +16 +4 +fio p2p +1,000 ")

    def test_mark(self):
        """table: counts are exact by the lab's meter alone"""
        self.check("copy-rates", f"^{re.escape(RATIOS_MARK)}$")

    def test_setup(self):
        """table: of setting up, medians of instructions and time"""
        self.check("setup", r"^touch +256 MiB +0 +239,400 +239400\.00$")

    def test_table1(self):
        """table: of Table 1, ratios to the first target"""
        self.check("rdma-counts", r"^write +dram .* 7\.00 +2\.00 +0 ", r"^read +gpu .* 6\.00 +1\.00 +1\.00 ")
        self.check("table1", r"^write +nvram +18 +0\.91 +220\.00 +1\.10 .* yes$")

    def test_rdma(self):
        """table: of requests of RDMA, and what perftest means by a latency"""
        sample = {"operation": "latency", "direction": "write", "block_bytes": 64, "queue_depth": 1,
                  "latency_ns": {"p50": 2000}}
        of_both = [{**sample, "method": "donard"}, {**sample, "method": "perftest", "half_round_trip": True}]
        said = summary.lines(Run("x", {**results("null"), "benchmark": "rdma", "samples": of_both}))
        self.assertRegex(said[-1], "half of a round trip")
        self.assertRegex(said[-2], r"^latency +write +perftest +64 B +1 +- +2\.00 +- ")
        for target, said_of in (("p2pmem0", 1), ("dram", 0)):
            of_both[0]["target"] = target
            said = summary.lines(Run("x", {**results("null"), "benchmark": "rdma", "samples": of_both}))
            self.assertEqual("\n".join(said).count("started with --mmap=/dev/p2pmem0."), said_of)
        of_both[0]["transport"] = "iWARP"
        said = summary.lines(Run("x", {**results("null"), "benchmark": "rdma", "samples": of_both}))
        self.assertRegex("\n".join(said), r"\nlatency +write +donard +64 B +1 +- +- +(?s:.*)half of a round trip\.\nLatency of writes over iWARP")

    def test_cache(self):
        """table: of a write cache, each part that the run has"""
        self.check("cache", r"^donard's cache +16 +2\.00 +4\.00 +0\.250 +0 ", r"^as fast as it is +3 +0\.50 +0\.50$")

    def test_cache_lost_round(self):
        """table: a round that says nothing is not counted among those of the spread"""
        samples = results("cache")["samples"]
        first = next(sample for sample in samples if sample["purpose"] == "destage" and not sample["drive_bytes_per_second"])
        first["seconds"] = 1e6
        said = summary.lines(Run("cache", {**results("cache"), "samples": samples}))
        self.assertRegex("\n".join(said), r"as fast as it is +2 of 3 ")

    def test_cache_rounds_that_count(self):
        """table, report: a rate, and whether it meets its goal, are of the rounds that count"""
        seconds = {"donard": ((0.1, 0.9), (0.1, 0.9), (0.95, 0.9), (0.8, 0.9), (0.85, 0.84)), "fio": ((0.2, 0.9),) * 5}
        samples = [{"purpose": "destage", "method": method, "round": round_, "bytes": bytes_, "drive_bytes_per_second": 0,
                    "seconds": took} for method, rounds in seconds.items() for round_, sizes in enumerate(rounds)
                   for bytes_, took in zip((1000, 2000), sizes)]
        self.assertEqual(cache.destage_rates(samples), [["as fast as it is", "3 of 5", "0.88", "0.88 to 7.00"]])
        self.assertRegex(cache.rate_goal(samples)[0], r"; missed by 0\.07 ")

    def test_null(self):
        """table: of the harness itself"""
        self.check("null", r"^process +1,000,000 +500,000 +0 +14,096 +20 +0 +1,000$")

    def test_committed(self):
        """table: of each file that the page was made from"""
        for path in (ROOT / "docs" / "benchmarks" / "data").glob("*.json"):
            self.assertGreater(len(summary.lines(read(path))), 2, path.name)

    def test_unknown(self):
        """table: of no benchmark that is known"""
        with self.assertRaisesRegex(Exception, "no benchmark that is known"):
            summary.lines(Run("x", {**results("null"), "benchmark": "tea"}))

    def test_join(self):
        """join: several runs as one result"""
        with tempfile.TemporaryDirectory() as folder:
            for name in ("a", "b"):
                put(Path(folder), name, results("null"))
            done = subprocess.run([ROOT / "bench" / "donard-stat", "join", f"{folder}/a.json", f"{folder}/b.json"],
                                  capture_output=True, text=True, check=True)
        self.assertEqual(len(json.loads(done.stdout)["samples"]), 12)

    def joined(self, text, *options):
        """What join makes of a file with that text."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "many"
            path.write_text(text, encoding="utf-8")
            return subprocess.run([ROOT / "bench" / "donard-stat", "join", *options, path],
                                  capture_output=True, text=True, check=False)

    def test_join_stream(self):
        """join: several results in one file, as levers"""
        done = self.joined("\n".join(json.dumps(results("null")) for _ in range(3)) + "\n", "--levers")
        data = json.loads(done.stdout)
        self.assertEqual((len(data["samples"]), data["options"]["levers"]), (18, True))

    def test_join_different(self):
        """join: options that differ are all there, and what no run can share is refused"""
        first = results("copy-rates")
        second = {**first, "options": {**first["options"], "size": 4096, "page_type": "p2pdma"}}
        data = json.loads(self.joined(json.dumps(first) + json.dumps(second)).stdout)
        self.assertEqual(data["options"], {"page_type": ["generic", "p2pdma"], "size": [16777216, 4096], "rounds": 3})
        self.assertEqual([data["samples"][at]["page_type"] for at in (0, -1)], ["generic", "p2pdma"])
        done = self.joined(json.dumps(first) + json.dumps({**first, "meter": "lab"}))
        self.assertEqual((done.returncode, done.stdout, "\"meter\"" in done.stderr), (1, "", True))

    def test_join_broken(self):
        """join: a file that ends within a result, or is empty, is refused"""
        done = self.joined(json.dumps(results("null")) + "\n{\"samples\": [")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, "no JSON behind 1 results")
        self.assertRegex(self.joined(" \n").stderr, "is empty")

    def printed_into(self, output, *words):
        """The exit status, and what was said."""
        done = subprocess.run([ROOT / "bench" / "donard-stat", *words], stdout=output, stderr=subprocess.PIPE, text=True,
                              check=False, env={**os.environ, "PYTHONUNBUFFERED": ""})
        return done.returncode, done.stderr

    def tables_into(self, output, count):
        """As many tables: few are written at the end, many before it."""
        with tempfile.TemporaryDirectory() as folder:
            put(Path(folder), "a", results("null"))
            return self.printed_into(output, "table", *[f"{folder}/a.json"] * count)

    def test_full_disk(self):
        """table: a disk that is full is named"""
        for count in (1, 300):
            with open("/dev/full", "wb") as full:
                self.assertEqual(self.tables_into(full, count),
                                 (1, "table: writing the output failed: No space left on device\n"))
        with open("/dev/full", "wb") as full:
            self.assertEqual(self.printed_into(full, "table", "--help"),
                             (1, "donard-stat: writing the output failed: No space left on device\n"))

    def test_closed_pipe(self):
        """table: nothing is said where nobody reads"""
        for count in (1, 300):
            reader, writer = os.pipe()
            os.close(reader)
            with open(writer, "wb") as pipe:
                self.assertEqual(self.tables_into(pipe, count), (1, ""))
