# SPDX-License-Identifier: Apache-2.0
"""A sysfs in which a file of this machine lies on an NVMe drive, as tests/unit/queue_scene.c has it; in the build folder."""
import contextlib
import gc
import os
import pathlib
import shutil
import signal
import tempfile
import threading
import unittest
import unittest.mock
import warnings

import donard
from donard._library import lib

BLOCK = 64 << 10
BDF = "0000:01:00.0"
# What only ends a hang: of a wait. Of a whole test, twice that.
HANG_SECONDS = 60


def forgotten(make):
    """The warnings when this thread forgets what another one, which is still there, has made; make() returns a list."""
    made, has_made, may_end = [], threading.Event(), threading.Event()

    def run():
        try:
            made.extend(make())
        finally:
            has_made.set()
        may_end.wait(HANG_SECONDS)

    thread = threading.Thread(target=run)
    thread.start()
    has_made.wait(HANG_SECONDS)
    gc.collect()  # what others have forgotten
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            made.clear()
            gc.collect()
        return [(one.category, str(one.message)) for one in told]
    finally:
        may_end.set()
        thread.join()


class Scene:
    """Folders below root; close() removes them."""

    def __init__(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="scene-", dir=os.path.abspath(os.environ["LD_LIBRARY_PATH"])))
        self.path = self.root / "d" / "file"
        self.path.parent.mkdir()
        self.data = os.urandom(16 * BLOCK)
        self.path.write_bytes(self.data)
        self._nvme()
        device = self.path.stat().st_dev
        self._link(f"dev/block/{os.major(device)}:{os.minor(device)}", "block/nvme7n1")

    def _file(self, path, value):
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"{value}\n")

    def _link(self, path, target):
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(self.root / target)

    def _files(self, folder, **values):
        for name, value in values.items():
            self._file(f"{folder}/{name}", value)

    def _nvme(self):
        home = f"devices/pci/{BDF}/nvme/nvme7"
        self._files(home, transport="pcie", address=BDF, state="live", model="Model X", serial="S1")
        self._files(f"{home}/nvme7n1", size=2048)
        self._files(f"{home}/nvme7n1/queue", logical_block_size=4096, max_sectors_kb=128)
        self._link(f"{home}/nvme7n1/device", home)
        self._link("class/nvme/nvme7", home)
        self._link("block/nvme7n1", f"{home}/nvme7n1")

    def smallest_commands(self):
        """Of the drive, for files that are opened from now on."""
        self._file("block/nvme7n1/queue/max_sectors_kb", 4)

    def region(self, name="p2pmem0"):
        """Nothing but its attributes: it cannot be opened."""
        self._files(f"class/p2pmem/{name}", kind="nvme-pmr", bdf="0000:03:00.0", bar=2, offset=4096, size=268435456,
                    available=134217728, page_type="generic", memtype="uc", persistent=1, state="ready",
                    unrouted="0000:05:00.0\n0000:06:00.0", holders="12 fio 4096 0\n13 my tool 8192 2 0000:01:00.0")

    def close(self):
        shutil.rmtree(self.root)


class WithQueues(unittest.TestCase):
    """A file of the scene, memory as long as it, and queues between them."""

    def setUp(self):
        self.scene = Scene()
        self.addCleanup(self.scene.close)
        self.context = donard.Context(sysfs_root=str(self.scene.root), dev_root=str(self.scene.root))
        self.addCleanup(self.context.close)
        try:
            self.file = self.context.open(self.scene.path, write=True)
        except donard.Error as error:
            if error.code != "file-system":
                raise
            self.skipTest("/tmp is neither ext4 nor xfs")
        self.memory = self.context.dram(len(self.scene.data))

    def queue(self, **options):
        try:
            return self.context.queue(**options)
        except donard.Error as error:
            if error.code != "unsupported":
                raise
            self.skipTest("io_uring is switched off on this machine")

    def interrupted(self, name, call, modules=("_queue",), handler=signal.default_int_handler, raises=KeyboardInterrupt):
        """Ctrl-C the moment after that call of the library has returned, whichever of the modules makes it."""
        real = getattr(lib, name)

        class Interrupted:
            def __getattr__(self, other):
                if other != name:
                    return getattr(lib, other)
                return lambda *arguments: (real(*arguments), os.kill(os.getpid(), signal.SIGINT))[0]

        with contextlib.ExitStack() as stack:
            stack.callback(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, handler))
            for module in modules:
                stack.enter_context(unittest.mock.patch(f"donard.{module}.lib", Interrupted()))
            with self.assertRaises(raises):
                call()
