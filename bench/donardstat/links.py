# SPDX-License-Identifier: Apache-2.0
"""What the links between a region and a drive or NIC carry for each byte of payload: predicted from their registers.

Packets and their framing: PCI Express Base Specification, sections 2.2 (headers, ECRC) and 2.3.1.1 (how completions
are cut), 3.6 and 4.2 (sequence number, LCRC and framing, which are eight bytes a packet by either encoding).
"""
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from . import stats
from .results import Point, Run, in_direction
from .stats import Number, Value
from .text import direction_name, share

FRAMING_BYTES = 8
COMPLETION_HEADER_BYTES = 12
HEADER_BYTES, WIDE_HEADER_BYTES = 12, 16
ECRC_BYTES = 4
# Others than a root complex cut completions at multiples of it.
COMPLETION_BOUNDARY_BYTES = 128

Link = dict[str, Any]


@dataclass(frozen=True)
class Carried:
    """Bytes on a link for each byte of payload: of the packets that carry it, and of requests against them."""

    least: Number
    most: Value  # None: the client may cut it smaller than it has to
    requests: Number  # at least
    packets: str


def _of(run: Run) -> list[Link]:
    """Where today's results say "client", older ones say "drive"."""
    return [{key.replace("drive", "client", 1): value for key, value in link.items()} for link in run.data.get("links") or []]


def _paths(run: Run) -> list[tuple[Link, set[str | None]]]:
    """Each once, with the regions that it leads to: all of one BAR have the same. None: the link does not say which."""
    found: dict[tuple[tuple[str, Any], ...], set[str | None]] = {}
    for link in _of(run):
        region = link.pop("region", None)
        found.setdefault(tuple(link.items()), set()).add(region)
    return [(dict(path), regions) for path, regions in found.items()]


def _header(link: Link) -> int:
    return WIDE_HEADER_BYTES if link["wide_address"] else HEADER_BYTES


def _ecrc(link: Link, end: str) -> int:
    return ECRC_BYTES if link[f"{end}_ecrc"] else 0


def _writes(link: Link) -> Carried:
    """The client writes into the region."""
    packet = _header(link) + FRAMING_BYTES + _ecrc(link, "client")
    return Carried(1 + packet / link["client_payload_bytes_max"], None, 0,
                   f"writes of at most {link['client_payload_bytes_max']} bytes")


def _reads(link: Link) -> Carried:
    """The client requests, and the region's function completes."""
    request = _header(link) + FRAMING_BYTES + _ecrc(link, "client")
    completion = COMPLETION_HEADER_BYTES + FRAMING_BYTES + _ecrc(link, "region")
    # Each request has its own completions, which carry no more than it asked for.
    largest = min(link["region_payload_bytes_max"], link["client_request_bytes_max"])
    smallest = min(largest, COMPLETION_BOUNDARY_BYTES)
    sizes = f"{largest}" if largest == smallest else f"{smallest} to {largest}"
    return Carried(1 + completion / largest, 1 + completion / smallest, request / link["client_request_bytes_max"],
                   f"requests of at most {link['client_request_bytes_max']} bytes, completions of {sizes}")


def carried(link: Link) -> Carried | None:
    """None: the registers or the address are not known, or the link has no such packets."""
    if "client_function" in link and link["client_function"] == link["region_function"]:
        return Carried(0, 0, 0, "the memory is its own: no link carries it")
    writes = link["direction"] == "to-region"
    needed = ("client_payload_bytes_max",) if writes else ("client_request_bytes_max", "region_payload_bytes_max")
    if link.get("flits") or any(link.get(fact) is None for fact in ("wide_address", *needed)):
        return None
    return _writes(link) if writes else _reads(link)


def _span(least: Number, most: Value) -> str:
    if most is None:
        return f"at least {share(least)}"
    return share(least) if least == most else f"{share(least)} to {share(most)}"


def _predicted(link: Link) -> tuple[str, str, str]:
    """Which packets there are, what they and their payload come to, and the requests."""
    found = carried(link)
    if not found:
        return ("in flit mode, packets share what frames them" if link.get("flits") else link["unknown"]), "-", "-"
    return found.packets, _span(found.least, found.most), f"at least {share(found.requests)}" if found.requests else "0"


HEADS = ["direction", "device", "region", "route", "packets", "counted", "on the wire", "requests"]
WORDS = 5  # columns of words


def _direction(link: Link) -> str:
    if not link["direction"]:
        return "-"
    name = direction_name(link["direction"])
    return name.replace("drive", "NIC") if link.get("client_type") == "rdma" else name


def lines(run: Run, points: Iterable[Point] = ()) -> list[list[str]]:
    """A line for each path: of the payload what the meter counted at the BAR, if that is known of the path, and what the links
    carry for it."""
    found = []
    for link, regions in _paths(run):
        packets, wire, requests = _predicted(link)
        straight = [point for point in points if point.bar_dma and (None in regions or point.region in regions)]
        counted = stats.median(point.bar_dma for point in in_direction(straight, link["direction"]))
        found.append([_direction(link), link.get("client_function") or link["client"],
                      link.get("region_function") or "-", link.get("route") or "-", packets, share(counted), wire, requests])
    return found


def rows(results: Sequence[Run], points: Sequence[Point]) -> list[list[str]]:
    """Of all runs, each path once."""
    found: dict[tuple[str, ...], list[str]] = {}
    for run in results:
        for line in lines(run, [point for point in points if point.file == run.file]):
            found.setdefault(tuple(line[:WORDS] + line[WORDS + 1:]), line)
    return list(found.values())
