# SPDX-License-Identifier: Apache-2.0
"""Queues and write caches for asyncio: each request is awaited.

    async with donard.aio.Queue(context) as queue:
        done = await asyncio.gather(*(queue.read(drive, memory, memory_offset=at, length_bytes=BLOCK)
                                      for at in range(0, len(memory), BLOCK)))
        async with queue.connect("192.0.2.1") as cache:
            await cache.write(memory)
"""
from __future__ import annotations

import asyncio
import contextlib
import errno
from typing import Any, Callable

from ._cache import DEPTH
from ._cache import Cache as _Cache
from ._context import Context
from ._errors import Error
from ._file import File
from ._memory import Memory
from ._queue import Completion
from ._queue import Queue as _Queue

__all__ = ["Cache", "Queue"]


class _InFlight:
    """The requests of a queue or of a cache: what waits for their ends, and for room where it holds no more of them."""

    def __init__(self, queue: Queue, depth: int) -> None:
        self._queue = queue
        self._room = asyncio.Semaphore(depth)
        self._turn = asyncio.Lock()
        self._one_ended = asyncio.Event()
        self._begun: set[asyncio.Future[Completion]] = set()
        self.waiting: set[asyncio.Future[Completion]] = set()  # those of them that a task waits for
        self.asking = 0  # tasks that wait for one, or for room

    async def _prepare(self, prepare: Callable[..., None], *arguments: Any, **options: Any) -> None:
        """There is more to run out of than requests, such as the commands that long ones are cut into."""
        async with self._turn:
            while True:
                self._one_ended.clear()
                try:
                    prepare(*arguments, **options)
                    return
                except Error as error:
                    if error.code != "queue-full" or not self._begun:
                        raise
                await self._one_ended.wait()

    def _end_one(self, future: asyncio.Future[Completion]) -> None:
        self._begun.discard(future)
        self._one_ended.set()
        if not future.cancelled():
            future.exception()  # of which nobody may wait to be told

    async def request(self, prepare: Callable[..., None], *arguments: Any, moves: bool = True, **options: Any) -> Completion:
        """moves: a device reads or writes memory for it"""
        self.asking += 1
        try:
            async with self._room:
                return await self._request(prepare, *arguments, moves=moves, **options)
        finally:
            self.asking -= 1
            self._one_ended.set()

    async def _request(self, prepare: Callable[..., None], *arguments: Any, moves: bool, **options: Any) -> Completion:
        future = self._queue._loop.create_future()
        await self._prepare(prepare, *arguments, user=future, **options)
        future.add_done_callback(self._end_one)
        self._begun.add(future)
        self.waiting.add(future)
        try:
            return await self._queue._ended(future, moves)
        finally:
            self.waiting.discard(future)

    async def none(self) -> None:
        """Waits until nobody asks for one."""
        while self.asking:
            self._one_ended.clear()
            await self._one_ended.wait()

    def give_up_soon(self) -> None:
        """What is below is about to close. Its close waits for the devices; only then those who still wait may go on."""
        if not self._queue._loop.is_closed():
            self._queue._loop.call_soon(self.give_up)

    def give_up(self, error: Exception | None = None) -> None:
        """No completion comes any more."""
        for future in self._begun:
            if not future.done():
                if error is None:
                    future.cancel()
                else:
                    future.set_exception(error)


