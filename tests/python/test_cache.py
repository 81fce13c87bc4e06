# SPDX-License-Identifier: Apache-2.0
"""The client of a write cache: what the library is asked, and whose the completions are. No RDMA: see server.py."""
import asyncio
import errno
import unittest
import unittest.mock

from scene import HANG_SECONDS, forgotten
from server import Library

import donard
import donard.aio
from donard._library import ffi, lib


class AnyFile(donard.File):
    """What the library's stand-in takes for one."""
    _handle = ffi.NULL

    def __init__(self):
        pass


class WithLibrary(unittest.TestCase):
    def setUp(self):
        self.library = Library()
        for module in ("_cache", "_queue"):
            patch = unittest.mock.patch(f"donard.{module}.lib", self.library)
            patch.start()
            self.addCleanup(patch.stop)
        self.context = donard.Context()
        self.addCleanup(self.context.close)
        self.memory = self.context.dram(8192)
        try:
            self.context.queue().close()
        except donard.Error as error:
            if error.code != "unsupported":
                raise
            self.skipTest("io_uring is switched off on this machine")


class Caches(WithLibrary):
    def setUp(self):
        super().setUp()
        self.queue = self.context.queue()

    def test_what_is_asked(self):
        with self.queue.connect("192.0.2.1", port=7, depth=3, timeout_ms=500) as cache:
            cache.write(self.memory, drive_offset=4096, memory_offset=4096)
            cache.read(self.memory, length_bytes=512)
            cache.trim(drive_offset=1 << 40, length_bytes=512)
            cache.flush()
            cache.flush(to_drive=True)
            cache.register(self.memory, reads=False)
        self.assertEqual(self.library.calls, [
            ("connect", "192.0.2.1", 7, 3, 500), ("write", 4096, 4096, 4096), ("read", 0, 0, 512), ("trim", 1 << 40, 512),
            ("flush", 0), ("flush", lib.DONARD_CACHE_TO_DRIVE), ("register", lib.DONARD_CACHE_FOR_WRITES), ("close",)])

    def test_completions_are_the_queues(self):
        one, other = self.queue.connect("192.0.2.1"), self.queue.connect("192.0.2.2")
        one.write(self.memory, user="one")
        other.flush(user="other")
        self.library.complete(8192, lib.DONARD_COMPLETION_VOLATILE)
        self.library.complete(-errno.ECONNRESET)
        first, second = self.queue.poll()
        self.assertEqual((first.user, first.check(), first.volatile), ("one", 8192, True))
        self.assertEqual((second.user, second.result, second.volatile), ("other", -errno.ECONNRESET, False))
        self.assertEqual((second.error.errno, second.error.object, second.error.value), (errno.ECONNRESET, "192.0.2.1", None))
        self.assertRaises(donard.Error, second.check)

    def test_a_cache_that_is_closed_leaves_the_others_requests(self):
        one, other = self.queue.connect("192.0.2.1"), self.queue.connect("192.0.2.2")
        one.flush(user="one")
        self.library.complete()
        one.flush(user="lost")
        one.close()
        other.flush(user="other")
        self.library.complete()
        self.assertEqual([done.user for done in self.queue.poll()], ["other"])
        with self.assertRaisesRegex(ValueError, "cache is closed"):
            one.flush()

    def test_a_queue_closes_its_caches(self):
        cache = self.queue.connect("192.0.2.1")
        self.queue.close()
        self.assertEqual(self.library.calls[-1], ("close",))
        with self.assertRaisesRegex(ValueError, "queue is closed"):
            cache.info()
        cache.close()
        self.assertEqual(self.library.calls.count(("close",)), 1)

    def test_a_close_that_a_signal_broke_off(self):
        def close(cache):
            self.library.calls.append(("close",))
            raise KeyboardInterrupt

        file = AnyFile()
        with unittest.mock.patch.object(self.library, "donard_cache_close", close):
            one, other = self.queue.connect("192.0.2.1"), self.queue.connect("192.0.2.2")
            one.flush()
            self.queue.flush(file)
            self.assertRaises(KeyboardInterrupt, one.close)
            self.assertEqual(len(self.queue._requests), 1)
            self.assertRaises(KeyboardInterrupt, self.queue.close)
        self.assertEqual(self.library.calls.count(("close",)), 2)
        self.assertEqual((other._cdata, self.queue._cdata, self.queue._requests), (None, None, {}))

    # Nobody else could ever end it, and the queue would keep it alive.
    def test_a_connection_that_a_signal_broke_off_is_closed(self):
        connect = self.library.donard_cache_connect
        for is_made, last in (True, "close"), (False, "failed"):
            def broken_off(queue, options, out):
                if is_made:
                    connect(queue, options, out)
                else:
                    self.library.calls.append(("failed",))
                raise KeyboardInterrupt

            with unittest.mock.patch.object(self.library, "donard_cache_connect", broken_off):
                self.assertRaises(KeyboardInterrupt, self.queue.connect, "192.0.2.1")
            self.assertEqual(self.library.calls[-1], (last,))
        self.assertEqual(list(self.queue._caches), [])

    def test_a_connection_that_another_thread_forgets_is_told_of(self):
        kept = []

        def make():
            kept.append(donard.Context().queue())
            return [kept[0].connect("192.0.2.1")]

        (category, message), = forgotten(make)
        self.assertEqual(category, ResourceWarning)
        self.assertIn("a connection to a cache that was forgotten", message)

    def test_wrong_arguments_are_called_by_name(self):
        cache = self.queue.connect("192.0.2.1")
        for kind, said, call in (
                (ValueError, "port is 65536", lambda: self.queue.connect("192.0.2.1", port=65536)),
                (TypeError, "address is no string", lambda: self.queue.connect(7)),
                (TypeError, "memory is no donard.Memory", lambda: cache.write(b"bytes")),
                (TypeError, "memory is no donard.Memory", lambda: cache.register("x")),
                (TypeError, "memory is no donard.Memory", lambda: cache.forget("x")),
                (ValueError, "drive_offset is -1", lambda: cache.read(self.memory, drive_offset=-1)),
                (ValueError, "memory_offset is -1", lambda: cache.read(self.memory, memory_offset=-1)),
                (TypeError, "length_bytes is no integer", lambda: cache.trim(drive_offset=0, length_bytes="4K"))):
            with self.assertRaisesRegex(kind, said):
                call()


