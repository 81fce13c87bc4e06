# SPDX-License-Identifier: Apache-2.0
"""The binding on this machine: memory, errors, threads; and queues over a file, with a sysfs made up for it."""
import asyncio
import concurrent.futures
import copy
import errno
import gc
import json
import math
import os
import pathlib
import pickle
import select
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock
import weakref

import numpy
from scene import BDF, BLOCK, HANG_SECONDS, Scene, WithQueues

import donard
import donard.aio
from donard._library import lib


class WithContext(unittest.TestCase):
    def setUp(self):
        self.context = donard.Context()
        self.addCleanup(self.context.close)


class Memory(WithContext):
    def test_numpy_sees_the_bytes(self):
        with self.context.dram(8192) as memory:
            seen = numpy.asarray(memory)
            self.assertEqual((seen.dtype, seen.shape, seen.sum()), (numpy.uint8, (8192,), 0))
            seen[:4] = [1, 2, 3, 4]
            self.assertEqual(memory.read(0, 5), b"\1\2\3\4\0")
            memory.write(b"after", 8187)
            self.assertEqual(bytes(seen[8187:]), b"after")
            self.assertEqual(seen.ctypes.data, memory.info.address)
            del seen

    def test_a_view_keeps_it_open(self):
        memory = self.context.dram(4096)
        for take in (numpy.asarray, lambda memory: memory.view()[16:32], lambda memory: numpy.frombuffer(memory.view(), "u4")):
            view = take(memory)
            with self.assertRaisesRegex(BufferError, "in use by a view"):
                memory.close()
            with self.assertRaisesRegex(BufferError, "in use by a view"):
                self.context.close()
            memory.write(b"still open")
            del view
        memory.close()
        with self.assertRaisesRegex(ValueError, "memory is closed"):
            memory.read()

    def test_a_close_that_a_signal_broke_off_forgets_no_view(self):
        class Reference(weakref.ref):
            def __call__(self):
                if signals:
                    raise signals.pop()
                return super().__call__()

        memory, signals = self.context.dram(4096), []
        with unittest.mock.patch("donard._memory.weakref.ref", Reference):
            view = memory.view()
            signals.append(KeyboardInterrupt)
            self.assertRaises(KeyboardInterrupt, memory.close)
            self.assertRaises(BufferError, memory.close)
            del view
            memory.close()

    def test_a_view_outlives_what_is_forgotten(self):
        context = donard.Context()
        memory = context.dram(4096)
        memory.write(b"here")
        view, gone = numpy.asarray(memory), weakref.ref(context)
        del memory, context
        gc.collect()
        self.assertEqual(bytes(view[:4]), b"here")
        view[:] = 1
        del view
        gc.collect()
        self.assertIsNone(gone())

    # The collector runs the finalizers of a cycle in any order.
    def test_a_cycle_ends_the_context_last(self):
        script = """
import gc, donard, donard._context as under
real, order = under.lib, []
class Told:
    def __getattr__(self, name):
        call = getattr(real, name)
        if name not in ("donard_close", "donard_queue_close", "donard_memory_free"):
            return call
        return lambda handle: (order.append(name), call(handle))
under.lib = Told()
def make():
    context = donard.Context()
    memory = context.dram(4096)
    context.cycle = [context, memory]
    try:
        context.cycle.append(context.queue())
    except donard.Error:
        pass
make()
gc.collect()
print(order[-1], order.count("donard_close"), len(order) > 1)"""
        seen = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, check=True)
        self.assertEqual(seen.stdout, "donard_close 1 True\n")

    def test_an_error_is_not_hidden_by_a_view(self):
        with self.assertRaisesRegex(ZeroDivisionError, "division"):
            with self.context.dram(4096) as memory:
                view = numpy.asarray(memory)
                view[0] = 1 // 0
        del view

    def test_it_is_a_buffer_from_3_12_on(self):
        with self.context.dram(4096) as memory:
            if sys.version_info >= (3, 12):
                self.assertEqual(len(memoryview(memory)), 4096)
            else:
                self.assertRaises(TypeError, memoryview, memory)

    def test_bytes_come_and_go(self):
        with self.context.dram(4096) as memory:
            memory.write(bytes(range(256)) * 16)
            memory.zero(256, 256)
            into = bytearray(512)
            memory.readinto(into, 128)
            self.assertEqual(into, bytes(range(128, 256)) + bytes(256) + bytes(range(128)))
            memory.sync()
            self.assertEqual((memory.state, memory.fileno(), len(memory)), ("ready", -1, 4096))
            with self.assertRaises(donard.Error) as caught:
                memory.read(4096, 1)
            self.assertEqual((caught.exception.errno, caught.exception.code), (errno.ENXIO, "past-end"))
            with self.assertRaises(donard.Error) as caught:
                memory.export()
            self.assertEqual((caught.exception.errno, caught.exception.exit_status), (errno.EOPNOTSUPP, 3))

    def test_words_of_errors(self):
        for text, expected in (("Leave PASSTHROUGH out, or pass ALLOW_BOUNCE.",
                                "Leave passthrough=True out, or pass allow_bounce=True."),
                               ("Use a smaller options.block_bytes (donard_region_list() shows it)",
                                "Use a smaller block_bytes (Context.regions() shows it)"),
                               ("Start donard_cache_serve() on that machine with options.listen and options.port of this address.",
                                "Start 'donard-cli cache serve' on that machine with --listen and --port of this address."),
                               ("Start it with options.listen and this address.", "Start it with --listen and this address."),
                               ("Format it anew for more (FORMAT, options.clients).", "Format it anew for more (--format, --clients)."),
                               ("choose another one by options.port; options.clients_most", "choose another one by port; clients_most"),
                               ("/mnt/VERIFY: VERIFY_ME", "/mnt/VERIFY: VERIFY_ME")):
            self.assertEqual(donard._errors.in_python(text), expected)
        with self.assertRaisesRegex(donard.Error, "^block_bytes"):
            self.context.copy("/dev/null", "/dev/null", block_bytes=1)

    def test_no_length(self):
        with self.assertRaisesRegex(donard.Error, "no memory has a length of 0"):
            self.context.dram(0)

    def test_wrong_numbers_are_called_by_name(self):
        with self.context.dram(4096) as memory, self.context.queue() as queue:
            for kind, said, call in (
                    (ValueError, "length_bytes is -1; it may be from 0", lambda: self.context.dram(-1)),
                    (ValueError, "length_bytes is 18446744073709551616", lambda: self.context.dram(2**64)),
                    (TypeError, "length_bytes is no integer, but '4K'", lambda: self.context.dram("4K")),
                    (TypeError, "length_bytes is no integer, but 1.5", lambda: self.context.alloc("p2pmem0", 1.5)),
                    (ValueError, "offset_bytes is -4096", lambda: self.context.claim("p2pmem0", -4096)),
                    (ValueError, "file_offset_bytes is -1", lambda: self.context.adopt_memory(0, -1, 4096)),
                    (ValueError, "fd is -1", lambda: self.context.from_dmabuf(-1)),
                    (ValueError, "offset_bytes is -1", lambda: self.context.from_dmabuf(0, -1)),
                    (TypeError, "length_bytes is no integer, but '4K'", lambda: self.context.from_dmabuf(0, 0, "4K")),
                    (ValueError, "fd is -1", lambda: self.context.adopt_file(-1)),
                    (TypeError, "fd is no integer, but None", lambda: self.context.adopt_file(None)),
                    (ValueError, "offset_bytes is -1", lambda: memory.read(-1)),
                    (ValueError, "offset_bytes is -1", lambda: memory.readinto(bytearray(1), -1)),
                    (ValueError, "length_bytes is -5", lambda: memory.zero(0, -5)),
                    (ValueError, "offset_bytes is -1", lambda: memory.write(b"x", -1)),
                    (ValueError, "length_bytes is -1", lambda: memory.export(0, -1)),
                    (ValueError, "depth is -1", lambda: self.context.queue(-1)),
                    (TypeError, "file is no donard.File, but None", lambda: queue.read(None, memory)),
                    (TypeError, "file is no donard.File, but None", lambda: queue.flush(None)),
                    (TypeError, "memory is no donard.Memory, but 'x'", lambda: queue.register("x")),
                    (TypeError, "memory is no donard.Memory, but 'x'", lambda: queue.unregister("x")),
                    (ValueError, "block_bytes is -1", lambda: self.context.copy("a", "b", block_bytes=-1)),
                    (ValueError, "queue_depth is 4294967296", lambda: self.context.copy("a", "b", queue_depth=2**32))):
                with self.subTest(said), self.assertRaises(kind) as caught:
                    call()
                self.assertIn(said, str(caught.exception))

    def test_a_dmabuf_may_be_what_has_a_descriptor(self):
        with open(os.devnull) as file:
            with self.assertRaisesRegex(donard.Error, rf"descriptor {file.fileno()} is not a dma-buf's.* Memory\.export\(\) "):
                self.context.from_dmabuf(file)

    # numpy raises ValueError for what memoryview raises BufferError for.
    def test_wrong_names_and_buffers_are_called_by_name(self):
        pairs, read_only, released = numpy.zeros((4, 2)), numpy.frombuffer(b"x", "u1"), memoryview(b"x")
        released.release()
        with self.context.dram(4096) as memory:
            for kind, said, call in (
                    (TypeError, "path is no string and no path, but None", lambda: self.context.open(None)),
                    (TypeError, "region is no string and no path, but 0", lambda: self.context.region(0)),
                    (TypeError, "src is no string and no path, but 1", lambda: self.context.copy(1, "b")),
                    (TypeError, "dst is no donard.Memory and no donard.File", lambda: self.context.copy(memory, "b")),
                    (ValueError, "dst has a null character", lambda: self.context.copy("a", "b\0c")),
                    (TypeError, "data is not bytes, nor another contiguous buffer: str", lambda: memory.write("text")),
                    (TypeError, "data is not bytes, nor another contiguous buffer: ndarray", lambda: memory.write(pairs.T)),
                    (ValueError, "released memoryview", lambda: memory.write(released)),
                    (TypeError, "into is not a buffer that can be written: ndarray", lambda: memory.readinto(read_only)),
                    (TypeError, "into is not a buffer that can be written: bytes", lambda: memory.readinto(b"x"))):
                with self.subTest(said), self.assertRaises(kind) as caught:
                    call()
                self.assertIn(said, str(caught.exception))

    def test_more_than_there_is_is_not_allocated_first(self):
        with self.context.dram(4096) as memory, self.assertRaises(donard.Error) as caught:
            memory.read(0, 2**60)
        self.assertEqual(caught.exception.code, "past-end")


