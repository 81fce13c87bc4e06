# SPDX-License-Identifier: Apache-2.0
"""Results of several runs, regions and shapes: what stays apart, and what tells it apart."""
import json
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from donardstat import apart, cache, command, folios, gpu, maps, sections, spread, summary
from donardstat.results import POINT_KEYS, Refused, Run
from invented import BOTH, Json, dearer, on_hardware, put, results, shaped, slower


ROOT = Path(__file__).resolve().parents[2]


def join(*parts: Json) -> subprocess.CompletedProcess:
    with tempfile.TemporaryDirectory() as folder:
        for number, part in enumerate(parts):
            put(Path(folder), str(number), part)
        files = [f"{folder}/{number}.json" for number in range(len(parts))]
        return subprocess.run([ROOT / "bench" / "donard-stat", "join", *files], capture_output=True, text=True, check=False)


def joined(*parts: Json) -> Json:
    """By donard-stat join."""
    done = join(*parts)
    if done.returncode:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


def runs(**files: Json) -> list[Run]:
    """By their files' names, with _ for -."""
    return [Run(name.replace("_", "-"), data) for name, data in files.items()]


def of_methods(data: Json, *methods: str) -> Json:
    return {**data, "samples": [sample for sample in data["samples"] if sample["method"] in methods]}


def unmetered(data: Json) -> Json:
    return {**data, "meter": None, "emulated": False, "samples": [{**sample, "measured": None} for sample in data["samples"]]}


def in_direction(data: Json, direction: str) -> Json:
    return {**data, "samples": [sample for sample in data["samples"] if sample["direction"] == direction]}


def of_purpose(data: Json, purpose: str) -> Json:
    return {**data, "samples": [sample for sample in data["samples"] if sample["purpose"] == purpose]}


def twice_the_instructions(data: Json) -> Json:
    for sample in data["samples"]:
        for key in ("instructions_user", "instructions_kernel"):
            sample["measured"][key] *= 2
    return data


class Case(unittest.TestCase):
    def shows(self, lines: list[str], *regexes: str) -> None:
        for regex in regexes:
            self.assertRegex("\n".join(lines), re.compile(regex, re.MULTILINE))

    def plot(self, name: str, **files: Json) -> str:
        """Of a page of these."""
        folder = Path(tempfile.mkdtemp(prefix="donard-report."))
        self.addCleanup(shutil.rmtree, folder)
        for run in runs(**files):
            put(folder / "in", run.file, run.data)
        self.assertEqual(command.main(["report", str(folder / "in"), "--out", str(folder / "page.md")]), 0)
        return (folder / "page" / f"{name}.svg").read_text(encoding="utf-8")


