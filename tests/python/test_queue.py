# SPDX-License-Identifier: Apache-2.0
"""Queues over a file of the scene: what ends before it begins, what a signal breaks off, and to which thread they belong."""
import ctypes
import errno
import os
import sys
import threading
import unittest
import unittest.mock

from scene import BLOCK, WithQueues, forgotten

import donard
from donard._library import lib


def twice_in_a_thread_of_c(call):
    """The second time as the destructor of a value of the thread, when the first call has returned."""
    libc = ctypes.CDLL(None)
    key, thread = ctypes.c_uint(), ctypes.c_ulong()
    at_end = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(call)

    @ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
    def start(_):
        call(None)
        libc.pthread_setspecific(key, ctypes.c_void_p(1))

    libc.pthread_key_create(ctypes.byref(key), at_end)
    libc.pthread_create(ctypes.byref(thread), None, start, None)
    libc.pthread_join(thread, None)
    libc.pthread_key_delete(key)


class Canceled(WithQueues):
    # None of them begins while another one ends.
    def test_all_requests_of_an_object(self):
        queue, job = self.queue(), object()
        # Else io_uring gives the writes to a thread, where a cancel finds them.
        os.fsync(self.file.fileno())
        os.posix_fadvise(self.file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        for index in range(3):
            queue.write(self.file, self.memory, file_offset=index * BLOCK, length_bytes=BLOCK, user=job)
        self.assertEqual(queue.cancel(job), 3)
        self.assertEqual([one.result for one in queue.wait(3)], [-errno.ECANCELED] * 3)
        self.assertEqual(self.scene.path.read_bytes(), self.scene.data)


class BrokenOff(WithQueues):
    """By what a signal's handler raises when a call has returned."""

    def make_and_close(self, name, make):
        """All in it: a finalizer calls the library as it was when the handle was made."""
        self.interrupted(name, lambda: make().close(), ("_context", "_file", "_memory", "_queue"))

    # What cffi calls may not raise: the program would go on.
    def test_a_close(self):
        self.make_and_close("donard_memory_free", lambda: self.context.dram(BLOCK))
        self.make_and_close("donard_file_close", lambda: self.context.open(self.scene.path))
        self.make_and_close("donard_queue_close", self.queue)
        root = self.context._root
        self.context.close()
        self.assertEqual(root._open, [])

    # Nobody else could ever free it.
    def test_a_handle_that_was_made(self):
        def make(*arguments):
            lib.donard_memory_dram(*arguments)
            raise KeyboardInterrupt

        free = unittest.mock.Mock(side_effect=lib.donard_memory_free)
        self.assertRaises(KeyboardInterrupt, self.context._make, "donard_memory", free, make, BLOCK)
        self.assertEqual(free.call_count, 1)

    def test_a_descriptor_that_was_made(self):
        class Library:
            def __getattr__(self, name):
                return export if name == "donard_memory_export" else getattr(lib, name)

        def export(memory, offset, length, flags, fd):
            if is_made:
                made.append(os.open(os.devnull, os.O_RDONLY))
                fd[0] = made[0]
            raise KeyboardInterrupt

        made = []
        with unittest.mock.patch("donard._memory.lib", Library()):
            for is_made in False, True:
                self.assertRaises(KeyboardInterrupt, self.memory.export)
        self.assertRaises(OSError, os.fstat, made[0])

    def test_a_close_of_several_closes_all(self):
        def make():
            made.append(donard.Context(sysfs_root=str(self.scene.root), dev_root=str(self.scene.root)))
            made.extend((made[0].queue(), made[0].dram(BLOCK)))
            return made[0]

        made = []
        self.queue().close()
        self.make_and_close("donard_queue_close", make)
        self.assertEqual([one._cdata for one in made], [None] * 3)
        self.assertEqual(made[0]._root._open, [])

    def test_a_close_within_a_close(self):
        def end(*_):
            made[0].close()
            sys.exit(3)

        made = [donard.Context(sysfs_root=str(self.scene.root), dev_root=str(self.scene.root))]
        made.extend((made[0].queue(), made[0].dram(BLOCK)))
        self.interrupted("donard_queue_close", made[0].close, handler=end, raises=SystemExit)
        self.assertEqual([one._cdata for one in made], [None] * 3)
        self.assertEqual((made[0]._root._holds, made[0]._root._open), ([], []))


class Threads(WithQueues):
    # The C library gives a thread the identity of one that has ended.
    def test_a_later_thread_is_another(self):
        made, idents, caught = [], [], []

        def make():
            context = donard.Context()
            made.extend((context, context.queue()))
            idents.append(threading.get_ident())

        def other():
            idents.append(threading.get_ident())
            for call in (made[1].poll, made[1].submit, made[1].info, made[1].close, made[0].regions, made[0].close):
                try:
                    call()
                except donard.Error as error:
                    caught.append(error.code)

        self.queue().close()
        for _ in range(100):
            made.clear()
            idents.clear()
            caught.clear()
            for run in (make, other):
                thread = threading.Thread(target=run)
                thread.start()
                thread.join()
            if len(set(idents)) == 1:
                break
        else:
            self.skipTest("no thread got the identity of the one before")
        self.assertEqual(caught, ["wrong-thread"] * 6)

    # Python has no object of a thread that C made: each call from there seems to come from a new one.
    def test_a_thread_of_c_stays_the_same(self):
        made, seen = [], []

        def call(_):
            try:
                if not made:
                    made.append(donard.Context())
                    made.append(made[0].queue())
                made[0].dram(BLOCK).close()
                seen.append(made[1].poll())
            except donard.Error as error:
                seen.append(error)

        self.queue().close()
        twice_in_a_thread_of_c(call)
        self.assertEqual(seen, [[], []])

    # Nothing can end its requests there.
    def test_a_queue_that_another_thread_forgets_is_told_of(self):
        def make(reads):
            context = donard.Context(sysfs_root=str(self.scene.root), dev_root=str(self.scene.root))
            queue = context.queue()
            if reads:
                queue.read(context.open(self.scene.path), context.dram(BLOCK))
                queue.submit()
            return [queue]

        self.queue().close()
        self.assertEqual(forgotten(lambda: make(False)), [])
        (category, message), = forgotten(lambda: make(True))
        self.assertEqual(category, ResourceWarning)
        self.assertIn("a queue that was forgotten with requests in flight", message)

    # Of the one that made it, also while another one exists.
    def test_a_thread_knows_its_own(self):
        def own():
            with donard.Context() as context, context.queue() as queue:
                seen.append((queue.poll(), queue.info().requests))

        seen = []
        self.queue().close()
        threads = [threading.Thread(target=own) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(seen, [([], 0)] * 2)


if __name__ == "__main__":
    unittest.main()
