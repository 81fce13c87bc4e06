# SPDX-License-Identifier: Apache-2.0
"""Memory that devices read and write."""
from __future__ import annotations

import dataclasses
import functools
import os
import weakref
from typing import TYPE_CHECKING, Any

from ._library import Owner, Record, buffer, ffi, lib, name, sized, sizes, word
from ._regions import Route

if TYPE_CHECKING:
    from ._context import Context


@dataclasses.dataclass(frozen=True)
class MemoryInfo(Record):
    """What a memory is; struct donard_memory_info of memory.h explains each field. address is 0 where the CPU has none."""
    kind: str
    fd: int
    region: str
    bdf: str
    address: int
    unmapped: str
    length_bytes: int
    align_bytes: int
    region_offset_bytes: int
    contiguous_bytes: int
    file_offset_bytes: int
    persistent: bool
    read_only: bool
    exporter: str
    dmabuf_offset_bytes: int
    dmabuf_fd: int
    pages: str


def handle_of(memory: Any) -> Any:
    """As the library takes it."""
    if not isinstance(memory, Memory):
        raise TypeError(f"memory is no donard.Memory, but {memory!r}")
    return memory._handle


def memory_range(memory: Any, memory_offset: int, length_bytes: int | None) -> tuple[Any, int, int]:
    """What a request moves, as the library takes it: to the end of the memory unless a length is given."""
    return handle_of(memory), *memory._span("memory_offset", memory_offset, length_bytes)


def _let_go(handle: Any, address: Any) -> None:
    """Of a view: the handle is freed after it, since this holds it."""