class Apart(Case):
    def test_keys(self):
        """apart: of all that tells points apart, each is a word, or on each table"""
        self.assertEqual({*apart.WORDS, "direction", "method", "levers"}, set(POINT_KEYS))

    def test_unknown_pages(self):
        """apart: a run that does not say its page type is of an unknown one"""
        older = results("copy-rates")
        del older["options"]["page_type"]
        self.shows(summary.lines(Run("x", joined(results("copy-rates"), older))),
                   r" donard p2p \(pages of unknown type\) ", r" donard p2p \(generic pages\) ")

    def test_requests(self):
        """report: requests of each run are beside its own fio, judged, and named"""
        lines = sections.requests(runs(queue_counts_a=results("queue-counts"), queue_counts_b=dearer(results("queue-counts"))))
        self.shows(lines, r"missed at depth 1 in 1 of 4 lines, by 0\.05 at most \(drive to region, 64 KiB, queue-counts-b\)\.$",
                   r"\| queue, registered memory \(queue-counts-a\) \| .* \| 0\.50 \| 1,311 ",
                   r"\| queue, registered memory \(queue-counts-b\) \| .* \| 0\.85 \| 1,311 ")

    def test_requests_of_other_kernels(self):
        """report: requests of other kernels or page types bring no name into a line"""
        other = results("queue-counts")
        other["options"]["page_type"] = "p2pdma"
        lines = sections.requests(runs(queue_counts_a=results("queue-counts", "6.1.2"), queue_counts_b=results("queue-counts"),
                                       queue_counts_c=other))
        self.assertNotIn("(queue", "\n".join(lines))

    def test_threads_of_requests(self):
        """report: requests of several threads or regions of one run are beside fio's of as many, and of the same"""
        for said, more in (("4 threads", {"threads": 4}), ("p2pmem1", {"region": "p2pmem1"})):
            with self.subTest(said):
                lines = sections.requests(runs(queue_counts=joined(results("queue-counts"),
                                                                   shaped(dearer(results("queue-counts")), **more))))
                self.shows(lines, "missed at depth 1 in 1 of 4 lines", rf"\| queue, registered memory \({said}\) \| .* \| 0\.85 \| 1,311 ")

    def test_sweeps(self):
        """report: of two sweeps each has its own ratios, by block and by shape, in lines that name it"""
        lines = sections.blocks(runs(copy_sweep_a=results("copy-sweep"), copy_sweep_b=slower(results("copy-sweep"))))
        for run in ("copy-sweep-a", "copy-sweep-b"):
            self.shows(lines, rf"^\| drive to region \({run}\) \| 4 KiB \| .* \| 0\.67 \|",
                       rf"^\| drive to region \| 64 KiB \| 4 \| 1 \| donard p2p \({run}\) \|")
        alone = of_methods(results("copy-sweep"), "donard")
        lines = sections.blocks(runs(copy_sweep_a=alone, copy_sweep_b=results("copy-sweep")))
        self.shows(lines, r"^\| drive to region \(copy-sweep-a\) \| 4 KiB \| 7,710,000 \| - \| - \|")

    def test_parts(self):
        """join, report: what a shape costs is of one run, also where another of the same sweep has other sizes of it"""
        larger = results("copy-sweep")
        for sample in larger["samples"]:
            sample["bytes"] += 64 << 20
        sweep = joined(results("copy-sweep"), larger)
        self.assertEqual({sample["part"] for sample in sweep["samples"]}, {1, 2})
        lines = sections.blocks(runs(copy_sweep=sweep))
        self.assertEqual(len(re.findall(r"^\| drive to region \| 4 KiB \| 7,710,000 \| 11,565,000 \|", "\n".join(lines), re.MULTILINE)), 1)
        self.shows(lines, r"Depths and threads further below are of runs of their own")
        self.shows(summary.lines(Run("x", sweep)), r" 4 KiB +16 +1 +donard p2p \(part 1\) .* 7,710,000 ",
                   r" 4 KiB +16 +1 +donard p2p \(part 2\) .* 7,710,000 ")
        again = joined(sweep, in_direction(results("copy-sweep"), "to-region"))
        self.assertEqual({sample["part"] for sample in again["samples"]}, {1, 2, 3})
        apart_already = joined(*(in_direction(results("copy-sweep"), direction) for direction in BOTH))
        self.assertNotIn("part", apart_already["samples"][0])

    def test_rates_of_sweeps(self):
        """report: the faster one of a shape is of the same run"""
        rated = {name: {**data, "meter": "none"} for name, data in (("copy_sweep_a", results("copy-sweep")),
                                                                    ("copy_sweep_b", slower(results("copy-sweep"))))}
        lines = sections.blocks(runs(**rated))
        self.shows(lines, *(rf"\| donard p2p \(copy-sweep-{run}\) \| .* \| 1\.00 \|$" for run in "ab"))

    def test_plot_of_sweeps(self):
        """report: the plots of two sweeps are of one, and name it"""
        sweeps = {"copy_sweep_a": results("copy-sweep"), "copy_sweep_b": slower(results("copy-sweep"))}
        for name in ("instructions-by-block", "overhead-by-block"):
            self.assertIn("one thread; copy-sweep-a", self.plot(name, **sweeps))
            self.assertNotIn("; copy-sweep", self.plot(name, copy_sweep=results("copy-sweep")))

    def test_floor(self):
        """report: two runs, or two regions, are told apart at the floor"""
        for said, data in (("copy-counts-b", results("copy-counts")),
                           ("p2pmem1, copy-counts-b", shaped(results("copy-counts"), region="p2pmem1"))):
            with self.subTest(said):
                lines = sections.floor(runs(copy_counts_a=results("copy-counts"), copy_counts_b=data))
                self.shows(lines, rf"^\| 7\.3\.4 \| generic \| drive to region \| donard p2p \({said}\) \| 1 MiB ")
        lines = sections.floor(runs(copy_counts_a=results("copy-counts"), copy_counts_b=results("copy-counts", "6.1.2"),
                                    copy_levers={**results("copy-counts"), "options": {"page_type": "generic", "levers": True}}))
        self.shows(lines, r"\| donard p2p \| 1 MiB ", r"\| donard p2p \(copy-levers\) \| 1 MiB ")
        self.assertNotIn("(copy-counts", "\n".join(lines))


