#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Do the Python programs of cuFile run on donard's libcufile as they are?

usage: wrappers.py torch|bindings FOLDER

torch: PyTorch's GdsFile, which is linked with libcufile.  bindings: NVIDIA's own binding (cuda.bindings.cufile), which
looks it up by dlopen() and dlsym().  Both bring NVIDIA's library with them, so LD_PRELOAD names donard's.  FOLDER is for
the files.  Prints what was seen; ends with 1 at what is wrong, with 77 where the program is not installed.
"""
import ctypes
import importlib
import os
import sys

BYTES = 4 << 20
NOT_INSTALLED = 77


class Counts(ctypes.Structure):
    """struct donard_cufile_counts"""
    _fields_ = [("size", ctypes.c_size_t)] + [(name, ctypes.c_uint64) for name in (
        "reads", "writes", "failures", "read_bytes", "written_bytes", "staged_bytes", "compat_bytes")]


def equal(what, expected, seen):
    if expected != seen:
        sys.exit(f"{what}: expected {expected!r}, seen {seen!r}")


def counts():
    """What donard's library did in this process.  NVIDIA's does not have the call."""
    seen = Counts(size=ctypes.sizeof(Counts))
    library = ctypes.CDLL("libcufile.so.0")
    if not hasattr(library, "donard_cufile_counts"):
        sys.exit("libcufile.so.0 of this process is not donard's: name that by LD_PRELOAD")
    equal("donard_cufile_counts()", 0, library.donard_cufile_counts(ctypes.byref(seen)))
    return seen


def moved(read, written):
    """Ends with an error unless donard's library moved at least these numbers of bytes."""
    seen = counts()
    if seen.read_bytes < read or seen.written_bytes < written:
        sys.exit(f"counts: expected {read} and {written} bytes at least, seen {seen.read_bytes} and {seen.written_bytes}")
    print(f"{seen.reads} reads of {seen.read_bytes} bytes, {seen.writes} writes of {seen.written_bytes} bytes, "
          f"{seen.compat_bytes} of them in compatibility mode, {seen.failures} failures")


def module(name):
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        print(error)
        sys.exit(NOT_INSTALLED)


def refused(what, call, *args):
    """The text of the error with which the call ends."""
    try:
        call(*args)
    except Exception as error:  # pylint: disable=broad-exception-caught
        return str(error)
    sys.exit(f"{what}: expected an error, seen none")


def with_torch(folder):
    torch, gds = module("torch"), module("torch.cuda.gds")
    file = gds.GdsFile(os.path.join(folder, "torch"), os.O_CREAT | os.O_RDWR)
    total = 0
    for count in (BYTES, 3001, 1, 65536):
        for is_registered in (False, True):
            source = torch.randint(0, 256, (count,), dtype=torch.uint8, device="cuda")
            target = torch.zeros(count, dtype=torch.uint8, device="cuda")
            if is_registered:
                gds.gds_register_buffer(source.untyped_storage())
                gds.gds_register_buffer(target.untyped_storage())
            file.save_storage(source.untyped_storage(), offset=4096)
            file.load_storage(target.untyped_storage(), offset=4096)
            equal(f"{count} bytes, there and back", True, torch.equal(source, target))
            if is_registered:
                gds.gds_deregister_buffer(source.untyped_storage())
                gds.gds_deregister_buffer(target.untyped_storage())
            total += count
    lonely = torch.zeros(4096, dtype=torch.uint8, device="cuda").untyped_storage()
    print(refused("a buffer that is not registered", gds.gds_deregister_buffer, lonely))
    moved(total, total)


def fill(cuda, address, data):
    equal("cuMemcpyHtoD", 0, int(cuda.cuMemcpyHtoD(address, data, len(data))[0]))


def compare(cuda, what, address, data):
    seen = ctypes.create_string_buffer(len(data))
    equal("cuMemcpyDtoH", 0, int(cuda.cuMemcpyDtoH(seen, address, len(data))[0]))
    equal(what, True, seen.raw == data)


