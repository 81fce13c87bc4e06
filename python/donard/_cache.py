# SPDX-License-Identifier: Apache-2.0
"""A client of a write cache, whose completions come out of a queue."""
from __future__ import annotations

import dataclasses
import warnings
from typing import TYPE_CHECKING, Any, Callable

from ._library import Owner, Record, lib, name, number, sized, sizes
from ._memory import Memory, handle_of, memory_range

if TYPE_CHECKING:
    from ._queue import Queue


# Requests that a connection holds.
DEPTH = 64


@dataclasses.dataclass(frozen=True)
class CacheInfo(Record):
    """What a server offers, and what was done; struct donard_cache_info of cacheclient.h explains each field."""
    identity: int
    drive_bytes: int
    window_bytes: int
    request_bytes_max: int
    block_bytes: int
    depth: int
    silence_ms: int
    in_flight: int
    requests: int
    messages: int
    waited: int
    durable: bool
    reads_back: bool
    connected: bool
    drive_fails: bool
    copies_by_cpu: bool
    waits_for_room: bool
    drive: str
    nvram: str


class Cache(Owner):
    """A connection to a server of 'donard-cli cache serve'. Queue.connect() makes it.

    Its requests begin at once, and complete as those of the queue do, beside them. A write that completes is durable in the
    server's NVRAM, unless its completion is volatile: then only after a flush(). The queue's poll() and wait() keep the
    connection: a program that calls neither for info().silence_ms is given up by the server. When the connection is lost
    each request completes with ECONNRESET, and each call raises it: close the cache, and connect again.

    A memory is held from its first use until forget() or the connection's end, also when it is closed before.

    Close a connection in the queue's thread. When another thread finalizes one that was forgotten, the connection stays as
    long as the queue does. A ResourceWarning says so.
    """
    _cdata: Any = None

    def __init__(self, queue: Queue, address: str, port: int, depth: int, timeout_ms: int) -> None:
        place = name("address", address)
        options = sized("donard_cache_options", address=place, port=number("port", port, 2**16 - 1),
                        depth=number("depth", depth, 2**32 - 1), timeout_ms=number("timeout_ms", timeout_ms, 2**32 - 1))
        self._queue = queue
        self._closing: Callable[[], object] | None = None  # called before it closes, whoever closes it
        self._cdata = queue._context._root.make("donard_cache", lib.donard_cache_close, queue._check, lib.donard_cache_connect,
                                                queue._handle, options)
        queue._caches.add(self)

    @property
    def _handle(self) -> Any:
        self._queue._handle  # of a queue that is open
        if self._cdata is None:
            raise ValueError("the cache is closed")
        return self._cdata

    # --- requests ---

    def _prepare(self, user: Any, call: Callable[..., int], *arguments: Any) -> None:
        self._queue._prepare(user, self, call, self._handle, *arguments)

    def write(self, memory: Memory, *, drive_offset: int = 0, memory_offset: int = 0, length_bytes: int | None = None,
              user: Any = None) -> None:
        """Write memory, from its offset to its end unless a length is given, to the drive behind the cache.

        The offset on the drive and the length are multiples of info().block_bytes. The bytes must stay as they are until
        it completes. Raises Error, with the code "queue-full" when completions have to be taken first.
        """
        self._prepare(user, lib.donard_cache_write, *sizes(drive_offset=drive_offset),
                      *memory_range(memory, memory_offset, length_bytes))

    def read(self, memory: Memory, *, drive_offset: int = 0, memory_offset: int = 0, length_bytes: int | None = None,
             user: Any = None) -> None:
        """Read the newest bytes, wherever they are; as write(). The server puts them into the memory by itself."""
        self._prepare(user, lib.donard_cache_read, *sizes(drive_offset=drive_offset),
                      *memory_range(memory, memory_offset, length_bytes))

    def trim(self, *, drive_offset: int, length_bytes: int, user: Any = None) -> None:
        """Say that blocks are not needed any more. What they read as afterwards is not defined."""
        self._prepare(user, lib.donard_cache_trim, *sizes(drive_offset=drive_offset, length_bytes=length_bytes))

    def flush(self, *, to_drive: bool = False, user: Any = None) -> None:
        """Make durable what was written and trimmed, of which the completions were taken.

        to_drive: as far as the drive, not only the NVRAM
        """
        self._prepare(user, lib.donard_cache_flush, lib.DONARD_CACHE_TO_DRIVE if to_drive else 0)

    # --- memory ---

    def register(self, memory: Memory, *, writes: bool = True, reads: bool = True) -> None:
        """Register a memory before it is first used, for writes of it to the cache, for reads into it, or for both."""
        directions = ((lib.DONARD_CACHE_FOR_WRITES if writes else 0) | (lib.DONARD_CACHE_FOR_READS if reads else 0))
        self._queue._check(lib.donard_cache_register(self._handle, handle_of(memory), directions))

    def forget(self, memory: Memory) -> None:
        """Let go of a memory that no request in flight uses."""
        self._queue._check(lib.donard_cache_forget(self._handle, handle_of(memory)))

    # --- information, and the end ---

    def info(self) -> CacheInfo:
        """What the server offers, and what was done."""
        info = sized("donard_cache_info")
        self._queue._check(lib.donard_cache_info(self._handle, info))
        return CacheInfo._of(info)

    def close(self) -> None:
        """End the connection. Completions that were not taken are lost; what was acknowledged stays so."""
        if self._cdata is None:
            return
        self._queue._refuse_to_close()
        if self._closing is not None and not self._queue._inherited:
            self._closing()
        handle, self._cdata = self._cdata, None
        try:
            self._queue._context._root.release(handle, lib.donard_cache_close)
        finally:
            self._queue._drop(self)

    def __enter__(self) -> Cache:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self, warn: Callable[..., None] = warnings.warn) -> None:
        if self._cdata is not None and self._queue._is_of_another_thread:
            warn("a connection to a cache that was forgotten is finalized in another thread than its own: it stays as long as "
                 "its queue does. Close it in the thread that made it.", ResourceWarning, source=self)
