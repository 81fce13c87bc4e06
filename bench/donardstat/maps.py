# SPDX-License-Identifier: Apache-2.0
"""How often the kernel maps memory for DMA, for each command to a drive."""
from collections.abc import Sequence

from .apart import named
from .results import Run, runs
from .stats import Sample
from .text import absent, columns, method_name, size, table

ORDER = ("queue-registered", "queue", "donard", "donard-passthrough", "fio-fixed", "fio")


def _each(sample: Sample, what: str) -> str:
    return f"{sample[what] / sample['commands']:.1f}".removesuffix(".0")


def _alike(lines: Sequence[list[str]], column: int) -> list[list[str]]:
    """One line for those that differ in this column alone."""
    found: dict[tuple[str, ...], list[str]] = {}
    for line in lines:
        found.setdefault((*line[:column], *line[column + 1:]), []).append(line[column])
    return [[*key[:column], "; ".join(cells), *key[column:]] for key, cells in found.items()]


def _way(run: Run) -> str:
    return "IOMMU" if "iommu" in run.data["topology"] else "switch"


def _kernel(run: Run, others: Sequence[Run]) -> str:
    """With the name of the run, where another has the same kernel and way."""
    alike = [other for other in others if (other.data["kernel"], _way(other)) == (run.data["kernel"], _way(run))]
    return named(run.data["kernel"], [run.file] if len(alike) > 1 else [])


def _lines(run: Run, others: Sequence[Run] = ()) -> list[list[str]]:
    kernel = _kernel(run, others)
    there = sorted(filter(_is_counted, run.samples), key=lambda sample: (sample["page_type"], sample["block_bytes"],
                                                                         ORDER.index(sample["method"])))
    lines = [[kernel, _way(run), sample["page_type"], size(sample["block_bytes"]), method_name(sample["method"]),
              _each(sample, "maps"), _each(sample, "unmaps"), _each(sample, "iommu_maps")] for sample in there]
    refused = [[kernel, _way(run), sample["page_type"], "-", "no route", "-", "-", "-"]
               for sample in run.samples if not _is_counted(sample)]
    return _alike(_alike(lines, 4), 3) + refused


def _is_counted(sample: Sample) -> bool:
    """A page type by which a queue has no route has one sample, of no block."""
    return sample["block_bytes"] is not None


def _is_late(sample: Sample) -> bool:
    """Linux leaves out the unmaps of all commands alike, or of none."""
    return sample["unmaps"] not in (0, sample["maps"])


def _how_exact(there: Sequence[Run]) -> str:
    counted = [sample for run in there for sample in run.samples if _is_counted(sample)]
    late = sum(map(_is_late, counted))
    if not late:
        return ", exactly"
    return (f"; maps exactly, unmaps not: in {late} of {len(counted)} samples counting ended before the last of "
            "them came, and where their figure is neither 0 nor that of maps, it is off by these")


def _about_routes(there: Sequence[Run]) -> list[str]:
    if all(map(_is_counted, (sample for run in there for sample in run.samples))):
        return []
    return ["", "No route: behind an IOMMU that translates, a drive would get the bus addresses of pages of type p2pdma below one switch "
                "whose ports do not redirect by ACS, such as the lab's. The IOMMU does not know these, so the module refuses them. "
                "Where ACS redirects, or between root ports, these pages are mapped as generic ones are."]


HEADS = ["kernel", "way", "pages", "blocks", "methods", "maps", "unmaps", "entries into an IOMMU"]
WORDS = 5  # columns of words


def summary(run: Run) -> list[str]:
    """For a terminal."""
    return columns(WORDS, HEADS, _lines(run))


def commands(results: Sequence[Run]) -> list[str]:
    """By kernel, way and pages; what costs the same stands in one line."""
    there = sorted(runs(results, "maps"), key=lambda run: [int(part) for part in run.data["kernel"].split("-")[0].split("+")[0].split(".")])
    if not there:
        return absent("maps-*.json", "bench/run maps")
    return ["How often the kernel maps memory for DMA, for each NVMe command of a drive that reads into the region: calls of the "
            f"functions by which all its drivers do that{_how_exact(there)}. Where an IOMMU translates, each map is an entry into its "
            "tables, and each unmap a flush of its cache; without one a map is some arithmetic. Nothing is mapped for pages of "
            "type p2pdma: below one switch the drive has their bus addresses. A buffer that is registered with a ring is "
            "pinned once, but the kernel has no way to keep its DMA addresses: up to Linux 7.3 it is mapped with each "
            "command. Where nothing has to be undone without an IOMMU, Linux 7 leaves the unmap out. `copy` makes one command of blocks that lie side by side.", "",
            *table(WORDS, HEADS, [line for run in there for line in _lines(run, there)]), *_about_routes(there)]
