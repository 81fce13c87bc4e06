# SPDX-License-Identifier: Apache-2.0
"""Many reads and writes in flight between files and memory."""
from __future__ import annotations

import contextlib
import dataclasses
import errno
import itertools
import os
import time
import warnings
import weakref
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from ._cache import DEPTH, Cache
from ._errors import Error, MakingThread, error_from, in_python, wrong_thread
from ._file import File, handle_of_file
from ._library import Owner, Record, ffi, lib, number, sized, sizes, text, word
from ._memory import Memory, handle_of, memory_range

if TYPE_CHECKING:
    from ._context import Context

# Completions that one call of the library takes.
_BATCH = 64

# Seconds, some 30 years. The nanoseconds of more may not fit into the number that the library takes.
_FOREVER = 1e9


@dataclasses.dataclass(frozen=True)
class Completion:
    """How a request ended.

    user: the object that came with the request
    result: bytes moved, 0 of a flush; less than 0 if it failed
    error: what went wrong, or None
    route: how the bytes went; "none" of a flush, and where a drive's driver imported the memory
    evidence: of the route, "predicted" or "proven"
    bounced: the bytes went through DRAM
    registered: by registered memory
    volatile: of a cache: what was written is lost if its server loses power before the next flush has ended;
        of a flush: it may have made nothing durable (FileInfo.not_flushed)
    """
    user: Any
    result: int
    error: Error | None
    route: str
    evidence: str
    bounced: bool
    registered: bool
    volatile: bool

    def check(self) -> int:
        """The bytes moved; raises the error of a request that failed."""
        if self.error is not None:
            raise self.error
        return self.result


def _error(got: Any) -> Error:
    """Of a request that failed. There may have been no memory for more than the code."""
    if got.failure == ffi.NULL:
        return Error(-got.result, in_python(text(got.error)), text(got.error_code))
    return error_from(got.failure, got.result)


@dataclasses.dataclass(frozen=True)
class QueueInfo(Record):
    """What a queue has done; struct donard_queue_info of queue.h explains each field."""
    depth: int
    in_flight: int
    requests: int
    bytes: int
    bounced_bytes: int
    registered_requests: int
    proofs: int
    no_io_uring: str


class _Request(NamedTuple):
    user: Any
    cache: Cache | None  # or of a file


def flags_of(allow_bounce: bool, allow_unlisted: bool, passthrough: bool) -> int:
    return ((lib.DONARD_QUEUE_ALLOW_BOUNCE if allow_bounce else 0) |
            (lib.DONARD_QUEUE_ALLOW_UNLISTED if allow_unlisted else 0) |
            (lib.DONARD_QUEUE_PASSTHROUGH if passthrough else 0))