def through_batch(cufile, cuda, handle, buffers):
    data = [os.urandom(65536) for _ in buffers]
    batch = cufile.batch_io_set_up(len(buffers))
    requests, events = cufile.IOParams(len(buffers)), cufile.IOEvents(len(buffers))
    for opcode in (cufile.Opcode.WRITE, cufile.Opcode.READ):
        for i, address in enumerate(buffers):
            fill(cuda, address, data[i] if opcode == cufile.Opcode.WRITE else bytes(65536))
            requests[i].mode, requests[i].fh, requests[i].opcode = cufile.BatchMode.BATCH, handle, opcode
            requests[i].cookie = i + 1
            part = requests[i].u.batch
            part.dev_ptr_base, part.file_offset, part.dev_ptr_offset = address, i * 65536, 0
            setattr(part, "size_" if hasattr(part, "size_") else "size", 65536)
        cufile.batch_io_submit(batch, len(buffers), requests.ptr, 0)
        count, timeout = ctypes.c_uint(len(buffers)), (ctypes.c_long * 2)(60, 0)
        cufile.batch_io_get_status(batch, len(buffers), ctypes.addressof(count), events.ptr, ctypes.addressof(timeout))
        equal("events of a batch", len(buffers), count.value)
        for i in range(len(buffers)):
            equal("result of an entry", (cufile.Status.COMPLETE, 65536), (events[i].status, events[i].ret))
        equal("cookies", set(range(1, len(buffers) + 1)), {int(events[i].cookie) for i in range(len(buffers))})
    cufile.batch_io_destroy(batch)
    for i, address in enumerate(buffers):
        compare(cuda, "the bytes of a batch", address, data[i])


def through_stream(cufile, cuda, handle, address):
    error, stream = cuda.cuStreamCreate(1)
    equal("cuStreamCreate", 0, int(error))
    data = os.urandom(65536)
    cufile.stream_register(int(stream), 0)
    size, at, offset, done = ctypes.c_size_t(65536), ctypes.c_int64(0), ctypes.c_int64(0), ctypes.c_ssize_t(0)
    for call in (cufile.write_async, cufile.read_async):
        done.value = 0
        fill(cuda, address, data if call is cufile.write_async else bytes(65536))
        call(handle, address, ctypes.addressof(size), ctypes.addressof(at), ctypes.addressof(offset),
             ctypes.addressof(done), int(stream))
        cuda.cuStreamSynchronize(stream)
        equal(f"bytes of {call.__name__}", 65536, done.value)
    compare(cuda, "the bytes of a stream", address, data)
    cufile.stream_deregister(int(stream))
    cuda.cuStreamDestroy(stream)


def parameters(cufile):
    """Each one that the binding knows can be asked for."""
    for kind, get in (("SizeTConfigParameter", cufile.get_parameter_size_t), ("BoolConfigParameter", cufile.get_parameter_bool),
                      ("StringConfigParameter", lambda number: cufile.get_parameter_string(number, 4096))):
        for parameter in getattr(cufile, kind):
            try:
                get(parameter)
            except cufile.cuFileError as error:
                sys.exit(f"{kind}.{parameter.name}: expected a value, seen {error}")


def with_bindings(folder):
    cufile, cuda = module("cuda.bindings.cufile"), module("cuda.bindings.driver")
    for call in (lambda: cuda.cuInit(0), lambda: cuda.cuCtxSetCurrent(cuda.cuDevicePrimaryCtxRetain(0)[1])):
        equal("CUDA", 0, int(call()[0]))
    parameters(cufile)
    cufile.driver_open()
    fd = os.open(os.path.join(folder, "bindings"), os.O_CREAT | os.O_RDWR | os.O_DIRECT)
    file = cufile.Descr()
    file.type, file.handle.fd, file.fs_ops = cufile.FileHandleType.OPAQUE_FD, fd, 0
    handle = cufile.handle_register(file.ptr)
    address = int(cuda.cuMemAlloc(BYTES)[1])
    data = os.urandom(BYTES)
    fill(cuda, address, data)
    cufile.buf_register(address, BYTES, 0)
    print(refused("a second registration", cufile.buf_register, address, BYTES, 0))
    equal("bytes written", BYTES, cufile.write(handle, address, BYTES, 0, 0))
    fill(cuda, address, bytes(BYTES))
    equal("bytes read", BYTES, cufile.read(handle, address, BYTES, 0, 0))
    compare(cuda, "the bytes", address, data)
    cufile.buf_deregister(address)
    through_batch(cufile, cuda, handle, [int(cuda.cuMemAlloc(65536)[1]) for _ in range(4)])
    through_stream(cufile, cuda, handle, address)
    print(refused("a handle that is none", cufile.handle_register, 0))
    moved(BYTES + 5 * 65536, BYTES + 5 * 65536)
    cufile.handle_deregister(handle)
    os.close(fd)
    cufile.driver_close()


if __name__ == "__main__":
    {"torch": with_torch, "bindings": with_bindings}[sys.argv[1]](sys.argv[2])