class Awaited(WithLibrary):
    """take() stands for the queue's descriptor, which nothing makes readable here."""

    def take(self, queue, **how):
        self.library.complete(**how)
        queue._take()

    def test_room_is_that_of_the_cache(self):
        async def body():
            async with donard.aio.Queue(self.context) as queue, queue.connect("192.0.2.1", depth=1) as cache:
                tasks = [asyncio.ensure_future(cache.write(self.memory)), asyncio.ensure_future(cache.flush())]
                await asyncio.sleep(0)
                self.assertEqual(self.library.calls[1:], [("write", 0, 0, 8192)])
                self.take(queue, result=8192)
                self.assertEqual((await tasks[0]).result, 8192)
                await asyncio.sleep(0)
                self.assertEqual(self.library.calls[2:], [("flush", 0)])
                self.take(queue, result=-errno.ECONNRESET)
                with self.assertRaises(donard.Error):
                    await tasks[1]

        asyncio.run(body())
        self.assertEqual(self.library.calls[-1], ("close",))

    def test_a_cache_that_is_closed_gives_up_its_requests(self):
        async def body():
            async with donard.aio.Queue(self.context) as queue:
                cache = queue.connect("192.0.2.1")
                task = asyncio.ensure_future(cache.flush())
                await asyncio.sleep(0)
                cache.cache.close()
                await asyncio.wait([task], timeout=HANG_SECONDS)
                self.assertTrue(task.cancelled())

        asyncio.run(body())

    # A device may write for a read; and where the server's drive fails, a flush to it waits for hours.
    def test_a_canceled_flush_ends_at_once_and_a_read_does_not(self):
        async def body():
            async with donard.aio.Queue(self.context) as queue, queue.connect("192.0.2.1", depth=2) as cache:
                tasks = [asyncio.ensure_future(cache.flush(to_drive=True)), asyncio.ensure_future(cache.read(self.memory))]
                await asyncio.sleep(0)
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks, timeout=0.1)
                self.assertEqual([task.done() for task in tasks], [True, False])
                self.take(queue)
                self.take(queue, result=8192)
                await asyncio.wait(tasks, timeout=HANG_SECONDS)
                self.assertTrue(tasks[1].cancelled())
                tasks = [asyncio.ensure_future(cache.flush(to_drive=True))]
                await asyncio.sleep(0)
                tasks[0].cancel()

        asyncio.run(asyncio.wait_for(body(), 2 * HANG_SECONDS))

    # What nobody waits for takes room all the same: until it has ended the next one waits.
    def test_a_canceled_flush_still_takes_room(self):
        async def body():
            async with donard.aio.Queue(self.context) as queue, queue.connect("192.0.2.1", depth=1) as cache:
                write, full = cache.cache.write, [donard.Error(errno.EAGAIN, "full", "queue-full")]

                def refuse_once(*arguments, **options):
                    if full:
                        raise full.pop()
                    write(*arguments, **options)

                task = asyncio.ensure_future(cache.flush())
                await asyncio.sleep(0)
                task.cancel()
                await asyncio.wait([task])
                with unittest.mock.patch.object(cache.cache, "write", refuse_once):
                    task = asyncio.ensure_future(cache.write(self.memory))
                    await asyncio.sleep(0.01)
                self.take(queue)
                await asyncio.sleep(0.01)
                self.take(queue, result=8192)
                await task

        asyncio.run(asyncio.wait_for(body(), 2 * HANG_SECONDS))

    # The library's close waits for a flush that a drive has begun, and nothing else of the loop would run until then.
    def test_a_canceled_flush_of_a_file_does_not_stop_the_loop(self):
        file = AnyFile()

        async def flush(queue):
            async with queue:
                task = asyncio.ensure_future(queue.flush(file))
                await asyncio.sleep(0.01)
                task.cancel()

        async def body():
            for cancellations in range(3):
                queue = donard.aio.Queue(self.context)
                task = asyncio.ensure_future(flush(queue))
                while not task.done() and not queue._ending:
                    await asyncio.sleep(0.001)
                for _ in range(cancellations):
                    task.cancel()
                    await asyncio.sleep(0.01)
                self.assertEqual((task.done(), queue._is_over), (False, False))
                with self.assertRaisesRegex(ValueError, "queue is closed"):
                    await queue.flush(file)
                self.take(queue)
                await asyncio.wait([task], timeout=HANG_SECONDS)
                self.assertEqual((task.cancelled(), queue._is_over), (cancellations > 0, True))

        asyncio.run(asyncio.wait_for(body(), 2 * HANG_SECONDS))

    # They would get bytes, and ask for more, of a queue that is about to close.
    def test_who_waits_for_a_queue_that_is_canceled_is_canceled(self):
        file = AnyFile()
        tasks = []

        async def flush(queue):
            async with queue:
                tasks.append(asyncio.ensure_future(queue.flush(file)))
                await asyncio.sleep(0)

        async def body():
            queue = donard.aio.Queue(self.context)
            tasks.append(asyncio.ensure_future(flush(queue)))
            while not queue._own.waiting:
                await asyncio.sleep(0.001)
            tasks[0].cancel()
            await asyncio.sleep(0.01)
            self.assertEqual([task.done() for task in tasks], [False, False])
            self.take(queue)
            await asyncio.wait(tasks, timeout=HANG_SECONDS)
            self.assertEqual([task.cancelled() for task in tasks], [True, True])

        asyncio.run(asyncio.wait_for(body(), 2 * HANG_SECONDS))

    async def take_until(self, task, queue):
        while not task.done():
            if self.library.begun:
                self.take(queue)
            await asyncio.sleep(0)
        return await task

    async def one_after_the_other(self, end, ask):
        """Two requests, where there is room for one, that are still to come when the block around them ends."""
        async with end:
            tasks = [asyncio.ensure_future(ask()) for _ in range(2)]
            await asyncio.sleep(0)
        return await asyncio.gather(*tasks, return_exceptions=True)

    # It does not matter how many of them have room.
    def test_the_end_waits_for_who_waits_for_room(self):
        file = AnyFile()

        async def body():
            async with donard.aio.Queue(self.context, depth=1) as other, donard.aio.Queue(self.context, depth=1) as queue:
                cache = other.connect("192.0.2.1", depth=1)
                for end, ask, taken in (queue, lambda: queue.flush(file), queue), (cache, cache.flush, other):
                    done = await self.take_until(asyncio.ensure_future(self.one_after_the_other(end, ask)), taken)
                    self.assertEqual([getattr(one, "result", one) for one in done], [0, 0])

        asyncio.run(asyncio.wait_for(body(), 2 * HANG_SECONDS))

    # The loop does not run between two of its requests: it asks one of them at any time.
    def test_the_end_waits_for_who_asks_queue_and_cache_in_turn(self):
        file = AnyFile()

        async def alternate(queue, cache):
            return [(await ask()).result for _ in range(3) for ask in (lambda: queue.flush(file), cache.flush)]

        async def ending(queue):
            async with queue:
                task = asyncio.ensure_future(alternate(queue, queue.connect("192.0.2.1")))
                await asyncio.sleep(0)
            return await asyncio.gather(task, return_exceptions=True)

        async def body():
            queue = donard.aio.Queue(self.context)
            self.assertEqual(await self.take_until(asyncio.ensure_future(ending(queue)), queue), [[0] * 6])

        asyncio.run(asyncio.wait_for(body(), 2 * HANG_SECONDS))

    # As all else that has a with statement.
    def test_a_connection_may_be_left_twice(self):
        async def body():
            async with donard.aio.Queue(self.context) as queue, queue.connect("192.0.2.1") as cache:
                async with cache:
                    pass
                self.assertEqual(self.library.calls[-1], ("close",))
                with self.assertRaisesRegex(donard.Error, "connection lost"):
                    async with cache:
                        raise donard.Error(errno.ECONNRESET, "connection lost", "system")

        asyncio.run(body())

    def test_a_queue_whose_close_a_signal_broke_off_gives_up(self):
        async def body():
            queue = donard.aio.Queue(self.context)
            with unittest.mock.patch.object(self.library, "donard_cache_close", side_effect=ZeroDivisionError):
                cache = queue.connect("192.0.2.1")
                task = asyncio.ensure_future(cache.flush())
                await asyncio.sleep(0)
                with self.assertRaises(ZeroDivisionError):
                    queue._end(donard.Error(errno.EIO, "no more", "io"))
            with self.assertRaisesRegex(donard.Error, "no more"):
                await task

        asyncio.run(body())

    def test_a_queue_that_ends_gives_up_its_caches(self):
        async def body():
            queue = donard.aio.Queue(self.context)
            cache = queue.connect("192.0.2.1")
            task = asyncio.ensure_future(cache.flush())
            await asyncio.sleep(0)
            queue._end(donard.Error(errno.EIO, "no more", "io"))
            with self.assertRaisesRegex(donard.Error, "no more"):
                await task

        asyncio.run(body())


if __name__ == "__main__":
    unittest.main()
