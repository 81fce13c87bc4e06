#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program that wraps cuFile as Python's wrappers do: nothing linked, calls found by name.

cufile_wrapper.py FILE host|gpu straight|compat

Which way the bytes go is what cufile.json says; the program checks that it was that way.
"""
import contextlib
import ctypes
import os
import sys

BYTES = 1 << 20
COMPLETE = 0x10


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("cuda", ctypes.c_int)]


class Descriptor(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("fd", ctypes.c_void_p), ("operations", ctypes.c_void_p)]


class Request(ctypes.Structure):
    _fields_ = [("mode", ctypes.c_int), ("base", ctypes.c_void_p), ("file_offset", ctypes.c_long),
                ("offset", ctypes.c_long), ("bytes", ctypes.c_size_t), ("handle", ctypes.c_void_p),
                ("operation", ctypes.c_int), ("cookie", ctypes.c_void_p)]


class Event(ctypes.Structure):
    _fields_ = [("cookie", ctypes.c_void_p), ("status", ctypes.c_int), ("result", ctypes.c_size_t)]


class Counts(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t)] + [(name, ctypes.c_uint64) for name in (
        "reads", "writes", "failures", "read_bytes", "written_bytes", "staged_bytes", "compat_bytes")]


def equal(what, expected, seen):
    assert expected == seen, f"{what}: expected {expected}, seen {seen}"


class CuFile:
    """The library, by the first of its names that is found."""

    def __init__(self):
        self.lib = None
        for name in ("libcufile.so.1", "libcufile.so.0", "libcufile.so"):
            with contextlib.suppress(OSError):
                self.lib = ctypes.CDLL(name, mode=os.RTLD_LAZY | os.RTLD_LOCAL | os.RTLD_NODELETE)
                break
        assert self.lib, "no libcufile"
        for name in ("cuFileRead", "cuFileWrite"):
            function = getattr(self.lib, name)
            function.restype = ctypes.c_ssize_t
            function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_long, ctypes.c_long]
        for name in ("cuFileHandleDeregister", "cuFileBatchIODestroy"):
            getattr(self.lib, name).restype = None
            getattr(self.lib, name).argtypes = [ctypes.c_void_p]

    def has(self, name):
        return hasattr(self.lib, name)

    def call(self, name, *arguments):
        function = getattr(self.lib, name)
        function.restype = Error
        error = function(*arguments)
        equal(f"{name}: code (and error {error.cuda} of CUDA)", 0, error.code)

    def version(self):
        """0 of a library that is too old to say."""
        if not self.has("cuFileGetVersion"):
            return 0
        version = ctypes.c_int()
        self.call("cuFileGetVersion", ctypes.byref(version))
        return version.value

    @contextlib.contextmanager
    def driver(self):
        self.call("cuFileDriverOpen")
        try:
            yield
        finally:
            self.call("cuFileDriverClose_v2" if self.has("cuFileDriverClose_v2") else "cuFileDriverClose")

    @contextlib.contextmanager
    def file(self, path, flags):
        fd = os.open(path, flags)
        handle = ctypes.c_void_p()
        try:
            self.call("cuFileHandleRegister", ctypes.byref(handle), ctypes.byref(Descriptor(1, fd)))
            yield handle
        finally:
            self.lib.cuFileHandleDeregister(handle)
            os.close(fd)

    @contextlib.contextmanager
    def registered(self, address, length):
        self.call("cuFileBufRegister", ctypes.c_void_p(address), ctypes.c_size_t(length), 0)
        try:
            yield
        finally:
            self.call("cuFileBufDeregister", ctypes.c_void_p(address))

    def counts(self):
        counts = Counts(size=ctypes.sizeof(Counts))
        equal("donard_cufile_counts()", 0, self.lib.donard_cufile_counts(ctypes.byref(counts)))
        return counts


class Host:
    """Memory as numpy or a bytearray has it, page-aligned."""

    stream = ctypes.c_void_p()

    def __init__(self):
        self.libc = ctypes.CDLL(None)
        self.libc.aligned_alloc.restype = ctypes.c_void_p
        self.libc.aligned_alloc.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
        self.address = self.libc.aligned_alloc(65536, BYTES)

    def put(self, data):
        ctypes.memmove(self.address, data, len(data))

    def get(self, length=BYTES):
        return ctypes.string_at(self.address, length)

    def wait(self):
        pass

    def close(self):
        self.libc.free(ctypes.c_void_p(self.address))


class Gpu:
    """Memory and a stream of the first GPU, by the CUDA driver's own calls."""

    def __init__(self):
        self.lib = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        address, self.stream = ctypes.c_uint64(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuCtxCreate_v2", ctypes.byref(context), 0, device)
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(BYTES))
        self.call("cuStreamCreate", ctypes.byref(self.stream), 1)
        self.address = address.value

    def call(self, name, *arguments):
        equal(name, 0, getattr(self.lib, name)(*arguments))

    def put(self, data):
        self.call("cuMemcpyHtoD_v2", ctypes.c_uint64(self.address), data, ctypes.c_size_t(len(data)))

    def get(self, length=BYTES):
        data = ctypes.create_string_buffer(length)
        self.call("cuMemcpyDtoH_v2", data, ctypes.c_uint64(self.address), ctypes.c_size_t(length))
        return data.raw

    def wait(self):
        self.call("cuStreamSynchronize", self.stream)

    def close(self):
        self.call("cuStreamDestroy_v2", self.stream)
        self.call("cuMemFree_v2", ctypes.c_uint64(self.address))