class Queue(Owner):
    """Requests between files and memory, in no order. Context.queue() makes it.

    It belongs to the thread that made it; a call from another one, or from the child of a fork, raises Error. The child
    may close it, which frees what it inherited and leaves the requests to the parent.

    What is prepared by read(), write() and flush() begins with submit() or wait(), or with another call that has to wait for
    requests, such as register(). The queue keeps the object of each request until its completion is taken.

    The first request in each direction between a file and a memory asks for their route, and moves a block to prove it;
    that call waits. So do the first write that reaches another drive of an LVM or md device, and, at most once a second, a
    call that tries again to prove a route that could only be predicted.

    Close a queue in its thread. When another thread finalizes one that was forgotten with requests in flight, nothing can
    end these: they keep their memory until the process ends. A ResourceWarning says so.
    """
    _cdata: Any = None

    def __init__(self, context: Context, depth: int, flags: int) -> None:
        options = sized("donard_queue_options", depth=number("depth", depth, 2**32 - 1), flags=flags)
        self._context = context
        self._process, self._thread = os.getpid(), MakingThread()
        self._completions = ffi.new("struct donard_completion[]", _BATCH)
        self._filled = 0  # how many of these may hold a completion that was not taken
        self._requests: dict[int, _Request] = {}
        self._taken: dict[int, Completion] = {}
        self._numbers = itertools.count(1)
        self._caches: weakref.WeakSet[Cache] = weakref.WeakSet()
        self._closing: Callable[[], object] | None = None  # called before it closes, whoever closes it
        self._cdata = context._make("donard_queue", lib.donard_queue_close, lib.donard_queue_open, options)
        context._queues.add(self)

    @property
    def _handle(self) -> Any:
        if self._cdata is None:
            raise ValueError("the queue is closed")
        return self._cdata

    def _check(self, rc: int) -> int:
        if rc == -errno.EPERM:
            self._refuse_strangers()  # of which the context's text does not tell
        return self._context._check(rc)

    def _refuse_strangers(self) -> None:
        if self._cdata is not None and (self._inherited or self._is_of_another_thread):
            raise wrong_thread("this queue", "thread or process")

    @property
    def _inherited(self) -> bool:
        """Is this the child of a fork? Then the event loop's epoll, too, is the parent's."""
        return self._process != os.getpid()

    @property
    def _is_of_another_thread(self) -> bool:
        """Then the library ends nothing that is in flight."""
        return not self._inherited and not self._thread.runs()

    def _refuse_to_close(self) -> None:
        if not self._inherited:
            self._refuse_strangers()

    # --- requests ---

    def _prepare(self, user: Any, cache: Cache | None, call: Callable[..., int], *arguments: Any) -> None:
        number = next(self._numbers)
        # Noted before the call, since a signal's handler may raise an exception as soon as the call has returned.
        self._requests[number] = _Request(user, cache)
        rc = call(*arguments, ffi.cast("void *", number))
        if rc < 0:
            del self._requests[number]
        self._check(rc)

    def _drop(self, cache: Cache) -> None:
        """Of a cache that is closed no completion comes any more."""
        for number in [number for number, request in self._requests.items() if request.cache is cache]:
            del self._requests[number]

    def _transfer(self, call: Callable[..., int], file: File, memory: Memory, file_offset: int, memory_offset: int,
                  length_bytes: int | None, user: Any) -> None:
        self._prepare(user, None, call, self._handle, handle_of_file(file), *sizes(file_offset=file_offset),
                      *memory_range(memory, memory_offset, length_bytes))

    def read(self, file: File, memory: Memory, *, file_offset: int = 0, memory_offset: int = 0,
             length_bytes: int | None = None, user: Any = None) -> None:
        """Prepare a read from a file into memory, which it fills to its end unless a length is given, up to 1 GiB.

        Offsets and length are multiples of the file's align_bytes. Raises Error, with the code "queue-full" when
        completions have to be taken first, and as a copy does when the pair is refused.
        """
        self._transfer(lib.donard_queue_read, file, memory, file_offset, memory_offset, length_bytes, user)

    def write(self, file: File, memory: Memory, *, file_offset: int = 0, memory_offset: int = 0,
              length_bytes: int | None = None, user: Any = None) -> None:
        """Prepare a write from memory to a file; as read(). To be durable it needs flush() after its completion."""
        self._transfer(lib.donard_queue_write, file, memory, file_offset, memory_offset, length_bytes, user)

    def flush(self, file: File, *, user: Any = None) -> None:
        """Prepare to make durable what was written, of which the completions were taken."""
        self._prepare(user, None, lib.donard_queue_flush, self._handle, handle_of_file(file))

    def submit(self) -> None:
        """Let the requests so far begin."""
        self._check(lib.donard_queue_submit(self._handle))

    def cancel(self, user: Any) -> int:
        """End requests with this very object that have not begun; each still completes. How many are in flight.

        Of a canceled request that is longer than the file's `request_bytes` some bytes may have moved all the same.
        """
        numbers = [number for number, request in self._requests.items() if request.user is user]
        return sum(self._check(lib.donard_queue_cancel(self._handle, ffi.cast("void *", number))) for number in numbers)

    # --- completions ---

    def _completion(self, got: Any, user: Any) -> Completion:
        error = _error(got) if got.result < 0 else None
        return Completion(user, got.result, error, word("enum donard_route_type", got.route),
                          word("enum donard_evidence", got.evidence),
                          bool(got.flags & lib.DONARD_COMPLETION_BOUNCED),
                          bool(got.flags & lib.DONARD_COMPLETION_REGISTERED),
                          bool(got.flags & lib.DONARD_COMPLETION_VOLATILE))

    def _collect(self) -> None:
        """Keeps what the library has filled in, of this call or of one that a signal's handler broke off: each step may
        be the last, and none does harm when it is done again."""
        for index in range(self._filled):
            got = self._completions[index]
            number = int(ffi.cast("uintptr_t", got.user))
            if not number:
                continue
            if number in self._requests:
                self._taken[number] = self._completion(got, self._requests[number].user)
                del self._requests[number]
            got.user = ffi.NULL
        self._filled = 0

    def _hand_out(self) -> list[Completion]:
        taken, self._taken = self._taken, {}
        return list(taken.values())

    def _ask(self, call: Callable[..., int], *arguments: Any) -> int:
        """Takes completions. An error is raised when none are left to be handed out before."""
        self._refuse_strangers()  # before the owner's are touched, who may be in a call of the library now
        self._collect()
        self._filled = _BATCH  # for all that is known if a signal's handler raises now
        rc = call(self._handle, *arguments, self._completions, _BATCH)
        self._filled = max(rc, 0)
        self._collect()
        if rc < 0 and rc != -errno.EINTR and not self._taken:
            self._check(rc)
        return rc

    def poll(self) -> list[Completion]:
        """Take the completions that are there, and wait for none. It may wait up to half a second after the connection to a
        cache's server was lost, and by Linux AIO while it hands over requests for which there was no room."""
        while self._ask(lib.donard_queue_poll) == _BATCH:
            pass
        return self._hand_out()

    def wait(self, least: int = 1, timeout: float | None = None) -> list[Completion]:
        """Begin what was prepared, and wait for completions: at least so many, or for so many seconds.

        There are fewer when the time is over, or nothing more is in flight. Other threads run meanwhile; a signal's
        handler runs, and then the wait goes on unless it raised.
        """
        end = None if timeout is None or timeout > _FOREVER else time.monotonic() + timeout
        while True:
            wanted = min(max(least - len(self._taken), 0), _BATCH)
            left_ns = -1 if end is None else max(0, int((end - time.monotonic()) * 1e9))
            rc = self._ask(lib.donard_queue_wait, wanted, left_ns)
            is_over = end is not None and time.monotonic() >= end
            if len(self._taken) >= least or is_over or (rc <= 0 and rc != -errno.EINTR):
                return self._hand_out()

    def fileno(self) -> int:
        """A descriptor that is readable when there may be completions: then call poll(). It stays the queue's."""
        return self._check(lib.donard_queue_descriptor(self._handle))

    # --- write caches ---

    def connect(self, address: str, *, port: int = 0, depth: int = DEPTH, timeout_ms: int = 0) -> Cache:
        """Connect to a write cache, and wait for its server's answer; several may share the queue.

        address: of the server
        port: 0 is its default
        depth: requests of this cache that are held at most, beside those of the queue
        timeout_ms: how long the server may be silent, and may have no room for another client; 0 is 10 s
        """
        return Cache(self, address, port, depth, timeout_ms)

    # --- registered memory ---

    def register(self, memory: Memory) -> bool:
        """Look up a memory once for all requests; whether that is possible. It is held until unregister()."""
        return bool(self._check(lib.donard_queue_register(self._handle, handle_of(memory))))

    def unregister(self, memory: Memory) -> None:
        """Let go of a registered memory; waits for the requests in flight that use it."""
        self._check(lib.donard_queue_unregister(self._handle, handle_of(memory)))

    def info(self) -> QueueInfo:
        """What it has done."""
        info = sized("donard_queue_info")
        self._check(lib.donard_queue_info(self._handle, info))
        return QueueInfo._of(info)

    def close(self) -> None:
        """End it: what has not begun is canceled, and the rest waited for. Completions that were not taken are lost."""
        if self._cdata is None:
            return
        self._refuse_to_close()
        with contextlib.ExitStack() as ends:  # all of them, from the last one on, also when a signal's handler raises in one
            ends.callback(self._end)
            for cache in list(self._caches):
                ends.callback(cache.close)

    def _end(self) -> None:
        if self._closing is not None and not self._inherited:
            self._closing()
        handle, self._cdata = self._cdata, None
        try:
            self._context._root.release(handle, lib.donard_queue_close)
        finally:
            self._requests.clear()

    def __enter__(self) -> Queue:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self, warn: Callable[..., None] = warnings.warn) -> None:
        if self._cdata is not None and self._requests and self._is_of_another_thread:
            warn("a queue that was forgotten with requests in flight is finalized in another thread than its own: it keeps "
                 "their memory until the process ends. Close it in the thread that made it.", ResourceWarning, source=self)