class Memory(Owner):
    """A range of a region, plain DRAM, or a dma-buf. Context.dram(), alloc(), claim(), adopt_memory(), from_dmabuf() make it.

    numpy.asarray(memory) and memory.view() see its bytes where they are. While such a view exists close() raises
    BufferError, as that of mmap does. A memory that is forgotten lives until its last view has gone.

    When its region goes away, loads and stores through a view raise SIGBUS, which ends the process. state says what
    happened, and poll() reports POLLPRI for fileno() then; read(), readinto(), write() and zero() raise Error instead.
    """

    def __init__(self, context: Context, handle: Any) -> None:
        self._context = context
        self._cdata: Any = handle
        self._shown: Any = None  # a weak reference to what all views refer to
        info = sized("donard_memory_info")
        context._check(lib.donard_memory_info(self._cdata, info))
        self._info = MemoryInfo._of(info, address=int(ffi.cast("uintptr_t", info.address)))
        context._memories.add(self)

    @property
    def _handle(self) -> Any:
        if self._cdata is None:
            raise ValueError("the memory is closed")
        self._context._handle  # of this thread?
        return self._cdata

    @property
    def info(self) -> MemoryInfo:
        """What it is; of any thread."""
        if self._cdata is None:
            raise ValueError("the memory is closed")
        return self._info

    @property
    def state(self) -> str:
        """What became of the region: "ready"; "draining" or "quarantined": let go of it; "gone"."""
        return word("enum donard_region_state", lib.donard_memory_state(self._handle))

    def __len__(self) -> int:
        return self._info.length_bytes

    def fileno(self) -> int:
        """The descriptor, to poll for the end of the region, or to pass on; -1 of DRAM. It stays the memory's.

        Of memory that came as a dma-buf it is to poll only: pass info.dmabuf_fd on."""
        return self.info.fd

    # --- views ---

    def _bytes(self) -> Any:
        """What all views refer to, one at a time, and nothing else does: it lives while there are any."""
        self._handle
        if not self._info.address:
            raise BufferError(f"the CPU does not see this memory: {self._info.unmapped}")
        shown = self._shown and self._shown()
        if shown is None:
            address = ffi.gc(ffi.cast("char *", self._info.address), functools.partial(_let_go, self._cdata))
            shown = ffi.buffer(address, self._info.length_bytes)
            self._shown = weakref.ref(shown)
        return shown

    def view(self) -> memoryview:
        """The bytes of the memory where they are, for loads and stores of the CPU."""
        view = memoryview(self._bytes())
        return view.toreadonly() if self._info.read_only else view

    def __buffer__(self, flags: int) -> memoryview:
        """memoryview(memory), from Python 3.12 on."""
        return self.view()

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """numpy.asarray(memory), with any Python."""
        return {"version": 3, "shape": (len(self),), "typestr": "|u1", "data": self.view()}

    def _refuse_views(self) -> None:
        if self._shown and self._shown() is not None:
            raise BufferError("the memory is in use by a view, such as an array: delete it, or copy what it shows, before "
                              "the memory is closed")

    # --- accesses that never raise SIGBUS ---

    def _span(self, what: str, offset_bytes: int, length_bytes: int | None) -> tuple[int, int]:
        """Offset, which the caller calls so, and length, which is to the end unless one is given."""
        offset, = sizes(**{what: offset_bytes})
        if length_bytes is None:
            length_bytes = max(len(self) - offset, 0)
        return offset, *sizes(length_bytes=length_bytes)

    def readinto(self, into: Any, offset_bytes: int = 0) -> None:
        """Fill a buffer with bytes of the memory, by the CPU."""
        to = buffer("into", into, writable=True)
        offset, length = self._span("offset_bytes", offset_bytes, len(to))
        self._context._check(lib.donard_memory_read(self._handle, offset, to, length))

    def read(self, offset_bytes: int = 0, length_bytes: int | None = None) -> bytes:
        """Bytes of the memory, to its end unless a length is given, by the CPU."""
        offset, length = self._span("offset_bytes", offset_bytes, length_bytes)
        if length > len(self):  # before so much is allocated
            self._context._check(lib.donard_memory_read(self._handle, offset, ffi.NULL, length))
        seen = bytearray(length)
        self.readinto(seen, offset)
        return bytes(seen)

    def write(self, data: Any, offset_bytes: int = 0) -> None:
        """Set bytes of the memory, by the CPU. To make them durable takes sync()."""
        source = buffer("data", data)
        offset, length = self._span("offset_bytes", offset_bytes, len(source))
        self._context._check(lib.donard_memory_write(self._handle, offset, source, length))

    def zero(self, offset_bytes: int = 0, length_bytes: int | None = None) -> None:
        """Make bytes of the memory zero, to its end unless a length is given."""
        self._context._check(lib.donard_memory_zero(self._handle, *self._span("offset_bytes", offset_bytes, length_bytes)))

    def sync(self, *, durable: bool = False) -> None:
        """A barrier for stores through views; durable: in persistent memory, so that a power cut does no harm."""
        self._context._check(lib.donard_memory_sync(self._handle, lib.DONARD_SYNC_DURABLE if durable else 0))

    # --- for others ---

    def export(self, offset_bytes: int = 0, length_bytes: int = 0, *, write: bool = True) -> int:
        """A dma-buf of the memory: a descriptor, which is the caller's to close; a length of 0 is to the end."""
        fd = ffi.new("int *", -1)
        flags = os.O_RDWR if write else os.O_RDONLY
        offset, length = self._span("offset_bytes", offset_bytes, length_bytes)
        try:
            rc = lib.donard_memory_export(self._handle, offset, length, flags, fd)
        except BaseException:  # of a signal's handler, which may raise as soon as the call has returned
            if fd[0] >= 0:
                os.close(fd[0])
            raise
        self._context._check(rc)
        return int(fd[0])

    def route(self, client_bdf: str) -> Route:
        """How a function reaches this memory; moves no data."""
        route = sized("donard_route")
        self._context._check(lib.donard_memory_route(self._handle, name("client_bdf", client_bdf), route))
        return Route._of(route)

    # --- the end ---

    def close(self) -> None:
        """Give the memory back. Requests in flight keep it until they have ended.

        Raises BufferError, and leaves it open, while a view of it exists.
        """
        if self._cdata is None:
            return
        self._handle  # of this thread?
        self._refuse_views()
        handle, self._cdata = self._cdata, None
        self._context._root.release(handle, lib.donard_memory_free)

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        from ._context import close_after
        close_after(self, error)
