#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""inrecovery.py REGION BDF - what a file of the region answers while the bus of its drive is reset by a recovery from an error.

The emulator's memory and registers read as zeros meanwhile, a machine's as ones.
"""
import errno
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

PARAMETERS = "/sys/module/recovery/parameters"
OURS = b"donard" * 100


def error_of(call: Callable[..., Any], *arguments: int) -> str:
    try:
        return f"success, {call(*arguments)!r:.40}"
    except OSError as failure:
        return errno.errorcode[failure.errno]


def is_held() -> bool:
    with open(f"{PARAMETERS}/held") as file:
        return file.read() == "Y\n"


memory = os.open(f"/dev/{sys.argv[1]}", os.O_RDWR)
os.pwrite(memory, OURS, 0)
assert os.pread(memory, len(OURS), 0) == OURS
subprocess.run(["insmod", "/opt/donard/modules/recovery.ko", f"bdf={sys.argv[2]}", "fatal=Y", "hold=Y"], check=True)
while not is_held():  # the test ends this if it never is
    time.sleep(0.1)
seen = error_of(os.pread, memory, len(OURS), 0)
with open(f"{PARAMETERS}/hold", "w") as file:
    file.write("N")
if seen != "EIO":
    sys.exit(f"expected EIO, seen {seen}")