class Noise(Case):
    """What cannot be told from a program's start, or from the rest of the machine."""

    def test_overlapping(self):
        """report: page faults and CPU time whose rounds overlap, and ratios to these, are no figures"""
        data = results("copy-counts")
        for sample in data["samples"]:
            if sample["method"] == "donard" and sample["round"] == 2 and sample["bytes"] < 16 << 20:
                sample.update(minor_faults=200, system_seconds=1)
        lines = sections.methods(runs(copy_counts=data, copy_rates=data))
        self.shows(lines, r"^\| donard p2p \| .* \| 60,000 \| - \| - \| ", r"^\| dd \| .* \| 500,000 \| 1,024 \| - \| ")

    def test_sampled_below_nothing(self):
        """report: of DRAM that a sampling meter saw less of at the larger size nothing is known"""
        data = on_hardware(results("copy-counts"))
        for sample in data["samples"]:
            if sample["method"] == "donard" and sample["bytes"] < 16 << 20:
                sample["measured"]["dram_read_bytes"] += 1 << 24
        self.shows(sections.summary(runs(copy_counts=data)), r"what went through host DRAM is not known \(meter: likwid\)\.$")

    def test_rounds(self):
        """report: how far rounds lie from a figure is said beside the floor, and of all points together"""
        data = results("copy-counts")
        for sample in data["samples"]:
            if (sample["method"], sample["round"]) == ("donard", 0) and sample["bytes"] == 16 << 20:
                sample["measured"]["dram_cpu_overhead_bytes"] -= 251658
                sample["measured"]["instructions_user"] -= 360000
        there = runs(copy_counts=data, null=results("null"))
        self.shows(sections.floor(there), r"\| donard p2p \| 1 MiB \| 0\.040 \| 0\.020 to 0\.040 \| 60,000 \|")
        self.shows(spread.section(there), r" on Linux 7\.3\.4 0 and 50 % of instructions, 0 and 50 % of overhead \(14 points\)\.$")
        self.assertEqual(spread.section(runs(null=results("null"))), [])