class Errors(WithContext):
    def test_what_fails_says_why(self):
        with self.assertRaises(OSError) as caught:
            self.context.open("/nonexistent/file")
        error = caught.exception
        self.assertIsInstance(error, donard.Error)
        self.assertEqual(error.errno, errno.ENOENT)
        self.assertIn("/nonexistent/file", str(error))

    def test_what_fails_names_object_argument_and_numbers(self):
        for what, object_, member, value, limit in (
                (lambda: self.context.open("/nonexistent/file"), "/nonexistent/file", "", None, None),
                (lambda: self.context.copy("/nowhere/a", "/nowhere/b", block_bytes=700), "", "block_bytes", 700, 512),
                (lambda: self.context.copy("/nowhere/a", "/nowhere/b", force_bounce=True, allow_bounce=True), "", "force_bounce",
                 None, None),
                (lambda: self.context.dram(0), "dram", "length", 0, 1),
                (lambda: self.context.queue(2**20), "", "depth", 2**20, 4096)):
            with self.assertRaises(donard.Error) as caught:
                what()
            error = caught.exception
            self.assertEqual((error.object, error.member, error.value, error.limit), (object_, member, value, limit), str(error))

    def test_a_file_of_no_drive(self):
        with self.assertRaises(donard.Error) as caught:
            self.context.open("/proc/self/status")
        self.assertIn(caught.exception.code, ("not-nvme", "file-system"))

    def test_it_can_be_pickled(self):
        with self.assertRaises(donard.Error) as caught:
            self.context.copy("/dev/null", "/dev/null")
        error, again = caught.exception, pickle.loads(pickle.dumps(caught.exception))
        self.assertEqual((again.code, again.errno, str(again), again.result), (error.code, error.errno, str(error), error.result))
        self.assertEqual(vars(again), vars(error))

    def test_a_copy_that_failed_has_a_result(self):
        with self.assertRaises(donard.Error) as caught:
            self.context.copy("/dev/null", "/dev/null")
        self.assertEqual((caught.exception.result.bytes, caught.exception.result.route), (0, "none"))

    def test_a_copy_of_plain_memory_is_refused(self):
        with self.context.dram(4096) as memory, self.assertRaises(donard.Error) as caught:
            self.context.copy(memory, memory)
        self.assertEqual((caught.exception.code, caught.exception.result.bytes), ("unsupported", 0))

    def test_a_copy_is_told_by_the_context_of_its_ends(self):
        with donard.Context() as other, other.dram(4096) as memory, self.assertRaises(donard.Error) as caught:
            self.context.copy(memory, memory)
        self.assertEqual(caught.exception.code, "unsupported")

    def test_statuses_are_those_of_the_command(self):
        command = pathlib.Path(os.environ["LD_LIBRARY_PATH"]) / "donard-cli"
        if not command.exists():
            self.fail(f"there is no {command}: make userspace")
        for source, target in (("/dev/null", "/dev/null"), ("p2pmem0", "p2pmem0"), ("/nonexistent", "p2pmem0")):
            seen = subprocess.run([command, "copy", source, target, "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            with self.assertRaises(donard.Error) as caught:
                self.context.copy(source, target)
            said = json.loads(seen.stdout)["error"]
            error = caught.exception
            self.assertEqual((error.exit_status, error.code), (seen.returncode, said["code"]))
            # Its own commands may help, too.
            self.assertTrue(said["message"].startswith(str(error)), said["message"])

    def test_another_thread_is_refused(self):
        memory, caught = self.context.dram(4096), []

        def other():
            try:
                # What it adopts the memory by.
                caught.append((memory.fileno(), memory.info.file_offset_bytes, len(memory)))
                self.context.clients()
            except donard.Error as error:
                caught.append((error.code, error.errno))

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        self.assertEqual(caught, [(-1, 0, 4096), ("wrong-thread", errno.EPERM)])

    def test_another_thread_may_not_close_it(self):
        caught = []

        def other():
            try:
                self.context.close()
            except donard.Error as error:
                caught.append(str(error))

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        self.assertEqual(caught, ["this context belongs to another thread. Make one in each."])
        self.context.dram(1)

    def test_what_is_closed_says_so(self):
        context = donard.Context()
        memory = context.dram(4096)
        context.close()
        context.close()
        for call in (context.clients, memory.read, lambda: context.dram(1)):
            with self.assertRaisesRegex(ValueError, "closed"):
                call()

    def imported_with(self, folder):
        seen = subprocess.run([sys.executable, "-c", "import donard"], env={**os.environ, "LD_LIBRARY_PATH": folder},
                              stderr=subprocess.PIPE, text=True)
        return seen.stderr

    def test_no_library(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "libdonard.so.0").write_text("no library")
            self.assertIn("Install the package libdonard0", self.imported_with(folder))

    def test_no_library_of_meters(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "libdonard-meter.so.0").write_text("no library")
            self.assertIn("Install the package libdonard-meter0", self.imported_with(f"{folder}:{os.environ['LD_LIBRARY_PATH']}"))

    def test_the_library_of_another_version_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([*os.environ.get("CC", "cc").split(), "-shared", "-fPIC", "-x", "c", "-o", f"{folder}/libdonard.so.0",
                            "-"], input='const char *donard_version(void) { return "9.9.9"; }', text=True, check=True)
            self.assertIn("libdonard.so.0 is of version 9.9.9, and this package of 0.", self.imported_with(folder))


class Meters(WithContext):
    def test_nothing_is_counted(self):
        with self.context.dram(4096) as memory, self.context.measure("none", payload=[memory]) as measuring:
            pass
        self.assertEqual((measuring.result.meter, measuring.result.exact), ("none", False))
        self.assertTrue(measuring.result.missing)
        json.dumps(measuring.result.as_dict())

    def test_alone(self):
        with donard.measure("none") as measuring:
            pass
        self.assertEqual(measuring.result.meter, "none")

    # The measurement is the parent's, whichever way the child leaves its with statement.
    def test_the_child_of_a_fork(self):
        for leaves in (lambda: None, sys.exit):
            child = None
            try:
                with donard.measure("none") as measuring:
                    child = os.fork()
                    if not child:
                        leaves()
            except (donard.Error, SystemExit) as error:
                os._exit(getattr(error, "code", None) not in ("wrong-thread", None))
            finally:
                if child == 0:
                    os._exit(2)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            self.assertTrue(measuring.result.missing)

    def test_no_such_meter(self):
        with self.assertRaises(donard.Error) as caught:
            with self.context.measure("frob"):
                self.fail("it began")
        self.assertEqual(caught.exception.exit_status, 2)


class Lists(unittest.TestCase):
    def setUp(self):
        self.scene = Scene()
        self.addCleanup(self.scene.close)
        self.context = donard.Context(sysfs_root=str(self.scene.root), dev_root=str(self.scene.root))
        self.addCleanup(self.context.close)

    def test_regions(self):
        self.scene.region()
        region, = self.context.regions()
        self.assertEqual(region, self.context.region("p2pmem0"))
        self.assertEqual((region.name, region.kind, region.page_type, region.state), ("p2pmem0", "nvme-pmr", "generic", "ready"))
        self.assertEqual((region.size_bytes, region.available_bytes, region.offset_bytes), (256 << 20, 128 << 20, 4096))
        self.assertIs(region.persistent, True)
        self.assertIn("13 my tool 8192", region.holders)
        json.dumps(region.as_dict())

    def test_no_such_region(self):
        self.scene.region()
        with self.assertRaises(donard.Error) as caught:
            self.context.region("p2pmem9")
        self.assertEqual((caught.exception.code, caught.exception.exit_status), ("no-such-region", 1))

    def test_counts(self):
        self.scene.region()
        with self.assertRaisesRegex(donard.Error, "does not count maps"):
            self.context.region_counts("p2pmem0")
        self.scene._files("class/p2pmem/p2pmem0/statistics", maps=1, faults=2, pins=3, routes=4, read_bytes=5, written_bytes=6,
                          taken_bytes=7, peak_bytes=8)
        self.assertEqual(self.context.region_counts("p2pmem0"), donard.RegionCounts(1, 2, 3, 4, 5, 6, 7, 8))
        self.scene._file("block/nvme7n1/stat", "1 0 2 0 3 0 4 0 5 0 0")
        self.assertEqual(self.context.drive_counts("nvme7n1"), donard.DriveCounts(1, 3, 1024, 2048, 5))

    def test_clients(self):
        client, = self.context.clients()
        self.assertEqual((client.name, client.bdf, client.type, client.namespaces), ("nvme7", BDF, "nvme", ("nvme7n1",)))


class Queues(WithQueues):
    def read_blocks(self, queue, count=16):
        for index in range(count):
            queue.read(self.file, self.memory, file_offset=index * BLOCK, memory_offset=index * BLOCK, length_bytes=BLOCK,
                       user=("block", index))

    def test_reads_and_writes_in_flight(self):
        queue = self.queue()
        self.read_blocks(queue)
        self.assertEqual(queue.info().in_flight, 16)
        got = []
        while len(got) < 16:
            got += queue.wait(16 - len(got))
        self.assertEqual(sorted(one.user for one in got), [("block", index) for index in range(16)])
        self.assertEqual({(one.check(), one.route, one.error, one.bounced) for one in got}, {(BLOCK, "dram", None, False)})
        self.assertEqual(self.memory.read(), self.scene.data)
        view = numpy.asarray(self.memory)
        view += 1
        expected = view.tobytes()
        del view
        queue.write(self.file, self.memory)
        self.assertEqual(queue.wait()[0].check(), len(expected))
        queue.flush(self.file, user=self)
        self.assertIs(queue.wait()[0].user, self)
        self.assertEqual(self.scene.path.read_bytes(), expected)
        self.assertEqual((queue.info().requests, queue.info().in_flight), (18, 0))

    def test_the_object_lives_until_its_completion(self):
        class Token:
            pass

        queue, token = self.queue(), Token()
        seen = weakref.ref(token)
        queue.read(self.file, self.memory, user=token)
        del token
        gc.collect()
        self.assertIsNotNone(seen())
        completion, = queue.wait()
        self.assertIs(completion.user, seen())
        del completion
        gc.collect()
        self.assertIsNone(seen())

    def test_a_refused_request_leaves_nothing(self):
        class Token:
            pass

        queue, token = self.queue(), Token()
        with self.assertRaises(donard.Error) as caught:
            queue.read(self.file, self.memory, file_offset=1, user=token)
        self.assertEqual((caught.exception.errno, caught.exception.code), (errno.EINVAL, "alignment"))
        del caught
        seen = weakref.ref(token)
        del token
        gc.collect()
        self.assertIsNone(seen())
        self.assertEqual(queue.wait(), [])

    def test_a_full_queue(self):
        queue = self.queue(depth=2)
        self.read_blocks(queue, 2)
        with self.assertRaises(donard.Error) as caught:
            self.read_blocks(queue, 1)
        self.assertEqual((caught.exception.errno, caught.exception.code), (errno.EAGAIN, "queue-full"))
        got = queue.wait(2)
        self.assertEqual(len(got), 2)

    def test_a_request_that_a_signal_broke_off(self):
        queue = self.queue()
        self.interrupted("donard_queue_read", lambda: queue.read(self.file, self.memory, user="first"))
        queue.read(self.file, self.memory, user="second")
        self.assertEqual(sorted(one.user for one in queue.wait(2)), ["first", "second"])

    def test_a_wait_that_a_signal_broke_off(self):
        queue = self.queue()
        self.read_blocks(queue, 3)
        self.interrupted("donard_queue_wait", lambda: queue.wait(3))
        self.assertEqual(sorted(one.user for one in queue.wait(3)), [("block", index) for index in range(3)])
        self.assertEqual(queue.wait(), [])

    def test_completions_of_which_a_signal_left_some(self):
        queue = self.queue()
        self.read_blocks(queue, 3)
        taken = queue._completion

        def broken_off(got, user):
            if queue._taken:
                raise KeyboardInterrupt
            return taken(got, user)

        with unittest.mock.patch.object(queue, "_completion", broken_off), self.assertRaises(KeyboardInterrupt):
            queue.wait(3)
        self.assertEqual(sorted(one.user for one in queue.wait(3)), [("block", index) for index in range(3)])
        self.assertEqual(queue.wait(), [])

    def test_a_refusal_of_the_kernel_is_no_other_thread(self):
        class Refusing:
            def __getattr__(self, name):
                return (lambda *arguments: -errno.EPERM) if name == "donard_queue_read" else getattr(lib, name)

        queue = self.queue()
        with unittest.mock.patch("donard._queue.lib", Refusing()), self.assertRaises(donard.Error) as caught:
            queue.read(self.file, self.memory)
        self.assertEqual((caught.exception.errno, caught.exception.code == "wrong-thread"), (errno.EPERM, False))

    # Each wait of the library is ended by a signal: the whole ends all the same.
    def test_a_wait_keeps_its_time(self):
        class Interrupted:
            def __getattr__(self, name):
                return (lambda *arguments: -errno.EINTR) if name == "donard_queue_wait" else getattr(lib, name)

        queue = self.queue()
        with unittest.mock.patch("donard._queue.lib", Interrupted()):
            self.assertEqual(queue.wait(timeout=0.05), [])

    # A signal leaves some of them, and its handler does not raise: more of the memory is still a device's.
    def test_a_wait_goes_on_after_a_signal(self):
        class Interrupted:
            def __getattr__(self, name):
                if name != "donard_queue_wait":
                    return getattr(lib, name)
                return lambda queue, least, timeout, completions, most: lib.donard_queue_wait(queue, 1, timeout, completions, 1)

        queue = self.queue()
        self.read_blocks(queue, 3)
        with unittest.mock.patch("donard._queue.lib", Interrupted()):
            self.assertEqual(len(queue.wait(3)), 3)

    def test_more_than_the_library_takes_at_once(self):
        queue = self.queue(depth=256)
        for index in range(128):
            queue.read(self.file, self.memory, length_bytes=BLOCK, user=index)
        self.assertEqual(len(queue.wait(128)), 128)
        self.assertEqual(queue.info().in_flight, 0)

    def test_it_can_be_polled(self):
        queue = self.queue()
        self.read_blocks(queue)
        queue.submit()
        got = []
        while len(got) < 16:
            self.assertTrue(select.select([queue], [], [], HANG_SECONDS)[0])
            got += queue.poll()
        self.assertEqual(queue.poll(), [])
        self.assertEqual(self.memory.read(), self.scene.data)

    def test_nothing_in_flight(self):
        queue = self.queue()
        self.assertEqual((queue.wait(timeout=0), queue.poll(), queue.cancel(None)), ([], [], 0))
        self.assertEqual((queue.wait(timeout=math.inf), queue.wait(timeout=1e10)), ([], []))

    def test_another_thread_is_refused(self):
        queue, caught = self.queue(), []
        queue._taken[0] = "the owner's"

        def other():
            for call in (queue.poll, queue.submit, queue.wait, queue.info, queue.fileno, queue.close, self.memory.close,
                         self.file.close):
                try:
                    call()
                except donard.Error as error:
                    caught.append((error.code, str(error)))

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        self.assertEqual(caught, [("wrong-thread", "this queue belongs to another thread or process. Make one in each.")] * 6 +
                         [("wrong-thread", "this context belongs to another thread. Make one in each.")] * 2)
        self.assertEqual(queue.poll(), ["the owner's"])

    # By its own with statements; the requests are the parent's.
    def test_the_child_of_a_fork_may_close(self):
        queue = self.queue()
        self.read_blocks(queue, 3)
        queue.submit()
        child = os.fork()
        if not child:
            status = 1
            try:
                with self.context, queue:
                    status = 2
                status = 0
            finally:
                os._exit(status)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(len(queue.wait(3)), 3)

    def test_a_copy_in_another_thread_is_refused(self):
        def other():
            with donard.Context() as own:
                own.copy(self.file, self.file)

        with concurrent.futures.ThreadPoolExecutor() as threads, self.assertRaises(donard.Error) as caught:
            threads.submit(other).result()
        self.assertEqual(caught.exception.code, "wrong-thread")

    def test_closed_with_requests_in_flight(self):
        queue = self.queue()
        self.read_blocks(queue)
        queue.submit()
        self.memory.close()
        self.file.close()
        queue.close()
        with self.assertRaisesRegex(ValueError, "queue is closed"):
            queue.poll()

    def test_what_closes_a_handle_is_not_copied(self):
        for one in (self.context, self.file, self.memory, self.queue(), donard.Cache.__new__(donard.Cache)):
            for make in (copy.copy, copy.deepcopy, pickle.dumps):
                with self.assertRaisesRegex(TypeError, f"^a donard.{type(one).__name__} cannot be copied or pickled"):
                    make(one)

    def test_short_at_the_end_of_a_file(self):
        queue = self.queue()
        queue.read(self.file, self.memory, file_offset=8 * BLOCK)
        self.assertEqual(queue.wait()[0].check(), 8 * BLOCK)

    def test_a_file_that_is_not_open_for_writing(self):
        queue = self.queue()
        with self.context.open(self.scene.path) as file, self.assertRaises(donard.Error) as caught:
            queue.write(file, self.memory)
        self.assertEqual(caught.exception.errno, errno.EROFS)

    def test_info_of_a_file(self):
        info = self.file.info
        self.assertEqual((info.kind, info.disk, info.size_bytes, info.clients, info.writable),
                         ("file", "nvme7n1", len(self.scene.data), (BDF,), True))
        self.assertGreaterEqual(info.align_bytes, 512)

    def test_asyncio(self):
        self.queue().close()

        async def everything():
            async with donard.aio.Queue(self.context, depth=4) as queue:
                done = await asyncio.gather(*(queue.read(self.file, self.memory, file_offset=at, memory_offset=at,
                                                         length_bytes=BLOCK)
                                              for at in range(0, len(self.memory), BLOCK)))
                self.assertEqual(self.memory.read(), self.scene.data)
                self.memory.zero()
                await queue.write(self.file, self.memory)
                await queue.flush(self.file)
                with self.assertRaises(donard.Error):
                    await queue.read(self.file, self.memory, file_offset=1)
                return done, queue.queue.info()

        done, info = asyncio.run(everything())
        self.assertEqual([one.check() for one in done], [BLOCK] * 16)
        self.assertEqual((info.depth, info.requests), (4, 18))
        self.assertEqual(set(self.scene.path.read_bytes()), {0})

    # Its requests fail with what kept them from it, and none before the device has let go.
    def test_asyncio_a_queue_that_cannot_begin(self):
        self.queue().close()

        async def failing():
            async with donard.aio.Queue(self.context) as queue:
                refusal = donard.Error(errno.ENOMEM, "no memory", "no-memory")
                with unittest.mock.patch.object(queue.queue, "submit", side_effect=refusal):
                    with self.assertRaises(donard.Error) as caught:
                        await queue.read(self.file, self.memory)
                self.assertIs(caught.exception, refusal)
                return queue.queue.info().in_flight

        self.assertEqual(asyncio.run(failing()), 0)

    def test_asyncio_canceled_at_the_end(self):
        self.queue().close()
        queues = []

        async def body():
            async with donard.aio.Queue(self.context) as queue:
                queues.append(queue.queue)
                asyncio.ensure_future(queue.read(self.file, self.memory))
                await asyncio.sleep(0)

        async def canceled():
            task = asyncio.ensure_future(body())
            await asyncio.sleep(0)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task

        asyncio.run(canceled())
        with self.assertRaisesRegex(ValueError, "queue is closed"):
            queues[0].poll()

    # Long requests run out of commands before the queue is full.
    def test_asyncio_more_commands_than_there_are(self):
        self.queue().close()
        self.scene.smallest_commands()
        count = 300  # of 256 commands each, and 65536 are in flight at most

        async def everything():
            async with donard.aio.Queue(self.context, depth=count) as queue:
                return await asyncio.gather(*(queue.read(self.file, self.memory) for _ in range(count)))

        with self.context.open(self.scene.path) as self.file:
            done = asyncio.run(everything())
        self.assertEqual([one.check() for one in done], [len(self.scene.data)] * count)
        self.assertEqual(self.memory.read(), self.scene.data)

    # By its context, or by itself: then the loop forgets its descriptor, and whoever waits is canceled.
    def test_asyncio_closed_beneath(self):
        self.queue().close()

        async def closed(close):
            async with donard.aio.Queue(self.context) as queue:
                descriptor = queue.queue.fileno()
                task = asyncio.ensure_future(queue.read(self.file, self.memory))
                await asyncio.sleep(0)
                close(queue)
                done, _ = await asyncio.wait([task], timeout=HANG_SECONDS)
                self.assertTrue(done and task.cancelled())
                self.assertFalse(asyncio.get_running_loop().remove_reader(descriptor))
                with self.assertRaisesRegex(ValueError, "queue is closed"):
                    await queue.read(self.file, self.memory)

        # Not asyncio.run(), which would wait for ever for a task that does not end.
        loop = asyncio.new_event_loop()
        self.addCleanup(loop.close)
        for close in (lambda queue: queue.queue.close(), lambda queue: self.context.close()):
            loop.run_until_complete(asyncio.wait_for(closed(close), 2 * HANG_SECONDS))

    def test_asyncio_closed_after_its_loop(self):
        self.queue().close()

        async def forget():
            kept.append(donard.aio.Queue(self.context))

        kept = []
        asyncio.run(forget())
        self.context.close()
        self.assertTrue(kept[0]._is_over)

    def test_asyncio_a_canceled_task_waits_for_the_device(self):
        self.queue().close()

        async def canceled():
            async with donard.aio.Queue(self.context) as queue:
                task = asyncio.ensure_future(queue.read(self.file, self.memory))
                await asyncio.sleep(0)
                self.assertEqual(queue.queue.info().in_flight, 1)
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
                return queue.queue.info().in_flight

        self.assertEqual(asyncio.run(canceled()), 0)


if __name__ == "__main__":
    unittest.main()
