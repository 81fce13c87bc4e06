# SPDX-License-Identifier: Apache-2.0
"""Move data between PCIe devices without staging it in DRAM: libdonard for Python.

    with donard.Context() as context, context.queue() as queue:
        drive = context.open("/dev/nvme0n1")
        memory = context.alloc("p2pmem0", 1 << 20)
        queue.read(drive, memory, user="hello")
        for completion in queue.wait():
            print(completion.user, completion.check(), completion.route)

A context and what came out of it belong to the thread that made it; each thread
makes its own. A call of the library that fails raises Error, which has object,
cause and remedy as its text, and a stable word as its code. Waiting calls let
other threads run. docs/python.md has more; donard.aio is for asyncio.
"""
from ._cache import Cache, CacheInfo
from ._context import Context
from ._copy import CopyResult, Leg, copy
from ._errors import Error
from ._file import File, FileInfo
from ._library import version
from ._memory import Memory, MemoryInfo
from ._meter import Measurement, Measuring, measure
from ._queue import Completion, Queue, QueueInfo
from ._regions import Candidate, Client, DriveCounts, Region, RegionCounts, Route, candidates, clients, regions

__version__ = version()
__all__ = [
    "Cache", "CacheInfo", "Candidate", "Client", "Completion", "Context", "CopyResult", "DriveCounts", "Error", "File",
    "FileInfo", "Leg", "Measurement", "Measuring", "Memory", "MemoryInfo", "Queue", "QueueInfo", "Region", "RegionCounts",
    "Route", "candidates", "clients", "copy", "measure", "regions", "version",
]
