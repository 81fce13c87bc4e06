# SPDX-License-Identifier: Apache-2.0
"""The context, by which everything else is made."""
from __future__ import annotations

import contextlib
import functools
import os
import weakref
from typing import Any, Callable, Iterable, Protocol

from . import _copy, _file, _memory, _meter, _queue, _regions
from ._errors import MakingThread, error_of, error_without_context, wrong_thread
from ._library import Owner, descriptor, ffi, lib, name, sized, sizes


class _Closes(Protocol):
    def close(self) -> None: ...


class Root:
    """The library's context, which lives until all that came out of it has gone.

    What holds it are finalizers; the garbage collector runs those of a cycle in any order.
    """

    def __init__(self, pointer: Any) -> None:
        self._open = [pointer]
        self._holds: list[None] = []  # one of each handle, since another thread may finalize some

    def make(self, kind: str, free: Callable[[Any], object], check: Callable[[int], object], call: Callable[..., int],
             *arguments: Any) -> Any:
        """What the library hands out by the last argument of a call: a struct of that kind, which free() ends. check() raises
        the call's error."""
        out = ffi.new(f"struct {kind} **")
        try:
            rc = call(*arguments, out)
        except BaseException:  # of a signal's handler, which may raise as soon as the call has returned
            if out[0]:
                free(out[0])
            raise
        check(rc)
        return self.hold(out[0], free)

    def hold(self, handle: Any, free: Callable[[Any], object]) -> Any:
        """The handle, with a finalizer: free() it, and then let go of the context."""
        self._holds.append(None)
        return ffi.gc(handle, functools.partial(self._let_go, free))

    def release(self, handle: Any, free: Callable[[Any], object]) -> None:
        """Of a close(): what the finalizer would do. What a signal's handler raises meanwhile is the caller's, but cffi prints
        and drops what leaves a finalizer."""
        if handle is None:  # such a handler has closed it
            return
        try:
            ffi.gc(handle, None)
        finally:
            self._let_go(free, handle)

    def _let_go(self, free: Callable[[Any], object], handle: Any) -> None:
        try:
            free(handle)
        finally:  # a signal's handler may raise when free() has returned
            self._holds.pop()
            if not self._holds and self._open:
                lib.donard_close(self._open.pop())


def _free_nothing(handle: Any) -> None:
    """Of the context's own handle: the last one to go closes it."""


