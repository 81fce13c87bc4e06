# SPDX-License-Identifier: Apache-2.0
"""How often the kernel maps memory for DMA, for each command to a drive."""
from collections.abc import Sequence

from .results import Run, runs
from .stats import Sample
from .text import absent, method_name, size, table

ORDER = ("queue-registered", "queue", "donard", "donard-passthrough", "fio-fixed", "fio")


def _each(sample: Sample, what: str) -> str:
    return f"{sample[what] / sample['commands']:.1f}".removesuffix(".0")


def _alike(lines: Sequence[list[str]], column: int) -> list[list[str]]:
    """One line for those that differ in this column alone."""
    found: dict[tuple[str, ...], list[str]] = {}
    for line in lines:
        found.setdefault((*line[:column], *line[column + 1:]), []).append(line[column])
    return [[*key[:column], "; ".join(cells), *key[column:]] for key, cells in found.items()]


def _lines(run: Run) -> list[list[str]]:
    samples = sorted(run.samples, key=lambda sample: (sample["page_type"], sample["block_bytes"],
                                                      ORDER.index(sample["method"])))
    way = "IOMMU" if "iommu" in run.data["topology"] else "switch"
    lines = [[run.data["kernel"], way, sample["page_type"], size(sample["block_bytes"]), method_name(sample["method"]),
              _each(sample, "maps"), _each(sample, "unmaps"), _each(sample, "iommu_maps")] for sample in samples]
    return _alike(_alike(lines, 4), 3)


def commands(results: Sequence[Run]) -> list[str]:
    """By kernel, way and pages; what costs the same stands in one line."""
    there = sorted(runs(results, "maps"), key=lambda run: [int(part) for part in run.data["kernel"].split("-")[0].split("+")[0].split(".")])
    if not there:
        return absent("maps-*.json", "bench/run maps")
    heads = ["kernel", "way", "pages", "blocks", "methods", "maps", "unmaps", "entries into an IOMMU"]
    return ["How often the kernel maps memory for DMA, for each NVMe command of a drive that reads into the region: calls of the "
            "functions by which all its drivers do that, exactly. Where an IOMMU translates, each map is an entry into its "
            "tables, and each unmap a flush of its cache; without one a map is some arithmetic. Nothing is mapped for pages of "
            "type p2pdma: below one switch the drive has their bus addresses. A buffer that is registered with a ring is "
            "pinned once, but the kernel has no way to keep its DMA addresses: up to Linux 7.3 it is mapped with each "
            "command. Where nothing has to be undone without an IOMMU, Linux 7 leaves the unmap out. `copy` makes one command of blocks that lie side by side.", "",
            *table(5, heads, [line for run in there for line in _lines(run)])]