class Rates(Case):
    """Of copies that ran under the lab's meter."""

    def test_other_kernel(self):
        """report: rates of another kernel, region or page type are not those of what was counted"""
        for rates in (results("copy-rates", "6.12.9"), shaped(results("copy-rates"), region="a"),
                      shaped(results("copy-rates"), page_type="a")):
            lines = sections.methods(runs(copy_counts=results("copy-counts"), copy_rates=rates))
            self.shows(lines, r"^\| donard p2p \| .* \| - \| - \| yes \|$", r"^No rates: `copy-rates\*\.json` are of another kernel")

    def test_two(self):
        """report: of several runs of rates, lines have those of one"""
        counts = results("copy-counts")
        fast = slower(results("copy-rates"))
        for sample in fast["samples"]:
            sample["seconds"] /= 8
        one = sections.methods(runs(copy_counts=counts, copy_rates_a=results("copy-rates")))
        two = sections.methods(runs(copy_counts=counts, copy_rates_a=results("copy-rates"), copy_rates_b=fast))
        self.assertEqual([line for line in two if line.startswith("|")], [line for line in one if line.startswith("|")])
        self.shows(two, r"^Rates of what ran under the meter are of `copy-rates-a\.json`; "
                        r"those of `copy-rates-b\.json` are left out\.$")
        self.assertNotIn("under the meter", "\n".join(one))

    def test_rounds(self):
        """report: the least and the most of rounds are beside ratios of rates and of RDMA, each to the other's of the same round"""
        rates = results("copy-rates")
        for sample in rates["samples"]:
            sample["seconds"] *= 1 + sample["round"]  # of all alike
            if (sample["method"], sample["round"]) == ("dd", 2):
                sample["seconds"] *= 2
        lines = sections.methods(runs(copy_counts=results("copy-counts"), copy_rates=rates))
        self.shows(lines, r"^\| dd \| .* \| 0\.11 \(0\.06 to 0\.11\) \| yes \|$", r"^\| donard p2p \| .* \| 0\.92 \| yes \|$")
        table = results("table1")
        for sample in table["samples"]:
            sample["bytes_per_second"] *= 1 + sample["round"]
            if (sample["target"], sample["round"]) == ("gpu", 0):
                sample["bytes_per_second"] /= 2
        self.shows(sections.table1(runs(table1_rxe=table)), r"^\| rxe \| write \| GPU-like BAR \| 0\.95 \(0\.48 to 0\.95\) \| 1\.05 \|")

    def test_directions(self):
        """report: of two runs of rates, each in one direction, the other direction has none"""
        to, back = (in_direction(results("copy-rates"), direction) for direction in BOTH)
        lines = sections.methods(runs(copy_counts=results("copy-counts"), copy_rates_a=to, copy_rates_b=back))
        self.shows(lines, r"^Rates .* are of `copy-rates-a\.json`; those of `copy-rates-b\.json` are left out\.$")
        donard = [line for line in lines if line.startswith("| donard p2p |")]
        self.assertRegex(donard[0], r" \| 1\.00 \| 0\.92 \| yes \|$")
        self.assertRegex(donard[1], r" \| - \| - \| yes \|$")


class Known(Case):
    """What is said of DRAM, by what the meter knows."""

    def test_no_meter(self):
        """report: of copies without a meter nothing is said to have gone through DRAM"""
        lines = sections.summary(runs(copy_counts=unmetered(results("copy-counts"))))
        self.assertEqual(lines, ["In 12 copies by `donard-cli`, peer to peer (Linux 7.3.4; page types generic), what went through host "
                                 "DRAM is not known (meter: none)."])

    def test_some_metered(self):
        """report: what one meter knows is not said of copies that another counted, or none"""
        seen = on_hardware(results("copy-counts", "6.12.9"))
        lines = sections.summary(runs(copy_counts_6=seen, copy_counts_7=unmetered(results("copy-counts")),
                                      copy_counts_8=results("copy-counts", "8.0.1")))
        self.shows(lines, r"^In 12 copies by `donard-cli`, peer to peer \(Linux 8\.0\.1; page types generic\), not one byte of payload .*"
                   r" In 12 copies by `donard-cli`, peer to peer \(Linux 6\.12\.9; .*\), memory controllers saw 0\.040 bytes .*"
                   r"bounced: 2\.50 bytes for each byte copied\."
                   r" In 12 copies by `donard-cli`, peer to peer \(Linux 7\.3\.4; .*\), what went through host DRAM is not known")