class Context(Owner):
    """What a thread uses the library by, for this machine unless other roots are given.

    Queues, files and memories that came out of it are closed with it. They keep what they need of it, so that nothing
    dangles if it is forgotten first.
    """

    def __init__(self, *, sysfs_root: str | None = None, dev_root: str | None = None) -> None:
        roots = name("sysfs_root", sysfs_root, optional=True), name("dev_root", dev_root, optional=True)
        config = sized("donard_config", sysfs_root=roots[0], dev_root=roots[1])
        out = ffi.new("struct donard_context **")
        rc = lib.donard_open(out, config)
        if rc < 0:
            raise error_without_context(rc, "context")
        self._root = Root(out[0])
        self._cdata: Any = self._root.hold(out[0], _free_nothing)
        self._thread = MakingThread()
        # These are closed in this order: memory last, since a queue may be moving data into it.
        self._queues: weakref.WeakSet[Any] = weakref.WeakSet()
        self._others: weakref.WeakSet[Any] = weakref.WeakSet()
        self._memories: weakref.WeakSet[Any] = weakref.WeakSet()

    # --- of the package ---

    @property
    def _handle(self) -> Any:
        if self._cdata is None:
            raise ValueError("the context is closed")
        if not self._thread.runs():
            raise wrong_thread("this context", "thread")
        return self._cdata

    def _check(self, rc: int) -> int:
        """What a call of the library with this context returned."""
        if rc < 0:
            raise error_of(self._cdata, rc)
        return rc

    def _make(self, kind: str, free: Callable[[Any], object], call: Callable[..., int], *arguments: Any) -> Any:
        return self._root.make(kind, free, self._check, call, self._handle, *arguments)

    def _memory(self, call: Callable[..., int], *arguments: Any) -> _memory.Memory:
        return _memory.Memory(self, self._make("donard_memory", lib.donard_memory_free, call, *arguments))

    def _file(self, call: Callable[..., int], *arguments: Any) -> _file.File:
        return _file.File(self, self._make("donard_file", lib.donard_file_close, call, *arguments))

    # --- what there is ---

    def regions(self) -> list[_regions.Region]:
        """Every region, by number."""
        return _regions.list_regions(self)

    def region(self, region: str) -> _regions.Region:
        """One region, "p2pmem0"."""
        return _regions.find_region(self, region)

    def clients(self) -> list[_regions.Client]:
        """NVMe controllers, RDMA NICs and GPUs."""
        return _regions.list_clients(self)

    def candidates(self) -> list[_regions.Candidate]:
        """Memory that could be a region."""
        return _regions.list_candidates(self)

    def route(self, region: str, client_bdf: str) -> _regions.Route:
        """How a function would reach a region; moves no data."""
        return _regions.probe_route(self, region, client_bdf)

    def region_counts(self, region: str) -> _regions.RegionCounts:
        """What happened to a region since it was added."""
        return _regions.count_region(self, region)

    def drive_counts(self, drive: str) -> _regions.DriveCounts:
        """What the block layer counts of a drive, "nvme0n1" or "/dev/nvme0n1"."""
        return _regions.count_drive(self, drive)

    # --- memory ---

    def dram(self, length_bytes: int) -> _memory.Memory:
        """Plain memory of the host, zeroed: the baseline to compare with."""
        return self._memory(lib.donard_memory_dram, *sizes(length_bytes=length_bytes))

    def alloc(self, region: str, length_bytes: int) -> _memory.Memory:
        """Free memory of a volatile region; reads as zero."""
        return self._memory(lib.donard_memory_alloc, name("region", region), *sizes(length_bytes=length_bytes))

    def claim(self, region: str, offset_bytes: int = 0, length_bytes: int = 0) -> _memory.Memory:
        """One range of a region, at its place; a length of 0 is to the end."""
        return self._memory(lib.donard_memory_claim, name("region", region),
                            *sizes(offset_bytes=offset_bytes, length_bytes=length_bytes))

    def adopt_memory(self, fd: int, file_offset_bytes: int, length_bytes: int) -> _memory.Memory:
        """Memory that another context or process made: its fileno(), and file_offset_bytes of its info."""
        return self._memory(lib.donard_memory_adopt, descriptor(fd),
                            *sizes(file_offset_bytes=file_offset_bytes, length_bytes=length_bytes))

    def from_dmabuf(self, fd: int, offset_bytes: int = 0, length_bytes: int = 0) -> _memory.Memory:
        """What any exporter handed over as a dma-buf; a length of 0 is to its end. info.pages says what it gives."""
        return self._memory(lib.donard_memory_from_dmabuf, descriptor(fd),
                            *sizes(offset_bytes=offset_bytes, length_bytes=length_bytes))

    # --- files, queues, copies, meters ---

    def open(self, path: str | os.PathLike[str], *, write: bool = False, create: bool = False) -> _file.File:
        """A drive, a partition, or a regular file on ext4 or XFS; create makes a regular file, to be written."""
        flags = (lib.DONARD_FILE_WRITE if write or create else 0) | (lib.DONARD_FILE_CREATE if create else 0)
        return self._file(lib.donard_file_open, name("path", path), flags)

    def adopt_file(self, fd: int) -> _file.File:
        """A file that the program has open with O_DIRECT."""
        return self._file(lib.donard_file_adopt, descriptor(fd))

    def queue(self, depth: int = 0, *, allow_bounce: bool = False, allow_unlisted: bool = False,
              passthrough: bool = False) -> _queue.Queue:
        """Many reads and writes in flight; a depth of 0 is 64.

        allow_bounce: through DRAM what cannot go straight, which is counted
        allow_unlisted: try a host bridge that is on no list
        passthrough: NVMe commands that bypass the block layer
        """
        flags = _queue.flags_of(allow_bounce, allow_unlisted, passthrough)
        return _queue.Queue(self, depth, flags)

    def copy(self, src: _copy.End, dst: _copy.End, **options: Any) -> _copy.CopyResult:
        """Copy between a drive, a file and a region, or between memories and files, which have one context of their own and
        to which the offsets then belong; donard.copy() has the options."""
        return _copy.copy_with(self, src, dst, **options)

    def measure(self, kind: str | None = None, *, payload: Iterable[_memory.Memory] = ()) -> _meter.Measuring:
        """Count what goes through DRAM within a with statement; donard.measure() has the arguments."""
        return _meter.Measuring(self, kind, payload)

    # --- the end ---

    def close(self) -> None:
        """Close queues, files and memories that came out of it, and then itself.

        Raises BufferError, and closes nothing, if a memory is in use by a view, such as an array.
        """
        if self._cdata is None:
            return
        self._handle  # of this thread?
        for queue in list(self._queues):
            queue._refuse_to_close()
        for memory in list(self._memories):
            memory._refuse_views()
        with contextlib.ExitStack() as ends:  # all of them, from the last one on, also when a signal's handler raises in one
            ends.callback(self._end)
            for one in [*self._memories, *self._others, *self._queues]:
                ends.callback(one.close)

    def _end(self) -> None:
        handle, self._cdata = self._cdata, None
        self._root.release(handle, _free_nothing)

    def __enter__(self) -> Context:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        close_after(self, error)


def close_after(one: _Closes, error: object) -> None:
    """At the end of a with statement: an error that is on its way is not replaced by one about views, which the frames
    of its own traceback may hold."""
    try:
        one.close()
    except BufferError:
        if error is None:
            raise
