# SPDX-License-Identifier: Apache-2.0
"""terminal.py DONARD-CLI SECONDS - 'top' at a terminal: what it draws, what ends it, and that the terminal is as it was.

What has not come after SECONDS never does.
"""
import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios

HANG_SECONDS = int(sys.argv[2])
ENTER, LEAVE = b"\x1b[?1049h\x1b[?7l\x1b[?25l", b"\x1b[?25h\x1b[?7h\x1b[?1049l"
DRAWN = b"\x1b[J"
FOREGROUND, BACKGROUND, KILL = b"f", b"b", b"k"  # orders to the shell, about a job that is stopped
jobs = []  # that were started: each terminal, and the number of its top


class Terminal:
    """A terminal, a shell that does no more than job control, and top, its job."""

    def __init__(self, *options, size=(24, 80), env=(), keys=True, hangups=True, background=False):
        self.said, self.ended = b"", True
        self.master, self.slave = pty.openpty()
        self.resize(size)
        self.before = termios.tcgetattr(self.slave)
        self.events, told = os.pipe()
        heard, self.orders = os.pipe()
        self.shell = os.fork()
        if self.shell == 0:
            os.setsid()
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
            signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            for fd in self.master, self.events, self.orders:
                os.close(fd)
            command = ["donard-cli", "top", "--interval", "3600", *options]
            try:
                self._control(command, {**os.environ, "TERM": "xterm", **dict(env)}, heard, told, keys, hangups,
                              background)
            finally:
                os._exit(1)
        os.close(told)
        os.close(heard)

    def _control(self, command, env, heard, told, keys, hangups, background):
        ready, go = os.pipe()
        job = os.fork()
        if job == 0:
            os.setpgid(0, 0)
            os.read(ready, 1)
            for fd in range(3):
                os.dup2(self.slave if fd or keys else os.open("/dev/null", os.O_RDONLY), fd)
            signal.signal(signal.SIGTTOU, signal.SIG_DFL)
            if hangups:
                signal.signal(signal.SIGHUP, signal.SIG_DFL)
            os.closerange(3, 100)
            os.execve(sys.argv[1], command, env)
        os.setpgid(job, job)
        if not background:
            os.tcsetpgrp(self.slave, job)
        os.write(go, b"x")
        os.write(told, b"%d\n" % job)
        while True:
            status = os.waitpid(job, os.WUNTRACED)[1]
            if not os.WIFSTOPPED(status):
                os.write(told, b"%d\n" % os.waitstatus_to_exitcode(status))
                os._exit(0)
            os.tcsetpgrp(self.slave, os.getpid())
            os.write(told, b"stopped\n")
            order = os.read(heard, 1)
            if order == FOREGROUND:
                os.tcsetpgrp(self.slave, job)
            elif order == KILL:
                os.kill(job, signal.SIGTERM)
            os.kill(job, signal.SIGCONT)

    def resize(self, size):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))

    def until(self, text):
        """What it says up to @text."""
        while text not in self.said:
            if not select.select([self.master], [], [], HANG_SECONDS)[0]:
                raise AssertionError(f"{text!r} did not come; so far: {self.said!r}")
            self.said += os.read(self.master, 10000)
        end = self.said.index(text) + len(text)
        said, self.said = self.said[:end], self.said[end:]
        return said

    def event(self):
        """The shell's next line."""
        line = b""
        while not line.endswith(b"\n"):
            if not select.select([self.events], [], [], HANG_SECONDS)[0]:
                raise AssertionError(f"top neither ended nor stopped; it said {self.said!r}")
            byte = os.read(self.events, 1)
            assert byte, "the shell has ended"
            line += byte
        self.ended = line != b"stopped\n"
        return line.decode().strip()

    def type(self, keys):
        os.write(self.master, keys)

    def as_before(self):
        assert termios.tcgetattr(self.slave) == self.before, "the terminal is not as it was"

    def ends(self, status):
        self.until(LEAVE)
        equal("status", str(status), self.event())
        self.as_before()


def equal(what, expected, seen):
    assert expected == seen, f"{what}: expected {expected!r}, seen {seen!r}"