class Headings(Case):
    """Of plots, where what they compare with was not measured."""

    def test_sweep(self):
        """report: a sweep of one method is drawn without a comparison"""
        for method in ("donard", "fio"):
            data = of_methods(results("copy-sweep"), method)
            self.assertIn(">CPU instructions per MiB copied, by block size<", self.plot("instructions-by-block", copy_sweep=data))
            self.assertIn(">Kernel bookkeeping in DRAM per byte copied, by block size<", self.plot("overhead-by-block", copy_sweep=data))

    def test_copies(self):
        """report: copies that were bounced are drawn without those that were not"""
        self.assertIn(">Host DRAM touched per byte copied, by method<",
                      self.plot("dram-per-byte", copy_counts=of_methods(results("copy-counts"), "donard-bounce")))

    def test_rdma(self):
        """report: targets of RDMA are drawn without one in DRAM"""
        data = results("rdma-counts")
        data["samples"] = [sample for sample in data["samples"] if sample["target"] != "dram"]
        self.assertIn(">RDMA: bytes of payload through DRAM for each byte, by target<", self.plot("rdma-dram", rdma_counts_rxe=data))


class Table1(Case):
    def test_shapes(self):
        """report: bandwidth of RDMA is of the sizes and depths that were measured, and lines say which"""
        lines = sections.table1(runs(table1_a=results("table1"), table1_b=shaped(results("table1"), block_bytes=1 << 20, queue_depth=64)))
        self.shows(lines, r"^Bandwidth is of requests of 64 KiB to 1 MiB, depth 16 to 64; latency",
                   r"^\| a \(64 KiB, depth 16\) \| write \| DRAM \|", r"^\| b \(1 MiB, depth 64\) \| write \| DRAM \|")
        lines = sections.table1(runs(table1_a=results("table1"), table1_b=results("table1")))
        self.shows(lines, r"^Bandwidth is of requests of 64 KiB, depth 16; latency", r"^\| b \| write \| DRAM \|")

    def test_mixed(self):
        """join, report: bandwidth of RDMA by requests of several sizes or depths is not one result"""
        for key, value in (("block_bytes", 1 << 20), ("queue_depth", 64)):
            with self.subTest(key):
                other = shaped(results("table1"), **{key: value})
                done = join(results("table1"), other)
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertRegex(done.stderr, f"^join: '.*' is not one result: .* for bandwidth differ in \"{key}\"\\.")
                mixed = {**other, "samples": results("table1")["samples"] + other["samples"]}
                for make in (lambda: sections.table1(runs(table1_a=mixed)), lambda: summary.lines(Run("x", mixed))):
                    with self.assertRaisesRegex(Refused, f"differ in \"{key}\""):
                        make()
        latency = {**results("rdma-counts"), "samples": [{**sample, "operation": "latency", "block_bytes": 64, "queue_depth": 1}
                                                         for sample in results("rdma-counts")["samples"]]}
        self.assertEqual(len(joined(results("rdma-counts"), latency)["samples"]), 24)

    def test_no_depth(self):
        """report: who does not say the depth of its requests has a line all the same"""
        data = results("table1")
        for sample in data["samples"]:
            if sample["method"] == "perftest":
                del sample["queue_depth"]
        self.shows(sections.table1(runs(table1_a=data)), r"^Bandwidth is of requests of 64 KiB, depth 16; latency",
                   r"^\| rxe \| write \| DRAM \| .* \| 1\.00 \| yes \|$")

    def test_requests(self):
        """report: bytes of RDMA are of as many requests as were made"""
        counts = results("rdma-counts")
        self.shows(sections.table1_dram(runs(rdma_counts_rxe=shaped(counts, requests=1200))),
                   r" Bandwidth runs of 1,200 requests, from the first one until the")
        self.shows(sections.table1_dram(runs(rdma_counts_rxe=counts)), r" Bandwidth runs, from the first request until the")

    def test_real_nic(self):
        """report: of a real NIC nothing is said that holds of one in software alone"""
        real = {**results("rdma-counts"), "emulated": False}
        self.assertNotRegex("\n".join(sections.table1_dram(runs(rdma_counts_mlx5=real))), "soft|real NIC")
        self.shows(sections.table1_dram(runs(rdma_counts_rxe=real)), r"\(a soft NIC talking to itself\)")