class Queue:
    """A queue in the event loop that runs; the keyword arguments are those of Context.queue().

    A request that finds the queue full waits for room. What is asked for in one turn of the loop begins together. The
    completion of a request that failed is raised as its Error. Whoever still waits for one when the queue or its
    context is closed is canceled; who waits for room then gets ValueError.
    """

    def __init__(self, context: Context, **options: Any) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue = context.queue(**options)
        self._own = _InFlight(self, self._queue.info().depth)
        self._all = [self._own]
        self._submitting: asyncio.Handle | None = None
        self._submit_error: Exception | None = None
        self._ending = False
        self._fd = self._queue.fileno()
        self._queue._closing = self._closing
        self._loop.add_reader(self._fd, self._take)

    @property
    def queue(self) -> _Queue:
        """The queue below: register() memory with it, or ask for its info()."""
        return self._queue

    def _submit(self) -> None:
        self._submitting = None
        try:
            self._queue.submit()
        except OSError as error:
            # Requests that have begun go on, and are awaited; the others complete as canceled.
            self._submit_error = error
            for future in self._own.waiting:
                self._queue.cancel(future)
            self._loop.call_soon(self._take)

    def _take(self) -> None:
        if self._is_over:
            return
        try:
            completions = self._queue.poll()
        except OSError as error:
            self._end(error)
            return
        for completion in completions:
            if completion.user.done():
                continue
            if self._ending and completion.user in self._own._begun:
                completion.user.cancel()
            else:
                completion.user.set_result(completion)

    @property
    def _is_over(self) -> bool:
        return self._queue._cdata is None

    def _closing(self) -> None:
        """Of the queue below: its context may be closed first."""
        if self._submitting is not None:
            self._submitting.cancel()
        if not self._loop.is_closed():
            self._loop.remove_reader(self._fd)
        for in_flight in self._all:
            in_flight.give_up_soon()

    def _end(self, error: Exception | None = None) -> None:
        try:
            self._queue.close()
        finally:
            for in_flight in self._all:
                in_flight.give_up(error)

    async def _drain(self) -> None:
        """No request of files is taken any more, and those there are have ended after this, in spite of cancellations: the
        close of the queue below waits for the devices, and the event loop would stand meanwhile."""
        canceled: asyncio.CancelledError | None = None
        self._ending = True
        if self._is_over or self._queue._inherited:
            return
        for future in self._own._begun:
            self._queue.cancel(future)
        self._loop.call_soon(self._take)
        while not self._is_over and (left := [future for future in self._own._begun if not future.done()]):
            try:
                await asyncio.wait(left)
            except asyncio.CancelledError as error:
                canceled = error
        if canceled is not None:
            raise canceled

    async def _ended(self, future: asyncio.Future[Completion], moves: bool) -> Completion:
        """A canceled task still waits for what moves: until the request has ended a device may write to its memory."""
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            if not future.done() and not self._is_over:
                self._queue.cancel(future)
            while moves and not future.done():
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.wait([future])
            raise

    def _prepare(self, prepare: Callable[..., None], *arguments: Any, **options: Any) -> None:
        if self._ending:
            raise ValueError("the queue is closed")
        prepare(*arguments, **options)
        if self._submitting is None:
            self._submitting = self._loop.call_soon(self._submit)

    async def _request(self, *arguments: Any, **options: Any) -> Completion:
        completion = await self._own.request(self._prepare, *arguments, **options)
        if completion.result == -errno.ECANCELED and self._submit_error is not None:
            raise self._submit_error
        completion.check()
        return completion

    async def read(self, file: File, memory: Memory, *, file_offset: int = 0, memory_offset: int = 0,
                   length_bytes: int | None = None) -> Completion:
        """Read from a file into memory; as the read() of donard.Queue."""
        return await self._request(self._queue.read, file, memory, file_offset=file_offset,
                                   memory_offset=memory_offset, length_bytes=length_bytes)

    async def write(self, file: File, memory: Memory, *, file_offset: int = 0, memory_offset: int = 0,
                    length_bytes: int | None = None) -> Completion:
        """Write from memory to a file; as the write() of donard.Queue."""
        return await self._request(self._queue.write, file, memory, file_offset=file_offset,
                                   memory_offset=memory_offset, length_bytes=length_bytes)

    async def flush(self, file: File) -> Completion:
        """Make durable what was written and awaited."""
        return await self._request(self._queue.flush, file, moves=False)

    def connect(self, address: str, *, depth: int = DEPTH, **options: Any) -> Cache:
        """Connect to a write cache; the connect() of donard.Queue has the arguments. The event loop stands until the server
        has answered."""
        return Cache(self, self._queue.connect(address, depth=depth, **options), depth)

    async def __aenter__(self) -> Queue:
        return self

    async def __aexit__(self, *error: object) -> None:
        """Ends the queue, and its caches, when nobody waits for a request or for room any more, or this task is canceled. What
        a device has begun for files is awaited before, also for those who were canceled, and the event loop runs meanwhile."""
        try:
            try:
                # A task that has waited for one may then ask another one, which nobody had asked before.
                while asked := [in_flight for in_flight in self._all if in_flight.asking]:
                    await asked[0].none()
            finally:
                await self._drain()
        finally:
            self._end()


class Cache:
    """A connection to a write cache, which the connect() of a Queue makes. A request that finds it full waits for room.

    The event loop keeps the connection: a task that does not let it run for longer than the server waits loses it.
    """

    def __init__(self, queue: Queue, cache: _Cache, depth: int) -> None:
        self._queue = queue
        self._cache = cache
        self._own = _InFlight(queue, depth or DEPTH)
        cache._closing = self._own.give_up_soon
        queue._all.append(self._own)

    @property
    def cache(self) -> _Cache:
        """The cache below: register() memory with it, or ask for its info()."""
        return self._cache

    async def _request(self, *arguments: Any, **options: Any) -> Completion:
        completion = await self._own.request(*arguments, **options)
        completion.check()
        return completion

    async def write(self, memory: Memory, *, drive_offset: int = 0, memory_offset: int = 0,
                    length_bytes: int | None = None) -> Completion:
        """Write memory to the drive behind the cache; as the write() of donard.Cache."""
        return await self._request(self._cache.write, memory, drive_offset=drive_offset, memory_offset=memory_offset,
                                   length_bytes=length_bytes)

    async def read(self, memory: Memory, *, drive_offset: int = 0, memory_offset: int = 0,
                   length_bytes: int | None = None) -> Completion:
        """Read the newest bytes; as the read() of donard.Cache."""
        return await self._request(self._cache.read, memory, drive_offset=drive_offset, memory_offset=memory_offset,
                                   length_bytes=length_bytes)

    async def trim(self, *, drive_offset: int, length_bytes: int) -> Completion:
        """Say that blocks are not needed any more."""
        return await self._request(self._cache.trim, drive_offset=drive_offset, length_bytes=length_bytes, moves=False)

    async def flush(self, *, to_drive: bool = False) -> Completion:
        """Make durable what was written and awaited; to_drive: as far as the drive."""
        return await self._request(self._cache.flush, to_drive=to_drive, moves=False)

    async def __aenter__(self) -> Cache:
        return self

    async def __aexit__(self, *error: object) -> None:
        """Ends the connection when nobody waits for a request or for room any more, or at once if this task is canceled."""
        try:
            await self._own.none()
        finally:
            if self._own in self._queue._all:
                self._queue._all.remove(self._own)
            self._cache.close()