def shown_lines(drawn):
    """Without escapes; the last one has no end."""
    return [line.rstrip(b"\r").removesuffix(b"\x1b[K") for line in drawn.removesuffix(DRAWN).split(b"\n")]


def started(*options, **how):
    terminal = Terminal(*options, **how)
    job = int(terminal.event())
    terminal.ended = False
    jobs.append((terminal, job))
    return terminal, job


def end_all():
    """Of a test that failed: no top is left behind."""
    for terminal, job in jobs:
        if not terminal.ended:
            with contextlib.suppress(ProcessLookupError):
                os.kill(job, signal.SIGKILL)
    jobs.clear()


def keys_end_it():
    for keys, status in (b"xq", 0), (b"\x03", 130), (b"\x1c", 130):
        top, _ = started()
        said = top.until(DRAWN)
        assert said.startswith(ENTER) and b"q quits" in said and b"my tool" in said, said
        top.type(keys)
        top.ends(status)


def signals_end_it():
    for number in signal.SIGTERM, signal.SIGHUP:
        top, job = started()
        top.until(DRAWN)
        os.kill(job, number)
        top.ends(130)


def it_is_suspended():
    top, _ = started()
    top.until(DRAWN)
    for _ in range(2):
        top.type(b"\x1a")
        top.until(LEAVE)
        equal("after Ctrl-Z", "stopped", top.event())
        top.as_before()
        os.write(top.orders, FOREGROUND)
        top.until(ENTER)
        top.until(DRAWN)
    top.type(b"q")
    top.ends(0)


def it_is_ended_while_suspended():
    """As by the shell's "kill %1": it ends in the background, and leaves the shell's screen alone."""
    for keys in True, False:
        top, job = started(keys=keys)
        top.until(DRAWN)
        if keys:
            top.type(b"\x1a")
        else:
            os.kill(job, signal.SIGTSTP)
        top.until(LEAVE)
        equal("after Ctrl-Z", "stopped", top.event())
        os.write(top.orders, BACKGROUND)
        equal("in the background", "stopped", top.event())
        os.write(top.orders, KILL)
        equal("status", "130", top.event())
        equal("what it says in the background", b"", top.said)
        top.as_before()


def sizes():
    top, _ = started()
    top.until(DRAWN)
    for rows, columns in (6, 80), (3, 20), (1, 1):
        top.resize((rows, columns))
        drawn = top.until(DRAWN).rpartition(b"\x1b[H")[2]
        lines = shown_lines(drawn)
        equal(f"lines of {rows}", rows, len(lines))
        assert max(map(len, lines)) <= columns, lines
    top.type(b"q")
    top.ends(0)
    top, _ = started(size=(0, 0))
    assert b"nvme0n1" in top.until(DRAWN)
    top.type(b"q")
    top.ends(0)


def it_fits():
    top, _ = started(size=(24, 200))
    lines = shown_lines(top.until(DRAWN))
    assert max(len(line) for line in lines if line.startswith((b"REGION", b"p2pmem0"))) in range(60, 81), lines
    top.type(b"q")
    top.ends(0)


def the_last_sample_stays():
    top, _ = started("--count", "1")
    top.until(LEAVE)
    left = top.until(b"nvme0n1")
    assert b"REGION" in left and b"\x1b" not in left and b"q quits" not in left, left
    equal("status", "0", top.event())


def no_keys():
    top, job = started(keys=False)
    assert b"q quits" not in top.until(DRAWN)
    os.kill(job, signal.SIGTERM)
    top.ends(130)


def no_screen():
    for how in {"env": {"TERM": "dumb"}}, {"background": True}:
        top, job = started(**how)
        said = top.until(b"nvme0n1")
        assert b"\x1b" not in said, said
        os.kill(job, signal.SIGTERM)
        equal("status", "130", top.event())
        top.as_before()


def the_terminal_goes():
    top, _ = started(hangups=False)
    top.until(DRAWN)
    os.close(top.master)
    ended = top.event()
    assert ended != "stopped" and int(ended) >= 0, ended


for test in (keys_end_it, signals_end_it, it_is_suspended, it_is_ended_while_suspended, sizes, it_fits,
             the_last_sample_stays, no_keys, no_screen, the_terminal_goes):
    print(test.__name__, flush=True)
    try:
        test()
    finally:
        end_all()