class Gpu(Case):
    OF_GPUS = "queue queue-registered cufile gpu-memcpy"
    QUEUE = r"^\| drive to GPU \| 64 KiB \| queue"

    def test_depths(self):
        """report: requests one at a time are of depth 1 and one thread alone"""
        alone = results("gpu-counts")
        for more in ({"queue_depth": 64}, {"threads": 4}):
            deep = shaped(results("gpu-counts"), **more)
            for sample in deep["samples"]:
                sample["measured"]["instructions_kernel"] *= 3
            self.assertEqual(gpu.requests(runs(gpu_counts=joined(deep, alone))), [
                *gpu.requests(runs(gpu_counts=alone)), "",
                "Requests of other depths, or of several threads, are not here: `bench/donard-stat table` prints them."])
            self.shows(gpu.requests(runs(gpu_counts=deep)), r"^No requests one at a time \(depth 1, one thread\) in `gpu-counts")

    def test_other_gpu(self):
        """report: each GPU's memory is a GPU's, and a region is none"""
        lines = gpu.requests(runs(gpu_counts=shaped(results("gpu-counts"), self.OF_GPUS, region="gpu:1")))
        self.shows(lines, r"\| cuFile \|", r"\| fio p2p, fixed buffers, onto the same BAR \|")

    def test_two_gpus(self):
        """report: requests of two GPUs in one run are each beside its own queue"""
        second = shaped(twice_the_instructions(results("gpu-counts")), self.OF_GPUS, region="gpu:1")
        both = joined(results("gpu-counts"), shaped(second, "fio-fixed", region="p2pmem1"))
        lines = gpu.requests(runs(gpu_counts=both))
        self.shows(lines, *(rf"^\| drive to GPU \| 64 KiB \| cuFile \(gpu:{number}\) \| .* \| 1\.03 \| yes \|$"
                            for number in "01"))
        # Nothing says which region is on which GPU's BAR.
        self.shows(lines, *(rf"\| fio p2p, fixed buffers, onto the same BAR \(p2pmem{number}\) \| .* \| - \| yes \|$"
                            for number in "01"))
        one_fio = {**both, "samples": [sample for sample in both["samples"] if sample["region"] != "p2pmem1"]}
        self.shows(gpu.requests(runs(gpu_counts=one_fio)),
                   r"\| fio p2p, fixed buffers, onto the same BAR \| .* \| - \| yes \|$")

    def test_page_types(self):
        """report: fio is beside the queue of a run, also where its region has pages of another type than the GPU's"""
        region = of_methods(results("gpu-counts"), "fio-fixed")
        region["options"]["page_type"] = "p2pdma"
        self.shows(gpu.requests(runs(gpu_counts=joined(of_methods(results("gpu-counts"), "queue"), region))),
                   self.QUEUE + r" \| .* \| 1\.00 \| yes \|$",
                   r"\| 64 KiB \| fio p2p, fixed buffers, onto the same BAR \| .* \| 2\.00 \| yes \|$")

    def test_two_runs(self):
        """report: requests to a GPU of two runs are each beside its own queue, and the kernels of both are named"""
        dear = twice_the_instructions(results("gpu-counts", "6.12.9"))
        lines = gpu.requests(runs(gpu_counts_a=dear, gpu_counts_b=results("gpu-counts")))
        self.shows(lines, r"^Linux 6\.12\.9, 7\.3\.4, one request at a time\. .* take 1\.03 times",
                   self.QUEUE + r" \(Linux 6\.12\.9, gpu-counts-a\) \| .* \| 1\.00 \| yes \|$",
                   self.QUEUE + r" \(Linux 7\.3\.4, gpu-counts-b\) \| .* \| 1\.00 \| yes \|$")


