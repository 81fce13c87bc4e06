# SPDX-License-Identifier: Apache-2.0
"""A library whose write caches need no RDMA: what is asked of one completes when it is told to."""
from donard._library import ffi, lib, sized


class Library:
    """The library, but for its caches.

    calls: what they were asked, name and arguments without handles and memories
    begun: what has not completed
    """

    def __init__(self):
        self.calls = []
        self.begun = []
        self._done = []
        self._object, self._none = ffi.new("char[]", b"192.0.2.1"), ffi.new("char[]", b"")
        self._failure = sized("donard_failure", code=lib.donard_version(), text=lib.donard_version(), object=self._object,
                              member=self._none)

    def __getattr__(self, name):
        return getattr(lib, name)

    def complete(self, result=0, flags=0):
        """The oldest request."""
        self._done.append((self.begun.pop(0), result, flags))

    def _ask(self, name, *arguments):
        *said, user = arguments
        self.calls.append((name, *(one for one in said if isinstance(one, int))))
        self.begun.append(user)
        return 0

    def donard_cache_connect(self, queue, options, out):
        self.calls.append(("connect", ffi.string(options.address).decode(), options.port, options.depth, options.timeout_ms))
        out[0] = ffi.cast("struct donard_cache *", len(self.calls))
        return 0

    def donard_cache_close(self, cache):
        self.calls.append(("close",))
        self.begun.clear()

    def donard_cache_write(self, cache, *arguments):
        return self._ask("write", *arguments)

    def donard_cache_read(self, cache, *arguments):
        return self._ask("read", *arguments)

    def donard_cache_trim(self, cache, *arguments):
        return self._ask("trim", *arguments)

    def donard_cache_flush(self, cache, *arguments):
        return self._ask("flush", *arguments)

    def donard_queue_flush(self, queue, file, user):
        return self._ask("flush of a file", user)

    def donard_cache_register(self, cache, memory, directions):
        self.calls.append(("register", directions))
        return 0

    def donard_queue_poll(self, queue, completions, most):
        done, self._done = self._done[:most], self._done[most:]
        for at, (user, result, flags) in zip(completions, done):
            at.user, at.result, at.flags = user, result, flags
            at.error = at.error_code = at.failure = ffi.NULL
            if result < 0:
                at.error, at.error_code, at.failure = self._failure.text, self._failure.code, self._failure
        return len(done)
