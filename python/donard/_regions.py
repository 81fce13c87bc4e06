# SPDX-License-Identifier: Apache-2.0
"""Regions, clients, candidates and routes: what donard.h and candidate.h list."""
from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Callable, Iterator

from ._library import Record, ffi, lib, name, sized, text

if TYPE_CHECKING:
    from ._context import Context


@dataclasses.dataclass(frozen=True)
class Region(Record):
    """Device memory that is offered as /dev/NAME; struct donard_region_info of donard.h explains each field."""
    name: str
    bdf: str
    kind: str
    bar: int
    size_bytes: int
    available_bytes: int
    page_type: str
    memtype: str
    state: str
    persistent: bool
    pinned_importers: bool
    holders: str | None
    granule_bytes: int
    bus_address: int
    unknown: str
    unrouted: str | None
    offset_bytes: int
    folio_bytes: int
    pmem: str


@dataclasses.dataclass(frozen=True)
class Client(Record):
    """A PCI function that can start DMA: an NVMe controller, an RDMA NIC or a GPU."""
    name: str
    bdf: str
    model: str
    serial: str
    type: str
    namespaces: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Candidate(Record):
    """Memory that could be a region; struct donard_candidate_info of candidate.h explains each field."""
    bdf: str
    kind: str
    bar: int
    size_bytes: int
    offset_bytes: int
    driver: str
    serial: str
    path: str
    slot: str
    by_id: str
    by_path: str
    obstacle: str
    busy: bool


@dataclasses.dataclass(frozen=True)
class Route(Record):
    """A prediction: how a client reaches memory; struct donard_route of donard.h explains each field."""
    route: str
    distance: int
    unlisted_bridge: bool
    same_device: bool
    acs_redirect: bool
    passthrough: bool
    translated: bool
    beyond_mask: bool
    bus_address: int
    dma_address: int
    bridge: str
    reason: str


@dataclasses.dataclass(frozen=True)
class RegionCounts(Record):
    """What happened to a region since it was added; struct donard_region_counts of counts.h explains each field."""
    maps: int
    faults: int
    pins: int
    routes: int
    read_bytes: int
    written_bytes: int
    taken_bytes: int
    peak_bytes: int


@dataclasses.dataclass(frozen=True)
class DriveCounts(Record):
    """What the block layer counts of a drive; struct donard_drive_counts of counts.h explains each field."""
    reads: int
    writes: int
    read_bytes: int
    written_bytes: int
    in_flight: int


def _items(context: Context, what: str, make: Callable[[Any], Any], listing: Callable[[Any], int]) -> list[Any]:
    """A list of the library's, one record an item; what: "region" of donard_region_count() and so on."""
    pointer = ffi.new(f"struct donard_{what}_list **")
    context._check(listing(pointer))
    try:
        count = getattr(lib, f"donard_{what}_count")(pointer[0])
        get = getattr(lib, f"donard_{what}_get")
        return [make(get(pointer[0], index)) for index in range(count)]
    finally:
        getattr(lib, f"donard_{what}_list_free")(pointer[0])


def list_regions(context: Context) -> list[Region]:
    return _items(context, "region", Region._of, lambda out: lib.donard_region_list(context._handle, out))


def find_region(context: Context, which: str) -> Region:
    found = _items(context, "region", Region._of,
                   lambda out: lib.donard_region_find(context._handle, name("region", which), out))
    return found[0]


def _client(pointer: Any) -> Client:
    def names() -> Iterator[str]:
        for index in range(pointer.namespace_count):
            yield text(pointer.namespaces[index])
    return Client._of(pointer, namespaces=tuple(names()))


def list_clients(context: Context) -> list[Client]:
    return _items(context, "client", _client, lambda out: lib.donard_client_list(context._handle, out))


def list_candidates(context: Context) -> list[Candidate]:
    return _items(context, "candidate", Candidate._of, lambda out: lib.donard_candidate_list(context._handle, out))


def probe_route(context: Context, region: str, client_bdf: str) -> Route:
    route = sized("donard_route")
    context._check(lib.donard_route_probe(context._handle, name("region", region), name("client_bdf", client_bdf), route))
    return Route._of(route)


def count_region(context: Context, region: str) -> RegionCounts:
    counts = sized("donard_region_counts")
    context._check(lib.donard_region_counts(context._handle, name("region", region), counts))
    return RegionCounts._of(counts)


def count_drive(context: Context, drive: str) -> DriveCounts:
    counts = sized("donard_drive_counts")
    context._check(lib.donard_drive_counts(context._handle, name("drive", drive), counts))
    return DriveCounts._of(counts)


def regions() -> list[Region]:
    """Every region of this machine, by number; [] if there is none."""
    from ._context import Context
    with Context() as context:
        return context.regions()


def clients() -> list[Client]:
    """NVMe controllers, RDMA NICs and GPUs of this machine."""
    from ._context import Context
    with Context() as context:
        return context.clients()


def candidates() -> list[Candidate]:
    """Memory of this machine that could be a region."""
    from ._context import Context
    with Context() as context:
        return context.candidates()