class Joined(Case):
    def test_table(self):
        """table: regions and page types of a joined result are told apart, and are not each other's fastest"""
        other = slower(results("copy-rates"))
        other["options"]["page_type"] = "p2pdma"
        lines = summary.lines(Run("x", joined(results("copy-rates"), other)))
        self.shows(lines, *(rf"^drive to region +1 MiB +16 +1 +donard p2p \({pages} pages\) +[0-9,]+ +0\.92 "
                            for pages in ("generic", "p2pdma")))
        lines = summary.lines(Run("x", joined(results("copy-rates"), shaped(results("copy-rates"), region="p2pmem1"))))
        self.shows(lines, *(rf"^drive to region +1 MiB +16 +1 +donard p2p \({region}\) " for region in ("p2pmem0", "p2pmem1")))
        self.assertNotIn("(", "\n".join(summary.lines(Run("x", results("copy-rates")))[2:]))

    def test_table_of_gpu(self):
        """table: fio onto a GPU's BAR is compared with what goes to the GPU"""
        self.shows(summary.lines(Run("x", results("gpu-counts"))),
                   *(rf"^{direction} to {to} +64 KiB +1 +1 +fio p2p, fixed buffers \(p2pmem0\) +[0-9,]+ +0\.50 "
                     for direction, to in (("drive", "region"), ("region", "drive"))))

    def test_cache(self):
        """join: parts of a cache's result are joined, but not two of one part, whose rounds would be mixed"""
        data = results("cache")
        for parts in ((data, data), (data, of_purpose(data, "latency"))):
            done = join(*parts)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertRegex(done.stderr, "^join: these are not one result: several have \"[a-z-]+\" of a cache")
        self.assertEqual(len(joined(of_purpose(data, "latency"), of_purpose(data, "destage"))["samples"]), 15 + 24)

    def test_skipped(self):
        """join: what any run could not measure is kept, once"""
        parts = [{**results("setup"), "skipped": [{"method": method, "bytes": 65536, "live": 0, "why": "so"}]}
                 for method in ("pin", "touch", "pin")]
        self.assertEqual([one["method"] for one in joined(*parts)["skipped"]], ["pin", "touch"])
        self.assertNotIn("skipped", joined(results("setup"), results("setup")))

    def test_links(self):
        """join: paths of all runs are kept, and what is counted on one is of its own region"""
        parts = []
        for region, each in (("p2pmem0", 1), ("p2pmem1", 3)):
            part = shaped(results("copy-counts"), region=region)
            for sample in part["samples"]:
                sample["measured"]["bar_dma_bytes"] *= each
            parts.append({**part, "links": [{"direction": "to-region", "client": "/dev/nvme0n1", "region_function": region,
                                             "unknown": "why"}]})
        data = joined(*parts)
        self.assertEqual([link["region"] for link in data["links"]], ["p2pmem0", "p2pmem1"])
        self.assertEqual([link["region"] for link in joined(data, parts[0])["links"]], ["p2pmem0", "p2pmem1"])
        self.assertEqual(joined(parts[0], parts[0])["links"], parts[0]["links"])
        lines = summary.lines(Run("x", data))
        self.shows(lines, r" p2pmem0 .* 1\.00 ", r" p2pmem1 .* 3\.00 ")

    def test_one_bar(self):
        """table: regions of one BAR have one path"""
        parts = []
        for region, function, each in (("gpu:0", "0000:03:00.0", 2), ("p2pmem0", "0000:03:00.0", 2),
                                       ("p2pmem1", "0000:04:00.0", 3)):
            part = shaped(results("copy-counts"), region=region)
            for sample in part["samples"]:
                sample["measured"]["bar_dma_bytes"] *= each
            parts.append({**part, "links": [{"direction": "to-region", "client": "/dev/nvme0n1", "region_function": function,
                                             "unknown": "why"}]})
        lines = [line.split() for line in summary.lines(Run("x", joined(*parts))) if "/dev/nvme0n1" in line]
        self.assertEqual([(line[4], line[7]) for line in lines], [("0000:03:00.0", "2.00"), ("0000:04:00.0", "3.00")])