def plain(cufile, handle, memory, data):
    memory.put(bytes(BYTES))
    equal("cuFileRead()", BYTES, cufile.lib.cuFileRead(handle, memory.address, BYTES, 0, 0))
    assert memory.get() == data
    equal("cuFileRead() of what is not aligned", 12345, cufile.lib.cuFileRead(handle, memory.address, 12345, 77, 0))
    assert memory.get(12345) == data[77:77 + 12345]
    memory.put(data[::-1])
    equal("cuFileWrite()", BYTES, cufile.lib.cuFileWrite(handle, memory.address, BYTES, 0, 0))


def batch(cufile, handle, memory, data):
    count = 8
    piece = BYTES // count
    number = ctypes.c_void_p()
    requests = (Request * count)(*(Request(1, memory.address, i * piece, i * piece, piece, handle.value, 0, i + 1)
                                   for i in range(count)))
    events = (Event * count)()
    done = ctypes.c_uint(count)
    memory.put(bytes(BYTES))
    cufile.call("cuFileBatchIOSetUp", ctypes.byref(number), ctypes.c_uint(count))
    cufile.call("cuFileBatchIOSubmit", number, ctypes.c_uint(count), requests, ctypes.c_uint(0))
    cufile.call("cuFileBatchIOGetStatus", number, ctypes.c_uint(count), ctypes.byref(done), events, None)
    equal("events", count, done.value)
    equal("their cookies", list(range(1, count + 1)), sorted(event.cookie for event in events))
    equal("their ends", {(COMPLETE, piece)}, {(event.status, event.result) for event in events})
    cufile.lib.cuFileBatchIODestroy(number)
    assert memory.get() == data


def asynchronous(cufile, handle, memory, data):
    size, at, offset = ctypes.c_size_t(BYTES), ctypes.c_long(0), ctypes.c_long(0)
    done = ctypes.c_ssize_t(0)
    memory.put(bytes(BYTES))
    cufile.call("cuFileStreamRegister", memory.stream, ctypes.c_uint(15))
    cufile.call("cuFileReadAsync", handle, ctypes.c_void_p(memory.address), ctypes.byref(size), ctypes.byref(at),
                ctypes.byref(offset), ctypes.byref(done), memory.stream)
    memory.wait()
    equal("what cuFileReadAsync() read", BYTES, done.value)
    cufile.call("cuFileStreamDeregister", memory.stream)
    assert memory.get() == data


def beside_a_child(cufile, handle, memory):
    """What a forked worker inherits keeps nothing pinned: registered again it goes as straight as before."""
    reader, writer = os.pipe()
    with cufile.registered(memory.address, BYTES):
        child = os.fork()
        if not child:
            os.close(writer)
            os.read(reader, 1)
            os._exit(0)
    staged = cufile.counts().staged_bytes
    with cufile.registered(memory.address, BYTES):
        equal("cuFileRead()", BYTES, cufile.lib.cuFileRead(handle, memory.address, BYTES, 0, 0))
    equal("bytes staged beside a child", staged, cufile.counts().staged_bytes)
    os.close(writer)
    equal("the child", (child, 0), os.waitpid(child, 0))


def main():
    path, kind, way = sys.argv[1:]
    data = os.urandom(BYTES)
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    memory = Gpu() if kind == "gpu" else Host()
    cufile = CuFile()
    equal("cuFileGetVersion()", 1090, cufile.version())
    # Calls of newer libraries, for which a wrapper looks before it uses them.
    equal("names that are not there", [], [name for name in ("cuFileGetStatsL1", "cuFileGetBARSizeInKB") if cufile.has(name)])
    with cufile.driver():
        with cufile.file(path, os.O_RDWR) as handle, cufile.registered(memory.address, BYTES):
            plain(cufile, handle, memory, data)
            batch(cufile, handle, memory, data[::-1])
            asynchronous(cufile, handle, memory, data[::-1])
        with cufile.file(path, os.O_RDWR) as handle:
            beside_a_child(cufile, handle, memory)
        counts = cufile.counts()
        equal("failures", 0, counts.failures)
        moved = counts.read_bytes + counts.written_bytes
        equal("bytes", 5 * BYTES + 12345, moved)
        equal("bytes in compatibility mode", moved if way == "compat" else 0, counts.compat_bytes)
        equal("bytes that are not aligned", 0 if way == "compat" else 12345, counts.staged_bytes)
    memory.close()
    with open(path, "rb") as file:
        assert file.read(BYTES) == data[::-1]
    print(f"{moved} bytes, {counts.compat_bytes} of them in compatibility mode")


main()