class Files(Case):
    """Of several files, where the lab makes one."""

    def test_cache(self):
        """report: what a cache of each run costs is beside the kernel's own in the same run"""
        other = results("cache")
        for sample in other["samples"]:
            if sample["method"] == "nvmet" and sample["purpose"] == "latency":
                sample["latency_ns"] = {name: 10 * value for name, value in sample["latency_ns"].items()}
            if sample["method"] == "fio":
                sample["seconds"] *= 2
        lines = cache.section(runs(cache_a_rxe=results("cache"), cache_b_rxe=other))
        self.shows(lines, r"^\| donard's cache \(cache-a-rxe\) \| 1 \| 48 \| 3 \| 0\.13 \|",
                   r"^\| donard's cache \(cache-b-rxe\) \| 1 \| 48 \| 3 \| 0\.01 \|",
                   r"^\| 16 MiB/s \(cache-a-rxe\) \| 3 \| 1\.10 \| 1\.10 \|$", r"^\| 16 MiB/s \(cache-b-rxe\) \| 3 \| 2\.20 \| 2\.20 \|$",
                   r"^- cache-a-rxe: The goal is a third .*; missed by donard's cache, by NBD",
                   r"^- cache-b-rxe: The goal is a third .* met by donard's cache, by NBD")
        self.assertNotIn("(cache", "\n".join(cache.section(runs(cache_rxe=results("cache"), cache_siw=results("cache")))))

    def test_cache_kernels(self):
        """report: lines of a cache say their kernel where the runs have several"""
        older = results("cache", "6.1.2")
        self.shows(cache.section(runs(cache_a_rxe=older, cache_b_rxe=results("cache"))),
                   r"^\| donard's cache \(cache-a-rxe, Linux 6\.1\.2\) \| 16 \|",
                   r"^\| donard's cache \(cache-b-rxe, Linux 7\.3\.4\) \| 16 \|")
        parts = {"cache_a_rxe": of_purpose(older, "counts"), "cache_b_rxe": of_purpose(results("cache"), "latency")}
        self.shows(cache.section(runs(**parts)), r"^\| donard's cache \(Linux 6\.1\.2\) \| 16 \| 2\.00",
                   r"^\| donard's cache \(Linux 7\.3\.4\) \| 16 \| 48 \|")

    def test_folios(self):
        """report: each large BAR has a table of its own"""
        steps = [{"method": "struct pages", "folio_bytes": folio, "bytes": each} for folio, each in ((4096, 1600), (1 << 21, 100))]
        small = {**results("null"), "benchmark": "folios", "options": {"region_bytes": 1 << 30}, "samples": steps}
        large = {**small, "options": {"region_bytes": 1 << 36}, "samples": [{**step, "bytes": 64 * step["bytes"]} for step in steps]}
        lines = folios.large_bars(runs(folios_a=small, folios_b=large))
        self.shows(lines, r"^A BAR, by", r"^### folios-a \(Linux 7\.3\.4, BAR of 1 GiB\)$",
                   r"^### folios-b \(Linux 7\.3\.4, BAR of 64 GiB\)$",
                   r"^\| 2 MiB \| 100 \| 16\.00 ", r"^\| 2 MiB \| 6,400 \| 16\.00 ")
        self.assertNotIn("###", "\n".join(folios.large_bars(runs(folios=small))))
        self.shows(folios.large_bars(runs(folios_a=small, folios_b=small)), r"^A BAR of 1 GiB, by",
                   r"^### folios-a \(Linux 7\.3\.4\)$")

    def test_harness(self):
        """report: the harness of each kernel has a table of its own"""
        other = results("null", "6.12.9")
        for sample in other["samples"]:
            sample["minor_faults"] = 50
        lines = sections.harness(runs(null=results("null"), null_6=other))
        self.shows(lines, r"^### null-6 \(Linux 6\.12\.9\)$", r"^\| process .* \| 20 \|$", r"^\| process .* \| 50 \|$")

    def test_maps(self):
        """report: maps for DMA of two runs by one way are told apart"""
        lines = maps.commands(runs(maps_7=results("maps"), maps_7_b=results("maps"), maps_6=results("maps", "6.1.2")))
        self.shows(lines, r"^\| 7\.3\.4 \(maps-7-b\) \| switch ", r"^\| 6\.1\.2 \| switch ")


if __name__ == "__main__":
    unittest.main()
